"""What the simulation asks of the other ranks: the only protocol between physics and distribution.

`Alone` is the real thing for one rank, not a special case of the step.
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

PartitionMethod = Literal["bisection", "slabs"]
"""Names of the ways of cutting space among ranks; `decomposition.partitioners` has what they do."""


class Traffic(NamedTuple):
    """What one rank has to do with others in a step that makes no lists.

    Attributes
    ----------
    sends, receives : int
        Messages, one for each neighbour.
    sent, received : int
        Bytes.
    """

    sends: int = 0
    receives: int = 0
    sent: int = 0
    received: int = 0


class Migration(NamedTuple):
    """What has gone from a rank and what has come to it.

    Attributes
    ----------
    leaves : (n,) array
        Which of the particles that it owned have gone.
    arrived : dict of (a, ...) arrays
        Columns of the particles that have come.
    pairs : PairRecords
        Contacts of those, each once, but none with a particle that was here and stays: the rank has these.
    walls : WallRecords
        Contacts of those with walls.
    """

    leaves: Booleans
    arrived: Columns
    pairs: PairRecords
    walls: WallRecords


MINE, AGREED, FAILURE = range(3)
"""Rows of `ExchangeCalls.status`: what this rank has to say, the largest of all ranks, an error of MPI or 0."""

LISTS, SIGNAL, ERRORS = range(3)
"""Columns of `ExchangeCalls.status`: state of lists (`pdem.motion.integration.FINE`), stop signal, number of errors."""


class ExchangeCalls(NamedTuple):
    """What ranks do in steps with the same lists, for kernels: see `pdem.numerics.kernel_calls.call_of`.

    Attributes
    ----------
    ask : call
        Begins to all-reduce the row `MINE` of the status, and gathers the rows that others need.
    agree : call
        Waits for the answer, the row `AGREED`. 0 where there is nobody to agree with.
    begin_update, finish_update : calls
        As the methods of `Exchange`, for the rows that have been gathered.
    poll : call
        Between these two, as often as one likes: lets messages get on that want the processor's help.
    given : tuple
        Arguments of each of these.
    status : (3, 3) int64 array
        See `MINE` and `LISTS`.
    """

    ask: Call
    agree: Call
    begin_update: Call
    finish_update: Call
    poll: Call
    given: tuple[Any, ...]
    status: Integers


def calls_without() -> ExchangeCalls:
    """Return calls of the same types as those of ranks, none of which does anything: all are 0."""
    status, whole, rows = np.zeros((3, 3), np.int64), np.zeros(0, np.int64), np.zeros((0, PACKED))
    return ExchangeCalls(0, 0, 0, 0, 0, (0, status, whole, rows, whole, rows), status)


class Exchange(Group, Protocol):
    """All that crosses ranks. Every method is collective."""

    def reshape(self, shape: BoxShape) -> None:
        """Take note that the box has another shape from now on."""
        ...

    def divide(self, position: Floats) -> None:
        """Divide space among the ranks: equal numbers of particles, which any rank may hold, at these positions."""
        ...

    @property
    def cut_axes(self) -> Booleans:
        """For each axis (3,), whether other ranks have what lies beyond this rank's part along it."""
        ...

    def owners(self, position: Floats) -> Integers:
        """Return the rank (n,) whose part of space each of the positions (n, 3) is in."""
        ...

    def near(self, position: Floats, reach: Floats) -> tuple[Integers, Integers]:
        """Return the ranks whose parts come within a reach of positions, the rank of the part it is in included.

        Parameters
        ----------
        position, reach : (n, 3) and (n,) arrays
            In m; n differs between ranks.

        Returns
        -------
        rows, ranks : (k,) int64 arrays
            Numbers of positions, rising, and for each a rank; no pair twice.
        """
        ...

    def migrate(
        self, particles: Particles, records: Callable[[Booleans], Records], clusters: Clusters | None = None
    ) -> Migration | None:
        """Send particles that have left to their new owners, with their contacts.

        Members of `clusters` go where the centre of their cluster has gone, and its state, which is replaced here. The
        table of particles is left as it is.

        Parameters
        ----------
        particles : Particles
            Those of this rank.
        records : callable
            Returns the contacts of those that leave, marked in an array (n,).
        clusters : Clusters, optional
            Those of this rank.

        Returns
        -------
        Migration or None
            What has changed here; None if nothing has.
        """
        ...

    def rebalance(self, position: Floats, seconds: Floats, counts: Callable[[], Floats]) -> bool:
        """Divide the particles anew if the present division has cost more than that would.

        Nothing moves before `migrate`.

        Parameters
        ----------
        position : (n, 3) array
            Of the owned particles [m].
        seconds : (K,) array
            Time this rank has spent on each kind of work since the beginning [s], waiting not included.
        counts : callable
            Returns how much there is of each kind at each particle, (n, K).
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

        `reach` returns that of radii, velocities and positions; `radii` (L,) are the largest of each level of size,
        rising. Of each of the `clusters` with a member among the copies there is a copy, too.
        """
        ...

    def known_ids(self, ids: Integers) -> Integers:
        """Return ids of particles of this rank, with those that ranks give whose particles have ghosts here.

        Parameters
        ----------
        ids : (n,) int64 array
            Of owned particles that the present lists are for.

        Returns
        -------
        (m,) int64 array
            Rising, each once: all that are given anywhere and known here.
        """
        ...

    def begin_update(
        self, rows: Floats, states: Floats | None = None,
        columns: Sequence[Floats] = (),
    ) -> None:  # fmt: skip
        """Begin to refresh the rows of ghosts; they must be left alone meanwhile.

        Parameters
        ----------
        rows : (n, PACKED) array
            Packed rows of the owned particles and behind them those of the ghosts, see `pdem.foundation.packed_row`.
        states : (c, STATE) array, optional
            Of owned clusters and behind them of copies, see `pdem.containers.clusters`. They are refreshed in place of
            the rows of copies of members.
        columns : sequence of (n, w) arrays, optional
            What ghosts get besides rows, all of it or nothing: `Particles.columns_beside_rows`. Those of ghosts are
            written, members of clusters included; they must be left alone meanwhile as well.
        """
        ...

    def finish_update(self) -> None:
        """Return when the ghosts are as `begin_update` found their originals."""
        ...

    def agree(self, mine: Integers) -> Integers:
        """Return the largest of each of three numbers over the ranks, of which others may be within `ExchangeCalls`."""
        ...

    def calls(self, rows: Floats) -> ExchangeCalls | None:
        """Return how kernels agree with other ranks and refresh these rows, until there are new ghosts.

        None if that takes Python: for copies of clusters, for columns that ghosts get besides rows, or where MPI cannot
        be called by address. Not collective.
        """
        ...

    def check_calls(self, status: Integers) -> None:
        """Raise the error that a call has noted in this status, if there is one."""
        ...

    def traffic(self) -> Traffic:
        """Return what this rank sends and receives in a step, for the present ghosts."""
        ...


class Alone(OneRank):
    """One rank: nothing crosses anything."""

    def reshape(self, shape: BoxShape) -> None:
        """Do nothing: nobody else wants to know."""

    def divide(self, position: Floats) -> None:
        """Do nothing: there is one part."""

    @property
    def cut_axes(self) -> Booleans:
        """No axis: there is one part."""
        return np.zeros(3, np.bool_)

    def owners(self, position: Floats) -> Integers:
        """Return 0 for each position."""
        return np.zeros(len(position), np.int64)

    def near(self, position: Floats, reach: Floats) -> tuple[Integers, Integers]:
        """Return rank 0 for each position."""
        return np.arange(len(position)), self.owners(position)

    def migrate(
        self, particles: Particles, records: Callable[[Booleans], Records], clusters: Clusters | None = None
    ) -> Migration | None:
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
        """There are none."""

    def known_ids(self, ids: Integers) -> Integers:
        """Return the ids, rising."""
        return np.unique(ids)

    def begin_update(
        self, rows: Floats, states: Floats | None = None,
        columns: Sequence[Floats] = (),
    ) -> None:  # fmt: skip
        """There are none."""

    def finish_update(self) -> None:
        """There are none."""

    def agree(self, mine: Integers) -> Integers:
        """Return the numbers."""
        return mine

    def calls(self, rows: Floats) -> ExchangeCalls | None:
        """Return calls that do nothing."""
        return calls_without()

    def check_calls(self, status: Integers) -> None:
        """There are no errors."""

    def traffic(self) -> Traffic:
        """Return that there is none."""
        return Traffic()
