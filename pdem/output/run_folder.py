"""What an output folder holds: whether there is a run in it, how far it came, and how it goes away.

Only files with the names that a run gives them count, and only these are ever removed.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pdem.foundation.errors import CheckpointError, InputError
from pdem.output.checkpoint import read_checkpoint
from pdem.output.checkpoint_folder import CheckpointFolder
from pdem.output.formats import FORMATS
from pdem.output.log import LOG_FILE
from pdem.output.series import TABLE, head_of_series
from pdem.output.storage import HDF5_ERRORS, open_hdf5, reason

if TYPE_CHECKING:
    from collections.abc import Iterable

PICTURE_FILE = "picture.png"
"""Name of the picture that is drawn unless another one is given; beside new results an old one would mislead."""

_SNAPSHOTS = {name: each.last_snapshot for each in FORMATS.values() for name in each.files}
_RESULTS = (f"{TABLE}.h5", f"{TABLE}.csv", *_SNAPSHOTS, LOG_FILE)
_LEFT_OVER = re.compile(
    r"(checkpoint-\d+\.h5|series\.(h5|csv))\.tmp|"
    rf"({'|'.join(map(re.escape, _SNAPSHOTS))})\.torn-\d+"
)


@dataclass(frozen=True)
class HeldRun:
    """A run that is in a folder.

    Attributes
    ----------
    folder : Path
        The folder.
    checkpoint : Path or None
        Its newest checkpoint, whether it is whole or not.
    time : float or None
        Simulated time [s] of that, or else of the last row of the series; None where neither can be read.
    written : float
        When that was written [s since 1970].
    """

    folder: Path
    checkpoint: Path | None
    time: float | None
    written: float

    def __str__(self) -> str:
        """Return what is there in one line."""
        reached = "" if self.time is None else f" that reached {self.time:g} s"
        what = "no checkpoint" if self.checkpoint is None else self.checkpoint.name
        return f"{self.folder} holds a run{reached} ({what}, {clock(self.written)})"


def clock(seconds: float) -> str:
    """Return a time of day, with the date unless it is of today."""
    then = datetime.fromtimestamp(seconds)
    today = then.date() == datetime.now().date()
    return f"{then:%H:%M} today" if today else f"{then:%Y-%m-%d %H:%M}"


def held_run(folder: Path | str) -> HeldRun | None:
    """Return the run that a folder holds, or None; of a run, any file is enough."""
    folder = Path(folder)
    checkpoints = CheckpointFolder(folder).paths()
    files = [folder / name for name in _RESULTS if (folder / name).is_file()]
    if checkpoints:
        newest = checkpoints[-1]
        return HeldRun(folder, newest, _time_of(newest), newest.stat().st_mtime)
    if files:
        written = max(path.stat().st_mtime for path in files)
        return HeldRun(folder, None, head_of_series(folder).last_time, written)
    return None


def _time_of(checkpoint: Path) -> float | None:
    try:
        with open_hdf5(checkpoint, "r") as file:
            return float(file.attrs["time"])
    except HDF5_ERRORS:
        return None


def remove_run(folder: Path | str) -> None:
    """Take away what a run has left in a folder, checkpoints first.

    If that is interrupted there is nothing left that a run of another case could be taken for.

    Raises
    ------
    InputError
        If a file cannot be removed.
    """
    folder = Path(folder)
    others = [path for path in sorted(folder.iterdir()) if _LEFT_OVER.fullmatch(path.name)]
    others += [folder / name for name in (*_RESULTS, PICTURE_FILE)]
    remove_files([*reversed(CheckpointFolder(folder).paths()), *others])


def remove_files(paths: Iterable[Path]) -> None:
    """Remove files in this order, as far as they are there.

    Raises
    ------
    InputError
        If one cannot be removed.
    """
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(
                f"{path}: cannot be removed ({reason(error)}); choose another output.folder"
            ) from None


@dataclass(frozen=True)
class Later:
    """What a folder holds that is later than a time.

    Attributes
    ----------
    checkpoints : tuple of Path
        Of later steps, those that read well; oldest first.
    ends : dict of str to float
        By the file with later rows or snapshots, the time [s] of its last.
    """

    checkpoints: tuple[Path, ...]
    ends: dict[str, float]

    @property
    def reached(self) -> float:
        """Time of the last row or snapshot [s]."""
        return max(self.ends.values(), default=0.0)

    def __str__(self) -> str:
        """Return what is there in one line."""
        names = [path.name for path in self.checkpoints]
        return ", ".join([*names, *(f"{name} until {end:g} s" for name, end in self.ends.items())])


def later_than(folder: Path | str, step: int, time: float) -> Later:
    """Return what a folder holds that is later than a step, at whose end the simulated time [s] was `time`."""
    folder = Path(folder)
    checkpoints = CheckpointFolder(folder).later_than(step)
    ends = {}
    rows = head_of_series(folder).last_time
    if rows is not None and rows > time:
        ends[f"{TABLE}.h5"] = rows
    for name, last_snapshot in _SNAPSHOTS.items():
        last = last_snapshot(folder / name)
        if last is not None and last[0] > step:
            ends[name] = last[1]
    return Later(tuple(path for path in checkpoints if _reads_well(path)), ends)


def _reads_well(path: Path) -> bool:
    try:
        read_checkpoint(path)
    except CheckpointError:
        return False
    return True


def folder_problem(folder: Path | str) -> str:
    """Return why a folder cannot be written to or made, empty if it can."""
    path = Path(folder)
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            return f"{path} is a link that leads nowhere"
        return folder_problem(path.parent) if path != path.parent else "there is no such place"
    except (OSError, ValueError) as error:
        return f"{path}: {reason(error)}"
    if not stat.S_ISDIR(mode):
        return f"{path} is a file"
    return "" if os.access(path, os.W_OK | os.X_OK) else f"nothing may be written into {path}"


def require_folder(folder: Path | str) -> None:
    """Require that a folder is there or can be made; nothing is made.

    Raises
    ------
    InputError
        If it cannot.
    """
    problem = folder_problem(folder)
    if problem:
        raise InputError(unusable(folder, problem))


def make_folder(folder: Path | str) -> None:
    """Make a folder, unless it is there.

    Raises
    ------
    InputError
        If it cannot be made.
    """
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise InputError(unusable(folder, reason(error))) from None


def unusable(folder: Path | str, problem: str) -> str:
    """Return what to say about an output folder that cannot be used."""
    return f"output.folder = {str(folder)!r} cannot be made or written to ({problem}); name another one"
