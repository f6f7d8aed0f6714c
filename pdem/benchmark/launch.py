"""Launch of measured runs: repeats of all combinations of ranks and threads."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pdem.engine.ranks import launch_layout
from pdem.foundation.errors import InputError, LaunchError, how_to_install
from pdem.foundation.machine import available_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

RANKS_PLACEHOLDER = "{ranks}"
"""Placeholder for the number of ranks in a launcher."""

_OUTPUT_LINES = 15


def default_launcher() -> str:
    """Return ``mpirun -n {ranks}`` with the mpirun of this Python environment, otherwise the first on the path.

    Raises
    ------
    LaunchError
        If there is no mpirun.
    """
    beside = Path(sys.executable).with_name("mpirun")
    found = str(beside) if beside.exists() else shutil.which("mpirun")
    if found is None:
        raise LaunchError(
            f"there is no mpirun beside python or on the path: {how_to_install('mpi')}, "
            "or say how ranks are started with --launcher 'srun -n {ranks}'"
        )
    return f"{shlex.quote(found)} -n {RANKS_PLACEHOLDER}"


def check_launcher(launcher: str) -> list[str]:
    """Return the command words of a launcher.

    Raises
    ------
    InputError
        If the launcher has no placeholder for the number of ranks, or its quotes do not match.
    LaunchError
        If the program does not exist.
    """
    try:
        words = shlex.split(launcher)
    except ValueError as error:
        raise InputError(f"--launcher {launcher!r}: {error}") from None
    if not any(RANKS_PLACEHOLDER in word for word in words):
        raise InputError(
            f"--launcher {launcher!r} does not say where the number of ranks goes; "
            f"write {RANKS_PLACEHOLDER} there, as in 'mpirun -n {RANKS_PLACEHOLDER}'"
        )
    if shutil.which(words[0]) is None:
        raise LaunchError(f"--launcher {launcher!r}: there is no program {words[0]}; name another one")
    return words


def require_no_launcher() -> None:
    """Check that no launcher started this process, because it starts the ranks itself.

    Raises
    ------
    InputError
        If this process is part of several ranks.
    """
    ranks = launch_layout()[1]
    if ranks > 1:
        raise InputError(f"pdem scaling starts its ranks itself, and was started on {ranks}: leave mpirun away")


def combinations(ranks: Sequence[int], threads: Sequence[int], repeats: int) -> Iterator[tuple[int, int, int]]:
    """Yield (ranks, threads, repeat) of all runs: all combinations once, then all combinations again."""
    for repeat in range(repeats):
        for count in ranks:
            for thread_count in threads:
                yield count, thread_count, repeat


def oversubscription_warning(ranks: Sequence[int], threads: Sequence[int]) -> str | None:
    """Return a warning if the largest combination has more threads than this node has cores, otherwise None."""
    most, cores = max(ranks) * max(threads), available_cores()
    if most <= cores:
        return None
    return (
        f"{max(ranks)} ranks x {max(threads)} threads share {cores} cores of this node: "
        "unless the launcher uses more nodes, the times say nothing about scaling"
    )


def run_on_ranks(
    words: Sequence[str], ranks: int, threads: int, arguments: Sequence[str],
    start: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run,
) -> None:  # fmt: skip
    """Start ranks with a command of pdem, and wait for their end.

    Parameters
    ----------
    words : sequence of str
        Words of the launcher.
    ranks, threads : int
        Number of ranks, and number of threads per rank.
    arguments : sequence of str
        Arguments of ``pdem``.
    start : callable
        `subprocess.run`, or a replacement in tests.

    Raises
    ------
    LaunchError
        If the run fails.
    """
    command = [word.replace(RANKS_PLACEHOLDER, str(ranks)) for word in words]
    command += [sys.executable, "-m", "pdem", *arguments, "--threads", str(threads)]
    environment = {**os.environ, "PDEM_THREADS": str(threads), "NUMBA_NUM_THREADS": str(threads)}
    done = start(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        output = "\n".join((done.stdout + done.stderr).strip().splitlines()[-_OUTPUT_LINES:])
        raise LaunchError(
            f"the run on {ranks} ranks x {threads} threads ended with exit code {done.returncode}; "
            f"{shlex.join(command)} said:\n{output}"
        )
