"""Datasets that grow: rows behind rows, by HDF5 or by ranks that write them into rooms made before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import h5py
import numpy as np

from pdem.output.parallel_hdf5 import row_bytes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from pdem.output.parallel_hdf5 import PartWriter


class Extent(NamedTuple):
    """Rows of a dataset that are in one piece of the file: the first, how many, and the byte where they begin."""

    row: int
    rows: int
    offset: int


def grow(
    parent: h5py.Group,
    name: str,
    shape: tuple[int, ...],
    dtype: DTypeLike,
    chunk: int,
    *,
    sparse: bool = False,
    early: bool = False,
) -> h5py.Dataset:
    """Make a dataset without rows.

    Parameters
    ----------
    parent : h5py.Group
        Where.
    name : str
        Its name; groups on the way are made.
    shape : tuple of int
        Of a row.
    dtype : numpy dtype
        Of a number.
    chunk : int
        Rows that are in one piece.
    sparse : bool
        Mostly zeros, which are compressed.
    early : bool
        New rows have their place at once and HDF5 writes nothing there: ranks will.
    """
    if early:
        return _grow_early(parent, name, shape, dtype, chunk)
    packed = {"compression": "gzip", "compression_opts": 1, "shuffle": True} if sparse else {}
    return parent.create_dataset(
        name, (0, *shape), dtype=dtype, maxshape=(None, *shape), chunks=(chunk, *shape), **packed
    )


def _grow_early(
    parent: h5py.Group, name: str, shape: tuple[int, ...], dtype: DTypeLike, chunk: int
) -> h5py.Dataset:
    create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    create.set_chunk((chunk, *shape))
    create.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    create.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    create.set_obj_track_times(False)
    path, _, last = name.rpartition("/")
    group = parent.require_group(path) if path else parent
    space = h5py.h5s.create_simple((0, *shape), (h5py.h5s.UNLIMITED, *shape))
    kind = h5py.h5t.py_create(np.dtype(dtype), logical=True)
    return h5py.Dataset(h5py.h5d.create(group.id, last.encode(), kind, space, create))


class Column:
    """A dataset that grows and is kept open: its size and the places of its rows are looked up once.

    Parameters
    ----------
    dataset : h5py.Dataset
        Grown by nobody else from now on.

    Attributes
    ----------
    name : str
        Its full name in the file.
    rows : int
        How many rows it has.
    early : bool
        Rows have their place at once, and HDF5 has no copy of what others write there.
    """

    def __init__(self, dataset: h5py.Dataset) -> None:
        self.name: str = dataset.name
        self.dtype: np.dtype = dataset.dtype
        self.rows = int(dataset.shape[0])
        self.shape: tuple[int, ...] = dataset.shape[1:]
        self._file = dataset.file.id
        self._id: Any = dataset.id
        self._chunk = int(dataset.chunks[0])
        self.early = dataset.id.get_create_plist().get_alloc_time() == h5py.h5d.ALLOC_TIME_EARLY
        self._chunk_begins: dict[int, int] = {}
        # places in the file and in memory, changed rather than made for every row
        self._there = h5py.h5s.create_simple(dataset.shape)
        self._here, self._shape_here = self._there, (-1,)
        self._origin = tuple(0 for _ in self.shape)
        self._row_bytes = row_bytes(self.dtype, (1, *self.shape))

    def leave(self) -> None:
        """Close the dataset until it grows again: a reader in this process would be given copies of what it once was.

        What others have written past HDF5 does not reach the copies that it keeps of an open dataset.
        """
        self._id = None

    def _opened(self) -> Any:
        if self._id is None:
            self._id = h5py.h5d.open(self._file, self.name.encode())
        return self._id

    def append(self, rows: ArrayLike) -> int:
        """Add rows at the end and return where they begin."""
        array = np.ascontiguousarray(rows, dtype=self.dtype)
        begin = self._extend(len(array))
        if array.size:
            self._there.set_extent_simple((self.rows, *self.shape))
            self._there.select_hyperslab((begin, *self._origin), array.shape)
            if array.shape != self._shape_here:
                self._here, self._shape_here = h5py.h5s.create_simple(array.shape), array.shape
            self._opened().write(self._here, self._there, array)
        return begin

    def make_room(self, count: int) -> int:
        """Add rows that somebody else will write; return where they begin."""
        if not self.early:
            return self.append(np.zeros((count, *self.shape), self.dtype))  # of an earlier pdem
        return self._extend(count)

    def _extend(self, count: int) -> int:
        begin = self.rows
        if count:
            self.rows += count
            self._opened().set_extent((self.rows, *self.shape))
        return begin

    def extents(self, begin: int, count: int) -> list[Extent]:
        """Return where in the file so many rows from `begin` on are; ``row`` counts from there."""
        chunk, found = self._chunk, []
        width = self._row_bytes
        for first in range(begin - begin % chunk, begin + count, chunk):
            here, end = max(first, begin), min(first + chunk, begin + count)
            found.append(Extent(here - begin, end - here, self._chunk_begin(first) + (here - first) * width))
        return found

    def _chunk_begin(self, first: int) -> int:
        """Return the byte where the chunk of row `first` begins: a chunk that has its place keeps it."""
        if first not in self._chunk_begins:
            place = self._opened().get_chunk_info_by_coord((first, *self._origin))
            self._chunk_begins = {first: int(place.byte_offset)}
        return self._chunk_begins[first]


class Rooms:
    """Rows that others will write, by the name of their dataset: where they are in the file.

    Attributes
    ----------
    places : dict of list of Extent
        By the full name of the dataset.
    """

    def __init__(self) -> None:
        self.places: dict[str, list[Extent]] = {}

    def add(self, column: Column, count: int) -> int:
        """Add so many rows to a dataset; return where they begin."""
        begin = column.make_room(count)
        self.places[column.name] = column.extents(begin, count)
        return begin


def put_rows(writer: PartWriter, places: list[Extent], begin: int, rows: NDArray[Any]) -> None:
    """Write rows, the first of which is `begin` of those that the extents have place for."""
    width = row_bytes(rows.dtype, rows.shape)
    for place in places:
        first, end = max(place.row, begin), min(place.row + place.rows, begin + len(rows))
        if first < end:
            writer.put(place.offset + (first - place.row) * width, rows[first - begin : end - begin])
