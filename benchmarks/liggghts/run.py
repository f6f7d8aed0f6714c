"""A run of LIGGGHTS on one problem: its process receives commands one by one."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.lammps.run import SKINS
from benchmarks.liggghts.commands import INSERTION, commands_of, skin_command, write_files
from pdem.benchmark.cases import SkipCase
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.lammps.problem import Problem

PROGRAM = "liggghts"

SETTLING = 3000
"""Steps in which inserted clusters settle, before the measurement."""

TRIAL = 2e6
"""Particle-steps of one trial of a skin, with at least `FEWEST` steps."""
FEWEST = 20

_DONE = "Loop time of"
_BUILDS = "Neighbor list builds ="


def require_liggghts() -> None:
    """Check that LIGGGHTS is installed.

    Raises
    ------
    InputError
        If it is not installed.
    """
    if shutil.which(PROGRAM) is None:
        raise InputError(f"--peer liggghts needs the program {PROGRAM}: apt install {PROGRAM} (Debian, Ubuntu)")


class LiggghtsRun:
    """LIGGGHTS on one problem.

    Use it as a context manager: the process of LIGGGHTS ends with it.

    Parameters
    ----------
    problem : Problem
        Initial state.

    Attributes
    ----------
    style, version, settings : str
        Contact style, version and settings; available after `tune`.
    tried : dict of float
        Particle-steps per second of core time in the trials, by settings.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, self.style = problem, "hertz tangential history"
        self.version = self.settings = ""
        self.tried: dict[str, float] = {}
        self._folder = Path(tempfile.mkdtemp(prefix="pdem-liggghts-"))
        self._builds = 0
        # the program's MPI would bind it to the first core, on which pdem may run
        environment = os.environ | {"OMPI_MCA_hwloc_base_binding_policy": "none"}
        ours, theirs = os.openpty()  # to a terminal it writes line by line
        self._process = subprocess.Popen(
            [PROGRAM, "-log", "none"], stdin=subprocess.PIPE, stdout=theirs, stderr=subprocess.DEVNULL, text=True,
            cwd=self._folder, env=environment,
        )  # fmt: skip
        os.close(theirs)
        self._answers = os.fdopen(ours, encoding="ascii", errors="replace")

    def __enter__(self) -> LiggghtsRun:
        """Return the run itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the process, and remove its files."""
        self._process.kill()
        self._process.communicate()
        self._answers.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def tune(self) -> None:
        """Begin, let clusters settle, and adopt the best of several skins.

        Raises
        ------
        SkipCase
            If LIGGGHTS stops with an error, or has no room for all clusters; also from `begin` and `run`.
        """
        smallest = 2.0 * float(self.problem.particles["radius"].min())
        write_files(self.problem, self._folder)
        self._send(*commands_of(self.problem, SKINS[0] * smallest, self._folder))
        self.run(1)
        if self.problem.has_clusters:
            self._send(f"unfix {INSERTION}")
            self.run(SETTLING)
        for fraction in SKINS:
            self._send(skin_command(fraction * smallest))
            self.run(FEWEST)
            steps = max(FEWEST, int(TRIAL / self.problem.count))
            core = self.run(steps)[1]
            self.tried[skin_command(fraction * smallest)] = self.problem.count * steps / max(core, 1e-9)
        self.settings = max(self.tried, key=lambda one: self.tried[one])
        self._send(self.settings)

    def begin(self, steps: int = 0) -> None:
        """Run untimed steps."""
        self.run(steps)
        self._builds = 0

    def run(self, steps: int) -> tuple[float, float]:
        """Run steps; return clock time and core time [s]."""
        clock, core = time.perf_counter(), self._core_seconds()
        self._send(f"run {steps}")
        found = self._wait(_DONE)
        atoms = int(found.split(" with ")[1].split()[0])
        if atoms != self.problem.count:
            raise SkipCase(f"LIGGGHTS has {atoms} spheres in place of {self.problem.count}")
        took = time.perf_counter() - clock, self._core_seconds() - core
        self._builds += int(self._wait(_BUILDS).split("=")[1])
        return took

    def rebuilds(self) -> float:
        """Return the number of neighbour list builds in the timed parts."""
        return float(self._builds)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return ``velocity``, cluster by cluster; all clusters have the same shape."""
        body = "id_multisphere" if self.problem.has_clusters else "id"
        self._send(f"dump last all custom 1 last.dump {body} id vx vy vz")
        self.run(0)
        table = np.loadtxt(self._folder / "last.dump", skiprows=9)
        return {"velocity": table[np.lexsort((table[:, 1], table[:, 0])), 2:5]}

    def _send(self, *commands: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("".join(f"{one}\n" for one in commands))
            self._process.stdin.flush()
        except BrokenPipeError:
            raise SkipCase("LIGGGHTS ended its process") from None

    def _wait(self, begin: str) -> str:
        """Return the next line that begins with `begin`."""
        while line := self._line():
            if line.startswith("LIGGGHTS (Version"):
                self.version = line.split("LIGGGHTS-PUBLIC")[-1].split(",")[0].strip()
            if line.startswith("ERROR"):
                raise SkipCase(f"LIGGGHTS stopped: {line.strip()}")
            if line.startswith(begin):
                return line
        raise SkipCase("LIGGGHTS ended its process without a word")

    def _line(self) -> str:
        """Return the next line of the output; empty if the process has ended."""
        try:
            return self._answers.readline()
        except OSError:  # the terminal was closed
            return ""

    def _core_seconds(self) -> float:
        """Return the core time of the process so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))
