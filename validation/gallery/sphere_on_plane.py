"""Chung and Ooi, test 2: normal impact of an elastic sphere on a rigid plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.verification.study import FindingTable, Study, StudyFinding, at_most
from validation.gallery.few import Ball, Material, curve_distance, end_of_contact, hertz, record, simulate
from validation.gallery.points import points

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.verification.study import Notebook

RADIUS, SPEED = 0.10, 0.2
"""Radius [m] and speed [m/s] of the sphere."""

MATERIALS = {"aluminium": Material(7.0e10, 0.30, 2699.0), "magnesium": Material(4.0e10, 0.35, 1800.0)}
LAW = {"friction": 0.3, "restitution": 1.0}
_STEPS = 400


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield impacts of both alloys, beside Hertz's theory and the points of the paper's figure."""
    findings = []
    with notebook.plot("force") as axes:
        for name, material in MATERIALS.items():
            theory = hertz(material, RADIUS, SPEED, pair=False)
            ball = Ball(name, RADIUS, (0.0, 0.0, RADIUS), (0.0, 0.0, -SPEED))
            simulation = simulate({name: material}, {"default": LAW}, [ball], theory.time / _STEPS)
            time, motions = record(simulation, 1.2 * theory.time)
            overlap = np.array([RADIUS - one.place[0, 2] for one in motions])
            force = np.array([one.force[0, 2] for one in motions])
            axes.plot(1e6 * time, 1e-3 * force, label=f"{name} alloy")
            findings += [
                StudyFinding(f"{name}: largest overlap [m]", float(overlap.max()), theory.depth, 1e-3),
                StudyFinding(f"{name}: largest force [N]", float(force.max()), theory.force, 1e-3),
                StudyFinding(f"{name}: duration [s]", end_of_contact(time, overlap), theory.time, 1e-3),
                StudyFinding(f"{name}: rebound over impact speed", motions[-1].velocity[0, 2] / SPEED, 1.0, 1e-4),
            ]  # fmt: skip
            if name == "aluminium":
                off = curve_distance(points("aluminium_force_time"), 1e6 * time, 1e-3 * force)
                findings.append(at_most("aluminium: mean distance from the paper's force, over the largest", off, 0.01))
        axes.plot(*points("aluminium_force_time"), "k+", label="aluminium alloy, Chung and Ooi")
        axes.set(xlabel="time [us]", ylabel="force [kN]")
        axes.legend()
    yield FindingTable("A sphere on a rigid plane, elastic", "Hertz", findings)


STUDY = Study(
    "chung-ooi-2", "Chung and Ooi, test 2: a sphere on a rigid plane, elastic", run, "impacts",
    "Chung, Ooi, Granular Matter 13 (2011) 643-656; Hertz 1882",
    {
        "radius": "0.10 m", "speed": "0.2 m/s", "restitution": "1",
        "aluminium alloy": "70 GPa, 0.30, 2699 kg/m3", "magnesium alloy": "40 GPa, 0.35, 1800 kg/m3",
        "time step": f"1/{_STEPS} of an impact",
    },
)  # fmt: skip
