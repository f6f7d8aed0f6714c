"""What a detection costs each rank, counted: calls of MPI, messages, bytes, functions called by Python, memory.

Every rank has as many particles on any number of ranks. Ranks that have large particles are not counted.
To see the numbers:

    mpirun -n 16 python tests/helpers/message_counts.py
"""

from __future__ import annotations

import sys
import tracemalloc
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from decomposition.exchange import RankExchange
from decomposition.messages import _Inbox
from decomposition.mpi import describe, start_world
from helpers.rank_cases import owned_rows
from pdem.containers.particles import Particles
from pdem.containers.records import PairRecords, WallRecords

SENDS = ("Send", "Isend", "Issend", "Send_init", "send", "isend")
EACH = 400
"""Particles of a rank."""
NARROW, WIDE = 0.04, 3.0
"""Diameters of small and of large particles, over the edge of a rank's box."""
CASES = ("boxes", "thick slabs", "thin slabs", "few large")
COLLECTIVE = {
    "Allreduce", "Iallreduce", "Ibarrier", "Barrier", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Gather",
    "Gatherv", "Scatter", "Scatterv", "Bcast", "Reduce_scatter", "Exscan", "Scan", "allgather", "allreduce", "alltoall",
    "bcast", "gather", "scatter", "exscan", "Split", "Dup",
}  # fmt: skip


PROBE, WAITS = _Inbox._receive.__code__, ("Test", "sleep")


@dataclass
class Counts:
    """Calls of MPI by name, ranks that are sent something, bytes, and the longest buffer of a collective call."""

    calls: Counter = field(default_factory=Counter)
    partners: set = field(default_factory=set)
    sent: int = 0
    longest: int = 0

    def add(self, name, arguments):
        self.calls[name] += 1
        if name in SENDS:
            self.partners.add(arguments[1])
            self.sent += _bytes(arguments[0])
        elif name in COLLECTIVE:
            self.longest = max([self.longest, *(_bytes(one) for one in arguments[:2])])


def _bytes(message):
    if isinstance(message, list):
        sizes = message[1]
        return int(np.sum(sizes))
    return getattr(message, "nbytes", 0)


class CountingCommunicator:
    """A communicator that counts what it is asked for, and so do its duplicates."""

    def __init__(self, communicator, counts):
        self._communicator, self._counts = communicator, counts

    def Dup(self):  # noqa: N802
        return CountingCommunicator(self._communicator.Dup(), self._counts)

    def __getattr__(self, name):
        attribute = getattr(self._communicator, name)
        if not callable(attribute):
            return attribute

        def counted(*arguments, **options):
            self._counts.add(name, arguments)
            return attribute(*arguments, **options)

        return counted


@dataclass
class Detection:
    """What one detection took on this rank."""

    calls: Counter
    partners: int
    messages: int
    sent: int
    longest: int
    functions: int
    memory: int


class Bed:
    """Particles of all ranks, one of these cases, and what counts.

    Each rank has a part of edge 1, or a slab that is thicker, or half as thick, as its particles.
    """

    def __init__(self, communicator, name):
        self.counts = Counts()
        world = describe(communicator, 1)
        world = replace(world, communicator=CountingCommunicator(communicator, self.counts))
        ranks = communicator.size
        edges = np.full(3, ranks ** (1.0 / 3.0))
        if "slabs" in name:
            edges = np.array([ranks, 1.0, 1.0]) if "thick" in name else np.array([0.5 * NARROW * ranks, 0.1, 0.1])
        rng = np.random.default_rng(1)
        position = rng.uniform(0.0, 1.0, (EACH * ranks, 3)) * edges
        radius = np.full(len(position), 0.5 * NARROW)
        if name == "few large":
            radius[:: len(radius) // 4 + 1] = 0.5 * WIDE
        self.radii = np.unique(radius)
        method = "slabs" if "slabs" in name else "bisection"
        self.exchange = RankExchange(world, [0.0] * 3, edges, [True] * 3, method)
        own = owned_rows(self.exchange, position)
        self.edges = edges
        self.particles = Particles({"id": own, "radius": radius[own], "position": position[own]})
        self.exchange.make_ghosts(self.particles, lambda radius, *_: radius.copy(), self.radii)

    @property
    def has_large(self):
        """Whether this rank has a large particle, which may reach many ranks."""
        return len(self.radii) > 1 and self.particles.radius.max(initial=0.0) == self.radii[-1]

    def move(self):
        """Move all particles by half of a small diameter at most along each axis."""
        own = self.particles
        rng = np.random.default_rng(own.id.min(initial=0))
        own.position[:] = (own.position + rng.uniform(-0.5, 0.5, (len(own), 3)) * NARROW) % self.edges

    def detect(self):
        """What is done on ranks when lists are made."""
        own = self.particles
        self.exchange.rebalance(own.position, np.zeros(3), lambda: np.ones((len(own), 3)))
        migration = self.exchange.migrate(own, lambda _: (PairRecords.none(9), WallRecords.none(9)))
        if migration is not None:
            own.replace_rows(migration.leaves, migration.arrived)
        self.exchange.make_ghosts(own, lambda radius, *_: radius.copy(), self.radii)

    def measure(self):
        """Return what a detection takes, when all that happens once has happened."""
        self.move()
        self.detect()
        self.move()
        memory = peak_memory(self.detect)
        self.move()
        counts = self.counts
        counts.calls.clear()
        counts.partners.clear()
        counts.sent = counts.longest = 0
        functions = functions_called(self.detect)
        messages = sum(counts.calls[name] for name in SENDS)
        calls = Counter({name: counts.calls[name] for name in COLLECTIVE if counts.calls[name]})
        return Detection(calls, len(counts.partners), messages, counts.sent, counts.longest, functions, memory)


def functions_called(work):
    """Return how many functions Python calls, its own and compiled ones, besides those that repeat while it waits."""
    number = before = 0

    def count(frame, event, argument):
        nonlocal number, before
        is_probe = frame.f_code is PROBE
        if event == "call" and is_probe:
            before = number
        if event == "return" and is_probe and not argument:  # nothing was there
            number = before
        waits = event == "c_call" and argument.__name__ in WAITS
        number += event in ("call", "c_call") and not waits

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return number


def peak_memory(work):
    """Return the bytes that are allocated at most at a time, besides those held before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def largest(communicator, found):
    """Return the largest numbers of any rank that does not give None, on all ranks."""
    everyone = [one for one in communicator.allgather(found) if one is not None]
    calls = Counter()
    for one in everyone:
        calls |= one.calls
    numbers = ("partners", "messages", "sent", "longest", "functions", "memory")
    return Detection(calls, **{name: max(getattr(one, name) for one in everyone) for name in numbers})


def main():
    communicator = start_world(1).communicator
    for name in CASES:
        bed = Bed(communicator, name)
        found = bed.measure()
        most = largest(communicator, None if bed.has_large else found)
        if communicator.rank == 0:
            calls = " ".join(f"{call} {number}" for call, number in sorted(most.calls.items()))
            print(
                f"{communicator.size:3d} ranks, {name:11s}: {most.partners:3d} partners, {most.messages:3d} messages, "
                f"{most.sent:6d} bytes, {most.functions:5d} functions, {most.memory // 1000:5d} kB; {calls}; "
                f"longest {most.longest} bytes",
                flush=True,
            )


if __name__ == "__main__":
    main()
