"""Reader of particles from text, ``.npz``, HDF5 and checkpoints."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.messages import shown_key, shown_value
from pdem.case.missing_file import missing_file_error
from pdem.case.time_tables import is_number
from pdem.foundation.errors import CaseError, CheckpointError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.case.schema import CaseData

    Columns = dict[str, NDArray[np.float64]]

_SHAPES = {"position": (3,), "radius": (), "velocity": (3,), "angular_velocity": (3,)}
_OPTIONAL = ("velocity", "angular_velocity")
_CHECKPOINT = b"pdem checkpoint"
_HDF5 = b"\x89HDF\r\n\x1a\n"


class _Unusable(Exception):
    """Problem of a file; the caller adds the file and the key of the case."""


def read_particle_file(case: CaseData, index: int) -> dict[str, NDArray[np.float64]]:
    """Read the file of one group of particles.

    Parameters
    ----------
    case : CaseData
        The case.
    index : int
        Of the group, which must have a file.

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
        return _completed(_read(path))
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


def _read(path: Path) -> Columns:
    if path.suffix == ".vtkhdf":
        raise _Unusable(
            f"is a snapshot file, for pictures; particles begin from a checkpoint of the same folder: "
            f"{_newest_in(path.parent)}"
        )
    with path.open("rb") as file:
        head = file.read(16)
    if head.startswith(_CHECKPOINT):
        return _checkpoint_columns(path)
    if head.startswith(_HDF5):
        return _hdf5_columns(path)
    if head.startswith(b"PK"):
        return _npz_columns(path)
    return _text_columns(path)


def _text_columns(path: Path) -> Columns:
    try:
        lines = path.read_bytes().decode("utf-8").splitlines()
    except UnicodeDecodeError:
        raise _Unusable("is neither text in UTF-8 nor .npz nor HDF5") from None
    rows = [
        (number, line.partition("#")[0].replace(",", " ").split()) for number, line in enumerate(lines, 1)
    ]
    rows = [(number, row) for number, row in rows if row]
    width = len(rows[0][1]) if rows else 4
    for number, row in rows:
        if len(row) not in (4, 7) or len(row) != width:
            same = "" if len(row) not in (4, 7) else f", like the lines before it ({width})"
            allowed = f"4 (x y z radius) or 7 (x y z radius vx vy vz){same}"
            raise _Unusable(f"line {number} has {len(row)} columns; allowed: {allowed}")
    table = _numbers(rows).reshape(-1, width)
    _check_rows(table[:, :3], table[:, 3], table[:, 4:], lambda row: f"line {rows[row][0]}")
    columns = {"position": table[:, :3].copy(), "radius": table[:, 3].copy()}
    if width == 7:
        columns["velocity"] = table[:, 4:].copy()
    return columns


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


def _npz_columns(path: Path) -> Columns:
    try:
        # opened here, so that it is closed even if it is no archive
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return _checked_arrays({name: archive[name] for name in _SHAPES if name in archive.files})
    except (ValueError, zipfile.BadZipFile) as error:
        raise _Unusable(f"is not a usable .npz file: {' '.join(str(error).splitlines())}") from None


def _hdf5_columns(path: Path) -> Columns:
    import h5py  # late: reading a case must not need it

    with h5py.File(path, "r") as file:
        group = file["particles"] if isinstance(file.get("particles"), h5py.Group) else file
        found = {name: group[name] for name in _SHAPES if isinstance(group.get(name), h5py.Dataset)}
        return _checked_arrays({name: dataset[()] for name, dataset in found.items()})


def _checkpoint_columns(path: Path) -> Columns:
    from pdem.output.checkpoint import read_checkpoint

    try:
        particles = read_checkpoint(path).groups.get("particles", {})
    except CheckpointError as error:
        raise _Unusable(str(error)) from None
    materials = np.unique(particles.get("material", np.zeros(0)))
    if materials.size > 1:
        raise _Unusable(f"holds particles of {materials.size} materials, a group has one; use 'pdem restart'")
    return _checked_arrays({name: particles[name] for name in _SHAPES if name in particles})


def _checked_arrays(arrays: dict[str, Any]) -> Columns:
    for name in ("position", "radius"):
        if name not in arrays:
            raise _Unusable(f"has no array {name!r}; needed: position (n, 3) and radius (n,)")
    count = len(arrays["radius"]) if np.ndim(arrays["radius"]) == 1 else -1
    for name in sorted(arrays, key=lambda name: name != "radius"):
        values = arrays[name]
        if values.dtype.kind not in "fiu" or values.shape != (count, *_SHAPES[name]):
            shape = ", ".join(["n", *(str(length) for length in _SHAPES[name])])
            raise _Unusable(f"{name!r} is {values.dtype} of shape {values.shape}; needed: numbers ({shape})")
    columns = {name: np.array(values, dtype=np.float64) for name, values in arrays.items()}
    others = [columns[name] for name in _OPTIONAL if name in columns]
    other = np.concatenate(others, axis=1) if others else np.zeros((count, 0))
    _check_rows(columns["position"], columns["radius"], other, lambda row: f"particle {row}")
    return columns


def _completed(columns: Columns) -> Columns:
    return {
        name: columns.get(name, np.zeros((len(columns["radius"]), *shape))) for name, shape in _SHAPES.items()
    }
