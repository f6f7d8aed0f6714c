"""Kernels that distribute points and straight segments over the cells of a grid by the Gaussian.

The Gaussian is a product of three functions of one coordinate each. Their integrals up to the faces of cells are
polynomials, evaluated for eight entries at a time.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.continuum.grid import GAUSSIAN, REACH
from pdem.continuum.layout import NODE, NODES, WEIGHTS
from pdem.continuum.spreading import spreading_kernel
from pdem.foundation import exact_math
from pdem.numerics.kernel_factory import inlined_closure
from pdem.numerics.simd.quantised_weights import PLACED, box_writer, share_writer
from pdem.numerics.simd.transposition import LANES

if TYPE_CHECKING:
    from pdem.continuum.layout import FieldCells
    from pdem.foundation.array_types import Floats

TERMS = 13
"""Coefficients of the integral, with an error of 1e-11."""


class Lengths(NamedTuple):
    """Data for the evaluation of the Gaussian: lengths of a cell in widths, and most cells of a box along an axis."""

    ratios: Floats
    stride: int


def _integral() -> list[float]:
    """Return the coefficients for `simd.shares.share_writer`, interpolated at Chebyshev points."""
    reach, angles = REACH[GAUSSIAN], math.pi * (np.arange(TERMS) + 0.5) / TERMS
    place = reach * np.sqrt(0.5 * (1.0 + exact_math.cos(angles)))
    inside = exact_math.erf(reach / math.sqrt(2.0))
    values = 0.5 * exact_math.erf(place / math.sqrt(2.0)) / inside / place
    series = [2.0 / TERMS * exact_math.total(values * exact_math.cos(term * angles)) for term in range(TERMS)]
    return _powers([0.5 * series[0], *series[1:]])


def _powers(series: list[float]) -> list[float]:
    """Return the coefficients of powers of the polynomial with these coefficients of Chebyshev polynomials."""
    before, now = np.eye(2, len(series))
    found = series[0] * before + series[1] * now
    for one in series[2:]:
        before, now = now, 2.0 * np.concatenate(([0.0], now[:-1])) - before
        found += one * now
    return [float(one) for one in found]


def gaussian_kernel(nodes: int) -> Any:
    """Make the kernels for the Gaussian: for points with one node, for segments with `NODES` nodes."""
    weights = WEIGHTS if nodes > 1 else (1.0,)
    write_shares, write_box = share_writer(weights, NODE, REACH[GAUSSIAN], _integral()), box_writer(nodes)

    @inlined_closure
    def write_boxes(
        number: int, cells: FieldCells, grid: Lengths, room: Floats, places: int, shares: int, behind: int, free: int
    ) -> None:
        """Write the shares of the cells of boxes."""
        counts = cells.box[0], cells.box[1], cells.box[2]
        for one in range(0, number, LANES):
            write_shares(room, places + PLACED * one, free, grid.stride, counts, grid.ratios)
            write_box(room, free, grid.stride, counts, shares + one, behind)

    return spreading_kernel("gaussian", Lengths, nodes, write_boxes)


points, ways = gaussian_kernel(1), gaussian_kernel(NODES)
