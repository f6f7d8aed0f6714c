"""Slabs at work: who owns what, migration with contacts, ghosts, and what is agreed among ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from decomposition.ghosts import Ghosts
from decomposition.mpi import load_mpi
from decomposition.packing import (
    GHOST,
    PARTICLE,
    pack,
    pack_pairs,
    pack_walls,
    unpack_pairs,
    unpack_walls,
)
from decomposition.slabs import Slabs, cut_slabs, distance_to_intervals, longest_axis

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from decomposition.mpi import World
    from pdem.containers.particles import Particles
    from pdem.containers.records import PairRecords, WallRecords

    Columns = dict[str, NDArray[Any]]
    Records = tuple[PairRecords, WallRecords]


class SlabExchange:
    """Ranks that own slabs across the longest axis; implements `pdem.simulation.exchange.Exchange`.

    Parameters
    ----------
    world : World
        The ranks.
    lower, upper : (3,) sequences
        Box [m].
    periodic : three bool
        Which axes are periodic.
    """

    def __init__(
        self, world: World, lower: Sequence[float], upper: Sequence[float], periodic: Sequence[bool]
    ) -> None:
        self._communicator = world.communicator.Dup()
        self._mpi = load_mpi()
        self.rank, self.size, self.threads = world.rank, world.size, world.threads
        axis = longest_axis(lower, upper)
        self._slabs = Slabs(axis, np.zeros(self.size - 1))
        self._period = upper[axis] - lower[axis] if periodic[axis] else 0.0
        self._ghosts = Ghosts(self._communicator)

    def divide(self, columns: Columns) -> NDArray[np.int64]:
        """Cut all particles into slabs of equal numbers; return the rows of this rank's."""
        axis = self._slabs.axis
        self._slabs = cut_slabs(columns["position"][:, axis], self.size, axis)
        return np.flatnonzero(self._slabs.owners(columns["position"]) == self.rank)

    def largest(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the largest of each entry over the ranks."""
        result = np.empty_like(values)
        self._communicator.Allreduce(values, result, self._mpi.MAX)
        return result

    def add(self, limbs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of integers over the ranks."""
        result = np.empty_like(limbs)
        self._communicator.Allreduce(np.ascontiguousarray(limbs), result, self._mpi.SUM)
        return result

    def share(self, value: Any) -> Any:
        """Return rank 0's value on every rank."""
        return self._communicator.bcast(value)

    def collect(self, columns: Columns) -> Columns | None:
        """Return the columns of all ranks, joined in the order of ranks, on rank 0; None elsewhere."""
        joined = {name: self._collect_column(column) for name, column in columns.items()}
        return None if self.rank else {name: column for name, column in joined.items() if column is not None}

    def _collect_column(self, column: NDArray[Any]) -> NDArray[Any] | None:
        mine = np.ascontiguousarray(column)
        sizes = np.array(self._communicator.allgather(mine.nbytes))
        result = None
        if self.rank == 0:
            width = max(1, mine.dtype.itemsize * int(np.prod(mine.shape[1:])))
            result = np.empty((int(sizes.sum()) // width, *mine.shape[1:]), mine.dtype)
        byte = self._mpi.BYTE
        receive = None if result is None else [result, sizes, np.cumsum(sizes) - sizes, byte]
        self._communicator.Gatherv([mine, mine.nbytes, byte], receive)
        return result

    def _to_all(self, parts: list[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Send part p to rank p; return what all have sent, in the order of ranks, and the numbers of rows."""
        kind, byte = parts[0].dtype, self._mpi.BYTE
        sent = np.array([len(part) for part in parts], np.int64)
        received = np.empty_like(sent)
        self._communicator.Alltoall(sent, received)
        result = np.empty(int(received.sum()), kind)
        out, into = sent * kind.itemsize, received * kind.itemsize
        self._communicator.Alltoallv(
            [np.concatenate(parts), out, np.cumsum(out) - out, byte],
            [result, into, np.cumsum(into) - into, byte],
        )
        return result, received

    def migrate(self, particles: Particles, records: Callable[[], Records]) -> Records | None:
        """Hand particles that have left to their new owners, with their contacts; return this rank's if changed."""
        owner = self._slabs.owners(particles.position)
        if not self.largest(np.array([np.any(owner != self.rank)], np.int64))[0]:
            return None
        pairs, walls = records()
        ids = particles.id.copy()
        leaving = [
            np.flatnonzero(owner == other) if other != self.rank else np.empty(0, np.int64)
            for other in range(self.size)
        ]
        arrived, _ = self._to_all([pack(particles, rows, PARTICLE) for rows in leaving])
        new_pairs, _ = self._to_all(
            [
                pack_pairs(pairs.take(np.isin(pairs.lower, ids[rows]) | np.isin(pairs.higher, ids[rows])))
                for rows in leaving
            ]
        )
        new_walls, _ = self._to_all(
            [pack_walls(walls.take(np.isin(walls.id, ids[rows]))) for rows in leaving]
        )
        stay = owner == self.rank
        if len(arrived) == 0 and stay.all():
            return None
        names = PARTICLE.names or ()
        particles.replace({name: np.concatenate((particles[name][stay], arrived[name])) for name in names})
        here = walls.take(np.isin(walls.id, ids[stay]))
        return unpack_pairs(pairs, new_pairs), unpack_walls(here, new_walls)

    def make_ghosts(self, particles: Particles, reach: Callable[[NDArray[np.float64]], Any]) -> None:
        """Append copies of all particles of other ranks that may touch owned ones; `reach` is of radii."""
        coordinate = particles.position[:, self._slabs.axis]
        reaches = reach(particles.radius)
        extent = np.array(
            [coordinate.min(initial=np.inf), coordinate.max(initial=-np.inf), reaches.max(initial=0.0)]
        )
        extents = np.empty((self.size, 3))
        self._communicator.Allgather(extent, extents)
        rows = [
            self._near(coordinate, reaches, extents[other]) if other != self.rank else np.empty(0, np.int64)
            for other in range(self.size)
        ]
        copies, numbers = self._to_all([pack(particles, one, GHOST) for one in rows])
        particles.reserve(particles.count + len(copies))
        particles.ghosts = len(copies)
        for name in GHOST.names or ():
            particles.column(name)[particles.count : particles.count + len(copies)] = copies[name]
        self._ghosts.connect(rows, numbers, particles.count)

    def _near(
        self, coordinate: NDArray[np.float64], reaches: NDArray[np.float64], extent: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Return the rows of owned particles that may touch a particle of a rank with this extent."""
        low, high, widest = extent
        if low > high:  # it owns none
            return np.empty(0, np.int64)
        apart = distance_to_intervals(coordinate, low, high, self._period)
        return np.flatnonzero(apart <= (reaches + widest) * (1.0 + 1e-9))

    def update_ghosts(self, particles: Particles) -> None:
        """Refresh what changes every step in the ghosts."""
        self._ghosts.update(particles)
