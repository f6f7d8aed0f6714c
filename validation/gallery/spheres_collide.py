"""Chung and Ooi, test 1: head-on impact of two equal elastic spheres."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.verification.study import FindingTable, Study, StudyFinding, at_most
from validation.gallery.few import Ball, Material, curve_distance, end_of_contact, hertz, record, simulate
from validation.gallery.points import points

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.verification.study import Notebook

RADIUS, SPEED = 0.010, 20.0
"""Radius of the spheres [m]; relative speed [m/s]."""

MATERIALS = {"glass": Material(4.8e10, 0.20, 2800.0), "limestone": Material(2.0e10, 0.25, 2500.0)}
LAW = {"friction": 0.35, "restitution": 1.0}
_STEPS = 400
"""Time steps in an impact."""


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield impacts of both materials, beside Hertz's theory and the points of the paper's figures."""
    findings = []
    with notebook.plot("force", 2) as (left, right):
        for name, material in MATERIALS.items():
            findings += _collide(name, material, left, right)
        left.plot(*points("glass_force_time"), "k+", label="glass, Chung and Ooi")
        right.plot(*points("glass_force_overlap"), "k+", label="glass, Chung and Ooi")
        left.set(xlabel="time [us]", ylabel="force [kN]")
        right.set(xlabel="overlap [um]", ylabel="force [kN]")
        left.legend()
    yield FindingTable("Two equal spheres, elastic", "Hertz", findings)


def _collide(name: str, material: Material, left: Any, right: Any) -> list[StudyFinding]:
    theory = hertz(material, RADIUS, SPEED, pair=True)
    half = 0.5 * SPEED
    balls = [Ball(name, RADIUS, (side * RADIUS, 0.0, 0.0), (-side * half, 0.0, 0.0)) for side in (-1.0, 1.0)]
    simulation = simulate({name: material}, {"default": LAW}, balls, theory.time / _STEPS, walls=())
    time, motions = record(simulation, 1.2 * theory.time)
    overlap = np.array([2.0 * RADIUS - (one.place[1, 0] - one.place[0, 0]) for one in motions])
    force = np.array([one.force[1, 0] for one in motions])
    left.plot(1e6 * time, 1e-3 * force, label=name)
    right.plot(1e6 * np.maximum(overlap, 0.0), 1e-3 * force, label=name)
    rebound = float(motions[-1].velocity[1, 0] - motions[-1].velocity[0, 0]) / SPEED
    findings = [
        StudyFinding(f"{name}: largest overlap [m]", float(overlap.max()), theory.depth, 1e-3),
        StudyFinding(f"{name}: largest force [N]", float(force.max()), theory.force, 1e-3),
        StudyFinding(f"{name}: duration [s]", end_of_contact(time, overlap), theory.time, 1e-3),
        StudyFinding(f"{name}: rebound over impact speed", rebound, 1.0, 1e-4),
    ]
    if name == "glass":
        rising = overlap[: overlap.argmax() + 1]
        off = {
            "time": curve_distance(points("glass_force_time"), 1e6 * time, 1e-3 * force),
            "overlap": curve_distance(points("glass_force_overlap"), 1e6 * rising, 1e-3 * force[: len(rising)]),
        }
        findings += [at_most(f"glass: mean distance from the paper's force by {key}, over the largest", one, 0.01)
                     for key, one in off.items()]  # fmt: skip
    return findings


STUDY = Study(
    "chung-ooi-1", "Chung and Ooi, test 1: two equal spheres, elastic", run, "impacts",
    "Chung, Ooi, Granular Matter 13 (2011) 643-656; Hertz 1882",
    {
        "radius": "10 mm", "relative speed": "20 m/s", "restitution": "1",
        "glass": "48 GPa, 0.20, 2800 kg/m3", "limestone": "20 GPa, 0.25, 2500 kg/m3",
        "time step": f"1/{_STEPS} of an impact",
    },
)  # fmt: skip
