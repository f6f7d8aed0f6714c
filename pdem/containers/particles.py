"""The particles of one rank: one growable column per field, with owned particles first, then ghosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.foundation.fields import Ghosted, with_further
from pdem.foundation.packed_row import PACKED_FIELDS
from pdem.numerics.arrays import room_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Booleans, Floats, Int32s
    from pdem.foundation.fields import Field


class Particles:
    """A table of particles with columns for the fields of `pdem.foundation.fields`, and for those of features.

    ``particles.position`` or ``particles["position"]`` is a view of the owned part of a column; `column` returns the
    whole column: owned and ghost particles and spare rows.

    Parameters
    ----------
    columns : mapping of (n, ...) arrays, optional
        Columns of the initial particles, see `replace`.
    further : iterable of Field
        Fields in addition to the common ones.

    Attributes
    ----------
    fields : mapping of str to Field
        All fields by name, in the order of exchange, checkpoint and output.
    count : int
        Number of particles that this rank owns.
    ghosts : int
        Number of copies of particles of other ranks, in the rows after the owned ones.
    """

    def __init__(self, columns: Mapping[str, NDArray[Any]] | None = None, further: Iterable[Field] = ()) -> None:
        self.fields = with_further(further)
        self._beside_rows = tuple(
            field
            for field in self.fields.values()
            if field.ghosted is Ghosted.EVERY_STEP and field.name not in PACKED_FIELDS
        )
        self.count = 0
        self.ghosts = 0
        self._scratch, self._order = np.empty(0, np.uint8), np.empty(0, np.intp)
        self._columns = {name: field.allocate(0) for name, field in self.fields.items()}
        if columns is not None:
            self.replace(columns)

    def __repr__(self) -> str:
        """Return the numbers of particles, and the fields."""
        return f"Particles({self.count} owned, {self.ghosts} ghosts: {', '.join(self._columns)})"

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name][: self.count]

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name.startswith("_") or name not in self._columns:
            raise AttributeError(f"particles have no field {name!r}; there are {', '.join(self._columns)}")
        return self[name]

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def keys(self) -> tuple[str, ...]:
        """Return the names of the fields, so that ``dict(particles)`` copies the owned part."""
        return tuple(self._columns)

    def column(self, name: str) -> NDArray[Any]:
        """Return a whole column: owned rows, ghost rows, spare rows."""
        return self._columns[name]

    def columns_beside_rows(self) -> tuple[Floats, ...]:
        """Return the columns, of owned particles and ghosts, that ghosts get in every step besides packed rows.

        For each field an array (n, numbers of a particle), a view; integers are reinterpreted as their bits.
        """
        rows = self.count + self.ghosts
        return tuple(
            self._columns[field.name][:rows].view(np.float64).reshape(rows, field.width) for field in self._beside_rows
        )

    def replace(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Replace the owned particles by these; missing fields get their defaults, ghosts are dropped."""
        count = len(columns["id"])
        self.reserve(count)
        self.count, self.ghosts = count, 0
        for name, column in self._columns.items():
            column[:count] = columns.get(name, self.fields[name].default)

    def replace_rows(self, leaves: Booleans, arrived: Mapping[str, NDArray[Any]]) -> tuple[Int32s, Int32s]:
        """Remove some owned particles and insert new ones; only the rows of these are written. Ghosts are dropped.

        A new particle gets the row of a removed one. If more particles are removed, the last particles move to the free
        rows; if more are inserted, the remaining ones are appended.

        Parameters
        ----------
        leaves : (n,) array
            Which of the owned particles are removed.
        arrived : mapping of (a, ...) arrays
            Columns of the new particles; missing fields get their defaults.

        Returns
        -------
        row_now : (n,) int32 array
            New row of each particle that was here; undefined for removed ones.
        rows : (a,) int32 array
            Rows of the new particles.
        """
        holes, before, came = np.flatnonzero(leaves), self.count, len(arrived["id"])
        count = before - len(holes) + came
        rows = np.concatenate((holes[:came], np.arange(before, max(count, before))))
        last = count + np.flatnonzero(~leaves[count:])
        holes = holes[came:][: len(last)]
        row_now = np.arange(before, dtype=np.int32)
        row_now[last] = holes
        self.ghosts = 0
        self.reserve(count)
        for name, column in self._columns.items():
            column[holes] = column[last]
            column[rows] = arrived.get(name, self.fields[name].default)
        self.count = count
        return row_now, rows.astype(np.int32)

    def reorder(self, order: NDArray[Any]) -> None:
        """Permute the owned particles into the order of the rows `order`; ghosts are dropped."""
        if len(self._order) < self.count:
            self._order = np.empty(len(self._columns["id"]), np.intp)
        rows = self._order[: self.count]
        rows[:] = order
        for name in self._columns:
            column = self[name]
            if self._scratch.nbytes < column.nbytes:
                self._scratch = np.empty(self._columns[name].nbytes, np.uint8)
            sorted_ = np.ndarray(column.shape, column.dtype, self._scratch)
            np.take(column, rows, axis=0, out=sorted_, mode="clip")  # mode "raise" would make a copy
            column[:] = sorted_
        self.ghosts = 0

    def reserve(self, rows: int) -> None:
        """Make room for a number of rows, and keep their contents."""
        held = self.count + self.ghosts
        if rows <= len(self._columns["id"]):
            return
        room = room_for(rows, len(self._columns["id"]))
        for name, field in self.fields.items():
            grown = field.allocate(room)
            grown[:held] = self._columns[name][:held]
            self._columns[name] = grown

    @property
    def memory(self) -> int:
        """Bytes held in columns."""
        return self._scratch.nbytes + self._order.nbytes + sum(column.nbytes for column in self._columns.values())
