"""Whether ranks that were started in different folders find the same files there."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING

from pdem.case.input_files import content_of_file, input_files
from pdem.foundation.errors import LaunchError
from pdem.output.shared_folder import are_in_one_folder

if TYPE_CHECKING:
    from pdem.case.model import Case
    from pdem.output.parallel_hdf5 import Ranks


def check_same_files(ranks: Ranks, case: Case) -> None:
    """Refuse ranks of other working folders in which a file that the case names is another than for rank 0. Collective.

    Ranks in one folder read the same files; whether nodes see the same is asked for each node, not for each rank.

    Raises
    ------
    LaunchError
        On all ranks.
    """
    if are_in_one_folder(ranks):
        return
    files = input_files(case)
    found = {key: content_of_file(path) for key, path in files.items()}
    expected = ranks.share(found)
    wrong = next((key for key, content in found.items() if content != expected.get(key)), None)
    problem = None
    if wrong is not None:
        what = "has another content there than" if found[wrong] else "cannot be read there, but"
        where = f"rank {ranks.rank} on {platform.node()}, which was started in {Path.cwd()},"
        problem = f"{wrong} = {str(files[wrong])!r}, as seen by {where} {what} by rank 0"
    problem = ranks.first(problem)
    if problem is not None:
        raise LaunchError(f"{problem}: start all ranks in one folder, or name the case by its whole path")
