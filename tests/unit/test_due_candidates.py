"""Candidates that are apart are looked at when they may touch: in every step the contacts are all that touch."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.falling_heap import FLOOR, TURNING, falling, heap, require_same
from pdem.contact.pairs.due_candidates import OWNED, STEP, largest_coordinate, longest_step, take_longest
from pdem.contact.pairs.layout import WORK
from pdem.engine import contact_forces
from pdem.foundation.packed_row import PACKED, SIZE
from pdem.motion.moving_blocks import BLOCK, LONGEST
from pdem.numerics.kernels import _OPTIONS
from pdem.numerics.simd.threshold_filter import DUE_LANES, _plain_append, append_due

SEEDS = st.integers(0, 2**32 - 1)


@numba.njit(**_OPTIONS)
def listed_due(due, first, count, limit, listed, at):
    return append_due(due, np.uint64(first), count, np.float32(limit), listed, np.uint64(at))


@given(SEEDS, st.integers(0, 40), st.integers(1, 40), st.integers(0, 20))
@settings(max_examples=80, deadline=None)
def test_the_places_of_numbers_below_the_limit_are_listed(seed, first, count, at):
    rng = np.random.default_rng(seed)
    due = rng.choice([-1.0, 0.0, 0.5, 1.0, np.nan, np.inf], 40 + DUE_LANES).astype(np.float32)
    lists = np.full((2, at + 2 * DUE_LANES), -1, np.int32)
    found = listed_due(due, first, count, 0.5, lists[0], at)
    assert found == _plain_append(due, first, count, np.float32(0.5), lists[1], at)
    places = np.arange(first, first + min(count, DUE_LANES))
    assert lists[0, at : at + found].tolist() == places[due[places] <= 0.5].tolist()
    assert (lists[0, :at] == -1).all()
    assert (lists[0, at + DUE_LANES :] == -1).all()


@given(SEEDS, st.integers(1, 50), st.integers(0, 50))
@settings(max_examples=50, deadline=None)
def test_the_longest_step_is_that_of_the_fastest_owned_particle(seed, owned, ghosts):
    packed = np.random.default_rng(seed).normal(size=(owned + ghosts, PACKED))
    speeds = np.sqrt((packed[:, 4:7] ** 2).sum(axis=1))
    assert longest_step(owned, 1e-3, packed.reshape(-1)) == pytest.approx(1e-3 * speeds[:owned].max(), rel=1e-14)
    assert largest_coordinate(owned + ghosts, packed.reshape(-1)) == np.abs(packed[:, :3]).max()


@numba.njit(**_OPTIONS)
def taken(workers, work):
    return take_longest(workers, work)


@pytest.mark.parametrize("workers", [1, 3])
def test_the_longest_displacement_is_taken_once(workers):
    work = np.ones(workers * WORK)
    columns = work.reshape(workers, WORK)[:, int(LONGEST) : int(LONGEST) + BLOCK]
    columns[:] = 1.0
    columns[-1, -1] = 9.0
    assert taken(workers, work) == 3.0
    assert taken(workers, work) == 0.0


def require_contacts(simulation) -> tuple[int, int]:
    """Require that all candidates that touch are contacts; return how many are apart, and due in the next step."""
    pairs = simulation.system.contacts.pairs
    rows, total = pairs._packed[: len(pairs._packed) // PACKED * PACKED].reshape(-1, PACKED), pairs.candidates
    one, other = rows[pairs.lower[:total]], rows[pairs.higher[:total]]
    apart, period = other[:, :3] - one[:, :3], np.array(simulation.system.constants.periods[0])
    apart -= np.where(period > 0.0, period, 1.0) * np.rint(apart * simulation.system.constants.periods[1])
    touch = (apart**2).sum(axis=1) < (one[:, SIZE] + other[:, SIZE]) ** 2
    np.testing.assert_array_equal(pairs._force_index[:total] > 0, touch)
    due = pairs.due_values.due[:total]
    np.testing.assert_array_equal(np.isnan(due), touch)
    return int((~touch).sum()), int((due <= pairs.due_values.path[OWNED] + pairs.due_values.path[STEP]).sum())


@pytest.mark.parametrize("speed", [0.01, 1.0, 5.0])
@pytest.mark.parametrize("wall", [FLOOR, TURNING], ids=["floor", "turning"])
def test_in_every_step_the_contacts_are_all_candidates_that_touch(tmp_path, wall, speed):
    simulation = falling(tmp_path, wall, grains=heap(seed=3, speed=speed), detection={"skin": 0.2})
    looked_at = []
    for _ in range(400):
        simulation.advance(1)
        looked_at.append(require_contacts(simulation))
    apart, due = np.array(looked_at).sum(axis=0)
    assert 0 < due < 0.7 * apart


@pytest.mark.parametrize("threads", [1, 2])
def test_looking_at_all_candidates_in_every_step_gives_the_same_bits(tmp_path, monkeypatch, threads):
    found = []
    for looks_at_all in (False, True):
        if looks_at_all:
            monkeypatch.setattr(contact_forces, "longest_step", lambda *given: np.inf)
        folder = tmp_path / str(looks_at_all)
        folder.mkdir()
        found.append(falling(folder, FLOOR, threads, grains=heap(seed=5)))
        found[-1].advance(300)
        assert np.isinf(found[-1].system.contacts.pairs.due_values.path[OWNED]) == looks_at_all
    require_same(*found)
