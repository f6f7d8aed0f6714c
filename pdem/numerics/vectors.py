"""Vectors of three numbers as tuples, for kernels: products, and access to columns in a flat array.

All functions are inlined, and cost as much as code with the components spelt out. Functions named ``exact_...`` are
compiled without contraction, for kernels without contraction (`pdem.numerics.geometry_kernels`): an inlined function
keeps the floating-point rules of its own compilation. They are separate functions because the cache of machine code
cannot distinguish two compilations of the same function.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.kernels import inlined

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats

    Vector: TypeAlias = tuple[float, float, float]


@inlined
def square_root(value: float) -> float:
    """Return the root of a non-negative number; `abs` shows the compiler that it needs no code for negative ones."""
    return math.sqrt(abs(value))


@inlined
def dot3(a: Vector, b: Vector) -> float:
    """Return the scalar product, added up in the order of x, y, z."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross3(a: Vector, b: Vector) -> Vector:
    """Return the vector product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined_geometry
def exact_dot3(a: Vector, b: Vector) -> float:
    """Return the scalar product as `dot3` does, without contraction."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined_geometry
def exact_cross3(a: Vector, b: Vector) -> Vector:
    """Return the vector product, without contraction."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined_geometry
def exact_plus3(a: Vector, b: Vector) -> Vector:
    """Return the sum of two vectors, compiled as `exact_minus3` is."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inlined_geometry
def exact_minus3(a: Vector, b: Vector) -> Vector:
    """Return the difference of two vectors, without contraction."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inlined
def scale3(factor: float, a: Vector) -> Vector:
    """Return a vector times a number."""
    return factor * a[0], factor * a[1], factor * a[2]


@inlined
def minus3(a: Vector, b: Vector) -> Vector:
    """Return the difference of two vectors."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inlined_geometry
def row3(rows: Floats, row: int) -> Vector:
    """Return row `row` of an array with three columns."""
    return rows[row, 0], rows[row, 1], rows[row, 2]


@inlined
def get3(numbers: Floats, at: int, stride: int) -> Vector:
    """Return three numbers that are `stride` apart, beginning at `at`."""
    return numbers[at], numbers[at + stride], numbers[at + stride + stride]


@inlined
def put3(numbers: Floats, at: int, stride: int, a: Vector) -> None:
    """Write three numbers `stride` apart, beginning at `at`."""
    numbers[at], numbers[at + stride], numbers[at + stride + stride] = a[0], a[1], a[2]
