"""Contacts in chunks: how candidates are divided, and when forces are added up, changes no bit of any result."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.crowds import LAW, MOTION, OPEN, PARAMETERS, crowd, fixed_of, near_pairs
from pdem.contact.law.dissipation import ENDED
from pdem.contact.pairs import contacts, history_storage, schedule
from pdem.contact.pairs.arguments import NO_WALLS, kick_of
from pdem.contact.pairs.contacts import PairContacts
from pdem.contact.pairs.force_storage import ForceStorage
from pdem.contact.pairs.history_kernels import CHUNK, CHUNKS, chunk_range
from pdem.contact.pairs.history_storage import HistoryStorage
from pdem.containers.particles import Particles
from pdem.containers.records import PairRecords
from pdem.detection.neighbours import NearPairs
from pdem.foundation.packed_row import PACKED, SIZE
from pdem.motion.integration import FINE, Motion, StepColumns, drift
from pdem.numerics.kernels import plain
from pdem.numerics.simd.threshold_filter import ALWAYS, DUE_LANES
from pdem.numerics.sums import ExactSums


def two_steps(monkeypatch, particles: Particles, near: NearPairs, workers: int, wall=None, size=CHUNK):
    """Evaluate twice, the second time elsewhere, so that contacts begin, go on and end; return all there is to see."""
    monkeypatch.setattr(contacts, "threads", lambda: workers)
    lists, ended = PairContacts(LAW), ExactSums(ENDED)
    lists.chunk_size = size
    lists.take_candidates(near, particles, ended)
    rows = particles.count + particles.ghosts
    walls = NO_WALLS if wall is None else (wall, np.arange(rows, dtype=np.int32)[::-1].copy())
    kick = kick_of(walls, 2e-4, MOTION, fixed_of(particles))
    beyond = []
    for step in range(2):
        if step:
            particles.column("position")[:rows] += 0.2 * particles.column("velocity")[:rows]
        lists.begin(particles, PARAMETERS.density, packed=False)
        beyond += [lists.evaluate(ghosts, particles, OPEN, PARAMETERS, ended, kick)[0] > 0 for ghosts in (False, True)]
        lists.finish(particles, kick)
    ended.normalise()
    return lists, ended.limbs.copy(), any(beyond)


def seen(lists: PairContacts, particles: Particles) -> dict[str, np.ndarray]:
    """Return contacts in the order of ids, and what they have done to the particles."""
    records: PairRecords = lists.records(particles)
    order = np.lexsort((records.higher, records.lower))
    return {
        "pairs": np.stack((records.lower, records.higher))[:, order],
        "history": records.history[:, order],
        **{name: particles[name].copy() for name in ("force", "torque", "velocity", "angular_velocity")},
    }


def require_lists(lists: PairContacts, particles: Particles) -> None:
    """Require that each candidate is a contact or apart, where its chunk has it, by the distance of its particles."""
    storage, candidates = lists.storage, lists.kernel_candidates(particles)
    rows = lists._packed.reshape(-1, PACKED)
    one, other = (rows[row[: candidates.total]] for row in (lists.lower, lists.higher))
    reach = one[:, SIZE] + other[:, SIZE]
    touch = ((one[:, :3] - other[:, :3]) ** 2).sum(axis=1) < reach**2
    assert 0 < touch.sum() < len(touch)
    for chunk in range(storage.number):
        first, end = chunk_range(chunk, storage.size, candidates.inner, candidates.total)
        begin, count = storage._begin[chunk], storage._contacts[chunk]
        there = storage.candidate[begin : begin + count]
        apart = first + np.flatnonzero(~np.isnan(candidates.due[first:end]))
        assert sorted([*there, *apart]) == list(range(first, end))
        assert touch[there].all()
        assert not touch[apart].any()
        assert (candidates.force_index[there] > 0).all()
        assert (candidates.force_index[apart] == 0).all()


@given(st.integers(0, 2**32), st.integers(2, 90), st.integers(0, 30), st.integers(2, 7), st.booleans())
@settings(max_examples=40, deadline=None)
def test_any_number_of_workers_gives_the_same_bits(seed, rows, ghosts, workers, walls) -> None:
    ghosts = min(ghosts, rows - 1)
    wall = np.random.default_rng(seed).normal(size=(rows, 6)) if walls else None
    found = []
    with pytest.MonkeyPatch.context() as monkeypatch:
        for number, order in ((1, None), (workers, seed % 2 or None)):
            particles = crowd(seed, rows, ghosts)
            lists, lost, beyond = two_steps(monkeypatch, particles, near_pairs(particles, order), number, wall)
            found.append((seen(lists, particles), lost, beyond))
    (one, lost, beyond), (other, lost_too, beyond_too) = found
    for name, values in one.items():
        np.testing.assert_array_equal(values, other[name], name)
    np.testing.assert_array_equal(lost, lost_too)
    assert beyond == beyond_too


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("few", ["", "room"])
def test_chunks_of_any_size_give_the_same_bits(monkeypatch, workers, few) -> None:
    monkeypatch.setattr(history_storage, "SPARE", 0 if few else history_storage.SPARE)
    found = {}
    for size in CHUNKS:
        particles = crowd(4, 1200, 100)
        lists, lost, beyond = two_steps(monkeypatch, particles, near_pairs(particles), workers, size=size)
        assert lists.candidates > 3 * max(CHUNKS)
        assert lists.storage.number >= lists.candidates // size
        require_lists(lists, particles)
        found[size] = (seen(lists, particles), lost, beyond)
    (one, lost, beyond), *others = found.values()
    for other, lost_too, beyond_too in others:
        for name, values in one.items():
            np.testing.assert_array_equal(values, other[name], name)
        np.testing.assert_array_equal(lost, lost_too)
        assert beyond == beyond_too


@given(
    st.integers(0, 2**32), st.integers(2, 90), st.integers(0, 30), st.integers(1, 3),
    st.sampled_from([0.0, 0.5, 30.0]),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_going_ahead_is_the_same_as_beginning_the_next_step(seed, rows, ghosts, workers, length):
    """Half a kick and then the drift with its half, or all at once: the same places, speeds, codes, to the bit."""
    rng = np.random.default_rng(seed)
    ghosts = min(ghosts, rows - 1)
    owned = rows - ghosts
    dt = 2e-4
    frequency = 1.0 / length if length else 0.0
    sides = np.array([[-1.0] * 3, [length] * 3, [frequency] * 3, [-np.inf] * 3, [rng.choice([1.0, np.inf])] * 3])
    motion = Motion(np.array([0.0, 1.0, -9.81]), np.array([1.0, 1.0, 0.0, 1.0, 0.0, 1.0]), sides)
    skin, fast = rng.uniform(0.0, 1e-3, owned), 10.0 ** rng.integers(0, 4)
    found = []
    for ahead in (False, True):
        with pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.setattr(contacts, "threads", lambda many=workers if ahead else 1: many)
            particles, lists, ended = crowd(seed, rows, ghosts), PairContacts(LAW), ExactSums(ENDED)
            column, place = particles.column, particles.column("position")[:owned].copy()
            column("velocity")[: owned // 2] *= fast
            lists.take_candidates(near_pairs(particles), particles, ended)
            lists.begin(particles, PARAMETERS.density, packed=False)
            packed = lists.packed(particles.count + particles.ghosts)
            fixed = fixed_of(particles, skin)
            kick = kick_of(NO_WALLS, dt, motion, fixed, ahead=ahead)
            codes = [lists.evaluate(ghosts, particles, OPEN, PARAMETERS, ended, kick)[1] for ghosts in (False, True)]
            code = max(*codes, lists.finish(particles, kick))
            if ahead:
                np.testing.assert_array_equal(column("position")[:owned], place)
                lists.show(particles)
            else:
                assert code == FINE
                columns = tuple(column(name) for name in StepColumns._fields)
                code = drift(*plain(owned, dt, motion, PARAMETERS.density, fixed, columns, packed))
            assert (packed.reshape(-1, PACKED)[:owned, :3] == column("position")[:owned]).all()
            moved = [column(name)[:owned].copy() for name in ("position", "image", "velocity", "angular_velocity")]
            found.append([code, *moved])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_forces_are_added_up_in_the_order_of_partners(monkeypatch) -> None:
    """Against a plain sum over the contacts of each particle; and all of them, late or not, exactly once."""
    particles = crowd(7, 400, 60)
    lists, _, _ = two_steps(monkeypatch, particles, near_pairs(particles), 3)
    assert lists.candidates > 3 * 2 * CHUNK
    late = particles.count - lists._complete_begin[lists.storage.inner_number]
    assert 0 < late < particles.count
    assert sorted(lists._complete[: particles.count].tolist()) == list(range(particles.count))
    storage, ids = lists.storage, particles.column("id")
    lower, higher = lists.lower[: lists.candidates], lists.higher[: lists.candidates]
    for p in range(particles.count):
        force, torque, turning = np.zeros(3), np.zeros(3), np.zeros(3)
        mine = np.flatnonzero((lower == p) | (higher == p))
        partner = np.where(lower[mine] == p, higher[mine], lower[mine])
        for k in mine[np.argsort(ids[partner])]:
            index, side = lists._force_index[k], int(higher[k] == p)
            if index:
                row, sign = storage.forces.forces[index], 1.0 if side else -1.0
                force += sign * row[:3]
                turned = row[6 + side] * row[3:6] + sign * row[8:11]
                torque += turned
                turning += np.abs(turned)
        np.testing.assert_array_equal(particles.force[p], force)
        assert (np.abs(particles.torque[p] - torque) <= 1e-14 * turning).all()


USUAL_LOADS = (1, 0, 2), (1, 60, 200), (2, 0, 0), (2, 60, 2), (3, 0, 200), (3, 60, 0)
LOADS = [
    pytest.param(*one, marks=() if one in USUAL_LOADS else pytest.mark.slow)
    for one in product((1, 2, 3), (0, 60), (0, 2, 200))
]


@pytest.mark.parametrize(("workers", "ghosts", "shuffled"), LOADS)
def test_loads_that_are_forgotten_early_have_been_added_up(monkeypatch, workers, ghosts, shuffled) -> None:
    """Rows of loads that are used again give what rows for all contacts give, with few or many late particles."""
    windows, divide = [], ForceStorage.assign

    def watched(self, begins, window, most, room):
        divide(self, begins, window, most, room)
        windows.append((window, int(self.persistent(len(room)).sum()), len(room)))

    monkeypatch.setattr(ForceStorage, "assign", watched)
    found = []
    for part in (3, 10**9):
        monkeypatch.setattr(schedule, "_PART", part)
        particles = crowd(8, 2400, ghosts)
        place, rng = particles.column("position")[:2400], np.random.default_rng(1)
        order = np.argsort(place[:, 0])
        order[rng.integers(0, 2400 - ghosts, shuffled)] = order[rng.integers(0, 2400 - ghosts, shuffled)]
        place[:] = place[order] * (8.0, 0.35, 0.35) + rng.uniform(0.0, 0.1, place.shape)
        lists, lost, beyond = two_steps(monkeypatch, particles, near_pairs(particles), workers)
        found.append((seen(lists, particles), lost, beyond))
        assert lists.count > 2 * CHUNK
    (window, kept, chunks), (never, all_kept, _) = windows
    assert window > 0 or shuffled == 200
    assert kept < chunks or window == 0
    assert never == 0
    assert all_kept == chunks
    for name, values in found[0][0].items():
        np.testing.assert_array_equal(values, found[1][0][name], name)
    np.testing.assert_array_equal(found[0][1], found[1][1])


@given(st.lists(st.integers(-1, 40), max_size=200), st.lists(st.integers(0, 60), min_size=1, max_size=4))
def test_the_window_suits_nearly_all_particles(spans, lengths) -> None:
    begins = np.concatenate(([0], np.cumsum(lengths)))
    opening = np.full(len(spans), 7, np.int32)
    chunk = np.array([begins[-1] if span < 0 else 7 + span for span in spans], np.int32)
    spans = [-1 if one == begins[-1] else span for one, span in zip(chunk, spans, strict=True)]
    window = schedule.reuse_window(len(spans), begins, opening, chunk)
    timely = [one for one in spans if one >= 0]
    if window:
        assert window <= min(lengths) // schedule._PART
        assert sum(one >= window for one in timely) * schedule._FEW <= len(timely)
    elif timely:
        longest = sorted(timely)[len(timely) - len(timely) // schedule._FEW - 1]
        assert longest + 1 > min(lengths) // schedule._PART


@pytest.mark.parametrize("few", ["slots", "ends"])
def test_a_worker_without_room_goes_on_when_it_has_got_some(monkeypatch, few) -> None:
    """From no contacts to thousands in one step, and from thousands to none, which nobody has made room for."""
    resume, resumed = HistoryStorage.resume, []

    def watched(self):
        resumed.append(True)
        resume(self)

    monkeypatch.setattr(HistoryStorage, "resume", watched)
    found = []
    for spare in (0, CHUNK):
        resumed.clear()
        monkeypatch.setattr(history_storage, "SPARE", spare)
        monkeypatch.setattr(history_storage, "_MOVES", 2)
        particles = crowd(3, 1500 if few == "ends" else 1000, 0)
        if few == "ends":
            particles.column("velocity")[:] *= 100.0
        workers = 1 if few == "ends" else 2
        lists, lost, _ = two_steps(monkeypatch, particles, near_pairs(particles, 1), workers)
        assert few == "ends" or lists.count > 4 * CHUNK
        assert any(resumed) == (spare == 0 or few == "ends")
        found.append((seen(lists, particles), lost))
    for name, values in found[0][0].items():
        np.testing.assert_array_equal(values, found[1][0][name], name)
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_there_is_room_behind_the_last_candidate() -> None:
    """Due values are looked at in groups: behind the last one there is room for a group, and all are due at first."""
    particles = crowd(5, 300, 0)
    near = near_pairs(particles)
    lists = PairContacts(LAW)
    lists.take_candidates(NearPairs.of(near.first[:100], near.second[:100]), particles, ExactSums(ENDED))
    full = len(lists.lower)
    assert full < near.total
    for pairs in range(full - 2 * DUE_LANES, full + DUE_LANES):
        lists.take_candidates(NearPairs.of(near.first[:pairs], near.second[:pairs]), particles, ExactSums(ENDED))
        due = lists.kernel_candidates(particles).due
        assert len(due) >= pairs + DUE_LANES
        assert (due[:pairs] == ALWAYS).all()
