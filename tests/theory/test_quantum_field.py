"""A scalar that flows through contacts in whole quanta, of tests/helpers/warmth.py, against computation by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pdem
from helpers import warmth
from helpers.cases import Grains, quad, simulate, state_of
from pdem.engine.quantum_field import QuantumField
from pdem.foundation.errors import BlowUpError, InputError
from pdem.numerics.quanta import DIGITS, add_quanta, quantum_of, whole_quanta

RADIUS = 1e-3


@pytest.fixture(autouse=True)
def warmth_is_a_feature(monkeypatch):
    warmth.register(monkeypatch)


def pile(folder, state=None, *, threads=1, more=None, end=1e6):
    """Return spheres of two sizes that fall together onto a hot floor."""
    random = np.random.default_rng(5)
    place = np.stack(np.meshgrid(*(np.arange(4) * 2.05e-3,) * 3), axis=-1).reshape(-1, 3)
    place += random.uniform(0.0, 4e-5, place.shape)
    place[:, 2] += 1.05e-3
    radius = np.where(np.arange(64) % 5 == 0, 0.8 * RADIUS, RADIUS)
    grains = Grains(place, radius, random.normal(0.0, 0.2, place.shape) - [0.0, 0.0, 0.3])
    return simulate(
        folder, grains, state=state, step=2e-6, end=end, walls=({"mesh": quad(0.1)},), lower=(-0.05,) * 3,
        upper=(0.05,) * 3, gravity=(0.0, 0.0, -9.81), threads=threads, more=more,
    )  # fmt: skip


def held(run):
    """Return the heat of all particles and what has gone into walls, without rounding."""
    (feature,) = (one for one in run.system.features if one.name == "warmth")
    into = feature.exchange.into_walls(run.system)
    return sum(map(Fraction, run.gather()["warmth"])), sum(map(Fraction, into.values()))


def by_hand(run):
    """Return the heat of particles, by id, after a step, and what the walls get in it, from the contacts of now."""
    particles, quantum, dt = run.gather(), run.system.contacts.quanta["warmth"], run.system.constants.time_step.dt
    warm, radius = particles["warmth"], particles["radius"]
    change, into = np.zeros(len(warm), np.int64), 0
    pairs, walls = run.system.contacts.records()
    for i, j, overlap in zip(pairs.lower, pairs.higher, pairs.history[0], strict=True):
        circle = np.sqrt(max(overlap, 0.0) * radius[i] * radius[j] / (radius[i] + radius[j]))
        hotter = warmth.temperature(warm[i], radius[i], warmth.CAPACITY) - warmth.temperature(
            warm[j], radius[j], warmth.CAPACITY
        )
        quanta = int(np.rint(2.0 * warmth.CONDUCTIVITY * circle * hotter * dt / quantum))
        change[i] -= quanta
        change[j] += quanta
    for i, overlap in zip(walls.id, walls.history[0], strict=True):
        hotter = warmth.temperature(warm[i], radius[i], warmth.CAPACITY) - warmth.HOT
        quanta = int(
            np.rint(2.0 * warmth.CONDUCTIVITY * np.sqrt(max(overlap, 0.0) * radius[i]) * hotter * dt / quantum)
        )
        change[i] -= quanta
        into += quanta
    return (warm / quantum + change) * quantum, into * quantum


def test_nothing_is_lost_and_each_step_is_that_of_the_contact_list(tmp_path):
    run = pile(tmp_path)
    assert math.frexp(run.system.contacts.quanta["warmth"])[0] == 0.5
    begin, walls = held(run)
    assert walls == 0
    most = 0
    for _ in range(25):
        run.advance(20)
        expected, into = by_hand(run)
        before = held(run)
        run.advance(1)
        assert run.gather()["warmth"].tobytes() == expected.tobytes()
        inside, outside = held(run)
        assert inside + outside == begin
        assert outside - before[1] == Fraction(into)
        most = max(most, run.measures().pair_contacts)
    assert most > 15
    assert outside < 0
    warm = run.gather()["warmth"] / (warmth.CAPACITY * warmth.SPHERE * run.gather()["radius"] ** 3)
    assert warm.min() > 299.9
    assert warm.max() < warmth.HOT + 0.1
    assert np.ptp(warm[warm < 690.0]) > 20.0


def test_two_threads_give_the_same_bits(tmp_path):
    found = []
    for threads in (1, 2):
        run = pile(tmp_path, threads=threads)
        run.advance(300)
        found.append((run.gather()["warmth"].tobytes(), held(run)))
    assert found[0] == found[1]


def test_a_state_goes_on_with_the_same_bits(tmp_path):
    run = pile(tmp_path)
    run.advance(250)
    state = state_of(run)
    assert float(state["counters"]["warmth_quantum"]) == run.system.contacts.quanta["warmth"]
    run.advance(150)
    again = pile(tmp_path, state)
    assert again.system.contacts.quanta == run.system.contacts.quanta
    again.advance(150)
    for name in ("warmth", "velocity"):
        assert again.gather()[name].tobytes() == run.gather()[name].tobytes()
    assert held(again) == held(run)
    assert held(run)[1] != 0


def test_what_comes_in_is_rounded_to_whole_quanta(tmp_path):
    run = pile(tmp_path)
    run.insert([[0.0, 0.0, 0.03]], RADIUS, "grain")
    warm, quantum = run.gather()["warmth"], run.system.contacts.quanta["warmth"]
    assert len(warm) == 65
    assert (warm / quantum == np.rint(warm / quantum)).all()
    exact = 300.0 * warmth.CAPACITY * warmth.SPHERE * RADIUS**3
    assert 0.0 <= exact - warm[-1] <= quantum
    assert exact != warm[-1]


def constant_flow(value, other_value, radius, other, overlap, pair, dt, parameters):
    """Let a difference flow by a constant of the contact [1/s]."""
    return parameters * (value - other_value) * dt


def no_flow(value, wall_value, radius, overlap, pair, dt, parameters):
    return 0.0


class Constant(warmth.Warmth):
    """The difference of two particles decays by a constant."""

    flows = constant_flow, no_flow

    @classmethod
    def of(cls, system):
        made = cls()
        made.parameters, made.walls = 1e3, np.zeros(len(system.case.walls))
        return made


def test_two_particles_approach_each_other_exponentially(tmp_path, monkeypatch):
    warmth.register(monkeypatch, Constant)
    run = simulate(tmp_path, Grains([[0.0, 0.0, 0.0], [0.0, 0.0, 1.9 * RADIUS]], RADIUS), step=1e-7)
    first, share, steps = run.gather()["warmth"], 1e3 * 1e-7, 0
    while steps < 2000:
        run.advance(10)
        steps += 10
        if not run.measures().pair_contacts:
            break
        exact, now = (first[0] - first[1]) * math.exp(-2.0 * share * steps), run.gather()["warmth"]
        # log(1 - 2 s) is -2 s - 2 s^2 and less
        assert now[0] - now[1] == pytest.approx(exact, rel=2.01 * share * share * steps)
        assert now.sum() == first.sum()
    assert steps > 300


def test_files_have_the_column_and_the_field(tmp_path):
    run = pile(tmp_path, more={"output": {"folder": str(tmp_path / "results")}}, end=4e-4)
    run.run()
    results = pdem.Results(tmp_path / "results")
    assert results.at(4e-4).warmth.tolist() == run.gather()["warmth"].tolist()
    assert results.series["warmth_into_walls"][-1] == float(held(run)[1])


def nowhere(value, other_value, radius, other, overlap, pair, dt, parameters):
    return math.inf if value != other_value else 0.0


class Nowhere(warmth.Warmth):
    """A flow that is not finite."""

    flows = nowhere, warmth.wall_heat_flow


def test_a_flow_that_is_not_finite_stops_the_run_and_names_its_particles(tmp_path, monkeypatch):
    warmth.register(monkeypatch, Nowhere)
    run = simulate(tmp_path, Grains([[0.0, 0.0, 0.0], [0.0, 0.0, 1.9 * RADIUS]], RADIUS), step=1e-7)
    with pytest.raises(BlowUpError, match=r"flows of warmth between particle 0 .* and particle 1 .* is not finite"):
        run.advance(3)


def gather_all(value, other_value, radius, other, overlap, pair, dt, parameters):
    return 1.0


class Greedy(warmth.Warmth):
    """A flow that takes from the first particle what it has not, step by step."""

    flows = gather_all, warmth.wall_heat_flow


def test_values_may_be_negative_but_not_without_limit(tmp_path, monkeypatch):
    warmth.register(monkeypatch, Greedy)
    run = simulate(tmp_path, Grains([[0.0, 0.0, 0.0], [0.0, 0.0, 1.9 * RADIUS]], RADIUS), step=1e-7)
    run.advance(20)
    total = sum(run.gather()["warmth"])
    assert run.gather()["warmth"][0] < 0.0
    assert total == pytest.approx(1000.0 * warmth.CAPACITY * warmth.SPHERE * RADIUS**3, rel=1e-12)
    with pytest.raises(BlowUpError, match=r"particle 1 .* has more than 2\^53 quanta of warmth \(quantum "):
        run.advance(400)


@pytest.mark.parametrize("name", ["dye", "position", "cluster"])
def test_what_is_no_amount_of_particles_is_refused(name, tmp_path, monkeypatch):
    class Odd(warmth.Warmth):
        def load(self, system, groups):
            QuantumField(name, warmth.heat_flow).begin(system, 1.0)

    warmth.register(monkeypatch, Odd)
    with pytest.raises(InputError, match=f"{name} is no field that contacts can exchange"):
        simulate(tmp_path, Grains([[0.0, 0.0, 0.0]], RADIUS))


@given(st.floats(1e-200, 1e200))
def test_a_quantum_is_a_power_of_two_of_which_the_largest_has_so_many(largest):
    quantum = quantum_of(largest)
    assert math.frexp(quantum)[0] == 0.5
    assert 2.0 ** (DIGITS - 1) <= largest / quantum < 2.0**DIGITS
    (whole,) = whole_quanta(np.array([largest]), quantum)
    assert 0.0 <= largest - whole < quantum


@pytest.mark.parametrize("largest", [0.0, -1.0, math.inf, math.nan, 5e-324])
def test_no_quantum_of_nothing(largest):
    with pytest.raises(ValueError, match="the largest"):
        quantum_of(largest)


@given(st.lists(st.tuples(st.integers(-(2**53), 2**53), st.integers(-(2**54), 2**54)), min_size=1, max_size=8))
def test_quanta_are_added_exactly_or_refused(rows):
    quantum = 2.0**-70
    amounts = np.array([float(before) * quantum for before, _ in rows])
    change = np.array([more for _, more in rows], np.int64)
    bad = add_quanta(amounts, change, quantum)
    sums = [sum(row) for row in rows]
    too_many = [abs(one) > 2**53 for one in sums]
    assert bad == (too_many.index(True) if any(too_many) else -1)
    expected = [row[0] if many else one for row, one, many in zip(rows, sums, too_many, strict=True)]
    assert [Fraction(one) / Fraction(quantum) for one in amounts.tolist()] == expected
    assert not change.any()
