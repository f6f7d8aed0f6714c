"""The work of one search of the hierarchical grid: counted, and predicted by the cost model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.detection.cost_model import expected_counts
from pdem.detection.find_pairs import find_pairs
from pdem.detection.moments import SampleMoments
from pdem.verification.study import StudyFinding

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats

PUBLISHED_OVERHEAD = 0.2
"""K of the paper: time of an access over that of a distance test."""

CODE: dict[str, Any] = {"unit": "rows", "own_level": "search-box"}
"""Options of the cost model for the search of `pdem.find_pairs`."""


def work_findings(
    name: str, positions: Floats, radii: Floats, sizes: Floats, density: float, tolerance: float, **options: Any
) -> list[StudyFinding]:
    """Return distance tests and visits of rows per particle, counted beside predicted.

    Parameters
    ----------
    name : str
        Name of the system.
    positions, radii : (n, d), (n,) arrays
        The system [m].
    sizes : (L,) array
        Cell sizes [m].
    density : float
        Particles per area or volume [m^-d].
    tolerance : float
        Largest relative difference.
    **options
        Options of `pdem.find_pairs`: direction, box.
    """
    found = find_pairs(positions, radii, cell_sizes=sizes, **options)
    checks, visits = expected_counts(
        SampleMoments(radii), sizes, density=density, dimension=positions.shape[1],
        direction=options.get("direction", "top-down"), **CODE,
    )  # fmt: skip
    return [
        StudyFinding(f"{name}: tests per particle", found.checks / len(radii), float(checks), tolerance),
        StudyFinding(f"{name}: visits per particle", found.cell_accesses / len(radii), float(visits), tolerance),
    ]
