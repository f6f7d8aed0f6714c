"""Ropes of bonded spheres over rough rollers, beside the capstan equation of a rope with a thickness."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tomli_w

import pdem

pytestmark = [pytest.mark.compiles, pytest.mark.shares_law("bonds")]

ROLLER, RADIUS, FRICTION, TENSION = 0.03, 0.002, 0.3, 0.02
PATH = ROLLER + RADIUS
ARC, STRAIGHT = 25, 3
"""Spheres of a rope on the roller, and hanging on each side."""

LENGTH = ARC + 2 * STRAIGHT
PLACES = {"stays": (0.0, -0.05), "slides": (0.0, 0.0), "pulled": (0.2, -0.05), "pushed": (0.2, 0.0)}
RATES = {"pulled": 0.3, "pushed": -0.3}
"""Rates [rad/s] of the rollers of ropes with one end that is held; positive towards the free end."""


def thick_capstan():
    """Return the ratio of tensions of a weightless rope that slides over half a turn.

    Friction f = mu n per angle acts on the surface, R from the axis, and the tension T at R + r. Without a change of
    the bending moment bonds have the shear force Q = r f / (R + r), so that T' = R f / (R + r) and n = T - Q'.
    """
    lever = FRICTION * RADIUS / PATH
    growth = (math.sqrt(1.0 + 4.0 * lever * FRICTION * ROLLER / PATH) - 1.0) / (2.0 * lever)
    return math.exp(growth * math.pi)


def rope(x, y):
    """Return places of a rope over the upper half of a roller, from its left end to its right one."""
    angle = math.pi / (ARC - 1)
    spacing = 2.0 * PATH * math.sin(0.5 * angle)
    arc = [[x - PATH * math.cos(angle * i), y, PATH * math.sin(angle * i)] for i in range(ARC)]
    left = [[x - PATH, y, -spacing * (STRAIGHT - i)] for i in range(STRAIGHT)]
    return left + arc + [[x + PATH, y, -spacing * (i + 1)] for i in range(STRAIGHT)]


def rollers():
    """Return walls: a roller for each rope, which rests or turns about its axis y."""
    return [
        {"name": name, "shape": "cylinder", "centre": [x, y, 0.0], "axis": [0.0, 1.0, 0.0], "radius": ROLLER,
         "length": 0.02, "deviation": 3e-6, "material": "steel",
         "rotation": {"rate": RATES.get(name, 0.0), "axis": [0.0, 1.0, 0.0], "centre": [x, y, 0.0]}}
        for name, (x, y) in PLACES.items()
    ]  # fmt: skip


def ropes():
    """Return a simulation of all ropes, without gravity; the left ends of two are held."""
    groups = []
    for name, (x, y) in PLACES.items():
        places, held = rope(x, y), int(name in RATES)
        groups += [
            {"material": "rope", "radius": RADIUS, "positions": places[:1], "fixed": True, "name": f"held_{name}"}
        ] * held
        groups.append({"material": "rope", "radius": RADIUS, "positions": places[held:]})
    fibre = {"between": "rope-rope", "gap": 2e-4, "radius": 0.3, "youngs_modulus": 5e6, "poisson_ratio": 0.3}
    return pdem.Simulation(pdem.Case.from_text(tomli_w.dumps({
        "time": {"step": 2e-5, "end": 10.0},
        "domain": {"lower": [-0.1, -0.1, -0.1], "upper": [0.3, 0.1, 0.1], "outside": "keep"},
        "materials": {"rope": {"density": 1000.0, "youngs_modulus": 1e6, "poisson_ratio": 0.3}, "steel": {}},
        "interactions": {"default": {"friction": FRICTION, "restitution": 0.3}},
        "particles": groups, "walls": rollers(), "forces": [{"kind": "array"}],
        "bonds": {"fibre": {**fibre, "damping_ratio": 0.2}}, "output": {"folder": "unused"},
    })), threads=1)  # fmt: skip


def pulled(run, ratio):
    """Pull the ends: both of the first two ropes, one `ratio` 8 % below and one 4 % above it, one of the others."""
    force = np.zeros((4, LENGTH, 3))
    force[:, -1, 2] = [-0.92 * ratio * TENSION, -1.04 * ratio * TENSION, -TENSION, -TENSION]
    force[:2, 0, 2] = -TENSION
    run.set_external_force(force.reshape(-1, 3), np.full(4 * LENGTH, 2e-3), ids=np.arange(4 * LENGTH))


def tensions(run):
    return -np.array(run.bonds["normal_force"]).reshape(4, LENGTH - 1)


def test_the_tension_of_a_rope_follows_the_capstan_equation():
    """A rope over a turning roller has its ratio to 1 %; less lets it rest, and a larger one lets it slide off."""
    run, ratio = ropes(), thick_capstan()
    assert 2.4 < ratio < math.exp(FRICTION * math.pi)
    pulled(run, ratio)
    run.advance(5000)
    held = []
    for _ in range(10):
        run.advance(250)
        held.append(tensions(run)[2:, 0] / TENSION)
    assert np.mean(held, axis=0) == pytest.approx([ratio, 1.0 / ratio], rel=0.01)
    found = tensions(run)
    assert found[0, -1] / found[0, 0] == pytest.approx(0.92 * ratio, rel=1e-3)
    own = run.gather()
    ends = own["velocity"][np.argsort(own["id"])].reshape(4, LENGTH, 3)[:, -1, 2]
    assert abs(ends[0]) < 1e-5
    assert ends[1] < -5e-3
    assert np.abs(found[0] / found[0, 0]).max() < math.exp(FRICTION * math.pi)
