"""Transformation of the coordinates of a mesh file: scaled, then rotated, then shifted, in double precision."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.foundation import exact_math
from pdem.foundation.arguments import real_number, shown
from pdem.foundation.errors import MeshError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pdem.foundation.array_types import Floats

_KEYS = ("axis", "angle", "centre")
_QUARTER = 0.5 * math.pi
_QUARTER_TURNS = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))
"""Cosine and sine."""

_MANY_TURNS = 1e6
"""Largest angle [rad] that can become an exact quarter turn; beyond it rounding errors are too large."""

_FORM = 'rotate={"axis": [0, 0, 1], "angle": {"degrees": 90}}'


class MeshTurn(NamedTuple):
    """A rotation about an axis, right-handed.

    Attributes
    ----------
    axis : tuple of 3 floats
        Unit vector.
    cosine, sine : float
        Cosine and sine of the angle.
    centre : tuple of 3 floats
        A point on the axis [m].
    """

    axis: tuple[float, float, float]
    cosine: float
    sine: float
    centre: tuple[float, float, float]

    def applied(self, points: Floats) -> Floats:
        """Return rotated points (n, 3) [m], by Rodrigues' formula; quarter turns about a coordinate axis are exact.

        The formula avoids matrix products, which have different last bits in different libraries.
        """
        (kx, ky, kz), (x, y, z) = self.axis, (points - np.array(self.centre)).T
        along = (kx * x + ky * y + kz * z) * (1.0 - self.cosine)
        turned = (
            x * self.cosine + (ky * z - kz * y) * self.sine + kx * along,
            y * self.cosine + (kz * x - kx * z) * self.sine + ky * along,
            z * self.cosine + (kx * y - ky * x) * self.sine + kz * along,
        )
        return np.column_stack(turned) + np.array(self.centre)


class Placement(NamedTuple):
    """Scale, rotations and offset for the coordinates of a file, applied before all other processing.

    Attributes
    ----------
    scale : float
        Factor on all coordinates.
    turns : tuple of MeshTurn
        Rotations after the scaling, one after the other.
    offset : tuple of 3 floats
        Shift after the rotations [m].
    """

    scale: float = 1.0
    turns: tuple[MeshTurn, ...] = ()
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def applied(self, points: Floats) -> Floats:
        """Return the transformed points [m], from points (n, 3) of a file, or (n, 2) in the plane z = 0."""
        if points.shape[1] == 2:
            points = np.column_stack((points, np.zeros(len(points))))
        placed = points * self.scale
        for turn in self.turns:
            placed = turn.applied(placed)
        return placed + np.array(self.offset) if any(self.offset) else placed


def placement_of(scale: object, rotate: object, offset: ArrayLike) -> Placement:
    """Return a placement from arguments.

    Parameters
    ----------
    scale : float
        Positive factor.
    rotate : mapping, sequence of mappings, or None
        Keys of each: ``axis`` (direction), ``angle`` in rad, or ``{"degrees": ...}``, and ``centre`` [m], by default
        the origin.
    offset : array_like, shape (3,)
        Shift in m.

    Raises
    ------
    MeshError
        The message has the invalid argument.
    """
    factor = real_number("scale", scale, MeshError)
    if not factor > 0.0:
        raise MeshError(f"scale is {scale}; it must be a positive number")
    given = [rotate] if isinstance(rotate, Mapping) else [] if rotate is None else rotate
    if not isinstance(given, Sequence) or not all(isinstance(one, Mapping) for one in given):
        raise MeshError(f"rotate is {shown(rotate)}; give one rotation or a list of them, as {_FORM}")
    return Placement(factor, tuple(turn_of(dict(one)) for one in given), _point("offset", offset))


def turn_of(given: dict[str, Any]) -> MeshTurn:
    """Return a rotation from its keys; see `placement_of`.

    Raises
    ------
    MeshError
        The message has the invalid key.
    """
    unknown = [key for key in given if key not in _KEYS]
    missing = [key for key in ("axis", "angle") if key not in given]
    if unknown or missing:
        what = f"has no {missing[0]!r}" if missing else f"has the key {unknown[0]!r}"
        raise MeshError(f"rotate {what}; its keys are axis, angle and centre, as {_FORM}")
    x, y, z = _point("rotate: axis", given["axis"])
    length = exact_math.hypot(x, y, z)
    if not length > 0.0:
        raise MeshError("rotate: axis is zero; give a direction, such as [0, 0, 1]")
    centre = _point("rotate: centre", given.get("centre", (0.0, 0.0, 0.0)))
    return MeshTurn((x / length, y / length, z / length), *_cosine_and_sine(given["angle"]), centre)


def _cosine_and_sine(angle: Any) -> tuple[float, float]:
    """Return cosine and sine of an angle in rad, or in degrees; values of quarter turns are exact."""
    if isinstance(angle, Mapping):
        if set(angle) != {"degrees"}:
            raise MeshError(f'rotate: angle is {shown(angle)}; give rad, or {{"degrees": ...}}')
        radians = math.radians(real_number("rotate: angle", angle["degrees"], MeshError))
    else:
        radians = real_number("rotate: angle", angle, MeshError)
    quarters = round(radians / _QUARTER) if abs(radians) < _MANY_TURNS else 0
    if abs(radians - quarters * _QUARTER) > 4.0 * math.ulp(radians):
        return exact_math.cos(radians), exact_math.sin(radians)
    return _QUARTER_TURNS[quarters % 4]


def _point(name: str, value: Any) -> tuple[float, float, float]:
    try:
        x, y, z = (real_number(name, one, MeshError) for one in np.asarray(value, np.float64).reshape(-1).tolist())
    except (TypeError, ValueError):
        raise MeshError(f"{name} is {shown(value)}; give three numbers, as [0, 0, 1]") from None
    return x, y, z
