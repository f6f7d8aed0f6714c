"""Chung and Ooi, test 3, and its counterpart for two spheres: the resulting restitution equals that of the case."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.verification.study import FindingTable, Study, StudyFinding
from validation.gallery.few import Ball, Material, after, hertz, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.foundation.array_types import Floats
    from pdem.verification.study import Notebook

RADIUS, SPEED = 0.0025, 3.9
"""Radius [m] and speed [m/s] of spheres on a plane."""

PAIR_RADIUS, PAIR_SPEED = 0.01, 200.0
"""Radius [m] of two spheres, and speed [m/s] of each."""

ASKED = (0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
PLANE_MATERIALS = {
    "aluminium oxide": Material(3.8e11, 0.23, 4000.0), "cast iron": Material(1.0e11, 0.25, 7000.0),
}  # fmt: skip
LIMESTONE = Material(2.0e10, 0.25, 2500.0)
_STEPS = 750


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield rebound over impact speed for all restitutions."""
    findings = []
    with notebook.plot("restitution") as axes:
        axes.plot([0.0, 1.0], [0.0, 1.0], "k", label="as asked for")
        for name, material in PLANE_MATERIALS.items():
            found = on_plane(material)
            axes.plot(ASKED, found, "o", label=f"{name} on a plane")
            findings += _findings(f"{name} on a plane", found)
        found = of_pairs()
        axes.plot(ASKED, found, "x", label="two spheres of limestone")
        findings += _findings("two spheres of limestone", found)
        axes.set(xlabel="restitution in the case", ylabel="rebound over impact speed")
        axes.legend()
    remark = (
        "A restitution of 0 cannot be given: it needs infinite damping. Damping is adjusted so that the right speed "
        "comes out although contacts never pull; codes that cut off the pull of the usual formula rebound with 0.25 at "
        "0.1."
    )
    yield FindingTable("Restitution that comes out", "in the case", findings, remark)


def _laws() -> dict[str, dict[str, float]]:
    laws = {f"{k}-{k}": {"friction": 0.3, "restitution": one} for k, one in enumerate(ASKED)}
    walls = {f"{k}-plane": law for k, law in enumerate(laws.values())}
    return {**laws, **walls, "default": {"friction": 0.3, "restitution": 0.5}}


def _names(material: Material) -> dict[str, Material]:
    return {str(k): material for k in range(len(ASKED))}


def on_plane(material: Material) -> Floats:
    """Return rebound over impact speed of spheres of a material on a rigid plane, for each restitution."""
    time = hertz(material, RADIUS, SPEED, pair=False).time
    balls = [Ball(str(k), RADIUS, (0.0, 4.0 * RADIUS * k, RADIUS), (0.0, 0.0, -SPEED)) for k in range(len(ASKED))]
    simulation = simulate(_names(material), _laws(), balls, time / _STEPS)
    return after(simulation, 20.0 * time).velocity[:, 2] / SPEED


def of_pairs() -> Floats:
    """Return rebound over impact speed of pairs of spheres, for each restitution."""
    time = hertz(LIMESTONE, PAIR_RADIUS, 2.0 * PAIR_SPEED, pair=True).time
    balls = [
        Ball(str(k), PAIR_RADIUS, (side * PAIR_RADIUS, 6.0 * PAIR_RADIUS * k, 0.0), (-side * PAIR_SPEED, 0.0, 0.0))
        for k in range(len(ASKED))
        for side in (-1.0, 1.0)
    ]
    simulation = simulate(_names(LIMESTONE), _laws(), balls, time / _STEPS, walls=())
    along = after(simulation, 20.0 * time).velocity[:, 0]
    found: Floats = 0.5 * (along[1::2] - along[::2]) / PAIR_SPEED
    return np.array(found)


def _findings(name: str, found: Floats) -> list[StudyFinding]:
    return [
        StudyFinding(f"{name}, restitution {asked:g}", float(one), asked, 1e-3 if asked >= 0.1 else 0.02)
        for asked, one in zip(ASKED, found, strict=True)
    ]


STUDY = Study(
    "chung-ooi-3", "Chung and Ooi, test 3: restitution from 0 to 1", run, "impacts",
    "Chung, Ooi, Granular Matter 13 (2011) 643-656; two spheres of limestone as in Kratos Multiphysics",
    {
        "on a plane": "radius 2.5 mm, 3.9 m/s", "aluminium oxide": "380 GPa, 0.23, 4000 kg/m3",
        "cast iron": "100 GPa, 0.25, 7000 kg/m3", "two spheres": "radius 10 mm, 200 m/s each, 20 GPa, 0.25, 2500 kg/m3",
        "time step": f"1/{_STEPS} of an elastic impact",
    },
)  # fmt: skip
