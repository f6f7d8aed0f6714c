"""Contacts with walls in blocks: gathering of their data into columns, kinematics, and scattering of results.

The stages of the contact law itself are the same as for contacts between particles (`pdem.contact.pairs.stages`): the
wall is the first body, the sphere the second one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.geometry.surface_arrays import NORMAL, PLACE_ENERGETIC, PLACE_OVERLAP, POINT
from pdem.contact.law.contact_law import UNKNOWN
from pdem.contact.law.parts import TINY
from pdem.contact.pairs.law_stages import H_OVERLAP
from pdem.contact.pairs.layout import (
    ARM_I,
    ARM_J,
    BLOCK,
    CONTACT_X,
    FORCE_J_X,
    INERTIA,
    INVERSE_MASS,
    INVERSE_MASS_J,
    MASS,
    MATERIAL_J,
    NORMAL_X,
    OVERLAP_BEGIN,
    OVERLAP_END,
    PAIR,
    RADIUS,
    RADIUS_J,
    RESISTANCE_X,
    ROLLING_X,
    SLIP_X,
    SPIN,
    STAGED,
    STRIDE,
    TORQUE_PER_ARM_X,
    VX_J,
    WX_J,
    X_J,
    columns,
    row_of,
)
from pdem.foundation.packed_row import PACKED, PLACE
from pdem.motion.inverse_masses import inverse_mass_along
from pdem.numerics.box_images import frame3, images_in, power
from pdem.numerics.geometry_kernels import SPHERE_INERTIA, inlined_geometry
from pdem.numerics.kernel_factory import inlined_closure
from pdem.numerics.kernels import inlined
from pdem.numerics.simd.listed_rows import GROUP, columns_to_listed_rows, listed_rows_to_columns
from pdem.numerics.simd.unsigned_index import ROW, offset
from pdem.numerics.vectors import exact_cross3, exact_dot3, exact_minus3, get3, put3, square_root

if TYPE_CHECKING:
    from pdem.contact.geometry.surface_arrays import Found
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.contact.walls.arguments import WallMotion, WallParameters, WallRecord, WallWork
    from pdem.foundation.array_types import Floats
    from pdem.numerics.vectors import Vector

WALL_EXTRA = 4
"""Columns of a wall contact's history after the columns of the law: the normal (3), the work of the wall [J]."""


def wall_columns_of(law: ContactLaw) -> int:
    """Return the number of columns of a wall contact's history."""
    return law.columns + WALL_EXTRA


(
    POINT_X, _, _, OLD_NORMAL_X, _, _, WALL_WORK_DONE, WALL_VELOCITY_X, _, _, WALL_SPIN_X, _, _, OVERLAP_ENERGETIC,
    WEIGHT, DEPTH, COUNTED,
) = columns(STAGED, 17)  # fmt: skip
"""Columns after the columns of `pdem.contact.pairs.layout`: point of the contact; normal of the last step and work of
the wall, from the history; velocity of the wall at the point at the end of the step, and its angular velocity; overlap
by energy; number of features of a patch; overlap; and 1 if the work of the wall is counted."""

WALL_COLUMNS = BLOCK * (1 + STAGED + 17) + 64
"""Length of the work array of one worker; the last 64 numbers separate two workers."""

LOAD = 6
"""Numbers of a row of forces on a particle: force (3) [N], moment about the contact (3) [N m]."""

_gather_sphere = listed_rows_to_columns(PACKED, BLOCK, PACKED)


def gather_of(law: ContactLaw) -> Any:
    """Make the function that writes particles of contacts, and the histories that these continue, into columns."""
    columns, width = law.columns, wall_columns_of(law)
    gather_history = listed_rows_to_columns(columns, BLOCK, width)
    gather_extra = listed_rows_to_columns(WALL_EXTRA, BLOCK, width, behind=columns)

    @inlined_closure
    def gather_contacts(
        at: int, block: int, first: int, count: int, packed: Floats, before: WallRecord, work: WallWork
    ) -> None:
        """Gather contacts from the index `first` on in the order of evaluation.

        The columns of the law in a history go into a block of `work.history` from the number `block` on, the remaining
        columns into the work columns from `at` on.
        """
        row, particle, match = work.row, work.particle, work.match
        for c in range(0, count, GROUP):
            k, w = offset(first, c), offset(at, c)
            _gather_sphere(packed, (particle,), k, work.columns, w + X_J)
            gather_history(before.history, (match, row), k, work.history, offset(block, c))
            gather_extra(before.history, (match, row), k, work.columns, w + OLD_NORMAL_X)

    return gather_contacts


@inlined
def row3(numbers: Floats, row: int, column: int = 0) -> Vector:
    """Return a vector in a row of an array, from a column on."""
    return numbers[row, column], numbers[row, column + 1], numbers[row, column + 2]


@inlined
def gather_geometry(at: int, first: int, count: int, found: Found, work: WallWork) -> None:
    """Write points, normals and overlaps of contacts into columns."""
    numbers = work.columns
    for c in range(count):
        row, w = work.row[offset(first, c)] & ROW, offset(at, c)
        put3(numbers, w + POINT_X, STRIDE, row3(found.places, row, POINT))
        put3(numbers, w + NORMAL_X, STRIDE, row3(found.places, row, NORMAL))
        numbers[w + DEPTH], numbers[w + OVERLAP_ENERGETIC] = (
            found.places[row, PLACE_OVERLAP],
            found.places[row, PLACE_ENERGETIC],
        )
        numbers[w + WEIGHT] = found.weight[row]


@inlined_geometry
def wall_member_masses(at: int, first: int, count: int, tensors: Floats, work: WallWork) -> None:
    """Write the inverse masses of particles along the normals of contacts, in cases with clusters."""
    numbers = work.columns
    for c in range(count):
        w, p = offset(at, c), work.particle[offset(first, c)]
        numbers[w + INVERSE_MASS_J] = inverse_mass_along(p, get3(numbers, w + NORMAL_X, STRIDE), tensors)


@inlined
def matrix_rows(numbers: Floats, which: int) -> tuple[Vector, Vector, Vector]:
    """Return the rows of one of several matrices."""
    m = numbers[which]
    return (m[0, 0], m[0, 1], m[0, 2]), (m[1, 0], m[1, 1], m[1, 2]), (m[2, 0], m[2, 1], m[2, 2])


@inlined_geometry
def wall_kinematics(
    at: int, block: int, begin: int, end: int, wall: int, materials: float, parameters: WallParameters,
    motion: WallMotion, work: WallWork,
) -> int:  # fmt: skip
    """Compute arms, motion at the contact, effective mass and inertia, for consecutive contacts with one wall.

    Returns how many contacts have a pair of materials that differs from `materials`. Compiled without contraction,
    since the number of contacts in one vector depends on which contacts are in a block together.
    """
    # constants are read before the loop, since the compiler has to assume that writes to the columns change them
    pair, counts = float(motion.material[wall]), float(motion.counted[wall])
    b, o = row3(motion.anchor, wall), row3(motion.angular_velocity, wall)
    f, g = row3(motion.anchor_velocity, wall), row3(motion.mean_velocity, wall)
    l = row3(motion.inverse_mass, wall)  # noqa: E741
    t0, t1, t2 = matrix_rows(motion.velocity_gradient, wall)
    i0, i1, i2 = matrix_rows(motion.inverse_inertia, wall)
    trace = i0[0] + i1[1] + i2[2]
    dt, shortened, numbers = parameters.dt, parameters.shortened, work.columns
    others = 0
    for c in range(begin, end):
        w, h = offset(at, c), offset(block, c)
        n, old = get3(numbers, w + NORMAL_X, STRIDE), get3(numbers, w + OLD_NORMAL_X, STRIDE)
        mx, my, mz = n[0] + old[0], n[1] + old[1], n[2] + old[2]
        inverse = 1.0 / max(square_root(mx * mx + my * my + mz * mz), TINY)
        m = mx * inverse, my * inverse, mz * inverse  # the normal of the middle of the step
        radius, overlap, energetic = numbers[w + RADIUS_J], numbers[w + DEPTH], numbers[w + OVERLAP_ENERGETIC]
        # friction acts at the radius, so that a sphere that rotates with its wall does not slip, or at the wall
        # if the case says so; velocity of the wall at this point at the end of the step, and its mean over the step
        arm = radius - shortened * overlap
        a = exact_minus3(get3(numbers, w + POINT_X, STRIDE), b)
        turned = exact_cross3(o, a)
        p = get3(numbers, w + VX_J, STRIDE)
        v = (p[0] - (g[0] + exact_dot3(t0, a)), p[1] - (g[1] + exact_dot3(t1, a)), p[2] - (g[2] + exact_dot3(t2, a)))
        s = get3(numbers, w + WX_J, STRIDE)
        swept = exact_cross3(s, m)
        u = v[0] - arm * swept[0], v[1] - arm * swept[1], v[2] - arm * swept[2]
        um = exact_dot3(u, m)
        # the inverse mass of a free body adds to the effective inverse mass of the contact
        k = exact_cross3(a, n)
        inverse_mass = numbers[w + INVERSE_MASS_J] + (
            l[0] * n[0] * n[0] + l[1] * n[1] * n[1] + l[2] * n[2] * n[2]
            + k[0] * exact_dot3(i0, k) + k[1] * exact_dot3(i1, k) + k[2] * exact_dot3(i2, k)
        )  # fmt: skip
        known = work.history[h + H_OVERLAP] > UNKNOWN
        earlier = overlap + dt * exact_dot3(v, m)
        # the force of a patch does not follow from the displacement along its normal
        scaled = overlap * work.history[h + H_OVERLAP] / max(energetic, TINY)
        bulk = SPHERE_INERTIA * radius * radius
        inertia = bulk / (numbers[w + INVERSE_MASS_J] + bulk * trace)
        kind = numbers[w + MATERIAL_J] * parameters.materials + pair
        put3(numbers, w + CONTACT_X, STRIDE, u)
        put3(numbers, w + SLIP_X, STRIDE, (u[0] - um * m[0], u[1] - um * m[1], u[2] - um * m[2]))
        put3(numbers, w + ROLLING_X, STRIDE, exact_minus3(s, o))
        numbers[w + OVERLAP_BEGIN] = scaled if (numbers[w + WEIGHT] > 1.0) & known else earlier
        numbers[w + SPIN] = 0.5 * ((s[0] + o[0]) * n[0] + (s[1] + o[1]) * n[1] + (s[2] + o[2]) * n[2])
        numbers[w + RADIUS], numbers[w + MASS], numbers[w + INVERSE_MASS] = (
            radius, 1.0 / inverse_mass, inverse_mass
        )  # fmt: skip
        numbers[w + INERTIA], numbers[w + PAIR], numbers[w + OVERLAP_END] = inertia, kind, overlap
        numbers[w + ARM_I], numbers[w + ARM_J] = 0.0, arm
        put3(
            numbers, w + WALL_VELOCITY_X, STRIDE, (f[0] + turned[0], f[1] + turned[1], f[2] + turned[2])
        )  # fmt: skip
        put3(numbers, w + WALL_SPIN_X, STRIDE, o)
        numbers[w + COUNTED] = counts
        others += 1 if kind != materials else 0
    return others


@inlined_geometry
def add_wall_work(at: int, block: int, count: int, dt: float, ledger: bool, work: WallWork) -> None:
    """Write normals and overlaps by energy to histories, and add the work of the walls for the energy balance."""
    numbers = work.columns
    for c in range(count):
        w, h = offset(at, c), offset(block, c)
        put3(numbers, w + OLD_NORMAL_X, STRIDE, get3(numbers, w + NORMAL_X, STRIDE))
        if ledger:
            force, moment = get3(numbers, w + FORCE_J_X, STRIDE), get3(numbers, w + RESISTANCE_X, STRIDE)
            power = exact_dot3(force, get3(numbers, w + WALL_VELOCITY_X, STRIDE)) + exact_dot3(
                moment, get3(numbers, w + WALL_SPIN_X, STRIDE)
            )
            numbers[w + WALL_WORK_DONE] += numbers[w + COUNTED] * power * dt
        work.history[h + H_OVERLAP] = numbers[w + OVERLAP_ENERGETIC]


@inlined_geometry
def add_box_work_at_walls(
    at: int, account: int, first: int, count: int, parameters: WallParameters, packed: Floats,
    work: WallWork,
) -> None:  # fmt: skip
    """Add the work of the deforming box in the step: it moves particles along walls, which do not deform.

    `account` is the index of the column of the account in `work.history`.
    """
    numbers, frame = work.columns, images_in(parameters.images).frame
    for c in range(count):
        w, row = offset(at, c), row_of(work.particle[offset(first, c)]) + PLACE
        from_centre = exact_minus3(frame3(packed, np.uint64(row), np.uint64(1), frame), frame.centre)
        done = power(frame3(numbers, w + FORCE_J_X, STRIDE, frame), from_centre, frame)
        work.history[offset(account, c)] += done * parameters.dt


def scatter_of(law: ContactLaw) -> Any:
    """Make the function that writes histories of contacts to their rows."""
    columns, width, ledger = law.columns, wall_columns_of(law), law.has_ledger
    scatter_history = columns_to_listed_rows(columns, BLOCK, width, behind=width)
    scatter_extra = columns_to_listed_rows(WALL_EXTRA, BLOCK, width, behind=width + columns)

    @inlined_closure
    def scatter_contacts(
        at: int, block: int, first: int, count: int, dt: float, work: WallWork, now: WallRecord
    ) -> None:
        """Write the histories of contacts from the index `first` on in the order of evaluation."""
        add_wall_work(at, block, count, dt, ledger, work)
        row = work.row
        for c in range(0, count, GROUP):
            k, w = offset(first, c), offset(at, c)
            scatter_history(work.history, offset(block, c), now.history, (row,), k)
            scatter_extra(work.columns, w + OLD_NORMAL_X, now.history, (row,), k)

    return scatter_contacts


@inlined
def scatter_wall_forces(at: int, first: int, count: int, work: WallWork) -> None:
    """Write forces and moments of contacts on particles, and add them to the rows of `total`."""
    numbers = work.columns
    for c in range(count):
        k, w = offset(first, c), offset(at, c)
        row, mine = work.row[k] & ROW, work.owner[k] & ROW
        for axis in range(3):
            along = np.uint64(BLOCK * axis)
            work.force[row, axis] = numbers[w + FORCE_J_X + along]
            moment, torque = numbers[w + RESISTANCE_X + along], numbers[w + TORQUE_PER_ARM_X + along]
            work.force[row, 3 + axis] = moment
            work.total[mine, axis] += numbers[w + FORCE_J_X + along]
            work.total[mine, 3 + axis] += numbers[w + ARM_J] * torque + moment


@inlined
def clear_totals(first: int, last: int, work: WallWork) -> None:
    """Clear the sums of the particles near a wall, from the index `first` of their list on."""
    for row in range(first + 1, last + 1):
        for component in range(LOAD):
            work.total[row, component] = 0.0


@inlined
def list_contact(place: int, row: int, particle: int, owner: int, work: WallWork) -> None:
    """Write a contact into the order of evaluation."""
    work.row[place], work.particle[place], work.owner[place] = row, particle, owner


@inlined
def fill_wall_lanes(begin: int, number: int, whole: int, work: WallWork) -> None:
    """Fill the list of contacts from `begin` to `number` up to whole vectors, with copies of its last contact."""
    for place in range(number, begin + whole):
        work.row[place], work.particle[place] = work.row[number - 1], work.particle[number - 1]


@inlined
def move_point(c: int, shortened: float, found: Found) -> None:
    """Move the point of a contact to the point of action: into the wall by the overlap, unless arms are shortened."""
    for axis in range(3):
        found.places[c, POINT + axis] -= (
            (1.0 - shortened) * found.places[c, PLACE_OVERLAP] * found.places[c, NORMAL + axis]
        )
