"""Volume, centre and inertia of a union of spheres, exact to rounding.

The union is cut into slices across x, each a union of discs. Area and moments of a slice follow from the arcs of its
boundary in closed form (Green's theorem). As functions of x they are not smooth where the order of the arcs changes: at
the poles of spheres, at the extremes in x of the intersection circles of two spheres, and at intersection points of
three spheres, unless a further sphere covers these points. Between such positions slices are integrated by
Gauss-Legendre quadrature after the substitution ``x = middle + half sin(pi t / 2)``, which removes the square roots at
both ends. Intervals are halved until the result converges.

The approach, to integrate over the parts that no other sphere covers, is older than its many variants; see D. Avis, B.
Bhattacharya, H. Imai, The Visual Computer 3 (1988) 323, for balls.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.disc_union import slice_moments
from pdem.containers.meshes.solid import Solid, inertia_of
from pdem.foundation import exact_math
from pdem.foundation.quadrature import gauss_legendre
from pdem.numerics.kernels import inlined, kernel
from pdem.numerics.portable.angles import sine_and_cosine

if TYPE_CHECKING:
    from pdem.foundation.array_types import Booleans, Floats, Integers

_COUNT = 10
"""Order of the integrals: 1, x, y, z, xx, xy, xz, yy, zz, yz."""

_TOLERANCE = 1e-15
"""Tolerance of an interval, relative to the sum over all spheres."""

_DEPTH = 40
"""Largest number of times that an interval is halved."""

_HIDDEN = 1e-9
"""Depth inside a sphere, relative to the whole, beyond which a point counts as covered."""


def union_of_spheres(centre: Floats, radius: Floats) -> Solid:
    """Return volume, centre and inertia of the union of some spheres.

    Parameters
    ----------
    centre : (n, 3) array
        Centres [m].
    radius : (n,) array
        Radii, positive [m].

    Returns
    -------
    Solid
        With relative errors of some 1e-14; equal inputs in the same order give the same bits.
    """
    origin = exact_math.totals(centre) / len(centre)
    size = float((exact_math.norm(centre - origin) + radius).max())
    places, radii = (centre - origin) / size, radius / size
    events = _events(places, radii)
    nodes, weights = gauss_legendre(20)
    found = np.zeros(_COUNT)
    scale = _TOLERANCE * exact_math.total(radii * radii * radii)
    _integrate(events, places, radii, nodes, weights, scale, found)
    volume, middle = found[0], found[1:4] / found[0]
    xx, xy, xz, yy, zz, yz = found[4:]
    second = np.array(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))) - volume * middle[:, None] * middle
    cube = size * size * size
    return Solid(float(volume) * cube, origin + size * middle, cube * size * size * inertia_of(second))


def slice_area(centre: Floats, radius: Floats, height: float) -> float:
    """Return the area [m^2] of the section of spheres (n, 3), (n,) [m] with a plane of constant z at a height [m]."""
    return float(_slice_area(height, np.ascontiguousarray(centre[:, (2, 0, 1)]), np.ascontiguousarray(radius)))


@kernel
def _slice_area(x: float, centre: Floats, radius: Floats) -> float:
    discs, covered = np.empty((3, len(radius))), np.empty((2, 2 * len(radius)))
    return slice_moments(x, centre, radius, discs, covered)[0]


def _events(centre: Floats, radius: Floats) -> Floats:
    """Return the positions along x between which slices are smooth functions, increasing."""
    step = radius[:, None] * np.array((1.0, 0.0, 0.0))
    points = np.concatenate((centre - step, centre + step, _turning_points(centre, radius)))
    points = np.concatenate((points, _triple_points(centre, radius)))
    kept = [points[first : first + 4096] for first in range(0, len(points), 4096)]
    seen = np.concatenate([_uncovered(piece, centre, radius) for piece in kept])
    lower, upper = (centre[:, 0] - radius).min(), (centre[:, 0] + radius).max()
    return np.unique(np.clip(np.concatenate((seen[:, 0], (lower, upper))), lower, upper))


def _uncovered(points: Floats, centre: Floats, radius: Floats) -> Floats:
    """Return the points that are not well inside a sphere."""
    apart = exact_math.norm(points[:, None] - centre) - radius
    kept: Floats = points[np.all(apart > -_HIDDEN, axis=1)]
    return kept


def _meeting(centre: Floats, radius: Floats) -> Booleans:
    """Return which pairs of spheres intersect in a circle, (n, n)."""
    apart = exact_math.norm(centre[:, None] - centre)
    total, difference = radius[:, None] + radius, np.abs(radius[:, None] - radius)
    return (apart < total) & (apart > difference)


def _turning_points(centre: Floats, radius: Floats) -> Floats:
    """Return the extreme points along x of the intersection circles of two spheres, (n, 3)."""
    first, second = np.nonzero(np.triu(_meeting(centre, radius), 1))
    apart = centre[second] - centre[first]
    length = exact_math.norm(apart)
    normal = apart / length[:, None]
    along = (length * length + (radius[first] - radius[second]) * (radius[first] + radius[second])) / (2.0 * length)
    circle = np.sqrt(np.maximum((radius[first] - along) * (radius[first] + along), 0.0))
    middle = centre[first] + along[:, None] * normal
    direction = np.array((1.0, 0.0, 0.0)) - normal[:, :1] * normal
    direction /= np.maximum(exact_math.norm(direction), 1e-12)[:, None]
    reach = circle[:, None] * direction
    return np.concatenate((middle - reach, middle + reach))


def _triple_points(centre: Floats, radius: Floats) -> Floats:
    """Return the intersection points of the surfaces of three spheres, (n, 3)."""
    triples = _triples(np.triu(_meeting(centre, radius), 1))
    origin, own = centre[triples[:, 0]], radius[triples[:, 0]]
    a, b = centre[triples[:, 1]] - origin, centre[triples[:, 2]] - origin
    # both radical planes: a . p = alpha, b . p = beta
    alpha = 0.5 * (exact_math.inner(a, a) + (own - radius[triples[:, 1]]) * (own + radius[triples[:, 1]]))
    beta = 0.5 * (exact_math.inner(b, b) + (own - radius[triples[:, 2]]) * (own + radius[triples[:, 2]]))
    line = np.cross(a, b)
    square = exact_math.inner(line, line)
    usable = square > 1e-24  # collinear centres: the surfaces intersect nowhere, or in a circle
    line, square, a, b = line[usable], square[usable], a[usable], b[usable]
    foot = np.cross(alpha[usable, None] * b - beta[usable, None] * a, line) / square[:, None]
    height = own[usable] * own[usable] - exact_math.inner(foot, foot)
    real = height >= 0.0
    step = np.sqrt(height[real] / square[real])[:, None] * line[real]
    middle = origin[usable][real] + foot[real]
    return np.concatenate((middle - step, middle + step))


def _triples(meeting: Booleans) -> Integers:
    """Return all triples (n, 3) of spheres that intersect pairwise; `meeting` has the upper triangle."""
    found = [np.zeros((0, 3), np.int64)]
    for first in range(len(meeting)):
        others = np.flatnonzero(meeting[first])
        second, third = np.nonzero(meeting[np.ix_(others, others)])
        found.append(np.stack((np.full(len(second), first), others[second], others[third]), axis=1))
    return np.concatenate(found)


@kernel
def _integrate(
    events: Floats, centre: Floats, radius: Floats, nodes: Floats, weights: Floats, tolerance: float, found: Floats
) -> None:  # fmt: skip
    """Add the integrals over the union to `found`."""
    number = len(radius)
    discs, covered = np.empty((3, number)), np.empty((2, 2 * number))
    whole, lower, upper = np.empty(_COUNT), np.empty(_COUNT), np.empty(_COUNT)
    stack = np.empty((_DEPTH + 1, 2))
    for event in range(len(events) - 1):
        stack[0, 0], stack[0, 1] = events[event], events[event + 1]
        waiting = 1
        while waiting > 0:
            waiting -= 1
            first, last = stack[waiting, 0], stack[waiting, 1]
            middle = 0.5 * (first + last)
            _add_interval(first, last, centre, radius, nodes, weights, discs, covered, whole)
            _add_interval(first, middle, centre, radius, nodes, weights, discs, covered, lower)
            _add_interval(middle, last, centre, radius, nodes, weights, discs, covered, upper)
            largest = 0.0
            for k in range(_COUNT):
                largest = max(largest, abs(lower[k] + upper[k] - whole[k]))
            if largest <= tolerance or waiting + 2 > _DEPTH or not first < middle < last:
                for k in range(_COUNT):
                    found[k] += lower[k] + upper[k]
            else:
                stack[waiting, 0], stack[waiting, 1] = middle, last
                stack[waiting + 1, 0], stack[waiting + 1, 1] = first, middle
                waiting += 2


@inlined
def _add_interval(
    first: float, last: float, centre: Floats, radius: Floats, nodes: Floats, weights: Floats, discs: Floats,
    covered: Floats, found: Floats,
) -> None:  # fmt: skip
    """Write the integrals between two positions along x."""
    for k in range(_COUNT):
        found[k] = 0.0
    middle, half = 0.5 * (first + last), 0.5 * (last - first)
    for node in range(len(nodes)):
        sine, cosine = sine_and_cosine(0.5 * math.pi * nodes[node])
        x = middle + half * sine
        weight = 0.5 * math.pi * half * cosine * weights[node]
        area, y, z, yy, zz, yz = slice_moments(x, centre, radius, discs, covered)
        found[0] += weight * area
        found[1] += weight * x * area
        found[2] += weight * y
        found[3] += weight * z
        found[4] += weight * x * x * area
        found[5] += weight * x * y
        found[6] += weight * x * z
        found[7] += weight * yy
        found[8] += weight * zz
        found[9] += weight * yz
