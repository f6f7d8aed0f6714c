"""Particles that come and go: the ledger knows their energy, ids are never used twice, no bit depends on how."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.cases import Grains, quad, simulate, state_of
from pdem.features.departures.events import EVERY
from pdem.foundation.errors import InputError

R = 1.0 / 256.0
LAW = {"friction": 0.5, "restitution": 0.6, "rolling_friction": 0.02}


def crowd(seed=5):
    """Return grains of ratio 8 in a heap of sites, flying apart."""
    rng = np.random.default_rng(seed)
    sites = np.stack(np.meshgrid(*[np.arange(6)] * 3), axis=-1).reshape(-1, 3) - 2.5
    radius = np.minimum(R * (0.125 + 0.2 * rng.pareto(1.5, len(sites))), R)
    return Grains(2.02 * R * sites, radius, rng.uniform(-3.0, 3.0, (len(sites), 3)))


def spilling(folder, grains, **given):
    half = 6.5 * R
    options = {
        "law": LAW, "step": 1e-5, "largest_overlap": 1.0, "gravity": (0.0, 0.0, -9.81), "outside": "remove",
        "lower": [-half] * 3, "upper": [half] * 3, "periodic": (True, False, False),
    }  # fmt: skip
    return simulate(folder, grains, **{**options, **given})


def test_who_leaves_is_taken_out_at_the_next_look_and_the_ledger_stays_level(tmp_path):
    run = spilling(tmp_path, crowd())
    first = run.energies()
    kinetic = first["translation"]
    numbers = []
    for _ in range(30):
        run.advance(EVERY)
        held = run.gather()
        assert np.all(np.abs(held["position"][:, 1:]) <= 6.5 * R)
        numbers.append(len(held["id"]))
        assert abs(run.energies()["residual"]) < 2e-3 * kinetic
    assert numbers[0] == 216
    assert 0 < numbers[-1] < 60
    assert sorted(numbers, reverse=True) == numbers
    assert run.energies()["outflow"] > 0.3 * kinetic


def test_lists_are_not_made_anew_for_each_particle_that_leaves(tmp_path):
    """A row of grains falls out of the box, one in every eight steps."""
    places = [[0.0, 0.0, 3.0 * R * (k + 0.5)] for k in range(40)]
    speed = 3.0 * R / 8.0 / 1e-5
    run = simulate(
        tmp_path, Grains(places, [R] * 40, [0.0, 0.0, -speed]), step=1e-5, lower=[-R, -R, 0.0],
        upper=[R, R, 121.0 * R], outside="remove", detection={"skin": 100.0},
    )  # fmt: skip
    before = run.system.lists.detections
    run.advance(3 * EVERY - 1)
    assert len(run.gather()["id"]) == 40 - 2 * EVERY // 8
    assert run.system.lists.detections - before == 2
    run.advance(1)
    assert len(run.gather()["id"]) == 40 - 3 * EVERY // 8


def test_free_fall_out_of_the_box_keeps_the_ledger_to_rounding(tmp_path):
    run = simulate(
        tmp_path, Grains([[0.0, 0.0, 0.1], [0.1, 0.0, 0.0]], [R, 2 * R], [0.0, 0.1, 0.0], [0.0, 3.0, 0.0]),
        step=1e-4, gravity=(0.0, 0.0, -9.81), lower=[-0.125] * 3, upper=[0.125] * 3, outside="remove",
    )  # fmt: skip
    before = run.energies()
    total = before["translation"] + before["rotation"] + before["gravity"]
    run.advance(4000)
    assert len(run.gather()["id"]) == 0
    energies = run.energies()
    assert energies["outflow"] == pytest.approx(total, rel=1e-11)
    assert abs(energies["residual"]) < 1e-11 * abs(total)


def test_what_is_kept_outside_stays(tmp_path):
    run = spilling(tmp_path, crowd(), outside="keep")
    run.advance(2000)
    assert len(run.gather()["id"]) == 216
    assert run.energies()["outflow"] == 0.0


@pytest.mark.parametrize(
    "detection",
    [{"skin": 0.0}, {"skin": 1.0}, {"levels": 1}, {"cell_sizes": [0.5 * R, 4.0 * R]}, {"method": "nbs"}],
    ids=str,
)
def test_no_bit_depends_on_when_lists_are_made(tmp_path, detection):
    runs = [spilling(tmp_path, crowd(), **given) for given in ({}, {"detection": detection})]
    for run in runs:
        run.advance(900)
    same(*runs)


@pytest.mark.parametrize("stop", [150, 400])
def test_a_restart_after_some_have_left_changes_no_bit(tmp_path, stop):
    """The last particle may have been the one of the highest id: new ids go on all the same."""
    through = spilling(tmp_path, crowd())
    through.advance(stop)
    gone = int(through.gather()["id"].max())
    through.remove([gone])
    again = spilling(tmp_path, crowd(), state=state_of(through))
    again.first_balance = through.first_balance
    for run in (through, again):
        ids = run.insert([free_place(run)], 0.15 * R, "grain", velocity=(1.0, 0.0, 0.0))
        assert ids.tolist() == [216]
        run.advance(300)
    same(through, again)


def free_place(run):
    """Return a place that is clear of all particles."""
    held = run.gather()
    places = np.random.default_rng(1).uniform(-6.0 * R, 6.0 * R, (500, 3))
    clear = np.linalg.norm(places[:, None] - held["position"], axis=2) - held["radius"]
    return places[clear.min(axis=1).argmax()]


def same(one, other):
    a, b = state_of(one), state_of(other)
    for group in a:
        for name, column in a[group].items():
            assert column.tobytes() == b[group][name].tobytes(), f"{group}/{name}"
    assert one.energies() == other.energies()


def test_levels_follow_the_particles_there_are(tmp_path):
    rng = np.random.default_rng(2)
    sites = np.stack(np.meshgrid(*[np.arange(16)] * 3), axis=-1).reshape(-1, 3) + 0.5
    large = np.arange(len(sites)) % 256 == 7
    grains = Grains(2.1 * R * sites, np.where(large, R, R / 20.0), rng.uniform(-0.1, 0.1, (len(sites), 3)))
    run = simulate(tmp_path, grains, step=1e-6, lower=[0.0] * 3, upper=[33.6 * R] * 3, periodic=(True,) * 3)
    before = run.system.lists.skins.radii
    assert before[-1] == R
    run.remove(np.flatnonzero(~large))
    assert run.system.lists.skins.radii.tolist() == [R]
    assert run.system.lists.population == large.sum()
    run.insert([[0.5 * R, 0.5 * R, 0.5 * R]], 1.5 * R, "grain")
    assert run.system.lists.skins.radii[-1] == 1.5 * R  # larger than any level there was
    run.remove(run.gather()["id"])
    run.advance(3)
    assert len(run.gather()["id"]) == 0
    assert len(run.system.progress.notices) == 3


def test_a_contact_that_is_taken_apart_leaves_with_its_energy(tmp_path):
    run = simulate(
        tmp_path, Grains([[0.0, 0.0, 1.95 * R], [0.0, 0.0, 0.0], [0.0, 1.9 * R, 0.3 * R]], R, [0.0, 0.1, 0.0]),
        step=1e-6, walls=({"mesh": quad(height=-0.95 * R)},), law=LAW,
    )  # fmt: skip
    run.advance(3)
    before = run.energies()
    assert before["elastic"] > 0.0
    run.remove([1])
    after = run.energies()
    assert after["elastic"] == 0.0
    assert after["residual"] == pytest.approx(before["residual"], abs=1e-12 * before["elastic"])
    run.advance(50)
    assert run.gather()["id"].tolist() == [0, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"material": "gold"}, "'gold' is none of the case: grain, steel"),
        ({"radius": 0.0}, r"radius\[0\] is 0.0; radii are positive"),
        ({"radius": [R, np.nan]}, r"radius\[1\] is nan"),
        ({"position": [[0.0, 0.0, np.inf], [0, 0, 0]]}, r"position\[0\] .* finite"),
        ({"position": [[0.0, 0.0], [0, 0]]}, r"position must be numbers of shape \(n, 3\)"),
        (
            {"position": [[0.0, 0.0, 0.0], [0, 0, 7.0]]},
            r"domain: 1 particles are outside .* the first is position\[1\] at z = 7 m; move them or widen",
        ),
        ({"position": [[0.0, 0.0, 0.0], [0, 0, 3 * R]]}, r"the particle at position\[1\] = .* touches another one"),
        ({"position": [[0.0, 0.0, 0.0], [0, 0, 0.5 * R]]}, r"the particle at position\[1\] = .* touches another one"),
        ({"velocity": np.zeros((3, 3))}, r"velocity must be numbers of shape \(n, 3\) with n = 2, or \(3,\)"),
        ({"radius": [R, R, R]}, r"radius must be a length, or one for each of the 2 particles"),
    ],
)
def test_what_cannot_come_is_refused(tmp_path, change, message):
    run = spilling(tmp_path, Grains([[0.0, 0.0, 4 * R]], R))
    given = {"position": [[0.0, 0.0, 0.0], [0.0, 3 * R, 0.0]], "radius": R, "material": "grain"} | change
    with pytest.raises(InputError, match=message):
        run.insert(given.pop("position"), given.pop("radius"), given.pop("material"), **given)
    with pytest.raises(InputError, match="there is no particle 7 to remove"):
        run.remove([0, 7])
    assert run.gather()["id"].tolist() == [0]
