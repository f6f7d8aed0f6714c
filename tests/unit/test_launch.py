"""What launchers say through the environment, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from decomposition import launch
from decomposition.launch import (
    ForeignLauncherError,
    Launch,
    check_library,
    check_size,
    launched_ranks,
    read_launch,
    waits_yield,
    yield_when_crowded,
)

HYDRA = {"PMI_SIZE": "4", "PMI_RANK": "3", "MPI_LOCALNRANKS": "2"}
OPEN_MPI = {"OMPI_COMM_WORLD_SIZE": "8", "OMPI_COMM_WORLD_LOCAL_SIZE": "4", "OMPI_COMM_WORLD_RANK": "5"}


@pytest.mark.parametrize(
    ("environment", "ranks", "on_node", "rank"),
    [
        (HYDRA, 4, 2, 3),
        (OPEN_MPI, 8, 4, 5),
        ({"SLURM_STEP_NUM_TASKS": "6", "SLURM_STEP_TASKS_PER_NODE": "2(x2),1", "SLURM_PROCID": "1"}, 6, 2, 1),
        ({"SLURM_STEP_NUM_TASKS": "10", "SLURM_STEP_TASKS_PER_NODE": "1,3(x3)"}, 10, 3, 0),
        # mpirun in a batch job starts its proxies through srun: its own word counts
        (HYDRA | {"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "0"}, 4, 2, 3),
        ({"PMIX_RANK": "2"}, None, None, 2),
    ],
)
def test_launchers_are_recognised(environment, ranks, on_node, rank):
    found = read_launch(environment)
    assert (found.ranks, found.ranks_on_node, found.rank) == (ranks, on_node, rank)


def test_no_launcher():
    # a batch script itself, before srun or mpirun, has a size but is one process
    assert read_launch({"SLURM_NTASKS": "8", "SLURM_PROCID": "0"}) is None
    assert launched_ranks({}) == 1
    assert launched_ranks(HYDRA) == 4


def test_size_that_differs_is_refused():
    check_size(4, read_launch(HYDRA))
    check_size(1, None)
    check_size(3, Launch("a PMIx launcher", None, None, 0))
    with pytest.raises(ForeignLauncherError, match=r"started 4 processes, but .* sees 1: "):
        check_size(1, read_launch(HYDRA))


def test_library_that_would_die_under_the_launcher_is_refused():
    check_library("Open MPI v5.0.11, package: ...", read_launch(OPEN_MPI))
    check_library("MPICH Version:      5.0.2\nMPICH Release date: ...", read_launch(HYDRA))
    with pytest.raises(ForeignLauncherError, match="loaded is MPICH: use the mpirun beside"):
        check_library("MPICH Version:      5.0.2\nMPICH Release date: ...", read_launch(OPEN_MPI))


@pytest.mark.parametrize(("threads", "cores", "expected"), [(1, 2, False), (2, 2, True), (1, 1, True)])
def test_yields_only_when_there_are_more_threads_than_cores(monkeypatch, threads, cores, expected):
    monkeypatch.setattr(launch, "available_cores", lambda: cores)
    environment = {}
    assert yield_when_crowded(threads, read_launch(HYDRA), environment) is expected
    assert ("MPIR_CVAR_ENABLE_HEAVY_YIELD" in environment) is expected
    assert waits_yield("MPICH Version:      5.0.2", environment) is expected
    assert not waits_yield("Open MPI v5.0.11", environment)


def test_the_users_choice_to_yield_stands(monkeypatch):
    monkeypatch.setattr(launch, "available_cores", lambda: 1)
    environment = {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "0"}
    assert not yield_when_crowded(8, read_launch(HYDRA), environment)
    assert environment == {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "0"}
    assert not waits_yield("MPICH Version:      5.0.2", environment)


def test_a_file_of_the_user_that_hides_decomposition_is_named(tmp_path):
    (tmp_path / "decomposition.py").write_text("matrix = 1\n")
    (tmp_path / "script.py").write_text("import pdem\npdem.Simulation\n")
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    command = [sys.executable, str(tmp_path / "script.py")]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert f"{tmp_path / 'decomposition.py'} is found as the module decomposition" in result.stderr
