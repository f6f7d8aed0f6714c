"""Cases with fixed grains, for tests."""

from __future__ import annotations

import tomli_w

import pdem

GRAIN = {"density": 2500.0, "youngs_modulus": 1e7, "poisson_ratio": 0.25}
LAW = {"friction": 0.5, "restitution": 0.5}
DOMAIN = {"lower": [-0.02, -0.02, -0.02], "upper": [0.02, 0.02, 0.06], "gravity": [0.0, 0.0, -9.81]}
R = 0.002


def rough(**keys):
    """Return a layer of fixed grains that overlap each other, on z = 0."""
    places = [[x * 0.003, y * 0.003, 0.0] for x in range(-6, 7) for y in range(-6, 7)]
    return {"material": "rough", "radius": R, "positions": places, "fixed": True, **keys}


def bed(**keys):
    """Return grains above it."""
    fill = {"lower": [-0.019, -0.019, 0.004], "upper": [0.019, 0.019, 0.05], "count": 150}
    return {"material": "grain", "radius": R, "fill": fill, **keys}


def case_of(*groups, folder=".", **sections):
    """Return a case with some groups of particles; the material of fixed ones has no density and is rigid."""
    document = {
        "time": {"step": 2e-5, "end": 1.0},
        "domain": DOMAIN,
        "materials": {"grain": GRAIN, "rough": {}, "steel": {}},
        "interactions": {"grain-grain": LAW, "grain-rough": LAW, "grain-steel": LAW},
        "particles": list(groups),
        "output": {"folder": str(folder)},
        **sections,
    }
    return pdem.Case.from_text(tomli_w.dumps(document), ".")
