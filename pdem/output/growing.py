"""Datasets that grow: rows behind rows, by HDF5 or by ranks that write them into rooms made before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import h5py
import numpy as np

from pdem.output.parts import row_bytes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from pdem.output.parts import PartWriter


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


def append(dataset: h5py.Dataset, rows: ArrayLike) -> int:
    """Add rows at the end of a dataset and return where they begin."""
    array = np.asarray(rows, dtype=dataset.dtype)
    begin = int(dataset.shape[0])
    dataset.resize(begin + len(array), axis=0)
    if len(array):
        dataset[begin:] = array
    return begin


def make_room(dataset: h5py.Dataset, count: int) -> int:
    """Add rows that somebody else will write; return where they begin."""
    begin = int(dataset.shape[0])
    if dataset.id.get_create_plist().get_alloc_time() != h5py.h5d.ALLOC_TIME_EARLY:
        return append(dataset, np.zeros((count, *dataset.shape[1:]), dataset.dtype))  # of an earlier pdem
    dataset.resize(begin + count, axis=0)
    return begin


def extents(dataset: h5py.Dataset, begin: int, count: int) -> list[Extent]:
    """Return where in the file so many rows from `begin` on are; ``row`` counts from there."""
    chunk, found = int(dataset.chunks[0]), []
    origin = (0,) * (dataset.ndim - 1)
    width = row_bytes(dataset.dtype, dataset.shape)
    for first in range(begin - begin % chunk, begin + count, chunk):
        here, end = max(first, begin), min(first + chunk, begin + count)
        place = dataset.id.get_chunk_info_by_coord((first, *origin)).byte_offset
        found.append(Extent(here - begin, end - here, place + (here - first) * width))
    return found


class Rooms:
    """Rows that others will write, by the name of their dataset: where they are in the file.

    Attributes
    ----------
    places : dict of list of Extent
        By the full name of the dataset.
    """

    def __init__(self) -> None:
        self.places: dict[str, list[Extent]] = {}

    def add(self, dataset: h5py.Dataset, count: int) -> int:
        """Add so many rows to a dataset; return where they begin."""
        begin = make_room(dataset, count)
        self.places[dataset.name] = extents(dataset, begin, count)
        return begin


def put_rows(writer: PartWriter, places: list[Extent], begin: int, rows: NDArray[Any]) -> None:
    """Write rows, the first of which is `begin` of those that the extents have place for."""
    width = row_bytes(rows.dtype, rows.shape)
    for place in places:
        first, end = max(place.row, begin), min(place.row + place.rows, begin + len(rows))
        if first < end:
            writer.put(place.offset + (first - place.row) * width, rows[first - begin : end - begin])
