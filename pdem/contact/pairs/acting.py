"""Kernels that write the acting contacts between particles: contact points, branch vectors and forces."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from pdem.contact.pairs.stages import minimum_image
from pdem.foundation.packed_row import PACKED, PLACE
from pdem.numerics.box_images import images_in
from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.kernels import prange, uncounted_kernel

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Int32s, Integers
    from pdem.numerics.vectors import Vector


class PairGeometry(NamedTuple):
    """Columns of contacts between particles, see `pdem.engine.views.acting_contacts.ActingContacts`."""

    first: Integers
    second: Integers
    centre: Floats
    branch: Floats
    point: Floats
    normal: Floats
    overlap: Floats


class PairWays(NamedTuple):
    """The columns of `PairGeometry` that do not depend on forces."""

    first: Integers
    second: Integers
    centre: Floats
    branch: Floats


class PairSources(NamedTuple):
    """Arrays from which the columns are computed.

    Attributes
    ----------
    candidate, lower, higher : int32 arrays
        Candidate of each contact, and rows of the particles of candidates.
    packed : array
        Packed rows.
    radius : array
        Radii of particles [m].
    to_centre : (n, 3) array
        Vector from each particle to the centre of its body [m]; (0, 3) if particles are bodies.
    period, inverse : (3,) arrays
        Lengths of the box and their inverse, 0 for axes that are not periodic [m, 1/m].
    images : array or None
        See `pdem.numerics.box_images`; None for a box that does not deform.
    """

    candidate: Int32s
    lower: Int32s
    higher: Int32s
    packed: Floats
    radius: Floats
    to_centre: Floats
    period: Floats
    inverse: Floats
    images: Any


@inlined_geometry
def write_way(c: int, source: PairSources, to: PairWays) -> Vector:
    """Write particles, centre and branch of one contact; return the vector between the centres of the particles."""
    candidate = source.candidate[c]
    i, j = source.lower[candidate], source.higher[candidate]
    here, there, packed = PACKED * i + PLACE, PACKED * j + PLACE, source.packed
    to_any = (
        packed[there] - packed[here], packed[there + 1] - packed[here + 1], packed[there + 2] - packed[here + 2]
    )  # fmt: skip
    way = minimum_image(to_any, source.period, source.inverse, images_in(source.images))
    to.first[c], to.second[c] = i, j
    for axis in range(3):
        to.centre[c, axis], to.branch[c, axis] = packed[here + axis], way[axis]
        if len(source.to_centre) > 0:
            to.centre[c, axis] += source.to_centre[i, axis]
            to.branch[c, axis] = way[axis] + source.to_centre[j, axis] - source.to_centre[i, axis]
    return way


@inlined_geometry
def write_pair(c: int, source: PairSources, to: PairGeometry) -> None:
    """Write all columns of one contact."""
    way = write_way(c, source, PairWays(to.first, to.second, to.centre, to.branch))
    i, j = to.first[c], to.second[c]
    distance = math.sqrt(way[0] * way[0] + way[1] * way[1] + way[2] * way[2])
    reach = source.radius[i] + source.radius[j]
    overlap = reach - distance
    arm = source.radius[i] - overlap * (source.radius[j] / reach)
    to.overlap[c] = overlap
    for axis in range(3):
        normal = way[axis] / distance
        to.normal[c, axis], to.point[c, axis] = (normal, source.packed[PACKED * i + PLACE + axis] + arm * normal)


@uncounted_kernel
def write_pairs(source: PairSources, to: PairGeometry) -> None:
    """Write the columns of all contacts between particles."""
    for c in prange(len(source[0])):
        write_pair(c, PairSources(*source), PairGeometry(*to))


@uncounted_kernel
def write_ways(source: PairSources, to: PairWays) -> None:
    """Write particles, centres and branches of all contacts between particles."""
    for c in prange(len(source[0])):
        write_way(c, PairSources(*source), PairWays(*to))


@uncounted_kernel
def gather_forces(candidate: Int32s, index: Int32s, stored: Floats, forces: Floats) -> None:
    """Write the forces (n, 3) on the higher particles of candidates, 0 where they do not touch."""
    for c in prange(len(candidate)):
        row = index[candidate[c]]
        for axis in range(3):
            forces[c, axis] = stored[row, axis] if row > 0 else 0.0
