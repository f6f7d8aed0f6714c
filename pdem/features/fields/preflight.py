"""Findings on continuum fields before a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.case.deformation import strains
from pdem.preflight.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.sections.schema import CaseData
    from pdem.foundation.array_types import Floats


def field_findings(case: CaseData, step: float, radius: float) -> Iterator[Finding]:
    """Yield findings on fields, for a time step [s] and the smallest radius [m], infinite if unknown."""
    for one in case.fields:
        subject, axes = f"fields {one.name}", case.domain.dimension
        size = np.subtract(one.upper, one.lower)[:axes] / one.cells[:axes]
        every, samples = one.steps(step)
        text = f"{'x'.join(map(str, one.cells))} cells of {' x '.join(f'{x:.3g}' for x in size)} m, means of "
        follow = "; they follow the box" if strains(case) else ""
        yield Finding("info", subject, f"{text}{samples} samples every {samples * every * step:.4g} s{follow}")
        if one.interval < step:
            text = f"every = {one.interval:g} s is shorter than the time step {step:.4g} s; lengthen it, or average"
            yield Finding("warning", subject, text)
        if one.width < 0.25 * radius < np.inf:
            text = f"width = {one.width:g} m is less than a quarter of the smallest radius ({radius:.3g} m): fields "
            yield Finding(
                "warning", subject, text + "show single particles and contacts; widen it, or average for long"
            )
        if np.all(size < one.width / 8.0):
            text = f"cells are up to {float((one.width / size).max()):.0f} times as short as the width, which shows "
            yield Finding("warning", subject, text + "nothing more and takes long; give fewer cells")
        yield from _beyond_the_domain(case, size, subject)


def _beyond_the_domain(case: CaseData, size: Floats, subject: str) -> Iterator[Finding]:
    """Yield the axes along which a cell is longer than the domain, where particles cannot fill it."""
    length = np.subtract(case.domain.upper, case.domain.lower)[: len(size)]
    for axis in np.flatnonzero(size > length * (1.0 + 1e-9)).tolist():
        text = f"cells are {size[axis]:.3g} m long along {'xyz'[axis]}, longer than the domain ({length[axis]:.3g} m): "
        more = "means are over the room beyond it as well; end the grid where the domain ends, or give more cells"
        yield Finding("warning", subject, text + more)
