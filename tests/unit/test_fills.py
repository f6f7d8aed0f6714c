"""Random fills near their limit: refused at once, found by shaking, or given up in seconds."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from helpers.fills import case_of, checked
from pdem.case.groups.initial import initial_particles
from pdem.containers.meshes.mesh import Mesh
from pdem.foundation.errors import CaseError
from pdem.particles.clearance import touching_walls


def test_far_too_many_are_refused_before_any_is_tried() -> None:
    """150,000 where some thousand fit took more than nine minutes."""
    sizes = 'radius = {distribution = "power-law", exponent = -3.0, min = 0.02, max = 0.06}'
    begun = time.process_time()
    with pytest.raises(CaseError, match=r"particles\[0\]\.fill\.count = 150000: .*; random places hold about 0\.3, "):
        initial_particles(case_of(f"{sizes}\nfill = {{count = 150000}}"))
    assert time.process_time() - begun < 2.0


@pytest.mark.parametrize("periodic", ["[false, false, false]", "[true, false, true]"])
def test_more_than_one_after_the_other_finds_is_placed_by_shaking(periodic: str, tmp_path: Path) -> None:
    """Random places end far below 0.37 of equal spheres where walls and faces take room."""
    mesh = Mesh([[0, 0, 0.1], [1, 0, 0.9], [1, 1, 0.9], [0, 1, 0.1]], [[0, 1, 2, 3]])
    mesh.write(tmp_path / "slope.vtk")
    group = "radius = 0.05\nfill = {volume_fraction = 0.3, attempts = 2000}"
    wall = '\n[[walls]]\nmesh = "slope.vtk"\nmaterial = "other"'
    case = case_of(group + wall, periodic=periodic, directory=tmp_path)
    particles = checked(case)
    assert len(particles["id"]) == 573
    arrays = (mesh.vertices, mesh.facet_start, mesh.facet_vertices)
    assert touching_walls(particles["position"], particles["radius"], *arrays)[0].size == 0
    again = initial_particles(case)
    assert np.array_equal(particles["position"], again["position"])


def test_shaken_spheres_stay_clear_of_those_of_other_groups() -> None:
    given = "radius = 0.1\npositions = [[0.3, 0.3, 0.15]]"
    lattice = 'radius = 0.05\nfill = {arrangement = "cubic", count = 40}'
    groups = [f"radius = {r}\nfill = {{volume_fraction = 0.14, attempts = 500}}" for r in (0.05, 0.04, 0.015)]
    case = case_of(given, lattice, *groups, periodic="[true, true, false]")
    assert len(checked(case)["id"]) > 5000


def test_giving_up_takes_a_bounded_number_of_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdem.particles.random_filling.MIN_WORK", 200_000)
    begun = time.process_time()
    with pytest.raises(CaseError, match=r"gave up at \d+ of \d+ particles"):
        initial_particles(case_of("radius = 0.02\nfill = {volume_fraction = 0.43, attempts = 50}"))
    assert time.process_time() - begun < 5.0


def test_a_long_fill_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("pdem.particles.random_filling.PROGRESS_AFTER", 0.0)
    case = case_of("radius = 0.03\nfill = {volume_fraction = 0.2}")
    initial_particles(case, progress=True)
    assert "placing particles" in capsys.readouterr().err
    initial_particles(case)
    assert capsys.readouterr().err == ""


def test_a_narrow_tube_may_hold_more_than_a_wide_one() -> None:
    """Nine of ten side by side have 0.59 of it: nothing forbids that, and places in a row are not refused unseen."""
    tube = 'shape = "cylinder", centre = [0.5, 0.5, 0.5], axis = [0, 0, 1], radius = 0.0505, length = 1.0'
    assert len(checked(case_of(f"radius = 0.05\nfill = {{count = 6, {tube}}}"))["id"]) == 6
    with pytest.raises(CaseError, match=r"gave up at \d of 9 particles"):
        initial_particles(case_of(f"radius = 0.05\nfill = {{count = 9, attempts = 50, {tube}}}"))


def test_what_was_placed_is_counted_for_the_group_that_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdem.particles.random_filling.MIN_WORK", 10_000)
    half = "exclude = [{lower = [0, 0, 0], upper = [0.5, 1, 1]}]"
    coarse = f"radius = 0.05\nfill = {{volume_fraction = 0.3, attempts = 50, {half}}}"
    fine = "radius = 0.02\nfill = {count = 1000}"
    with pytest.raises(CaseError, match=r"particles\[1\]\.fill: gave up at \d+ of 573 particles"):
        initial_particles(case_of(fine, coarse))
