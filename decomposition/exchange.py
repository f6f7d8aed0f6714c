"""Communication of the ranks of a run: ownership, balance, migration with contacts, ghosts, and agreement.

The cost of a detection does not grow with the number of ranks. Its messages go only to ranks that receive data, or that
are near according to the parts of space. All-reduces carry a few numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from decomposition.balance import Balance
from decomposition.cluster_ghosts import ClusterGhosts, with_members_last
from decomposition.cluster_migration import hand_over_clusters, largest_overhang, unwrapped_positions
from decomposition.copies import Selection, Sizes, exchange_copies, extents_of
from decomposition.ghosts import Ghosts, append_ghosts
from decomposition.group import RankGroup
from decomposition.layers import with_levels_below
from decomposition.migration import migrate
from decomposition.neighbours import Neighbourhood
from decomposition.partitioners import PARTITIONERS
from decomposition.tags import GHOST_COLUMNS
from pdem.containers.box_shape import BoxShape
from pdem.containers.exchange import Traffic, no_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from decomposition.copies import Copied
    from decomposition.mpi import World
    from decomposition.partitioners import Parts
    from pdem.containers.clusters import Clusters
    from pdem.containers.exchange import ExchangeCalls, Migration, PartitionMethod
    from pdem.containers.particles import Particles
    from pdem.containers.records import PairRecords, WallRecords
    from pdem.foundation.array_types import Booleans, Floats, Integers

    Records = tuple[PairRecords, WallRecords]
    Tables = tuple[PairRecords, ...]


class RankExchange(RankGroup):
    """Ranks that own parts of space; implements `pdem.containers.exchange.Exchange`.

    Parameters
    ----------
    world : World
        The ranks.
    lower, upper : (3,) sequences
        Corners of the box [m].
    periodic : three bool
        Which axes are periodic.
    method : str
        Method of dividing space, a name in `decomposition.partitioners.PARTITIONERS`.
    balance : {"auto", "always", "never"}
        When space is cut again; see `decomposition.balance.Balance`.
    """

    def __init__(
        self,
        world: World,
        lower: Sequence[float],
        upper: Sequence[float],
        periodic: Sequence[bool],
        method: PartitionMethod = "bisection",
        balance: str = "auto",
    ) -> None:
        super().__init__(world)
        self._partition = PARTITIONERS[method](lower, upper)
        self._take(self._partition(np.zeros((0, 3)), self.size))
        self._neighbourhood = Neighbourhood(self._messages, self._communicator, self.rank)
        self.reshape(BoxShape.upright(np.asarray(lower), np.where(periodic, np.subtract(upper, lower), 0.0)))
        self._ghosts = Ghosts(self._communicator)
        self._cluster_ghosts: ClusterGhosts | None = None
        self._columns: list[Ghosts] = []  # updates of further columns of ghosts, one for each field
        self._balance = Balance(balance)
        self._neighbours = np.zeros(0, np.int64)  # at the last detection; a symmetric relation

    def reshape(self, shape: BoxShape) -> None:
        """Record a new shape of the box."""
        self._shape = shape
        self._neighbourhood.reshape(shape)

    def divide(self, position: Floats) -> None:
        """Cut space into parts with equal numbers of particles, counted over all ranks. Collective."""
        self._take(self._partition(position, self.size, over=self))

    def _take(self, parts: Parts) -> None:
        self._parts, self._cut_axes = parts, parts.axes_of(self.rank)

    @property
    def cut_axes(self) -> Booleans:
        """For each axis (3,), whether the region beyond this rank's part along it belongs to other ranks."""
        return self._cut_axes

    def owners(self, position: Floats) -> Integers:
        """Return the rank (n,) that owns each of the positions (n, 3)."""
        return self._parts.owners(position)

    def near(self, position: Floats, reach: Floats) -> tuple[Integers, Integers]:
        """Return pairs of a row of `position` (n, 3) and a rank with a part within this row's reach (n,)."""
        # Outer parts extend to infinity. In this search they end at the farthest reach of the positions.
        ends = np.concatenate((-position, position), axis=1) + reach[:, None]
        whole = ends.max(axis=0, initial=-np.inf)
        whole[:3] *= -1.0
        whole = self._shape.extended(whole)
        return self._parts.near_each(np.column_stack((position, position, reach)), whole, self._neighbourhood.repeats)

    def rebalance(self, position: Floats, seconds: Floats, counts: Callable[[], Floats]) -> bool:
        """Cut space again if imbalance has cost more than a cut does; return whether space was cut."""
        if not self._balance.may_cut:
            return False
        since = self._balance.since_cut(seconds)
        total, most = self._totals(since)
        if not self._balance.is_due(float(most[0] - total.sum() / self.size), float(most[1])):
            return False
        self._balance.begin()
        held = counts()
        all_counts = np.empty(held.shape[1])
        self._communicator.Allreduce(held.sum(axis=0), all_counts, self._mpi.SUM)
        work = held @ (total / np.maximum(all_counts, 1.0))
        work *= since.sum() / work.sum() if work.any() else 1.0
        self._take(self._partition(position, self.size, work, self._parts, over=self))
        return True

    def _totals(self, since: Floats) -> tuple[Floats, Floats]:
        """Return the time of all ranks for each kind of work, and the longest time and cost of a cut of any rank [s].

        The sum and the maximum are two all-reduces, which run concurrently.
        """
        total, mine, most = np.empty_like(since), np.array([since.sum(), self._balance.cost]), np.empty(2)
        begun = [
            self._communicator.Iallreduce(since, total, self._mpi.SUM),
            self._communicator.Iallreduce(mine, most, self._mpi.MAX),
        ]
        self._mpi.Request.Waitall(begun)
        return total, most

    def migrate(
        self, particles: Particles, records: Callable[[Booleans], Records], clusters: Clusters | None = None,
        tables: Callable[[Booleans], Tables] = no_tables,
    ) -> Migration | None:  # fmt: skip
        """Send particles to their new owners; return departures and arrivals, None if this rank has neither."""
        owner = self._parts.owners(particles.position if clusters is None else clusters.centres(particles))
        elsewhere = owner[owner != self.rank]
        strange = np.setdiff1d(elsewhere, self._neighbours)
        any_leaves, any_strange = self.largest(np.array([len(elsewhere), len(strange)], np.int64)).tolist()
        if not any_leaves:
            return None
        partners = None if any_strange else self._neighbours
        if clusters is not None:
            centre = np.ascontiguousarray(clusters.position)
            hand_over_clusters(self._messages, self.rank, self._parts.owners(centre), clusters, partners)
        return migrate(self._messages, self.rank, owner, particles, records, partners, tables)

    def make_ghosts(
        self,
        particles: Particles,
        reach: Callable[[Floats, Floats, Floats], Any],
        radii: Floats,
        clusters: Clusters | None = None,
    ) -> None:
        """Append as ghosts all particles of other ranks that may touch owned ones; see `decomposition.layers`."""
        sizes = Sizes(reach, radii)
        each = extents_of(particles, unwrapped_positions(particles, clusters, self._shape), sizes)
        extents = with_levels_below(each)
        neighbours, theirs = self._neighbourhood.find(self._parts, each, extents, largest_overhang(clusters))
        self._neighbours = neighbours
        selection = Selection(particles, sizes, extents, self._neighbourhood.repeats)
        copied = exchange_copies(self._messages, selection, neighbours, theirs)
        self._connect(neighbours, copied, particles, clusters)
        self._balance.end()

    def _connect(self, neighbours: Integers, copied: Copied, particles: Particles, clusters: Clusters | None) -> None:
        """Append the received copies as ghosts, and set up the messages that update them in steps."""
        copied = copied if clusters is None else with_members_last(particles, copied)
        append_ghosts(particles, copied.ghosts)
        begins = particles.count + np.cumsum(copied.numbers) - copied.numbers
        if not self._columns:
            widths = [column.shape[1] for column in particles.columns_beside_rows()]
            self._columns = [
                Ghosts(self._communicator, GHOST_COLUMNS + number, width) for number, width in enumerate(widths)
            ]
        for one in (self._ghosts, *self._columns):
            one.connect(neighbours, copied.rows, copied.numbers, begins)
        if clusters is not None:
            self._cluster_ghosts = self._cluster_ghosts or ClusterGhosts(self._communicator)
            self._cluster_ghosts.connect(neighbours, copied, particles, clusters, begins)

    def known_ids(self, ids: Integers) -> Integers:
        """Return the union of `ids` and of the ids that the owners of this rank's ghosts pass; in increasing order."""
        given = self._messages.tell(self._ghosts.targets, ids, self._ghosts.sources)
        return np.unique(np.concatenate((ids, given)))

    def begin_update(
        self, rows: Floats, states: Floats | None = None,
        columns: Sequence[Floats] = (),
    ) -> None:  # fmt: skip
        """Start to update the rows of ghosts. They must not be accessed before `finish_update`."""
        for one, column in zip(self._columns, columns, strict=False):
            one.begin_update(column)
        if states is None or self._cluster_ghosts is None:
            self._ghosts.begin_update(rows)
        else:
            self._cluster_ghosts.begin_update(rows, states)

    def finish_update(self) -> None:
        """Wait until the rows of ghosts equal their originals at the time of `begin_update`."""
        for one in (self._ghosts, *self._columns):
            one.finish_update()
        if self._cluster_ghosts is not None:
            self._cluster_ghosts.finish_update()

    def agree(self, mine: Integers) -> Integers:
        """Return the largest of each entry over the ranks, by a non-blocking all-reduce as in kernels."""
        result = np.empty_like(mine)
        self._communicator.Iallreduce(mine, result, self._mpi.MAX).Wait()
        return result

    def calls(self, rows: Floats) -> ExchangeCalls | None:
        """Return the calls by which kernels agree and update rows; None with clusters or further columns of ghosts."""
        return self._ghosts.calls(rows) if self._cluster_ghosts is None and not self._columns else None

    def check_calls(self, status: Integers) -> None:
        """Raise the MPI error that kernels have recorded, if any."""
        self._ghosts.check_calls(status)

    def traffic(self) -> Traffic:
        """Return the messages and bytes of this rank in a step, for the present ghosts."""
        of_rows = self._ghosts if self._cluster_ghosts is None else self._cluster_ghosts
        return Traffic(*map(sum, zip(*(one.traffic() for one in (of_rows, *self._columns)), strict=True)))
