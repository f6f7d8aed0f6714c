"""The choice of the number of threads by trying: with times that are given, not measured."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.engine.tuning import thread_tuner
from pdem.engine.tuning.thread_tuner import ThreadTuner

FIRST, WINDOW = 8, thread_tuner.WINDOW


@pytest.fixture(autouse=True)
def _as_in_a_run(monkeypatch):
    monkeypatch.setattr(thread_tuner, "FIRST_TRIAL", FIRST)


def driven(tuner, cost, steps, first=0):
    """Let a run go on whose step takes ``cost(threads, step)``; return the threads and the time of each step."""
    if first == 0:
        tuner.start(0)
    spent, numbers, times = getattr(tuner, "spent", 0.0), [], []
    for step in range(first + 1, first + steps + 1):
        numbers.append(tuner.number)
        times.append(cost(tuner.number, step))
        spent += times[-1]
        if step >= tuner.next_look:
            tuner.look(step, spent)
    tuner.spent = spent
    return np.array(numbers), np.array(times)


@pytest.mark.parametrize("threads", [1, 2, 3, 6, 64])
def test_threads_are_halved(threads):
    choices = ThreadTuner(threads).choices
    assert choices[0] == 1
    assert choices[-1] == threads
    assert all(more // 2 == fewer for fewer, more in pairwise(choices))


def test_one_thread_has_no_other_and_is_never_looked_at():
    tuner = ThreadTuner(1)
    numbers, _ = driven(tuner, lambda *_: 1.0, 2000)
    assert set(numbers) == {1}
    assert tuner.next_look > 10**15


@given(st.integers(0, 6), st.floats(1.1, 3.0), st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_it_finds_what_is_fastest_and_stays_there(best, factor, seed):
    tuner, rng = ThreadTuner(64), np.random.default_rng(seed)

    def cost(threads, step):
        return factor ** abs(threads.bit_length() - 1 - best) * (1.0 + 0.02 * rng.random())

    driven(tuner, cost, 2000)
    numbers, times = driven(tuner, cost, 10_000, 2000)
    assert np.median(numbers) == 2**best
    assert times.mean() < 1.05


def test_little_time_goes_into_trials_where_nothing_is_better():
    numbers, times = driven(ThreadTuner(8), lambda threads, _: 8.0 / threads, 50_000)
    assert set(numbers) == {8, 4}
    assert times.sum() < 1.02 * 50_000
    assert (numbers == 4).sum() <= 0.02 * 50_000


def test_threads_that_wait_for_cores_are_given_up_at_once_and_hardly_tried_again():
    """One sphere on a machine that is busy with others: two threads stop each other for 20 ms now and then."""
    rng = np.random.default_rng(5)

    def cost(threads, step):
        stalls = rng.uniform() < (0.4 if threads > 1 else 0.0005)
        return 25e-6 + (20e-3 * rng.uniform() if stalls else 0.0)

    numbers, times = driven(ThreadTuner(2), cost, 20_000)
    assert (numbers[:64] == 2).sum() <= 40
    assert numbers[-1] == 1
    alone = 20_000 * (25e-6 + 0.0005 * 10e-3)
    assert times.sum() < 3.0 * alone  # with two threads all the time it takes a hundred times as long


def test_a_machine_that_becomes_busy_is_noticed():
    tuner = ThreadTuner(4)
    numbers, _ = driven(tuner, lambda threads, _: 4.0 / threads, 5000)
    assert np.median(numbers) == 4
    numbers, _ = driven(tuner, lambda threads, _: 4.0 if threads == 1 else 10.0 * threads, 500, 5000)
    assert (numbers == 1).sum() > 300
    numbers, _ = driven(tuner, lambda threads, _: 4.0 / threads, 60_000, 5500)
    assert numbers[-1] == 4  # and that it is free again


def test_a_run_whose_steps_grow_is_not_disturbed_by_trials():
    """Where steps take longer because there is more to do the number stays, and few steps run on another."""
    numbers, _ = driven(ThreadTuner(4), lambda threads, step: (1.0 + step / 100.0) / threads, 20_000)
    assert (numbers != 4).mean() < 0.06


def test_loops_are_divided_for_the_number_that_may_be_tried_next():
    tuner = ThreadTuner(8)
    seen = set()

    def cost(threads, step):
        seen.add((threads, tuner.division))
        return float(threads)

    driven(tuner, cost, 1000)
    assert all(threads <= division for threads, division in seen)
    assert tuner.number == 1
    assert tuner.division == 2
