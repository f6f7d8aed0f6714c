"""Forces on single particles besides contacts and gravity: built-in forces of a case, or functions of users.

They act in half kicks of their own, next to the kicks by contacts: after them at the end of a step, before them at the
begin, both at the positions and the time between the two steps. If forces depend on positions and time alone this is
central differences (velocity Verlet). A half kick of a force that depends on the velocity is a step of the midpoint
rule, and the sequence of kicks is symmetric in time, hence of second order as well (G. Strang, SIAM J. Numer. Anal. 5
(1968) 506). A drag of coefficient c is stable up to c dt / m = 4, and accurate well below 1.

A force is a function of one particle, so that neither order nor ranks matter. The kernels are compiled for the forces
of a case (`pdem.numerics.kernel_factory`); a case without forces has none.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.numerics.geometry_kernels import sphere_mass
from pdem.numerics.kernel_factory import inlined_exactly, versioned_kernel
from pdem.numerics.kernels import inlined, prange
from pdem.numerics.portable.powers import power
from pdem.numerics.sums import LIMBS, add_exactly
from pdem.numerics.user_functions import compiled
from pdem.numerics.workers import share_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pdem.foundation.array_types import Floats, Int32s, Integers
    from pdem.numerics.vectors import Vector

MATERIAL, START, END, SHAPE, REGION, MIDDLE, OWN = 0, 1, 2, 3, 4, 12, 13
"""Indices of a row of parameters: material on which the force acts, or -1; begin and end of its time [s]; shape of the
region (`EVERYWHERE` and so on) and eight numbers of it; in 2D the z of its middle, which replaces the z of all centres,
in 3D NaN; numbers of the force itself."""

PARAMETERS = 20
"""Length of a row of parameters."""

EVERYWHERE, BOX, CYLINDER, BALL = range(4)
"""Shapes of regions: numbers of a box are its corners; of a cylinder its centre, its direction, its radius and half its
length; of a ball its centre and its radius."""

NONE_BAD = np.iinfo(np.int64).max
"""Instead of an id, if all forces are finite."""


@dataclass(frozen=True)
class OwnForce:
    """One force.

    Attributes
    ----------
    name : str
        For messages.
    function : callable
        ``function(time, position, velocity, radius, mass, id)`` returns the force (3) [N]; built-in functions have a
        row of parameters as a further argument.
    version : str
        Digest of the function.
    parameters : tuple of float
        The row of parameters, see `MATERIAL`.
    takes_parameters : bool
        Whether the function has the row as an argument.
    """

    name: str
    function: Callable[..., Any]
    version: str
    parameters: tuple[float, ...]
    takes_parameters: bool = False


class ForcedColumns(NamedTuple):
    """Columns of particles that forces read, and columns that they change.

    Attributes
    ----------
    id, material, radius : (n,) arrays
        Radius in m.
    position, velocity, force : (n, 3) arrays
        In m, m/s, N. Kicks write ``velocity``, or ``force`` of particles that carriers move.
    """

    id: Integers
    material: Int32s
    radius: Floats
    position: Floats
    velocity: Floats
    force: Floats


class ForceConstants(NamedTuple):
    """Constants that all particles share.

    Attributes
    ----------
    density : (M,) array
        Density by material [kg/m^3].
    free : (6,) array
        1 or 0 for each degree of freedom, those of translation first.
    table : (F, `PARAMETERS`) array
        Parameters of all forces.
    """

    density: Floats
    free: Floats
    table: Floats


def constant_force(
    time: float, position: Vector, velocity: Vector, radius: float, mass: float, id: int, p: Any
) -> Vector:
    """Return the sum of a force [N] and the weight by an acceleration [m/s^2], which are the parameters."""
    return p[OWN] + mass * p[OWN + 3], p[OWN + 1] + mass * p[OWN + 4], p[OWN + 2] + mass * p[OWN + 5]


def drag_by_speed(
    time: float, position: Vector, velocity: Vector, radius: float, mass: float, id: int, p: Any
) -> Vector:
    """Return ``-(linear + quadratic |u|) u`` [N]; parameters: fluid velocity (3) [m/s], kg/s, kg/m.

    u is the velocity relative to the fluid.
    """
    x, y, z = velocity[0] - p[OWN], velocity[1] - p[OWN + 1], velocity[2] - p[OWN + 2]
    c = p[OWN + 3] + p[OWN + 4] * math.sqrt(x * x + y * y + z * z)
    return -c * x, -c * y, -c * z


def drag_of_fluid(
    time: float, position: Vector, velocity: Vector, radius: float, mass: float, id: int, p: Any
) -> Vector:
    """Return the drag of a sphere in a fluid [N] by the law of `sphere_drag`.

    Parameters are the velocity of the fluid (3) [m/s], its viscosity [Pa s] and its density [kg/m^3].
    """
    x, y, z = velocity[0] - p[OWN], velocity[1] - p[OWN + 1], velocity[2] - p[OWN + 2]
    c = sphere_drag(radius, math.sqrt(x * x + y * y + z * z), p[OWN + 3], p[OWN + 4])
    return -c * x, -c * y, -c * z


def sphere_drag(radius: float, speed: float, viscosity: float, density: float) -> float:
    """Return drag over speed [kg/s] of a sphere in a fluid.

    6 pi mu R (1 + 0.15 Re^0.687) up to a Reynolds number Re = 2 R u rho / mu of 1000 (L. Schiller, A. Naumann, Z. VDI
    77 (1933) 318), above it the drag coefficient 0.44. Without a density (0) it is the law of Stokes.
    """
    reynolds = 2.0 * radius * speed * density / viscosity
    if reynolds > 1000.0:
        return 0.22 * density * math.pi * radius * radius * speed
    return 6.0 * math.pi * viscosity * radius * (1.0 + 0.15 * power(reynolds, 0.687))


def within_region(position: Vector, p: Any) -> bool:
    """Return whether a point is in the region of a row of parameters, boundaries included."""
    x, y, z = position[0], position[1], position[2] if math.isnan(p[MIDDLE]) else p[MIDDLE]
    if p[SHAPE] == BOX:
        return bool(
            (p[REGION] <= x <= p[REGION + 3])
            and (p[REGION + 1] <= y <= p[REGION + 4])
            and (p[REGION + 2] <= z <= p[REGION + 5])
        )
    if p[SHAPE] == EVERYWHERE:
        return True
    x, y, z = x - p[REGION], y - p[REGION + 1], z - p[REGION + 2]
    squared = x * x + y * y + z * z
    if p[SHAPE] == BALL:
        return bool(squared <= p[REGION + 3] * p[REGION + 3])
    along = x * p[REGION + 3] + y * p[REGION + 4] + z * p[REGION + 5]
    return bool(abs(along) <= p[REGION + 7] and squared - along * along <= p[REGION + 6] * p[REGION + 6])


class OwnForces:
    """All forces of a run, and their kernels.

    Parameters
    ----------
    forces : sequence of OwnForce
        Forces in the order in which they are added up.

    Attributes
    ----------
    forces : tuple of OwnForce
        The forces.
    table : (F, `PARAMETERS`) array
        Parameters of the forces.
    """

    def __init__(self, forces: tuple[OwnForce, ...]) -> None:
        self.forces = forces
        self.table = np.array([one.parameters for one in forces]).reshape(-1, PARAMETERS)
        versions = "_".join(f"{one.version}{'p' * one.takes_parameters}" for one in forces)
        self._version = hashlib.blake2b(versions.encode(), digest_size=8).hexdigest()
        self._functions = tuple((one.function, one.takes_parameters) for one in forces)

    @property
    def kick(self) -> Any:
        """The kernel of half a kick, see `kick_kernel`."""
        return kick_kernel(self._functions, self._version)

    @property
    def add(self) -> Any:
        """The kernel that adds forces to sums, see `adding_kernel`."""
        return adding_kernel(self._functions, self._version)


def total_of(functions: tuple[tuple[Callable[..., Any], bool], ...]) -> Any:
    """Make the function that adds up the forces on a particle, in their order."""
    total: Any = None
    for row, (function, takes_parameters) in enumerate(functions):
        total = _with(total, compiled(function), row, takes_parameters=takes_parameters)
    return total


def _with(before: Any, force: Any, row: int, *, takes_parameters: bool) -> Any:
    """Make the function that adds one force to the sum of the forces before it."""
    within, first = compiled(within_region), before is None

    @inlined_exactly
    def total(
        time: float, x: Vector, v: Vector, radius: float, mass: float, id: int, material: int,
        table: Floats,
    ) -> Vector:  # fmt: skip
        sx, sy, sz = 0.0, 0.0, 0.0
        if not first:
            sx, sy, sz = before(time, x, v, radius, mass, id, material, table)
        p = table[row]
        if (p[MATERIAL] < 0.0 or p[MATERIAL] == material) and p[START] <= time < p[END] and within(x, p):
            if takes_parameters:
                fx, fy, fz = force(time, x, v, radius, mass, id, p)
            else:
                fx, fy, fz = force(time, x, v, radius, mass, id)
            sx, sy, sz = sx + fx, sy + fy, sz + fz
        return sx, sy, sz

    return total


@inlined
def _row_at(place: int, rows: Int32s) -> int:
    """Return a row of a list of rows; without a list the number itself."""
    return rows[place] if len(rows) > 0 else place


def _over_particles(act: Any, version: str) -> Any:
    """Make the kernel that applies a function to particles; it writes the lowest id with a force that is not finite."""

    @versioned_kernel(version, threaded=True)
    def act_on_all(
        time: float, half: float, count: int, rows: Int32s, own: ForcedColumns,
        constants: ForceConstants, limbs: Integers, bad: Integers,
    ) -> None:  # fmt: skip
        workers = len(bad)
        for worker in prange(workers):
            lowest, (first, last) = bad[worker], share_of(worker, workers, count)
            for place in range(first, last):
                lowest = act(
                    _row_at(place, rows), time, half, ForcedColumns(*own), ForceConstants(*constants),
                    limbs[worker], lowest,
                )  # fmt: skip
            bad[worker] = lowest

    return act_on_all


@cache
def kick_kernel(functions: tuple[tuple[Callable[..., Any], bool], ...], version: str) -> Any:
    """Make the kernel of half a kick.

    Its arguments are `time` and `half` [s]; the number of particles; their rows, empty for the first rows;
    `ForcedColumns` and `ForceConstants` as plain tuples; `limbs` (workers, LIMBS), exact sums to which the work [J] of
    each worker is added; and `bad` (workers,), to which the lowest id of a particle with a force that is not finite is
    written. Such a particle does not change.
    """
    total = total_of(functions)

    @inlined_exactly
    def kicked(
        p: int, time: float, half: float, own: ForcedColumns, constants: ForceConstants
    ) -> tuple[float, float, float, float, bool]:
        material, radius = own.material[p], own.radius[p]
        mass, free = sphere_mass(constants.density[material], radius), constants.free
        x = own.position[p, 0], own.position[p, 1], own.position[p, 2]
        vx, vy, vz = own.velocity[p, 0], own.velocity[p, 1], own.velocity[p, 2]
        ax, ay, az = total(time, x, (vx, vy, vz), radius, mass, own.id[p], material, constants.table)
        h = 0.5 * half / mass
        middle = vx + free[0] * h * ax, vy + free[1] * h * ay, vz + free[2] * h * az
        bx, by, bz = total(time, x, middle, radius, mass, own.id[p], material, constants.table)
        fine = math.isfinite(ax + ay + az) and math.isfinite(bx + by + bz)
        h = half / mass
        ux, uy, uz = vx + free[0] * h * bx, vy + free[1] * h * by, vz + free[2] * h * bz
        work = 0.5 * mass * ((ux - vx) * (ux + vx) + (uy - vy) * (uy + vy) + (uz - vz) * (uz + vz))
        return ux, uy, uz, work, fine

    @inlined_exactly
    def kick_particle(
        p: int, time: float, half: float, own: ForcedColumns, constants: ForceConstants,
        limbs: Integers, bad: int,
    ) -> int:  # fmt: skip
        ux, uy, uz, work, fine = kicked(p, time, half, own, constants)
        if not fine:
            return min(bad, own.id[p])
        own.velocity[p, 0], own.velocity[p, 1], own.velocity[p, 2] = ux, uy, uz
        add_exactly(limbs, work)
        return bad

    return _over_particles(kick_particle, f"kick_{version}")


@cache
def adding_kernel(functions: tuple[tuple[Callable[..., Any], bool], ...], version: str) -> Any:
    """Make the kernel that adds the forces to the column ``force`` of some particles, which carriers move.

    It has the arguments of `kick_kernel`, with the time step [s] instead of `half`; the work is the work of a whole
    step, with the present velocity, which belongs to its middle.
    """
    total = total_of(functions)

    @inlined_exactly
    def add_particle(
        p: int, time: float, dt: float, own: ForcedColumns, constants: ForceConstants,
        limbs: Integers, bad: int,
    ) -> int:  # fmt: skip
        material, radius = own.material[p], own.radius[p]
        mass = sphere_mass(constants.density[material], radius)
        x = own.position[p, 0], own.position[p, 1], own.position[p, 2]
        v = own.velocity[p, 0], own.velocity[p, 1], own.velocity[p, 2]
        fx, fy, fz = total(time, x, v, radius, mass, own.id[p], material, constants.table)
        if not math.isfinite(fx + fy + fz):
            return min(bad, own.id[p])
        own.force[p, 0], own.force[p, 1], own.force[p, 2] = (
            own.force[p, 0] + fx, own.force[p, 1] + fy, own.force[p, 2] + fz
        )  # fmt: skip
        add_exactly(limbs, dt * (fx * v[0] + fy * v[1] + fz * v[2]))
        return bad

    return _over_particles(add_particle, f"add_{version}")


def new_limbs(workers: int) -> Integers:
    """Return sums of work with the value 0, one for each worker."""
    return np.zeros((workers, LIMBS), np.int64)
