"""Checks of paths to results; errors name similar folders that contain results."""

from __future__ import annotations

from difflib import SequenceMatcher
from pathlib import Path

_MOST_FOLDERS = 5


def require_results(path: str | Path, command: str) -> None:
    """Check that a path contains results of a run; the error names similar folders.

    Parameters
    ----------
    path : path
        An output folder, a snapshot file or a checkpoint, as entered by the user.
    command : str
        Name of the command, for the remedy in the error message.

    Raises
    ------
    InputError
        If there is no such file or folder, or the path is a case file.
    """
    from pdem.foundation.errors import InputError

    path = Path(path)
    if path.suffix == ".toml" and path.is_file():
        raise InputError(_case_hint(path, command))
    if not path.exists():
        what = "file" if path.suffix else "folder"
        raise InputError(f"{path}: no such {what}; {similar_folders(path)}")


def require_folder_of_run(path: str | Path, command: str) -> None:
    """Check that a path is a folder, or does not exist yet.

    Raises
    ------
    InputError
        If the path is a file; for a case file the message names its output folder.
    """
    from pdem.foundation.errors import InputError

    path = Path(path)
    if path.suffix == ".toml" and path.is_file():
        raise InputError(_case_hint(path, command))
    if path.exists() and not path.is_dir():
        raise InputError(f"{path}: is a file; name the output folder of a run: pdem {command} {path.parent}")


def _case_hint(path: Path, command: str) -> str:
    from pdem.case.model import Case

    folder = Case.read(path).output.folder
    if _holds_results(Path(folder)):
        return f"{path}: is a case; its results are in {folder}: pdem {command} {folder}"
    return f"{path}: is a case, and {folder} has no results of it yet: pdem run {path}"


def similar_folders(path: str | Path) -> str:
    """Return text with the names of folders with results near a path, the most similar names first."""
    path = Path(path)
    parent = path.parent
    while not parent.is_dir():
        parent = parent.parent
    around = {one for base in (parent, Path("results")) for one in _result_folders(base)}
    if not around:
        return f"no folder in {parent} has results; pdem run makes one"
    order = sorted(map(str, around), key=lambda one: (-SequenceMatcher(None, one, str(path)).ratio(), one))
    rest = f" and {len(order) - _MOST_FOLDERS} more" if len(order) > _MOST_FOLDERS else ""
    return f"there {'is' if len(order) == 1 else 'are'} {', '.join(order[:_MOST_FOLDERS])}{rest}"


def _result_folders(base: Path) -> list[Path]:
    if not base.is_dir():
        return []
    return [one for one in base.iterdir() if one.is_dir() and _holds_results(one)]


def _holds_results(folder: Path) -> bool:
    return (folder / "particles.vtkhdf").exists() or any(folder.glob("checkpoint-*.h5"))
