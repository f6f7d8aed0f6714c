"""Compilation of the kernels of this folder: one process calls them with a few particles."""

from __future__ import annotations

import numpy as np

from decomposition.bisection import cut
from decomposition.compiled_messages import HANDLES, calls_of, gather_rows
from decomposition.layers import Cells, extents_of_levels, levels_of, mark_layer, may_meet, with_levels_below
from decomposition.repeats import Repeats
from pdem.containers.exchange import new_status

_PARTICLES = 16
_RANKS = 2


def call_kernels() -> None:
    """Call every kernel of this folder with arguments of the types that `decomposition.exchange` passes."""
    position = np.random.default_rng(1).random((_PARTICLES, 3))
    radii = np.array([0.1, 0.3])
    radius = np.where(np.arange(_PARTICLES) % 2, 0.1, 0.3)
    cuts = cut(position, _RANKS)
    cuts.owners(position)
    level, repeats = levels_of(radius, radii), Repeats.upright(np.zeros(3))
    each = extents_of_levels(position, radius, level, len(radii))
    cuts.near(each, each[0, :6].copy(), repeats)
    extents = with_levels_below(each)
    may_meet(extents[-1], extents, repeats)
    mark = np.zeros(_PARTICLES, bool)
    mark_layer(position, radius, level, extents, tuple(repeats), mark)
    mark[:] = False
    Cells(position, radius, level, extents[:, 6].copy(), repeats).mark_partners(position, radius, level, mark)
    rows, chosen, gathered = np.zeros((_PARTICLES, 2)), np.arange(_RANKS), np.zeros((_RANKS, 2))
    gather_rows(rows, chosen, gathered)
    calls_of(new_status(), np.zeros(HANDLES, np.int64), rows, chosen, gathered)
