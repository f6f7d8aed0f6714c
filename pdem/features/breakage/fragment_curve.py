"""The passing curve of the fragments of one particle: mass fractions, and numbers of fragments, by size.

Sizes are over the parent's, so that masses over the parent's are their cubes, here called volumes. The curve is known
at the sizes 1/n of a table. Between two of them the mass fraction is linear in the logarithm of the size; below the
smallest one a power law continues the last two. A share g of the mass per unit of log(volume) is g/v^2 fragments per
unit of volume v, so that numbers of fragments and their volumes follow from each other by divisions alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.foundation import exact_math
from pdem.foundation.incomplete_beta import incomplete_beta

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats

    Rows = tuple[tuple[float, float, float], ...]

TENTH = 10.0
"""The size 1/n at which the passing fraction is t10 itself."""

SINGLE_FROM = 1.2
"""A parent has at most one fragment above this size 1/n, since two of them would have more than its mass."""

LEAST_SIZE = 1e-4
"""Smallest size over the parent's size of the curve."""

_NEXT_SIZE = 0.9
"""Ratio of two sizes of the power law, between which it is linear in the logarithm of the size."""

_MOST_GROWTH = 1.6
"""Largest ratio of the passing fraction at the size `SINGLE_FROM` to that at the first, smaller size of a table."""


class FragmentCurve(NamedTuple):
    """Passing curve at k sizes, from the parent's size on falling.

    Attributes
    ----------
    volume : (k,) array
        Volumes over the parent's.
    passing : (k,) array
        Mass fraction of smaller fragments.
    number : (k,) array
        Mean number of larger fragments of a parent.
    density : (k - 1,) array
        Mass fraction per unit of the logarithm of volume, between two sizes.
    """

    volume: Floats
    passing: Floats
    number: Floats
    density: Floats


def fragment_curve(rows: Rows, t10: float) -> FragmentCurve:
    """Return the curve of a table of rows (n, alpha, beta), for a t10 [%] from 0 to 100."""
    sizes, passing = passing_points(rows, t10)
    volume = np.array([one * one * one for one in sizes])
    fraction = np.array(passing)
    density = (fraction[:-1] - fraction[1:]) / exact_math.log(volume[:-1] / volume[1:])
    number = [0.0]
    for more in (density * (1.0 / volume[1:] - 1.0 / volume[:-1])).tolist():
        number.append(number[-1] + more)
    return FragmentCurve(volume, fraction, np.array(number), density)


def passing_points(rows: Rows, t10: float) -> tuple[list[float], list[float]]:
    """Return falling sizes over the parent's, and the mass fractions of smaller fragments, which fall as well."""
    share = t10 / 100.0
    points = {n: incomplete_beta(alpha, beta, share) for n, alpha, beta in rows}
    points[TENTH] = share
    first = min(points)
    if first > SINGLE_FROM:
        points[SINGLE_FROM] = _single_passing(first, points[first])
    points[1.0] = 1.0
    sizes, passing = [], [1.0]
    for n in sorted(points):
        sizes.append(1.0 / n)
        passing.append(min(points[n], passing[-1]))
    return _continued(sizes, passing[1:])


def _single_passing(first: float, fraction: float) -> float:
    """Return the passing fraction at the size `SINGLE_FROM`, from that of the first, smaller size of a table.

    It is linear in the logarithm of the size, but vanishes with the fraction: most of the mass is then near the parent.
    """
    between = 1.0 - (1.0 - fraction) * exact_math.log(SINGLE_FROM) / exact_math.log(first)
    return min(between, _MOST_GROWTH * fraction)


def _continued(sizes: list[float], passing: list[float]) -> tuple[list[float], list[float]]:
    """Return points and further ones of the power law through the last two, down to `LEAST_SIZE`."""
    size, fraction, exponent = sizes[-1], passing[-1], 0.0
    if fraction > 0.0:
        exponent = exact_math.log(passing[-2] / fraction) / exact_math.log(sizes[-2] / size)
    ratio = 1.0
    while size * ratio > LEAST_SIZE:
        ratio = max(_NEXT_SIZE * ratio, LEAST_SIZE / size)
        sizes.append(size * ratio)
        passing.append(fraction * exact_math.power(ratio, exponent))
    return sizes, passing


def passing_at(curve: FragmentCurve, volume: float) -> float:
    """Return the mass fraction of fragments smaller than a volume, from that of `LEAST_SIZE` to 1."""
    k = _interval(-curve.volume, -volume)
    return float(curve.passing[k]) - float(curve.density[k]) * exact_math.log(float(curve.volume[k]) / volume)


def number_above(curve: FragmentCurve, volume: float) -> float:
    """Return the mean number of fragments of a parent larger than a volume, from that of `LEAST_SIZE` to 1."""
    k = _interval(-curve.volume, -volume)
    return float(curve.number[k] + curve.density[k] * (1.0 / volume - 1.0 / curve.volume[k]))


def volumes_at(curve: FragmentCurve, numbers: Floats) -> Floats:
    """Return the volumes above which there are some numbers of fragments, which rise and are below the last one."""
    k = np.searchsorted(curve.number, numbers, "right") - 1
    k = np.minimum(k, len(curve.density) - 1)
    density = np.where(curve.density[k] > 0.0, curve.density[k], 1.0)
    return np.asarray(1.0 / (1.0 / curve.volume[k] + (numbers - curve.number[k]) / density))


def _interval(rising: Floats, place: float) -> int:
    return max(min(int(np.searchsorted(rising, place, "left")) - 1, len(rising) - 2), 0)
