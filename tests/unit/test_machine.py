"""Cores and threads."""

from __future__ import annotations

import math
import sys

import pytest

from pdem.foundation.errors import LaunchError
from pdem.foundation.machine import available_cores, core_quota, cores_of_all_ranks, default_threads, has_openmp


@pytest.mark.parametrize(
    ("cores", "ranks", "environment", "threads"),
    [
        (8, 2, {}, 4),
        (8, 3, {}, 2),
        (2, 8, {}, 1),
        (8, 2, {"SLURM_CPUS_PER_TASK": "3"}, 3),
        (8, 2, {"SLURM_CPUS_PER_TASK": "3", "OMP_NUM_THREADS": "2,1"}, 2),
        (8, 2, {"PDEM_THREADS": "5", "OMP_NUM_THREADS": "2"}, 5),
        (8, 2, {"PDEM_THREADS": ""}, 4),
    ],
)
def test_threads_per_rank(cores, ranks, environment, threads):
    assert default_threads(cores, ranks, environment) == threads


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
def test_a_variable_that_is_no_number_is_named(text):
    with pytest.raises(LaunchError, match=f"PDEM_THREADS='{text}'"):
        default_threads(8, 1, {"PDEM_THREADS": text})


@pytest.mark.parametrize(("text", "cores"), [("150000 100000", 1.5), ("max 100000", math.inf), ("?", math.inf)])
def test_quota_of_a_container(tmp_path, text, cores):
    file = tmp_path / "cpu.max"
    file.write_text(text)
    assert core_quota(file) == cores
    assert core_quota(tmp_path / "missing") == math.inf


@pytest.mark.skipif(sys.platform != "linux", reason="asked for on Linux only")
def test_openmp_is_there_if_it_can_be_loaded():
    assert has_openmp("libc.so.6")
    assert not has_openmp("libno-such-thing.so.1")


def test_a_quota_limits_the_cores(monkeypatch):
    monkeypatch.setattr("pdem.foundation.machine.usable_cores", lambda: frozenset(range(64)))
    for quota, cores in ((2.5, 2), (0.5, 1), (math.inf, 64)):
        monkeypatch.setattr("pdem.foundation.machine.core_quota", lambda quota=quota: quota)
        assert available_cores() == cores


@pytest.mark.parametrize(
    ("environment", "extra"),
    [
        ({}, 0),
        ({"SLURM_CPU_BIND_TYPE": "mask_cpu:", "SLURM_CPU_BIND_LIST": "0xF0000,0xFF00000000000000"}, 12),
        ({"SLURM_CPU_BIND_TYPE": "mask_cpu:", "SLURM_CPU_BIND_LIST": "what"}, 0),
        ({"SLURM_CPU_BIND_TYPE": "none", "SLURM_CPU_BIND_LIST": "0xFFFFF"}, 0),
    ],
)
def test_ranks_bound_to_cores_of_their_own_have_more_together(environment, extra, monkeypatch):
    monkeypatch.setattr("pdem.foundation.machine.usable_cores", lambda: frozenset({0}))
    assert cores_of_all_ranks(environment) == (extra or 1)
