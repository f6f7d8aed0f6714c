"""Continuum fields of snapshots on a grid by coarse graining; `pdem.continuum` defines the fields."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.deformation import shear_axes
from pdem.containers.box_shape import BoxShape
from pdem.continuum.fields import ContinuumFields
from pdem.continuum.grid import REACH, grid_of, too_wide
from pdem.continuum.items import Matter, actions_of_contacts
from pdem.continuum.layout import SUMS
from pdem.continuum.moving_box import FieldFrame, MovingImages
from pdem.continuum.sums import field_sums
from pdem.engine.views.bodies import sizes_of, sphere_masses
from pdem.foundation.arguments import shown
from pdem.foundation.errors import InputError, name_hint
from pdem.output.contact_table import ContactTable
from pdem.output.snapshots import vtkhdf
from pdem.output.snapshots.formats import CLUSTER_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pdem.case.sections.schema import CaseData
    from pdem.continuum.grid import Grid
    from pdem.continuum.items import Actions
    from pdem.foundation.array_types import Floats
    from pdem.run.reading.snapshot import Snapshot

    Contacts = Mapping[str, NDArray[Any]]


def coarse_grain(
    snapshots: Snapshot | Iterable[Snapshot],
    contacts: Contacts | None = None,
    *,
    cells: Sequence[int] = (10, 10, 10),
    lower: Sequence[float] | None = None,
    upper: Sequence[float] | None = None,
    width: float | None = None,
    kernel: str = "gaussian",
    by: str | None = None,
    material: str | None = None,
) -> ContinuumFields:
    """Return continuum fields of snapshots on a grid, averaged if there are several snapshots.

    Parameters
    ----------
    snapshots : Snapshot or iterable of Snapshot
        Snapshots of one run: ``results.at(0.5)``, ``results``, ``[results[k] for k in range(5, 10)]``.
    contacts : mapping of ndarray, optional
        Contacts of a single snapshot, as returned by `pdem.run.reading.results.Results.contacts_at`; by default the
        contacts written at the time of each snapshot. ``{}`` ignores contacts, also for several snapshots: the stress
        is then only the kinetic stress.
    cells : 3 int
        Number of cells along x, y and z; in 2D one cell along z.
    lower, upper : 3 float, optional
        Corners of the grid [m]; by default the corners of the domain, or of the box of the first snapshot if the box
        deforms; the grid then follows the box. Contributions that phi spreads beyond the grid are missing: for exact
        totals, let the grid extend beyond the particles by three widths.
    width : float, optional
        Standard deviation of the Gaussian, which is cut off at three widths, or half of the cut-off distance of Lucy's
        function [m]; by default the median radius of the first snapshot.
    kernel : {"gaussian", "lucy"}
        The weighting function phi.
    by : "material", optional
        Also compute the fields of each material, ``fields.materials["glass"]``: of its particles, and of their parts of
        the branch vectors up to the contact point.
    material : str, optional
        Return only the fields of this material.

    Returns
    -------
    ContinuumFields
        Fields on the cells. If the run has written no contacts at the time of a snapshot, access to fields that need
        contacts (``contact_stress``, ``stress``, ``pressure``, ``wall_force``) raises an error.

    Raises
    ------
    InputError
        If an argument is not valid.
    """
    several = list(snapshots) if isinstance(snapshots, Iterable) else [snapshots]
    _check(several, contacts, material)
    case = several[0].case
    wide = _width_of(several[0], width)
    frame = _frame_of(several[0])
    grid = checked_grid(case, frame, cells, (lower, upper), wide, kernel, by)
    names = list(case.materials) if by is not None or material is not None else []
    total, reasons = np.zeros((max(len(names), 1), grid.total, SUMS)), []
    for snapshot in several:
        own, acting = (frame.follow(grid, _frame_of(snapshot)), snapshot.contacts if contacts is None else contacts)
        reasons.append(acting.reason if isinstance(acting, ContactTable) else "")
        total += _sums(snapshot, acting, own, len(names)) * (grid.volume / own.volume)
    lacking = next((f"{one}, or give contacts={{}} for the kinetic stress alone" for one in reasons if one), "")
    fields = ContinuumFields.of_sums(grid, total / len(several), names, lacking).on(own)
    return fields if material is None else fields.materials[material]


def _check(snapshots: list[Any], contacts: Any, material: str | None) -> None:
    if not snapshots:
        raise InputError("there is no snapshot to coarse-grain; give one of results.at(time), or several")
    if contacts and len(snapshots) > 1:
        raise InputError(
            f"contacts are those of one snapshot, and there are {len(snapshots)}; leave them out, each has its own, or "
            "give contacts={} for the kinetic stress alone"
        )
    case = snapshots[0].case
    if material is not None and material not in case.materials:
        raise InputError(f"there is no material {material!r}; {name_hint(material, list(case.materials))}")


def _width_of(snapshot: Snapshot, width: float | None) -> float:
    """Return the given width or the median radius [m]."""
    return float(np.median(snapshot.radius)) if width is None and len(snapshot) else width or 0.0


def checked_grid(
    case: CaseData, frame: FieldFrame, cells: Any, corners: tuple[Any, Any], width: Any, kernel: str, by: str | None
) -> Grid:
    """Return a grid with numbers of cells between two corners [m]; corners that are None come from the frame.

    Raises
    ------
    InputError
        If an argument is not valid.
    """
    domain = case.domain
    if by not in (None, "material"):
        raise InputError(f"by = {shown(by)} is no way to divide fields; give 'material' or leave it out")
    if kernel not in REACH:
        raise InputError(f"kernel = {kernel!r} is none; {name_hint(kernel, list(REACH))}")
    counts = np.asarray(cells)
    low, high = (
        np.asarray(given if given is not None else own, np.float64) for given, own in zip(corners, frame, strict=True)
    )
    if counts.shape != (3,) or counts.dtype.kind not in "iu" or counts.min() < 1:
        raise InputError(f"cells are {shown(cells)}; give three whole numbers of at least 1")
    if low.shape != (3,) or high.shape != (3,) or not np.all(high > low):
        raise InputError(f"the grid from {shown(corners[0])} to {shown(corners[1])} has no size; give two corners in m")
    if domain.dimension == 2 and counts[2] != 1:
        raise InputError(f"cells are {shown(cells)}; a case in 2D has one along z")
    if not (isinstance(width, (int, float)) and 0.0 < width < np.inf):
        raise InputError(f"width is {shown(width)}; give a positive number in m")
    period = np.where(domain.periodic, frame.upper - frame.lower, 0.0)
    if np.any((period > 0.0) & (high - low > period * (1.0 + 1e-9))):
        raise InputError(
            f"the grid from {shown(low.tolist())} to {shown(high.tolist())} is longer than the periodic box, which is "
            f"now from {shown(frame.lower.tolist())} to {shown(frame.upper.tolist())}; what is there would count "
            "twice: end it where the box ends"
        )
    grid = grid_of((low, high), counts.tolist(), width, kernel, domain.dimension)
    wide = too_wide(grid, frame.upper - frame.lower)
    if wide is not None:
        raise InputError(f"width = {width:g} m {wide}")
    return grid


def _frame_of(snapshot: Snapshot) -> FieldFrame:
    """Return the corners of the box of a snapshot, or of the domain if the box does not deform."""
    if snapshot.box_speeds is None:
        return FieldFrame(np.array(snapshot.case.domain.lower), np.array(snapshot.case.domain.upper))
    lower, vectors = snapshot.box
    return FieldFrame.of_lengths(lower, np.diag(vectors))


def _images_of(snapshot: Snapshot) -> MovingImages:
    """Return the box of a snapshot, and the motion of its periodic images."""
    case, (lower, vectors), speeds = snapshot.case, snapshot.box, snapshot.box_speeds
    period = np.where(case.domain.periodic, np.diag(vectors), 0.0)
    axes = shear_axes(case)
    if speeds is None or axes is None:
        return MovingImages(BoxShape.upright(lower, period), np.zeros((3, 3)) if speeds is None else speeds)
    return MovingImages(BoxShape(lower, period, axes[1], axes[0], vectors[axes[1]]), speeds)


def _sums(snapshot: Snapshot, contacts: Contacts, grid: Grid, materials: int) -> Floats:
    """Return the sums (classes, cells, SUMS) of one snapshot; with 0 materials there is a single class."""
    matter, actions = _matter_of(snapshot), _actions_of(contacts, split=materials > 0)
    period, matter, actions = _images_of(snapshot).repeated(grid, matter, actions)
    return field_sums(grid, period, max(materials, 1), matter, actions)


def _matter_of(snapshot: Snapshot) -> Matter:
    """Return the particles of a snapshot by material, with each cluster as one body."""
    density = np.array([one.density or 0.0 for one in snapshot.case.materials.values()])
    parts = [_bodies_of(snapshot.columns, density)]
    if "cluster" in snapshot.columns:
        single = snapshot.cluster == 0
        parts = [Matter._make(column[single] for column in parts[0]), _clusters_of(snapshot, density)]
    matter = Matter._make(np.concatenate(columns) for columns in zip(*parts, strict=True))
    return matter._replace(size=sizes_of(matter.size, snapshot.case.domain.dimension))


def _bodies_of(columns: Contacts, density: Floats) -> Matter:
    """Return bodies, with their radii as sizes."""
    kind = columns["material"].astype(np.int64)
    mass = columns["mass"] if "mass" in columns else sphere_masses(columns["radius"], density[kind])
    return Matter(columns["position"], columns["velocity"], mass, columns["radius"], kind)


def _clusters_of(snapshot: Snapshot, density: Floats) -> Matter:
    """Return the clusters of the run at the time of a snapshot."""
    path = snapshot.folder / CLUSTER_FILE
    index = int(np.argmin(np.abs(vtkhdf.read_times(path) - snapshot.time)))
    step = vtkhdf.read_step(path, index)
    return _bodies_of({"position": step.points, **step.point_data}, density)


def _actions_of(contacts: Contacts, *, split: bool) -> list[Actions]:
    """Return the contact forces of a snapshot as actions; with `split`, separately for the material of each side."""
    if not len(contacts.get("first", ())):
        return []
    kinds = np.stack((contacts["first_material"], contacts["second_material"])).astype(np.int64)
    return actions_of_contacts(
        contacts["centre"], contacts["branch"], contacts["force"], contacts["second"] >= 0, kinds,
        contacts["point"] if split else None,
    )  # fmt: skip
