"""Facets of a file before any processing: the result of every reader."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats, Integers

NOTHING: Mapping[str, Any] = MappingProxyType({})
"""Groups of a file without groups."""


class RawSurface(NamedTuple):
    """Facets of a file before any processing.

    Attributes
    ----------
    vertices : ndarray, shape (V, 3), float64
        Not welded, in the unit of the file.
    start, loops : ndarray of int64
        Facets in compressed rows, in the order of the file.
    groups : mapping of str to ndarray of int64
        Names of the parts that the file distinguishes, and the facets of each, ascending. A facet may be in several
        parts.
    aliases : mapping of str to str
        Other names of these parts.
    passed_over : tuple of (str, int)
        Types and numbers of cells that are not surfaces.
    notes : tuple of str
        Further data that the reader ignored or interpreted differently: sentences for the user, without full stops.
    """

    vertices: Floats
    start: Integers
    loops: Integers
    groups: Mapping[str, Integers] = NOTHING
    aliases: Mapping[str, str] = NOTHING
    passed_over: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()


def groups_of(names: Sequence[str], part: Integers) -> dict[str, Integers]:
    """Return the facets of each named part; parts without a name or without facets are omitted.

    Parameters
    ----------
    names : sequence of str
        Names of the parts; several may be equal.
    part : ndarray, shape (F,)
        Part of each facet, -1 for none.
    """
    distinct = dict.fromkeys(name for name in names if name)
    number = {name: place for place, name in enumerate(distinct)}
    lookup = np.array([*(number.get(name, -1) for name in names), -1], np.int64)
    return {name: np.flatnonzero(lookup[part] == place) for name, place in number.items()}


def rows_of_tables(tables: Sequence[NDArray[Any]]) -> tuple[Integers, Integers]:
    """Return the rows of several tables of vertices as compressed rows."""
    sizes = [np.full(len(table), table.shape[1], dtype=np.int64) for table in tables]
    start = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.concatenate([np.zeros(0, np.int64), *sizes]))))
    flat = [np.asarray(table).reshape(-1).astype(np.int64) for table in tables]
    return start, np.concatenate([np.zeros(0, np.int64), *flat])
