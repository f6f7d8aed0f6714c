"""Simulations that begin with contacts and what these remember."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from helpers.cases import GRAIN, RIGID, Grains, quad, simulate
from helpers.falling_heap import FLOOR, heap
from pdem.foundation.errors import CheckpointError, InputError
from pdem.run.simulation import Simulation

USUAL = {"friction": 0.5, "restitution": 0.2}
BRIDGE = {
    "friction": 0.5, "restitution": 0.5,
    "adhesion": {"model": "liquid-bridge", "surface_tension": 0.07, "contact_angle": 30.0, "carried_volume": 0.03},
}  # fmt: skip


@pytest.fixture(scope="module")
def settled(tmp_path_factory):
    """A bed at rest on a floor, with the contacts that carry it."""
    run = bed(tmp_path_factory.mktemp("settled"))
    run.advance(24000)
    assert run.energies()["translation"] < 1e-7
    return run


def bed(folder, **changes):
    """Return three layers of grains in a periodic box, which fall on a floor."""
    options = {
        "law": USUAL, "materials": {"grain": GRAIN, "steel": RIGID}, "gravity": (0.0, 0.0, -9.81), "walls": (FLOOR,),
        "lower": (-0.042, -0.042, -0.5), "upper": (0.042, 0.042, 0.5), "periodic": (True, True, False),
    }  # fmt: skip
    return simulate(folder, heap(speed=0.1), **(options | changes))


def begun(settled, case=None, **changes):
    """Return a simulation with the particles and contacts of the settled one, some arguments changed."""
    contacts, walls = settled.gather_contacts()
    given = {"contacts": contacts, "wall_contacts": walls, "meshes": settled.meshes} | changes
    return Simulation(case or settled.case, threads=1, particles=settled.gather(), **given)


def test_a_bed_begins_with_its_forces(settled):
    before, after = settled.gather_contacts(), begun(settled).gather_contacts()
    largest = before[1]["normal_force"].max()
    for old, new, keys in zip(before, after, (("lower", "higher"), ("id", "facet")), strict=True):
        for key in keys:
            np.testing.assert_array_equal(new[key], old[key])
        assert np.abs(old["tangential_force"]).max() > 0.1 * largest
        np.testing.assert_allclose(new["tangential_force"], old["tangential_force"], rtol=0, atol=1e-14 * largest)
        np.testing.assert_allclose(new["normal_force"], old["normal_force"], rtol=0, atol=1e-6 * largest)


def test_friction_carries_on_and_without_contacts_it_does_not(settled):
    """Grains turn and settle where springs are lost; else the bed stays as quiet as it was."""
    kept, lost = begun(settled), begun(settled, contacts=None, wall_contacts=None)
    assert not any(one["tangential_force"].any() for one in lost.gather_contacts())
    before, carried = settled.gather(), np.unique(np.concatenate(list(pairs_of(settled))))
    ways = []
    for run in (kept, lost):
        run.advance(200)
        ways.append(np.linalg.norm(run.gather()["position"] - before["position"], axis=1)[carried])
    assert np.median(ways[0]) < 0.01 * np.median(ways[1])


def pairs_of(run):
    contacts, _ = run.gather_contacts()
    return contacts["lower"], contacts["higher"]


def test_losses_count_from_the_begin(settled):
    run = begun(settled)
    energies, before = run.energies(), settled.energies()
    assert energies["sliding"] == energies["normal_damping"] == 0.0
    for name in ("elastic", "tangential"):
        assert energies[name] == pytest.approx(before[name], rel=1e-9)
    run.advance(500)
    assert abs(run.energies()["residual"]) < 1e-3 * energies["tangential"]


def test_another_law_limits_what_contacts_remember(settled, tmp_path):
    smooth = bed(tmp_path, law=USUAL | {"friction": 0.05}, gravity=(0.0, 0.0, -1.6)).case
    for one in begun(settled, smooth).gather_contacts():
        size = np.linalg.norm(one["tangential_force"], axis=1)
        assert (size <= 0.05 * one["normal_force"] * (1.0 + 1e-12)).all()
        assert size.max() == pytest.approx(0.05 * one["normal_force"][size.argmax()], rel=1e-9)


def test_a_case_without_energies_takes_the_same_columns(settled, tmp_path):
    case = bed(tmp_path, more={"output": {"energies": False}}).case
    contacts, _ = begun(settled, case).gather_contacts()
    assert "sliding" not in contacts
    np.testing.assert_allclose(
        contacts["tangential_force"], settled.gather_contacts()[0]["tangential_force"], atol=1e-15
    )


def row(**columns):
    return {"lower": np.array([3]), "higher": np.array([4])} | columns


def touch(**columns):
    given = {"id": [3], "kind": [0], "feature": [0], "facet": [0], "overlap": [1e-6], "normal": [[0.0, 0.0, 1.0]]}
    return {name: np.array(value) for name, value in (given | columns).items()}


@pytest.mark.parametrize(
    ("name", "given", "match"),
    [
        ("contacts", [1, 2], "contacts must be columns by name"),
        ("contacts", {"lower": np.array([3])}, r"contacts\['higher'\] is missing; needed are lower, higher"),
        ("contacts", row(higher=np.array([99])), r"contacts\['higher'\]\[0\] is 99, and there is no particle of this"),
        ("contacts", row(lower=np.array([-1])), r"contacts\['lower'\]\[0\] is -1, and there is no particle"),
        ("contacts", row(lower=np.array([5])), "row 0 is from particle 5 to 4; contacts go from the lower to"),
        ("contacts", row(higher=np.array([3])), "row 0 is from particle 3 to 3"),
        ("contacts", {"lower": np.array([1, 3, 1]), "higher": np.array([2, 4, 2])}, "lower 1, higher 2 twice, in ro"),
        ("contacts", row(bridge_volume=np.ones(1)), r"contacts\['bridge_volume'\]: contacts of the laws of this case"),
        ("contacts", row(tangential_force=np.ones(1)), r"is float64 of shape \(1,\); it must be numbers of shape \(n"),
        ("contacts", row(tangential_force=np.full((1, 3), np.nan)), r"contacts\['tangential_force'\]\[0\] is .*fini"),
        ("contacts", {"lower": np.array([0.0]), "higher": np.array([1.0])}, "must be whole numbers of shape"),
        ("contacts", {"lower": np.array([0]), "higher": np.array([59])}, "contacts: particles 0 and 59 .*leave the"),
        ("wall_contacts", {"id": np.array([3])}, r"wall_contacts\['kind'\] is missing; needed are id, kind, feature"),
        ("wall_contacts", touch(id=[77]), r"wall_contacts\['id'\]\[0\] is 77, and there is no particle"),
        ("wall_contacts", touch(kind=[5]), r"wall_contacts\['kind'\]\[0\] is 5; it is 0 for a facet"),
        ("wall_contacts", touch(facet=[9]), r"wall_contacts\['facet'\]\[0\] is 9; .* 1 facets, 4 edges and 4 vertices"),
        ("wall_contacts", touch(kind=[2], feature=[4]), r"wall_contacts\['feature'\]\[0\] is 4"),
        ("wall_contacts", touch(id=[3]), "wall_contacts: particle 3 does not touch wall wall0 there"),
        (
            "wall_contacts",
            {name: np.repeat(column, 2, axis=0) for name, column in touch().items()},
            "has id 3, kind 0, feature 0, facet 0 twice, in rows 0 and 1",
        ),
    ],
)  # fmt: skip
def test_contacts_that_cannot_be_are_refused(settled, name, given, match):
    with pytest.raises(InputError, match=match):
        begun(settled, **{name: given})


def wet_pair(folder, gap):
    grains = Grains([[0.0, 0.0, 0.0], [0.0, 0.0, 0.02 + gap]], 0.01, liquid=0.02)
    case = simulate(folder, grains, law=BRIDGE, materials={"grain": GRAIN, "steel": RIGID}).case
    particles = Simulation(case, threads=1).gather()
    contacts = {"lower": np.array([0]), "higher": np.array([1]), "bridge_volume": np.array([1e-8])}
    return Simulation(case, threads=1, particles=particles, contacts=contacts)


def test_a_bridge_is_there_before_its_particles_have_touched(tmp_path):
    """It pulls by its volume at its gap; one that would have ruptured is refused."""
    run = wet_pair(tmp_path, 1e-3)
    contacts, _ = run.gather_contacts()
    assert contacts["bridge_volume"][0] == pytest.approx(1e-8)
    tension, s = 4.0 * np.pi * 0.07 * np.cos(np.radians(30.0)) * 0.005, 1e-3 * np.sqrt(0.01 / 1e-8)
    assert contacts["normal_force"][0] == pytest.approx(-tension / (1.0 + 1.05 * s + 2.5 * s * s), rel=1e-9)
    run.advance(20)
    assert run.gather()["velocity"][0, 2] > 0.0
    with pytest.raises(InputError, match=r"particles 0 and 1 do not touch: they are 0\.003 m apart"):
        wet_pair(tmp_path, 3e-3)


TEXT = """
title = "bed"
[time]
step = 4e-5
end = 0.4
[domain]
lower = [-0.042, -0.042, -0.1]
upper = [0.042, 0.042, 0.3]
gravity = [0.0, 0.0, -9.81]
periodic = [true, true, false]
[materials.grain]
density = 1000.0
youngs_modulus = 1e7
poisson_ratio = 0.2
[materials.steel]
[interactions.default]
friction = 0.5
restitution = 0.2
[[particles]]
material = "grain"
radius = 0.008
fill = {lower = [-0.042, -0.042, 0.02], upper = [0.042, 0.042, 0.1], volume_fraction = 0.3, seed = 2}
[[walls]]
name = "floor"
material = "steel"
mesh = "floor.obj"
[output]
folder = "settled"
"""


def test_a_run_gives_its_bed_to_another_case(tmp_path):
    """With another wall before the one that both have, materials in another order, and less gravity."""
    quad(0.2).write(tmp_path / "floor.obj")
    quad(0.05, 0.25).write(tmp_path / "lid.obj")
    first = Simulation(pdem.Case.from_text(TEXT.replace("settled", str(tmp_path / "settled")), tmp_path), threads=1)
    first.run()
    lid = '[[walls]]\nname = "lid"\nmaterial = "steel"\nmesh = "lid.obj"\n[[walls]]\nname = "floor"'
    second = TEXT.replace('[[walls]]\nname = "floor"', lid).replace("-9.81", "-3.0")
    second = second.replace("[materials.steel]", "").replace(
        "[materials.grain]", "[materials.steel]\n[materials.grain]"
    )
    case = pdem.Case.from_text(second.replace('"settled"', '"next"'), tmp_path)
    start = pdem.initial_state(tmp_path / "settled", case)
    assert set(start["particles"]["material"]) == {1}
    assert set(start["wall_contacts"]["facet"]) == {1}
    run = Simulation(case, threads=1, **start)
    for old, new in zip(first.gather_contacts(), run.gather_contacts(), strict=True):
        largest = np.abs(old["tangential_force"]).max()  # those that slide follow the damping of the present velocity
        np.testing.assert_allclose(new["tangential_force"], old["tangential_force"], rtol=0, atol=1e-3 * largest)
        same = np.abs(new["tangential_force"] - old["tangential_force"]).max(axis=1) < 1e-12 * largest
        assert same.mean() > 0.5
    assert not len(pdem.initial_state(tmp_path / "settled", case, walls=[])["wall_contacts"]["id"])
    with pytest.raises(InputError, match="walls: 'lid' is not a wall of both cases; these are floor"):
        pdem.initial_state(tmp_path / "settled", case, walls=["lid"])
    with pytest.raises(CheckpointError, match="nowhere"):
        pdem.initial_state(tmp_path / "nowhere", case)
    other = pdem.Case.from_text(second.replace("grain", "sand"), tmp_path)
    with pytest.raises(InputError, match="has no material 'grain' of the particles"):
        pdem.initial_state(tmp_path / "settled", other)
