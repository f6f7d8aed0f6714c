"""Nodes and weights of Gauss-Legendre quadrature, with the same bits on every machine."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import gmpy2
import numpy as np

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats

_NEWTON_STEPS = 6
"""From the usual guess five double the number of valid bits to all 113."""


@cache
def _nodes(count: int) -> tuple[tuple[float, float], ...]:
    """Return the positive nodes, which ascend, and their weights."""
    with gmpy2.context(gmpy2.ieee(128)):
        rows = [_node(count, number) for number in range(count // 2, 0, -1)]
    return tuple((float(node), float(weight)) for node, weight in rows)


def _node(count: int, number: int) -> tuple[Any, Any]:
    """Return the node of a number, counted from the largest one, and its weight, by Newton's method."""
    node = gmpy2.cos(gmpy2.const_pi() * (number - gmpy2.mpfr(0.25)) / (count + gmpy2.mpfr(0.5)))
    for _ in range(_NEWTON_STEPS):
        value, slope = _legendre(count, node)
        node -= value / slope
    slope = _legendre(count, node)[1]
    return node, 2 / ((1 - node * node) * slope * slope)


def _legendre(count: int, place: Any) -> tuple[Any, Any]:
    """Return the value and the slope of a Legendre polynomial."""
    before, value = gmpy2.mpfr(1), place
    for order in range(2, count + 1):
        before, value = value, ((2 * order - 1) * place * value - (order - 1) * before) / order
    return value, count * (place * value - before) / (place * place - 1)


def gauss_legendre(count: int) -> tuple[Floats, Floats]:
    """Return the nodes between -1 and 1, in ascending order, and the weights of a quadrature.

    Parameters
    ----------
    count : int
        Number of nodes: even, at least 2.
    """
    nodes, weights = np.array(_nodes(count)).T
    return np.concatenate([-nodes[::-1], nodes]), np.concatenate([weights[::-1], weights])
