"""The study of rigid clusters finds what the theory of rigid bodies says, and tells what is off."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pdem.verification.study import Notebook
from validation import cluster_checks, clusters
from validation.cluster_packing import filled_share, rod
from validation.studies import find_study


def findings_of(name, folder):
    """Return the findings of one check, and see that it has drawn them."""
    notebook = Notebook(folder)
    (check,) = (one for one in clusters.CHECKS if one.name == name)
    with notebook.plot(name) as axes:
        findings = check.run(axes, notebook.full)
    assert (folder / f"{name}.png").stat().st_size > 1000
    return findings


@pytest.mark.parametrize("check", clusters.CHECKS, ids=lambda one: one.name)
def test_all_quick_checks(check, tmp_path):
    findings = findings_of(check.name, tmp_path)
    assert len([one for one in findings if one.passed]) > 2
    assert all(one.passed in (True, None) for one in findings), [one for one in findings if not one.passed]


def test_the_study_has_a_table_for_each_check_and_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "CHECKS", clusters.CHECKS[3:4])
    (table,) = find_study("clusters").run(Notebook(tmp_path))
    assert table.failed == 0
    assert "several simultaneous contacts" in str(table)


def test_what_is_off_is_told(tmp_path, monkeypatch):
    """The same contacts beside the theory of a damping 2 % larger, and of a top with other moments."""
    true = cluster_checks.damping_factor
    monkeypatch.setattr(cluster_checks, "damping_factor", lambda *given, **more: 1.02 * true(*given, **more))
    assert not any(one.passed for one in findings_of("several", tmp_path))
    monkeypatch.setattr(cluster_checks, "_PARAMETER", 0.34)
    off = [one.name for one in findings_of("top", tmp_path) if not one.passed]
    assert "period [s]" in off
    assert "largest error at a step of 0.01 s [rad/s]" in off


def test_the_share_of_the_space_of_a_lattice_of_spheres_is_found():
    """Pi / 6 of spheres that touch, and two fifths of that where only two of five layers are left."""
    places = np.array([(x, y, z) for x in range(5) for y in range(5) for z in range(2, 10)]) * 2e-3
    assert filled_share(places, 1e-3) == pytest.approx(math.pi / 6.0, rel=0.01)
    assert filled_share(places[places[:, 0] < 3e-3] - (9e-3, 0.0, 0.0), 1e-3) == pytest.approx(math.pi / 15.0, rel=0.01)


@pytest.mark.parametrize("aspect", [1.0, 1.4, 2.5])
def test_rods_are_as_long_as_asked_for(aspect):
    x = np.array(rod(aspect)["spheres"])[:, 0]
    assert 0.5 * (x.max() - x.min()) + 1.0 == pytest.approx(aspect)
    assert np.all(np.diff(x) <= 0.5 + 1e-12)


@pytest.mark.slow
def test_the_study_with_long_runs(tmp_path):
    tables = list(clusters.run(Notebook(tmp_path, full=True)))
    assert [table.title for table in tables if table.failed] == []
    assert "tetrapods" in tables[-2].title
    assert "rods" in tables[-1].title
