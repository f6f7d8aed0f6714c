"""Cases with insertions, for tests."""

from __future__ import annotations

import tomli_w

import pdem

GRAIN = {"density": 2500.0, "youngs_modulus": 1e7, "poisson_ratio": 0.25}
LAW = {"friction": 0.5, "restitution": 0.5}
DISC = {"shape": "disc", "centre": [0.0, 0.0, 0.05], "normal": [0.0, 0.0, -1.0], "radius": 0.03}
BOX = {"lower": [-0.04, -0.04, 0.0], "upper": [0.04, 0.04, 0.03]}


def inlet(**keys):
    """Return an insertion; None leaves a key out."""
    table = {"name": "inlet", "material": "grain", "radius": 0.004, "face": DISC, "velocity": 1.0, **keys}
    if "region" in keys:
        table = {"velocity": [0.0, 0.0, -1.0], **{key: value for key, value in table.items() if key != "face"}, **keys}
        table["velocity"] = keys.get("velocity", [0.0, 0.0, -1.0])
    return {key: value for key, value in table.items() if value is not None}


def case_of(*insertions, folder=".", **sections):
    """Return a case with some insertions in an open box of 0.2 m; keys replace whole sections."""
    document = {
        "time": {"step": 2e-5, "end": 1.0},
        "domain": {"lower": [-0.1] * 3, "upper": [0.1] * 3, "gravity": [0.0, 0.0, -9.81]},
        "materials": {"grain": GRAIN, "steel": {}},
        "interactions": {"grain-grain": LAW, "grain-steel": LAW},
        "insertions": list(insertions),
        "output": {"folder": "unused"},
        **sections,
    }
    return pdem.Case.from_text(tomli_w.dumps(document), folder)
