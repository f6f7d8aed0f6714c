"""Area and moments of a union of discs, from the arcs of its boundary."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.numerics.kernels import inlined
from pdem.numerics.portable.angles import angle_of, sine_and_cosine

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats

    Moments = tuple[float, float, float, float, float, float]

_TURN = 2.0 * math.pi


@inlined
def slice_moments(x: float, centre: Floats, radius: Floats, discs: Floats, covered: Floats) -> Moments:
    """Return area and moments y, z, yy, zz, yz of the cross-section of some spheres at x.

    Parameters
    ----------
    x : float
        Position of the cross-section.
    centre, radius : (n, 3) and (n,) arrays
        Centres and radii of the spheres.
    discs, covered : (3, n) and (2, 2 n) arrays
        Written: centres and radii of discs; arcs of a circle that other discs cover.
    """
    number = 0
    for sphere in range(len(radius)):
        away = x - centre[sphere, 0]
        square = (radius[sphere] - away) * (radius[sphere] + away)
        if square > 0.0:
            discs[0, number], discs[1, number] = centre[sphere, 1], centre[sphere, 2]
            discs[2, number] = math.sqrt(square)
            number += 1
    area = y = z = yy = zz = yz = 0.0
    for disc in range(number):
        arcs = _covered_arcs(disc, number, discs, covered)
        begin = 0.0
        for arc in range(arcs + 1):  # the arcs between covered arcs belong to the boundary
            end = covered[0, arc] if arc < arcs else _TURN
            if end > begin:
                one = _arc_moments(discs[0, disc], discs[1, disc], discs[2, disc], begin, end)
                area, y, z = area + one[0], y + one[1], z + one[2]
                yy, zz, yz = yy + one[3], zz + one[4], yz + one[5]
            if arc < arcs:
                begin = max(begin, covered[1, arc])
    return area, y, z, yy, zz, yz


@inlined
def _covered_arcs(disc: int, number: int, discs: Floats, covered: Floats) -> int:
    """Write the arcs of a disc's circle that are inside other discs, sorted by their start; return their number."""
    arcs = 0
    own = discs[2, disc]
    for other in range(number):
        dy, dz, r = discs[0, other] - discs[0, disc], discs[1, other] - discs[1, disc], discs[2, other]
        apart = math.sqrt(dy * dy + dz * dz)
        same = apart == 0.0 and r == own
        if other == disc or apart >= own + r or (apart + r <= own and not same) or (same and other > disc):
            continue
        if apart + own <= r:  # the whole disc is covered; of two equal discs the first counts
            covered[0, 0], covered[1, 0] = 0.0, _TURN
            return 1
        square = (own + r - apart) * (own + r + apart) * (apart + own - r) * (apart - own + r)
        half = angle_of(math.sqrt(max(square, 0.0)), apart * apart + (own - r) * (own + r))
        begin = angle_of(dz, dy) - half
        begin = begin + _TURN if begin < 0.0 else begin
        begin = begin + _TURN if begin < 0.0 else begin
        end = begin + 2.0 * half
        arcs = _insert(begin, min(end, _TURN), arcs, covered)
        if end > _TURN:
            arcs = _insert(0.0, end - _TURN, arcs, covered)
    return arcs


@inlined
def _insert(begin: float, end: float, arcs: int, covered: Floats) -> int:
    """Insert an arc into the arcs sorted by their start; return the new number of arcs."""
    place = arcs
    while place > 0 and covered[0, place - 1] > begin:
        covered[0, place], covered[1, place] = covered[0, place - 1], covered[1, place - 1]
        place -= 1
    covered[0, place], covered[1, place] = begin, end
    return arcs + 1


@inlined
def _arc_moments(c: float, d: float, r: float, begin: float, end: float) -> Moments:
    """Return the contribution of an arc to the boundary integrals of area, y, z, yy, zz, yz.

    ``A = 1/2 (y dz - z dy)``, ``y: 1/2 y^2 dz``, ``z: -1/2 z^2 dy``, ``yy: 1/3 y^3 dz``, ``zz: -1/3 z^3 dy``,
    ``yz: 1/2 y^2 z dz`` along ``y = c + r cos(t)``, ``z = d + r sin(t)``.
    """
    s, u = sine_and_cosine(begin)
    t, v = sine_and_cosine(end)
    turn = end - begin
    # integrals of powers of cosine and sine, and of their products
    cos1, sin1 = t - s, u - v
    mixed = t * v - s * u
    cos2, sin2 = 0.5 * (turn + mixed), 0.5 * (turn - mixed)
    cos3, sin3 = cos1 - (t * t * t - s * s * s) / 3.0, sin1 - (u * u * u - v * v * v) / 3.0
    cos4 = 0.25 * (t * v * v * v - s * u * u * u) + 0.75 * cos2
    sin4 = 0.75 * sin2 - 0.25 * (t * t * t * v - s * s * s * u)
    sin_cos = 0.5 * (t * t - s * s)
    sin_cos2 = (u * u * u - v * v * v) / 3.0
    sin_cos3 = 0.25 * (u * u * u * u - v * v * v * v)
    first = c * c * cos1 + 2.0 * c * r * cos2 + r * r * cos3
    return (
        0.5 * r * (r * turn + c * cos1 + d * sin1),
        0.5 * r * first,
        0.5 * r * (d * d * sin1 + 2.0 * d * r * sin2 + r * r * sin3),
        r / 3.0 * (c * c * c * cos1 + 3.0 * c * c * r * cos2 + 3.0 * c * r * r * cos3 + r * r * r * cos4),
        r / 3.0 * (d * d * d * sin1 + 3.0 * d * d * r * sin2 + 3.0 * d * r * r * sin3 + r * r * r * sin4),
        0.5 * r * (d * first + r * (c * c * sin_cos + 2.0 * c * r * sin_cos2 + r * r * sin_cos3)),
    )
