"""Checkpoints: the complete state in one HDF5 file that is either whole or refused.

The file starts with a seal of 512 bytes (HDF5 calls it the user block and skips it)::

    pdem checkpoint
    format 1
    bytes 123456
    sha256 <of everything behind the seal>
    content <SHA-256 of the state itself: names, dtypes, shapes, values, attributes>

so that a torn or altered file is found before HDF5 reads it. ``content`` does not depend on how HDF5 lays
the file out: checkpoints with the same ``content`` hold the same bits.
"""

from __future__ import annotations

import hashlib
import re
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from pdem.foundation.errors import CheckpointError, InputError
from pdem.output.storage import (
    HDF5_ERRORS,
    Attribute,
    discard,
    open_hdf5,
    plain_attribute,
    publish,
    read_attributes,
    reason,
    reserve,
    write_attributes,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Groups = Mapping[str, Mapping[str, NDArray[Any]]]

FORMAT = 1
"""Version of the file format; a file of another version is refused."""

SEAL_BYTES = 512
_MAGIC = b"pdem checkpoint\n"
_SEAL = re.compile(rb"format (\d+)\nbytes (\d+)\nsha256 ([0-9a-f]{64})\ncontent ([0-9a-f]{64})\n\0*\Z")
_BYTES_PER_COLUMN = 1024
_LARGEST_ITEM = 8
_ELSE = "use the previous checkpoint of this run"


@dataclass(frozen=True)
class Checkpoint:
    """A state that was read whole.

    Attributes
    ----------
    path : Path
        The file it came from.
    groups : dict of dict of ndarray
        Columns by group and name, with the dtypes and shapes they were written with.
    attributes : dict
        Texts, integers and floats.
    content : str
        SHA-256 (hexadecimal) of groups and attributes.
    warnings : tuple of str
        One line for each newer checkpoint that had to be passed over.
    """

    path: Path
    groups: dict[str, dict[str, NDArray[Any]]]
    attributes: dict[str, Attribute]
    content: str
    warnings: tuple[str, ...] = field(default=(), compare=False)


def write_checkpoint(path: Path | str, groups: Groups, attributes: Mapping[str, Attribute]) -> str:
    """Write a state beside `path` and rename it, so that `path` is always either the old or the new state.

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
        SHA-256 of the content.

    Raises
    ------
    CheckpointError
        When the file cannot be written (disk full, no permission); what was at `path` is untouched.
    InputError
        When a column or attribute is of a type that HDF5 would not give back unchanged.
    """
    path = Path(path)
    columns = _checked(groups)
    plain = {name: plain_attribute(name, value) for name, value in attributes.items()}
    content = content_digest(columns, plain)
    temporary = path.with_name(path.name + ".tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        reserve(path.parent, _expected_bytes(columns))
        _write_body(temporary, columns, plain)
        _write_seal(temporary, content)
        publish(temporary, path)
    except (OSError, RuntimeError) as error:
        discard(temporary)
        raise CheckpointError(
            f"{path}: checkpoint cannot be written ({reason(error)}), the one before is untouched; "
            "free space or choose another output.folder"
        ) from error
    return content


def read_checkpoint(path: Path | str) -> Checkpoint:
    """Read a state back, exactly as it was written.

    Raises
    ------
    CheckpointError
        When the file is missing, foreign, of another format version, torn or altered.
    """
    path = Path(path)
    try:
        content = _verified_seal(path)
        with open_hdf5(path, "r") as file:
            groups = {name: _read_columns(node) for name, node in file.items()}
            attributes = read_attributes(file)
    except HDF5_ERRORS as error:
        raise CheckpointError(f"{path}: checkpoint cannot be read ({reason(error)}); {_ELSE}") from error
    if content_digest(groups, attributes) != content:
        raise CheckpointError(f"{path}: checkpoint does not hold what its seal says; {_ELSE}")
    return Checkpoint(path, groups, attributes, content)


def _read_columns(group: h5py.Group) -> dict[str, NDArray[Any]]:
    # Without the dtype, HDF5 scalars would come back as numpy scalars of native byte order.
    return {name: np.asarray(dataset[()], dtype=dataset.dtype) for name, dataset in group.items()}


def content_digest(groups: Groups, attributes: Mapping[str, Attribute]) -> str:
    """Return the SHA-256 (hexadecimal) of a state, whatever order its mappings have."""
    digest = hashlib.sha256()
    for group, columns in sorted(groups.items()):
        _add_texts(digest, "group", group, str(len(columns)))
        for name, column in sorted(columns.items()):
            _add_texts(digest, "column", name, column.dtype.str, repr(column.shape))
            digest.update(np.ascontiguousarray(column).reshape(-1).view(np.uint8).data)
    for name, value in sorted(attributes.items()):
        exact = struct.pack("<d", value).hex() if isinstance(value, float) else str(value)
        _add_texts(digest, "attribute", name, type(value).__name__, exact)
    return digest.hexdigest()


def _add_texts(digest: hashlib._Hash, *texts: str) -> None:
    """Add texts with their lengths, so that no two lists of texts look the same."""
    for text in texts:
        encoded = text.encode()
        digest.update(struct.pack("<q", len(encoded)))
        digest.update(encoded)


def _checked(groups: Groups) -> dict[str, dict[str, NDArray[Any]]]:
    return {
        _checked_name(group): {
            _checked_name(name): _checked_column(name, column) for name, column in columns.items()
        }
        for group, columns in groups.items()
    }


def _checked_name(name: str) -> str:
    if not name or "/" in name or set(name) == {"."}:
        raise InputError(
            f"{name!r} cannot name a checkpoint group or column; it must not be empty or contain '/'"
        )
    return name


def _checked_column(name: str, column: NDArray[Any]) -> NDArray[Any]:
    array = np.asarray(column)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > _LARGEST_ITEM:
        raise InputError(
            f"checkpoint column {name} has dtype {array.dtype}; give integers, floats or booleans"
        )
    return array


def _expected_bytes(columns: Groups) -> int:
    return sum(column.nbytes + _BYTES_PER_COLUMN for group in columns.values() for column in group.values())


def _write_body(path: Path, groups: Groups, attributes: Mapping[str, Attribute]) -> None:
    with open_hdf5(path, "w", userblock_size=SEAL_BYTES) as file:
        write_attributes(file, attributes)
        for group, columns in groups.items():
            node = file.create_group(group)
            for name, column in columns.items():
                node.create_dataset(name, data=column)


def _write_seal(path: Path, content: str) -> None:
    with path.open("r+b") as file:
        file.seek(SEAL_BYTES)
        body = hashlib.file_digest(file, "sha256").hexdigest()
        size = file.tell()
        text = f"format {FORMAT}\nbytes {size}\nsha256 {body}\ncontent {content}\n"
        file.seek(0)
        file.write((_MAGIC + text.encode()).ljust(SEAL_BYTES, b"\0"))


def _verified_seal(path: Path) -> str:
    """Return the content digest promised by the seal of a file whose bytes are all as they were written."""
    if not path.is_file():
        raise CheckpointError(f"{path}: no such checkpoint; name a file checkpoint-*.h5 of an output folder")
    with path.open("rb") as file:
        version, size, body, content = _parsed_seal(path, file.read(SEAL_BYTES))
        if version != FORMAT:
            raise CheckpointError(
                f"{path}: checkpoint has format {version} and this pdem reads format {FORMAT}; "
                "continue it with the pdem that wrote it"
            )
        present = path.stat().st_size
        if present != size:
            raise CheckpointError(f"{path}: checkpoint is torn ({present} bytes of {size}); {_ELSE}")
        file.seek(SEAL_BYTES)
        if hashlib.file_digest(file, "sha256").hexdigest() != body:
            raise CheckpointError(f"{path}: checkpoint was altered, its SHA-256 differs; {_ELSE}")
    return content


def _parsed_seal(path: Path, seal: bytes) -> tuple[int, int, str, str]:
    match = _SEAL.match(seal, len(_MAGIC))
    if seal.startswith(_MAGIC) and match and len(seal) == SEAL_BYTES:
        return int(match[1]), int(match[2]), match[3].decode(), match[4].decode()
    if seal.startswith(_MAGIC):
        raise CheckpointError(f"{path}: checkpoint is torn (seal not whole); {_ELSE}")
    fact = "HDF5 but no checkpoint of pdem" if h5py.is_hdf5(path) else "neither HDF5 nor a checkpoint of pdem"
    raise CheckpointError(f"{path}: file is {fact}; name a file checkpoint-*.h5 that pdem run wrote")


class CheckpointFolder:
    """The last few checkpoints of a run.

    Parameters
    ----------
    folder : path
        Where they are; made when the first one is written.
    keep : int
        How many stay, at least 1. With 2 the one before is there even if the disk spoils the newest.
    """

    def __init__(self, folder: Path | str, keep: int = 2) -> None:
        if keep < 1:
            raise InputError(f"keep = {keep} checkpoints; at least 1 must stay")
        self.folder = Path(folder)
        self.keep = keep

    def paths(self) -> list[Path]:
        """Return the checkpoints in the folder, oldest step first."""
        return sorted(self.folder.glob("checkpoint-*.h5"), key=_step_of)

    def write(self, step: int, groups: Groups, attributes: Mapping[str, Attribute]) -> Path:
        """Write ``checkpoint-<step>.h5`` and then remove those no longer needed.

        Checkpoints of later steps are left over from a run that was restarted before them. They go as well,
        like the rows and snapshots that a restart drops.

        Raises
        ------
        CheckpointError
            When it cannot be written; all earlier ones are still there.
        """
        path = self.folder / f"checkpoint-{step:09d}.h5"
        write_checkpoint(path, groups, {**attributes, "step": step})
        earlier = [other for other in self.paths() if _step_of(other) <= step]
        for other in set(self.paths()) - set(earlier[-self.keep :]):
            other.unlink(missing_ok=True)
        for left_over in self.folder.glob("checkpoint-*.h5.tmp"):
            left_over.unlink(missing_ok=True)
        return path

    def latest(self) -> Checkpoint:
        """Return the newest checkpoint that reads well; its ``warnings`` tell which ones did not.

        Raises
        ------
        CheckpointError
            When there is none.
        """
        warnings: list[str] = []
        for path in reversed(self.paths()):
            try:
                found = read_checkpoint(path)
            except CheckpointError as error:
                warnings.append(str(error))
            else:
                return Checkpoint(found.path, found.groups, found.attributes, found.content, tuple(warnings))
        detail = f" ({'; '.join(warnings)})" if warnings else ""
        raise CheckpointError(f"{self.folder}: no readable checkpoint{detail}; start with pdem run")


def latest_checkpoint(folder: Path | str) -> Checkpoint:
    """Return the newest readable checkpoint of `folder`; see `CheckpointFolder.latest`."""
    return CheckpointFolder(folder).latest()


def _step_of(path: Path) -> int:
    digits = path.name.removeprefix("checkpoint-").removesuffix(".h5")
    return int(digits) if digits.isdigit() else -1
