"""The digest of a state, independent of its file, and the file with the digests of all states of a run."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pdem.foundation.files import write_file
from pdem.output.hdf5.parallel_hdf5 import block_checksums, bytes_of, tables_of_groups
from pdem.output.saving import writing

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from pdem.output.hdf5.parallel_hdf5 import RowTable
    from pdem.output.storage import Attribute

    Groups = Mapping[str, Mapping[str, NDArray[Any]]]

DIGEST_BYTES = 32


DIGESTS_FILE = "digests.csv"
"""Name of the file in an output folder: a line with step and digest for each checkpoint ever written."""

_HEAD = "step,state"


class Layout(NamedTuple):
    """Type and shape of a whole column."""

    dtype: np.dtype
    shape: tuple[int, ...]


class Hash(Protocol):
    """A hash of `hashlib`."""

    def update(self, data: bytes | memoryview, /) -> None:
        """Add some bytes."""
        ...


def digest(data: bytes) -> bytes:
    """Return the digest of some bytes."""
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()


def content_digest(groups: Groups, attributes: Mapping[str, Attribute]) -> str:
    """Return the digest (hexadecimal) of a state; the order of mappings does not matter."""
    checks = {
        f"{group}/{name}": block_checksums(column)
        for group, columns in groups.items()
        for name, column in columns.items()
    }
    return content_digest_of_tables(tables_of_groups(groups), checks, attributes)


def content_digest_of_tables(
    tables: Mapping[str, RowTable], checks: Mapping[str, bytes], attributes: Mapping[str, Attribute]
) -> str:
    """Return the digest of a state from the checksums of all blocks of its columns, by ``group/name``."""
    layout = {
        group: {name: Layout(column.dtype, table.shape(name)) for name, column in table.columns.items()}
        for group, table in tables.items()
    }
    return content_digest_of_layout(layout, checks, attributes)


def content_digest_of_layout(
    groups: Mapping[str, Mapping[str, Layout]], checks: Mapping[str, bytes], attributes: Mapping[str, Attribute]
) -> str:
    """Return the digest of a state from types, shapes and checksums of its columns."""
    found = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for group, columns in sorted(groups.items()):
        _add_texts(found, "group", group, str(len(columns)))
        for name, layout in sorted(columns.items()):
            blocks = checks[f"{group}/{name}"]
            _add_texts(found, "column", name, layout.dtype.str, repr(layout.shape), str(len(blocks)))
            found.update(blocks)
    _add_attributes(found, attributes)
    return found.hexdigest()


def content_digest_of_format_1(groups: Groups, attributes: Mapping[str, Attribute]) -> str:
    """Return the SHA-256 (hexadecimal) of all bytes of a state, as in the seal of a file of format 1."""
    found = hashlib.sha256()
    for group, columns in sorted(groups.items()):
        _add_texts(found, "group", group, str(len(columns)))
        for name, column in sorted(columns.items()):
            _add_texts(found, "column", name, column.dtype.str, repr(column.shape))
            found.update(bytes_of(column))
    _add_attributes(found, attributes)
    return found.hexdigest()


def _add_attributes(found: Hash, attributes: Mapping[str, Attribute]) -> None:
    for name, value in sorted(attributes.items()):
        exact = struct.pack("<d", value).hex() if isinstance(value, float) else str(value)
        _add_texts(found, "attribute", name, type(value).__name__, exact)


def _add_texts(found: Hash, *texts: str) -> None:
    """Add texts with their lengths, so that different lists of texts have different digests."""
    for text in texts:
        encoded = text.encode()
        found.update(struct.pack("<q", len(encoded)))
        found.update(encoded)


def read_digests(folder: Path | str) -> dict[int, str]:
    """Return the digests of a folder by step, empty if it has no such file; incomplete lines are ignored."""
    try:
        lines = (Path(folder) / DIGESTS_FILE).read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    rows = (line.split(",") for line in lines if line != _HEAD)
    return {int(row[0]): row[1] for row in rows if len(row) == 2 and row[0].isdecimal() and row[1]}


def record_digest(folder: Path | str, step: int, digest: str) -> None:
    """Add the digest of a step to the file of a folder; entries of this and later steps are removed.

    Raises
    ------
    CheckpointError
        If the file cannot be written.
    """
    path = Path(folder) / DIGESTS_FILE
    found = {one: text for one, text in read_digests(folder).items() if one < step} | {step: digest}
    with writing(path, "make room, then restart"):
        write_file(path, "\n".join([_HEAD, *(f"{one},{text}" for one, text in found.items())]) + "\n")
