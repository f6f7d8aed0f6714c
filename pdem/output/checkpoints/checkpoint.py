"""Checkpoints: the complete state in one HDF5 file. Incomplete files are rejected.

Ranks write the file together (`pdem.output.hdf5.parallel_hdf5`): rank 0 creates it, every rank writes its rows, and
rank 0 adds checksums (`pdem.output.checkpoints.checksum`) and renames it. Each rank stores only its own rows, and the
file has the same bytes for any number of ranks. Checkpoints with the same ``content`` hold the same bits.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import h5py
import numpy as np

from pdem.foundation.errors import InputError, WriteError
from pdem.foundation.files import publish
from pdem.output.checkpoints.checkpoint_reader import CheckpointReader
from pdem.output.checkpoints.checksum import SEAL_BYTES, Region, write_seal
from pdem.output.checkpoints.content_digest import content_digest_of_tables
from pdem.output.hdf5.parallel_hdf5 import (
    ALONE,
    RankWriter,
    RowTable,
    block_bytes,
    on_rank_0,
    row_bytes,
    tables_of_groups,
)
from pdem.output.saving import reason
from pdem.output.storage import Attribute, open_hdf5, plain_attribute, unfilled_dataset, write_attributes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from pdem.output.hdf5.parallel_hdf5 import WritingRanks

    Groups = Mapping[str, Mapping[str, NDArray[Any]]]
    Tables = Mapping[str, RowTable]

_LARGEST_ITEM = 8


@dataclass(frozen=True)
class Checkpoint:
    """A state from a file with valid checksums.

    Attributes
    ----------
    path : Path
        The file.
    groups : dict of dict of ndarray
        Columns by group and name, with the dtypes and shapes of the written columns.
    attributes : dict
        Texts, integers and floats.
    content : str
        Digest (hexadecimal) of groups and attributes.
    warnings : tuple of str
        One line for each newer checkpoint that cannot be read.
    """

    path: Path
    groups: dict[str, dict[str, NDArray[Any]]]
    attributes: dict[str, Attribute]
    content: str
    warnings: tuple[str, ...] = field(default=(), compare=False)


class Digests(NamedTuple):
    """Digests (hexadecimal) of a written state.

    Attributes
    ----------
    content : str
        Digest of groups and attributes.
    state : str
        Digest of all groups but some, without the attributes: unlike the digest of the content it does not depend on
        the number of ranks, the machine, or the output of a run.
    """

    content: str
    state: str


def write_checkpoint(path: Path | str, groups: Groups, attributes: Mapping[str, Attribute]) -> str:
    """Write a state to a new file and rename it to `path`, which therefore always is the old or the new state.

    Parameters
    ----------
    path : path
        File to write or replace.
    groups : mapping of mapping of ndarray
        Columns by group and name: any numeric dtype and shape, empty ones included.
    attributes : mapping
        Texts, integers and floats.

    Returns
    -------
    str
        Digest of the content.

    Raises
    ------
    CheckpointError
        When the file cannot be written (disk full, no permission); the file at `path` is unchanged.
    InputError
        When a column or attribute has a type that HDF5 would not return unchanged.
    """
    return write_tables(path, tables_of_groups(groups), attributes).content


def write_tables(
    path: Path | str,
    tables: Tables,
    attributes: Mapping[str, Attribute],
    ranks: WritingRanks = ALONE,
    no_state: Collection[str] = (),
) -> Digests:
    """Write a state with rows on several ranks; otherwise like `write_checkpoint`. Collective.

    Parameters
    ----------
    path : path
        File to write or replace, the same on all ranks.
    tables : mapping of RowTable
        Groups of columns.
    attributes : mapping
        Texts, integers and floats; the values of rank 0 are written.
    ranks : WritingRanks
        Ranks that write the file.
    no_state : collection of str
        Groups that are not part of the digest of the state.

    Returns
    -------
    Digests
        Digests of content and state.

    Raises
    ------
    CheckpointError, InputError
        The same error on all ranks, as by `write_checkpoint`.
    """
    path = Path(path)
    tables = _checked_tables(tables)
    plain = {name: plain_attribute(name, value) for name, value in attributes.items()}
    temporary = path.with_name(path.name + ".tmp")
    try:
        end, regions = on_rank_0(ranks, lambda: _create_file(temporary, tables, plain))
        checks = _write_columns(temporary, tables, regions, ranks)

        def seal() -> Digests:
            content = content_digest_of_tables(tables, checks, plain)
            write_seal(temporary, end, regions, checks, content)
            publish(temporary, path)
            state = {name: table for name, table in tables.items() if name not in no_state}
            return Digests(content, content_digest_of_tables(state, checks, {}))

        sealed: Digests = on_rank_0(ranks, seal)
    except (OSError, RuntimeError) as error:
        if ranks.rank == 0:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        raise WriteError(
            f"{path}: checkpoint cannot be written ({reason(error)}), the one before is untouched; "
            "free space or choose another output.folder"
        ) from error
    return sealed


def _create_file(path: Path, tables: Tables, attributes: Mapping[str, Attribute]) -> tuple[int, dict[str, Region]]:
    """Create a file with space for all columns; return the end of its HDF5 part and the regions of the columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_hdf5(path, "w", userblock_size=SEAL_BYTES) as file:
        write_attributes(file, attributes)
        regions = {
            f"{group}/{name}": _create_dataset(node, name, column.dtype, table.shape(name))
            for group, table in tables.items()
            for node in [file.create_group(group)]
            for name, column in table.columns.items()
        }
    return path.stat().st_size, regions


def _create_dataset(group: h5py.Group, name: str, dtype: np.dtype, shape: tuple[int, ...]) -> Region:
    """Create a contiguous dataset that HDF5 does not fill; return its region."""
    space = h5py.h5s.create_simple(shape) if shape else h5py.h5s.create(h5py.h5s.SCALAR)
    made = h5py.h5d.create(group.id, name.encode(), _type(dtype), space, _contiguous())
    count = dtype.itemsize * math.prod(shape)
    return Region(made.get_offset() if count else 0, count, block_bytes(dtype, shape))


@cache
def _type(dtype: np.dtype) -> Any:
    return h5py.h5t.py_create(dtype, logical=True)


@cache
def _contiguous() -> Any:
    """Return the properties of a contiguous dataset that HDF5 does not fill."""
    create = unfilled_dataset()
    create.set_layout(h5py.h5d.CONTIGUOUS)
    return create


def _write_columns(path: Path, tables: Tables, regions: Mapping[str, Region], ranks: WritingRanks) -> dict[str, bytes]:
    """Write this rank's rows of every column; return the checksums of all ranks on rank 0."""
    checks = {}
    with RankWriter(path, ranks) as writer:
        for group, table in tables.items():
            for name in table.columns:
                begin, rows = table.take(name, ranks.rank)
                place = regions[f"{group}/{name}"].offset + begin * row_bytes(rows.dtype, rows.shape)
                checks[f"{group}/{name}"] = writer.write_with_checksums(place, rows)
        writer.finish(sync=True)
    joined = ranks.collect(checks) or {}
    return {name: column.tobytes() for name, column in joined.items()}


def read_checkpoint(path: Path | str, part: tuple[int, int] = (0, 1), divided: Collection[str] = ()) -> Checkpoint:
    """Read a state back, exactly as it was written, or a part of its rows.

    Parameters
    ----------
    path : path
        The file.
    part, divided
        For some groups, read only a part of the rows, see
        `pdem.output.checkpoints.checkpoint_reader.CheckpointReader.read`.

    Raises
    ------
    CheckpointError
        When the file is missing, not a checkpoint, of an unknown format, truncated or altered.
    """
    reader = CheckpointReader(path)
    return Checkpoint(reader.path, reader.read(part=part, divided=divided), reader.attributes, reader.content)


def _checked_tables(tables: Tables) -> dict[str, RowTable]:
    return {
        _checked_name(group): RowTable(
            {_checked_name(name): _checked_column(name, column) for name, column in table.columns.items()}, table.rows
        )
        for group, table in tables.items()
    }


def _checked_name(name: str) -> str:
    if not name or "/" in name or set(name) == {"."}:
        raise InputError(f"{name!r} cannot name a checkpoint group or column; it must not be empty or contain '/'")
    return name


def _checked_column(name: str, column: NDArray[Any]) -> NDArray[Any]:
    array = np.asarray(column)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > _LARGEST_ITEM:
        raise InputError(f"checkpoint column {name} has dtype {array.dtype}; give integers, floats or booleans")
    return array
