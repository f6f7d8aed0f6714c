"""Check that ranks read the same files, on several nodes and in several working folders."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING

from pdem.case.input_files import contents_of, input_files
from pdem.foundation.errors import LaunchError
from pdem.output.shared_folder import are_in_one_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pdem.case.model import Case
    from pdem.output.hdf5.parallel_hdf5 import WritingRanks


def differences(found: Mapping[str, str], expected: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the keys of files with unexpected contents, and a verb that describes the difference."""
    return [
        (key, "has another content there than" if content else "cannot be read there, but")
        for key, content in found.items()
        if content != expected.get(key)
    ]


def check_same_files(ranks: WritingRanks, case: Case) -> None:
    """Refuse ranks of further working folders in which a file of the case differs from that of rank 0. Collective.

    Ranks in one folder read the same files; differences between nodes are checked once per node.

    Raises
    ------
    LaunchError
        On all ranks.
    """
    if are_in_one_folder(ranks):
        return
    files = input_files(case)
    found = contents_of(files)
    problem = None
    for key, what in differences(found, ranks.share(found))[:1]:
        where = f"rank {ranks.rank} on {platform.node()}, which was started in {Path.cwd()},"
        problem = f"{key} = {str(files[key])!r}, as seen by {where} {what} by rank 0"
    problem = ranks.first(problem)
    if problem is not None:
        raise LaunchError(f"{problem}: start all ranks in one folder, or name the case by its whole path")
