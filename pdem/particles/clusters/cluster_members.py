"""From clusters with positions to their states and their members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.foundation import exact_math
from pdem.foundation.fields import FIELDS
from pdem.particles.clusters.quaternions import conjugate, product, rotated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats
    from pdem.particles.clusters.shapes import ClusterShape

    Table = dict[str, NDArray[Any]]


def cluster_columns(shapes: Sequence[ClusterShape], placed: Mapping[str, NDArray[Any]], density: Floats) -> Table:
    """Return the columns of clusters (`pdem.containers.clusters.COLUMNS`) with positions.

    Parameters
    ----------
    shapes : sequence of ClusterShape
        Shapes of the case, in its order.
    placed : mapping of ndarray
        Columns of clusters: ``id`` of the first member; ``shape``; ``radius``, the largest distance of the surface from
        the centre [m]; ``position`` of the centre of mass; ``velocity``; ``angular_velocity``; ``material``; and
        ``orientation``, the rotation from the coordinates of the shape.
    density : (M,) array
        Density by material [kg/m^3].
    """
    shape, material = placed["shape"], placed["material"]
    reach, frame = np.array([one.reach for one in shapes]), np.array([one.frame for one in shapes])
    scale = placed["radius"] / reach[shape]
    orientation = product(placed["orientation"], frame[shape])
    orientation /= exact_math.norm(orientation)[:, None]
    square = scale * scale
    moments = np.array([one.moments for one in shapes])[shape]
    moments *= (density[material] * (square * square * scale))[:, None]
    momentum = rotated(orientation, moments * rotated(conjugate(orientation), placed["angular_velocity"]))
    return {
        "number": placed["id"] + 1, "image": np.zeros((len(scale), 3), np.int32), "position": placed["position"],
        "velocity": placed["velocity"], "orientation": orientation, "angular_momentum": momentum,
        "shape": shape.astype(np.int32), "scale": scale, "material": material.astype(np.int32),
    }  # fmt: skip


def member_columns(
    shapes: Sequence[ClusterShape], clusters: Mapping[str, NDArray[Any]], further: Mapping[str, NDArray[Any]]
) -> Table:
    """Return the columns of the members of clusters, one cluster after the other; positions are not set yet.

    Members have the values of `further` columns of their clusters, except ``liquid``, which is divided among them in
    proportion to their surfaces.
    """
    sizes = np.array([len(one.radius) for one in shapes], np.int64)
    first = np.cumsum(sizes) - sizes
    shape = np.asarray(clusters["shape"], np.int64)
    of_cluster = np.repeat(np.arange(len(shape)), sizes[shape])
    sphere = np.arange(len(of_cluster)) - np.repeat(np.cumsum(sizes[shape]) - sizes[shape], sizes[shape])
    radius = np.concatenate([np.zeros(0), *(one.radius for one in shapes)])
    columns = {name: field.allocate(len(of_cluster)) for name, field in FIELDS.items()}
    columns["id"][:] = clusters["number"][of_cluster] - 1 + sphere
    columns["cluster"][:] = clusters["number"][of_cluster]
    columns["material"][:] = clusters["material"][of_cluster]
    columns["radius"][:] = clusters["scale"][of_cluster] * radius[first[shape[of_cluster]] + sphere]
    columns["position"][:] = clusters["position"][of_cluster]
    columns |= {name: values[of_cluster] for name, values in further.items()}
    if "liquid" in further:
        surface = columns["radius"] * columns["radius"]
        whole = np.bincount(of_cluster, surface, len(shape))
        columns["liquid"] = columns["liquid"] * surface / whole[of_cluster]
    return columns
