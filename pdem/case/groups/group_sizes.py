"""Sizes of the particles of groups and insertions, both spheres and clusters.

The radius of a cluster is the radius of the sphere with the same volume, so that masses and numbers follow as for
spheres. Where space is needed, the reach of the cluster matters.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.case.groups.shapes import shape_of
from pdem.case.sections.sizes import sizes_of
from pdem.containers.sizes import Constant
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from pdem.case.sections.particles import ParticleGroup
    from pdem.case.sections.schema import CaseData
    from pdem.containers.sizes import SizeDistribution
    from pdem.features.insertions.section import Insertion

    Group = ParticleGroup | Insertion


def group_sizes(case: CaseData, group: Group) -> SizeDistribution | None:
    """Return the distribution of the radii of a group; None if they come from a file.

    Raises
    ------
    CaseError
        If the file of its shape cannot be used.
    InputError
        If there is no such distribution.
    """
    if group.radius is not None:
        return sizes_of(group.radius)
    return None if group.shape is None else Constant(shape_of(case, group.shape).equivalent_radius)


def insertion_sizes(case: CaseData, insertion: Insertion) -> SizeDistribution:
    """Return the distribution of the radii of an insertion."""
    sizes = group_sizes(case, insertion)
    assert sizes is not None, "a checked insertion has a radius or a shape"
    return sizes


def reach_of(case: CaseData, group: Group) -> float:
    """Return the reach of particles of a group from their centre, divided by their radius: 1 for spheres."""
    if group.shape is None:
        return 1.0
    shape = shape_of(case, group.shape)
    return shape.reach / shape.equivalent_radius


def mean_room(case: CaseData, group: Group, sizes: SizeDistribution) -> float:
    """Return the mean volume of particles of a group [m^3], in 2D the area of their cuts across z [m^2]."""
    if case.domain.dimension == 3:
        return 4.0 / 3.0 * math.pi * sizes.mean_cube
    shape = None if group.shape is None else shape_of(case, group.shape)
    share = 1.0 if shape is None else shape.disc_radius / shape.equivalent_radius
    return math.pi * (share * share) * exact_math.power(sizes.mean_cube, 2.0 / 3.0)


def largest_cluster_reach(case: CaseData) -> float:
    """Return the largest reach of the clusters of a case from their centres [m]; 0 without clusters."""
    groups: list[Group] = [*case.particles, *case.insertions]
    sizes = [(group, group_sizes(case, group)) for group in groups if group.shape is not None]
    return max((reach_of(case, group) * size.largest for group, size in sizes if size is not None), default=0.0)


def sphere_limits(case: CaseData, group: Group) -> tuple[float, float] | None:
    """Return the smallest and the largest radius [m] of all spheres of a group; None if they come from a file."""
    sizes = group_sizes(case, group)
    if sizes is None:
        return None
    if group.shape is None:
        return sizes.smallest, sizes.largest
    shape = shape_of(case, group.shape)
    scale = 1.0 / shape.equivalent_radius
    return sizes.smallest * scale * float(shape.radius.min()), sizes.largest * scale * float(shape.radius.max())


def mass_shares(case: CaseData) -> dict[str, float]:
    """Return, for each material of clusters, the least effective mass of a sphere over the mass of that sphere.

    In a contact, the effective mass of a rigid body is no less than the mass of the touched sphere alone. But where
    many spheres share the same material, and several contacts act at the same time, each has a smaller share.
    """
    shares: dict[str, float] = {}
    groups: list[Group] = [*case.particles, *case.insertions]
    for group in groups:
        if group.shape is not None:
            share = shape_of(case, group.shape).mass_share
            shares[group.material] = min(share, shares.get(group.material, 1.0))
    return shares


def least_mass(case: CaseData, material: str, radius: float) -> float:
    """Return the least effective mass [kg] of a sphere of a material and radius [m]; see `mass_shares`."""
    density, share = case.materials[material].density or 0.0, mass_shares(case).get(material, 1.0)
    return density * 4.0 / 3.0 * math.pi * (radius * radius * radius) * share
