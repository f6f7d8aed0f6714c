"""A small case with clusters, insertions, outlets, walls that move, and stages."""

from __future__ import annotations

import tomli_w

import pdem
from helpers.clusters import TETRAPOD

STEP = 2e-5
LAW = {"law": "linear", "normal_stiffness": 200.0, "friction": 0.5, "restitution": 0.5}
FILLED = {"lower": [-0.008, -0.008, 0.001], "upper": [0.008, 0.008, 0.014]}
STEPS = {"falling": 200, "opening": 200, "turning": 200}
"""Steps of each stage."""


def document(folder, **more):
    """Return a case as a document: grains fall on a gate, which opens; then a blade turns in what is left."""
    length = {name: {"name": name, "end": steps * STEP} for name, steps in STEPS.items()}
    return {
        "time": {"step": STEP, "end": sum(STEPS.values()) * STEP},
        "domain": {
            "lower": [-0.008, -0.008, -0.008], "upper": [0.008, 0.008, 0.016], "gravity": [0.0, 0.0, -200.0],
            "outside": "remove", "periodic": [False, True, False],
        },
        "materials": {"grain": {"density": 1000.0}, "steel": {}},
        "interactions": {"grain-grain": LAW, "grain-steel": LAW},
        "shapes": {"tetrapod": {"spheres": TETRAPOD}},
        "particles": [
            {"material": "grain", "shape": "tetrapod", "fill": {"count": 8, "seed": 2, **FILLED},
             "velocity": {"random": 1.0, "seed": 2}},
            {"material": "grain", "radius": {"distribution": "uniform", "min": 0.0008, "max": 0.0015},
             "fill": {"count": 60, "seed": 3, **FILLED},
             "velocity": {"random": 1.0, "seed": 3}},
        ],
        "insertions": [
            {"name": "inlet", "material": "grain", "radius": 0.001, "stage": "opening", "count_rate": 1e4,
             "region": {"lower": [-0.006, -0.006, 0.012], "upper": [0.006, 0.006, 0.016]},
             "velocity": [0.0, 0.0, -2.0]},
        ],
        "sensors": [
            {"name": "outlet", "plane": {"point": [0.0, 0.0, -0.004], "normal": [0.0, 0.0, -1.0]}, "remove": True,
             "every": 6 * STEP},
            {"name": "box", "region": {"lower": [-0.008, -0.008, 0.0], "upper": [0.008, 0.008, 0.016]}},
        ],
        "walls": [
            {"name": "floor", "shape": "box", "lower": [-0.01, -0.01, -0.002], "upper": [0.0, 0.01, 0.0],
             "material": "steel"},
            {"name": "gate", "shape": "box", "lower": [0.0, -0.01, -0.002], "upper": [0.01, 0.01, 0.0],
             "material": "steel"},
            {"name": "blade", "shape": "box", "lower": [-0.007, -0.001, 0.001], "upper": [-0.001, 0.001, 0.003],
             "material": "steel", "stage": "turning",
             "rotation": {"rate": 100.0, "axis": [0.0, 0.0, 1.0], "centre": [-0.004, 0.0, 0.0]}},
        ],
        "stages": [
            length["falling"],
            {**length["opening"], "walls": {"gate": {"remove": True}}},
            {**length["turning"], "interactions": {"grain-grain": {"friction": 0.2}}},
        ],
        "output": {"folder": str(folder), "checkpoint_every": 50 * STEP, "checkpoints_kept": 4},
        **more,
    }  # fmt: skip


def case_in(folder, *settings, **more):
    """Return the case, with changes as of ``--set``."""
    case = pdem.Case.from_text(tomli_w.dumps(document(folder, **more)))
    for setting in settings:
        case.override(setting)
    return case
