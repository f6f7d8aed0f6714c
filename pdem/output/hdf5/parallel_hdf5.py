"""Files that several ranks write together: rank 0 creates the file and allocates columns, each rank writes its rows.

Rows are written by positional writes without HDF5, block by block on the threads of the rank, each block with its
checksum. All ranks receive a failure of any rank before they continue, and raise the same error.
"""

from __future__ import annotations

import math
import os
import struct
import zlib
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from pdem.foundation.files import write_at
from pdem.foundation.machine import default_threads
from pdem.output.saving import reason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType

    from numpy.typing import NDArray

    from pdem.containers.global_order import OrderedRows

BLOCK_ROWS = 1 << 15
"""Rows of a column with a common checksum; a block is never divided between ranks."""

_SYNC_BYTES = 1 << 22
"""Bytes to write before the first sync to the disk: a sync call for each small column would double the time of a
checkpoint."""

CHECKSUM_BYTES = 12
_WORD_BYTES = 8


class WritingRanks(Protocol):
    """The ranks that write a file, a part of `pdem.containers.exchange.Exchange`; all methods are collective."""

    @property
    def rank(self) -> int:
        """Index of this rank."""
        ...

    @property
    def threads(self) -> int:
        """Threads of this rank."""
        ...

    @property
    def on_one_node(self) -> bool:
        """Whether all ranks are on this node."""
        ...

    def share(self, value: Any) -> Any:
        """Return rank 0's value on every rank."""
        ...

    def first(self, value: Any) -> Any:
        """Return the value of the first rank with a value other than None, on every rank; None if there is none."""
        ...

    def collect(self, columns: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]] | None:
        """Return the columns of all ranks, joined in the order of ranks, on rank 0; None elsewhere."""
        ...


class _SingleProcess:
    """A single process that writes a file."""

    rank = 0
    on_one_node = True

    @property
    def threads(self) -> int:
        """Threads that compute checksums and write."""
        return default_threads()

    def share(self, value: Any) -> Any:
        """Return the value."""
        return value

    def first(self, value: Any) -> Any:
        """Return the value."""
        return value

    def collect(self, columns: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]] | None:
        """Return the columns."""
        return columns


ALONE: WritingRanks = _SingleProcess()
"""This process as the only rank."""


@dataclass(frozen=True)
class RowTable:
    """Columns with rows on several ranks.

    Attributes
    ----------
    columns : mapping of ndarray
        Rows of this rank; names, types and shapes of a row are the same on all ranks.
    rows : OrderedRows or None
        Redistribution to the order of the file; None if rank 0 has all rows.
    """

    columns: Mapping[str, NDArray[Any]]
    rows: OrderedRows | None = None

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a whole column."""
        own = self.columns[name].shape
        return own if self.rows is None else (self.rows.total, *own[1:])

    def take(self, name: str, rank: int) -> tuple[int, NDArray[Any]]:
        """Return the rows of a column that this `rank` writes, and the index of the first. Collective."""
        if self.rows is not None:
            return self.rows.begin, self.rows.take(self.columns[name])
        whole = self.columns[name]
        return 0, whole if rank == 0 else whole.reshape(-1)[:0]


def tables_of_groups(groups: Mapping[str, Mapping[str, NDArray[Any]]]) -> dict[str, RowTable]:
    """Return the tables of groups that are complete on this process."""
    return {name: RowTable(columns) for name, columns in groups.items()}


def block_bytes(dtype: np.dtype, shape: tuple[int, ...]) -> int:
    """Return the bytes of a block of a column."""
    return BLOCK_ROWS * row_bytes(dtype, shape)


def row_bytes(dtype: np.dtype, shape: tuple[int, ...]) -> int:
    """Return the bytes of a row of a column; a scalar counts as a row."""
    return dtype.itemsize * math.prod(shape[1:])


def bytes_of(column: NDArray[Any]) -> memoryview:
    """Return the bytes of a column, without a copy if it is contiguous."""
    return np.ascontiguousarray(column).reshape(-1).view(np.uint8).data


def block_checksum(data: memoryview) -> bytes:
    """Return the checksum of a block: its CRC-32 and the sum of its words of 8 bytes.

    The CRC depends on the positions of bits, and the sum makes the checksum longer against collisions. A cryptographic
    digest takes four times as long as both, longer than a good disk takes to write the block.
    """
    words = np.frombuffer(data[: len(data) // _WORD_BYTES * _WORD_BYTES], "<u8")
    return struct.pack("<IQ", zlib.crc32(data), int(words.sum(dtype=np.uint64)))


def block_checksums(column: NDArray[Any]) -> bytes:
    """Return the checksums of all blocks of a column, one after the other."""
    data, step = bytes_of(column), block_bytes(column.dtype, column.shape)
    return b"".join(block_checksum(data[first : first + step]) for first in range(0, len(data), step or 1))


def read_at(descriptor: int, data: memoryview, offset: int) -> None:
    """Fill `data` with the bytes at an offset of a file.

    Raises
    ------
    OSError
        If the file is too short.
    """
    while len(data):
        found = os.preadv(descriptor, [data], offset)
        if not found:
            raise OSError(f"file ends at byte {offset}")
        data, offset = data[found:], offset + found


def on_rank_0(ranks: WritingRanks, work: Callable[[], Any]) -> Any:
    """Call `work` on rank 0 and return its result on all. Collective.

    Raises
    ------
    OSError
        On all ranks, if rank 0 raised an OSError or RuntimeError.
    """
    result, problem = None, None
    if ranks.rank == 0:
        try:
            result = work()
        except (OSError, RuntimeError) as error:
            problem = reason(error)
    result, problem = ranks.share((result, problem))
    if problem is not None:
        raise OSError(problem)
    return result


class RankWriter:
    """Writes of one rank to an existing file.

    After a failed write, later writes are skipped; `finish` raises on all ranks.

    Parameters
    ----------
    path : path
        The file; opened at the first write.
    ranks : WritingRanks
        All ranks that write.
    """

    def __init__(self, path: Path, ranks: WritingRanks) -> None:
        self._path, self._ranks = path, ranks
        self._descriptor = -1
        self._problem: str | None = None
        self._pool = ThreadPoolExecutor(ranks.threads)
        self._sync_pool = ThreadPoolExecutor(1)
        self._pending_syncs: list[Future[None]] = []
        self._unsynced = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown()
        self._sync_pool.shutdown()
        with suppress(OSError):
            self._close()

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def write(self, offset: int, rows: NDArray[Any]) -> None:
        """Write rows at byte `offset` of the file."""
        self._for_each_block(rows, lambda piece, first: write_at(self._descriptor, piece, offset + first))

    def write_with_checksums(self, offset: int, rows: NDArray[Any]) -> NDArray[np.uint8]:
        """Write rows and start to sync them to disk; return the checksums of their blocks (k, 12)."""

        def write_block(piece: memoryview, first: int) -> bytes:
            write_at(self._descriptor, piece, offset + first)
            return block_checksum(piece)

        checks = self._for_each_block(rows, write_block)
        self._unsynced += rows.nbytes if checks else 0
        if self._unsynced >= _SYNC_BYTES:  # the disk works while the next column is prepared
            self._unsynced = 0
            self._pending_syncs.append(self._sync_pool.submit(os.fsync, self._descriptor))
        return np.frombuffer(b"".join(checks), np.uint8).reshape(-1, CHECKSUM_BYTES)

    def _for_each_block(self, rows: NDArray[Any], work: Callable[[memoryview, int], Any]) -> list[Any]:
        """Call `work` with each block and its first byte; return the results, none after a failure."""
        data, step = bytes_of(rows), block_bytes(rows.dtype, rows.shape)
        if self._problem is not None or not len(data):
            return []
        try:
            if self._descriptor < 0:
                self._descriptor = os.open(self._path, os.O_WRONLY)
            if len(data) <= step:  # too short for a thread
                return [work(data, 0)]
            firsts = range(0, len(data), step)
            return list(self._pool.map(lambda first: work(data[first : first + step], first), firsts))
        except OSError as error:
            self._problem = reason(error)
            return []

    def finish(self, *, sync: bool) -> None:
        """Wait until all ranks have written, with `sync` until all data are on the disk. Collective.

        Raises
        ------
        OSError
            On all ranks, if any rank failed.
        """
        self._pool.shutdown()  # after a failure other blocks may still be written
        try:
            for flush in self._pending_syncs:  # a disk reports a failure once, perhaps to one of these
                flush.result()
            if sync and self._descriptor >= 0:
                os.fsync(self._descriptor)
            self._close()
        except OSError as error:
            self._problem = self._problem or reason(error)
        problem = self._ranks.first(self._problem)
        if problem is not None:
            raise OSError(problem)
