"""Cases with flexible particles: straws of five spheres that fall into a box."""

from __future__ import annotations

import copy

import numpy as np
import tomli_w

import pdem

SPHERES, RADIUS = 5, 0.002
PLACES = [[2.0 * RADIUS * k, 0.0, 0.0, RADIUS] for k in range(SPHERES)]

DOCUMENT = {
    "time": {"step": 5e-6, "end": 0.02},
    "domain": {"lower": [-0.03, -0.03, 0.0], "upper": [0.03, 0.03, 0.12], "gravity": [0.0, 0.0, -9.81]},
    "materials": {"straw": {"density": 700.0, "youngs_modulus": 1e6, "poisson_ratio": 0.3}, "steel": {}},
    "interactions": {"default": {"friction": 0.3, "restitution": 0.3}},
    "bonds": {"stem": {"youngs_modulus": 1e7, "poisson_ratio": 0.3, "radius": 0.8, "damping_ratio": 0.05}},
    "shapes": {"straw": {"spheres": PLACES, "bonds": "stem"}},
    "particles": [
        {
            "material": "straw", "shape": "straw", "velocity": [0.0, 0.0, -2.0],
            "fill": {"count": 12, "lower": [-0.03, -0.03, 0.0], "upper": [0.03, 0.03, 0.05]},
        }
    ],
    "walls": [
        {
            "name": "box", "shape": "box", "lower": [-0.03, -0.03, 0.0], "upper": [0.03, 0.03, 0.12],
            "material": "steel", "open": ["+z"],
        }
    ],
    "output": {"folder": "unused"},
}  # fmt: skip

MORE = {
    "name": "more", "material": "straw", "shape": "straw", "count_rate": 1500.0, "every": 0.002,
    "region": {"lower": [-0.03, -0.03, 0.06], "upper": [0.03, 0.03, 0.12]},
    "velocity": [0.0, 0.0, -2.0], "angular_velocity": [30.0, 0.0, 60.0],
}  # fmt: skip
"""An insertion of straws that turn as a whole."""


def document(**sections):
    """Return the document of a case; given sections replace its own."""
    return copy.deepcopy({**DOCUMENT, **sections})


def straw_case(folder=".", **sections):
    """Return a case of straws; given sections replace its own."""
    return pdem.Case.from_text(tomli_w.dumps(document(**sections)), folder)


def bond_numbers(bonds, of=SPHERES):
    """Return for each bond the numbers of its straw and of its two spheres, for straws with ids from 0 on."""
    return np.column_stack((bonds["ids"][:, 0] // of, bonds["ids"] % of))
