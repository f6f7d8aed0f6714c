r"""Sizes of the fragments of a particle that breaks, by tables of passing fractions against t10.

$$t_n = 100 \, I_{t_{10}/100}(\alpha_n, \beta_n)$$

is the mass fraction [%] of fragments smaller than 1/n of the parent's size, with the regularised incomplete beta
function I, as in the breakage model of Tavares. The fragments of one parent have discrete masses with its mass as their
sum; over many parents their masses follow the curve without bias.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.features.breakage.fragment_curve import (
    LEAST_SIZE,
    FragmentCurve,
    fragment_curve,
    number_above,
    passing_at,
    passing_points,
)
from pdem.features.breakage.fragment_population import PARENTS, T10_STEPS, FragmentPopulation, population
from pdem.foundation import exact_math
from pdem.foundation.errors import InputError
from pdem.numerics.geometry_kernels import geometry_kernel, inlined_geometry
from pdem.numerics.portable.powers import power

if TYPE_CHECKING:
    from pdem.features.breakage.size_model import SizeModel
    from pdem.foundation.array_types import Floats

MOST_FRAGMENTS = 100_000
"""Largest number of fragments of one particle."""

_MOST_REST = 1.25
"""Largest mass that is drawn from the curve below the population's fragments, over that of the curve."""

_FROM_BELOW = 1.0 - 1e-15
"""The sum of cubes of radii over that of the parent, so that rounding of the cubes makes no mass."""

_THIRD = 1.0 / 3.0


def passing(model: SizeModel, t10: float) -> tuple[Floats, Floats]:
    """Return points of the passing curve; between two of them it is linear in the logarithm of the size.

    Parameters
    ----------
    model : SizeModel
        The table.
    t10 : float
        Mass of fragments smaller than a tenth of the parent's size [%], from 0 to 100.

    Returns
    -------
    ndarray, shape (k,)
        Sizes over the parent's, rising from 1e-4 to 1.
    ndarray, shape (k,)
        Mass fractions of smaller fragments, which rise to 1. At the sizes 1/n of the table they are t_n / 100, or the
        next larger one's if that is less.

    Raises
    ------
    InputError
        If t10 is out of range.
    """
    sizes, fractions = passing_points(model.rows, _checked(t10))
    return np.array(sizes[::-1]), np.array(fractions[::-1])


def mean_count(model: SizeModel, radius: float, t10: float) -> float:
    """Return the mean number of fragments of a particle of a radius [m] that breaks with a t10 [%].

    Raises
    ------
    InputError
        If t10 is out of range, or the particle is too large for the smallest fragments.
    """
    if radius <= model.smallest:
        return 0.0
    curve, least = fragment_curve(model.rows, _checked(t10)), _least_volume(model, radius)
    fines = passing_at(curve, least) / least if model.keeps_fines else 0.0
    return number_above(curve, least) + fines


def fragment_radii(model: SizeModel, radius: float, t10: float, uniform: float, largest: float = math.inf) -> Floats:
    """Return the radii of the fragments of a particle.

    The mean over `uniform` of the mass of fragments above each size is that of the curve, to some 0.1 % of the parent's
    mass; above 1/1.2 of the parent's size only their total. The same arguments have the same bits on every machine.

    Parameters
    ----------
    model : SizeModel
        Table and smallest radius.
    radius : float
        Radius of the particle [m].
    t10 : float
        Mass of fragments smaller than a tenth of its size [%], from 0 to 100.
    uniform : float
        Random number from 0 to 1 (excluded) that chooses one of the possible sets of fragments.
    largest : float, optional
        Fragments with a larger radius [m] are cut to it; the mass that is cut is a fragment as well, or several.

    Returns
    -------
    ndarray, shape (n,)
        Radii [m], falling, none below the smallest; empty if all the mass is fines. The sum of their cubes is at most
        that of the parent in exact terms; the difference is fines. If fines are kept, it is that of the parent to
        rounding, unless there is no space for one sphere of the smallest size, or all have the largest radius. With a
        largest radius below the smallest one all mass is fines.

    Raises
    ------
    InputError
        If t10 is out of range, or there are more than `MOST_FRAGMENTS`.
    """
    if min(radius, largest) < model.smallest:
        return np.zeros(0)
    chosen, number = _chosen(model, _checked(t10), uniform)
    least = _least_volume(model, radius)
    volumes = _volumes(chosen, number, least)
    radii = np.empty(len(volumes))
    write_radii(volumes, radius, (model.smallest, radius), radii)
    radii = _not_heavier(_cut(_falling(radii), largest, model.smallest), radius, model.smallest)
    if model.keeps_fines:
        radii = _with_fines(radii, radius, model.smallest)
    return _falling(radii if largest >= radius else np.minimum(radii, largest))


def _checked(t10: float) -> float:
    """Return t10 [%], after a check of its range."""
    if not 0.0 <= t10 <= 100.0:
        raise InputError(f"t10 of {t10!r} %: give a number from 0 to 100")
    return t10


def _least_volume(model: SizeModel, radius: float) -> float:
    """Return the volume of the smallest fragments over that of the particle."""
    size = min(model.smallest / radius, 1.0)
    if size <= LEAST_SIZE:
        raise InputError(
            f"a particle of {radius:g} m breaks into fragments down to {model.smallest:g} m: more than 1 / "
            f"{LEAST_SIZE:g} times smaller; give a larger smallest radius"
        )
    return size * size * size


def _chosen(model: SizeModel, t10: float, uniform: float) -> tuple[FragmentPopulation, float]:
    """Return the population of one of the two nearest t10, and a number from 0 to `PARENTS` that chooses a parent.

    The nearer one is more probable, so that the mean passing fraction at a tenth is t10.
    """
    step = min(math.floor(T10_STEPS * math.sqrt(t10)), 10 * T10_STEPS - 1)
    low, high = (one * one / (T10_STEPS * T10_STEPS) for one in (step, step + 1))
    upper = min(max((t10 - low) / (high - low), 0.0), 1.0)
    if uniform < upper:
        return population(model.rows, step + 1), PARENTS * min(uniform / upper, _FROM_BELOW)
    return population(model.rows, step), PARENTS * min((uniform - upper) / (1.0 - upper), _FROM_BELOW)


def _volumes(chosen: FragmentPopulation, number: float, least: float) -> Floats:
    """Return the volumes of a parent's fragments that are not smaller than a volume, falling, over the parent's."""
    parent = int(number)
    large = chosen.volume[chosen.begin[parent] : chosen.begin[parent + 1]]
    if least >= chosen.cut:
        return large[: np.searchsorted(-large, -least, "right")]
    rest = min(float(chosen.rest[parent]), _MOST_REST * chosen.below)
    if not rest > 0.0:
        return large
    spacing, first = chosen.below / rest, number_above(chosen.curve, chosen.cut)
    first += (number - parent) * spacing
    count = max(math.ceil((number_above(chosen.curve, least) - first) / spacing), 0)
    _require_few(len(large) + count)
    volumes = np.empty(len(large) + count)
    mean = rest - passing_at(chosen.curve, least) / spacing
    volumes[: len(large)] = large
    draw_small(chosen.curve, (first, spacing, mean), len(large), volumes)
    return volumes


def _require_few(count: float) -> None:
    if count > MOST_FRAGMENTS:
        raise InputError(
            f"a particle breaks into {count:g} fragments: the limit is {MOST_FRAGMENTS}; give a larger smallest radius"
        )


@geometry_kernel
def draw_small(curve: FragmentCurve, numbers: tuple[float, float, float], large: int, volumes: Floats) -> None:
    """Write the volumes of small fragments, at equal distances of the number of larger fragments of the curve.

    Parameters
    ----------
    curve : FragmentCurve
        The curve.
    numbers : tuple of float
        Number of larger fragments at the first one, distance of the next, and the mean volume of all.
    large : int
        Number of fragments that are there; the largest one is changed by the difference to the mean volume.
    volumes : (n,) array
        Written from `large` on.
    """
    at, distance, total = numbers
    k, last = 0, len(curve.density) - 1
    for i in range(large, len(volumes)):
        number = at + (i - large) * distance
        while k < last and curve.number[k + 1] <= number:
            k += 1
        volume = curve.volume[k + 1]
        if curve.density[k] > 0.0:
            volume = max(1.0 / (1.0 / curve.volume[k] + (number - curve.number[k]) / curve.density[k]), volume)
        volumes[i] = volume
        total -= volume
    if large > 0:
        volumes[0] = max(volumes[0] + total, 0.0)


@inlined_geometry
def _cube_root(volume: float) -> float:
    return power(volume, _THIRD)


@geometry_kernel
def write_radii(volumes: Floats, radius: float, limits: tuple[float, float], radii: Floats) -> None:
    """Write radii (n,) [m] of volumes (n,) over the parent's, for its radius and the two limits of radii [m]."""
    for i in range(len(volumes)):
        radii[i] = min(max(radius * _cube_root(volumes[i]), limits[0]), limits[1])


def _falling(radii: Floats) -> Floats:
    return np.sort(radii)[::-1].copy()


def _cut(radii: Floats, largest: float, smallest: float) -> Floats:
    """Return radii of at most `largest`, falling; mass that is cut becomes fragments, or is left out if too small."""
    parts: list[float] = []
    for radius in radii[radii > largest].tolist():
        rest = radius
        while rest > largest:
            parts.append(largest)
            rest = exact_math.cbrt(rest * rest * rest - largest * largest * largest) * _FROM_BELOW
        parts.extend([rest] if rest >= smallest else [])
    return _falling(np.concatenate((parts, radii[radii <= largest]))) if parts else radii


def _cubes(radii: Floats) -> float:
    return exact_math.total(radii * radii * radii)


def _not_heavier(radii: Floats, radius: float, smallest: float) -> Floats:
    """Return radii with a sum of cubes that is at most the parent's: the largest one is reduced, or the last left out.

    Radii are changed in place.
    """
    allowed = radius * radius * radius * _FROM_BELOW
    while len(radii):
        surplus = _cubes(radii) - allowed
        if surplus <= 0.0:
            break
        first = float(radii[0])
        reduced = exact_math.cbrt(first * first * first - surplus) * _FROM_BELOW
        if reduced < smallest:
            radii = radii[:-1]
        else:
            radii[0] = reduced
    return radii


def _with_fines(radii: Floats, radius: float, smallest: float) -> Floats:
    """Return radii with spheres of the smallest size for the fines; one factor makes up for less than one of them."""
    allowed = radius * radius * radius * _FROM_BELOW
    count = math.floor((allowed - _cubes(radii)) / (smallest * smallest * smallest))
    _require_few(len(radii) + count)
    radii = np.concatenate((radii, np.full(max(count, 0), smallest)))
    if not len(radii):
        return radii
    factor = max(exact_math.cbrt(allowed / _cubes(radii)), 1.0)
    return _not_heavier(radii * factor, radius, smallest)
