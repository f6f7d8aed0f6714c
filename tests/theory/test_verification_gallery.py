"""The gallery of `pdem verify`: its quick studies pass, and tell what is off."""

from __future__ import annotations

import numpy as np
import pytest

from pdem.verification.study import Notebook
from validation.gallery import few, lattices, oblique_impact, points, promises, restitutions, rolling, tangential_speed
from validation.studies import STUDIES, find_studies

LONG = "thornton-maw", "chain"
"""Quick studies whose kernels nothing else needs, or which take many steps."""
QUICK = [
    pytest.param(study, marks=pytest.mark.slow if study.name in LONG else ())
    for study in STUDIES
    if (study.group in ("impacts", "rolling", "promises") and study.name != "bits")
    or study.name in ("chain", "heat", "breakage")
]


def off(study, folder):
    """Return the names of what is outside its tolerance in a study."""
    return [one.name for table in study.run(Notebook(folder)) for one in table.findings if one.passed is False]


@pytest.mark.parametrize("study", QUICK, ids=lambda study: study.name)
def test_quick_studies_pass_and_draw(study, tmp_path):
    notebook = Notebook(tmp_path)
    tables = list(study.run(notebook))
    assert [one for table in tables for one in table.findings if one.passed is False] == []
    assert sum(one.passed is True for table in tables for one in table.findings) >= 3
    assert notebook.plots
    assert all(path.stat().st_size > 10_000 for path in notebook.plots)
    assert study.parameters
    assert study.title


@pytest.mark.slow
@pytest.mark.parametrize("name", ["beverloo", "janssen", "dam-break", "repose", "triaxial", "plane-shear", "lattices"])
def test_processes_in_bulk_pass(name, tmp_path):
    assert off(find_studies([name])[0], tmp_path) == []


def test_all_tests_of_chung_and_ooi_are_there():
    names = {study.name for study in find_studies(["impacts"])}
    assert {f"chung-ooi-{k}" for k in range(1, 9)} < names


def test_wrong_numbers_are_told(tmp_path, monkeypatch):
    """Friction a hundredth larger, restitution asked for 0.01 too small, decay beside another rolling friction."""
    monkeypatch.setattr(oblique_impact, "FRICTION", 0.092 * 1.01)
    known = oblique_impact.sliding(oblique_impact.ANGLES)
    monkeypatch.setattr(oblique_impact, "FRICTION", 0.092)
    found = oblique_impact.sliding_findings("x", known)
    assert sum(one.passed is False for one in found) > len(found) / 2
    monkeypatch.setattr(restitutions, "ASKED", (0.5, 0.8))
    right = restitutions.on_plane(restitutions.PLANE_MATERIALS["cast iron"])
    assert all(one.passed for one in restitutions._findings("x", right))
    assert not any(one.passed for one in restitutions._findings("x", right + 0.01))
    monkeypatch.setattr(rolling, "WENSRICH_SPINS", {0.03: 25.04 * 1.01})
    assert off(find_studies(["rolling-decay"])[0], tmp_path) == ["spin at 0.03 s [rad/s]"]


def test_theory_is_that_of_the_literature():
    """Chung and Ooi's tests 1 and 2 (10.7 kN in glass, 7108 N in limestone; 7233 N of magnesium), and test 4."""
    glass = few.hertz(few.Material(4.8e10, 0.20, 2800.0), 0.01, 20.0, pair=True)
    assert glass == pytest.approx((274.113e-6, 10696.89, 40.3395e-6), rel=1e-5)
    assert few.hertz(few.Material(2e10, 0.25, 2500.0), 0.01, 20.0, pair=True).force == pytest.approx(7108.24, rel=1e-5)
    assert few.hertz(few.Material(4e10, 0.35, 1800.0), 0.1, 0.2, pair=False).force == pytest.approx(7232.68, rel=1e-5)
    slides = oblique_impact.sliding(np.array([35.0, 60.0]))
    np.testing.assert_allclose(slides.ratio, [0.7398, 0.8948], atol=5e-5)
    np.testing.assert_allclose(slides.spin, [-581.95, -355.21], atol=5e-3)
    np.testing.assert_allclose(slides.angle, [3.658, 48.159], atol=5e-4)


def test_a_tangential_spring_that_slides_takes_seven_units_away():
    slip = tangential_speed.slip_by_law(np.array([8.0, 12.0]), 0.8, weakens=True)
    np.testing.assert_allclose(slip, [1.0, 5.0], atol=2e-3)
    stuck = tangential_speed.slip_by_law(np.array([0.1]), 1e-4, weakens=False)
    np.testing.assert_allclose(stuck, [0.1], rtol=1e-2)


def test_curves_are_read():
    for name in points._CURVES:
        x, y = points.points(name)
        assert len(x) == len(y) >= 6
        assert np.all(np.diff(x) > 0.0)
    assert few.curve_distance(np.array([[0.0, 1.0], [0.0, 2.0]]), np.array([0.0, 2.0]), np.array([0.0, 2.0])) == 0.25


@pytest.mark.parametrize("name", lattices.LATTICES)
def test_moduli_of_lattices_are_the_sums_over_their_neighbours(name):
    for tangential in (0.0, 0.4, 1.0):
        exact = lattices.moduli(name, 3.0, 3.0 * tangential, 0.5)
        np.testing.assert_allclose(
            exact, lattices.summed_moduli(lattices.LATTICES[name], 3.0, 3.0 * tangential, 0.5), atol=1e-12
        )


@pytest.mark.slow
def test_a_lattice_of_hertzian_spheres_has_the_moduli_of_duffy_and_mindlin():
    squeezed, name = 1e-5, "face-centred cubic"
    springs = lattices.hertzian(2.0 * lattices.RADIUS * squeezed)
    found = lattices.measured(name, springs, squeezed)
    load, v = lattices.pressure(springs, squeezed), lattices.POISSON
    shear = lattices.MODULUS / (2.0 * (1.0 + v))
    unit = (3.0 * load * shear**2 / (2.0 * (1.0 - v) ** 2)) ** (1.0 / 3.0)
    c11 = (4.0 - 3.0 * v) / (2.0 - v) * unit
    np.testing.assert_allclose(found, [c11, v / (2.0 * (2.0 - v)) * unit, 0.5 * c11], atol=3e-4 * c11)


def test_meshes_of_one_surface_are_those_of_the_study():
    for meshes in promises._meshes().values():
        areas = set()
        for name, (vertices, facets) in meshes.items():
            if "one on the other" not in name:
                areas.add(round(sum(_area(np.array(vertices)[facet]) for facet in facets), 12))
        assert len(areas) == 1


def _area(corners):
    sides = corners[1:] - corners[0]
    return 0.5 * np.linalg.norm(np.cross(sides[:-1], sides[1:]).sum(axis=0))
