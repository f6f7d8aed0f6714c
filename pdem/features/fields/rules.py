"""Rules of the case file on continuum fields."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.messages import Problem
from pdem.continuum.grid import grid_of, too_wide

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from pdem.case.sections.schema import CaseData
    from pdem.features.fields.section import GridFields

    Location: TypeAlias = tuple[str | int, ...]

MOST_CELLS = 10_000_000
"""Largest number of cells of one grid, over all materials."""

_NAME = re.compile(r"[\w.-]+")
_AXES = "xyz"


def field_problems(case: CaseData) -> Iterator[Problem]:
    """Yield the problems of all fields."""
    names: dict[str, int] = {}
    for index, one in enumerate(case.fields):
        where = ("fields", index)
        if not _NAME.fullmatch(one.name):
            text = "is part of the name of a file: give letters, digits, dots, hyphens and underscores"
            yield Problem((*where, "name"), text)
        if one.name in names:
            text = f"({one.name!r}) is taken by fields[{names[one.name]}]; give each its own name"
            yield Problem((*where, "name"), text)
        names[one.name] = index
        yield from _grid(case, one, where)
        yield from _times(case, one, where)


def _grid(case: CaseData, one: GridFields, where: Location) -> Iterator[Problem]:
    domain, axes = case.domain, case.domain.dimension
    low, high = np.array(one.lower), np.array(one.upper)
    if not np.all(high > low):
        axis = int(np.argmin(high > low))
        text = f"must be greater than lower ({one.lower[axis]:g}) along {_AXES[axis]}"
        yield Problem((*where, "upper", axis), text)
        return
    if axes == 2 and one.cells[2] != 1:
        yield Problem((*where, "cells", 2), "must be 1 in a case of dimension 2")
    classes = len(case.materials) if one.by else 1
    if int(np.prod(one.cells)) * classes > MOST_CELLS:
        of_parts = f" for each of {classes} materials" if one.by else ""
        text = f"make {int(np.prod(one.cells)):,} cells{of_parts}, more than {MOST_CELLS:,}: give fewer"
        yield Problem((*where, "cells"), text)
    length = np.subtract(domain.upper, domain.lower)
    wide = too_wide(grid_of((low, high), one.cells, one.width, one.kernel, axes), length)
    if wide is not None:
        yield Problem((*where, "width"), wide)
    if np.any((high < domain.lower)[:axes] | (low > domain.upper)[:axes]):
        yield Problem((*where, "lower"), "the grid lies wholly outside the domain, where no particles are; move it")
    for axis in range(axes):
        size = (high[axis] - low[axis]) / one.cells[axis]
        if domain.periodic[axis] and high[axis] - low[axis] > length[axis] * (1.0 + 1e-9):
            text = f"makes the grid longer than the periodic box ({length[axis]:g} m) along {_AXES[axis]}: what is "
            yield Problem((*where, "upper", axis), text + "there would count twice; end it where the box ends")
        elif size > length[axis] + 2.0 * 3.0 * one.width:
            text = (
                f"makes cells of {size:.3g} m along {_AXES[axis]}, longer than the domain ({length[axis]:.3g} m) with "
                "three widths on each side: most of each is empty; give corners nearer to it, or more cells"
            )
            yield Problem((*where, "cells", axis), text)


def _times(case: CaseData, one: GridFields, where: Location) -> Iterator[Problem]:
    if one.interval > one.average:
        text = f"is longer than average ({one.average:g} s): no sample would be in it; shorten it"
        yield Problem((*where, "every"), text)
    if one.average > case.time.end * (1.0 + 1e-9):
        text = f"is longer than the run ({case.time.end:g} s): nothing would be written; shorten it"
        yield Problem((*where, "average"), text)
