"""The choice of the chunk size by trying: by times that are given, not measured."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.contact.pairs.history_kernels import CHUNK, CHUNKS
from pdem.engine.tuning.chunk_tuner import FIRST_TRIAL, LONGEST_PAUSE, PAUSE, REJECTION_SAMPLES, ChunkTuner

LISTS = 30
"""Steps that lists hold for."""


def driven(trials, cost, detections, noise=0.0, seed=0):
    """Let a run go on whose step takes ``cost(chunk)``; return the chunk sizes of its lists (n,)."""
    rng, used, spent = np.random.default_rng(seed), [], 0.0
    for detection in range(1, detections + 1):
        used.append(trials.chunk)
        spent += LISTS * cost(trials.chunk) * (1.0 + noise * rng.uniform(-1.0, 1.0))
        trials.set_next(LISTS * detection, spent)
    return np.array(used)


@given(st.sampled_from(CHUNKS), st.sampled_from(CHUNKS), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_it_finds_what_is_fastest_from_anywhere(first, best, seed):
    trials = ChunkTuner(first)

    def cost(chunk):
        return 1.1 ** abs(CHUNKS.index(chunk) - CHUNKS.index(best))

    driven(trials, cost, 400, 0.02, seed)
    assert trials.best == best


@pytest.mark.parametrize("worse", [1.02, 1.1, 2.0, 10.0])
def test_what_is_slower_is_hardly_used(worse):
    trials = ChunkTuner()
    assert trials.best == CHUNK
    used = driven(trials, lambda chunk: 1.0 if chunk == CHUNK else worse, 10_000)
    others = np.flatnonzero(used != CHUNK)
    assert abs(others[0] - FIRST_TRIAL // LISTS) <= 1
    moves = 2  # to chunks of half and of twice the size
    rounds = 1 + int(np.log2(LISTS * len(used) / PAUSE))
    assert moves <= len(others) <= (1 if worse > 1.2 else REJECTION_SAMPLES) * moves * rounds
    assert trials.best == CHUNK


def test_it_rests_longer_and_longer_where_nothing_is_better():
    trials = ChunkTuner()
    used = driven(trials, lambda chunk: 1.0 if chunk == CHUNK else 1.05, 40_000)
    steps = LISTS * np.flatnonzero(used != CHUNK)
    pauses = np.diff(steps)[np.diff(steps) > PAUSE // 2]
    assert np.all(pauses[1:] >= pauses[:-1])
    assert abs(int(pauses.max()) - LONGEST_PAUSE) <= 3 * LISTS


def test_a_change_of_something_else_in_the_midst_of_a_trial_deceives_nobody():
    """When all becomes half as dear while a size is tried, it does not seem to be the size."""
    trials, factor, spent = ChunkTuner(), 1.0, 0.0
    for detection in range(1, 300):
        if detection % 7 == 0:
            factor *= 0.5
            trials.discard_times()
        spent += LISTS * factor * (1.0 if trials.chunk == CHUNK else 1.1)
        trials.set_next(LISTS * detection, spent)
    assert trials.best == CHUNK


@pytest.mark.parametrize(
    ("candidates", "workers", "size"),
    [(0, 1, CHUNK), (100, 1, 256), (20_000, 1, 1024), (20_000, 2, 512), (10**7, 4, 2048)]
)  # fmt: skip
def test_the_first_size_leaves_every_worker_some_chunks(candidates, workers, size):
    trials = ChunkTuner()
    trials.begin_with(candidates, workers)
    assert trials.chunk == size


def test_what_has_been_tried_is_not_given_up():
    trials = ChunkTuner(512)
    driven(trials, lambda chunk: 1.0 if chunk == 512 else 1.1, 100)
    trials.begin_with(10**7, 1)
    assert trials.best == 512
