"""Vectors of three numbers as tuples, for kernels: products, and columns of them in a flat array.

Everything is inlined, and costs what it would cost if the components were spelt out. Functions named ``exact_...`` are
compiled without contraction, for kernels that are (`pdem.numerics.geometry_kernels`): what is inlined keeps the
floating-point rules it was compiled with. They are written twice because the cache of machine code does not tell two
ways of compiling one function apart.
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
    """Return the root of a number that is not negative: said so, the compiler needs no call for the others."""
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
    """Return a row of an array of rows of three numbers."""
    return rows[row, 0], rows[row, 1], rows[row, 2]


@inlined
def get3(numbers: Floats, at: int, stride: int) -> Vector:
    """Return three numbers that are `stride` apart, the first of them at `at`."""
    return numbers[at], numbers[at + stride], numbers[at + stride + stride]


@inlined
def put3(numbers: Floats, at: int, stride: int, a: Vector) -> None:
    """Write three numbers `stride` apart, the first of them to `at`."""
    numbers[at], numbers[at + stride], numbers[at + stride + stride] = a[0], a[1], a[2]
