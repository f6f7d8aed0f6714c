"""The features that the patches of the signed contact sum consist of, for users and for the forces on nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.geometry.signed_patches import SIGNED_COLUMNS
from pdem.contact.geometry.signed_sum import resolve_signed
from pdem.contact.geometry.surface_arrays import FacetRange, Found, Scratch
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pdem.contact.geometry.signed_patches import Powers
    from pdem.contact.geometry.surface_arrays import Sphere, SurfaceArrays
    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Floats, Integers

ALONG = 1e-6
"""Largest deviation of a sum of features from the normal of its patch; beyond it the patch is its nearest feature."""


def signed_features(
    sphere: Sphere, near: Integers, mesh: Mesh, surface: SurfaceArrays, powers: Powers
) -> dict[str, NDArray[Any]]:
    """Return the features that push one sphere, patch by patch.

    Parameters
    ----------
    sphere : Sphere
        The sphere.
    near : ndarray, int64
        Facets that the sphere may touch.
    mesh : Mesh
        A mesh made by `pdem.containers.meshes.surface.surface_of`, or several of them joined.
    surface : SurfaceArrays
        Arrays of the mesh at its present pose.
    powers : Powers
        See `pdem.contact.geometry.signed_sum.resolve_signed`.

    Returns
    -------
    dict of ndarray
        ``kind``, ``feature``, ``facet``, ``point`` [m], ``normal``, ``overlap`` [m], and ``count``, the weight of each.
    """
    room = int((1 + 2 * np.diff(mesh.facet_start)[near]).sum())
    found, scratch = Found.rows(room), Scratch.rows(len(near), SIGNED_COLUMNS, mesh.largest_order)
    count = resolve_signed(sphere, FacetRange(near, 0, len(near)), 0, surface, powers, scratch, found, False, room)
    columns: dict[str, NDArray[Any]] = {
        "kind": found.kind, "feature": found.feature, "facet": found.facet, "point": found.point,
        "normal": found.normal, "overlap": found.overlap, "count": found.weight,
    }  # fmt: skip
    return {name: column[:count] for name, column in columns.items()}


def shares_of(features: dict[str, NDArray[Any]], normal: Floats, hertzian: bool) -> Floats | None:
    """Return the share of each feature in the normal force of a patch (n, 3); None if one feature has all of it.

    Parameters
    ----------
    features : dict of ndarray
        Features of the patch.
    normal : ndarray, shape (3,)
        Normal of the patch.
    hertzian : bool
        Whether forces grow with the power 3/2 of overlaps, else linearly.
    """
    overlap = features["overlap"]
    size = features["count"] * overlap * (np.sqrt(overlap) if hertzian else 1.0)
    pulls = size[:, None] * features["normal"]
    force = exact_math.totals(pulls)
    length = float(exact_math.norm(force))
    if length == 0.0 or exact_math.norm(force - length * normal) > ALONG * length:
        return None
    return np.asarray(pulls / length)


def with_features(
    columns: dict[str, NDArray[Any]], normal: Floats, features_of: Callable[[int], tuple[dict[str, NDArray[Any]], bool]]
) -> dict[str, NDArray[Any]]:
    """Distribute the normal force of each patch to its features, each at its own point; friction is not distributed.

    All these forces pass through the centre, so that neither the force on the wall nor its torque changes.

    Parameters
    ----------
    columns : dict of ndarray
        Contacts, particle by particle: the columns of `pdem.contact.walls.nodal_loads.LOADED`.
    normal : ndarray, shape (n, 3)
        Normals of the contacts.
    features_of : callable
        Returns the features that push the particle of a contact, patch by patch, and whether the law is Hertz's.
    """
    parts = [columns]
    number, ids = columns["features"], columns["id"]
    before = np.cumsum(number) - number  # features of contacts before
    for row in np.flatnonzero(number > 1):
        first = _first_of(ids, int(row))
        features, hertzian = features_of(int(row))
        begin = int(before[row] - before[first])
        own = {name: column[begin : begin + number[row]] for name, column in features.items()}
        shares = shares_of(own, normal[row], hertzian) if len(own["kind"]) == number[row] else None
        if shares is None:
            continue
        push, count = columns["push"][row], len(shares)
        columns["force"][row] += push * normal[row]
        parts.append(
            {
                "id": np.full(count, ids[row]), "kind": own["kind"], "feature": own["feature"],
                "facet": own["facet"], "features": np.ones(count, np.int64), "nearest": own["point"],
                "point": own["point"], "force": -push * shares, "moment": np.zeros((count, 3)),
                "push": np.zeros(count), "sliding": np.zeros(count),
                "surface_power": np.zeros(count),
            }
        )  # fmt: skip
    return {name: np.concatenate([part[name] for part in parts]) for name in columns}


def _first_of(ids: Integers, row: int) -> int:
    """Return the first contact of the particle of a contact."""
    while row > 0 and ids[row - 1] == ids[row]:
        row -= 1
    return row
