"""A few grains in cases with stages, for tests."""

from __future__ import annotations

import math

from helpers.cases import GRAIN, USUAL, Grains, quad, simulate

R = 0.01
STEP = 2e-5
G = 9.81
MASS = GRAIN["density"] * 4.0 / 3.0 * math.pi * R**3


def run_of(folder, *grains, stages=(), state=None, more=None, **options):
    """Return a simulation of some grains with stages, under gravity unless that is given."""
    options = {"law": USUAL, "step": STEP, "gravity": (0.0, 0.0, -G), **options}
    sections = {**(more or {}), **({"stages": list(stages)} if stages else {})}
    return simulate(folder, *grains, more=sections, state=state, **options)


def resting_depth():
    """Return the overlap with which one grain lies on a rigid plate: F = 4/3 E* sqrt(R) d^1.5."""
    modulus = GRAIN["youngs_modulus"] / (1.0 - GRAIN["poisson_ratio"] ** 2)
    return (MASS * G * 3.0 / (4.0 * modulus * math.sqrt(R))) ** (2.0 / 3.0)


def on_plate(folder, *stages, **options):
    """Return a grain that lies on the middle of a plate named gate."""
    grain = Grains([0.0, 0.0, R - resting_depth()], R)
    walls = ({"mesh": quad(0.1), "name": "gate"},)
    return run_of(folder, grain, stages=stages, walls=walls, **options)
