"""A script whose processes do not know of each other is told how they would."""

from __future__ import annotations

import warnings

import pytest

import pdem
from helpers.cases import Grains, make_case
from pdem.run.kernels import precompile


@pytest.fixture
def case(tmp_path):
    return make_case(tmp_path, Grains(position=[[0.0, 0.0, 0.0]], radius=1.0))


@pytest.fixture
def second_of_four(monkeypatch):
    for name, value in (("PMI_SIZE", "4"), ("PMI_RANK", "1"), ("MPI_LOCALNRANKS", "4")):
        monkeypatch.setenv(name, value)


def test_each_process_alone(case, second_of_four):
    with pytest.warns(RuntimeWarning, match=r"4 processes have been started.*pdem\.communicator\(\)"):
        pdem.Simulation(case)


def test_the_first_process_says_nothing(case, second_of_four, monkeypatch):
    monkeypatch.setenv("PMI_RANK", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pdem.Simulation(case)


def test_a_rank_that_compiles_kernels_says_nothing(second_of_four):
    """It takes steps of small cases on its own, which is no mistake of the user."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        precompile._run(pdem.Simulation, precompile._case(precompile._Laws.of(None), "hgrid", walled=False), [], 1)


def test_no_launcher_no_communicator(monkeypatch):
    for name in ("PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS"):
        monkeypatch.delenv(name, raising=False)
    assert pdem.communicator() is None
