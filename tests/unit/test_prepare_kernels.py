"""The first simulation of a script has its kernels compiled as the command line does: announced, and once."""

from __future__ import annotations

import time

import pytest

from helpers.cases import Grains, make_case
from pdem.numerics import cache
from pdem.run.kernels import precompile, prepare_kernels
from pdem.run.simulation import Simulation

pytestmark = pytest.mark.compiles


@pytest.fixture
def make(tmp_path):
    """Return what makes a case of one particle."""
    return lambda: make_case(tmp_path, Grains([0.0, 0.0, 0.0], 0.1))


@pytest.fixture
def compiled(monkeypatch, make):
    """Let no kernel be there; return the cases that were compiled."""
    found, marks = [], []
    monkeypatch.setattr(prepare_kernels, "_prepared", set())
    monkeypatch.setattr(cache, "is_marked", lambda tag: tag in marks)
    monkeypatch.setattr(cache, "mark", marks.append)

    def compile_kernels(simulation, case, threads):
        found.append((case, threads))
        simulation(make(), threads=threads)  # as the real one does, without doing it all again
        time.sleep(0.2)

    monkeypatch.setattr(precompile, "compile_kernels", compile_kernels)
    return found


def test_the_first_simulation_prepares_and_says_so(make, compiled, capsys, monkeypatch):
    monkeypatch.setattr(prepare_kernels, "_SECONDS_BETWEEN_LINES", 0.05)
    monkeypatch.setattr(prepare_kernels, "_stored_kernels", lambda: 0)  # tests beside this one may store some
    case = make()
    Simulation(case, threads=1)
    Simulation(make(), threads=1)
    assert compiled == [(case, 1)]
    first, *between, last = capsys.readouterr().err.splitlines()
    assert first.startswith("pdem: compiling kernels for this machine")
    assert str(cache.cache_directory()) in first
    assert between
    assert all("compiling the first kernels, for" in line for line in between)
    assert last.startswith("pdem: kernels are ready after ")


@pytest.mark.parametrize(
    ("compiled", "text"),
    [
        (-2, "compiling the first kernels, for 37 s until now"),
        (0, "compiling the first kernels, for 37 s until now"),
        (1, "1 kernel compiled and stored after 37 s"),
        (12, "12 kernels compiled and stored after 37 s"),
    ],
)
def test_progress_tells_no_zero(compiled, text):
    assert prepare_kernels._progress_text(compiled, 37.2) == text


def test_nothing_is_said_or_done_where_kernels_are_there(make, compiled, capsys, monkeypatch):
    monkeypatch.setattr(cache, "is_marked", lambda tag: True)
    Simulation(make(), threads=1)
    assert compiled == []
    assert capsys.readouterr().err == ""


def test_an_error_while_compiling_leaves_it_to_be_done(make, compiled, capsys, monkeypatch):
    def fail(simulation, case, threads):
        raise OSError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(precompile, "compile_kernels", fail)
        with pytest.raises(OSError, match="no room"):
            Simulation(make(), threads=1)
    assert "ready" not in capsys.readouterr().err
    Simulation(make(), threads=1)
    assert len(compiled) == 1


@pytest.mark.ranks(2)
def test_ranks_prepare_once_on_their_node(communicator, make, compiled):
    Simulation(make(), communicator, threads=1)
    Simulation(make(), communicator, threads=1)
    assert len(compiled) == 1
