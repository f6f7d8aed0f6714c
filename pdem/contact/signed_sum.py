"""The signed contact sum: wall contacts of one sphere without jumps, for every mesh of one surface the same.

**Energy.** Let S be a wall, chi the Euler characteristic, g(d) the energy of one contact at distance d, g(R) = 0. The
sphere's elastic energy is the integral of chi(S within rho of the centre) (-g'(rho)) over rho up to R. chi adds
up: written as a sum over facets, edges and vertices with whole-number coefficients that cover each point of S once,

    U = sum of k g(d) over features,   k = 1 - chi(what of the surface around the feature is nearer)

with k = 1 at local minima of the distance, -1 at saddles (a crease both of whose facets are touched), 1 at maxima,
0 elsewhere: `pdem.contact.signed_weights`, and `pdem.contact.solid_weights` for closed walls. The force is -grad U:
every feature pushes along its own direction, k times. A minimum and its saddle are born with equal forces.

**Patches.** Touched facets that hang together within reach are one patch, with one resultant elastic force
N = sum of k f(overlap) normal. The contact law sees one contact along N whose overlap gives the force |N|: damping
along N opposes the velocity along N and so never gives energy; friction is limited by mu |N|, with one history;
the law's clipping at zero keeps damping from pulling, and |N|, the size of a gradient, needs no clip. A patch of one
feature (all flat and convex ones) is that feature's contact, bit for bit.

**Rings.** Where the patch is a ring (a sphere stuck in a round hole or a cone), chi is 0 and its saddles cancel its
minima: U would let it fall through. A patch therefore stores at least the energy of its nearest feature alone; where
the sum says less, that feature counts alone. Without a ring this never happens: minima beyond the first store more
than the saddles that join them to it, one each. U stays continuous; the direction of the force may change at once as
a ring's nearest point does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.contact.hierarchy import OUTPUT_FULL, nominate
from pdem.contact.signed_patches import sum_patches
from pdem.foundation.geometry_kernels import inlined_geometry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@inlined_geometry
def resolve_signed(
    x: float,
    y: float,
    z: float,
    radius: float,
    candidates: NDArray[np.int64],
    first: int,
    last: int,
    vertices: NDArray[np.float64],
    normals: NDArray[np.float64],
    facet_start: NDArray[np.int64],
    facet_vertices: NDArray[np.int64],
    facet_edges: NDArray[np.int64],
    edges: NDArray[np.int64],
    edge_facet_start: NDArray[np.int64],
    edge_facet_ids: NDArray[np.int64],
    vertex_facet_start: NDArray[np.int64],
    vertex_facet_ids: NDArray[np.int64],
    facet_side: NDArray[np.int8],
    facet_body: NDArray[np.int64],
    vertex_euler: NDArray[np.int32],
    facet_wall: NDArray[np.int32],
    wall_material: NDArray[np.int32],
    coefficient: NDArray[np.float64],
    pair: int,
    real: NDArray[np.float64],
    integer: NDArray[np.int64],
    tally: NDArray[np.int32],
    kind_out: NDArray[np.int8],
    feature_out: NDArray[np.int64],
    facet_out: NDArray[np.int64],
    point_out: NDArray[np.float64],
    normal_out: NDArray[np.float64],
    overlap_out: NDArray[np.float64],
    energy_out: NDArray[np.float64],
    weight_out: NDArray[np.int64],
    patches: bool,
    out_first: int,
    out_last: int,
) -> int:
    """Find the contact patches of one sphere with the walls, or their features; allocates nothing.

    Parameters
    ----------
    x, y, z, radius, candidates, first, last, vertices, ..., vertex_facet_ids
        As in `pdem.contact.hierarchy.resolve_h2`, of `pdem.containers.surface.surface_of`.
    facet_side, facet_body, vertex_euler : ndarray
        As in `Mesh`.
    facet_wall, wall_material : ndarray, int32
        Wall of each facet, material of each wall.
    coefficient, pair
        Flat pair table and its row of the sphere's material with material 0: whether the force grows with the
        overlap or its power 3/2.
    real, integer, tally : ndarray, shapes (S, 8), (S, 6) and (S, 1 + 2 largest number of sides)
        Rows ``first:last`` are overwritten.
    kind_out, feature_out, facet_out : ndarray, shape (M,)
        What is touched (0 facet, 1 edge, 2 vertex), its number, and a facet that has it; of a patch of several, the
        nearest.
    point_out, normal_out : ndarray, shape (M, 3)
        Contact point [m] and direction of the force on the sphere.
    overlap_out, energy_out : ndarray, shape (M,)
        Overlaps [m] of one contact with the force, and of one with the elastic energy, of the patch.
    weight_out : ndarray, shape (M,), int64
        Weight of a feature; number of features of a patch.
    patches : bool
        Write one row per patch; else one per feature.
    out_first, out_last : int
        Range of output rows. As many as candidates are enough for patches.

    Returns
    -------
    int
        Number of rows written, or `OUTPUT_FULL`.
    """
    count = nominate(
        x, y, z, radius, candidates, first, last, vertices, normals, facet_start, facet_vertices, facet_edges,
        edges, real, integer, first, last,
    )  # fmt: skip
    if count > 1:
        return sum_patches(
            x, y, z, radius, vertices, normals, facet_start, facet_vertices, facet_edges, edges, edge_facet_start,
            edge_facet_ids, vertex_facet_start, vertex_facet_ids, facet_side, facet_body, vertex_euler, facet_wall,
            wall_material, coefficient, pair, real, integer, tally, first, count, kind_out, feature_out, facet_out,
            point_out, normal_out, overlap_out, energy_out, weight_out, patches, out_first, out_last,
        )  # fmt: skip
    if count == 1:  # what the only facet nominates
        if out_first >= out_last:
            return OUTPUT_FULL
        facet_out[out_first], kind_out[out_first], feature_out[out_first] = (
            integer[first, 0], integer[first, 1], integer[first, 2],
        )  # fmt: skip
        overlap_out[out_first] = energy_out[out_first] = radius - real[first, 1]
        weight_out[out_first] = 1
        point_out[out_first, 0] = x - real[first, 2]
        point_out[out_first, 1] = y - real[first, 3]
        point_out[out_first, 2] = z - real[first, 4]
        for axis in range(3):
            normal_out[out_first, axis] = real[first, 5 + axis]
    return count
