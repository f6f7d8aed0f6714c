"""The choice of settings by trying them: by times that are given, not measured."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.contact.pairs.history_kernels import CHUNK, CHUNKS
from pdem.simulation.settings_tuner import (
    FIRST_TRIAL,
    LONGEST_PAUSE,
    PAUSE,
    REJECTION_SAMPLES,
    Setting,
    SettingsTuner,
)

LISTS = 30
"""Steps that lists hold for."""


def driven(trials, cost, detections, noise=0.0, seed=0):
    """Let a run go on whose step takes ``cost(settings)``; return the settings of each of its lists."""
    rng, used, spent = np.random.default_rng(seed), [], 0.0
    now = {name: trials.value(name) for name in trials.settings}
    for detection in range(1, detections + 1):
        used.append(now)
        spent += LISTS * cost(now) * (1.0 + noise * rng.uniform(-1.0, 1.0))
        trials.set_next(LISTS * detection, spent)
        now = {name: trials.value(name) for name in trials.settings}
    return used


def best_known(trials):
    return {name: setting.choices[setting.index] for name, setting in trials.settings.items()}


@given(st.integers(0, 5), st.integers(0, 3), st.integers(0, 5), st.integers(0, 3), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_it_finds_what_is_fastest_from_anywhere(other, chunk, best_other, best_chunk, seed):
    many = [1, 2, 4, 8, 16, 32]
    trials = SettingsTuner({"other": Setting(many, other), "chunk": Setting(CHUNKS, chunk)})

    def cost(now):
        return 1.1 ** abs(many.index(now["other"]) - best_other) + 0.15 * abs(
            CHUNKS.index(now["chunk"]) - best_chunk
        )

    driven(trials, cost, 400, 0.02, seed)
    assert best_known(trials) == {"other": many[best_other], "chunk": CHUNKS[best_chunk]}


@pytest.mark.parametrize("worse", [1.02, 1.1, 2.0, 10.0])
def test_what_is_slower_is_hardly_used(worse):
    trials = SettingsTuner.of_run()
    first = best_known(trials)
    assert first == {"chunk": CHUNK}
    used = driven(trials, lambda now: 1.0 if now == first else worse, 10_000)
    others = [now for now in used if now != first]
    assert others[0] in used[FIRST_TRIAL // LISTS - 1 : FIRST_TRIAL // LISTS + 2]
    moves = 2  # to chunks of half and of twice the size
    rounds = 1 + int(np.log2(LISTS * len(used) / PAUSE))
    assert moves <= len(others) <= (1 if worse > 1.2 else REJECTION_SAMPLES) * moves * rounds
    assert best_known(trials) == first


def test_it_rests_longer_and_longer_where_nothing_is_better():
    trials = SettingsTuner.of_run()
    used = driven(trials, lambda now: 1.0 if now["chunk"] == CHUNK else 1.05, 40_000)
    steps = LISTS * np.flatnonzero([now["chunk"] != CHUNK for now in used])
    pauses = np.diff(steps)[np.diff(steps) > PAUSE // 2]
    assert np.all(pauses[1:] >= pauses[:-1])
    assert abs(int(pauses.max()) - LONGEST_PAUSE) <= 3 * LISTS


def test_a_change_of_something_else_in_the_midst_of_a_trial_deceives_nobody():
    """When all becomes half as dear while a setting is tried, it does not seem to be the setting."""
    trials, factor = SettingsTuner.of_run(), [1.0]

    def cost(now):
        return factor[0] * (1.0 if now["chunk"] == CHUNK else 1.1)

    spent = 0.0
    for detection in range(1, 300):
        if detection % 7 == 0:
            factor[0] *= 0.5
            trials.discard_times()
        spent += LISTS * cost({"chunk": trials.value("chunk")})
        trials.set_next(LISTS * detection, spent)
    assert best_known(trials)["chunk"] == CHUNK
