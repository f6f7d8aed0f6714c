"""Particles of several spheres, rigid clusters and flexible particles, among the initial particles of a case."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.groups.flexible import FLEXIBLE_COLUMNS, without_flexible
from pdem.case.groups.group_values import GROUP_FIELDS
from pdem.case.groups.shapes import has_clusters, has_flexible, member_count, shapes_of, used_shapes
from pdem.case.laws import material_properties
from pdem.case.sections.shapes import RandomTurn, ShapeTurn
from pdem.containers.clusters import Clusters, ParticleTable, states_of
from pdem.containers.particles import Particles
from pdem.foundation import exact_math
from pdem.motion.clusters.rigid_clusters import place_all_members
from pdem.particles.clusters.cluster_members import cluster_columns, member_columns
from pdem.particles.clusters.shapes import random_orientations, shape_arrays
from pdem.particles.particle_spheres import SINGLE
from pdem.particles.regions import wrap_positions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.case.sections.particles import ParticleGroup
    from pdem.containers.exchange import Exchange
    from pdem.features.insertions.section import Insertion
    from pdem.foundation.array_types import Floats, Integers
    from pdem.particles.filling import PlacedGroup

    Table = dict[str, NDArray[Any]]


def ids_with_members(case: Case, groups: Sequence[PlacedGroup], over: Exchange) -> list[Integers]:
    """Return the ids of the particles of each group; for clusters the ids of their first members. Collective.

    Groups have been placed with one id for each cluster, in the same order.
    """
    found, before, first = [], 0, 0
    for group, section in zip(groups, case.particles, strict=True):
        members, many = member_count(case, section), int(over.add(np.array([len(group.radius)]))[0])
        found.append(first + (group.ids - before) * members)
        before, first = before + many, first + members * many
    return found


def orientations_of(case: Case, groups: Sequence[PlacedGroup]) -> Table:
    """Return number of the shape and orientation of all particles; nothing without shapes."""
    if not used_shapes(case):
        return {}
    names, shape, orientation = list(case.shapes), [], []
    for group, section in zip(groups, case.particles, strict=True):
        count, number = len(group.radius), SINGLE if section.shape is None else names.index(section.shape)
        shape.append(np.full(count, number))
        orientation.append(np.zeros((count, 4)) if section.shape is None else group.orientation)
    none = np.zeros((0, 4))
    return {
        "shape": np.concatenate([np.zeros(0, np.int64), *shape]),
        "orientation": np.concatenate([none, *orientation]),
    }


def orientations(
    group: ParticleGroup | Insertion, seed: int, keys: Integers, attempts: Integers | int, dimension: int
) -> Floats:
    """Return unit quaternions (n, 4), w first, by which particles of a group are turned from how they are drawn.

    Random orientations are keyed by particles and attempts, (n,) each.
    """
    wanted = group.orientation
    if wanted == "random" or isinstance(wanted, RandomTurn):
        own = wanted.random if isinstance(wanted, RandomTurn) else seed
        return random_orientations(own, keys, dimension, attempts)
    quaternion = np.array((1.0, 0.0, 0.0, 0.0))
    if isinstance(wanted, ShapeTurn):
        half, axis = math.radians(0.5 * wanted.angle), np.array(wanted.axis) / exact_math.hypot(*wanted.axis)
        quaternion = np.concatenate(([exact_math.cos(half)], exact_math.sin(half) * axis))
    return np.tile(quaternion, (len(keys), 1))


def with_members(case: Case, table: Table) -> ParticleTable:
    """Return particles in which their spheres replace the particles of several spheres, sorted by id."""
    shape = table.pop("shape", None)
    orientation = table.pop("orientation", None)
    if shape is None or orientation is None:
        return ParticleTable(table)
    is_cluster = shape >= 0
    placed = {**table, "shape": shape, "orientation": orientation}
    members, clusters = made_clusters(case, {name: column[is_cluster] for name, column in placed.items()})
    single = {name: column[~is_cluster] for name, column in table.items()}
    single["cluster"] = np.zeros(len(single["id"]), np.int64)
    single["image"] = np.zeros((len(single["id"]), 3), np.int32)
    if "fixed" in table:
        clusters = _without_fixed(members, clusters, table["fixed"][is_cluster])
    if has_flexible(case):
        clusters = without_flexible(case, members, clusters)
        single |= {name: np.zeros(len(single["id"]), np.int64) for name in FLEXIBLE_COLUMNS}
    joined = {name: np.concatenate((column, members[name])) for name, column in single.items()}
    order = np.argsort(joined["id"])
    return ParticleTable(
        {name: column[order] for name, column in joined.items()}, clusters if has_clusters(case) else {}
    )


def _without_fixed(members: Table, clusters: Table, fixed: NDArray[np.int16]) -> Table:
    """Turn members of fixed clusters into fixed spheres; return the moving clusters. `fixed` (n,) is by cluster."""
    order = np.argsort(clusters["number"])
    at = order[np.searchsorted(clusters["number"], members["cluster"], sorter=order)]
    members["fixed"] = fixed[at]
    members["cluster"] = np.where(members["fixed"] != 0, 0, members["cluster"])
    return {name: column[fixed == 0] for name, column in clusters.items()}


def made_clusters(case: Case, placed: Table) -> tuple[Table, Table]:
    """Return the columns of the members of clusters, and the columns of the clusters.

    `placed` has the arguments of `pdem.particles.clusters.cluster_members.cluster_columns`, and
    optionally fields of `pdem.case.groups.group_values`.
    """
    shapes = list(shapes_of(case).values())
    density = np.array([one.density or 1.0 for one in material_properties(case)])  # fixed particles may have no density
    clusters = cluster_columns(shapes, placed, density)
    further = {name: placed[name] for name in GROUP_FIELDS if name in placed}
    columns = member_columns(shapes, clusters, further)
    table, particles = Clusters(shape_arrays(shapes)), Particles(columns)
    table.replace(clusters["number"], clusters["image"], states_of(clusters))
    place_all_members(table, particles, density)
    wrapped = wrap_positions(particles.position, case.domain)
    period = np.where(case.domain.periodic, np.subtract(case.domain.upper, case.domain.lower), np.inf)
    particles.image[:] = np.round((particles.position - wrapped) / period).astype(np.int32)
    particles.position[:] = wrapped
    return {**columns, **{name: particles[name].copy() for name in particles}}, clusters
