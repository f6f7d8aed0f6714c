"""The contacts of one sphere with a mesh, for users and tests: the engine's own resolution, numpy out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.contact_rows import INTEGER_COLUMNS, REAL_COLUMNS
from pdem.contact.facet_weights import facet_weights
from pdem.contact.hierarchy import resolve_h2
from pdem.containers.mesh import Mesh
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

METHODS = ("h2",)
"""Resolutions of wall contacts that exist."""


def wall_contacts(centre: ArrayLike, radius: float, mesh: Mesh, method: str = "h2") -> NDArray[np.void]:
    """Find what one sphere touches of a mesh.

    Parameters
    ----------
    centre : array_like, shape (3,)
        Centre of the sphere [m].
    radius : float
        Its radius [m].
    mesh : Mesh
        The wall.
    method : str
        ``"h2"``, the double hierarchy (see `pdem.contact.hierarchy`).

    Returns
    -------
    ndarray, shape (number of contacts,)
        Structured, the nearest contact first, with the fields

        ``facet`` (int64)
            A facet on which the contact point lies; `weights` are for its nodes.
        ``kind`` (int8), ``feature`` (int64)
            What is touched, 0 facet, 1 edge, 2 vertex, and its number in the mesh.
        ``point`` (3 float64)
            Contact point on the wall [m].
        ``normal`` (3 float64)
            Unit normal from the point to the centre, whichever side the centre is on.
        ``overlap`` (float64)
            Radius minus distance [m], above 0.
        ``weights`` (float64, as many as the largest facet has nodes)
            Shares of the facet's nodes in the force, in the order of ``mesh.loop(facet)``; zeros behind.
        ``count`` (int64)
            How often the contact counts: 1.

    Raises
    ------
    InputError
        If the centre is not three finite numbers, the radius is not finite and positive, `mesh` is no
        `Mesh` or the method is unknown.
    """
    x, y, z = _checked(centre, radius, mesh, method)
    near = _facets_near(np.array([x, y, z]), float(radius), mesh)
    contacts = np.zeros(len(near), dtype=contact_dtype(mesh.largest_order))
    kind, feature, facet = (np.empty(len(near), dtype=t) for t in (np.int8, np.int64, np.int64))
    point, normal, overlap = np.empty((len(near), 3)), np.empty((len(near), 3)), np.empty(len(near))
    real = np.empty((len(near), REAL_COLUMNS))
    integer = np.empty((len(near), INTEGER_COLUMNS), dtype=np.int64)
    count = resolve_h2(
        x, y, z, float(radius), near, 0, len(near), mesh.vertices, mesh.facet_normals, *mesh.topology,
        real, integer, 0, len(near), kind, feature, facet, point, normal, overlap, 0, len(near),
    )  # fmt: skip
    weights = np.zeros((count, mesh.largest_order))
    for row in range(count):
        touched = int(kind[row]), int(feature[row]), int(facet[row])
        facet_weights(
            *point[row].tolist(),
            *touched,
            mesh.vertices,
            mesh.facet_normals,
            *mesh.topology[:4],
            weights,
            row,
        )
    contacts = contacts[:count]
    columns = {"facet": facet, "kind": kind, "feature": feature, "point": point, "normal": normal}
    for name, column in {**columns, "overlap": overlap, "weights": weights}.items():
        contacts[name] = column[:count]
    contacts["count"] = 1
    return contacts


def contact_dtype(largest_order: int) -> np.dtype[np.void]:
    """Return the type of one contact on a mesh whose largest facet has `largest_order` nodes."""
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
        raise InputError(
            f"method is {method!r}; wall contacts are resolved by {', '.join(METHODS)}: choose one"
        )
    if not isinstance(mesh, Mesh):
        raise InputError(f"mesh is a {type(mesh).__name__}; a pdem.Mesh is needed: Mesh.read(path) makes one")
    try:
        place = np.asarray(centre, dtype=np.float64)
        size = float(radius)
    except (TypeError, ValueError):
        raise InputError(
            f"centre {centre!r} and radius {radius!r} must be numbers: x, y, z and a length"
        ) from None
    if place.shape != (3,) or not np.isfinite(place).all():
        raise InputError(f"centre is {centre!r}; it must be three finite numbers x, y, z in metres")
    if not (np.isfinite(size) and size > 0):
        raise InputError(f"radius is {radius!r}; it must be a positive finite length in metres")
    x, y, z = place.tolist()
    return x, y, z


def _facets_near(centre: NDArray[np.float64], radius: float, mesh: Mesh) -> NDArray[np.int64]:
    """Return the facets whose bounding box meets that of the sphere."""
    corners = mesh.vertices[mesh.facet_vertices] - centre
    low = np.minimum.reduceat(corners, mesh.facet_start[:-1], axis=0)
    high = np.maximum.reduceat(corners, mesh.facet_start[:-1], axis=0)
    return np.flatnonzero(((low <= radius) & (high >= -radius)).all(axis=1)).astype(np.int64)
