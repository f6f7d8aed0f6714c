"""The examples that ``pdem new`` writes."""

from __future__ import annotations

from pathlib import Path

import pytest

import pdem
from helpers.balance import require_balance
from pdem.case.explain.example_cases import (
    example_groups,
    example_names,
    example_results,
    example_text,
    example_title,
    write_example,
)
from pdem.case.groups.initial import initial_particles
from pdem.case.model import Case
from pdem.case.sections.walls import MeshWall
from pdem.case.wall_files import read_walls
from pdem.features.insertions.preflight import inserted_number
from pdem.foundation.errors import CaseError, MeshError
from pdem.preflight.preflight import preflight


def test_there_are_examples() -> None:
    assert set(example_names()) >= {"bouncing_sphere", "disc_jet", "hopper", "sliding_sphere", "two_spheres"}


def with_fewer_particles(case: Case) -> Case:
    """Return a case in which groups of more than 5,000 particles have a tenth of them, which is placed sooner."""
    for number, group in enumerate(case.particles):
        if (count := getattr(group.fill, "count", None) or 0) > 5_000:
            case.override(f"particles[{number}].fill.count={count // 10}")
    return case


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name.startswith("dosta") else ()) for name in example_names()]
)
def test_every_example_passes_its_checks(name: str, tmp_path: Path) -> None:
    files = write_example(name, tmp_path / "deep" / "folder")
    assert all(files.values())
    paths = list(files)
    case = with_fewer_particles(Case.read(paths[0]))
    meshes = read_walls(case)
    particles = initial_particles(case, meshes)
    findings = preflight(case, particles, meshes)
    assert [
        str(one)
        for one in findings
        if one.level != "info" and one.subject != "processes" and "h2_rotor" not in str(one)
    ] == []  # its blades go through its shaft
    assert len(particles["id"]) + inserted_number(case) > 0
    assert {path.name for path in paths[1:]} == {wall.mesh for wall in case.walls if isinstance(wall, MeshWall)}


def test_every_example_is_in_one_group() -> None:
    assert sorted(name for names in example_groups().values() for name in names) == example_names()


@pytest.mark.parametrize("name", example_names())
def test_the_results_of_an_example_have_its_name(name: str) -> None:
    assert example_results(name) == f"results/{name}"


@pytest.mark.parametrize("name", example_names())
def test_examples_are_short_and_explained(name: str) -> None:
    text = example_text(name)
    # walls by their measures take more lines, and so do stages
    most = 90 if "shape = " in text.partition("[[walls]]")[2] else 50 if "[[stages]]" in text else 40
    assert len(text.splitlines()) < most
    assert text.count("#") >= 8
    assert 5 < len(example_title(name)) < 80


@pytest.mark.parametrize(("name", "steps"), [("screw", 1500), ("sieve", 1900), ("ball_mill", 40), ("silo", 40)])
def test_machines_run_and_keep_the_energy(name: str, steps: int, tmp_path: Path) -> None:
    """Those with an insertion beyond its first event."""
    case = Case.read(next(iter(write_example(name, tmp_path))))
    case.override(f"output.folder={str(tmp_path / 'results')!r}")
    simulation = pdem.Simulation(case)
    simulation.write()
    simulation.advance(steps)
    simulation.write()
    simulation.close()
    require_balance(case, pdem.Results(tmp_path / "results").series)
    energies = simulation.energies()
    assert len(simulation.particles.position) > 10
    assert simulation.time == pytest.approx(steps * case.resolved_step())
    assert energies["translation"] > 0.0
    assert abs(energies["residual"]) < 1e-3 * sum(map(abs, energies.values()))


USUAL_LAW = "hopper", "pouring", "drum", "conveyor", "rotor"


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=() if one in USUAL_LAW else pytest.mark.slow) for one in example_names()]
)
def test_every_example_balances(name: str, tmp_path: Path) -> None:
    """What is inside, has left and was taken out is what there was and has come in."""
    case = with_fewer_particles(Case.read(next(iter(write_example(name, tmp_path)))))
    case.override(f"output.folder={str(tmp_path / 'results')!r}")
    simulation = pdem.Simulation(case)
    simulation.write()
    for _ in range(4):
        simulation.advance(75)
        simulation.write()
    simulation.close()
    require_balance(case, pdem.Results(tmp_path / "results").series)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    case, plate = tmp_path / "bouncing_sphere.toml", tmp_path / "plate.vtk"
    plate.write_text("mine")
    with pytest.raises(CaseError, match=r"plate\.vtk: exists already with other content") as caught:
        write_example("bouncing_sphere", tmp_path)
    assert len(str(caught.value).splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["plate.vtk"]
    plate.unlink()
    case.write_text("mine")
    with pytest.raises(CaseError, match=r"bouncing_sphere\.toml: exists already with other content"):
        write_example("bouncing_sphere", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["bouncing_sphere.toml"]
    assert case.read_text() == "mine"


def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plate.vtk").mkdir()
    with pytest.raises(CaseError, match=r"plate\.vtk: exists already with other content"):
        write_example("bouncing_sphere", tmp_path)
    assert not (tmp_path / "bouncing_sphere.toml").exists()


def test_examples_that_share_a_mesh_fit_in_one_folder(tmp_path: Path) -> None:
    write_example("bouncing_sphere", tmp_path)
    plate = tmp_path / "plate.vtk"
    before = (plate.stat().st_mtime_ns, plate.read_bytes())
    files = write_example("sliding_sphere", tmp_path)
    assert files == {tmp_path / "sliding_sphere.toml": True, plate: False}
    assert (plate.stat().st_mtime_ns, plate.read_bytes()) == before
    assert read_walls(Case.read(tmp_path / "sliding_sphere.toml"))
    assert not any(write_example("sliding_sphere", tmp_path).values())


def test_unknown_examples_and_unusable_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="'hoper' is not an example; did you mean 'hopper'"):
        write_example("hoper", tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(CaseError, match="cannot be written"):
        write_example("two_spheres", tmp_path / "file")


def test_missing_and_empty_meshes_name_the_wall(tmp_path: Path) -> None:
    write_example("bouncing_sphere", tmp_path)
    case = Case.read(tmp_path / "bouncing_sphere.toml")
    (tmp_path / "plate.vtk").unlink()
    with pytest.raises(CaseError, match=r'walls\[0\]\.mesh = "plate\.vtk": no such file'):
        read_walls(case)
    (tmp_path / "plate.vtk").write_text("")
    with pytest.raises(MeshError, match=r'walls\[0\]\.mesh = "plate\.vtk": ') as caught:
        read_walls(case)
    assert len(str(caught.value).splitlines()) == 1
