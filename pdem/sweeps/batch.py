"""The batch script of a sweep: an array of jobs for Slurm."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from pdem.output.saving import save_file
from pdem.scaling.batch_scripts import seconds_of, template_text

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT_FILE = "sweep.sbatch"
"""Name of the script in the folder of a sweep."""


def write_batch_script(base: Path, jobs: int, time: str, tasks: int, threads: int, at_once: int) -> Path:
    """Write a batch script that computes all jobs of a sweep as one Slurm array; return its path.

    Parameters
    ----------
    base : Path
        Folder of the sweep, relative to the folder in which the script will be submitted.
    jobs : int
        Number of jobs.
    time : str
        Time limit of a job in the format of Slurm.
    tasks, threads : int
        Ranks per job, and threads per rank.
    at_once : int
        Largest number of jobs at a time; with 1, Slurm decides.

    Raises
    ------
    InputError
        If the time limit is not valid, or the script cannot be written.
    """
    seconds_of(time)
    values = {
        "name": re.sub(r"[^\w.+-]", "_", base.resolve().name), "last": str(jobs - 1),
        "at_once": f"%{at_once}" if at_once > 1 else "",
        "tasks": str(tasks), "threads": str(threads), "time": time, "folder": shlex.quote(str(base)),
    }  # fmt: skip
    path = base / SCRIPT_FILE
    save_file(path, template_text("sweep", values))
    path.chmod(0o755)
    return path
