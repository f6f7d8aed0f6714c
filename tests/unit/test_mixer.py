"""Geometry and cases of the rotary mixer, and the other cases of the repository."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pdem.benchmark.cases import _mixing
from pdem.case.example_meshes import mixer
from pdem.case.groups.initial import initial_particles
from pdem.case.model import Case
from pdem.containers.meshes.mesh import Mesh, join_meshes
from pdem.engine.setup import WallGeometry, walls_of
from pdem.engine.stages.timeline import Stages
from pdem.preflight.preflight import preflight

CASES = Path(__file__).resolve().parents[2] / "cases"
DIAMETER = 0.007


@pytest.fixture(scope="module")
def drum() -> Mesh:
    return mixer.drum()


@pytest.fixture(scope="module")
def rotor() -> Mesh:
    return mixer.rotor()


def test_the_drum_is_closed_and_of_1600_quads(drum: Mesh) -> None:
    report = drum.report()
    assert (report.facets, report.quads) == (1600, 1600)
    assert report.closed
    assert report.normals_outward is False
    assert report.smallest_angle > 45.0
    # A prism with 40 sides of 2 R sin(pi / 40).
    assert report.volume == pytest.approx(20 * mixer.DRUM_RADIUS**2 * np.sin(np.pi / 20) * mixer.LENGTH)


def test_the_rotor_is_of_848_triangles(rotor: Mesh) -> None:
    report = rotor.report()
    assert (report.facets, report.triangles) == (848, 848)
    assert report.duplicated_facets == report.inconsistent_edges == report.non_manifold_edges == 0
    assert report.smallest_angle > 5.0


def test_the_rotor_turns_clear_of_the_drum(rotor: Mesh) -> None:
    distance = np.hypot(rotor.vertices[:, 1], rotor.vertices[:, 2])
    shaft = distance < 1.01 * mixer.SHAFT_RADIUS
    apothem = mixer.DRUM_RADIUS * np.cos(np.pi / 40)
    assert apothem - distance.max() > 1.5 * DIAMETER
    assert 0.5 * mixer.LENGTH - np.abs(rotor.vertices[~shaft, 0]).max() > 1.5 * DIAMETER
    # The shaft goes through the caps: no gap at all.
    assert np.abs(rotor.vertices[shaft, 0]).max() > 0.5 * mixer.LENGTH


def test_the_settled_bed_fills_about_half_the_drum(drum: Mesh) -> None:
    shaft = 4 * mixer.SHAFT_RADIUS**2 * np.sin(np.pi / 4) * mixer.LENGTH
    spheres = 29559 * 4 / 3 * np.pi * (0.5 * DIAMETER) ** 3
    # Settled with friction 0.5 a bed of equal spheres has a solid fraction of 0.57 to 0.60.
    assert 0.49 < spheres / 0.585 / (drum.report().volume - shaft) < 0.51


def test_the_filling_case_places_all_spheres_clear_of_walls(drum: Mesh, rotor: Mesh) -> None:
    case = Case.read(CASES / "rotary_mixer.toml")
    particles = initial_particles(case, [drum, rotor])
    assert len(particles["id"]) == 29559
    findings = preflight(case, particles, [drum, rotor])
    assert [str(one) for one in findings if one.level == "error" or " it, at most" in one.message] == []
    inside = np.hypot(particles["position"][:, 1], particles["position"][:, 2])
    assert inside.min() > mixer.SHAFT_RADIUS
    # Loose enough to lose its order, low enough to settle soon.
    assert particles["position"][:, 2].max() < 0.06


def test_the_rotor_turns_once_the_bed_has_settled(drum: Mesh, rotor: Mesh) -> None:
    case = Case.read(CASES / "rotary_mixer.toml")
    assert [stage.name for stage in case.stages] == ["settling", "mixing"]
    assert round(case.stages[0].end / case.time.step) == 10000
    assert case.time.end == case.stages[0].end + 20.0
    assert case.walls[1].rotation.rate == 18.85
    stages = Stages(case.stages, case.time.step)
    walls = walls_of(case, WallGeometry([drum, rotor], join_meshes([drum, rotor])), stages.clocks)
    stages.begin(0, 0)
    walls.place(2 * case.time.step, case.time.step)
    assert not walls.angular_velocity.any()
    stages.begin(1, 2)
    walls.place(3 * case.time.step, 2 * case.time.step)
    assert walls.angular_velocity.tolist() == [[0.0] * 3, [18.85, 0.0, 0.0]]


def test_the_benchmark_begins_with_the_settled_bed() -> None:
    case = _mixing(Case.read(CASES / "rotary_mixer.toml"))
    assert not case.stages
    assert case.walls[1].rotation.rate == 18.85
    assert Path(case.particles[0].file) == CASES.parent / "results" / "rotary_mixer" / "stage-settling.h5"


def test_the_script_writes_what_the_case_reads(tmp_path: Path, drum: Mesh) -> None:
    import importlib.util

    path = CASES.parent / "scripts" / "mixer_mesh.py"
    spec = importlib.util.spec_from_file_location("mixer_mesh", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.main(tmp_path / "mixer")
    case = Case.read(CASES / "rotary_mixer.toml")
    meshes = [Mesh.read(tmp_path / wall.mesh, wall.scale) for wall in case.walls]
    assert [mesh.facet_count for mesh in meshes] == [1600, 848]
    np.testing.assert_allclose(meshes[0].vertices, drum.vertices, atol=1e-15)


def test_the_polydisperse_box_has_size_ratio_50() -> None:
    case = Case.read(CASES / "polydisperse_box.toml")
    case.override("particles[0].fill.volume_fraction=0.2")
    radius = initial_particles(case)["radius"]
    assert 40.0 < radius.max() / radius.min() <= 50.0
    assert len(radius) > 5000
    assert 4 / 3 * np.pi * np.sum(radius**3) == pytest.approx(0.2e-3, rel=0.05)
