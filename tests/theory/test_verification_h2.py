"""The study of the double hierarchy paper: its quick parts, and that a wrong number is reported."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from pdem.case.example_meshes.h2_meshes import crease
from pdem.case.explain.example_cases import example_text
from pdem.case.model import Case
from pdem.verification.study import FindingTable, Notebook, StudyFinding
from validation import h2_clusters, h2_holes, h2_impacts, h2_limits, h2_mixer, h2_sliding, h2_stages
from validation.h2_runs import MASS, METHODS, example, follow


def off(findings):
    return [one.name for one in findings if one.passed is False]


@pytest.mark.parametrize(
    "part",
    [h2_impacts.impacts, h2_impacts.continuity, h2_sliding.sliding, h2_sliding.sliding_as_published],
    ids=lambda part: part.__name__,
)
def test_parts_of_the_study_pass(part, tmp_path):
    """6.1.1, 6.1.2 and 6.1.4, each by both resolutions."""
    notebook = Notebook(tmp_path)
    table = part(notebook)
    assert off(table.findings) == []
    for method in METHODS:
        assert sum(one.passed is True for one in table.findings if one.name.startswith(method)) >= 6
    assert all(path.stat().st_size > 10_000 for path in notebook.plots)


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", [h2_impacts.impacts, h2_sliding.sliding, h2_sliding.sliding_as_published], ids=lambda part: part.__name__
)
def test_parts_of_the_study_pass_with_the_steps_of_the_paper(part, tmp_path, monkeypatch):
    monkeypatch.setattr(h2_impacts, "_FULL_END", 0.9)
    assert off(part(Notebook(tmp_path, full=True)).findings) == []


@pytest.mark.slow
def test_clusters_do_not_see_the_mesh_of_a_floor(tmp_path, monkeypatch):
    """A rod crosses edges with all of its spheres; a quarter of the run is enough for that."""
    monkeypatch.setattr(h2_clusters, "_SAMPLES", 10)
    monkeypatch.setattr(h2_clusters, "_START", np.radians(35.0))
    notebook = Notebook(tmp_path)
    assert off(h2_clusters.sliding_down_meshes(notebook).findings) == []
    assert off(h2_clusters.on_meshes(notebook).findings) == []
    _, run = h2_clusters.thrown(h2_clusters.MESHES["600 triangles"], "signed", samples=1)
    assert run.meshes[0].facet_count > 500
    assert len(off(h2_clusters.differences("h2", np.full(9, 1e-8)))) == 3
    assert all(path.stat().st_size > 10_000 for path in notebook.plots)


@pytest.mark.parametrize("method", METHODS)
def test_spheres_rest_in_holes(method):
    """6.1.3, with a step of 2e-4 s."""
    simulation = example("h2_holes", "time.step=2e-4", f'detection.walls="{method}"')
    track = follow(simulation, h2_holes.END, 10)
    assert off(h2_holes.resting_findings(method, track, simulation)) == []
    track.position[-1, 0, 2] += 2e-3  # friction could not hold it there
    assert len(off(h2_holes.resting_findings(method, track, simulation))) == 1


def test_spheres_without_friction_rest_where_statics_says():
    assert off(h2_holes.frictionless_findings("h2", 4e-4)) == []


def test_statics_of_the_holes():
    for contacts in (3, 4):
        height = h2_holes.rest_height(contacts)
        assert h2_holes.wedging(contacts, height) == pytest.approx(0.0, abs=1e-9)
        assert h2_holes.wedging(contacts, height - 1e-4) > 0.01
    assert h2_holes.rest_height(3) < h2_holes.rest_height(4) < np.sqrt(0.3**2 - 0.25**2)


def test_theory_of_impact_and_rolling_is_that_of_the_paper():
    force, indentation, back = h2_impacts.impact_theory()
    assert force == pytest.approx(2286.08, abs=0.005)
    assert indentation == pytest.approx(0.096659, abs=5e-7)
    assert back == pytest.approx(0.8302, abs=5e-5)
    (x, v, omega), begins = h2_sliding.rolling("radius")
    assert (x, v, omega) == pytest.approx((3.9182, 3.5714, 11.9048), abs=5e-5)
    assert begins == pytest.approx(2.0 * 5.0 / (7.0 * 0.3 * 9.81))
    assert h2_sliding.rolling("contact", 1e6)[0][1:] == pytest.approx((3.541097, 11.979284), abs=5e-7)
    assert 1e3 * h2_sliding.overlap(1e6) == pytest.approx(4.398, abs=5e-4)


def test_the_lever_arm_decides_how_a_sphere_rolls():
    """At the contact point it rolls about a shorter arm; the ledger closes with both."""
    arms = {}
    for arm in ("radius", "contact"):
        simulation = example("h2_sliding", "time.step=2e-4", f'detection.wall_lever_arm="{arm}"')
        track = follow(simulation, 0.9, 100)
        arms[arm] = track.velocity[-1, :, 0] / track.angular_velocity[-1, :, 1]
        assert abs(simulation.energies()["residual"]) < 5e-4 * 0.5 * MASS * 25.0  # a half step of sliding
    assert arms["radius"] == pytest.approx([0.3, 0.3], rel=1e-7)
    assert arms["contact"] == pytest.approx([0.3 - h2_sliding.overlap(np.inf)] * 2, rel=1e-7)


def test_wrong_numbers_are_off():
    simulation = example("h2_sliding", "time.step=1e-3")
    track = follow(simulation, 0.01, 10)
    right = [track.position[-1, 0, 0], track.velocity[-1, 0, 0], track.angular_velocity[-1, 0, 1]]
    assert off(h2_sliding.sliding_findings("h2", track, right, 1e-9)) == []
    for number in range(3):
        wrong = [value * (1.001 if place == number else 1.0) for place, value in enumerate(right)]
        assert len(off(h2_sliding.sliding_findings("h2", track, wrong, 5e-4))) == 2
    track.velocity[-1, 1, 0] *= 1.0 + 1e-9
    assert off(h2_sliding.sliding_findings("h2", track, right, 5e-4)) == ["h2: relative difference of the meshes"]


def test_a_force_that_is_not_continuous_is_off():
    simulation = example("h2_continuity", "time.step=0.02")
    track = follow(simulation, 3.0)
    assert off(h2_impacts.continuity_findings("h2", track)) == []
    track.force[70, 1, 2] *= 1.0 + 1e-6
    assert off(h2_impacts.continuity_findings("h2", track)) == ["h2, facet, vertex, edge: largest force [N]"]
    track.force[70, 0, 0] += 1e-4
    assert len(off(h2_impacts.continuity_findings("h2", track))) == 2


@pytest.mark.parametrize("angle", [2.5, 10.0, 45.0, 80.0])
def test_creases_jump_by_eq_42_with_h2_and_not_at_all_with_the_signed_sum(angle):
    """7.1, for both laws and all overlaps of Fig. 32."""
    mesh, change = crease(angle, 20.0, 20.0), np.radians(angle)
    for gamma in h2_limits.OVERLAPS:
        jumps = h2_limits.jumps_at(mesh, gamma, change, "h2")
        for law, power in h2_limits.POWERS.items():
            assert jumps[law] == pytest.approx(h2_limits.error(gamma, change, power), abs=1e-5)
        assert max(h2_limits.jumps_at(mesh, gamma, change, "signed").values()) < 1e-6


def test_the_error_of_the_paper():
    """7.1 at 170 degrees."""
    change = np.radians(10.0)
    assert h2_limits.error(1.0 / 30.0, change) == pytest.approx(0.4108, abs=5e-5)
    assert h2_limits.error(1.0 / 30.0, change, 1.0) == pytest.approx(0.55, abs=5e-3)
    assert h2_limits.error(0.1, change) == pytest.approx(0.7991, abs=1e-4)
    assert h2_limits.error(0.01, change) == 0.0


@pytest.mark.slow  # its law of walls is compiled for it alone
def test_friction_forgets_between_meshes_only(tmp_path):
    """7.2: eq. 43 where each facet is a mesh, nothing lost within one."""
    table = h2_limits.across_facets(Notebook(tmp_path))
    assert off(table.findings) == []
    place = np.linspace(0.1, 0.6, 1001)
    full = h2_limits.FRICTION * h2_limits.STIFFNESS * h2_limits.DEPTH
    ramp = np.minimum((place % h2_limits.TILE_LENGTH) / 0.05, 1.0) * full
    assert h2_limits.work_lost(place, ramp) == pytest.approx(0.025 / (0.2 - 0.025), rel=1e-3)
    assert h2_limits.work_lost(place, np.full_like(place, full)) == 0.0


def test_stages_find_the_contacts_of_the_run():
    places = [[-1.97, 0.02, 0.28], [0.0, 0.03, 0.25], [2.0, 0.0, 0.29]]
    simulation = example("h2_impacts", f"particles[0].positions={places}", "time.step=1e-4")
    simulation.advance(5)
    before = simulation.gather()
    found = h2_stages.measure_stages(simulation)
    assert found.contacts == simulation.system.contacts.walls.count == 3
    assert found.potential >= found.touched > 20
    assert min(found.fast, found.split, found.direct) > 0.0
    simulation.advance(0)
    np.testing.assert_array_equal(simulation.gather()["force"], before["force"])


def test_a_small_mixer_gives_every_table(tmp_path):
    length, few = h2_mixer.RunLength(0.02, 0.002, 4, 5), "particles[0].fill.count=1500"
    settled = h2_mixer.settle(length, 1, few)
    runs = {name: h2_mixer.run_mixer(settled, length, 1, skin, few) for skin, name in h2_mixer.SEARCHES.items()}
    one, other = runs.values()
    assert [sample.contacts for sample in one.samples] == [sample.contacts for sample in other.samples]
    assert one.samples[-1].contacts > 0
    for run in runs.values():
        assert all(sample.potential >= sample.touched >= sample.contacts for sample in run.samples)
    table = h2_mixer.time_shares(one, other, length)
    assert off(table.findings) == ["spheres"]
    for way in h2_mixer.PUBLISHED:
        total, parts = h2_mixer.stage_shares(one, way)
        assert total > 0.0
        assert parts[1] == pytest.approx(sum(parts[2:5]))
        assert parts[0] + parts[1] + parts[5] == pytest.approx(100.0)
        assert min(parts[:3]) > 0.0
    notebook = Notebook(tmp_path)
    assert h2_mixer.facet_counts(notebook, runs).failed == 0
    assert h2_mixer.scaling(notebook, settled, length).failed == 0
    assert [path.name for path in notebook.plots] == ["fig30_counts.png"]  # one thread makes no curve


def test_the_mixer_is_that_of_the_repository():
    """Its case differs from cases/rotary_mixer.toml in how it begins only."""
    mixer = Case.from_text(example_text("h2_mixer"))
    other = Case.read(h2_cases() / "rotary_mixer.toml")
    assert mixer.materials == other.materials
    assert mixer.interactions == other.interactions
    assert mixer.domain == other.domain
    assert mixer.particles == other.particles
    assert mixer.time.step == other.time.step
    table = mixer.walls[1].rotation_table
    assert np.ptp(table.angles) / np.ptp(table.times) == pytest.approx(h2_mixer.RATE)


def h2_cases():
    from pathlib import Path

    return Path(__file__).resolve().parents[2] / "cases"


def test_what_is_printed_has_a_column_of_its_own():
    row = StudyFinding("force", 76.0726, 76.0726, 1e-6, printed=76.063)
    text = str(FindingTable("t", "theory", [row, StudyFinding("other", 1.0)], "", 6))
    assert text.splitlines()[2].split() == ["computed", "theory", "difference", "printed"]
    assert text.splitlines()[3].split() == ["force", "76.0726", "76.0726", "+0.00", "%", "ok", "76.063"]
    assert "printed" not in str(FindingTable("t", "theory", [dataclasses.replace(row, printed=None)]))
