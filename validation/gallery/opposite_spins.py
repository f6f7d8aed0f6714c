"""Chung and Ooi, test 7: head-on impact of equal spheres with opposite spins; their contact points do not slip."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.verification.study import FindingTable, Study, StudyFinding, at_most
from validation.gallery.few import Ball, Material, after, hertz, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.verification.study import Notebook

RADIUS, SPEED = 0.1, 0.2
"""Radius of the spheres [m]; speed of each sphere [m/s]."""

LAW = {"friction": 0.4, "restitution": 0.5}
MATERIALS = {"aluminium": Material(7.0e10, 0.33, 2700.0), "copper": Material(1.2e11, 0.35, 8900.0)}
SPINS = SPEED / RADIUS * np.tan(np.radians(np.arange(5.0, 86.0, 5.0)))
"""Spins [rad/s]."""

_STEPS = 400


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield the remaining spins, and lateral velocities."""
    findings = []
    with notebook.plot("spins") as axes:
        axes.plot(SPINS, SPINS, "k", label="exact")
        for name, material in MATERIALS.items():
            time = hertz(material, RADIUS, 2.0 * SPEED, pair=True).time
            balls = [
                Ball(
                    name, RADIUS, (side * RADIUS, 4.0 * RADIUS * k, 0.0),
                    (-side * SPEED, 0.0, 0.0), (0.0, 0.0, side * one),
                )
                for k, one in enumerate(SPINS)
                for side in (-1.0, 1.0)
            ]  # fmt: skip
            end = after(simulate({name: material}, {"default": LAW}, balls, time / _STEPS, walls=()), 3.0 * time)
            left = end.spin[1::2, 2]
            axes.plot(SPINS, left, "o" if name == "copper" else "x", label=name)
            findings += [
                at_most(f"{name}: largest change of a spin, over it", float(np.abs(left / SPINS - 1.0).max()), 1e-12),
                at_most(f"{name}: largest velocity aside [m/s]", float(np.abs(end.velocity[:, 1:]).max()), 1e-12),
                StudyFinding(
                    f"{name}: rebound over impact speed", float(end.velocity[1::2, 0].mean()) / SPEED, 0.5, 1e-3
                ),
            ]
        axes.set(xlabel="spin before [rad/s]", ylabel="spin afterwards [rad/s]", xscale="log", yscale="log")
        axes.legend()
    yield FindingTable("Spins are conserved to rounding", "exact", findings)


STUDY = Study(
    "chung-ooi-7", "Chung and Ooi, test 7: two spheres with opposite spins", run, "impacts",
    "Chung, Ooi, Granular Matter 13 (2011) 643-656",
    {
        "radius": "0.1 m", "speed": "0.2 m/s each", "restitution": "0.5", "friction": "0.4",
        "aluminium alloy": "70 GPa, 0.33, 2700 kg/m3", "copper": "120 GPa, 0.35, 8900 kg/m3",
        "spin": "2 rad/s times tan 5 to tan 85 degrees", "time step": f"1/{_STEPS} of an elastic impact",
    },
)  # fmt: skip
