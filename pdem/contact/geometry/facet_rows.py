"""Rows of the scratch in which the double hierarchy works: one per touched facet, sorted in place.

A row is spread over two tables, one of real numbers, `KEY` to `NZ`, and one of integers, `FACET` to `SIDE`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.contact.geometry.scratch_columns import FACET, FEATURE, INTEGER_COLUMNS, KEY, KIND, ON_FACET, REAL_COLUMNS
from pdem.numerics.kernels import inlined

if TYPE_CHECKING:
    from pdem.contact.geometry.surface_arrays import SurfaceArrays
    from pdem.foundation.array_types import Floats, Integers


@inlined
def swap(real: Floats, integer: Integers, one: int, other: int) -> None:
    """Exchange two rows."""
    for column in range(REAL_COLUMNS):
        real[one, column], real[other, column] = real[other, column], real[one, column]
    for column in range(INTEGER_COLUMNS):
        integer[one, column], integer[other, column] = integer[other, column], integer[one, column]


@inlined
def move(real: Floats, integer: Integers, source: int, target: int) -> None:
    """Copy one row over another."""
    for column in range(REAL_COLUMNS):
        real[target, column] = real[source, column]
    for column in range(INTEGER_COLUMNS):
        integer[target, column] = integer[source, column]


@inlined
def sort_by_facet(real: Floats, integer: Integers, first: int, count: int) -> None:
    """Sort rows by facet; candidates usually come sorted, and then this is one pass."""
    for row in range(first + 1, first + count):
        at = row
        while at > first and integer[at - 1, FACET] > integer[at, FACET]:
            swap(real, integer, at - 1, at)
            at -= 1


@inlined
def loop_before(one: int, other: int, surface: SurfaceArrays) -> bool:
    """Return whether a facet comes first by its vertices, which do not depend on the order of facets."""
    here, there = surface.facet_start[one], surface.facet_start[other]
    while here < surface.facet_start[one + 1] and there < surface.facet_start[other + 1]:
        if surface.facet_vertices[here] != surface.facet_vertices[there]:
            return surface.facet_vertices[here] < surface.facet_vertices[there]
        here += 1
        there += 1
    if here < surface.facet_start[one + 1] or there < surface.facet_start[other + 1]:
        return here == surface.facet_start[one + 1]
    return one < other


@inlined
def nearer(real: Floats, integer: Integers, one: int, other: int, surface: SurfaceArrays) -> bool:
    """Return whether a row comes first: by distance, then by kind, then by the vertices of the feature."""
    if real[one, KEY] != real[other, KEY]:
        return real[one, KEY] < real[other, KEY]
    if integer[one, KIND] != integer[other, KIND]:
        return integer[one, KIND] < integer[other, KIND]
    if integer[one, KIND] == ON_FACET:
        return loop_before(integer[one, FEATURE], integer[other, FEATURE], surface)
    return integer[one, FEATURE] < integer[other, FEATURE]  # edges are numbered by their vertices


@inlined
def sort_by_distance(real: Floats, integer: Integers, first: int, count: int, surface: SurfaceArrays) -> None:
    """Sort rows into the order of the distance hierarchy; local minima are few."""
    for row in range(first + 1, first + count):
        at = row
        while at > first and nearer(real, integer, at, at - 1, surface):
            swap(real, integer, at - 1, at)
            at -= 1


@inlined
def row_of(facet: int, integer: Integers, first: int, count: int) -> int:
    """Return the first row of a facet in rows sorted by facet, or -1."""
    low, high = first, first + count
    while low < high:
        middle = (low + high) // 2
        if integer[middle, FACET] < facet:
            low = middle + 1
        else:
            high = middle
    if low < first + count and integer[low, FACET] == facet:
        return low
    return -1
