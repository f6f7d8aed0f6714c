"""Reader of particles from text, ``.npz``, HDF5 and checkpoints."""

from __future__ import annotations

import math
import zipfile
import zlib
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from pdem.case.groups.particle_texts import Unusable, check_rows, text_columns
from pdem.case.messages import shown_key, shown_value
from pdem.case.missing_file import missing_file_error
from pdem.containers.global_order import part_of
from pdem.foundation.errors import CaseError, CheckpointError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.case.sections.schema import CaseData
    from pdem.foundation.array_types import Floats

    Columns = dict[str, Floats]

_SHAPES = {"position": (3,), "radius": (), "velocity": (3,), "angular_velocity": (3,)}
_OPTIONAL = ("velocity", "angular_velocity")
_NPY: Any = np.lib.format
_CHECKPOINT = b"pdem checkpoint"
_HDF5 = b"\x89HDF\r\n\x1a\n"


def read_particle_file(case: CaseData, index: int, part: int = 0, parts: int = 1) -> dict[str, Floats]:
    """Read the file of one group of particles, or a part of its rows.

    Parameters
    ----------
    case : CaseData
        The case.
    index : int
        Index of the group, which must have a file.
    part, parts : int
        Index of the part, from 0 on, and number of parts. Parts are consecutive; some may be empty.

    Returns
    -------
    dict of ndarray
        ``position`` (n, 3) in m, ``radius`` (n,) in m, ``velocity`` (n, 3) in m/s and ``angular_velocity``
        (n, 3) in rad/s, the last two zero where the file has none.

    Raises
    ------
    CaseError
        With the file, the line or particle and the problem: a missing file, an unsupported format, a wrong number of
        columns, text instead of a number, a number that is not finite, a radius that is not positive.
    """
    name = case.particles[index].file or ""
    path = case.file(name)
    where = f"{case.source}: {shown_key(['particles', index, 'file'])} = {shown_value(name)}"
    if path.is_dir():
        raise CaseError(f"{where}: is a folder; {_newest_in(path)}")
    if not path.is_file():
        raise missing_file_error(case, where, path)
    try:
        return _completed(_read(path, part, parts))
    except Unusable as error:
        raise CaseError(f"{where}: {error}") from None
    except OSError as error:
        raise CaseError(f"{where}: cannot be read: {' '.join(str(error).splitlines())}") from None


def _newest_in(folder: Path) -> str:
    """Return a hint to the newest checkpoint of a folder, from which particles can be read."""
    from pdem.output.checkpoints.checkpoint_folder import CheckpointFolder

    checkpoints = CheckpointFolder(folder).paths()
    if checkpoints:
        return f"its newest checkpoint is {checkpoints[-1]}"
    return "it holds no checkpoint; name a file of particles"


def _read(path: Path, part: int, parts: int) -> Columns:
    if path.suffix == ".vtkhdf":
        raise Unusable(
            f"is a snapshot file, for pictures; particles begin from a checkpoint of the same folder: "
            f"{_newest_in(path.parent)}"
        )
    with path.open("rb") as file:
        head = file.read(16)
    if not head:
        raise Unusable("is empty, 0 bytes: it was cut short, or is not written yet")
    if head.startswith(_CHECKPOINT):
        return _checkpoint_columns(path, part, parts)
    if head.startswith(_HDF5):
        return _hdf5_columns(path, part, parts)
    if head.startswith(b"PK"):
        return _npz_columns(path, part, parts)
    return text_columns(path, part, parts)


def _npz_columns(path: Path, part: int, parts: int) -> Columns:
    try:
        # opened here, so that it is closed even if it is not an archive
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            members = {name.removesuffix(".npy"): name for name in archive.namelist()}
            arrays = {name: _Member(archive, members[name]) for name in _SHAPES if name in members}
            return _checked_arrays(arrays, part, parts)
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise Unusable(f"is not a usable .npz file: {' '.join(str(error).splitlines())}") from None


class _Member:
    """An array of an ``.npz`` file with rows that are read on access."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._archive, self._name = archive, name
        with self._open() as file:
            version = _NPY.read_magic(file)
            read_header = _NPY.read_array_header_1_0 if version == (1, 0) else _NPY.read_array_header_2_0
            self.shape, self._by_columns, self.dtype = read_header(file)
            self._begin = file.tell()
        if self.dtype.hasobject:
            raise ValueError(f"{name} holds Python objects")

    def _open(self) -> IO[bytes]:
        return self._archive.open(self._name)

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Return some rows."""
        first, last = rows.start, rows.stop
        if self._by_columns and len(self.shape) > 1:  # rows are spread over the file
            with self._open() as file:
                return _NPY.read_array(file, allow_pickle=False)[first:last]
        width = self.dtype.itemsize * math.prod(self.shape[1:])
        with self._open() as file:
            file.seek(self._begin + first * width)
            data = file.read((last - first) * width)
        if len(data) < (last - first) * width:
            raise ValueError("the file ends before its arrays do")
        return np.frombuffer(data, self.dtype).reshape(-1, *self.shape[1:])


def _hdf5_columns(path: Path, part: int, parts: int) -> Columns:
    import h5py  # late: reading a case must not need it

    with h5py.File(path, "r") as file:
        group = file["particles"] if isinstance(file.get("particles"), h5py.Group) else file
        found = {name: group[name] for name in _SHAPES if isinstance(group.get(name), h5py.Dataset)}
        return _checked_arrays(found, part, parts)


def _checkpoint_columns(path: Path, part: int, parts: int) -> Columns:
    from pdem.output.checkpoints.checkpoint_reader import CheckpointReader

    try:
        reader = CheckpointReader(path)
        particles = reader.read(["particles"], (part, parts), ["particles"]).get("particles", {})
    except CheckpointError as error:
        raise Unusable(str(error)) from None
    materials = np.unique(particles.get("material", np.zeros(0)))
    if materials.size > 1:
        raise Unusable(f"holds particles of {materials.size} materials, a group has one; use 'pdem restart'")
    if particles.get("cluster", np.zeros(0)).any():
        raise Unusable("holds rigid clusters, whose spheres would fly apart by themselves; use 'pdem restart'")
    return _checked_arrays({name: particles[name] for name in _SHAPES if name in particles})


def _checked_arrays(arrays: Mapping[str, Any], part: int = 0, parts: int = 1) -> Columns:
    """Return a part of the rows of arrays, after all checks."""
    for name in ("position", "radius"):
        if name not in arrays:
            raise Unusable(f"has no array {name!r}; needed: position (n, 3) and radius (n,)")
    shape = arrays["radius"].shape
    count = shape[0] if len(shape) == 1 else -1
    for name in sorted(arrays, key=lambda name: name != "radius"):
        values = arrays[name]
        if values.dtype.kind not in "fiu" or values.shape != (count, *_SHAPES[name]):
            wanted = ", ".join(["n", *(str(length) for length in _SHAPES[name])])
            raise Unusable(f"{name!r} is {values.dtype} of shape {values.shape}; needed: numbers ({wanted})")
    first, last = part_of(count, part, parts)
    columns = {name: np.array(values[first:last], dtype=np.float64) for name, values in arrays.items()}
    others = [columns[name] for name in _OPTIONAL if name in columns]
    other = np.concatenate(others, axis=1) if others else np.zeros((last - first, 0))
    check_rows(columns["position"], columns["radius"], other, lambda row: f"particle {first + row}")
    return columns


def _completed(columns: Columns) -> Columns:
    return {name: columns.get(name, np.zeros((len(columns["radius"]), *shape))) for name, shape in _SHAPES.items()}
