"""Continuum fields while a box deforms: what is conserved, known profiles, files, restarts."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pdem
from helpers.cases import Grains, state_of
from helpers.moving_boxes import MIXED, PERIOD, SHEAR, STEP, R, gas, moving_case
from pdem.foundation.errors import InputError

SLOW = {"velocity_along": "x", "gradient_along": "y", "rate": 20.0}


def total(fields, name):
    values = fields[name]
    return fields.cell_volume * values.reshape(-1, *values.shape[3:]).sum(axis=0)


@pytest.mark.parametrize("deformation", [{"shear": SHEAR}, MIXED])
def test_the_whole_is_conserved(tmp_path, deformation):
    """While images collide across sides that lean: mass, solid volume, stress; momentum across the flow."""
    run = pdem.Simulation(moving_case(tmp_path, gas(3, sizes=True), deformation))
    run.advance(257)
    fields = run.coarse_grain(cells=(4, 5, 3), width=0.007)
    own, whole = run.particles, run.stress()
    box = run.system.box.moving
    assert fields.cell_volume * 60 == pytest.approx(box.volume(run.step, 3), rel=1e-12)
    assert total(fields, "density") == pytest.approx(run.masses.sum(), rel=1e-13)
    assert total(fields, "solid_fraction") == pytest.approx(4.0 / 3.0 * math.pi * (own.radius**3).sum(), rel=1e-12)
    mean = fields.contact_stress.mean(axis=(0, 1, 2))
    assert np.abs(whole.contact).max() > 10.0
    np.testing.assert_allclose(mean, whole.contact, rtol=0.0, atol=1e-12 * np.abs(whole.contact).max())
    np.testing.assert_allclose(total(fields, "momentum")[1], (run.masses * own.velocity[:, 1]).sum(), atol=1e-14)


def test_a_shear_has_a_straight_profile_through_its_sides(tmp_path):
    """Of grains that rest relative to the box: velocity, density and stress are the same on both sides of a side."""
    rng = np.random.default_rng(4)
    places = PERIOD * rng.random((4000, 3))
    group = Grains(places, 1e-4)
    more = {
        "fields": [{"name": "profile", "cells": [1, 12, 1], "width": 0.01, "every": 50 * STEP, "average": 500 * STEP}]
    }
    run = pdem.Simulation(moving_case(tmp_path, group, {"shear": SLOW}, more=more))
    run.advance(1000)
    fields = run.fields["profile"]
    height = fields.centres[0, :, 0, 1] - 0.5 * PERIOD
    np.testing.assert_allclose(fields.velocity[0, :, 0, 0], 20.0 * height, atol=20.0 * 0.0015)
    assert np.abs(fields.velocity[0, :, 0, 1:]).max() < 1e-9
    # the shear over a width looks like a motion of grains
    kinetic = fields.kinetic_stress[0, :, 0] / fields.density[0, :, 0, None, None]
    width = (20.0 * 0.01) ** 2 + (20.0 * PERIOD / 12) ** 2 / 12.0
    assert kinetic[:, 0, 0] == pytest.approx(width, rel=0.15)
    assert kinetic[[0, -1], 0, 0] == pytest.approx(width, rel=0.15)


def test_a_grid_strains_with_the_box(tmp_path):
    """Means of densities are those of each time; of a part of the box it is the same part."""
    grids = [
        {"name": "whole", "cells": [3, 2, 4], "width": 0.01, "every": 50 * STEP, "average": 200 * STEP},
        {
            "name": "part", "lower": [0.0, 0.05, 0.03], "upper": [0.05, 0.15, 0.06], "cells": [1, 2, 1],
            "width": 0.01, "every": 50 * STEP, "average": 200 * STEP,
        },
    ]  # fmt: skip
    pressed = {"x": {"strain_rate": -10.0}, "z": {"strain_rate": 5.0}}
    run = pdem.Simulation(moving_case(tmp_path, gas(5), pressed, more={"fields": grids}))
    volumes, densities = [], []
    for _ in range(4):
        run.advance(50)
        volumes.append(run.system.box.moving.volume(run.step, 3))
        densities.append(run.coarse_grain(cells=(3, 2, 4), width=0.01).density)
    whole, part = run.fields["whole"], run.fields["part"]
    np.testing.assert_allclose(whole.density, np.mean(densities, axis=0), rtol=1e-12)
    assert whole.density.mean() == pytest.approx(run.masses.sum() * np.mean(1.0 / np.array(volumes)), rel=1e-12)
    lengths, centre = np.array(run.system.box.moving.at(run.step).lengths), 0.5 * PERIOD
    assert lengths[0] < 0.97 * PERIOD
    np.testing.assert_allclose(whole.grid.size, lengths / [3, 2, 4], rtol=1e-14)
    begin = centre + (np.array([0.0, 0.05, 0.03]) - centre) * lengths / PERIOD
    np.testing.assert_allclose(part.grid.lower, begin, rtol=1e-12, atol=1e-15)
    assert part.grid.cells.tolist() == [1, 2, 1]


@pytest.mark.parametrize("deformation", [{"shear": SHEAR}, MIXED])
def test_results_have_the_fields_of_the_run(tmp_path, deformation):
    """In situ, from snapshots, and from files; a restart in the middle of a mean goes on with the same bits."""
    every = 100 * STEP
    output = {"folder": str(tmp_path / "out"), "snapshots_every": every, "contacts_every": every, "series_every": every}
    grid = {"name": "all", "cells": [2, 3, 2], "width": 0.01, "every": every, "average": 2 * every}
    more = {"output": output, "fields": [grid]}
    case = moving_case(tmp_path, gas(6), deformation, more=more, end=4 * every)
    run = pdem.Simulation(case, threads=1)
    run.run()
    results = pdem.Results(tmp_path / "out")
    written = results.fields("all")
    assert len(written) == 2
    for name, values in run.fields["all"].named.items():
        np.testing.assert_array_equal(written[-1][name], values)
    for one in ("lower", "size"):
        np.testing.assert_array_equal(getattr(written[-1].grid, one), getattr(run.fields["all"].grid, one))
    late = [results.at(3 * every), results.at(4 * every)]
    found = pdem.coarse_grain(late, cells=(2, 3, 2), width=0.01)
    for name in ("density", "momentum", "contact_stress", "kinetic_stress"):
        scale = np.abs(written[-1][name]).max()
        np.testing.assert_allclose(found[name], written[-1][name], rtol=0.0, atol=1e-9 * scale)
    np.testing.assert_allclose(found.grid.size, written[-1].grid.size, rtol=1e-12)

    first = pdem.Simulation(case, threads=1)
    first.advance(330)
    again = pdem.Simulation(case, state=state_of(first), threads=2)
    np.testing.assert_array_equal(again.fields["all"].grid.size, first.fields["all"].grid.size)
    for one in (first, again):
        one.advance(70)
        for name, values in run.fields["all"].named.items():
            np.testing.assert_array_equal(one.fields["all"][name], values)


def test_walls_inside_a_box_that_shears(tmp_path):
    """Between two plates across z, sheared in x and y: the force of the walls, and the stress that balances it."""
    walls = tuple(
        {"shape": "plane", "point": [0.0, 0.0, z], "normal": [0.0, 0.0, n]} for z, n in ((0.0, 1.0), (PERIOD, -1.0))
    )
    case = moving_case(tmp_path, gas(7), {"shear": SHEAR}, walls=walls, periodic=[True, True, False])
    run = pdem.Simulation(case)
    for _ in range(40):
        run.advance(20)
        if run.measures().wall_contacts > 2:
            break
    margin = {"lower": [0.0, 0.0, -0.03], "upper": [PERIOD, PERIOD, PERIOD + 0.03]}
    fields = run.coarse_grain(cells=(3, 4, 6), width=0.008, **margin)
    felt = sum(load["force"] for load in run.wall_loads().values())
    assert np.abs(total(fields, "wall_force")).max() > 0.0
    np.testing.assert_allclose(total(fields, "wall_force"), -np.asarray(felt), rtol=1e-9, atol=1e-12)
    assert total(fields, "density") == pytest.approx(run.masses.sum(), rel=1e-13)


def test_a_grid_longer_than_the_present_box_is_refused(tmp_path):
    run = pdem.Simulation(moving_case(tmp_path, gas(8), {"x": {"strain_rate": -20.0}}))
    run.advance(500)
    with pytest.raises(InputError, match="longer than the periodic box"):
        run.coarse_grain(cells=(2, 2, 2), width=R, lower=[0.0] * 3, upper=[PERIOD] * 3)
