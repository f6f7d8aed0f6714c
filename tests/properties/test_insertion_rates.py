"""What a rate asks for is its integral, to one particle: between any times, for any interval, over any restart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.cases import state_of
from helpers.inlets import case_of, inlet
from pdem.engine.named_events import NEVER
from pdem.features.insertions.source import InsertionSource
from pdem.features.insertions.state import insertion_groups, load_insertions
from pdem.run.simulation import Simulation

STEP = 1e-4
SIZES = {"distribution": "rosin-rammler", "size": 0.003, "spread": 3.0, "min": 0.002, "max": 0.004}
MASS = 2500.0 * 4.0 / 3.0 * np.pi
OPEN = {"lower": [-0.1] * 3, "upper": [0.1] * 3, "outside": "remove"}

times = st.floats(0.0, 0.3).map(lambda time: round(time, 7))
intervals = st.floats(30 * STEP, 0.5).map(lambda time: round(time, 7))
counts = st.floats(0.0, 3000.0).map(lambda rate: round(rate, 3))
tables = st.lists(st.tuples(st.floats(0.001, 0.3), counts), min_size=2, max_size=4).map(
    lambda rows: {"times": np.cumsum([width for width, _ in rows]).tolist(), "values": [value for _, value in rows]}
)


def source_of(**keys):
    case = case_of(inlet(**keys), time={"step": STEP, "end": 10.0})
    return InsertionSource(case, 0, STEP)


def run_until(source, step):
    """Let a source ask at each of its events up to a step; everything finds a place."""
    while source.next_step <= step:
        now = source.next_step
        source.ask(now)
        source.state.last, source.state.tried = now, source.state.asked
        assert abs(source.state.demand - source.due(now)) == 0.0


def continued(source, step, **keys):
    """Return a source that goes on from a checkpoint of another one, maybe with other keys."""
    groups = insertion_groups([source], step)
    new = source_of(**keys)
    load_insertions([new], step, groups)
    return new


def amount(rate, first, last):
    """Return the integral of a rate by fine steps."""
    if last <= first:
        return 0.0
    if not isinstance(rate, dict):
        return rate * (last - first)
    at = np.unique(np.clip([first, *rate["times"], last], first, last))
    values = np.interp(at, rate["times"], rate["values"])
    return float(np.sum(0.5 * np.diff(at) * (values[1:] + values[:-1])))


@given(
    st.one_of(counts.filter(lambda rate: rate > 1.0), tables),
    times,
    st.floats(1e-3, 0.4),
    intervals,
    st.lists(st.integers(0, 8000), max_size=3),
)
def test_counts_are_the_integral_to_half_a_particle(rate, start, length, every, stops):
    """Windows may be shorter than the interval of events; a run may stop and go on between these."""
    keys = {"count_rate": rate, "start": start, "end": start + length, "every": every}
    source, whole = source_of(**keys), source_of(**keys)
    for step in sorted(stops):
        run_until(source, step)
        state = source.state
        if 0 <= state.last < step and state.last * STEP < start + length - STEP:
            expected = amount(rate, start, max(start, state.last * STEP))
            assert abs(state.asked - expected) <= 0.5 + 1e-6 * max(expected, 1.0)
        source = continued(source, step, **keys)
    for one in (source, whole):
        run_until(one, round((start + length) / STEP))
        expected = amount(rate, start, start + length)
        assert abs(one.state.asked - expected) <= 0.5 + 1e-6 * max(expected, 1.0)
        assert one.next_step == NEVER
    assert source.state.asked == whole.state.asked
    assert source.state.demand == whole.state.demand


@given(st.floats(0.01, 5.0), times, st.floats(1e-3, 0.3), intervals, st.integers(0, 6000))
def test_masses_are_the_integral_to_half_a_particle(rate, start, length, every, stop):
    keys = {"mass_rate": rate, "start": start, "end": start + length, "every": every, "radius": SIZES}
    source = source_of(**keys)
    run_until(source, stop)
    source = continued(source, stop, **keys)
    run_until(source, round((start + length) / STEP))
    assert abs(source.state.asked_mass - rate * length) <= 0.5 * MASS * 0.004**3 * (1.0 + 1e-9)
    radii = source.radii(np.arange(source.state.asked))
    assert source.state.asked_mass == pytest.approx(source.masses(radii).sum(), rel=1e-12)


@given(counts, counts, intervals, st.integers(0, 4000), st.booleans())
def test_another_rate_counts_from_the_restart_on(before, after, every, stop, is_new):
    """Also one that begins where the first had ended."""
    keys = {"count_rate": max(before, 1.0), "end": 0.2 if is_new else 0.5, "every": every}
    source = source_of(**keys)
    run_until(source, stop)
    source = continued(source, stop, **{**keys, "count_rate": max(after, 1.0), "end": 0.5})
    run_until(source, 5000)
    expected = keys["count_rate"] * min(stop * STEP, keys["end"]) + max(after, 1.0) * (0.5 - stop * STEP)
    if is_new and stop * STEP < 0.2 and keys["count_rate"] == max(after, 1.0):
        expected = keys["count_rate"] * 0.5
    assert abs(source.state.asked - expected) <= 0.5 + 1e-6 * expected


def test_a_checkpoint_without_what_is_due_between_events_goes_on():
    """As earlier versions wrote them."""
    keys = {"count_rate": 1000.0, "every": 0.01, "end": 0.055}
    source = source_of(**keys)
    run_until(source, 250)
    groups = insertion_groups([source], 250)
    del groups["insertions"]["due"]
    again = source_of(**keys)
    load_insertions([again], 250, groups)
    run_until(again, 1000)
    assert again.state.asked == 55


def test_limits_that_are_raised_on_a_restart_let_more_in():
    source = source_of(count_rate=1000.0, every=0.01, count=20)
    run_until(source, 1000)
    assert source.state.asked == 20
    assert source.next_step == NEVER
    source = continued(source, 1000, count_rate=1000.0, every=0.01, count=100)
    run_until(source, 1200)
    assert source.state.asked == 40
    assert source.next_step == 1300
    source = continued(source, 1200, count_rate=1000.0, every=0.01, count=40)
    assert source.next_step == NEVER


def run_of(*insertions, state=None):
    case = case_of(*insertions, time={"step": 5e-5, "end": 0.55}, domain=OPEN)
    return Simulation(case, threads=1, state=state)


INLETS = (
    inlet(count_rate=700.0, start=0.05, end=0.55, radius=0.002),
    inlet(
        name="short",
        count_rate=900.0,
        start=0.1,
        end=0.105,
        every=0.05,
        radius=0.002,
        region={"lower": [-0.09, -0.09, -0.09], "upper": [0.09, 0.09, -0.05]},
    ),
    inlet(
        name="curve",
        mass_rate=0.2,
        start=0.3,
        end=0.5,
        radius=SIZES,
        region={"lower": [-0.09, -0.09, 0.06], "upper": [0.09, 0.09, 0.09]},
    ),
)


def test_a_run_that_ends_with_its_insertion_has_all_of_it():
    run = run_of(*INLETS)
    run.advance(4321)
    state = state_of(run)
    run.advance(11000 - run.step)
    again = run_of(*INLETS, state=state)
    again.advance(11000 - again.step)
    for one in (run, again):
        found = {name: (each.count, each.waiting) for name, each in one.insertions.items()}
        assert found["inlet"] == (350, 0)
        assert found["short"] in ((4, 0), (5, 0))
        assert found["curve"][1] == 0
        assert abs(one.insertions["curve"].mass - 0.2 * 0.2) <= 0.5 * MASS * 0.004**3
    assert run.insertions["curve"].mass == again.insertions["curve"].mass


def test_events_that_ask_for_nothing_are_fine():
    """The first event of a rate asks for no particle, of whatever sizes."""
    sizes = [
        SIZES,
        {"distribution": "tabulated", "radii": [0.002, 0.004], "cumulative": [0.0, 1.0], "by": "mass"},
        {"distribution": "mixture", "parts": [{"radius": SIZES, "share": 1.0}, {"radius": 0.003, "share": 9.0}]},
    ]
    for radius in sizes:
        run = run_of(inlet(mass_rate=0.5, radius=radius))
        run.advance(1000)
        assert run.insertions["inlet"].count > 10
