"""Wear of walls by sliding and by impacts, in closed form; collisions by the energy they lose, beside the ledger."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pdem
from helpers import clusters
from helpers.cases import GRAIN, RIGID, USUAL, Grains, make_case, simulate
from pdem.containers.meshes.mesh import Mesh
from pdem.features.collisions.counted import read_collisions
from pdem.foundation.errors import CaseError, CheckpointError, InputError
from pdem.numerics.sums import NARROW_BELOW, NARROW_LIMBS, add_in_window, narrow_values

R, FRICTION, COEFFICIENT = 0.01, 0.5, 2e-9
MASS = 1000.0 * 4.0 / 3.0 * math.pi * R**3
COUNTED = {"output": {"collision_energies": {"lowest": 1e-9, "per_decade": 3}}}


def strip(count):
    """Return squares of 1 m side by side."""
    corners = [[float(x), y, 0.0] for x in range(count + 1) for y in (-0.5, 0.5)]
    return Mesh(corners, [[2 * x, 2 * x + 2, 2 * x + 3, 2 * x + 1] for x in range(count)])


def wearing(model, **more):
    return {"mesh": strip(6), "wear": {"model": model, "coefficient": COEFFICIENT}, **more}


def test_a_sphere_that_slides_until_it_rolls(tmp_path):
    """Friction takes two sevenths of its energy: the way under load is that over friction and weight."""
    speed, gravity = 1.0, 9.81
    grains = Grains([1.5, 0.0, R - 2e-6], R, (speed, 0.0, 0.0))
    law = {"law": "linear", "normal_stiffness": 2e4, "tangential_ratio": 0.8, **USUAL}
    run = simulate(
        tmp_path, grains, law=law, gravity=(0.0, 0.0, -gravity), step=2e-5, walls=(wearing("archard"),), more=COUNTED
    )
    run.advance(int(1.3 * 2.0 / 7.0 * speed / (FRICTION * gravity) / 2e-5))
    depth = run.nodal_forces()["wall0"]["wear"]
    lost = 0.5 * MASS * speed**2 * 2.0 / 7.0
    assert depth.sum() == depth[1] == pytest.approx(COEFFICIENT * lost / FRICTION, rel=0.01)
    assert depth[1] == pytest.approx(COEFFICIENT * run.energies()["sliding"] / FRICTION, rel=1e-12)
    assert run.collisions().counts.sum() == 0  # it still lies there


@pytest.mark.parametrize("moving", ["particles", "wall"])
def test_impacts_take_off_what_finnie_says(tmp_path, moving):
    angles, speed = np.radians([5.0, 15.0, np.degrees(math.atan(1.0 / 3.0)), 40.0, 70.0, 90.0]), 3.0
    velocity = speed * np.stack([np.cos(angles), 0.0 * angles, -np.sin(angles)], axis=1)
    places = np.stack([np.arange(6) + 0.5, 0.0 * angles, np.full(6, R * 1.001)], axis=1)
    sines, cosines = np.sin(angles), np.cos(angles)
    flat, steep = 2.0 * sines * cosines - 3.0 * sines**2, cosines**2 / 3.0
    expected = np.where(np.tan(angles) <= 1.0 / 3.0, flat, steep)
    options = {"law": USUAL, "step": 1e-6, "more": COUNTED}
    if moving == "particles":
        run = simulate(tmp_path, Grains(places, R, velocity), walls=(wearing("finnie"),), **options)
        run.advance(3000)
        found = run.nodal_forces()["wall0"]["wear"]
    else:
        found = np.zeros(6)
        for facet in (1, 4):
            wall = wearing("finnie", translation={"velocity": (-velocity[facet]).tolist()})
            run = simulate(tmp_path, Grains(places[facet], R), walls=(wall,), **options)
            run.advance(3000)
            found[facet] = run.nodal_forces()["wall0"]["wear"][facet]
        expected = np.where(found > 0.0, expected, 0.0)
        assert (found > 0.0).sum() == 2
    np.testing.assert_allclose(found, COEFFICIENT * MASS * speed**2 * expected, rtol=1e-9, atol=1e-20)


def test_collisions_have_lost_what_the_ledger_says(tmp_path):
    """Spheres of two sizes and two materials that meet in pairs, and at a wall."""
    materials = {"grain": GRAIN, "other": GRAIN, "steel": RIGID}
    big, small = 2.0 * R, R
    one = [[0.5, 0.0, 0.1], [1.5, 0.0, 0.1], [2.5, 0.0, big * 1.001]]
    groups = (
        Grains(one, big, [[0.5, 0.1, 0.0], [0.5, 0.0, 0.0], [0.3, 0.0, -0.5]]),
        Grains([[1.5 + 3.01 * R, 0.0, 0.1]], small, material="grain"),
        Grains([[0.5 + 4.01 * R, 0.0, 0.1]], big, material="other"),
    )
    more = {"output": {"collision_energies": {"sizes": [1.5 * R], "lowest": 1e-9}, "folder": str(tmp_path / "out")}}
    run = simulate(
        tmp_path, *groups, law=USUAL, materials=materials, step=1e-5, end=0.01, walls=(wearing("archard"),), more=more
    )
    run.run()
    found, energies = run.collisions(), run.energies()
    assert found.groups == ("grain/1-grain/2", "grain/2-other/2", "grain/2-wall:steel")
    assert found.spectrum().sum() == 3
    assert found.spectrum("grain/1-grain/2").sum() == found.spectrum("grain/2-wall:steel", "normal").sum() == 1
    assert found.energy(loss="normal").sum() == pytest.approx(energies["normal_damping"], rel=1e-12)
    assert found.energy(loss="tangential").sum() == pytest.approx(energies["sliding"] + energies["rolling"], rel=1e-12)
    assert found.energy().sum() == pytest.approx(found.energy(loss="normal").sum() + energies["sliding"], rel=1e-12)
    for group in found.groups:
        (column,) = np.flatnonzero(found.spectrum(group))
        assert found.edges[column] <= found.energy(group)[column] < found.edges[column + 1]
    written = pdem.Results(tmp_path / "out").collisions
    assert (written.time, written.groups) == (run.time, found.groups)
    np.testing.assert_array_equal(written.counts, found.counts)
    np.testing.assert_array_equal(written.energies, found.energies)
    assert found.since(written).spectrum().sum() == 0
    assert "3 collisions in 3 groups" in repr(found)
    walls = pdem.Results(tmp_path / "out").at(1.0).walls["wall0"]
    np.testing.assert_array_equal(walls.wear, run.nodal_forces()["wall0"]["wear"])
    assert walls.wear.max() > 0.0
    with pytest.raises(InputError, match="no group of collisions 'grain'"):
        found.spectrum("grain")
    with pytest.raises(InputError, match="no loss 'all'"):
        found.energy(loss="all")
    (tmp_path / "out" / "collisions.csv").write_text("torn")
    with pytest.raises(CheckpointError, match="is no table of collisions"):
        read_collisions(tmp_path / "out" / "collisions.csv", found.edges[1:-1])


@pytest.mark.parametrize("model", ["finnie", "archard"])
def test_members_of_clusters_wear_walls_and_collide(model):
    """A pair of spheres that falls flat, across its axis, hits with both of them: each shows 1 / (1 / M + R^2 / I)."""
    fall = np.array([0.0, 1.0, -1.0])
    wall = {**clusters.floor(), "wear": {"model": model, "coefficient": COEFFICIENT}}
    run = clusters.simulate(
        [clusters.cluster("pair", (0.0, 0.0, 1.001 * clusters.RADIUS), velocity=fall.tolist())],
        {"pair": clusters.PAIR}, law={"friction": 0.5, "restitution": 0.5}, walls=(wall,), step=1e-6,
        output={"folder": "unused", "collision_energies": {"lowest": 1e-12}},
    )  # fmt: skip
    mass, inertia = (one[0] for one in clusters.inertia_of(run))
    run.advance(1000)
    energies, found = run.energies(), run.collisions()
    assert run.system.contacts.walls.count == 0
    volume = run.nodal_forces()["floor"]["wear"] @ run.system.walls.mesh.facet_areas
    if model == "finnie":
        shown = 1.0 / (1.0 / mass + clusters.RADIUS**2 / inertia[1, 1])
        assert volume == pytest.approx(COEFFICIENT * 2.0 * shown * (fall @ fall) / 6.0, rel=1e-9)
    else:
        assert volume == pytest.approx(COEFFICIENT * energies["sliding"] / 0.5, rel=1e-12)
    assert found.groups == ("grain-wall:steel",)
    assert found.spectrum().sum() == 2
    assert found.energy(loss="normal").sum() == pytest.approx(energies["normal_damping"], rel=1e-12)
    assert found.energy(loss="tangential").sum() == pytest.approx(energies["sliding"], rel=1e-12)


def test_narrow_sums_are_exact():
    """A large number and many small ones, whose sum a double would lose."""
    limbs = np.zeros((2, NARROW_LIMBS), np.int64)
    for value in [1.0, *[2.0**-80] * 512, -1.0]:
        add_in_window(limbs[1], value, NARROW_BELOW)
    add_in_window(limbs[0], 1e-60, NARROW_BELOW)
    assert narrow_values(limbs).tolist() == [0.0, 2.0**-71]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"wear": {"model": "archard", "coefficient": 0.0}}, r"walls\[0\].*wear.coefficient"),
        ({"wear": {"model": "archart", "coefficient": 1.0}}, r"walls\[0\].*wear.model"),
        ({"wear": {"model": "archard"}}, r"walls\[0\].*wear.coefficient"),
        ({"energies": False, "wear": {"model": "archard", "coefficient": 1.0}}, "wear.model = .*needs the energy"),
        ({"friction": 0.0, "wear": {"model": "archard", "coefficient": 1.0}}, "nothing has friction with steel"),
        ({"energies": False, "collisions": {}}, "collision_energies.*output.energies = false"),
        ({"collisions": {"lowest": 1.0, "highest": 0.5}}, "highest = 0.5: must be greater than lowest"),
        ({"collisions": {"sizes": [0.2, 0.1]}}, "sizes = .*must rise"),
        ({"collisions": {"sizes": [0.001 * k for k in range(1, 60)]}}, "groups of collisions, more than 1,000"),
        ({"collisions": {"per_decade": 0}}, "per_decade"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_named(tmp_path, changes, said):
    wall = {"mesh": strip(1), **({"wear": changes["wear"]} if "wear" in changes else {})}
    output = {"energies": changes.get("energies", True)}
    output |= {"collision_energies": changes["collisions"]} if "collisions" in changes else {}
    law = {**USUAL, "friction": changes.get("friction", 0.5)}
    with pytest.raises(CaseError, match=said):
        make_case(tmp_path, Grains([0.5, 0.0, 1.0], R), law=law, walls=(wall,), more={"output": output})


def test_who_does_not_count_is_told(tmp_path):
    run = simulate(tmp_path, Grains([0.5, 0.0, 1.0], R), law=USUAL, walls=({"mesh": strip(1)},))
    with pytest.raises(InputError, match="does not count collisions"):
        run.collisions()
    assert "wear" not in run.nodal_forces()["wall0"]
