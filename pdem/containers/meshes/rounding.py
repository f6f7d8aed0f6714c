"""Rounding of the coordinates of a mesh, and whether its facets are large enough for it.

Files contain numbers in single precision, or with a few digits or decimals. Near the origin that has no effect; in map
coordinates, 5,000 km away, single precision has steps of half a metre.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.containers.meshes.mesh_degenerate import LooseFacets
from pdem.containers.meshes.mesh_topology import MeshOrigin, normals_and_areas, successors
from pdem.foundation import exact_math
from pdem.foundation.errors import MeshError

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Integers

DIGITS = "digits"
"""Cause of rounding where large coordinates have fewer decimals than small ones."""

LOST = 0.1
"""Ratio of rounding to edge length above which facets have lost their shape."""

DULL = 0.01
"""Ratio of rounding to edge length above which facets get a warning."""

NEARER = (
    "export the mesh near the origin, or with more digits, and put it in its place with offset (a key of [[walls]], an "
    "argument of Mesh.read)"
)
"""Remedy for meshes that are far from the origin."""

_HARMLESS = 0.1
_SAMPLE = 4096
_SINGLE_BITS, _DOUBLE_BITS = 24, 53
_LEAST_DIGITS = range(6, 10)
_DECIMALS = range(-3, 10)
_ROUND = 2
_STEPS = 1e12  # up to here double precision can show whether numbers are whole
_COLLAPSED = 0.1
_DOUBLE = 2.0**-52


class Rounding(NamedTuple):
    """Rounding of coordinates.

    Attributes
    ----------
    size : float
        Largest possible error [m].
    certain : float
        Error that some coordinates certainly have, unless by chance [m].
    cause : str
        Cause of the rounding.
    """

    size: float
    certain: float
    cause: str

    def scaled(self, factor: float) -> Rounding:
        """Return the rounding of coordinates after a factor."""
        return Rounding(factor * self.size, factor * self.certain, self.cause)


def rounding_of(vertices: Floats) -> Rounding:
    """Return the rounding of coordinates (V, 3), estimated from a sample.

    Numbers that are exact in single precision may come from a file in single precision, numbers with few digits or
    decimals from a text. At least 6 digits are assumed: boxes and the like need fewer, and have no finer detail.
    """
    largest = float(np.abs(vertices).max(initial=0.0))
    if not np.isfinite(largest):  # another check raises the error
        return Rounding(0.0, 0.0, "")
    values = np.abs(vertices[:: max(3 * len(vertices) // _SAMPLE, 1)]).clip(max=np.finfo(np.float32).max)
    decimals = _decimals(values.reshape(-1))
    if (values.astype(np.float32) == values).all():
        is_round = decimals is not None and decimals <= _ROUND  # numbers that a person would write
        certain = 0.0 if is_round else _certain(values, _SINGLE_BITS)
        return Rounding(math.ldexp(largest, -_SINGLE_BITS), certain, "single precision")
    digits = next((one for one in _LEAST_DIGITS if _have_digits(values.reshape(-1), one)), None)
    place = _first_place(largest)
    if decimals is not None and (digits is None or _have_digits(_smallest_axis(values), digits - 1)):
        size = 0.5 * min(_ten_to(-decimals), _ten_to(place - _LEAST_DIGITS[0]))
        return Rounding(size, 0.0, f"{max(decimals, 0)} decimals")
    if digits is not None:
        return Rounding(0.5 * _ten_to(place - digits), 0.0, f"{digits} {DIGITS}")
    return Rounding(math.ldexp(largest, -_DOUBLE_BITS), _certain(values, _DOUBLE_BITS), "double precision")


def require_shape(origin: MeshOrigin, vertices: Floats, facets: LooseFacets) -> None:
    """Raise an error unless facets are larger than the rounding of their coordinates.

    Parameters
    ----------
    origin : MeshOrigin
        Has the rounding of coordinates.
    vertices : ndarray, shape (V, 3)
        Positions [m].
    facets : LooseFacets
        Facets with an area.

    Raises
    ------
    MeshError
        With both sizes, and the remedy.
    """
    size = facet_size(vertices, facets.start, facets.loops)
    dropped = facets.given - len(facets.numbers)
    collapsed = dropped > _COLLAPSED * facets.given
    off = origin.certain
    if collapsed or (origin.rounded_by.endswith(DIGITS) and origin.resolution > size):
        off = origin.resolution
    if off > LOST * size:
        flat = f", and {dropped} of {facets.given} have no area left" if collapsed else ""
        raise MeshError(
            f"coordinates of up to {np.abs(vertices).max():.6g} m have {origin.rounded_by}, which rounds them by up to "
            f"{off:.2g} m, and facets have edges of {size:.2g} m{flat}: their shape is lost; {NEARER}"
        )


def facet_size(vertices: Floats, start: Integers, loops: Integers) -> float:
    """Return the median of the shortest edges of facets [m]."""
    return float(np.median(np.minimum.reduceat(_edges(vertices, start, loops), start[:-1])))


def clearance(vertices: Floats, start: Integers, loops: Integers) -> Floats:
    """Return the distance by which corners can be moved without harm to the shape of each facet [m].

    It is a fraction of the smaller of two lengths: the shortest edge, and the height above the longest edge.
    """
    length = _edges(vertices, start, loops)
    areas = normals_and_areas(vertices, start, loops)[1]
    least = np.minimum.reduceat(length, start[:-1])
    longest = np.maximum.reduceat(length, start[:-1])
    return _HARMLESS * np.minimum(least, 2.0 * areas / longest)


def _edges(vertices: Floats, start: Integers, loops: Integers) -> Floats:
    return exact_math.norm(vertices[loops[successors(start)]] - vertices[loops])


def _certain(values: Floats, bits: int) -> float:
    """Return half a step of floating-point numbers, over the axes where the largest numbers use their last bit.

    On other axes all numbers are whole multiples of at least two steps: they are exact, or the step is coarser than
    needed.
    """
    found = 0.0
    for axis in values.T:
        largest = float(axis.max(initial=0.0))
        if largest > 0.0:
            power = math.ldexp(1.0, math.frexp(largest)[1])
            step = math.ldexp(power, -bits)
            places = axis[axis >= 0.5 * power] / step
            if (places % 2.0 == 1.0).any():
                found = max(found, 0.5 * step)
    return found


def _have_digits(values: Floats, digits: int) -> bool:
    """Return whether this number of digits is enough for all values."""
    return all(float(f"{value:.{digits - 1}e}") == value for value in values.tolist())


def _smallest_axis(values: Floats) -> Floats:
    """Return the values of the axis along which they are smallest, but not all zero.

    In a file with a fixed number of digits instead of decimals, these values have as many digits as the others.
    """
    largest = values.max(axis=0)
    return values[:, np.argmin(np.where(largest > 0.0, largest, np.inf))]


def _decimals(values: Floats) -> int | None:
    """Return the number of decimals of all values, None if there are too many to determine."""
    largest = float(values.max(initial=0.0))
    for decimals in _DECIMALS:
        steps = values * _ten_to(decimals)
        if largest * _ten_to(decimals) > _STEPS:
            return None
        if (np.abs(steps - np.round(steps)) <= 4.0 * _DOUBLE * steps).all():
            return decimals
    return None


def _ten_to(exponent: int) -> float:
    return float(exact_math.power(10.0, exponent))


def _first_place(largest: float) -> int:
    """Return the number of digits before the decimal point; 0 or negative for numbers below 0.1."""
    return int(np.floor(exact_math.log10(largest))) + 1 if largest > 0.0 else 1
