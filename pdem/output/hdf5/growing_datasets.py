"""Datasets that grow row by row, written by HDF5, or by ranks after HDF5 has allocated the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import h5py
import numpy as np

from pdem.output.hdf5.parallel_hdf5 import row_bytes
from pdem.output.storage import unfilled_dataset

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from pdem.output.hdf5.parallel_hdf5 import RankWriter


_MOST_WAITING = 1 << 18  # bytes of rows of a dataset


class Extent(NamedTuple):
    """Contiguous rows of a dataset: the first one, their number, and their offset in the file (bytes)."""

    row: int
    rows: int
    offset: int


def create_growing_dataset(
    parent: h5py.Group,
    name: str,
    shape: tuple[int, ...],
    dtype: DTypeLike,
    chunk: int,
    *,
    sparse: bool = False,
    early: bool = False,
) -> h5py.Dataset:
    """Create a dataset without rows.

    Parameters
    ----------
    parent : h5py.Group
        Group of the dataset.
    name : str
        Path in this group; missing groups are created.
    shape : tuple of int
        Shape of a row.
    dtype : numpy dtype
        Type of a number.
    chunk : int
        Rows of an HDF5 chunk.
    sparse : bool
        Compress rows, if most numbers are zero.
    early : bool
        Allocate new rows immediately, and do not fill them: ranks write them.
    """
    if early:
        return _create_early_dataset(parent, name, shape, dtype, chunk)
    packed = {"compression": "gzip", "compression_opts": 1, "shuffle": True} if sparse else {}
    return parent.create_dataset(
        name, (0, *shape), dtype=dtype, maxshape=(None, *shape), chunks=(chunk, *shape), **packed
    )


def _create_early_dataset(
    parent: h5py.Group, name: str, shape: tuple[int, ...], dtype: DTypeLike, chunk: int
) -> h5py.Dataset:
    create = unfilled_dataset()
    create.set_chunk((chunk, *shape))
    path, _, last = name.rpartition("/")
    group = parent.require_group(path) if path else parent
    space = h5py.h5s.create_simple((0, *shape), (h5py.h5s.UNLIMITED, *shape))
    kind = h5py.h5t.py_create(np.dtype(dtype), logical=True)
    return h5py.Dataset(h5py.h5d.create(group.id, last.encode(), kind, space, create))


class GrowingDataset:
    """An open dataset that grows; its size and the offsets of its rows are determined once.

    Appended rows are buffered until `write_waiting`: HDF5 takes about as long for one row as for a thousand.

    Parameters
    ----------
    dataset : h5py.Dataset
        The dataset; from now on only this object may resize it.

    Attributes
    ----------
    name : str
        Full name of the dataset in the file.
    rows : int
        Number of rows.
    early : bool
        Whether new rows are allocated immediately, without a copy in HDF5's cache.
    """

    def __init__(self, dataset: h5py.Dataset) -> None:
        self.name: str = dataset.name
        self.dtype: np.dtype = dataset.dtype
        self.rows = int(dataset.shape[0])
        self.shape: tuple[int, ...] = dataset.shape[1:]
        self._chunk = int(dataset.chunks[0])
        self.early = dataset.id.get_create_plist().get_alloc_time() == h5py.h5d.ALLOC_TIME_EARLY
        self._id: Any = _without_cache(dataset) if self.early else dataset.id
        self._type = h5py.h5t.py_create(self.dtype)
        self._chunk_begins: dict[int, int] = {}
        self._waiting: list[NDArray[Any]] = []
        self._waiting_bytes = 0
        self._origin = tuple(0 for _ in self.shape)
        self._row_bytes = row_bytes(self.dtype, (1, *self.shape))

    def append(self, rows: ArrayLike) -> int:
        """Append rows; return the index of the first."""
        array = np.array(rows, self.dtype, order="C")
        begin = self.rows
        if array.size:
            self.rows += len(array)
            self._waiting.append(array)
            self._waiting_bytes += array.nbytes
            if self._waiting_bytes > _MOST_WAITING:
                self.write_waiting()
        return begin

    def write_waiting(self) -> None:
        """Write the buffered rows."""
        if not self._waiting:
            return
        rows = self._waiting[0] if len(self._waiting) == 1 else np.concatenate(self._waiting)
        self._id.set_extent((self.rows, *self.shape))
        space = h5py.h5s.create_simple((self.rows, *self.shape))
        space.select_hyperslab((self.rows - len(rows), *self._origin), rows.shape)
        self._id.write(h5py.h5s.create_simple(rows.shape), space, rows, self._type)
        self._waiting, self._waiting_bytes = [], 0

    def allocate(self, count: int) -> int:
        """Append rows that ranks will write; return the index of the first."""
        begin = self.rows
        if not self.early:  # file of an earlier version
            self.append(np.zeros((count, *self.shape), self.dtype))
            self.write_waiting()
        elif count:
            self.rows += count
            self._id.set_extent((self.rows, *self.shape))
        return begin

    def extents(self, begin: int, count: int) -> list[Extent]:
        """Return the extents of `count` rows from `begin` on; ``row`` is relative to `begin`."""
        chunk, found = self._chunk, []
        width = self._row_bytes
        for first in range(begin - begin % chunk, begin + count, chunk):
            here, end = max(first, begin), min(first + chunk, begin + count)
            found.append(Extent(here - begin, end - here, self._chunk_begin(first) + (here - first) * width))
        return found

    def _chunk_begin(self, first: int) -> int:
        """Return the offset of the chunk of row `first` (bytes), which never changes."""
        if first not in self._chunk_begins:
            info = self._id.get_chunk_info_by_coord((first, *self._origin))
            self._chunk_begins = {first: int(info.byte_offset)}
        return self._chunk_begins[first]


def _without_cache(dataset: h5py.Dataset) -> Any:
    """Open a dataset again, without a cache of chunks.

    Rows that ranks write without HDF5 do not reach such a cache, and a reader in this process would get old bytes.
    """
    file, name = dataset.file.id, dataset.name.encode()
    dataset.id.close()
    access = h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
    access.set_chunk_cache(0, 0, 1.0)
    return h5py.h5d.open(file, name, access)


class AllocatedRows:
    """Extents of rows that ranks will write.

    Attributes
    ----------
    extents : dict of list of Extent
        Extents by the full name of the dataset.
    """

    def __init__(self) -> None:
        self.extents: dict[str, list[Extent]] = {}

    def add(self, column: GrowingDataset, count: int) -> int:
        """Append `count` rows to a dataset; return the index of the first."""
        begin = column.allocate(count)
        self.extents[column.name] = column.extents(begin, count)
        return begin


def write_rows(writer: RankWriter, extents: list[Extent], begin: int, rows: NDArray[Any]) -> None:
    """Write rows to their extents; `begin` is the index of the first among the allocated rows."""
    width = row_bytes(rows.dtype, rows.shape)
    for extent in extents:
        first, end = max(extent.row, begin), min(extent.row + extent.rows, begin + len(rows))
        if first < end:
            writer.write(extent.offset + (first - extent.row) * width, rows[first - begin : end - begin])
