"""Findings on features of the checks before a run, in the order of their display: one line for each feature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.features.bonds.preflight import bond_findings
from pdem.features.breakage.preflight import breakage_findings
from pdem.features.external_forces.preflight import force_findings
from pdem.features.fields.preflight import field_findings
from pdem.features.heat.preflight import heat_findings
from pdem.features.insertions.preflight import insertion_findings
from pdem.features.sensors.preflight import sensor_findings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.model import Case
    from pdem.preflight.findings import Finding
    from pdem.preflight.population import Population


def feature_findings(case: Case, step: float, smallest: float) -> Iterator[Finding]:
    """Yield the findings on the features of a case.

    Parameters
    ----------
    case : Case
        The case.
    step : float
        Time step [s].
    smallest : float
        Smallest radius of the particles at time 0 [m], infinite without any.
    """
    yield from insertion_findings(case, step)
    yield from sensor_findings(case, step)
    yield from field_findings(case, step, smallest)
    yield from force_findings(case, step)


def findings_on_particles(case: Case, particles: Population, step: float) -> list[Finding]:
    """Return the findings on the features of a case that need its particles, for a time step [s]. Collective.

    Raises
    ------
    CaseError
        On all ranks, if a feature cannot use them.
    """
    return [
        *bond_findings(case, particles, step),
        *heat_findings(case, particles, step),
        *breakage_findings(case, particles, step),
    ]
