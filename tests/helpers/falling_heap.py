"""A heap of particles that falls on a wall, and what tests of steps with the same lists compare."""

from __future__ import annotations

import numpy as np

from helpers.cases import GRAIN, RIGID, USUAL, Grains, quad, simulate, state_of

FLOOR = {"mesh": quad(0.5), "material": "steel"}
PRESSED = {**FLOOR, "servo": {"axis": [0.0, 0.0, 1.0], "force": -2.0, "largest_rate": 0.2}}
FREE = {**FLOOR, "body": {"mass": 0.05, "centre": [0.0, 0.0, 0.0], "inertia": [1e-4, 1e-4, 1e-4]}}
TURNING = {**FLOOR, "rotation": {"rate": 20.0, "axis": [0.0, 0.0, 1.0], "centre": [0.0, 0.0, 0.0]}}


def heap(count=60, seed=0, speed=1.0):
    """Particles that fall onto each other and the floor, and roll."""
    draw = np.random.default_rng(seed)
    places = np.stack(np.meshgrid(*3 * [np.arange(4)], indexing="ij"), -1).reshape(-1, 3)[:count]
    position = 0.021 * places + [-0.03, -0.03, 0.011] + draw.uniform(-5e-4, 5e-4, (count, 3))
    velocity = draw.uniform(-speed, speed, (count, 3)) - [0.0, 0.0, speed]
    return Grains(position, draw.uniform(0.008, 0.01, count), velocity, draw.uniform(-50.0, 50.0, (count, 3)))


def falling(folder, wall=None, threads=1, grains=None, **options):
    materials = {"grain": GRAIN, "steel": RIGID}
    return simulate(
        folder, heap() if grains is None else grains, law=USUAL, materials=materials, gravity=(0.0, 0.0, -9.81),
        walls=() if wall is None else (wall,), threads=threads, lower=(-0.5, -0.5, -0.5), upper=(0.5, 0.5, 0.5),
        periodic=(True, True, False), **options,
    )  # fmt: skip


def by_single_steps(simulation, steps):
    for _ in range(steps):
        simulation.advance(1)
    return simulation


def require_same(one, other):
    expected, found = state_of(one), state_of(other)
    assert one.step == other.step
    assert expected.keys() == found.keys()
    for group, columns in expected.items():
        for name, values in columns.items():
            if (group, name) != ("counters", "detections"):  # a single step does not begin the next one
                np.testing.assert_array_equal(found[group][name], values, err_msg=f"{group}.{name}")
