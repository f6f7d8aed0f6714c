"""Functions for the studies of the double hierarchy paper: its cases, recorded runs, Hertz's law."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.explain.example_cases import write_example
from pdem.case.model import Case
from pdem.case.wall_files import read_walls
from pdem.run.simulation import Simulation
from pdem.verification.study import StudyFinding

if TYPE_CHECKING:
    from pdem.engine.state import Groups
    from pdem.foundation.array_types import Floats

METHODS = ("h2", "signed")
"""Resolutions of wall contacts with which every benchmark is run."""

GRAVITY = 9.81
RADIUS = 0.3
"""Radius of the spheres of sect. 6.1 [m]."""

MASS = 100.0 * 4.0 / 3.0 * math.pi * RADIUS**3
"""Mass of the free spheres of sect. 6.1 [kg]."""

_COLUMNS = ("position", "velocity", "angular_velocity", "force")


@dataclass
class Track:
    """Recorded motion of particles, by time and id.

    Attributes
    ----------
    time : (t,) array
        Time in s.
    position, velocity, angular_velocity, force : (t, n, 3) arrays
        Columns in m, m/s, rad/s and N, without gravity.
    """

    time: Floats
    position: Floats
    velocity: Floats
    angular_velocity: Floats
    force: Floats


def example(name: str, *settings: str, threads: int = 1, state: Groups | None = None) -> Simulation:
    """Return a simulation of an example of ``pdem new``, with settings as for ``pdem run --set``.

    It begins with the particles of the example, or with the `state` of an earlier simulation.
    """
    with tempfile.TemporaryDirectory() as folder:
        case = Case.read(next(iter(write_example(name, Path(folder)))))
        for setting in settings:
            case.override(setting)
        return Simulation(case, threads=threads, state=state, meshes=read_walls(case))


def follow(simulation: Simulation, end: float, every: int = 1) -> Track:
    """Run until a time [s] and return the motion of the particles, sampled every few steps.

    Parameters
    ----------
    simulation : Simulation
        A simulation of few particles, on one rank.
    end : float
        Simulated time [s].
    every : int
        Steps between samples.
    """
    times: list[float] = []
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    step = simulation.system.constants.time_step.dt
    samples = max(round((end - simulation.time) / step) // every, 0)
    for sample in range(samples + 1):
        if sample:
            simulation.advance(every)
        particles = simulation.gather()
        assert particles is not None
        times.append(simulation.time)
        for name, column in columns.items():
            column.append(particles[name])
    return Track(np.array(times), *(np.array(columns[name]) for name in _COLUMNS))


def hertz_factor(youngs_modulus: float, wall_modulus: float = math.inf, poisson_ratio: float = 0.2) -> float:
    """Return k of the force k overlap^1.5 of a sphere of `RADIUS` on a wall of its Poisson's ratio [N/m^1.5]."""
    compliance = (1.0 - poisson_ratio**2) * (1.0 / youngs_modulus + 1.0 / wall_modulus)
    return 4.0 / 3.0 / compliance * math.sqrt(RADIUS)


def largest_difference(name: str, values: Any, limit: float) -> StudyFinding:
    """Return the largest difference, along the last axis, between values that should be equal, and its limit."""
    values = np.asarray(values)
    return StudyFinding(name, float(np.ptp(values, axis=-1).max()), limit, 0.0, True)
