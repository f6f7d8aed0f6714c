"""Reader of particles from text, ``.npz``, HDF5 and checkpoints."""

from __future__ import annotations

import math
import zipfile
import zlib
from typing import IO, TYPE_CHECKING, Any, BinaryIO

import numpy as np

from pdem.case.messages import shown_key, shown_value
from pdem.case.missing_file import missing_file_error
from pdem.case.time_tables import is_number
from pdem.containers.global_order import part_of
from pdem.foundation.errors import CaseError, CheckpointError
from pdem.output.summary import counted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.case.schema import CaseData

    Columns = dict[str, NDArray[np.float64]]

_SHAPES = {"position": (3,), "radius": (), "velocity": (3,), "angular_velocity": (3,)}
_OPTIONAL = ("velocity", "angular_velocity")
_PIECE = 1 << 24
_NPY: Any = np.lib.format
_CHECKPOINT = b"pdem checkpoint"
_HDF5 = b"\x89HDF\r\n\x1a\n"
_EXPORTED = b"position_x [m]"


class _Unusable(Exception):
    """Problem of a file; the caller adds the file and the key of the case."""


def read_particle_file(
    case: CaseData, index: int, part: int = 0, parts: int = 1
) -> dict[str, NDArray[np.float64]]:
    """Read the file of one group of particles, or a part of its rows.

    Parameters
    ----------
    case : CaseData
        The case.
    index : int
        Of the group, which must have a file.
    part, parts : int
        Which part, from 0 on, and of how many. Parts follow each other; some may be empty.

    Returns
    -------
    dict of ndarray
        ``position`` (n, 3) in m, ``radius`` (n,) in m, ``velocity`` (n, 3) in m/s and ``angular_velocity``
        (n, 3) in rad/s, the last two zero where the file has none.

    Raises
    ------
    CaseError
        With the file, the line or particle and the problem: no such file, another format, a wrong number of columns,
        text in place of a number, a number that is not finite, a radius that is not positive.
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
    except _Unusable as error:
        raise CaseError(f"{where}: {error}") from None
    except OSError as error:
        raise CaseError(f"{where}: cannot be read: {' '.join(str(error).splitlines())}") from None


def _newest_in(folder: Path) -> str:
    """Return a hint on the newest checkpoint of a folder, from which particles can be read."""
    from pdem.output.checkpoint_folder import CheckpointFolder

    checkpoints = CheckpointFolder(folder).paths()
    if checkpoints:
        return f"its newest checkpoint is {checkpoints[-1]}"
    return "it holds no checkpoint; name a file of particles"


def _read(path: Path, part: int, parts: int) -> Columns:
    if path.suffix == ".vtkhdf":
        raise _Unusable(
            f"is a snapshot file, for pictures; particles begin from a checkpoint of the same folder: "
            f"{_newest_in(path.parent)}"
        )
    with path.open("rb") as file:
        head = file.read(16)
    if not head:
        raise _Unusable("is empty, 0 bytes: it was cut short, or is not written yet")
    if head.startswith(_CHECKPOINT):
        return _checkpoint_columns(path, part, parts)
    if head.startswith(_HDF5):
        return _hdf5_columns(path, part, parts)
    if head.startswith(b"PK"):
        return _npz_columns(path, part, parts)
    return _text_columns(path, part, parts)


def _text_columns(path: Path, part: int, parts: int) -> Columns:
    """Read the lines that begin in a part of the bytes of a text."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if _EXPORTED in file.readline(_PIECE):
            raise _Unusable(
                "is a table of 'pdem export', for other programs; particles begin from a checkpoint of its run, or "
                "from a table with the columns x y z radius [vx vy vz] alone"
            )
        file.seek(0)
        width = _first_width(file)
        begin, end = _line_at(file, size * part // parts), _line_at(file, size * (part + 1) // parts)
        file.seek(begin)
        data = file.read(end - begin)
    try:
        table = _table(data, 1, width)
    except _Unusable:
        if not begin:
            raise
        table = _table(data, 1 + _lines_before(path, begin), width)  # raises it again, with the right line
    columns = {"position": table[:, :3].copy(), "radius": table[:, 3].copy()}
    if width == 7:
        columns["velocity"] = table[:, 4:].copy()
    return columns


def _line_at(file: BinaryIO, offset: int) -> int:
    """Return where the first line begins that begins at an offset or behind it."""
    if offset == 0:
        return 0
    file.seek(offset - 1)
    file.readline()
    return file.tell()


def _lines_before(path: Path, offset: int) -> int:
    """Return the number of lines before an offset."""
    count = 0
    with path.open("rb") as file:
        while file.tell() < offset:
            count += file.read(min(_PIECE, offset - file.tell())).count(b"\n")
    return count


def _first_width(file: BinaryIO) -> int:
    """Return the number of columns of the first line that has some, 4 without any."""
    for line in file:
        words = line.partition(b"#")[0].replace(b",", b" ").split()
        if words:
            return len(words)
    return 4


def _table(data: bytes, first_line: int, width: int) -> NDArray[np.float64]:
    """Return the numbers of some lines, shape (n, width), after all checks."""
    try:
        lines = data.decode("utf-8").splitlines()
    except UnicodeDecodeError:
        raise _Unusable("is neither text in UTF-8 nor .npz nor HDF5") from None
    rows = [
        (number, line.partition("#")[0].replace(",", " ").split())
        for number, line in enumerate(lines, first_line)
    ]
    rows = [(number, row) for number, row in rows if row]
    for number, row in rows:
        if len(row) not in (4, 7) or len(row) != width:
            same = "" if len(row) not in (4, 7) else f", like the lines before it ({width})"
            allowed = f"4 (x y z radius) or 7 (x y z radius vx vy vz){same}"
            names = "" if any(map(is_number, row)) else "; begin a line of names with #"
            raise _Unusable(f"line {number} has {counted(len(row), 'column')}; allowed: {allowed}{names}")
    table = _numbers(rows).reshape(-1, width)
    _check_rows(table[:, :3], table[:, 3], table[:, 4:], lambda row: f"line {rows[row][0]}")
    return table


def _numbers(rows: list[tuple[int, list[str]]]) -> NDArray[np.float64]:
    try:
        return np.array([row for _, row in rows], dtype=np.float64)
    except ValueError:
        number, word = next((number, word) for number, row in rows for word in row if not is_number(word))
        head = "; begin a line of names with #" if number == rows[0][0] else ""
        raise _Unusable(f"line {number}: {shown_value(word)} is not a number{head}") from None


def _check_rows(position: Any, radius: Any, other: Any, name: Any) -> None:
    finite = np.isfinite(position).all(axis=1) & np.isfinite(radius) & np.isfinite(other).all(axis=1)
    if not finite.all():
        raise _Unusable(f"{name(int(np.argmin(finite)))} holds a number that is not finite")
    if not np.all(radius > 0.0):
        row = int(np.argmin(radius > 0.0))
        raise _Unusable(f"{name(row)}: radius {radius[row]:g} m; it must be greater than 0")


def _npz_columns(path: Path, part: int, parts: int) -> Columns:
    try:
        # opened here, so that it is closed even if it is no archive
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            members = {name.removesuffix(".npy"): name for name in archive.namelist()}
            arrays = {name: _Member(archive, members[name]) for name in _SHAPES if name in members}
            return _checked_arrays(arrays, part, parts)
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise _Unusable(f"is not a usable .npz file: {' '.join(str(error).splitlines())}") from None


class _Member:
    """An array of an ``.npz`` file, whose rows are read when they are asked for."""

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
    from pdem.output.checkpoint_reader import CheckpointReader

    try:
        reader = CheckpointReader(path)
        particles = reader.read(["particles"], (part, parts), ["particles"]).get("particles", {})
    except CheckpointError as error:
        raise _Unusable(str(error)) from None
    materials = np.unique(particles.get("material", np.zeros(0)))
    if materials.size > 1:
        raise _Unusable(f"holds particles of {materials.size} materials, a group has one; use 'pdem restart'")
    if particles.get("cluster", np.zeros(0)).any():
        raise _Unusable(
            "holds rigid clusters, whose spheres would fly apart by themselves; use 'pdem restart'"
        )
    return _checked_arrays({name: particles[name] for name in _SHAPES if name in particles})


def _checked_arrays(arrays: Mapping[str, Any], part: int = 0, parts: int = 1) -> Columns:
    """Return a part of the rows of arrays, after all checks."""
    for name in ("position", "radius"):
        if name not in arrays:
            raise _Unusable(f"has no array {name!r}; needed: position (n, 3) and radius (n,)")
    shape = arrays["radius"].shape
    count = shape[0] if len(shape) == 1 else -1
    for name in sorted(arrays, key=lambda name: name != "radius"):
        values = arrays[name]
        if values.dtype.kind not in "fiu" or values.shape != (count, *_SHAPES[name]):
            wanted = ", ".join(["n", *(str(length) for length in _SHAPES[name])])
            raise _Unusable(f"{name!r} is {values.dtype} of shape {values.shape}; needed: numbers ({wanted})")
    first, last = part_of(count, part, parts)
    columns = {name: np.array(values[first:last], dtype=np.float64) for name, values in arrays.items()}
    others = [columns[name] for name in _OPTIONAL if name in columns]
    other = np.concatenate(others, axis=1) if others else np.zeros((last - first, 0))
    _check_rows(columns["position"], columns["radius"], other, lambda row: f"particle {first + row}")
    return columns


def _completed(columns: Columns) -> Columns:
    return {
        name: columns.get(name, np.zeros((len(columns["radius"]), *shape))) for name, shape in _SHAPES.items()
    }
