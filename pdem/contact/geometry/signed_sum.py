"""The signed contact sum: wall contacts of one sphere without jumps, and the same for every mesh of one surface.

**Energy.** Let S be a wall, chi the Euler characteristic, g(d) the energy of one contact at distance d, g(R) = 0. The
sphere's elastic energy is the integral of chi(S within rho of the centre) (-g'(rho)) over rho up to R. chi adds
up: written as a sum over facets, edges and vertices with whole-number coefficients that cover each point of S once,

    U = sum of k g(d) over features,   k = 1 - chi(nearer part of the surface around the feature)

with k = 1 at local minima of the distance, -1 at saddles (a crease both of whose facets are touched), 1 at maxima,
0 elsewhere: `pdem.contact.geometry.signed_cells`, and `pdem.contact.geometry.solid_cells` for closed walls. The force
is -grad U: every feature pushes along its own direction, k times. A minimum and its saddle are born with equal forces.

**Patches.** Touched facets that are connected within reach are one patch, with one resultant elastic force
N = sum of k f(overlap) normal. The contact law evaluates one contact along N, with the overlap of the force |N|:
damping along N opposes the velocity along N and so never gives energy; friction is limited by mu |N|, with one history;
the law's clipping at zero prevents damping from pulling, and |N|, the size of a gradient, needs no clip. A patch of one
feature (all flat and convex ones) is the contact of this feature, bit for bit.

**Rings.** If the patch is a ring (a sphere stuck in a round hole or a cone), chi is 0 and its saddles cancel its
minima: with U alone the sphere would fall through. A patch therefore stores at least the energy of its nearest feature
alone; if the sum is less, this feature alone counts. Without a ring this never happens: minima beyond the first store
more than the saddles that join them to it, one each. U is continuous; the direction of the force may jump when the
nearest point of a ring does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.contact.geometry.double_hierarchy import OUTPUT_FULL, nominate, write_nominated
from pdem.contact.geometry.signed_patches import sum_patches
from pdem.numerics.geometry_kernels import inlined_geometry

if TYPE_CHECKING:
    from pdem.contact.geometry.signed_patches import Powers
    from pdem.contact.geometry.surface_arrays import FacetRange, Found, Scratch, Sphere, SurfaceArrays


@inlined_geometry
def resolve_signed(
    sphere: Sphere,
    tested: FacetRange,
    first: int,
    surface: SurfaceArrays,
    powers: Powers,
    scratch: Scratch,
    found: Found,
    patches: bool,
    room: int,
) -> int:
    """Find the contact patches of one sphere with the walls, or their features; allocates nothing.

    Parameters
    ----------
    sphere : Sphere
        The sphere.
    tested, first
        See `pdem.contact.geometry.double_hierarchy.resolve_h2`.
    surface : SurfaceArrays
        Surface made by `pdem.containers.meshes.surface.surface_of`.
    powers : Powers
        Whether forces grow with the overlap or its power 3/2.
    scratch, found
        See `resolve_h2`; contacts are written from row `first` on.
    patches : bool
        Write one row per patch; else one per feature.
    room : int
        Rows of `found` that may be written. As many as are tested are enough for patches.

    Returns
    -------
    int
        Number of rows written, or `OUTPUT_FULL`.
    """
    count = nominate(sphere, tested, surface, scratch)
    if count > 1:
        return sum_patches(sphere, surface, powers, scratch, first, count, found, patches, room)
    if count == 1:  # the feature that the only facet nominates
        if room < 1:
            return OUTPUT_FULL
        write_nominated(sphere, scratch.first, first, scratch.real, scratch.integer, found)
    return count
