"""The bodies that break: single spheres, and rigid clusters, whose members become their pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.engine.clusters.energy import cluster_masses, cluster_spins
from pdem.engine.views.bodies import sphere_masses
from pdem.foundation import exact_math
from pdem.numerics.geometry_kernels import SPHERE_INERTIA

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.containers.box_shape import BoxShape
    from pdem.engine.system import System
    from pdem.foundation.array_types import Floats, Integers

    Columns = dict[str, NDArray[Any]]

_SUMMED, _LARGEST = ("contact_energy", "spring_energy"), ("energy", "force")
_CLEAR = 1.0 - 1e-12


class Pieces(NamedTuple):
    """The members of a cluster as the pieces into which it breaks.

    Attributes
    ----------
    radius : (n,) array
        Radii, so that their volumes are that of the cluster at most, and no piece is under load [m].
    offset : (n, 3) array
        Places from the centre of mass of the cluster, which is also theirs [m].
    """

    radius: Floats
    offset: Floats


def with_bodies(system: System, rows: Columns) -> Columns:
    """Return columns of particles that break together with columns of their bodies.

    These are ``body_radius``, that of the sphere of the same volume [m], ``body_mass`` [kg], ``body_position`` [m],
    ``body_velocity`` [m/s], ``body_momentum``, the angular momentum [kg m^2/s], ``body_rotation``, the energy of the
    rotation [J], and ``body_image``.
    """
    mass = sphere_masses(rows["radius"], system.constants.density[rows["material"]])
    inertia = SPHERE_INERTIA * mass * rows["radius"] * rows["radius"]
    spin = rows["angular_velocity"]
    bodies = {
        "radius": rows["radius"], "mass": mass, "position": rows["position"], "velocity": rows["velocity"],
        "momentum": inertia[:, None] * spin, "rotation": 0.5 * inertia * exact_math.inner(spin, spin),
        "image": rows["image"],
    }  # fmt: skip
    members = np.flatnonzero(rows["cluster"])
    if system.clusters is not None and len(members):
        table = system.clusters.table
        of = table.rows_of(rows["cluster"][members])
        momentum, turns = cluster_spins(table, system.constants)
        clusters = {
            "radius": table.radius, "mass": cluster_masses(table, system.constants), "position": table.position,
            "velocity": table.velocity, "momentum": table.angular_momentum,
            "rotation": 0.5 * exact_math.inner(momentum, turns), "image": table.image,
        }  # fmt: skip
        bodies = {name: column.copy() for name, column in bodies.items()}
        for name, column in bodies.items():
            column[members] = clusters[name][of]
    return rows | {f"body_{name}": column for name, column in bodies.items()}


def parents_of(rows: Columns, shape: BoxShape) -> tuple[Columns, list[Pieces | None]]:
    """Return the columns of the bodies that break, sorted by their first ids, and the pieces of clusters.

    `rows` are all particles of these bodies (`with_bodies`), sorted by id. Energies of contacts are sums over the
    members, loads the largest, with the partner of that member.
    """
    body = np.where(rows["cluster"] > 0, rows["cluster"] - 1, rows["id"])
    _, first, of_body = np.unique(body, return_index=True, return_inverse=True)
    parents = {name: column[first].copy() for name, column in rows.items()}
    for name in _SUMMED:
        parents[name] = np.zeros(len(first))
        np.add.at(parents[name], of_body, rows[name])
    for name in _LARGEST:
        np.maximum.at(parents[name], of_body, rows[name])
    order = np.argsort(rows["energy"], kind="stable")
    partner = np.where(rows["partner"] == rows["id"], rows["id"][first][of_body], rows["partner"])
    parents["partner"][of_body[order]] = partner[order]
    for name in ("radius", "position", "velocity", "image"):
        parents[name] = parents[f"body_{name}"]
    clusters = [rows["cluster"][place] > 0 for place in first.tolist()]
    pieces = [
        _pieces_of(rows, np.flatnonzero(of_body == place), shape) if is_cluster else None
        for place, is_cluster in enumerate(clusters)
    ]
    return parents, pieces


def _pieces_of(rows: Columns, members: Integers, shape: BoxShape) -> Pieces:
    """Return the pieces of a cluster: its members, smaller if these overlap each other or anything else."""
    radius, whole = rows["radius"][members], rows["body_radius"][members[0]]
    cubes = exact_math.total(radius * radius * radius)
    scale = min(1.0, float(exact_math.cbrt(whole * whole * whole * _CLEAR / cubes)))
    smaller = np.minimum(scale * radius, rows["room"][members] * _CLEAR)
    offset = shape.nearest(rows["position"][members] - rows["body_position"][members])
    weights = smaller * smaller * smaller
    middle = exact_math.totals(weights[:, None] * offset) / exact_math.total(weights)
    return Pieces(smaller, offset - middle)
