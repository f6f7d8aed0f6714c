"""Geometry that several folders share, and the compilation of kernels that make decisions by geometry."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from pdem.numerics.kernel_cache import kept_on_disk
from pdem.numerics.kernels import _OPTIONS, UNCOUNTED, inlined

if TYPE_CHECKING:
    from collections.abc import Callable

_EXACTLY = {**_OPTIONS, **UNCOUNTED, "fastmath": False}


def geometry_kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` without contraction and without reference counts, cached on disk.

    A comparison then has the same result in every kernel that contains it. Counting references to the many arguments
    of such functions costs several times their arithmetic. Without reference counts a function cannot allocate (numba
    refuses to compile it).
    """
    return kept_on_disk(numba.njit(**_EXACTLY)(function))


def inlined_geometry(function: Callable[..., Any]) -> Any:
    """Compile like `geometry_kernel`, as part of the caller: passing grids costs more than a short row of cells."""
    return kept_on_disk(numba.njit(forceinline=True, **_EXACTLY)(function))


_SPHERE = 4.0 / 3.0 * math.pi


@inlined
def sphere_mass(density: float, radius: float) -> float:
    """Return the mass of a sphere [kg]."""
    return _SPHERE * density * radius * radius * radius


SPHERE_INERTIA = 0.4
"""Moment of inertia of a solid sphere over mass and square of the radius."""

_INVERSE_SPHERE_INERTIA = 1.0 / SPHERE_INERTIA


@inlined_geometry
def sphere_inverse_inertia(inverse_mass: float, radius: float) -> float:
    """Return one over the moment of inertia of a sphere [1/(kg m^2)], for one over its mass [1/kg]."""
    return _INVERSE_SPHERE_INERTIA * inverse_mass / (radius * radius)


@inlined
def nearest_image(difference: float, period: float, frequency: float) -> float:
    """Return a difference of coordinates reduced to the nearest image; `frequency` is 1/period, or 0."""
    return difference - period * np.floor(difference * frequency + 0.5)
