"""Reading of checkpoints: completely, or only a part of the rows of every group.

Each block of rows has its own checksum (`pdem.output.hdf5.parallel_hdf5`), so that a part is as safe as the whole.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.global_order import part_of
from pdem.foundation.errors import CheckpointError
from pdem.foundation.machine import default_threads
from pdem.output.checkpoints.checksum import REMEDY, Region, Seal, check_seal
from pdem.output.checkpoints.content_digest import (
    Layout,
    content_digest,
    content_digest_of_format_1,
    content_digest_of_layout,
)
from pdem.output.hdf5.parallel_hdf5 import BLOCK_ROWS, CHECKSUM_BYTES, block_checksum, bytes_of, read_at
from pdem.output.saving import reason
from pdem.output.storage import HDF5_ERRORS, open_hdf5, read_attributes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import h5py
    from numpy.typing import NDArray

    from pdem.output.storage import Attribute

    Columns = dict[str, NDArray[Any]]


class CheckpointReader:
    """A checkpoint with a valid seal, index and frame; columns are checked when they are read.

    Parameters
    ----------
    path : path
        The file.

    Attributes
    ----------
    path : Path
        The file.
    attributes : dict
        Texts, integers and floats.
    layout : dict of dict of Layout
        Layouts of the columns, by group and name.
    content : str
        Digest (hexadecimal) of groups and attributes.

    Raises
    ------
    CheckpointError
        When the file is missing, not a checkpoint, of an unknown format, truncated or altered.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._old_groups: dict[str, Columns] | None = None
        try:
            self._seal = check_seal(self.path)
            with open_hdf5(self.path, "r") as file:
                self.attributes: dict[str, Attribute] = read_attributes(file)
                if self._seal.version == 1:
                    self._old_groups = {name: _columns_of_format_1(node) for name, node in file.items()}
                self.layout = {name: self._layout_of(node) for name, node in file.items()}
        except HDF5_ERRORS as error:
            raise self._error(error) from error
        self.content = (
            content_digest_of_layout(self.layout, self._seal.checks, self.attributes)
            if self._old_groups is None
            else content_digest_of_format_1(self._old_groups, self.attributes)
        )
        if self.content != self._seal.content:
            raise CheckpointError(f"{self.path}: checkpoint does not hold what its seal says; {REMEDY}")

    def _error(self, error: BaseException) -> CheckpointError:
        return CheckpointError(f"{self.path}: checkpoint cannot be read ({reason(error)}); {REMEDY}")

    def _layout_of(self, group: h5py.Group) -> dict[str, Layout]:
        """Return the layout of a group, after a check of the file regions of its columns against the index."""
        found = {}
        for name, dataset in group.items():
            found[name] = Layout(dataset.dtype, dataset.shape)
            if self._seal.version > 1:
                _check_place(self._seal, f"{group.name.strip('/')}/{name}", dataset)
        return found

    def digest(self, without: Collection[str] = (), only: Mapping[str, Collection[str]] | None = None) -> str:
        """Return the digest (hexadecimal) of the columns of all groups but some, without the attributes.

        With `only` it covers only some columns, by group.
        """
        names = {name: layout for name, layout in self.layout.items() if name not in without}
        chosen = {name: list(layout) for name, layout in names.items()} if only is None else only
        if self._old_groups is not None:
            return content_digest(
                {group: {name: self._old_groups[group][name] for name in some} for group, some in chosen.items()}, {}
            )
        layout = {group: {name: self.layout[group][name] for name in some} for group, some in chosen.items()}
        return content_digest_of_layout(layout, self._seal.checks, {})

    def read(
        self, groups: Collection[str] | None = None, part: tuple[int, int] = (0, 1), divided: Collection[str] = ()
    ) -> dict[str, Columns]:
        """Return columns by group and name, with the dtypes and shapes of the written columns.

        Parameters
        ----------
        groups : collection of str, optional
            Groups to read; all by default.
        part : (int, int)
            Index of a part, from 0 on, and number of parts. Parts are whole blocks of rows; some may be empty.
        divided : collection of str
            Groups from which only that part of the rows is returned.

        Raises
        ------
        CheckpointError
            When a column was altered.
        """
        names = [name for name in self.layout if groups is None or name in groups]
        if self._old_groups is not None:
            return {name: _part_of_rows(self._old_groups[name], part, name in divided) for name in names}
        try:
            with _Columns(self.path, self._seal) as columns:
                return {
                    name: {
                        column: columns.read(f"{name}/{column}", layout, part if name in divided else (0, 1))
                        for column, layout in self.layout[name].items()
                    }
                    for name in names
                }
        except HDF5_ERRORS as error:
            raise self._error(error) from error


class _Columns:
    """The columns of an open file."""

    def __init__(self, path: Path, seal: Seal) -> None:
        self._path, self._seal = path, seal

    def __enter__(self) -> _Columns:
        self._descriptor = os.open(self._path, os.O_RDONLY)
        self._pool = ThreadPoolExecutor(default_threads())
        return self

    def __exit__(self, *problem: object) -> None:
        self._pool.shutdown()
        os.close(self._descriptor)

    def read(self, name: str, layout: Layout, part: tuple[int, int]) -> NDArray[Any]:
        """Return a part of the blocks of a column, after a comparison with their checksums."""
        region = self._seal.regions[name]
        first, last = part_of(region.blocks, *part)
        shape = layout.shape
        if shape and part[1] > 1:
            shape = (min(last * BLOCK_ROWS, shape[0]) - min(first * BLOCK_ROWS, shape[0]), *shape[1:])
        column = np.empty(shape, layout.dtype)
        found = self._read_blocks(bytes_of(column) if column.size else memoryview(b""), region, first, last)
        if found != self._seal.checks[name][first * CHECKSUM_BYTES : last * CHECKSUM_BYTES]:
            raise CheckpointError(f"{self._path}: checkpoint was altered, a check of {name} differs; {REMEDY}")
        return column

    def _read_blocks(self, data: memoryview, region: Region, first: int, last: int) -> bytes:
        """Read blocks into memory; return their checksums."""

        def read_block(number: int) -> bytes:
            begin = (number - first) * region.block
            piece = data[begin : begin + region.block]
            read_at(self._descriptor, piece, region.offset + number * region.block)
            return block_checksum(piece)

        return b"".join(self._pool.map(read_block, range(first, last)))


def _columns_of_format_1(group: h5py.Group) -> Columns:
    # Without the dtype, HDF5 scalars would be returned as numpy scalars of native byte order.
    return {name: np.asarray(dataset[()], dtype=dataset.dtype) for name, dataset in group.items()}


def _part_of_rows(columns: Columns, part: tuple[int, int], is_divided: bool) -> Columns:
    if not is_divided:
        return columns
    return {name: rows[slice(*part_of(len(rows), *part))] for name, rows in columns.items()}


def _check_place(seal: Seal, name: str, dataset: h5py.Dataset) -> None:
    region = seal.regions[name]
    count = dataset.dtype.itemsize * math.prod(dataset.shape)
    if count != region.count or (region.count and dataset.id.get_offset() != region.offset):
        raise ValueError(f"column {name.rpartition('/')[2]} is not where the index says")
