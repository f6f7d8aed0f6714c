"""The start of a benchmark case as a problem for any DEM code, without parts of pdem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.benchmark.cases import SkipCase
from pdem.case.wall_motions import motion_of
from pdem.contact.law.contact_law import ContactLaw
from pdem.simulation.setup import constants_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.benchmark.cases import Start

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Law:
    """Coefficients of Hertz and Mindlin between two bodies, as in `pdem.contact.law.pair_table`.

    Attributes
    ----------
    stiffness : float
        2 E* [Pa]: normal stiffness over the contact radius.
    tangential_ratio : float
        Tangential over normal stiffness.
    damping : float
        gamma in the damping coefficient ``2 gamma sqrt(mass * normal stiffness)``.
    friction : float
        Coulomb's coefficient.
    """

    stiffness: float
    tangential_ratio: float
    damping: float
    friction: float


@dataclass(frozen=True)
class Floor:
    """A fixed horizontal plane below all particles: its height [m] and the law of its contacts."""

    height: float
    law: Law


@dataclass(frozen=True)
class Problem:
    """Spheres of one material in a box at time 0.

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
    floor : Floor or None
        The only wall.
    particles : dict of ndarray
        ``id``, ``radius`` [m], ``mass`` [kg], ``position``, ``velocity``, ``angular_velocity``.
    """

    lower: Floats
    upper: Floats
    periodic: tuple[bool, bool, bool]
    gravity: Floats
    step: float
    law: Law
    floor: Floor | None
    particles: dict[str, NDArray[Any]]

    @property
    def count(self) -> int:
        """Number of particles."""
        return len(self.particles["id"])

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
        If it has more than spheres of one material, Hertz and Mindlin, and a floor.
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
    particles["mass"] = constants.density[grain] * 4.0 / 3.0 * np.pi * particles["radius"] ** 3
    return Problem(
        np.array(case.domain.lower, np.float64), np.array(case.domain.upper, np.float64),
        case.domain.periodic, constants.gravity, constants.step,
        _law(constants.law, constants.table[grain * count + grain]),
        _floor(start, grain, constants.law, constants.table), particles,
    )  # fmt: skip


def _law(law: ContactLaw, row: Floats) -> Law:
    normals = [normal.model for normal, _ in law.elastics]
    if normals != ["hertz"] or law.resistances or law.adhesions or law.has("slips"):
        raise SkipCase(
            "peers are given Hertz and Mindlin's law with one friction, without rolling friction or adhesion only"
        )
    values = dict(zip(law.coefficients, row.tolist(), strict=True))
    names = ("modulus", "tangential.ratio", "damping", "tangential.friction")
    return Law(*(values.get(name, 0.0) for name in names))


def _floor(start: Start, grain: int, law: ContactLaw, table: Floats) -> Floor | None:
    if not start.meshes:
        return None
    walls = start.case.walls
    heights = np.unique(start.meshes[0].vertices[:, 2])
    moves = any(
        motion_of(wall, start.case.motions, start.case.directory).moves
        or wall.servo
        or wall.body
        or wall.surface
        for wall in walls
    )
    if len(walls) > 1 or len(heights) > 1 or moves:
        raise SkipCase("peers are given no walls but one floor; meshes and moving walls are beyond them")
    count = len(start.case.materials)
    return Floor(
        float(heights[0]), _law(law, table[grain * count + start.case.material_index(walls[0].material)])
    )
