"""Check that the output folder is the same folder for all ranks: every rank writes its part of each file there."""

from __future__ import annotations

import os
import platform
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pdem.foundation.errors import InputError
from pdem.output.run_folder import unusable_folder_text
from pdem.output.saving import reason

if TYPE_CHECKING:
    from pdem.output.hdf5.parallel_hdf5 import WritingRanks

_LOOKS, _SECONDS_BETWEEN_LOOKS = 10, 0.2  # a network file system may be late


def require_shared(folder: Path | str, ranks: WritingRanks) -> None:
    """Require that all ranks can see and change files of rank 0 in a folder, or in its future location. Collective.

    Rank 0 writes a small file, all ranks look for it, and it is removed: nothing else in the folder changes. If rank 0
    cannot write there, other checks raise the error.

    Parameters
    ----------
    folder : path
        Folder for the output.
    ranks : WritingRanks
        All ranks that will write there.

    Raises
    ------
    InputError
        On all ranks, if this fails on any rank.
    """
    if are_in_one_folder(ranks) and ranks.on_one_node:
        return
    token = ranks.share(uuid.uuid4().hex)
    levels, problem = ranks.share(_write(Path(folder), token) if ranks.rank == 0 else None)
    if problem is not None:
        raise InputError(problem)
    if levels is None:
        return
    path = _place(Path(folder), levels, token)  # of this rank: working folders may differ
    problem, host = _problem_with(path, token), platform.node()
    problem = ranks.first(None if problem is None else f"rank {ranks.rank} on {host} {problem}")
    if ranks.rank == 0:
        with suppress(OSError):
            path.unlink()
    if problem is not None:
        where = ranks.share(f"what rank 0 on {host} writes into {path.parent}")
        raise InputError(
            f"output.folder = {str(folder)!r} is not one folder for all ranks: {problem} {where}; each rank writes its "
            "part of every file: name a folder that all nodes share, none on a disk of their own such as /tmp, or "
            "start all ranks in one folder"
        )


def are_in_one_folder(ranks: WritingRanks) -> bool:
    """Return whether all ranks have the working folder of rank 0; ``mpirun -wdir`` changes it. Collective."""
    mine = _working_folder(ranks.on_one_node)
    return ranks.first(None if mine == ranks.share(mine) else True) is None


def _working_folder(with_number: bool) -> tuple[str, int, int]:
    """Return the name of the working folder, and its identifier in the file system of this node."""
    try:
        status = Path.cwd().stat()
        return str(Path.cwd()), *((status.st_dev, status.st_ino) if with_number else (0, 0))
    except OSError:
        return "", 0, 0


def _place(folder: Path, levels: int, token: str) -> Path:
    """Return the path of the file in a folder, or `levels` levels above it."""
    return [folder.absolute(), *folder.absolute().parents][levels] / f".pdem-{token}.tmp"


def _write(folder: Path, token: str) -> tuple[int | None, str | None]:
    """Write a file into a folder or its nearest existing parent; return the number of levels up, or the problem."""
    places = [folder.absolute(), *folder.absolute().parents]
    levels = next(number for number, place in enumerate(places) if place.is_dir())
    try:
        _place(folder, levels, token).write_text(token, encoding="ascii")
    except PermissionError:
        return None, None
    except OSError as error:
        return None, unusable_folder_text(folder, reason(error))
    return levels, None


def _problem_with(path: Path, token: str) -> str | None:
    """Return the reason if this process cannot change a file of another process, None if it can."""
    for look in range(_LOOKS):
        if look:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        try:
            with open(os.open(path, os.O_RDWR), "rb") as file:
                if file.read() == token.encode("ascii"):
                    return None
        except FileNotFoundError:
            continue
        except OSError as error:
            return f"may not change ({reason(error)})"
    return "does not see"
