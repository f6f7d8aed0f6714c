"""The contact law of a block of contacts between particles, stage by stage.

A processor looks ahead some two hundred instructions. The whole law has more than six hundred for one vector of
contacts, so that the processor would wait for one root or quotient after the other. Each stage is a short loop over
the block, and the processor works on several vectors of it at the same time. Results of a stage for later stages are in
columns of `BLOCK` numbers that stay in the nearest cache, see `pdem.contact.pairs.layout`.

`at` is the index at which the columns of a worker begin, `c` the number of a contact in the block; ``w + NAME`` is the
index of one number of that contact. Indices are unsigned, see `pdem.contact.pairs.evaluate`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.law.parts import TINY
from pdem.contact.pairs.history import prefetch_history
from pdem.contact.pairs.layout import (
    ARM_I,
    ARM_J,
    BLOCK,
    COEFFICIENTS,
    CONTACT_X,
    FORCE_J_X,
    INERTIA,
    INVERSE_MASS,
    INVERSE_MASS_I,
    INVERSE_MASS_J,
    MASS,
    MATERIAL_I,
    MATERIAL_J,
    MIDDLE_X,
    NORMAL_X,
    OVERLAP_BEGIN,
    OVERLAP_END,
    OVERLAP_MIDDLE,
    PAIR,
    RADIUS,
    RADIUS_I,
    RADIUS_J,
    ROLLING_X,
    SLIP_X,
    SPIN,
    STATE,
    STRIDE,
    VELOCITY_X,
    VX_I,
    VX_J,
    WX_I,
    WX_J,
    X_I,
    X_J,
    force_row_of,
)
from pdem.foundation.packed_row import PACKED
from pdem.motion.inverse_masses import inverse_mass_along
from pdem.numerics.box_images import frame3, images_in, minimum_image_of_box, nearest_in_frame, nearest_motion, power
from pdem.numerics.geometry_kernels import SPHERE_INERTIA, inlined_geometry, nearest_image
from pdem.numerics.kernel_factory import inlined_closure
from pdem.numerics.kernels import inlined
from pdem.numerics.simd.listed_rows import GROUP, columns_to_listed_rows, listed_rows_to_columns
from pdem.numerics.simd.unsigned_index import ROW, offset
from pdem.numerics.vectors import cross3, dot3, get3, minus3, put3, square_root

if TYPE_CHECKING:
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.contact.pairs.arguments import Candidates, Contacts, StepParameters
    from pdem.foundation.array_types import Floats
    from pdem.numerics.vectors import Vector

APART, TOO_DEEP = 1.0, 2.0
"""Values of the column `STATE`: spheres that do not touch, and spheres that overlap by more than the limit."""

_gather_particle = listed_rows_to_columns(PACKED, BLOCK, PACKED)


@inlined
def minimum_image(d: Vector, period: Floats, frequency: Floats, images: Any) -> Vector:
    """Return the displacement from a centre to the nearest image of a second one [m], from that to any image.

    `images` come from `pdem.numerics.box_images.images_in`.
    """
    if images is not None:
        return minimum_image_of_box(d, images)
    return (
        nearest_image(d[0], period[0], frequency[0]),
        nearest_image(d[1], period[1], frequency[1]),
        nearest_image(d[2], period[2], frequency[2]),
    )


@inlined
def relative_motion(d: Vector, v: Vector, period: Floats, frequency: Floats, images: Any) -> tuple[Vector, Vector]:
    """Return displacement [m] and relative velocity [m/s] to the nearest image of a second centre, from any image."""
    if images is not None:
        return nearest_motion(d, v, images)
    return minimum_image(d, period, frequency, images), v


@inlined
def distance_vector(work: Floats, w: int, parameters: StepParameters, images: Any) -> Vector:
    """Return the vector from the centre of lower id to the nearest image of the other [m], in the frame of `images`."""
    if images is not None:
        there, here = (frame3(work, w + X_J, STRIDE, images.frame), frame3(work, w + X_I, STRIDE, images.frame))
        return nearest_in_frame(minus3(there, here), images.frame)
    d = minus3(get3(work, w + X_J, STRIDE), get3(work, w + X_I, STRIDE))
    return minimum_image(d, parameters.period, parameters.frequency, images)


@inlined
def limits_of(ri: float, rj: float, largest_overlap: float) -> tuple[float, float]:
    """Return the squares of the distances below which two spheres touch, and overlap by more than the limit [m^2]."""
    reach = ri + rj
    close = max(reach - largest_overlap * min(ri, rj), 0.0)
    return reach * reach, close * close


@inlined
def gather_particles(
    at: int, first: int, count: int, following: int, contacts: Contacts, packed: Floats,
    work: Floats,
) -> None:  # fmt: skip
    """Write the packed rows of the particles of contacts, from the history index `first` on, into columns.

    Meanwhile the histories of the block that begins at `following` are prefetched, a few at a time: many prefetches
    together would stall.
    """
    for c in range(0, count, GROUP):
        h, w = offset(first, c), offset(at, c)
        prefetch_history(following + c, GROUP, contacts.width, contacts.history)
        _gather_particle(packed, (contacts.lower,), h, work, w + X_I)
        _gather_particle(packed, (contacts.higher,), h, work, w + X_J)


@inlined
def contact_geometry(at: int, count: int, real: int, parameters: StepParameters, work: Floats) -> int:
    """First stage: normals and overlaps at the end and in the middle of the step.

    Writes which contacts have ended or overlap by more than the limit, and returns their number among the first `real`.
    """
    dt, images, odd = parameters.dt, images_in(parameters.images), 0
    for c in range(count):
        w = offset(at, c)
        reach = work[w + RADIUS_I] + work[w + RADIUS_J]
        touch, deep = limits_of(work[w + RADIUS_I], work[w + RADIUS_J], parameters.largest_overlap)
        d, v = relative_motion(
            minus3(get3(work, w + X_J, STRIDE), get3(work, w + X_I, STRIDE)),
            minus3(get3(work, w + VX_J, STRIDE), get3(work, w + VX_I, STRIDE)),
            parameters.period, parameters.frequency, images,
        )  # fmt: skip
        squared = dot3(d, d)
        distance = max(square_root(squared), TINY)
        m = d[0] - 0.5 * dt * v[0], d[1] - 0.5 * dt * v[1], d[2] - 0.5 * dt * v[2]
        middle = max(square_root(dot3(m, m)), TINY)
        # division is the slowest operation: one for both lengths
        inverse = 1.0 / (distance * middle)
        scale = middle * inverse
        put3(work, w + NORMAL_X, STRIDE, (d[0] * scale, d[1] * scale, d[2] * scale))
        scale = distance * inverse
        put3(work, w + MIDDLE_X, STRIDE, (m[0] * scale, m[1] * scale, m[2] * scale))
        put3(work, w + VELOCITY_X, STRIDE, v)
        work[w + OVERLAP_END], work[w + OVERLAP_MIDDLE] = reach - distance, reach - middle
        apart = squared >= touch
        work[w + STATE] = APART if apart else (TOO_DEEP if squared < deep else 0.0)
        odd += 1 if (c < real) & (apart | (squared < deep)) else 0
    return odd


@inlined_geometry
def member_masses(
    at: int, first: int, count: int, candidates: Candidates, contacts: Contacts, tensors: Floats,
    work: Floats,
) -> None:  # fmt: skip
    """Write the inverse masses of particles along the normals of contacts: with clusters, after the first stage.

    `first` is the history index of the first contact. Compiled without contraction, since the result must not depend
    on which contacts are in a block together.
    """
    for c in range(count):
        w, k = offset(at, c), contacts.candidate[offset(first, c)] & ROW
        n = get3(work, w + NORMAL_X, STRIDE)
        work[w + INVERSE_MASS_I] = inverse_mass_along(candidates.lower[k], n, tensors)
        work[w + INVERSE_MASS_J] = inverse_mass_along(candidates.higher[k], n, tensors)


@inlined
def contact_kinematics(at: int, count: int, parameters: StepParameters, materials: float, work: Floats) -> int:
    """Second stage: arms, motion at the contact, effective radius, mass and inertia.

    Returns how many contacts have a pair of materials that differs from `materials`.
    """
    others = 0
    for c in range(count):
        w = offset(at, c)
        ri, rj = work[w + RADIUS_I], work[w + RADIUS_J]
        v, m = get3(work, w + VELOCITY_X, STRIDE), get3(work, w + MIDDLE_X, STRIDE)
        n = get3(work, w + NORMAL_X, STRIDE)
        overlap, overlap_middle = work[w + OVERLAP_END], work[w + OVERLAP_MIDDLE]
        # the contact point divides the overlap so that forces at it turn neither particle against the other
        inverse_mass = work[w + INVERSE_MASS_I] + work[w + INVERSE_MASS_J]
        inverse = 1.0 / (inverse_mass * (ri + rj))
        share, mass = inverse_mass * rj * inverse, (ri + rj) * inverse
        mid_i, mid_j = ri - overlap_middle * share, rj - overlap_middle * (1.0 - share)
        wi, wj = get3(work, w + WX_I, STRIDE), get3(work, w + WX_J, STRIDE)
        s = (mid_i * wi[0] + mid_j * wj[0], mid_i * wi[1] + mid_j * wj[1], mid_i * wi[2] + mid_j * wj[2])
        u = minus3(v, cross3(s, m))
        um = dot3(u, m)
        spin = (wi[0] + wj[0]) * n[0] + (wi[1] + wj[1]) * n[1] + (wi[2] + wj[2]) * n[2]
        smaller = min(ri, rj)
        pair = work[w + MATERIAL_I] * parameters.materials + work[w + MATERIAL_J]
        put3(work, w + CONTACT_X, STRIDE, u)
        put3(work, w + SLIP_X, STRIDE, (u[0] - um * m[0], u[1] - um * m[1], u[2] - um * m[2]))
        put3(work, w + ROLLING_X, STRIDE, minus3(wj, wi))
        work[w + OVERLAP_BEGIN] = overlap + parameters.dt * dot3(v, m)
        work[w + SPIN] = 0.5 * spin
        work[w + RADIUS], work[w + MASS], work[w + INVERSE_MASS] = ri * share, mass, inverse_mass
        work[w + INERTIA] = SPHERE_INERTIA * mass * smaller * smaller
        work[w + ARM_I], work[w + ARM_J] = ri - overlap * share, rj - overlap * (1.0 - share)
        work[w + PAIR] = pair
        others += 1 if pair != materials else 0
    return others


NO_MATERIALS = -1.0
"""Instead of a pair of materials, if the columns hold coefficients of several pairs."""


@inlined
def gather_coefficients(at: int, count: int, width: int, coefficients: Floats, work: Floats) -> float:
    """Write the coefficients of each contact into columns; return the pair of materials that all contacts share.

    If they share one, its coefficients are written for a whole block and stay valid until a contact has a different
    pair. Otherwise `NO_MATERIALS` is returned. `width` is the number of columns of the pair table.
    """
    first, same = work[np.uint64(at) + PAIR], True
    for c in range(count):
        same &= work[offset(at, c) + PAIR] == first
    for c in range(BLOCK if same else count):
        w = offset(at, c)
        base = width * int(first if same else work[w + PAIR])
        for column in range(width):
            work[w + COEFFICIENTS[0] + np.uint64(BLOCK * column)] = coefficients[base + column]
    return first if same else NO_MATERIALS


@inlined_geometry
def add_box_work(
    at: int, first: int, count: int, parameters: StepParameters, work: Floats, accounts: tuple[Any, ...]
) -> None:  # fmt: skip
    """Add the work of the deforming box on contacts in the step: the power of their forces along their branches.

    `first` is the history index of the first contact; `accounts` are the histories, their width and the column.
    """
    history, width, column = accounts
    frame = images_in(parameters.images).frame
    for c in range(count):
        w, h = offset(at, c), offset(width * first, c)
        n, length = frame3(work, w + NORMAL_X, STRIDE, frame), work[w + ARM_I] + work[w + ARM_J]
        branch = length * n[0], length * n[1], length * n[2]
        done = power(frame3(work, w + FORCE_J_X, STRIDE, frame), branch, frame)
        history[h + column] += done * parameters.dt


def force_scatter_of(law: ContactLaw) -> Any:
    """Make the function that writes forces and torques of contacts from columns to rows."""
    scatter_rows = columns_to_listed_rows(force_row_of(law), BLOCK, force_row_of(law))

    @inlined_closure
    def scatter_forces(at: int, force_index: int, count: int, work: Floats, forces: Floats) -> None:
        """Write forces and torques of the contacts of a block into the rows from `force_index` on.

        Call this one block late: a load with a vector width that differs from that of the store defeats the forwarding
        of stores to loads.
        """
        for c in range(0, count, GROUP):
            scatter_rows(work, offset(at, c) + FORCE_J_X, forces, (), offset(force_index, c))

    return scatter_forces
