"""Rods of bonds beside the elastica, their buckling load, waves, and the place of spall; short parts of studies."""

from __future__ import annotations

import numpy as np
import pytest

from pdem.verification.study import Notebook
from validation.bonds import buckling, elastica, waves
from validation.studies import find_studies

pytestmark = [pytest.mark.compiles, pytest.mark.shares_law("bonds")]

KNOWN = {
    1.0: (0.301721, 0.056433, 0.461352),
    2.0: (0.493457, 0.160642, 0.781750),
    3.0: (0.603253, 0.254420, 0.986017),
    5.0: (0.713792, 0.387628, 1.215368),
    10.0: (0.810609, 0.554996, 1.430286),
}
"""Deflection, shortening and angle at the tip by load, from integrals of the elastica."""


def off(findings):
    return [one for one in findings if one.passed is not True]


def test_the_elastica_has_its_known_numbers():
    for load, numbers in KNOWN.items():
        assert elastica.elastica(load) == pytest.approx(numbers, abs=1e-6)


def test_rods_bend_to_the_elastica():
    """Errors fall with the square of the number of bonds: 5 and 10 give the limit to 2e-3, where 10 are 1 % off."""
    found = elastica.bent((5, 10))
    known = np.array([numbers[:2] for numbers in KNOWN.values()])
    assert found[1] == pytest.approx(known, rel=1e-2)
    assert np.abs(found[0] / known - 1.0).max() > 2e-2
    assert elastica.limit((5, 10), found) == pytest.approx(known, rel=2e-3)


def test_a_column_buckles_at_its_load():
    """4 N^2 tan^2(pi / 4N) without shear and compression; a column stays 2 % below the load, and falls 2 % above."""
    assert [buckling.rigid(count) for count in (4, 10, 40)] == pytest.approx([2.532232, 2.477583, 2.468035], abs=1e-6)
    assert buckling.rigid(10**4) == pytest.approx(0.25 * np.pi**2, rel=1e-7)
    assert off(buckling.findings_of(4, buckling.resting(4), buckling.around(4))) == []


def test_waves_in_rods():
    found = waves.frequencies(24, (1, 5, 20))
    assert found == pytest.approx(2.0 * np.sin(0.5 * np.pi * np.array([1, 5, 20]) / 25), rel=1e-4)
    assert off(waves.impact_findings(waves.impact(40))) == []


def test_spall_begins_where_the_reflected_tension_reaches_the_strength():
    """Half of the length of the pulse times the strength over its stress, for a pulse that grows fast."""
    assert [waves.reflected(160, share) for share in (0.3, 0.5, 0.7)] == pytest.approx([24.0, 40.0, 56.0], abs=1.0)
    assert off(waves.spall_findings(150, 100, (0.4, 0.6))) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["elastica", "buckling", "rod-waves"])
def test_studies_of_rods_pass_and_draw(name, tmp_path):
    notebook = Notebook(tmp_path)
    study = find_studies([name])[0]
    findings = [one for table in study.run(notebook) for one in table.findings]
    assert off(findings) == []
    assert len(findings) >= 6
    assert all(path.stat().st_size > 10_000 for path in notebook.plots)
    assert study.parameters
