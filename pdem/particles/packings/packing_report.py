"""What has come out of a packing, for people: volume fraction, contacts, rattlers, overlaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.particles.clearance import overlapping_pairs
from pdem.particles.packings import soft_spheres

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pdem.particles.packings.packing_task import Packing, Task

    Floats = NDArray[np.float64]

TOUCHING = 1e-3
"""Gap over the radius up to which particles that bear nothing count as touching."""


def packing_report(task: Task, reach: Sequence[Floats], found: Packing, factor: float) -> str:
    """Return number, volume fraction and contacts of a packing, and of a pressed one overlaps and how it has grown."""
    number, fraction = sum(map(len, reach)), task.fraction(reach)
    text = f"packed {number:,} particles to a volume fraction of {fraction:.4f}"
    if not number:
        return text
    bears = found.reason != soft_spheres.DONE
    contacts, few, largest = _contacts(task, reach, found, 0.0 if bears else TOUCHING)
    text += f", {contacts:.2f} contacts of each {'' if bears else 'within a gap of 0.1 % of the radius '}"
    text += f"with others, {few:,} with fewer than {task.domain.dimension + 1}"
    if task.requests[0].forces is not None:
        text += f", largest overlap {100.0 * largest:.2g} % of the diameter, radii times {factor:.6g}"
    return text


def _contacts(task: Task, reach: Sequence[Floats], found: Packing, gap: float) -> tuple[float, int, float]:
    """Return the mean number of contacts, how many particles have too few to be held, and the largest overlap."""
    spheres = task.all_spheres(reach, found.places)
    owner = np.repeat(np.arange(len(spheres.begin) - 1), np.diff(spheres.begin))
    pairs, overlap = overlapping_pairs(spheres.centre, spheres.radius * (1.0 + gap), task.domain)
    apart = owner[pairs[:, 0]] != owner[pairs[:, 1]]
    pairs, overlap = pairs[apart], overlap[apart]
    counts = np.bincount(owner[pairs].reshape(-1), minlength=int(owner[-1]) + 1)
    strain = overlap / spheres.radius[pairs].sum(axis=1)
    return (
        float(counts.mean()),
        int(np.count_nonzero(counts <= task.domain.dimension)),
        float(strain.max(initial=0.0)),
    )
