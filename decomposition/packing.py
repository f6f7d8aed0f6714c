"""Rows of several columns as one block of bytes, so that one message contains all columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.records import PairRecords, WallRecords
from pdem.foundation.fields import Ghosted, state_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from pdem.containers.particles import Particles
    from pdem.foundation.array_types import Integers
    from pdem.foundation.fields import Field


def row_type(fields: Iterable[Field]) -> np.dtype:
    """Return the type of one row with these fields."""
    return np.dtype([(field.name, field.dtype, field.shape) for field in fields])


def state_type(particles: Particles) -> np.dtype:
    """Return the type of the row of a migrating particle: its state."""
    return row_type(state_fields(particles.fields.values()))


def ghost_type(particles: Particles) -> np.dtype:
    """Return the type of the row in which a ghost is sent: all fields that ghosts have."""
    return row_type(field for field in particles.fields.values() if field.ghosted is not Ghosted.NEVER)


def pack(particles: Particles, rows: Integers, kind: np.dtype) -> NDArray[Any]:
    """Return rows of particles as one structured array."""
    packed = np.empty(len(rows), kind)
    for name in kind.names or ():
        packed[name] = particles.column(name)[rows]
    return packed


def unpack(packed: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return the columns of packed particles as contiguous arrays, for which kernels are compiled."""
    return {name: np.ascontiguousarray(packed[name]) for name in packed.dtype.names or ()}


def pack_pairs(records: PairRecords) -> NDArray[Any]:
    """Return pair records as one structured array."""
    kind = [("lower", np.int64), ("higher", np.int64), ("history", np.float64, (len(records.history),))]
    packed = np.empty(len(records.lower), kind)
    packed["lower"], packed["higher"], packed["history"] = records.lower, records.higher, records.history.T
    return packed


def unpack_pairs(packed: NDArray[Any]) -> PairRecords:
    """Return unpacked pair records."""
    return PairRecords(packed["lower"], packed["higher"], packed["history"].T)


_WALL_COLUMNS: Sequence[tuple[str, Any]] = (
    ("id", np.int64), ("kind", np.int8), ("feature", np.int64), ("facet", np.int64),
)  # fmt: skip


def pack_walls(records: WallRecords) -> NDArray[Any]:
    """Return wall records as one structured array."""
    packed = np.empty(len(records.id), [*_WALL_COLUMNS, ("history", np.float64, (len(records.history),))])
    for name, _ in _WALL_COLUMNS:
        packed[name] = getattr(records, name)
    packed["history"] = records.history.T
    return packed


def unpack_walls(packed: NDArray[Any]) -> WallRecords:
    """Return unpacked wall records."""
    return WallRecords(**{name: packed[name] for name, _ in _WALL_COLUMNS}, history=packed["history"].T)
