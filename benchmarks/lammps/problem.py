"""The start of a benchmark case as a problem for any DEM code, without parts of pdem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.lammps.laws import law_of
from benchmarks.lammps.walls import wall_of
from pdem.benchmark.cases import SkipCase
from pdem.case.groups.shapes import shapes_of
from pdem.engine.setup import constants_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.lammps.laws import Law
    from benchmarks.lammps.walls import Drum, Floor, MeshedWall
    from pdem.benchmark.cases import Start
    from pdem.case.model import Case
    from pdem.foundation.array_types import Floats, Integers
    from pdem.particles.clusters.shapes import ClusterShape


@dataclass(frozen=True)
class Problem:
    """Spheres of one material, single or in rigid clusters, in a box at time 0.

    Attributes
    ----------
    lower, upper, gravity : (3,) arrays
        Corners of the box [m], acceleration [m/s^2].
    periodic : tuple of 3 bool
        Periodic axes.
    step : float
        Time step [s].
    law : Law
        Law between spheres.
    wall : Floor, Drum, MeshedWall or None
        The only wall.
    particles : dict of ndarray
        ``id``, ``radius`` [m], ``mass`` [kg], ``position``, ``velocity``, ``angular_velocity``, ``cluster``: 0, or the
        same positive number for all spheres of a rigid cluster, with masses that add up to that of the cluster;
        ``image`` (3): periods by which these spheres are shifted against each other.
    density : float
        Density of the spheres [kg/m^3].
    template : (m, 4) array or None
        Centres and radii of the spheres of a cluster [m]; None without clusters.
    """

    lower: Floats
    upper: Floats
    periodic: tuple[bool, bool, bool]
    gravity: Floats
    step: float
    law: Law
    wall: Floor | Drum | MeshedWall | None
    particles: dict[str, NDArray[Any]]
    density: float
    template: Floats | None

    @property
    def count(self) -> int:
        """Number of particles."""
        return len(self.particles["id"])

    @property
    def has_clusters(self) -> bool:
        """Whether there are rigid clusters."""
        return bool((self.particles["cluster"] > 0).any())

    @property
    def size_ratio(self) -> float:
        """Largest over smallest radius."""
        radius = self.particles["radius"]
        return float(radius.max() / radius.min())


def problem_of(start: Start) -> Problem:
    """Return the problem of a start, without histories of contacts.

    Parameters
    ----------
    start : Start
        The case, on rank 0.

    Raises
    ------
    SkipCase
        If the case contains anything but spheres of one material, single or in clusters, Hertz and Mindlin, and one
        wall.
    """
    case, constants = start.case, constants_of(start.case)
    columns = start.particles if start.state is None else start.state["particles"]
    if columns is None or len(columns["id"]) == 0:
        raise SkipCase("there are no particles to compare")
    materials = np.unique(columns["material"])
    if len(materials) > 1 or case.domain.dimension == 2:
        raise SkipCase("peers are given spheres of one material in three dimensions only")
    grain = int(materials[0])
    count = len(constants.density)
    names = ("id", "radius", "position", "velocity", "angular_velocity")
    particles = {name: np.array(columns[name]) for name in names}
    particles["cluster"] = np.array(columns.get("cluster", np.zeros(len(columns["id"]), np.int64)))
    particles["mass"] = constants.density[grain] * 4.0 / 3.0 * np.pi * particles["radius"] ** 3
    shape = _only_shape(case)
    particles["mass"][particles["cluster"] > 0] *= 1.0 if shape is None else shape.mass_share
    particles["image"] = _images(particles, constants.period)
    return Problem(
        np.array(case.domain.lower, np.float64), np.array(case.domain.upper, np.float64),
        case.domain.periodic, constants.gravity, constants.time_step.dt,
        law_of(constants.law, constants.table[grain * count + grain]),
        wall_of(start, _law_of_wall(start, grain), constants.time_step.dt) if start.meshes else None, particles,
        float(constants.density[grain]), _template(case),
    )  # fmt: skip


def _law_of_wall(start: Start, grain: int) -> Law:
    """Return the law of contacts with the first wall."""
    case, constants = start.case, constants_of(start.case)
    row = grain * len(constants.density) + case.material_index(case.walls[0].material)
    return law_of(constants.law, constants.table[row])


def _images(particles: dict[str, NDArray[Any]], period: Floats) -> Integers:
    """Return the periods (n, 3) that shift each sphere of a cluster to the first one; 0 for single spheres."""
    _, first, cluster = np.unique(particles["cluster"], return_index=True, return_inverse=True)
    apart = particles["position"] - particles["position"][first[cluster]]
    turns = np.zeros(apart.shape, np.int64)
    for axis in np.flatnonzero(period > 0.0):
        turns[:, axis] = -np.rint(apart[:, axis] / period[axis])
    turns[particles["cluster"] == 0] = 0
    return turns


def _only_shape(case: Case) -> ClusterShape | None:
    shapes = list(shapes_of(case).values())
    if len(shapes) > 1:
        raise SkipCase("peers are given clusters of one shape only")
    return shapes[0] if shapes else None


def _template(case: Case) -> Floats | None:
    shape = _only_shape(case)
    return None if shape is None else np.column_stack((shape.centre, shape.radius))
