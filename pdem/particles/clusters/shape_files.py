"""Spheres of a shape from a file: a list of spheres, or a closed mesh that is filled with spheres."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pdem.containers.meshes.mesh import Mesh
from pdem.containers.meshes.solid import Solid, solid_of
from pdem.containers.sphere_lists import SphereList, read_spheres
from pdem.containers.sphere_union import union_of_spheres
from pdem.foundation.errors import MeshError
from pdem.particles.clusters.cluster_shapes import scaled, solid_of_list, sum_of_spheres
from pdem.particles.clusters.fitted_spheres import FittedSpheres, fit_spheres

if TYPE_CHECKING:
    from pathlib import Path


class ShapeFile(NamedTuple):
    """The contents of the file of a shape.

    Attributes
    ----------
    spheres : SphereList
        Spheres in m.
    solids : dict of str to Solid
        Further mass properties: of the ``mesh``, or those that the ``file`` states.
    fit : FittedSpheres or None
        Result of the fit of spheres to a mesh.
    """

    spheres: SphereList
    solids: dict[str, Solid]
    fit: FittedSpheres | None = None


def read_shape(path: Path, scale: float, most: int | None, error: float) -> ShapeFile:
    """Return the spheres of a file.

    Parameters
    ----------
    path : Path
        File with a list of spheres, or a mesh.
    scale : float
        Length of one unit of the file [m].
    most : int or None
        Largest number of spheres to fill the file, which is a mesh; None for a list of spheres.
    error : float
        Error of the inertia at which no more spheres are added.

    Raises
    ------
    InputError, MeshError
        If the file cannot be used.
    """
    if most is None:
        listed = scaled(read_spheres(path), scale)
        stated = solid_of_list(listed)
        return ShapeFile(listed, {} if stated is None else {"file": stated})
    mesh = Mesh.read(path, scale)
    try:
        fit = fit_spheres(mesh, most, error)
    except MeshError as problem:
        raise MeshError(f"{path}: {problem}") from None
    return ShapeFile(SphereList(fit.centre, fit.radius), {"mesh": solid_of(mesh)}, fit)


def mass_rules(found: ShapeFile) -> dict[str, Solid]:
    """Return the mass properties of a shape by rule: of the union, of the sum, and of the file or mesh."""
    centre, radius = found.spheres.centre, found.spheres.radius
    return {"union": union_of_spheres(centre, radius), "sum": sum_of_spheres(centre, radius), **found.solids}
