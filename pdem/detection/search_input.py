"""Arguments of the public search, checked once and converted to the form for kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from pdem.foundation.array_types import Floats

_EXTREME = 2.0**200
_AXES = "xyz"


@dataclass(frozen=True)
class SearchInput:
    """A checked system, in units of `unit` metres: 1 unless squares could overflow or underflow.

    Attributes
    ----------
    positions : (n, 3) array
        Centres; wrapped into the box on periodic axes; the third column is zero in 2D.
    radii : (n,) array
        Radii.
    lower, upper : (3,) arrays
        The box on periodic axes, the extent of the centres on open ones.
    periodic : three bool
        Which axes are periodic.
    dimension : int
        2 or 3.
    skin : float
        Largest gap at which spheres count as touching.
    unit : float
        A power of two, in m.
    """

    positions: Floats
    radii: Floats
    lower: Floats
    upper: Floats
    periodic: tuple[bool, bool, bool]
    dimension: int
    skin: float
    unit: float

    @property
    def count(self) -> int:
        """Number of particles."""
        return len(self.radii)

    @property
    def largest(self) -> float:
        """Largest diameter plus skin; zero without particles."""
        return 2.0 * float(self.radii.max()) + self.skin if self.count else 0.0


def check_input(
    positions: ArrayLike,
    radii: ArrayLike,
    lower: ArrayLike | None,
    upper: ArrayLike | None,
    periodic: Sequence[bool],
    skin: float,
) -> SearchInput:
    """Check the arguments of `pdem.find_pairs` and convert them to the form for kernels.

    Raises
    ------
    InputError
        An argument is wrong; the message has the particle or the value, the limit and the remedy.
    """
    centres = _checked_positions(positions)
    count, dimension = centres.shape
    sizes = _checked_radii(radii, count)
    gap = _checked_skin(skin)
    rings = _checked_periodic(periodic, dimension)
    box = _checked_bounds(lower, upper, rings, dimension)
    largest = 2.0 * float(sizes.max()) + gap if count else 0.0
    if not math.isfinite(largest):
        raise InputError(f"the largest diameter plus skin is above {np.finfo(np.float64).max:.3g} m; use smaller radii")
    _check_box(box, rings, dimension, largest)
    unit = _unit(largest)
    full = np.zeros((count, 3))
    full[:, :dimension] = centres
    low, high = _extent(full, box, rings, dimension)
    with np.errstate(over="ignore"):
        full, low, high = full / unit, low / unit, high / unit
    _check_scaled(full, unit)
    for axis in range(dimension):
        if rings[axis]:
            full[:, axis] = _wrapped(full[:, axis], low[axis], high[axis])
    return SearchInput(np.ascontiguousarray(full), sizes / unit, low, high, rings, dimension, gap / unit, unit)


def _checked_positions(positions: ArrayLike) -> Floats:
    centres = _numbers(positions, "positions")
    if centres.ndim != 2 or centres.shape[1] not in (2, 3):
        raise InputError(f"positions have shape {centres.shape}; give an array of shape (n, 2) or (n, 3)")
    bad = np.argwhere(~np.isfinite(centres))
    if len(bad):
        particle, axis = bad[0]
        raise InputError(
            f"particle {particle} has the {_AXES[axis]} coordinate {centres[particle, axis]}; "
            "coordinates must be finite"
        )
    return centres


def _checked_radii(radii: ArrayLike, count: int) -> Floats:
    sizes = _numbers(radii, "radii")
    if sizes.ndim > 0 and sizes.shape != (count,):
        raise InputError(
            f"radii have shape {sizes.shape} for {count} particles; give one number or one radius per particle"
        )
    sizes = np.ascontiguousarray(np.broadcast_to(sizes, (count,)))
    bad = np.flatnonzero(~(np.isfinite(sizes) & (sizes > 0.0)))
    if len(bad):
        raise InputError(f"particle {bad[0]} has the radius {sizes[bad[0]]}; radii must be positive and finite")
    return sizes


def _checked_skin(skin: float) -> float:
    value = _numbers(skin, "skin")
    if value.ndim or not np.isfinite(value) or value < 0.0:
        raise InputError(f"skin is {skin}; it must be one finite number, zero or positive, in m")
    return float(value)


def _checked_periodic(periodic: Sequence[bool], dimension: int) -> tuple[bool, bool, bool]:
    flags = [bool(flag) for flag in np.atleast_1d(np.asarray(periodic))]
    if len(flags) not in (dimension, 3) or any(flags[dimension:]):
        raise InputError(
            f"periodic is {tuple(flags)} for {dimension}D positions; give {dimension} values, one for each axis"
        )
    flags += [False] * (3 - len(flags))
    return flags[0], flags[1], flags[2]


def _checked_bounds(
    lower: ArrayLike | None, upper: ArrayLike | None, periodic: tuple[bool, bool, bool], dimension: int
) -> tuple[Floats, Floats] | None:
    if lower is None and upper is None:
        if any(periodic):
            raise InputError(
                f"axis {_AXES[periodic.index(True)]} is periodic but the box is not known; give lower and upper"
            )
        return None
    if lower is None or upper is None:
        missing = "lower" if lower is None else "upper"
        raise InputError(f"{missing} is missing; give both bounds of the box or none")
    bounds = []
    for name, given in (("lower", lower), ("upper", upper)):
        bound = _numbers(given, name)
        if bound.shape != (dimension,) or not np.isfinite(bound).all():
            raise InputError(f"{name} is {bound.tolist()}; {dimension}D positions need {dimension} finite numbers")
        bounds.append(bound)
    for axis in range(dimension):
        if not bounds[0][axis] < bounds[1][axis]:
            raise InputError(
                f"lower {bounds[0][axis]} is not below upper {bounds[1][axis]} along {_AXES[axis]}; swap them"
            )
    return bounds[0], bounds[1]


def _check_box(
    box: tuple[Floats, Floats] | None, periodic: tuple[bool, bool, bool], dimension: int, largest: float
) -> None:
    """Raise an error for a periodic box in which the largest sphere would touch itself."""
    for axis in range(dimension):
        if box is None or not periodic[axis]:
            continue
        if not math.isfinite(float(box[1][axis]) - float(box[0][axis])):
            raise InputError(f"the periodic box is too long along {_AXES[axis]} for a number; move its bounds closer")
        if not box[1][axis] - box[0][axis] >= largest:
            raise InputError(
                f"the periodic box is {box[1][axis] - box[0][axis]} m long along {_AXES[axis]}, "
                f"less than the largest diameter plus skin, {largest} m; enlarge the box or reduce the skin"
            )


def _check_scaled(positions: Floats, unit: float) -> None:
    """Raise an error for coordinates that cannot be expressed in diameters."""
    bad = np.argwhere(~np.isfinite(positions))
    if len(bad):
        particle, axis = bad[0]
        raise InputError(
            f"particle {particle} is more than {np.finfo(np.float64).max:.3g} of the largest diameters "
            f"(about {unit:.3g} m) away from zero along {_AXES[axis]}; "
            "move the origin nearer or use larger radii"
        )


def _extent(
    positions: Floats, box: tuple[Floats, Floats] | None, periodic: tuple[bool, bool, bool], dimension: int
) -> tuple[Floats, Floats]:
    """Return the box on periodic axes and the extent of the centres on open ones."""
    low, high = np.zeros(3), np.zeros(3)
    if len(positions):
        low, high = positions.min(axis=0), positions.max(axis=0)
    for axis in range(dimension):
        if box is not None and periodic[axis]:
            low[axis], high[axis] = box[0][axis], box[1][axis]
    return low, high


def _wrapped(coordinates: Floats, low: float, high: float) -> Floats:
    """Wrap coordinates into [low, high); coordinates inside keep every bit."""
    period = high - low
    inside = coordinates - period * np.floor((coordinates - low) / period)
    inside = np.where(inside >= high, inside - period, inside)
    return np.maximum(inside, low)


def _unit(largest: float) -> float:
    """Return the power of two by which lengths are divided: 1, unless their squares could overflow or underflow."""
    if largest == 0.0 or 1.0 / _EXTREME < largest < _EXTREME:
        return 1.0
    return math.ldexp(1.0, math.frexp(largest)[1] - 1)


def _numbers(given: object, name: str) -> Floats:
    """Return an array of float64; raise an error that quotes the elements that are not numbers."""
    try:
        array = np.asarray(given)
        if array.dtype.kind not in "biuf":
            raise ValueError(f"type {array.dtype}")
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} are not real numbers ({error}); give numbers in m") from None
