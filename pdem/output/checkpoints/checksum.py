"""The seal of a checkpoint: a header with checksums, verified before HDF5 opens the file.

::

    pdem checkpoint
    format 2
    bytes <of the file>
    index <where the index begins> <its digest>
    content <digest of the state itself: names, dtypes, shapes, values, attributes>

fills the first 512 bytes (HDF5 calls them the user block and skips them). The index follows the last byte of HDF5: a
line of JSON with the region and the block size of each column and with the digest of all bytes outside columns, then
the checksums of the blocks (`pdem.output.hdf5.parallel_hdf5.block_checksum`). A digest is BLAKE2b of 32 bytes.
``content`` depends neither on the layout of the HDF5 file nor on the ranks that wrote it.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

import h5py

from pdem.foundation.errors import CheckpointError
from pdem.output.checkpoints.content_digest import DIGEST_BYTES, Hash, digest
from pdem.output.hdf5.parallel_hdf5 import CHECKSUM_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

FORMAT = 2
"""Version of the format for writing; format 1 can be read as well."""

SEAL_BYTES = 512
REMEDY = "use the previous checkpoint of this run"
_MAGIC = b"pdem checkpoint\n"
_VERSION = re.compile(rb"format (\d+)\n")
_SEAL = re.compile(rb"format (\d+)\nbytes (\d+)\nindex (\d+) ([0-9a-f]{64})\ncontent ([0-9a-f]{64})\n\0*\Z")
_SEAL_1 = re.compile(rb"format (1)\nbytes (\d+)\nsha256 ([0-9a-f]{64})\ncontent ([0-9a-f]{64})\n\0*\Z")
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class Region:
    """The bytes of a column in a file: `count` bytes from `offset` on, in blocks of `block` bytes."""

    offset: int
    count: int
    block: int

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return -(-self.count // self.block) if self.count else 0


@dataclass(frozen=True)
class Seal:
    """Contents of the seal and of the index.

    Attributes
    ----------
    version : int
        Version of the format.
    content : str
        Digest of the state.
    regions : dict of Region
        Regions by the names of columns, ``group/name``; empty in format 1.
    checks : dict of bytes
        Checksums of the blocks of each column, concatenated.
    """

    version: int
    content: str
    regions: Mapping[str, Region]
    checks: Mapping[str, bytes]


def write_seal(path: Path, end: int, regions: Mapping[str, Region], checks: Mapping[str, bytes], content: str) -> None:
    """Write index and seal of a file with an HDF5 part that ends at byte `end`."""
    with path.open("r+b") as file:
        head = {
            "frame": _frame_digest(file, end, regions.values()),
            "columns": {name: vars(region) for name, region in regions.items()},
        }
        index = b"\n".join([json.dumps(head).encode(), b"".join(checks[name] for name in regions)])
        file.seek(end)
        file.write(index)
        text = f"format {FORMAT}\nbytes {file.tell()}\nindex {end} {digest(index).hex()}\ncontent {content}\n"
        file.seek(0)
        file.write((_MAGIC + text.encode()).ljust(SEAL_BYTES, b"\0"))


def _frame_digest(file: BinaryIO, end: int, regions: Iterable[Region]) -> str:
    """Return the digest of all bytes between the seal and `end` that do not belong to a column."""
    found = hashlib.blake2b(digest_size=DIGEST_BYTES)
    begin = SEAL_BYTES
    for region in sorted(regions, key=lambda one: one.offset):
        if region.count:
            _add_bytes(found, file, begin, region.offset)
            begin = region.offset + region.count
    _add_bytes(found, file, begin, end)
    return found.hexdigest()


def _add_bytes(found: Hash, file: BinaryIO, begin: int, end: int) -> None:
    file.seek(begin)
    while begin < end:
        piece = file.read(min(_PIECE_BYTES, end - begin))
        if not piece:
            raise OSError(f"file ends at byte {begin}")
        found.update(piece)
        begin += len(piece)


def check_seal(path: Path) -> Seal:
    """Return the seal of a file, after a check of all its bytes outside columns.

    Raises
    ------
    CheckpointError
        When the file is missing, not a checkpoint, of a different format, truncated or altered.
    """
    if not path.is_file():
        raise CheckpointError(f"{path}: no such checkpoint; name a file checkpoint-*.h5 of an output folder")
    with path.open("rb") as file:
        found = _parsed_seal(path, file.read(SEAL_BYTES))
        size, present = int(found[2]), path.stat().st_size
        if present != size:
            raise CheckpointError(f"{path}: checkpoint is torn or altered ({present} bytes of {size}); {REMEDY}")
        if int(found[1]) == 1:
            file.seek(SEAL_BYTES)
            if hashlib.file_digest(file, "sha256").hexdigest() != found[3].decode():
                raise CheckpointError(f"{path}: checkpoint was altered, its SHA-256 differs; {REMEDY}")
            return Seal(1, found[4].decode(), {}, {})
        end, content = int(found[3]), found[5].decode()
        file.seek(min(end, size))
        index = file.read()
        if digest(index).hex() != found[4].decode():
            raise CheckpointError(f"{path}: checkpoint was altered, the digest of its index differs; {REMEDY}")
        frame, regions, checks = _parsed_index(index)
        if _frame_digest(file, end, regions.values()) != frame:
            raise CheckpointError(f"{path}: checkpoint was altered, the digest of its frame differs; {REMEDY}")
    return Seal(FORMAT, content, regions, checks)


def _parsed_index(index: bytes) -> tuple[str, dict[str, Region], dict[str, bytes]]:
    line, _, rest = index.partition(b"\n")
    head = json.loads(line)
    regions = {name: Region(**numbers) for name, numbers in head["columns"].items()}
    checks = {}
    for name, region in regions.items():
        size = region.blocks * CHECKSUM_BYTES
        checks[name], rest = rest[:size], rest[size:]
    return head["frame"], regions, checks


def _parsed_seal(path: Path, seal: bytes) -> re.Match[bytes]:
    """Return the entries of a seal from the version on."""
    if not seal.startswith(_MAGIC):
        fact = "HDF5 but no" if h5py.is_hdf5(path) else "neither HDF5 nor a"
        raise CheckpointError(
            f"{path}: file is {fact} checkpoint of pdem; name a file checkpoint-*.h5 that pdem run wrote"
        )
    version = _VERSION.match(seal, len(_MAGIC))
    if len(seal) == SEAL_BYTES and version and int(version[1]) not in (1, FORMAT):
        raise CheckpointError(
            f"{path}: checkpoint has format {int(version[1])} and this pdem reads formats 1 and {FORMAT}; "
            "continue it with the pdem that wrote it"
        )
    form = _SEAL_1 if version and int(version[1]) == 1 else _SEAL
    match = form.match(seal, len(_MAGIC))
    if match is None or len(seal) != SEAL_BYTES:
        raise CheckpointError(f"{path}: checkpoint is torn (seal not whole); {REMEDY}")
    return match
