"""Continuum fields of snapshots on a grid, by coarse graining (Goldhirsch, Granular Matter 12 (2010) 239).

With a function phi of the distance whose integral is 1, the density is the sum of m phi, the momentum that of m v phi.
The stress of contacts is the sum of f b^T times the mean of phi along the branch b, pressure being positive; contacts
with walls count with the branch to the place on the wall, and give a force per volume (Weinhart, Thornton, Luding,
Bokhove, Granular Matter 14 (2012) 289). The kinetic stress is that of velocities less the mean one of their cell.

Here phi is taken at the centres of cells and divided by its sum over them, over all cells that a lattice without end
would have. So sums over cells are those over particles to rounding: mass, momentum, forces times branches, whatever the
width; and parts by material add up to the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.foundation.arguments import shown
from pdem.foundation.errors import InputError, name_hint
from pdem.output.images import write_image
from pdem.simulation.bodies import sphere_masses

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.simulation.results import Snapshot

    Floats = NDArray[np.float64]

GAUSS_POINTS = 5
"""Places along each half of a branch at which phi is taken."""

MOST_WEIGHTS = 1 << 22
"""Weights that are computed at a time."""

KERNELS: Mapping[str, tuple[float, Callable[[Any], Any]]] = {
    "gaussian": (3.0, lambda x: np.exp(-0.5 * x * x)),
    "lucy": (2.0, lambda x: (1.0 + 1.5 * x) * (1.0 - 0.5 * x) ** 3),
}
"""Functions of the distance over the width, not normalised, and the distance from which on each is 0."""


class Grid(NamedTuple):
    """Cells, and how points are spread over them.

    Attributes
    ----------
    lower, size : (3,) arrays
        Lower corner of the first cell, and lengths of a cell [m].
    cells : (3,) int64 array
        Numbers of cells.
    wraps : (3,) bool array
        Axes along which the last cell is followed by the first.
    period : (3,) array
        Length of the other periodic axes, 0 on all else [m].
    width : float
        Of phi [m].
    kernel : str
        Name of phi, one of `KERNELS`.
    dimension : {2, 3}
        In 2D z does not count.
    """

    lower: Floats
    size: Floats
    cells: NDArray[np.int64]
    wraps: NDArray[np.bool_]
    period: Floats
    width: float
    kernel: str
    dimension: int

    @property
    def volume(self) -> float:
        """Volume of a cell [m^3]; in 2D its area [m^2]."""
        return float(np.prod(self.size[: self.dimension]))


class ContinuumFields:
    """Fields on a grid of cells, means over the snapshots that they were made of.

    Attributes
    ----------
    centres : (nx, ny, nz, 3) array
        Centres of the cells [m].
    cell_volume : float
        Volume of a cell [m^3]; in 2D its area [m^2].
    density : (nx, ny, nz) array
        Mass over volume [kg/m^3]; in 2D over areas.
    momentum : (nx, ny, nz, 3) array
        Over volume [kg/(m^2 s)].
    contact_stress, kinetic_stress : (nx, ny, nz, 3, 3) arrays
        Pressure is positive; the first index is that of the force, the second that of the branch [Pa].
    wall_force : (nx, ny, nz, 3) array
        Force of walls on particles over volume [N/m^3].
    """

    def __init__(self, grid: Grid, sums: Floats) -> None:
        steps = [np.arange(count) + 0.5 for count in grid.cells]
        places = np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1)
        self.centres: Floats = grid.lower + places * grid.size
        self.cell_volume, self._grid = grid.volume, grid
        shape, fields = tuple(grid.cells.tolist()), sums / grid.volume
        self.density: Floats = fields[0].reshape(shape)
        self.momentum: Floats = np.moveaxis(fields[1:4], 0, -1).reshape(*shape, 3)
        moving: Floats = np.moveaxis(fields[4:13], 0, -1).reshape(*shape, 3, 3)
        self.contact_stress: Floats = np.moveaxis(fields[13:22], 0, -1).reshape(*shape, 3, 3)
        self.wall_force: Floats = np.moveaxis(fields[22:25], 0, -1).reshape(*shape, 3)
        mean = self.momentum[..., :, None] * np.nan_to_num(self.velocity)[..., None, :]
        self.kinetic_stress: Floats = moving - mean

    def __repr__(self) -> str:
        """Return the number of cells."""
        return f"ContinuumFields({' x '.join(map(str, self.density.shape))} cells)"

    def write(self, path: str | Path) -> None:
        """Write all fields into a file (VTI) that ParaView and VTK open: an image whose cells have them.

        Raises
        ------
        InputError
            If the name does not end in .vti, or the file cannot be written.
        """
        names = (
            "density", "momentum", "velocity", "contact_stress", "kinetic_stress", "stress", "wall_force",
            "granular_temperature",
        )  # fmt: skip
        write_image(path, self._grid.lower, self._grid.size, {name: getattr(self, name) for name in names})

    @property
    def velocity(self) -> Floats:
        """Momentum over density (nx, ny, nz, 3) [m/s]; not a number where there is no mass."""
        there = self.density > 0.0
        return np.divide(
            self.momentum, self.density[..., None], out=np.full(self.momentum.shape, np.nan), where=there[..., None]
        )  # fmt: skip

    @property
    def stress(self) -> Floats:
        """Sum of contact stress and kinetic stress (nx, ny, nz, 3, 3) [Pa]."""
        return self.contact_stress + self.kinetic_stress

    @property
    def granular_temperature(self) -> Floats:
        """Mean square of a component of the velocity less the mean one (nx, ny, nz) [m^2/s^2]."""
        trace = sum(self.kinetic_stress[..., axis, axis] for axis in range(self._grid.dimension))
        there = self.density > 0.0
        found = np.full(self.density.shape, np.nan)
        return np.divide(trace / self._grid.dimension, self.density, out=found, where=there)


def coarse_grain(
    snapshots: Snapshot | Iterable[Snapshot],
    contacts: Mapping[str, NDArray[Any]] | None = None,
    *,
    cells: Sequence[int] = (10, 10, 10),
    lower: Sequence[float] | None = None,
    upper: Sequence[float] | None = None,
    width: float | None = None,
    kernel: str = "gaussian",
    material: str | None = None,
) -> ContinuumFields:
    """Return continuum fields of snapshots on a grid, their mean if there are several.

    Parameters
    ----------
    snapshots : Snapshot or iterable of Snapshot
        Of one run: ``results.at(0.5)``, ``results``, ``[results[k] for k in range(5, 10)]``.
    contacts : mapping of ndarray, optional
        Of a single snapshot, as `pdem.simulation.results.Results.contacts_at` returns them; by default those written at
        the time of each snapshot. ``{}`` leaves contacts out: then there is the kinetic stress alone.
    cells : 3 int
        Number of cells along x, y and z; in 2D one along z.
    lower, upper : 3 float, optional
        Corners of the grid [m]; by default those of the domain. What phi spreads beyond is not there: for sums of all,
        the grid reaches beyond the particles by three widths.
    width : float, optional
        Standard deviation of the Gaussian, which is cut at three widths, or half of the distance from which on Lucy's
        function is 0 [m]; by default the median radius of the first snapshot.
    kernel : {"gaussian", "lucy"}
        The function phi.
    material : str, optional
        Only particles of this material, and their parts of branches: to the place of the contact.

    Returns
    -------
    ContinuumFields
        Fields on the cells.

    Raises
    ------
    InputError
        If an argument is not possible, the run has not written contacts at the time of a snapshot, or has clusters.
    """
    several = list(snapshots) if isinstance(snapshots, Iterable) else [snapshots]
    _check(several, contacts, kernel, material)
    grid = _grid_of(several[0], cells, (lower, upper), width, kernel)
    total = np.zeros((25, int(grid.cells.prod())))
    for snapshot in several:
        _check_contacts(snapshot, contacts)
        chosen = snapshot.contacts if contacts is None else contacts
        total += _sums(snapshot, chosen, grid, material)
    return ContinuumFields(grid, total / len(several))


def _check(snapshots: list[Any], contacts: Any, kernel: str, material: str | None) -> None:
    if not snapshots:
        raise InputError("there is no snapshot to coarse-grain; give one of results.at(time), or several")
    if contacts is not None and len(snapshots) > 1:
        raise InputError("contacts are those of one snapshot; leave them out for several, each has its own")
    if kernel not in KERNELS:
        raise InputError(f"kernel = {kernel!r} is none; {name_hint(kernel, list(KERNELS))}")
    case = snapshots[0].case
    if material is not None and material not in case.materials:
        raise InputError(f"there is no material {material!r}; {name_hint(material, list(case.materials))}")
    if "cluster" in snapshots[0].columns:
        raise InputError("the run has rigid clusters, and coarse_grain knows single spheres only")


def _check_contacts(snapshot: Snapshot, contacts: Any) -> None:
    if contacts is None and not snapshot.contacts:
        raise InputError(
            f"the run has written no contacts at {snapshot.time:.6g} s: run it with output.contacts_every, or give "
            "contacts={} for the kinetic stress alone"
        )


def _grid_of(
    snapshot: Snapshot, cells: Any, corners: tuple[Any, Any], width: float | None, kernel: str
) -> Grid:
    domain, counts = snapshot.case.domain, np.asarray(cells)
    low, high = (
        np.asarray(given if given is not None else own, np.float64)
        for given, own in zip(corners, (domain.lower, domain.upper), strict=True)
    )
    if counts.shape != (3,) or counts.dtype.kind not in "iu" or counts.min() < 1:
        raise InputError(f"cells are {shown(cells)}; give three whole numbers of at least 1")
    if low.shape != (3,) or high.shape != (3,) or not np.all(high > low):
        raise InputError(
            f"the grid from {shown(corners[0])} to {shown(corners[1])} has no size; give two corners in m"
        )
    if domain.dimension == 2 and counts[2] != 1:
        raise InputError(f"cells are {shown(cells)}; a case in 2D has one along z")
    wide = float(np.median(snapshot.radius)) if width is None and len(snapshot) else width or 0.0
    if not 0.0 < wide < np.inf:
        raise InputError(f"width is {shown(width)}; give a positive number in m")
    period = np.where(domain.periodic, np.subtract(domain.upper, domain.lower), 0.0)
    wraps = (period > 0.0) & np.isclose(high - low, period, rtol=1e-9, atol=0.0)
    images = np.where(wraps, 0.0, period)
    counts = counts.astype(np.int64)
    return Grid(low, (high - low) / counts, counts, wraps, images, wide, kernel, domain.dimension)


def _sums(
    snapshot: Snapshot, contacts: Mapping[str, NDArray[Any]], grid: Grid, material: str | None
) -> Floats:
    """Return the sums (25, cells) of one snapshot: mass, momentum, m v v^T, f b^T, forces of walls."""
    case, total = snapshot.case, np.zeros((25, int(grid.cells.prod())))
    number = None if material is None else case.material_index(material)
    density = np.array([one.density or 0.0 for one in case.materials.values()])
    mine = np.ones(len(snapshot), np.bool_) if number is None else snapshot.material == number
    mass = sphere_masses(snapshot.radius, density[snapshot.material])[mine]
    v = snapshot.velocity[mine].T
    rows = np.array([mass, *(mass * v), *(mass * v[i] * v[j] for i in range(3) for j in range(3))])
    _spread(grid, snapshot.position[mine], rows, total[:13])
    if len(contacts.get("first", ())):
        _add_contacts(contacts, grid, number, total)
    return total


def _add_contacts(
    contacts: Mapping[str, NDArray[Any]], grid: Grid, number: int | None, total: Floats
) -> None:
    """Add both halves of each branch, up to the place of the contact and from there on."""
    centre, point, force = contacts["centre"], contacts["point"], contacts["force"]
    end, pair = centre + contacts["branch"], contacts["second"] >= 0
    nodes, weights = np.polynomial.legendre.leggauss(GAUSS_POINTS)
    nodes, weights = 0.5 * (nodes + 1.0), weights / weights.sum()
    point = np.where(pair[:, None], point, end)
    halves = ((centre, point - centre, "first_material", None), (point, end - point, "second_material", pair))
    for begin, way, owner, there in halves:
        mine = np.ones(len(centre), np.bool_) if there is None else there.copy()
        mine &= True if number is None else contacts[owner] == number
        f, b = force[mine].T, way[mine].T
        rows = np.array([f[i] * b[j] for i in range(3) for j in range(3)])
        for node, weight in zip(nodes, weights, strict=True):
            _spread(grid, begin[mine] + node * way[mine], weight * rows, total[13:22])
    walls = ~pair & (True if number is None else contacts["first_material"] == number)
    _spread(grid, end[walls], -force[walls].T, total[22:25])


def _spread(grid: Grid, places: Floats, rows: Floats, total: Floats) -> None:
    """Add numbers (k, n) at places (n, 3) to the sums (k, cells) of the cells, each shared by phi."""
    reach = KERNELS[grid.kernel][0] * grid.width + grid.size
    lower, upper = grid.lower - reach, grid.lower + grid.cells * grid.size + reach
    stencil = _stencil(grid)
    most = max(1, MOST_WEIGHTS // len(stencil))
    for steps in product(*((-1, 0, 1) if period else (0,) for period in grid.period)):
        image = places + np.asarray(steps) * grid.period
        near = (((image >= lower) & (image <= upper)) | grid.wraps)[:, : grid.dimension].all(axis=1)
        chosen = np.flatnonzero(near)
        for first in range(0, len(chosen), most):
            part = chosen[first : first + most]
            _add_shares(grid, stencil, image[part], rows[:, part], total)


def _add_shares(grid: Grid, stencil: NDArray[np.int64], places: Floats, rows: Floats, total: Floats) -> None:
    """Add numbers (k, n) at some places (n, 3) to the sums (k, cells) of the cells of a stencil about each."""
    scaled = (places - grid.lower) / grid.size
    base = np.floor(scaled)
    away = (base[:, None] + stencil[None] + 0.5 - scaled[:, None]) * grid.size
    cell = base[:, None].astype(np.int64) + stencil[None]
    cell = np.where(grid.wraps, cell % grid.cells, cell)
    away[..., grid.dimension :], cell[..., grid.dimension :] = 0.0, 0
    share = _phi(grid, np.sqrt((away**2).sum(axis=-1)))
    inside = ((cell >= 0) & (cell < grid.cells)).all(axis=-1) & (share > 0.0)
    at = np.ravel_multi_index(tuple(cell[inside].T), tuple(grid.cells.tolist()))
    point, share = np.nonzero(inside)[0], share[inside]
    for number, row in enumerate(rows):
        total[number] += np.bincount(at, row[point] * share, minlength=total.shape[1])


def _phi(grid: Grid, distance: Floats) -> Floats:
    """Return the shares (n, s) of cells at some distances, which add up to 1; the nearest has all if phi meets none."""
    reach, function = KERNELS[grid.kernel]
    x = distance / grid.width
    phi = np.where(x < reach, function(np.minimum(x, reach)), 0.0)
    whole = phi.sum(axis=1, keepdims=True)
    own = np.zeros(phi.shape)
    own[np.arange(len(phi)), np.argmin(distance, axis=1)] = 1.0
    return np.where(whole > 0.0, phi / np.where(whole > 0.0, whole, 1.0), own)


def _stencil(grid: Grid) -> NDArray[np.int64]:
    """Return the cells (s, 3) beside that of a point which phi may reach."""
    reach = np.ceil(KERNELS[grid.kernel][0] * grid.width / grid.size).astype(np.int64)
    reach[grid.dimension :] = 0
    ranges = [np.arange(-one, one + 1) for one in reach]
    return np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1).reshape(-1, 3)
