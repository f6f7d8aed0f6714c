"""Wrong arguments of the public functions are refused by name; nothing is done, or taken for something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pdem
from helpers.cases import Grains, simulate
from pdem.foundation import arguments

TRIANGLE = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


@pytest.fixture(scope="module")
def simulation(tmp_path_factory: pytest.TempPathFactory) -> pdem.Simulation:
    places = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]
    return simulate(tmp_path_factory.mktemp("case"), Grains(places, 0.1))


@pytest.mark.parametrize("steps", [1.5, 2.0, np.float64(2.0), "a", True, None, [1], float("nan"), -1])
def test_steps_are_a_whole_number(simulation: pdem.Simulation, steps: Any) -> None:
    with pytest.raises(pdem.InputError, match=r"steps is .*give .*at least 0"):
        simulation.advance(steps)
    assert simulation.step == 0


def test_whole_numbers_of_numpy_are_steps(simulation: pdem.Simulation) -> None:
    assert simulation.advance(np.int64(0)) == 0


@pytest.mark.parametrize(
    "ids", [1.7, [1.0], np.array([1.0]), "a", "1", True, [True], None, {"id": 1}, float("nan"), [[1], [1, 2]], 10**30]
)
def test_ids_are_whole_numbers(simulation: pdem.Simulation, ids: Any) -> None:
    with pytest.raises(pdem.InputError, match=r"ids is .*whole numbers|ids holds|no particle"):
        simulation.remove(ids)
    assert len(simulation.particles) == 3


def test_ids_that_are_not_there_are_named(simulation: pdem.Simulation) -> None:
    with pytest.raises(pdem.InputError, match="there is no particle 7"):
        simulation.remove({0, 7})
    simulation.remove([])
    simulation.remove(range(0))
    assert len(simulation.particles) == 3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"threads": 0}, "threads is 0; give at least 1"),
        ({"threads": 1.5}, "threads is 1.5; give a whole number"),
        ({"threads": True}, "threads is True"),
        ({"threads": "2"}, "threads is '2'"),
        ({"comm": "world"}, "comm is 'world'; give an mpi4py communicator"),
        ({"meshes": [3]}, "a mesh is 3, not a Mesh; read one"),
        ({"state": {}}, "state has no 'particles'"),
        ({"state": 3}, "state is 3, not a Mapping"),
        ({"particles": {"radius": [1.0]}}, r"particles\['id'\] is missing"),
    ],
)
def test_what_makes_a_simulation_is_checked(simulation: pdem.Simulation, given: Any, words: str) -> None:
    with pytest.raises(pdem.InputError, match=words):
        pdem.Simulation(simulation.case, **given)


@pytest.mark.parametrize("case", [None, "two_spheres.toml"])
def test_a_simulation_needs_a_case(case: Any) -> None:
    with pytest.raises(pdem.InputError, match=r"case is .*, not a Case; read one: Case\.read"):
        pdem.Simulation(case)


@pytest.mark.parametrize("override", [None, 3, {"time.end": 1}, b"time.end=1"])
def test_an_override_is_text(simulation: pdem.Simulation, override: Any) -> None:
    with pytest.raises(pdem.InputError, match=r'an override is .*"key=value"'):
        simulation.case.override(override)


def test_threads_of_the_environment_are_named(simulation: pdem.Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PDEM_THREADS", "x")
    with pytest.raises(pdem.LaunchError, match="PDEM_THREADS='x': a whole number of at least 1"):
        pdem.Simulation(simulation.case)


@pytest.mark.parametrize("path", [None, 3, ["a"]])
def test_paths_are_texts(path: Any) -> None:
    for read, error in (
        (pdem.Case.read, pdem.CaseError),
        (pdem.Mesh.read, pdem.MeshError),
        (pdem.Simulation.restart, pdem.CheckpointError),
        (pdem.Mesh(TRIANGLE, [[0, 1, 2]]).write, pdem.MeshError),
    ):
        with pytest.raises(error, match="is no path of a file"):
            read(path)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"volume_fraction": "a"}, "volume_fraction is 'a'; give a finite number"),
        ({"volume_fraction": None}, "volume_fraction is None"),
        ({"volume_fraction": True}, "volume_fraction is True"),
        ({"overhead": "a"}, "overhead is 'a'"),
        ({"skin": None}, "skin is None"),
        ({"levels": True}, "levels is True"),
        ({"dimension": [3]}, r"dimension is \[3\]; use 2 or 3"),
    ],
)
def test_cell_sizes_take_numbers(given: Any, words: str) -> None:
    with pytest.raises(pdem.InputError, match=words):
        pdem.cell_sizes([1.0, 2.0], **{"volume_fraction": 0.5, **given})


@pytest.mark.parametrize(
    ("vertices", "facets", "options", "words"),
    [
        (TRIANGLE, None, {}, "facets are no rows"),
        (TRIANGLE, 3, {}, "facets are no rows"),
        (TRIANGLE, [0, 1, 2], {}, "facets are no rows"),
        ([["a"] * 3], [[0, 1, 2]], {}, "vertices are no table of real numbers"),
        ([[0, 0, 1j]], [[0, 1, 2]], {}, "vertices are no table of real numbers"),
        (TRIANGLE, [[0, 1, 2]], {"weld": "a"}, "weld is 'a'"),
        (TRIANGLE, [[0, 1, 2]], {"weld": -1.0}, "weld is -1.0; it must not be negative"),
        (TRIANGLE, [[0, 1, 2]], {"flatness": float("nan")}, "flatness is nan"),
    ],
)
def test_meshes_take_tables(vertices: Any, facets: Any, options: Any, words: str) -> None:
    with pytest.raises(pdem.MeshError, match=words):
        pdem.Mesh(vertices, facets, **options)


def test_a_scale_is_a_number(tmp_path: Path) -> None:
    pdem.Mesh(TRIANGLE, [[0, 1, 2]]).write(tmp_path / "one.stl")
    with pytest.raises(pdem.MeshError, match="scale is 'mm'"):
        pdem.Mesh.read(tmp_path / "one.stl", scale="mm")  # type: ignore[arg-type]


def test_errors_that_docstrings_name_are_in_pdem() -> None:
    from pdem.foundation import errors

    named = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert named <= set(pdem.__all__)
    assert all(getattr(pdem, name) is getattr(errors, name) for name in named)
    assert set(pdem.__all__) <= set(dir(pdem))


def test_representations_are_one_short_line(simulation: pdem.Simulation) -> None:
    found = [
        repr(one)
        for one in (
            simulation,
            simulation.particles,
            simulation.measures(),
            pdem.find_pairs(np.random.default_rng(1).random((5000, 3)), 0.05),
        )
    ]
    assert found[0] == "Simulation('test': step 0, time 0 s, 3 particles)"
    assert found[1].startswith("Particles(3 owned, 0 ghosts: id, ")
    assert found[2].startswith("Measures(3 particles, 0 pair and 0 wall contacts, largest overlap 0 %")
    assert found[3].startswith("PairSearch(")
    assert all(len(text) < 200 and "\n" not in text for text in found)


def test_long_values_are_shortened() -> None:
    assert len(arguments.shown(list(range(1000)))) == 60
