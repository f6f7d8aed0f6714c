"""All operations that involve several ranks: the only protocol between physics and distribution.

`Alone` implements it for a single rank, so that the step has no special case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from pdem.containers.group import Group, OneRank
from pdem.foundation.packed_row import PACKED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pdem.containers.box_shape import BoxShape
    from pdem.containers.clusters import Clusters
    from pdem.containers.particles import Particles
    from pdem.containers.records import PairRecords, WallRecords
    from pdem.foundation.array_types import Booleans, Floats, Integers
    from pdem.numerics.kernel_calls import Call

    Columns = dict[str, NDArray[Any]]
    Records = tuple[PairRecords, WallRecords]
    Tables = tuple[PairRecords, ...]

PartitionMethod = Literal["bisection", "slabs"]
"""Names of the methods that divide space among ranks; `decomposition.partitioners` implements them."""


class Traffic(NamedTuple):
    """Messages of one rank in a step without a list build.

    Attributes
    ----------
    sends, receives : int
        Number of messages, one for each neighbour.
    sent, received : int
        Bytes sent and received.
    """

    sends: int = 0
    receives: int = 0
    sent: int = 0
    received: int = 0


class Migration(NamedTuple):
    """Particles that have left a rank, and particles and contacts that have arrived.

    Attributes
    ----------
    leaves : (n,) array
        Whether each particle that the rank owned before has left.
    arrived : dict of (a, ...) arrays
        Columns of the particles that have arrived.
    pairs : PairRecords
        Contacts of arrived particles, each once, except those with a particle that was here before and stays: the rank
        has these contacts already.
    walls : WallRecords
        Contacts of arrived particles with walls.
    tables : tuple of PairRecords
        Pairs of arrived particles, for each table of pairs by ids, with the exception of `pairs`.
    """

    leaves: Booleans
    arrived: Columns
    pairs: PairRecords
    walls: WallRecords
    tables: tuple[PairRecords, ...] = ()


def no_tables(leaves: Booleans) -> tuple[PairRecords, ...]:
    """Return the pairs of the tables of a case that has none."""
    return ()


MINE, AGREED, FAILURE = range(3)
"""Rows of `ExchangeCalls.status`: values of this rank, the largest values of all ranks, an error of MPI or 0."""

LISTS, SIGNAL, ERRORS, REQUEST = range(4)
"""Columns of `ExchangeCalls.status`: state of lists (`pdem.motion.integration.FINE`), stop signal, number of errors,
and 1 if a feature has to act at the end of the step that begins."""


class ExchangeCalls(NamedTuple):
    """Addresses of functions with which kernels exchange data: see `pdem.numerics.kernel_calls.call_of`.

    Attributes
    ----------
    ask : call
        Starts the all-reduce of the row `MINE` of the status, and gathers the rows that other ranks need.
    agree : call
        Waits for the result, the row `AGREED`. 0 on a single rank.
    begin_update, finish_update : calls
        Like the methods of `Exchange`, for the gathered rows.
    poll : call
        Progresses messages between these two calls; may be called any number of times.
    given : tuple
        Arguments of each of these functions.
    status : (3, 4) int64 array
        See `MINE` and `LISTS`.
    """

    ask: Call
    agree: Call
    begin_update: Call
    finish_update: Call
    poll: Call
    given: tuple[Any, ...]
    status: Integers


def new_status() -> Integers:
    """Return an array for the status of ranks, see `ExchangeCalls`; zeros."""
    return np.zeros((3, 4), np.int64)


def calls_without() -> ExchangeCalls:
    """Return calls of the same types for a single rank: all addresses are 0, and nothing is called."""
    status, whole, rows = new_status(), np.zeros(0, np.int64), np.zeros((0, PACKED))
    return ExchangeCalls(0, 0, 0, 0, 0, (0, status, whole, rows, whole, rows), status)


class Exchange(Group, Protocol):
    """All operations between ranks. Every method is collective."""

    def reshape(self, shape: BoxShape) -> None:
        """Set the new shape of the box."""
        ...

    def divide(self, position: Floats) -> None:
        """Divide space among the ranks at these positions, with equal numbers of particles.

        Any rank may hold any of the particles.
        """
        ...

    @property
    def cut_axes(self) -> Booleans:
        """For each axis (3,), whether other ranks own the space beyond this rank's part along it."""
        ...

    def owners(self, position: Floats) -> Integers:
        """Return the rank (n,) that owns the space at each of the positions (n, 3)."""
        ...

    def near(self, position: Floats, reach: Floats) -> tuple[Integers, Integers]:
        """Return the ranks with parts of space within a reach of positions, including the rank that owns the position.

        Parameters
        ----------
        position, reach : (n, 3) and (n,) arrays
            In m; n differs between ranks.

        Returns
        -------
        rows, ranks : (k,) int64 arrays
            Indices of positions, increasing, and a rank for each; no pair occurs twice.
        """
        ...

    def migrate(
        self, particles: Particles, records: Callable[[Booleans], Records], clusters: Clusters | None = None,
        tables: Callable[[Booleans], Tables] = no_tables,
    ) -> Migration | None:  # fmt: skip
        """Send particles that have left to their new owners, with their contacts.

        Members of `clusters` are sent to the new owner of the centre of their cluster, and so is its state, which is
        replaced here. The table of particles stays unchanged.

        Parameters
        ----------
        particles : Particles
            Particles of this rank.
        records : callable
            Returns the contacts of the leaving particles, which an array (n,) marks.
        clusters : Clusters, optional
            Clusters of this rank.
        tables : callable, optional
            Returns for each table of pairs by ids (`pdem.engine.id_pairs`) the pairs of the leaving particles.

        Returns
        -------
        Migration or None
            Leaving and arriving particles; None if there are none.
        """
        ...

    def rebalance(self, position: Floats, seconds: Floats, counts: Callable[[], Floats]) -> bool:
        """Divide space again if the present division has cost more time than a new one would.

        No particle moves before `migrate`.

        Parameters
        ----------
        position : (n, 3) array
            Positions of the owned particles [m].
        seconds : (K,) array
            Time that this rank has spent on each kind of work since the beginning [s], without waiting.
        counts : callable
            Returns the amount of each kind of work at each particle, (n, K).
        """
        ...

    def make_ghosts(
        self,
        particles: Particles,
        reach: Callable[[Floats, Floats, Floats], Any],
        radii: Floats,
        clusters: Clusters | None = None,
    ) -> None:
        """Append copies of all particles of other ranks that may touch owned ones.

        `reach` returns the reaches for radii, velocities and positions; `radii` (L,) are the largest of each level of
        size, increasing. Clusters with a member among the copies are copied as well.
        """
        ...

    def known_ids(self, ids: Integers) -> Integers:
        """Return these ids, and the ids that other ranks pass if their particles have ghosts on this rank.

        Parameters
        ----------
        ids : (n,) int64 array
            Ids of owned particles for which the present lists were made.

        Returns
        -------
        (m,) int64 array
            Increasing, each once; includes all passed ids of particles that this rank owns or has as ghosts.
        """
        ...

    def begin_update(
        self, rows: Floats, states: Floats | None = None,
        columns: Sequence[Floats] = (),
    ) -> None:  # fmt: skip
        """Begin to refresh the rows of ghosts; the arrays must not be changed until `finish_update`.

        Parameters
        ----------
        rows : (n, PACKED) array
            Packed rows of the owned particles, followed by those of ghosts, see `pdem.foundation.packed_row`.
        states : (c, STATE) array, optional
            States of owned clusters, followed by those of copies, see `pdem.containers.clusters`. Their refresh
            replaces that of the rows of ghost members.
        columns : sequence of (n, w) arrays, optional
            Further columns of ghosts besides packed rows, all of `Particles.columns_beside_rows` or none. Rows of
            ghosts are written, also for members of clusters; the arrays must not be changed until `finish_update`.
        """
        ...

    def finish_update(self) -> None:
        """Wait until the ghosts equal the state of their originals at `begin_update`."""
        ...

    def agree(self, mine: Integers) -> Integers:
        """Return the largest of each of four numbers over the ranks; other ranks may call `ExchangeCalls`."""
        ...

    def calls(self, rows: Floats) -> ExchangeCalls | None:
        """Return the functions with which kernels agree with other ranks and refresh these rows.

        They are valid until new ghosts are made. None if they require Python: for copies of clusters, for columns of
        ghosts besides rows, or where MPI cannot be called by address. Not collective.
        """
        ...

    def check_calls(self, status: Integers) -> None:
        """Raise the error that a call has written to this status, if there is one."""
        ...

    def traffic(self) -> Traffic:
        """Return the traffic of this rank in a step, for the present ghosts."""
        ...


class Alone(OneRank):
    """A single rank: nothing is exchanged."""

    def reshape(self, shape: BoxShape) -> None:
        """Do nothing: no other rank needs the shape."""

    def divide(self, position: Floats) -> None:
        """Do nothing: there is a single part."""

    @property
    def cut_axes(self) -> Booleans:
        """False for each axis: there is a single part."""
        return np.zeros(3, np.bool_)

    def owners(self, position: Floats) -> Integers:
        """Return 0 for each position."""
        return np.zeros(len(position), np.int64)

    def near(self, position: Floats, reach: Floats) -> tuple[Integers, Integers]:
        """Return rank 0 for each position."""
        return np.arange(len(position)), self.owners(position)

    def migrate(
        self, particles: Particles, records: Callable[[Booleans], Records], clusters: Clusters | None = None,
        tables: Callable[[Booleans], Tables] = no_tables,
    ) -> Migration | None:  # fmt: skip
        """Return None: nothing leaves."""

    def rebalance(self, position: Floats, seconds: Floats, counts: Callable[[], Floats]) -> bool:
        """Return False: there is nothing to divide."""
        return False

    def make_ghosts(
        self,
        particles: Particles,
        reach: Callable[[Floats, Floats, Floats], Any],
        radii: Floats,
        clusters: Clusters | None = None,
    ) -> None:
        """Do nothing: a single rank has no ghosts."""

    def known_ids(self, ids: Integers) -> Integers:
        """Return the ids, increasing."""
        return np.unique(ids)

    def begin_update(
        self, rows: Floats, states: Floats | None = None,
        columns: Sequence[Floats] = (),
    ) -> None:  # fmt: skip
        """Do nothing: a single rank has no ghosts."""

    def finish_update(self) -> None:
        """Do nothing: a single rank has no ghosts."""

    def agree(self, mine: Integers) -> Integers:
        """Return the numbers unchanged."""
        return mine

    def calls(self, rows: Floats) -> ExchangeCalls | None:
        """Return calls that do nothing."""
        return calls_without()

    def check_calls(self, status: Integers) -> None:
        """Do nothing: these calls cannot fail."""

    def traffic(self) -> Traffic:
        """Return zero traffic."""
        return Traffic()
