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
    """Write a batch script that computes all jobs of a sweep as one array; return its path.

    Parameters
    ----------
    base : Path
        Folder of the sweep, relative to that in which the script will be submitted.
    jobs : int
        How many there are.
    time : str
        Longest time of a job as Slurm reads it.
    tasks, threads : int
        Ranks of each job, and threads of each rank.
    at_once : int
        How many jobs run at a time; 1 leaves it to Slurm.

    Raises
    ------
    InputError
        If the time is none, or the script cannot be written.
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
