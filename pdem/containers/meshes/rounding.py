"""By how much the coordinates of a mesh are rounded, and whether its facets can stand it.

Files hold numbers in single precision, or with some digits or decimals. Near the origin that does not matter; in map
coordinates, 5,000 km away, single precision has steps of half a metre.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.containers.meshes.mesh_degenerate import LooseFacets
from pdem.containers.meshes.mesh_topology import MeshOrigin, normals_and_areas, successors
from pdem.foundation.errors import MeshError

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Integers

DIGITS = "digits"
"""Cause of rounding where the larger coordinates have fewer decimals than the smaller."""

LOST = 0.1
"""Facets whose edges are not longer than the rounding over this have lost their shape."""

DULL = 0.01
"""Facets whose edges are not longer than the rounding over this are worth a warning."""

NEARER = (
    "export the mesh near the origin, or with more digits, and put it in its place with offset (a key of [[walls]], an "
    "argument of Mesh.read)"
)
"""What to do about meshes that are far from the origin."""

_HARMLESS = 0.1
_SAMPLE = 4096
_SINGLE_BITS, _DOUBLE_BITS = 24, 53
_LEAST_DIGITS = range(6, 10)
_DECIMALS = range(-3, 10)
_ROUND = 2
_STEPS = 1e12  # of which double precision tells apart whether numbers are whole
_COLLAPSED = 0.1
_DOUBLE = 2.0**-52


class Rounding(NamedTuple):
    """How coordinates are rounded.

    Attributes
    ----------
    size : float
        By how much they may be off [m].
    certain : float
        By how much some of them are certainly off, unless by chance [m].
    cause : str
        What rounds them.
    """

    size: float
    certain: float
    cause: str

    def scaled(self, factor: float) -> Rounding:
        """Return the rounding of coordinates after a factor."""
        return Rounding(factor * self.size, factor * self.certain, self.cause)


def rounding_of(vertices: Floats) -> Rounding:
    """Return how coordinates (V, 3) are rounded, as a sample of them tells.

    Numbers that single precision holds may come from a file of such, and those with few digits or decimals from a text.
    6 digits are taken for the least: boxes and the like need fewer, and have no detail below.
    """
    largest = float(np.abs(vertices).max(initial=0.0))
    if not np.isfinite(largest):  # which is refused elsewhere
        return Rounding(0.0, 0.0, "")
    values = np.abs(vertices[:: max(3 * len(vertices) // _SAMPLE, 1)]).clip(max=np.finfo(np.float32).max)
    decimals = _decimals(values.reshape(-1))
    if (values.astype(np.float32) == values).all():
        is_round = decimals is not None and decimals <= _ROUND  # numbers that a person would write
        certain = 0.0 if is_round else _certain(values, _SINGLE_BITS)
        return Rounding(largest * 2.0**-_SINGLE_BITS, certain, "single precision")
    digits = next((one for one in _LEAST_DIGITS if _have_digits(values.reshape(-1), one)), None)
    place = _first_place(largest)
    if decimals is not None and (digits is None or _have_digits(_smallest_axis(values), digits - 1)):
        size = 0.5 * min(10.0**-decimals, 10.0 ** (place - _LEAST_DIGITS[0]))
        return Rounding(size, 0.0, f"{max(decimals, 0)} decimals")
    if digits is not None:
        return Rounding(0.5 * 10.0 ** (place - digits), 0.0, f"{digits} {DIGITS}")
    return Rounding(largest * 2.0**-_DOUBLE_BITS, _certain(values, _DOUBLE_BITS), "double precision")


def require_shape(origin: MeshOrigin, vertices: Floats, facets: LooseFacets) -> None:
    """Require that facets are larger than what their coordinates are rounded by.

    Parameters
    ----------
    origin : MeshOrigin
        Says how coordinates are rounded.
    vertices : ndarray, shape (V, 3)
        Positions [m].
    facets : LooseFacets
        Those that have an area.

    Raises
    ------
    MeshError
        With the sizes of both, and what to do.
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
    """Return how far corners may be moved without harm to the shape of each facet [m]: a part of its least measure.

    This is its shortest edge, or its height above the longest one.
    """
    length = _edges(vertices, start, loops)
    areas = normals_and_areas(vertices, start, loops)[1]
    least = np.minimum.reduceat(length, start[:-1])
    longest = np.maximum.reduceat(length, start[:-1])
    return _HARMLESS * np.minimum(least, 2.0 * areas / longest)


def _edges(vertices: Floats, start: Integers, loops: Integers) -> Floats:
    return np.linalg.norm(vertices[loops[successors(start)]] - vertices[loops], axis=1)


def _certain(values: Floats, bits: int) -> float:
    """Return half a step of floating-point numbers, of the axes on which the last bit of the largest ones is in use.

    On others all are whole multiples of two steps or more: they are exact, or the step is larger than it has to be.
    """
    found = 0.0
    for axis in values.T:
        largest = float(axis.max(initial=0.0))
        if largest > 0.0:
            power = 2.0 ** int(np.frexp(largest)[1])
            step = power * 2.0**-bits
            places = axis[axis >= 0.5 * power] / step
            if (places % 2.0 == 1.0).any():
                found = max(found, 0.5 * step)
    return found


def _have_digits(values: Floats, digits: int) -> bool:
    """Tell whether so many digits are enough for all values."""
    return all(float(f"{value:.{digits - 1}e}") == value for value in values.tolist())


def _smallest_axis(values: Floats) -> Floats:
    """Return the values of the axis along which they are smallest, but not all zero.

    If a file has digits and no decimals, these have as many as the others.
    """
    largest = values.max(axis=0)
    return values[:, np.argmin(np.where(largest > 0.0, largest, np.inf))]


def _decimals(values: Floats) -> int | None:
    """Return how many decimals all values have, None for more than can be told."""
    largest = float(values.max(initial=0.0))
    for decimals in _DECIMALS:
        steps = values * 10.0**decimals
        if largest * 10.0**decimals > _STEPS:
            return None
        if (np.abs(steps - np.round(steps)) <= 4.0 * _DOUBLE * steps).all():
            return decimals
    return None


def _first_place(largest: float) -> int:
    """Return how many digits a number has before its decimal point; 0 and less for those below 0.1."""
    return int(np.floor(np.log10(largest))) + 1 if largest > 0.0 else 1
