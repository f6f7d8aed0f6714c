"""Liquid that particles carry: what bridges take of it, what ruptures give back, and that none is lost."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given as when
from hypothesis import strategies as st

import pdem
from helpers.cases import Grains, quad, simulate, state_of
from helpers.sticky import sticky_case, sticky_law
from pdem.contact.law import carried_liquid as law
from pdem.features.liquid.feature import Liquid
from pdem.numerics.quanta import whole_quanta

pytestmark = pytest.mark.shares_law("sticky")

RADIUS = 1e-3
SPHERE = 4.0 / 3.0 * math.pi * RADIUS**3
WET = sticky_law("wet", relative_volume=None, carried_volume=0.03, restitution=0.5)


def total(run):
    """Return the liquid that all particles own, without rounding."""
    return sum(map(Fraction, run.gather()["liquid"]))


def liquid_values(system):
    return system.features.get(Liquid).values(system)


def bridges(run):
    """Return the volumes of the bridges of all contacts."""
    records = run.system.contacts.records()
    place = run.system.constants.law.place("bridge_volume")
    return np.concatenate([one.history[place] for one in records])


def meeting(folder, liquids, *, wall=False, other=1.0, speed=0.3, law=WET):
    """Return spheres with some liquid over their volume that meet, or one and a wall."""
    place = [[0.0, 0.0, 1.001 * RADIUS], [0.0, 0.0, 0.0]]
    place[1][2] = place[0][2] + RADIUS * (1.0 + other) * 1.001
    grains = [
        Grains([place[k]], RADIUS * (other if k else 1.0), (0.0, 0.0, -speed if k or wall else speed), material="wet",
               liquid=liquid)
        for k, liquid in enumerate(liquids)
    ]  # fmt: skip
    walls = ({"mesh": quad(0.1, 0.0 if wall else -0.05)},)
    return simulate(
        folder, *grains, step=2e-6, walls=walls, lower=(-0.1,) * 3, upper=(0.1,) * 3, **sticky_case(wet=law)
    )


def go(run, until):
    while not until(run.measures()):
        run.advance(20)
        assert run.step < 20000


def touches(measured):
    return measured.pair_contacts + measured.wall_contacts > 0


def apart(measured):
    return not touches(measured)


@pytest.mark.parametrize("other", [1.0, 0.5])
@pytest.mark.parametrize("liquids", [(0.01, 0.01), (0.02, 0.0)])
def test_a_bridge_takes_what_faces_it_and_gives_half_to_each(tmp_path, liquids, other):
    run = meeting(tmp_path, liquids, other=other)
    quantum, before = run.system.contacts.quanta["liquid"], total(run)
    assert math.frexp(quantum)[0] == 0.5
    owned = run.gather()["liquid"]
    volumes = [SPHERE, SPHERE * other**3]
    assert owned == pytest.approx(np.array(liquids) * volumes, rel=1e-9)
    go(run, touches)
    run.advance(2)
    shares = [0.5 * (1.0 - math.sqrt(1.0 - (b / (a + b)) ** 2)) for a, b in ((1.0, other), (other, 1.0))]
    given = [share * liquid for share, liquid in zip(shares, owned, strict=True)]
    (volume,) = bridges(run)
    assert volume == pytest.approx(sum(given), rel=1e-6)
    after = owned - given + 0.5 * volume
    assert run.gather()["liquid"] == pytest.approx(after, rel=1e-6)
    values = liquid_values(run.system)
    assert values["liquid_in_bridges"] == volume
    assert values["liquid_in_films"] == pytest.approx(float(before) - volume, rel=1e-12)
    go(run, apart)
    assert run.gather()["liquid"] == pytest.approx(after, rel=1e-6)
    assert total(run) == before
    assert liquid_values(run.system)["liquid_in_bridges"] == 0.0
    energies = run.energies()
    assert energies["adhesion"] > 0.0
    assert abs(energies["residual"]) < 0.03 * energies["adhesion"]


def test_at_a_wall_a_particle_gives_half_of_its_film_and_gets_it_back(tmp_path):
    run = meeting(tmp_path, (0.01,), wall=True, speed=1.0)
    before = total(run)
    go(run, touches)
    run.advance(2)
    assert bridges(run)[0] == pytest.approx(0.005 * SPHERE, rel=1e-6)
    assert total(run) == before
    go(run, apart)
    assert total(run) == before
    assert liquid_values(run.system) == {"liquid_in_films": float(before), "liquid_in_bridges": 0.0}


def test_a_bridge_is_not_larger_than_the_case_says(tmp_path):
    run = meeting(tmp_path, (0.1, 0.1), law=sticky_law("wet", relative_volume=None, carried_volume=1e-3))
    go(run, touches)
    run.advance(2)
    assert bridges(run)[0] == pytest.approx(1e-3 * RADIUS**3, rel=1e-6)


def test_dry_particles_do_not_stick(tmp_path):
    run = meeting(tmp_path, (0.0, 0.0), speed=1e-3, law={**WET, "restitution": 1.0})
    go(run, touches)
    run.advance(3)
    assert bridges(run) == [law.DRY]
    go(run, apart)
    velocity = run.gather()["velocity"][:, 2]
    assert abs(velocity[1] - velocity[0]) == pytest.approx(2e-3, rel=0.01)


def crowd(folder, state=None, **options):
    """Return wet and dry spheres that fall together onto a floor."""
    random = np.random.default_rng(5)
    place = np.stack(np.meshgrid(*(np.arange(4) * 2.05e-3,) * 3), axis=-1).reshape(-1, 3)
    place += random.uniform(0.0, 4e-5, place.shape)
    place[:, 2] += 1.05e-3
    velocity = random.normal(0.0, 0.2, place.shape) - [0.0, 0.0, 0.3]
    wet = np.arange(64) % 3 == 0
    grains = [
        Grains(place[some], RADIUS, velocity[some], material="wet", liquid=liquid)
        for some, liquid in ((wet, 0.02), (~wet, 0.0))
    ]
    return simulate(
        folder, *grains, state=state, step=5e-6, walls=({"mesh": quad(0.1)},), lower=(-0.05,) * 3, upper=(0.05,) * 3,
        gravity=(0.0, 0.0, -9.81), **sticky_case(wet=WET), **options,
    )  # fmt: skip


def test_nothing_of_it_is_lost(tmp_path):
    """Over hundreds of bridges that form and rupture, with a state in between that goes on to the same bits."""
    run = crowd(tmp_path)
    before, most = total(run), 0
    first = run.gather()["liquid"]
    for _ in range(8):
        run.advance(50)
        assert total(run) == before
        volumes = bridges(run)
        most = max(most, np.count_nonzero(volumes > 0.0))
        values = liquid_values(run.system)
        assert values["liquid_in_films"] >= 0.0
        assert Fraction(values["liquid_in_films"]) + Fraction(values["liquid_in_bridges"]) == before
        if run.step == 200:
            state = state_of(run)
    assert most > 30
    assert np.count_nonzero(run.gather()["liquid"] > 0.0) > np.count_nonzero(first > 0.0) + 10
    assert abs(run.energies()["residual"]) < 0.02 * sum(run.energies()[name] for name in ("translation", "adhesion"))
    again = crowd(tmp_path, state)
    again.advance(200)
    for name in ("liquid", "velocity", "position"):
        assert again.gather()[name].tobytes() == run.gather()[name].tobytes(), name
    assert again.energies() | {"residual": 0.0} == run.energies() | {"residual": 0.0}


def test_particles_bring_liquid_and_take_it_away(tmp_path):
    """Wet grains come in through a region, fall, and leave the box at its bottom."""
    insertion = {
        "name": "rain", "material": "wet", "radius": RADIUS, "count": 20, "liquid": 0.03,
        "region": {"lower": [-0.01, -0.01, 0.005], "upper": [0.01, 0.01, 0.01]}, "velocity": [0.0, 0.0, -1.0],
    }  # fmt: skip
    run = simulate(
        tmp_path, step=5e-6, lower=(-0.02, -0.02, -0.002), upper=(0.02, 0.02, 0.02), outside="remove",
        more={"insertions": [insertion]}, walls=({"mesh": quad(0.004)},), **sticky_case(wet=WET),
    )  # fmt: skip
    run.advance(200)
    liquid = run.gather()["liquid"]
    each = whole_quanta(law.carried_by(np.array([RADIUS]), 0.03), run.system.contacts.quanta["liquid"])[0]
    assert len(liquid) == 20
    assert total(run) == 20 * Fraction(each)
    run.advance(2500)
    here = run.gather()["liquid"]
    assert 0 < len(here) < 20
    values = liquid_values(run.system)
    assert Fraction(values["liquid_in_films"]) + Fraction(values["liquid_in_bridges"]) == total(run)
    assert 0.0 < float(total(run)) < 20.0 * each


def test_files_say_where_liquid_is_in_wet_cases_only(tmp_path):
    """Columns of the series, and the field of snapshots; a case of dry particles has neither."""
    for name, interaction in (("wet", WET), ("given", sticky_law("wet"))):
        folder = tmp_path / name
        folder.mkdir()
        liquid = 0.02 if name == "wet" else 0.0
        run = simulate(
            folder, Grains([[0.0, 0.0, 0.99 * RADIUS]], RADIUS, material="wet", liquid=liquid), step=1e-6, end=1e-5,
            walls=({"mesh": quad(0.1)},), lower=(-0.1,) * 3, upper=(0.1,) * 3, **sticky_case(wet=interaction),
            more={"output": {"folder": str(folder / "results")}},
        )  # fmt: skip
        run.run()
        results = pdem.Results(folder / "results")
        snapshot = results.at(1e-5)
        if name == "given":
            assert not [column for column in results.series.names if "liquid" in column]
            assert "liquid" not in vars(snapshot)
            continue
        owned = float(total(run))
        assert snapshot.liquid.tolist() == [owned]
        films, held = (results.series[f"liquid_in_{place}"] for place in ("films", "bridges"))
        assert (films + held).tolist() == [owned] * len(films)
        assert held[0] == 0.0
        assert held[-1] > 0.0


@when(st.integers(0, 2**50), st.integers(0, 2**50), st.floats(0.5, 1e15))
def test_what_two_give_is_even_and_within_the_limit(first, second, most):
    a, b = law.limited(float(first), float(second), most)
    assert 0.0 <= a <= first
    assert 0.0 <= b <= second
    assert (a + b) % 2.0 == 0.0
    assert a + b <= most or first + second <= most


@when(st.lists(st.integers(1, 2**39), min_size=1, max_size=20), st.integers(0, 2**52))
def test_together_bridges_never_ask_for_more_than_there_is(shares, film):
    offer = law.offers(np.array([float(film)]), np.zeros(1), np.array([sum(shares)]))[0]
    parts = [law.given(offer, share, 1.0) for share in shares]
    assert sum(parts) <= film
    assert all(part == int(part) for part in parts)


@pytest.mark.parametrize("other", [0.01, 0.3, 1.0, 50.0])
def test_the_share_of_a_bridge_is_the_cap_that_faces_it(other):
    part = law.pair_share(1.0, other) / law.ONE
    angle = math.asin(other / (1.0 + other))
    assert part == pytest.approx(0.5 * (1.0 - math.cos(angle)), rel=1e-6)
