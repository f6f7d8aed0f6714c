"""The forces of the particles on the nodes, facets and bodies of the walls.

Every contact gives its force to one facet and, by the weights of H2 eqs. 26-32, to that facet's nodes. Contacts are
added up in the order of their particles' ids and, for one particle, of its contacts: the same sums for any number of
ranks and threads. The work follows the contacts.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.contact.geometry.facet_weights import facet_weights
from pdem.contact.geometry.sphere_facet import nearest_feature
from pdem.contact.geometry.surface_arrays import SurfaceArrays
from pdem.foundation import exact_math
from pdem.numerics.kernels import kernel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Floats, Int32s, Integers
    from pdem.motion.walls import MovingWalls

    Columns = dict[str, Floats]

LOADED = {
    "id": ("i8", ()), "kind": ("i1", ()), "feature": ("i8", ()), "facet": ("i8", ()), "features": ("i8", ()),
    "nearest": ("f8", (3,)), "point": ("f8", (3,)), "force": ("f8", (3,)), "moment": ("f8", (3,)),
    "push": ("f8", ()), "sliding": ("f8", ()), "surface_power": ("f8", ()),
}  # fmt: skip
"""Columns of a contact: particle; touched feature and facet, and number of features that it adds up; points on the
wall and at the radius [m]; force [N] and moment [N m] of the particle on the wall; part of the force along the normal
[N]; power lost by sliding, and power of a moving surface on the particle [W]."""


class NodalLoads(NamedTuple):
    """Forces of the particles on all walls, joined.

    Attributes
    ----------
    force : ndarray, shape (V, 3)
        On each node [N].
    facet_force : ndarray, shape (F, 3)
        On each facet [N].
    pressure : ndarray, shape (F,)
        Normal contact forces on each facet over its area [Pa].
    sliding_power : ndarray, shape (F,)
        Power lost by sliding on each facet in the last step [W]; abrasive wear is proportional to it by assumption.
    body_force, body_torque, body_power : ndarray, shapes (B, 3), (B, 3), (B,)
        On each connected piece of the walls [N]; about the centre of its wall (`MovingWalls.centre`) and at the lever
        arm of the contacts, which differs from the arm of `force` if friction acts at the radius [N m]; power delivered
        to particles [W].
    """

    force: Floats
    facet_force: Floats
    pressure: Floats
    sliding_power: Floats
    body_force: Floats
    body_torque: Floats
    body_power: Floats


class MeshComponents:
    """The connected pieces of walls.

    Parameters
    ----------
    mesh : Mesh
        All walls joined.
    facet_wall : ndarray, shape (F,)
        Wall of each facet.

    Attributes
    ----------
    of_facet : ndarray, shape (F,), int32
        Body of each facet; bodies are numbered by their first facets, and so wall by wall.
    wall : ndarray, shape (B,), int32
        Wall of each body.
    """

    def __init__(self, mesh: Mesh, facet_wall: Int32s) -> None:
        self.of_facet = mesh.pieces[0].astype(np.int32)
        self.wall = np.zeros(int(self.of_facet.max()) + 1, np.int32)
        self.wall[self.of_facet] = facet_wall


@kernel
def _share(
    kind: NDArray[np.int8],
    feature: Integers,
    facet: Integers,
    features: Integers,
    nearest: Floats,
    force: Floats,
    surface: SurfaceArrays,
    weights: Floats,
    nodal: Floats,
) -> None:
    """Add the force of each contact, in their order, to the nodes of its facet."""
    for contact in range(len(kind)):
        x, y, z = nearest[contact, 0], nearest[contact, 1], nearest[contact, 2]
        f, what, number = facet[contact], np.int64(kind[contact]), feature[contact]
        if features[contact] > 1:  # the resultant of a patch is at no feature of its own
            what, number, _, _, _, _ = nearest_feature(x, y, z, f, surface)
        facet_weights((x, y, z), what, number, f, surface, weights, 0)
        begin = surface.facet_start[f]
        for place in range(begin, surface.facet_start[f + 1]):
            for axis in range(3):
                nodal[surface.facet_vertices[place], axis] += weights[0, place - begin] * force[contact, axis]


def nodal_loads(walls: MovingWalls, bodies: MeshComponents, contacts: Mapping[str, NDArray]) -> NodalLoads:
    """Add up the contacts of all ranks.

    Parameters
    ----------
    walls : MovingWalls
        Present poses of the walls.
    bodies : MeshComponents
        Connected pieces of the walls.
    contacts : mapping of ndarray
        The columns of `LOADED`, sorted by particle.
    """
    order = np.argsort(contacts["id"], kind="stable")
    of = {name: np.ascontiguousarray(column[order]) for name, column in contacts.items()}
    walls.place_all()  # contacts of other ranks may be at walls that this rank has not moved
    mesh, facet, force = walls.mesh, of["facet"], of["force"]
    nodal = np.zeros((mesh.vertex_count, 3))
    _share(
        of["kind"], of["feature"], facet, of["features"], of["nearest"], force,
        SurfaceArrays.of(mesh, walls.vertices, walls.normals), np.zeros((1, mesh.largest_order)), nodal,
    )  # fmt: skip
    wall, body, count = walls.facet_wall[facet], bodies.of_facet[facet], len(bodies.wall)
    torque = np.cross(of["point"] - walls.centre[wall], force) + of["moment"]
    power = exact_math.inner(force, walls.velocity[wall])
    power += exact_math.inner(torque, walls.angular_velocity[wall])
    facets = mesh.facet_count
    return NodalLoads(
        nodal,
        _sums(facet, force, facets),
        _sums(facet, of["push"], facets) / mesh.facet_areas,
        _sums(facet, of["sliding"], facets),
        _sums(body, force, count),
        _sums(body, torque, count),
        0.0 - _sums(body, power - of["surface_power"], count),
    )


def _sums(place: NDArray, values: Floats, count: int) -> Floats:
    """Add rows up by index, in their order."""
    columns = values.reshape(len(values), math.prod(values.shape[1:])).T
    sums = [np.bincount(place, weights=column, minlength=count) for column in columns]
    return np.asarray(np.stack(sums, axis=1).reshape(count, *values.shape[1:]), np.float64)
