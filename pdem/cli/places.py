"""Where results are: what commands say of a path that leads to none."""

from __future__ import annotations

from difflib import SequenceMatcher
from pathlib import Path

_SHOWN = 5


def require_results(path: str | Path, command: str) -> None:
    """Refuse what can hold no results of a run, and name those that are near.

    Parameters
    ----------
    path : path
        An output folder, a snapshot file or a checkpoint, as the user gave it.
    command : str
        What the user asked for, for the remedy.

    Raises
    ------
    InputError
        If there is no such file or folder, or it is a case.
    """
    from pdem.foundation.errors import InputError

    path = Path(path)
    if path.suffix == ".toml" and path.is_file():
        raise InputError(_of_case(path, command))
    if not path.exists():
        what = "file" if path.suffix else "folder"
        raise InputError(f"{path}: no such {what}; {_nearest(path)}")


def _of_case(path: Path, command: str) -> str:
    from pdem.case.model import Case

    folder = Case.read(path).output.folder
    if _holds_results(Path(folder)):
        return f"{path}: is a case; its results are in {folder}: pdem {command} {folder}"
    return f"{path}: is a case, and {folder} has no results of it yet: pdem run {path}"


def _nearest(path: Path) -> str:
    parent = path.parent
    while not parent.is_dir():
        parent = parent.parent
    around = {one for base in (parent, Path("results")) for one in _folders_in(base)}
    if not around:
        return f"no folder in {parent} has results; pdem run makes one"
    order = sorted(map(str, around), key=lambda one: (-SequenceMatcher(None, one, str(path)).ratio(), one))
    rest = f" and {len(order) - _SHOWN} more" if len(order) > _SHOWN else ""
    return f"there {'is' if len(order) == 1 else 'are'} {', '.join(order[:_SHOWN])}{rest}"


def _folders_in(base: Path) -> list[Path]:
    if not base.is_dir():
        return []
    return [one for one in base.iterdir() if one.is_dir() and _holds_results(one)]


def _holds_results(folder: Path) -> bool:
    return (folder / "particles.vtkhdf").exists() or any(folder.glob("checkpoint-*.h5"))
