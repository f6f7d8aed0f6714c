"""Forces of contacts that stay after a step: they are those that were summed, and keeping them changes no bit."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.crowds import LAW, MOTION, OPEN, PARAMETERS, crowd, fixed_of, near_pairs
from pdem.contact.law.dissipation import ENDED
from pdem.contact.pairs import contacts, history_storage
from pdem.contact.pairs.arguments import NO_WALLS, kick_of
from pdem.contact.pairs.contacts import PairContacts
from pdem.contact.pairs.kept_forces import keep_forces, kept_forces, present_forces
from pdem.numerics.sums import ExactSums

ROWS, GHOSTS = 1500, 100


class Steps:
    """A crowd that moves on with each evaluation, so that contacts begin, go on and end, and chunks need more room."""

    def __init__(self, workers, size):
        self.particles, self.ended = crowd(4, ROWS, GHOSTS), ExactSums(ENDED)
        self.lists = PairContacts(LAW)
        self.lists.chunk_size = size
        near = near_pairs(self.particles, 1)
        self.lists.take_candidates(near, self.particles, self.ended)
        self.kick = kick_of(NO_WALLS, 2e-4, MOTION, fixed_of(self.particles))

    def take(self, keep):
        lists, particles = self.lists, self.particles
        particles.column("position")[:ROWS] += 0.05 * particles.column("velocity")[:ROWS]
        lists.begin(particles, PARAMETERS.density, packed=False)
        keep_forces(lists, particles, keep)
        for ghosts in (False, True):
            lists.evaluate(ghosts, particles, OPEN, PARAMETERS, self.ended, self.kick)
        lists.finish(particles, self.kick)

    def seen(self):
        records = self.lists.records(self.particles)
        order = np.lexsort((records.higher, records.lower))
        columns = [self.particles[name].copy() for name in ("force", "torque", "velocity")]
        return [records.lower[order], records.higher[order], records.history[:, order], *columns]


def require_sums(steps):
    """The forces of contacts add up to those on particles; in another order, therefore up to rounding."""
    lists, particles = steps.lists, steps.particles
    touching = lists.touching
    force, total = kept_forces(lists, particles, touching), np.zeros((ROWS, 3))
    np.add.at(total, lists.higher[touching], force)
    np.add.at(total, lists.lower[touching], -force)
    size = np.abs(particles.force).max()
    np.testing.assert_allclose(total[: particles.count], particles.force, rtol=0.0, atol=1e-12 * size)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("spare", ["", "none"])
@pytest.mark.parametrize("window", [None, 3])
def test_keeping_forces_changes_no_bit(monkeypatch, workers, spare, window):
    monkeypatch.setattr(contacts, "threads", lambda: workers)
    monkeypatch.setattr(history_storage, "SPARE", 0 if spare else history_storage.SPARE)
    if window:  # rows of forces are used again after so many chunks
        monkeypatch.setattr(contacts.schedule, "reuse_window", lambda *_: window)
    kept, usual = Steps(workers, 256), Steps(workers, 256)
    assert not window or kept.lists.force_schedule[1] == window
    numbers = set()
    for keep in (False, True, True, False, False, True, False):
        kept.take(keep)
        usual.take(False)
        for one, other in zip(kept.seen(), usual.seen(), strict=True):
            assert one.tobytes() == other.tobytes()
        if keep:
            require_sums(kept)
        numbers.add(kept.lists.count)
    assert len(numbers) > 4
    assert kept.lists.storage.forces.any_persistent == usual.lists.storage.forces.any_persistent
    assert kept.lists.storage.number > 12


def test_forces_are_found_anew_without_a_trace():
    """What is evaluated anew changes nothing, and is near what acted where particles are slow."""
    steps = Steps(1, 256)
    steps.particles.velocity[:] *= 1e-3
    steps.particles.angular_velocity[:] *= 1e-3
    steps.take(False)
    steps.take(True)
    lists, particles = steps.lists, steps.particles
    acted, before = kept_forces(lists, particles, lists.touching), steps.seen()
    lists.begin(particles, PARAMETERS.density, packed=False)
    anew = present_forces(lists, particles, OPEN, PARAMETERS)
    assert all(one.tobytes() == other.tobytes() for one, other in zip(steps.seen(), before, strict=True))
    size = np.linalg.norm(acted, axis=1)
    assert np.median(np.linalg.norm(anew - acted, axis=1)[size > 0.0] / size[size > 0.0]) < 0.02
    assert len(acted) > 1000
