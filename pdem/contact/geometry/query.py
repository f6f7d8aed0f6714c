"""The contacts of one sphere with a mesh, for users and tests: the engine's own resolution, numpy out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.geometry.double_hierarchy import resolve_h2
from pdem.contact.geometry.facet_weights import facet_weights
from pdem.contact.geometry.scratch_columns import INTEGER_COLUMNS
from pdem.contact.geometry.signed_features import signed_features
from pdem.contact.geometry.signed_patches import Powers
from pdem.contact.geometry.surface_arrays import FacetRange, Found, Scratch, Sphere, SurfaceArrays
from pdem.containers.meshes.mesh import Mesh
from pdem.containers.meshes.surface import surface_of
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pdem.containers.meshes.surface import MeshSurface
    from pdem.foundation.array_types import Floats, Integers

METHODS = ("signed", "h2")
"""Resolutions of wall contacts that exist."""


def wall_contacts(centre: ArrayLike, radius: float, mesh: Mesh, method: str = "signed") -> NDArray[np.void]:
    """Find the contacts of one sphere with a mesh.

    Parameters
    ----------
    centre : array_like, shape (3,)
        Centre of the sphere [m].
    radius : float
        Its radius [m].
    mesh : Mesh
        The wall.
    method : str
        ``"signed"``, the signed contact sum (see `pdem.contact.geometry.signed_sum`), or ``"h2"``, the double hierarchy
        (see `pdem.contact.geometry.double_hierarchy`). Both agree on flat and convex walls.

    Returns
    -------
    ndarray, shape (number of contacts,)
        Structured, the nearest contact first, with the fields

        ``facet`` (int64)
            A facet on which the contact point lies; `weights` are for its nodes.
        ``kind`` (int8), ``feature`` (int64)
            The touched feature, 0 facet, 1 edge, 2 vertex, and its number in the mesh (-1 for a part of an edge between
            hanging nodes that is not an edge of the mesh).
        ``point`` (3 float64)
            Contact point on the wall [m].
        ``normal`` (3 float64)
            Unit normal from the point to the centre, on either side of the wall.
        ``overlap`` (float64)
            Radius minus distance [m], above 0.
        ``weights`` (float64, as many as the largest facet has nodes)
            Shares of the facet's nodes in the force, in the order of ``mesh.loop(facet)``; zeros behind.
        ``count`` (int64)
            How often the contact counts: 1; in the signed sum -1 for the crease between two touched facets of a
            concave surface, and further integers where many facets meet. A centre right over an edge may have
            both facets and the edge, all with one point, normal and overlap: their counts add up to 1.

    Raises
    ------
    InputError
        If the centre is not three finite numbers, the radius is not finite and positive, `mesh` is no
        `Mesh` or the method is unknown.
    """
    place = _checked(centre, radius, mesh, method)
    find = _signed_features if method == "signed" else _hierarchy
    columns = find(place, float(radius), mesh)
    contacts = np.zeros(len(columns["kind"]), dtype=contact_dtype(mesh.largest_order))
    for name, column in columns.items():
        contacts[name] = column
    weights, surface = np.zeros((len(contacts), mesh.largest_order)), SurfaceArrays.of(mesh)
    for row, contact in enumerate(contacts):
        # an edge that ends at a hanging node is no edge of its facet: then the point alone decides
        named = (int(contact["kind"]), int(contact["feature"])) if contact["feature"] >= 0 else (0, -1)
        facet_weights(tuple(contact["point"].tolist()), *named, int(contact["facet"]), surface, weights, row)
    contacts["weights"] = weights
    return contacts


def _hierarchy(centre: tuple[float, float, float], radius: float, mesh: Mesh) -> dict[str, NDArray[Any]]:
    """Return the contacts of the double hierarchy by the names of their fields."""
    near = _facets_near(np.array(centre), radius, mesh)
    found, scratch = Found.rows(len(near)), Scratch.rows(len(near), INTEGER_COLUMNS)
    sphere, room = Sphere(*centre, radius), len(near)
    count = resolve_h2(sphere, FacetRange(near, 0, room), 0, SurfaceArrays.of(mesh), scratch, found, room)
    names = ("facet", "kind", "feature", "point", "normal", "overlap")
    columns = {name: getattr(found, name)[:count] for name in names}
    return {**columns, "count": np.ones(count, dtype=np.int64)}


def _signed_features(centre: tuple[float, float, float], radius: float, mesh: Mesh) -> dict[str, NDArray[Any]]:
    """Return the features of the signed contact sum by the names of their fields."""
    surface = surface_of(mesh)
    parts = surface.mesh
    near = _facets_near(np.array(centre), radius, parts)
    powers = Powers(np.ones(1), 0)
    columns = signed_features(Sphere(*centre, radius), near, parts, SurfaceArrays.of(parts), powers)
    order = np.lexsort((columns["kind"], -columns["overlap"]))
    found: dict[str, NDArray[Any]] = {name: column[order] for name, column in columns.items()}
    found["feature"] = _named_features(surface, mesh, found["kind"], found["feature"])
    found["facet"] = surface.facet_origin[found["facet"]]
    return found


def _named_features(surface: MeshSurface, mesh: Mesh, kind: NDArray[Any], feature: NDArray[Any]) -> Integers:
    """Return the numbers in the mesh of features of its surface, -1 for edges that the mesh does not have."""
    named = np.full(len(kind), -1, dtype=np.int64)
    named[kind == 0] = surface.facet_origin[feature[kind == 0]]
    named[kind == 2] = surface.vertex_origin[feature[kind == 2]]
    ends = np.sort(surface.vertex_origin[surface.mesh.edges[feature[kind == 1]]], axis=1)
    keys = mesh.edges @ (mesh.vertex_count, 1)
    wanted = ends @ (mesh.vertex_count, 1)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    named[kind == 1] = np.where(keys[place] == wanted, place, -1)
    return named


def contact_dtype(largest_order: int) -> np.dtype[np.void]:
    """Return the type of one contact on a mesh; its largest facet has `largest_order` nodes."""
    return np.dtype(
        [
            ("facet", np.int64),
            ("kind", np.int8),
            ("feature", np.int64),
            ("point", np.float64, (3,)),
            ("normal", np.float64, (3,)),
            ("overlap", np.float64),
            ("weights", np.float64, (largest_order,)),
            ("count", np.int64),
        ]
    )


def _checked(centre: ArrayLike, radius: float, mesh: Mesh, method: str) -> tuple[float, float, float]:
    if method not in METHODS:
        raise InputError(f"method is {method!r}; wall contacts are resolved by {', '.join(METHODS)}: choose one")
    if not isinstance(mesh, Mesh):
        raise InputError(f"mesh is a {type(mesh).__name__}; a pdem.Mesh is needed: Mesh.read(path) makes one")
    try:
        place = np.asarray(centre, dtype=np.float64)
        size = float(radius)
    except (TypeError, ValueError):
        raise InputError(f"centre {centre!r} and radius {radius!r} must be numbers: x, y, z and a length") from None
    if place.shape != (3,) or not np.isfinite(place).all():
        raise InputError(f"centre is {centre!r}; it must be three finite numbers x, y, z in metres")
    if not (np.isfinite(size) and size > 0):
        raise InputError(f"radius is {radius!r}; it must be a positive finite length in metres")
    x, y, z = place.tolist()
    return x, y, z


def _facets_near(centre: Floats, radius: float, mesh: Mesh) -> Integers:
    """Return the facets whose bounding box meets that of the sphere."""
    corners = mesh.vertices[mesh.facet_vertices] - centre
    low = np.minimum.reduceat(corners, mesh.facet_start[:-1], axis=0)
    high = np.maximum.reduceat(corners, mesh.facet_start[:-1], axis=0)
    return np.flatnonzero(((low <= radius) & (high >= -radius)).all(axis=1)).astype(np.int64)
