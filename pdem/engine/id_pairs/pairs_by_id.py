"""A table of pairs of particles by their ids, with columns of numbers: the rows of one rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.id_directory import IdDirectory
from pdem.containers.records import PairRecords
from pdem.engine.id_pairs.by_particle import PairsOfParticles, pairs_of_particles
from pdem.engine.id_pairs.pair_checks import check_pairs
from pdem.engine.id_pairs.pair_places import longest_branch, write_shifts
from pdem.numerics.kernels import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from pdem.containers.group import Group
    from pdem.containers.particles import Particles
    from pdem.engine.id_pairs.pair_places import PairBox
    from pdem.foundation.array_types import Booleans, Floats, Integers
    from pdem.foundation.fields import Field

    Columns = Mapping[str, NDArray[Any]]

NO_CONTACT = "no_contact"
"""Name of a column of integers; the particles of a pair with a nonzero number have no contact."""

_WORD = 8
"""Bytes of each number of a column: ranks send pairs as rows of numbers of this size."""


class PairTable:
    """Pairs of particles by ids. A rank has each pair with a particle that it owns; two ranks may have the same pair.

    Rows are sorted by the lower id, then by the higher id. Both ranks of a pair therefore get the same results, if they
    compute the quantities of a pair from its lower to its higher id, and sum over the pairs of a particle in the order
    of rows.

    Parameters
    ----------
    name : str
        Name of the table, and of its group of a checkpoint.
    fields : iterable of Field
        Columns, beside the ids: numbers of 8 bytes.
    near : bool
        Whether ranks have both particles of each pair; else a particle may be missing if the two are far apart.

    Attributes
    ----------
    name : str
        Name of the table.
    fields : tuple of Field
        Columns, beside the ids.
    near : bool
        Whether ranks have both particles of each pair.
    lower, higher : (n,) int64 arrays
        Ids of both particles.
    columns : dict of (n, ...) arrays
        Values by name of the field.
    rows : (n, 2) int64 array
        Rows of both particles, owned or ghosts. They are valid from the building of lists until rows of particles
        change.
    shift : (n, 3) array
        Shift from the position of the higher end to its image next to the lower end [m].
    drift : (n, 3) array
        Velocity of this image relative to its particle [m/s]: not 0 across the sides of a box that deforms.
    far : (n,) bool array
        Whether the particles are about half of a periodic side apart along an axis, so that a second image of the
        higher end is almost equally near; written with `shift`.
    of_particles : PairsOfParticles
        The pairs of each owned particle.

    Raises
    ------
    ValueError
        If the numbers of a field do not have 8 bytes.
    """

    def __init__(self, name: str, fields: Iterable[Field] = (), *, near: bool = True) -> None:
        self.name, self.fields, self.near = name, tuple(fields), near
        for field in self.fields:
            if np.dtype(field.dtype).itemsize != _WORD:
                raise ValueError(
                    f"{name}: pairs have numbers of {_WORD} bytes, and {field.name} has {np.dtype(field.dtype)}; make "
                    "it float64 or int64"
                )
        self._put(self._sorted(np.empty(0, np.int64), np.empty(0, np.int64), {}))

    def __len__(self) -> int:
        return len(self.lower)

    def __repr__(self) -> str:
        """Return the name, the number of pairs on this rank, and the columns."""
        return f"PairTable({self.name}: {len(self)} pairs here; {', '.join(self.columns)})"

    def _sorted(self, lower: Integers, higher: Integers, columns: Columns) -> dict[str, NDArray[Any]]:
        """Return ids and all columns sorted by ids; missing columns get their default values."""
        order = np.lexsort((higher, lower))
        values = self._values(columns, len(lower))
        sorted_ones = {name: np.ascontiguousarray(column[order]) for name, column in values.items()}
        return {"lower": lower[order], "higher": higher[order], **sorted_ones}

    def _values(self, columns: Columns, count: int) -> dict[str, NDArray[Any]]:
        """Return all columns of `count` pairs in the types of their fields; missing ones get their default values."""
        return {
            field.name: np.asarray(columns[field.name], field.dtype) if field.name in columns else field.allocate(count)
            for field in self.fields
        }

    def _put(self, columns: dict[str, NDArray[Any]]) -> None:
        """Replace all pairs by sorted ones. Their rows are determined when lists are built."""
        self.lower, self.higher = columns.pop("lower"), columns.pop("higher")
        self.columns = columns
        self.rows = np.empty((0, 2), np.int64)
        self._forget_images()
        self.of_particles = PairsOfParticles(np.zeros(1, np.int64), np.empty(0, np.int64))

    def _forget_images(self) -> None:
        """Make arrays for the images of the present pairs, without values."""
        self.shift, self.drift = np.zeros((len(self), 3)), np.zeros((len(self), 3))
        self.far = np.zeros(len(self), np.bool_)

    def replace(self, lower: Integers, higher: Integers, columns: Columns) -> None:
        """Replace all pairs; missing columns get their default values. Rows are determined when lists are built.

        Parameters
        ----------
        lower, higher : (n,) int64 arrays
            Ids, ``lower < higher``, in any order of the pairs, each pair once.
        columns : mapping of (n, ...) arrays
            Values by name of the field.
        """
        self._put(self._sorted(lower, higher, columns))

    def add(self, lower: Integers, higher: Integers, columns: Columns) -> None:
        """Add pairs of particles that this rank owns; see `replace` for the arguments.

        Rows of all pairs are determined when lists are built. Pairs follow their particles to other ranks.
        """
        new = self._values(columns, len(lower))
        joined = {name: np.concatenate((self.columns[name], column)) for name, column in new.items()}
        self.replace(np.concatenate((self.lower, lower)), np.concatenate((self.higher, higher)), joined)

    def keep(self, stays: Booleans) -> None:
        """Remove all pairs that are not marked; marked pairs keep their rows."""
        rows, shift, drift = self.rows, self.shift, self.drift
        listed = len(rows) == len(self) and len(self.of_particles.starts) > 1
        owned = len(self.of_particles.starts) - 1
        kept = {name: column[stays] for name, column in self.columns.items()}
        self._put({"lower": self.lower[stays], "higher": self.higher[stays], **kept})
        if listed:
            self.rows, self.shift, self.drift = rows[stays], shift[stays], drift[stays]
            self.of_particles = pairs_of_particles(self.rows, owned)

    def with_any(self, ids: Integers) -> Booleans:
        """Return for each pair whether any of its particles has an id of `ids` (n,)."""
        return np.isin(self.lower, ids) | np.isin(self.higher, ids)

    def counted(self, particles: Particles) -> Booleans:
        """Return for each pair (n,) whether this rank counts it: it does if it owns the lower particle."""
        return np.isin(self.lower, particles.id)

    def columns_of(self, pairs: Booleans) -> dict[str, NDArray[Any]]:
        """Return copies of the ids and columns of marked pairs, as a group of a checkpoint."""
        return {
            "lower": self.lower[pairs],
            "higher": self.higher[pairs],
            **{name: column[pairs] for name, column in self.columns.items()},
        }

    def records(self, pairs: Booleans) -> PairRecords:
        """Return marked pairs as records to be sent to a rank; the bits of their columns do not change."""
        some = int(np.count_nonzero(pairs))
        parts = [self.columns[field.name][pairs].view(np.float64).reshape(some, field.width).T for field in self.fields]
        return PairRecords(self.lower[pairs], self.higher[pairs], np.concatenate([np.empty((0, some)), *parts]))

    def join(self, records: PairRecords) -> None:
        """Add pairs that arrive from other ranks. Rows are determined when lists are built."""
        columns, first = {}, 0
        for field in self.fields:
            values = np.ascontiguousarray(records.history[first : first + field.width].T).view(field.dtype)
            columns[field.name] = values.reshape(len(records.lower), *field.shape)
            first += field.width
        self.add(records.lower, records.higher, columns)

    def load(self, over: Group, particles: Particles, columns: Columns) -> None:
        """Load the pairs of a checkpoint or of a new run; each rank supplies a part of them. Collective.

        Parameters
        ----------
        over : Group
            The ranks.
        particles : Particles
            Owned particles of this rank; lists need not be built yet.
        columns : mapping of (m, ...) arrays
            ``lower``, ``higher`` and the columns of the pairs that this rank supplies. One rank supplies each pair.

        Raises
        ------
        InputError
            On all ranks, if a pair joins a particle with itself, occurs twice, has the higher id first, or has an id
            without a particle.
        """
        mine = self._routed(over, particles, columns)
        self.replace(mine.pop("lower"), mine.pop("higher"), mine)

    def load_more(self, over: Group, particles: Particles, columns: Columns) -> None:
        """Add pairs to the present ones; each rank supplies a part of them, as for `load`. Collective.

        Rows of all pairs are determined when lists are built.

        Raises
        ------
        InputError
            On all ranks, see `load`.
        """
        mine = self._routed(over, particles, columns)
        self.add(mine.pop("lower"), mine.pop("higher"), mine)

    def _routed(self, over: Group, particles: Particles, columns: Columns) -> dict[str, NDArray[Any]]:
        """Return the ids and columns of the pairs of this rank, among the pairs that all ranks supply. Collective."""
        lower, higher = (np.asarray(columns[name], np.int64) for name in ("lower", "higher"))
        values = self._values(columns, len(lower))
        owners = IdDirectory(over, particles.id, np.full(particles.count, over.rank))
        ends = owners.find(lower), owners.find(higher)
        check_pairs(self.name, over, (lower, higher), ends)
        both = np.flatnonzero(ends[1] != ends[0])
        rows = np.concatenate((np.arange(len(lower)), both))
        sent = {"lower": lower[rows], "higher": higher[rows]} | {name: one[rows] for name, one in values.items()}
        return over.route(sent, np.concatenate((ends[0], ends[1][both])))

    def find_rows(self, particles: Particles, found: Integers, box: PairBox) -> tuple[Integers, float]:
        """Store the rows of the particles of all pairs, and the pairs of each owned particle.

        Parameters
        ----------
        particles : Particles
            Owned particles and ghosts.
        found : (2 n,) int64 array
            Rows of the lower particles, then of the higher particles; -1 for particles that this rank does not have.
        box : PairBox
            The box at the present time.

        Returns
        -------
        missing : (k,) int64 array
            Pairs with a missing particle; empty for a table that is not `near`.
        longest : float
            Largest distance between the particles of a complete pair [m].
        """
        self.rows = np.ascontiguousarray(found.reshape(2, len(self)).T)
        self.of_particles = pairs_of_particles(self.rows, particles.count)
        self._forget_images()
        if not self.near:
            return np.empty(0, np.int64), 0.0
        longest = float(longest_branch(*plain(self.rows, particles.column("position"), *box)))
        return np.flatnonzero((self.rows < 0).any(axis=1)), longest

    def follow(self, packed: Floats, box: PairBox) -> None:
        """Write `shift`, `drift` and `far` for packed rows (N, PACKED) of owned particles and ghosts."""
        write_shifts(*plain(self.rows, packed, *box, self.shift, self.drift, self.far))

    @property
    def memory(self) -> int:
        """Bytes of ids, columns and rows."""
        arrays = self.lower, self.higher, self.rows, self.shift, self.drift, *self.of_particles
        return sum(array.nbytes for array in (*arrays, *self.columns.values()))
