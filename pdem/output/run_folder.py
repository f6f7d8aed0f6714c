"""Files of a run in an output folder: search, last simulated time, removal.

Only files with names that a run uses count, and only these are ever removed.
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
from pdem.output.checkpoints.checkpoint import read_checkpoint
from pdem.output.checkpoints.checkpoint_folder import CheckpointFolder
from pdem.output.checkpoints.content_digest import DIGESTS_FILE
from pdem.output.log import LOG_FILE
from pdem.output.run_status import STATUS_FILE
from pdem.output.saving import reason, save_file
from pdem.output.series import TABLE, read_series_head
from pdem.output.snapshots.formats import FORMATS
from pdem.output.snapshots.growing_snapshots import last_snapshot
from pdem.output.snapshots.image_series import FIELD_FILES
from pdem.output.storage import HDF5_ERRORS, open_hdf5

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PICTURE_FILE = "picture.png"
"""Default name of a picture. `remove_run` removes it: an old picture next to new results would mislead."""

LAW_FILES = ("laws.md", "laws.json", "laws.png")
"""Names of the report on the contact laws of a run: a page, its numbers, a picture. `remove_run` removes them, too."""

EVENT_FILES = COLLISION_FILE, BREAKS_FILE, FRAGMENT_FILE, BREAKAGE_FILE = (
    "collisions.csv", "breaks.csv", "fragments.csv", "breakage.csv"
)  # fmt: skip
"""Numbers of collisions by their energy, bonds that have broken from the start of a run on, the last fragments of
bonded particles, and particles that have been replaced by fragments."""

_LAST_SNAPSHOT = {name: each.last_snapshot for each in FORMATS.values() for name in each.files}
_RESULT_FILES = (f"{TABLE}.h5", f"{TABLE}.csv", *_LAST_SNAPSHOT, LOG_FILE)
_TEMPORARY_FILE = re.compile(
    r"((?:checkpoint|begin)-\d+\.h5|stage-.*\.h5|series\.(h5|csv)|(digests|collisions|breaks|fragments|breakage)\.csv|status\.json)(\.\d+)?\.tmp|"
    rf"({'|'.join(map(re.escape, _LAST_SNAPSHOT))}|fields-.*\.vtkhdf)\.torn-\d+"
)


@dataclass(frozen=True)
class StoredRun:
    """A run in an output folder.

    Attributes
    ----------
    folder : Path
        The folder.
    checkpoint : Path or None
        Its newest checkpoint, readable or not.
    time : float or None
        Simulated time [s] of the checkpoint; without a checkpoint, of the last row of the series; None if unreadable.
    written : float
        Modification time of that file [s since 1970].
    """

    folder: Path
    checkpoint: Path | None
    time: float | None
    written: float

    def __str__(self) -> str:
        """Return folder, last time and checkpoint in one line."""
        reached = "" if self.time is None else f" that reached {self.time:g} s"
        what = "no checkpoint" if self.checkpoint is None else self.checkpoint.name
        return f"{self.folder} holds a run{reached} ({what}, {time_of_day(self.written)})"


def time_of_day(seconds: float) -> str:
    """Return a time of day from s since 1970, with the date unless it is today."""
    then = datetime.fromtimestamp(seconds)
    today = then.date() == datetime.now().date()
    return f"{then:%H:%M} today" if today else f"{then:%Y-%m-%d %H:%M}"


def find_run(folder: Path | str) -> StoredRun | None:
    """Return the run in a folder, or None if it has no file of a run."""
    folder = Path(folder)
    checkpoints = CheckpointFolder(folder).paths()
    files = [folder / name for name in _RESULT_FILES if (folder / name).is_file()]
    if checkpoints:
        newest = checkpoints[-1]
        return StoredRun(folder, newest, _time_of(newest), newest.stat().st_mtime)
    if files:
        written = max(path.stat().st_mtime for path in files)
        return StoredRun(folder, None, read_series_head(folder).last_time, written)
    return None


def _time_of(checkpoint: Path) -> float | None:
    try:
        with open_hdf5(checkpoint, "r") as file:
            return float(file.attrs["time"])
    except HDF5_ERRORS:
        return None


def remove_run(folder: Path | str) -> None:
    """Remove the files of a run from a folder, checkpoints first, the newest before older ones.

    If this is interrupted, the remaining checkpoints are the oldest ones or none.

    Raises
    ------
    InputError
        If a file cannot be removed.
    """
    folder = Path(folder)
    others = [path for path in sorted(folder.iterdir()) if _TEMPORARY_FILE.fullmatch(path.name)]
    others += [
        folder / name for name in (*_RESULT_FILES, *EVENT_FILES, DIGESTS_FILE, PICTURE_FILE, STATUS_FILE, *LAW_FILES)
    ]
    others += folder.glob(FIELD_FILES)
    checkpoints = CheckpointFolder(folder)
    remove_files([*reversed(checkpoints.paths()), *checkpoints.of_stages(), *others])


def data_files(folder: Path | str) -> list[Path]:
    """Return the files of a run in a folder that are its results, without checkpoints."""
    folder = Path(folder)
    names = (*_RESULT_FILES, *EVENT_FILES, DIGESTS_FILE, *LAW_FILES)
    found = {folder / name for name in names} | {*folder.glob(FIELD_FILES), *folder.glob("*_residence.csv")}
    return sorted(path for path in found if path.is_file())


def remove_files(paths: Iterable[Path]) -> None:
    """Remove files in this order, if they exist.

    Raises
    ------
    InputError
        If a file cannot be removed.
    """
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(f"{path}: cannot be removed ({reason(error)}); choose another output.folder") from None


@dataclass(frozen=True)
class LaterFiles:
    """Files of a folder with results later than a time.

    Attributes
    ----------
    checkpoints : tuple of Path
        Readable checkpoints of later steps; oldest first.
    ends : dict of str to float
        Time [s] of the last row or snapshot, by the name of the file.
    """

    checkpoints: tuple[Path, ...]
    ends: dict[str, float]

    @property
    def reached(self) -> float:
        """Time of the last row or snapshot [s]."""
        return max(self.ends.values(), default=0.0)

    def __str__(self) -> str:
        """Return checkpoints, files and their last times in one line."""
        names = [path.name for path in self.checkpoints]
        return ", ".join([*names, *(f"{name} until {end:g} s" for name, end in self.ends.items())])


def find_later_files(folder: Path | str, step: int, time: float) -> LaterFiles:
    """Return the files with results later than a step; `time` is the simulated time [s] at the end of the step."""
    folder = Path(folder)
    checkpoints = CheckpointFolder(folder).later_than(step)
    ends = {}
    rows = read_series_head(folder).last_time
    if rows is not None and rows > time:
        ends[f"{TABLE}.h5"] = rows
    files = {path.name: last_snapshot for path in sorted(folder.glob(FIELD_FILES))}
    for name, last_step in (_LAST_SNAPSHOT | files).items():
        last = last_step(folder / name)
        if last is not None and last[0] > step:
            ends[name] = last[1]
    return LaterFiles(tuple(path for path in checkpoints if _reads_well(path)), ends)


def _reads_well(path: Path) -> bool:
    try:
        read_checkpoint(path)
    except CheckpointError:
        return False
    return True


def folder_problem(folder: Path | str) -> str:
    """Return the reason if a folder cannot be written to or created, else an empty text."""
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
    """Require that a folder exists or can be created, without creating it.

    Raises
    ------
    InputError
        If neither is the case.
    """
    problem = folder_problem(folder)
    if problem:
        raise InputError(unusable_folder_text(folder, problem))


def make_folder(folder: Path | str) -> None:
    """Create a folder, unless it exists.

    Raises
    ------
    InputError
        If it cannot be created.
    """
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise InputError(unusable_folder_text(folder, reason(error))) from None


def keep_files(folder: Path | str, files: Mapping[str, bytes]) -> None:
    """Write files that belong to a run, by their names, into its folder.

    Raises
    ------
    InputError
        If a file cannot be written.
    """
    for name, content in files.items():
        save_file(Path(folder) / name, content, "make room, or choose another folder")


def unusable_folder_text(folder: Path | str, problem: str) -> str:
    """Return the error message for an output folder that cannot be used."""
    return f"output.folder = {str(folder)!r} cannot be made or written to ({problem}); name another one"
