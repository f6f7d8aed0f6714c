"""The motion of rigid clusters of spheres, and where their members are.

Forces and torques of the members, in their order, are those of the cluster; they and gravity, which acts at the centre
of mass, kick velocity and angular momentum. In the drift the centre moves on and the orientation turns as without
torque (`pdem.motion.rigid_rotation`). Members follow from the state: their velocities in a step are those of the
middle of it, for which the orientation is turned back by half a step, so that each rank finds the same from the state
alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.containers.clusters import CENTRE, MATERIAL, MOMENTUM, ORIENTATION, SCALE, SHAPE, ShapeArrays
from pdem.containers.clusters import SPEED as CENTRE_SPEED
from pdem.foundation.box_images import power
from pdem.foundation.geometry_kernels import inlined_geometry, sphere_mass
from pdem.foundation.kernels import plain, prange, threaded_kernel
from pdem.foundation.vectors import exact_cross3
from pdem.motion.displacement import box_work_of, drifted
from pdem.motion.integration import (
    FINE,
    GONE,
    INVERSE_MASS,
    PACKED,
    PLACE,
    SIZE,
    SPEED,
    SPIN,
    Motion,
    StepColumns,
    without_crawl,
)
from pdem.motion.integration import MATERIAL as MATERIAL_PLACE
from pdem.motion.inverse_masses import TENSOR, inverse_inertia_in_space, write_sphere_tensor, write_tensor
from pdem.motion.rigid_rotation import angular_velocity, to_space, turned
from pdem.simd.places import ROW

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.containers.clusters import Clusters
    from pdem.containers.particles import Particles
    from pdem.foundation.vectors import Vector
    from pdem.motion.rigid_rotation import Quaternion

    Floats = NDArray[np.float64]


class ClusterArrays(NamedTuple):
    """The clusters of a rank for kernels.

    Attributes
    ----------
    states : (n, `pdem.containers.clusters.STATE`) array
        Of owned clusters and copies.
    image : (count, 3) int32 array
        Lengths of the periodic box travelled by owned clusters.
    first : (count,) int64 array
        Members of owned cluster c stand in `member` from ``first[c]`` on.
    member : int32 array
        Rows of the members of owned clusters, in the order of their shapes.
    tensor : flat array
        Inverse mass tensors of all particles by row, `TENSOR` numbers each; written.
    """

    states: Floats
    image: NDArray[np.int32]
    first: NDArray[np.int64]
    member: NDArray[np.int32]
    tensor: Floats


class Body(NamedTuple):
    """A cluster while its members are found: centre, velocity, orientation, inertia, and which spheres it has.

    Attributes
    ----------
    centre, velocity : tuple of 3 float
        [m, m/s].
    orientation : tuple of 4 float
        Unit quaternion.
    momentum, inverse_inertia : tuple of 3 float
        Angular momentum in space [kg m^2/s]; one over the principal moments [1/(kg m^2)].
    inverse_mass, scale, material : float
        One over the mass [1/kg]; scale of the shape; index of the material.
    begin, end : int
        Spheres of the shape.
    """

    centre: Vector
    velocity: Vector
    orientation: Quaternion
    momentum: Vector
    inverse_inertia: Vector
    inverse_mass: float
    scale: float
    material: float
    begin: int
    end: int


@inlined_geometry
def body_of(c: int, states: Floats, shapes: ShapeArrays, density: Floats) -> Body:
    """Return the cluster in a row of states."""
    shape, scale = int(states[c, SHAPE]), states[c, SCALE]
    cube = density[int(states[c, MATERIAL])] * (scale * scale * scale)
    fifth = cube * (scale * scale)
    moments = shapes.moments
    return Body(
        (states[c, CENTRE], states[c, CENTRE + 1], states[c, CENTRE + 2]),
        (states[c, CENTRE_SPEED], states[c, CENTRE_SPEED + 1], states[c, CENTRE_SPEED + 2]),
        (states[c, ORIENTATION], states[c, ORIENTATION + 1], states[c, ORIENTATION + 2], states[c, ORIENTATION + 3]),
        (states[c, MOMENTUM], states[c, MOMENTUM + 1], states[c, MOMENTUM + 2]),
        (1.0 / (fifth * moments[shape, 0]), 1.0 / (fifth * moments[shape, 1]), 1.0 / (fifth * moments[shape, 2])),
        1.0 / (cube * shapes.volume[shape]), scale, states[c, MATERIAL], shapes.begin[shape],
        shapes.begin[shape + 1],
    )  # fmt: skip


@inlined_geometry
def _offset(k: int, scale: float, shapes: ShapeArrays) -> Vector:
    """Return where sphere k of all shapes is from the centre of mass, along principal axes [m]."""
    return scale * shapes.offset[k, 0], scale * shapes.offset[k, 1], scale * shapes.offset[k, 2]


@inlined_geometry
def velocity_at(velocity: Vector, spin: Vector, arm: Vector) -> Vector:
    """Return the velocity of a point of a body that is `arm` away from its centre [m/s]."""
    swept = exact_cross3(spin, arm)
    return velocity[0] + swept[0], velocity[1] + swept[1], velocity[2] + swept[2]


@inlined_geometry
def load_on(
    c: int, body: Body, shapes: ShapeArrays, clusters: ClusterArrays, columns: StepColumns
) -> tuple[Vector, Vector]:
    """Return the sums of the forces on the members of a cluster [N] and of their torques about its centre [N m]."""
    fx = fy = fz = tx = ty = tz = 0.0
    force, torque = columns.force, columns.torque
    for k in range(body.begin, body.end):
        p = clusters.member[clusters.first[c] + k - body.begin] & ROW
        f = force[p, 0], force[p, 1], force[p, 2]
        turn = exact_cross3(to_space(body.orientation, _offset(k, body.scale, shapes)), f)
        fx, fy, fz = fx + f[0], fy + f[1], fz + f[2]
        tx, ty, tz = (
            tx + (torque[p, 0] + turn[0]),
            ty + (torque[p, 1] + turn[1]),
            tz + (torque[p, 2] + turn[2]),
        )
    return (fx, fy, fz), (tx, ty, tz)


@inlined_geometry
def kick_cluster(
    c: int, half: float, motion: Motion, inverse_mass: float, load: tuple[Vector, Vector], states: Floats
) -> None:
    """Let force and torque on a cluster, and gravity, act for a time `half` [s]."""
    free, gravity, (total, twist) = motion.free, motion.gravity, load
    for axis in range(3):
        push = half * (total[axis] * inverse_mass + gravity[axis])
        states[c, CENTRE_SPEED + axis] = without_crawl(states[c, CENTRE_SPEED + axis] + free[axis] * push)
        turning = free[3 + axis] * half * twist[axis]
        states[c, MOMENTUM + axis] = without_crawl(states[c, MOMENTUM + axis] + turning)


@inlined_geometry
def drift_cluster(c: int, dt: float, motion: Motion, body: Body, clusters: ClusterArrays) -> int:
    """Move the centre of a cluster on, and turn it; return `FINE` or `GONE`."""
    states, u = clusters.states, body.velocity
    x, v, turns, _, gone = drifted(
        (dt * u[0], dt * u[1], dt * u[2]), body.centre, u, body.centre, motion.sides, motion.box
    )
    for axis in range(3):
        states[c, CENTRE + axis], states[c, CENTRE_SPEED + axis] = x[axis], v[axis]
        clusters.image[c, axis] += int(turns[axis])
    q = turned(body.orientation, body.momentum, body.inverse_inertia, dt)
    for part in range(4):
        states[c, ORIENTATION + part] = q[part]
    return GONE if gone else FINE


@inlined_geometry
def middle_of(body: Body, back: float) -> tuple[Quaternion, Vector]:
    """Return orientation and angular velocity [rad/s] of a cluster a time `back` [s] ago."""
    then = turned(body.orientation, body.momentum, body.inverse_inertia, -back)
    return then, angular_velocity(then, body.momentum, body.inverse_inertia)


@inlined_geometry
def place_members(
    c: int, back: float, body: Body, shapes: ShapeArrays, clusters: ClusterArrays, columns: StepColumns
) -> None:
    """Write positions, which are not wrapped, velocities of a time `back` [s] ago, and tensors of all members."""
    then, spin = middle_of(body, back)
    inertia = inverse_inertia_in_space(body.orientation, body.inverse_inertia)
    for k in range(body.begin, body.end):
        p = clusters.member[clusters.first[c] + k - body.begin] & ROW
        offset = _offset(k, body.scale, shapes)
        arm = to_space(body.orientation, offset)
        velocity = velocity_at(body.velocity, spin, to_space(then, offset))
        for axis in range(3):
            columns.position[p, axis] = body.centre[axis] + arm[axis]
            columns.image[p, axis] = clusters.image[c, axis]
            columns.velocity[p, axis], columns.angular_velocity[p, axis] = velocity[axis], spin[axis]
        write_tensor(p, arm, body.inverse_mass, inertia, clusters.tensor)


@inlined_geometry
def add_box_work(
    c: int,
    dt: float,
    body: Body,
    shapes: ShapeArrays,
    clusters: ClusterArrays,
    columns: StepColumns,
    box: Any,
) -> None:
    """Add what the deformation of the box does by the forces on members: branches of contacts lead to their centres.

    The box moves the centre of a cluster. The account is that of its first member.
    """
    if box is not None:
        done, force = 0.0, columns.force
        for k in range(body.begin, body.end):
            p = clusters.member[clusters.first[c] + k - body.begin] & ROW
            arm = to_space(body.orientation, _offset(k, body.scale, shapes))
            done -= power((force[p, 0], force[p, 1], force[p, 2]), arm, box)
        columns.box_work[clusters.member[clusters.first[c]] & ROW] += dt * done


@inlined_geometry
def begin_cluster(
    c: int, dt: float, kicks: int, motion: Motion, density: Floats, shapes: ShapeArrays, clusters: ClusterArrays,
    columns: StepColumns,
) -> int:  # fmt: skip
    """Begin the step of one cluster, as `begin_clusters` does; return `FINE` or `GONE`."""
    states, body = clusters.states, body_of(c, clusters.states, shapes, density)
    load = load_on(c, body, shapes, clusters, columns)
    if kicks > 1:
        add_box_work(c, dt, body, shapes, clusters, columns, motion.box)
    for _ in range(kicks):
        kick_cluster(c, 0.5 * dt, motion, body.inverse_mass, load, states)
    code = drift_cluster(c, dt, motion, body_of(c, states, shapes, density), clusters)
    body = body_of(c, states, shapes, density)
    place_members(c, 0.5 * dt, body, shapes, clusters, columns)
    if motion.box is not None:
        done = box_work_of(body.centre, body.velocity, body.inverse_mass, dt, motion.box)
        columns.box_work[clusters.member[clusters.first[c]] & ROW] += done
    return code


@inlined_geometry
def finish_cluster(
    c: int, half: float, motion: Motion, density: Floats, shapes: ShapeArrays, clusters: ClusterArrays,
    columns: StepColumns,
) -> None:  # fmt: skip
    """End the step of one cluster, as `finish_clusters` does."""
    body = body_of(c, clusters.states, shapes, density)
    load = load_on(c, body, shapes, clusters, columns)
    add_box_work(c, 2.0 * half, body, shapes, clusters, columns, motion.box)
    kick_cluster(c, half, motion, body.inverse_mass, load, clusters.states)
    body = body_of(c, clusters.states, shapes, density)
    spin = angular_velocity(body.orientation, body.momentum, body.inverse_inertia)
    for k in range(body.begin, body.end):
        p = clusters.member[clusters.first[c] + k - body.begin] & ROW
        arm = to_space(body.orientation, _offset(k, body.scale, shapes))
        velocity = velocity_at(body.velocity, spin, arm)
        if motion.box is not None:  # of the image that is in the box
            x = body.centre[0] + arm[0], body.centre[1] + arm[1], body.centre[2] + arm[2]
            _, velocity, _, _, _ = drifted((0.0, 0.0, 0.0), x, velocity, x, motion.sides, motion.box)
        for axis in range(3):
            columns.velocity[p, axis], columns.angular_velocity[p, axis] = velocity[axis], spin[axis]


@threaded_kernel
def begin_clusters(
    count: int, dt: float, kicks: int, motion: Motion, density: Floats, shapes: ShapeArrays, clusters: ClusterArrays,
    columns: StepColumns,
) -> int:  # fmt: skip
    """Begin a step of `dt` [s]: half a kick by the forces of the last one, the drift, and the members.

    With two `kicks` the last step is ended as well: both halves of the kick are by the same forces. Tuples are plain
    ones of their fields. Returns `FINE`, or `GONE` if the centre of a cluster has left the box.
    """
    worst = 0
    for c in prange(count):
        code = begin_cluster(
            c,
            dt,
            kicks,
            Motion(*motion),
            density,
            ShapeArrays(*shapes),
            ClusterArrays(*clusters),
            StepColumns(*columns),
        )
        worst = max(worst, code)
    return worst


@threaded_kernel
def finish_clusters(
    count: int, half: float, motion: Motion, density: Floats, shapes: ShapeArrays, clusters: ClusterArrays,
    columns: StepColumns,
) -> None:  # fmt: skip
    """Let the forces on the members act for half a step [s], and write the velocities of the members then."""
    for c in prange(count):
        finish_cluster(
            c,
            half,
            Motion(*motion),
            density,
            ShapeArrays(*shapes),
            ClusterArrays(*clusters),
            StepColumns(*columns),
        )


@threaded_kernel
def write_members(
    count: int, density: Floats, shapes: ShapeArrays, clusters: ClusterArrays, columns: StepColumns
) -> None:
    """Write positions, not wrapped, and velocities of the members of clusters between two steps, from their states."""
    for c in prange(count):
        body = body_of(c, clusters[0], ShapeArrays(*shapes), density)
        place_members(c, 0.0, body, ShapeArrays(*shapes), ClusterArrays(*clusters), StepColumns(*columns))


@inlined_geometry
def place_ghost(
    p: int, sphere: int, back: float, motion: Motion, body: Body, shapes: ShapeArrays, tensor: Floats, packed: Floats
) -> None:  # fmt: skip
    """Write the packed row of the copy of a member, which lists may just have given it, and its tensor."""
    then, spin = middle_of(body, back)
    offset = _offset(body.begin + sphere, body.scale, shapes)
    arm = to_space(body.orientation, offset)
    velocity = velocity_at(body.velocity, spin, to_space(then, offset))
    at = PACKED * (p & ROW)
    x = body.centre[0] + arm[0], body.centre[1] + arm[1], body.centre[2] + arm[2]
    place, velocity, _, _, _ = drifted((0.0, 0.0, 0.0), x, velocity, x, motion.sides, motion.box)
    for axis in range(3):
        packed[at + PLACE + axis] = place[axis]
        packed[at + SPEED + axis], packed[at + SPIN + axis] = velocity[axis], spin[axis]
    packed[at + SIZE], packed[at + MATERIAL_PLACE] = (
        body.scale * shapes.radius[body.begin + sphere],
        body.material,
    )
    packed[at + INVERSE_MASS] = body.inverse_mass  # that along the normal takes its place in contacts
    inertia = inverse_inertia_in_space(body.orientation, body.inverse_inertia)
    write_tensor(p, arm, body.inverse_mass, inertia, tensor)


@threaded_kernel
def place_ghosts(
    first: int, row: NDArray[np.int64], sphere: NDArray[np.int64], back: float, motion: Motion, density: Floats,
    shapes: ShapeArrays, clusters: ClusterArrays, packed: Floats,
) -> None:  # fmt: skip
    """Write the packed rows of the copies of members, and their tensors, from copies of states.

    The particle `first` + g is the sphere ``sphere[g]`` of the cluster in row ``row[g]``, unless that is negative; the
    others follow. Numbers are those that `begin_clusters` has found with ``dt = 2 back``.
    """
    for g in prange(len(row)):
        if row[g] >= 0:
            body = body_of(row[g], clusters[0], ShapeArrays(*shapes), density)
            place_ghost(
                first + g, sphere[g], back, Motion(*motion), body, ShapeArrays(*shapes), clusters[4], packed
            )


@threaded_kernel
def write_tensors(
    count: int, row: NDArray[np.int64], sphere: NDArray[np.int64], radius: Floats, material: NDArray[np.int32],
    density: Floats, shapes: ShapeArrays, clusters: ClusterArrays,
) -> None:  # fmt: skip
    """Write the inverse mass tensors of all particles, owned and copies; `row` is -1 for single spheres."""
    for p in prange(count):
        if row[p] >= 0:
            body = body_of(row[p], clusters[0], ShapeArrays(*shapes), density)
            offset = _offset(body.begin + sphere[p], body.scale, ShapeArrays(*shapes))
            inertia = inverse_inertia_in_space(body.orientation, body.inverse_inertia)
            write_tensor(p, to_space(body.orientation, offset), body.inverse_mass, inertia, clusters[4])
        else:
            write_sphere_tensor(p, 1.0 / sphere_mass(density[material[p]], radius[p]), clusters[4])


def members_in_order(clusters: Clusters, particles: Particles) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return where the members of each owned cluster begin in a list of their rows, and that list."""
    members = np.flatnonzero(particles.cluster)
    sizes = clusters.shapes.sizes[clusters.shape.astype(np.int64)]
    return np.cumsum(sizes) - sizes, members[np.argsort(particles.id[members])].astype(np.int32)


def place_all_members(clusters: Clusters, particles: Particles, density: Floats) -> None:
    """Write positions, which are not wrapped, images and velocities of all members between two steps."""
    columns = StepColumns(*(particles.column(name) for name in StepColumns._fields))
    tensor = np.zeros(TENSOR * (particles.count + particles.ghosts))
    arrays = ClusterArrays(clusters.states, clusters.image, *members_in_order(clusters, particles), tensor)
    write_members(*plain(clusters.count, density, clusters.shapes, arrays, columns))
