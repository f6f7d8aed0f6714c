"""A restart says what it would cut, and does it only where that was asked for; what has changed is told."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import pdem
from helpers.folders import FRICTION, checkpoints, command, die_in_step, listing, refused, run
from pdem.cli import main
from pdem.foundation.errors import InputError
from pdem.output.checkpoints.checkpoint import read_checkpoint
from pdem.output.series import read_series
from pdem.output.snapshots.vtkhdf import read_times


def test_going_back_needs_to_be_asked_for(here):
    first = "out/checkpoint-000000200.h5"
    said = refused("restart", first)
    assert "it would go on from step 200 (0.002 s), and checkpoint-000000400.h5, series.h5 until 0.004 s, " in said
    assert "would be lost; --overwrite removes that, --set output.folder=... writes elsewhere" in said
    errors = run("restart", first, "--overwrite", settings=["time.end=0.003"])
    assert "removed, being later than 0.002 s: checkpoint-000000400.h5, series.h5" in errors
    assert checkpoints("out") == ["checkpoint-000000200.h5", "checkpoint-000000300.h5"]
    np.testing.assert_allclose(read_series("out/series.h5")["time"][-1], 0.003)
    assert read_times(Path("out/particles.vtkhdf"))[-1] == pytest.approx(0.003)


def killed_behind(monkeypatch, *settings):
    """Let a run that goes on from 0.004 s die at 0.0065 s, with rows and no checkpoint of what is later."""
    from pdem.output.series import Series

    with monkeypatch.context() as patch:
        append = Series.append
        patch.setattr(Series, "append", lambda self, row: (append(self, row), self.flush()))
        die_in_step(patch, 650)
        arguments = ("restart", "out", "--quiet")
        code, errors = command(*arguments, settings=["time.end=0.02", "output.checkpoint_every=0.01", *settings])
    assert code == 137, errors
    assert read_series("out/series.h5")["time"][-1] == pytest.approx(0.0065)


def test_after_a_kill_a_restart_makes_the_same_rows_again(here, monkeypatch):
    killed_behind(monkeypatch)
    rows = read_series("out/series.h5")
    assert "time.end" not in (said := refused("restart", "out", settings=["time.end=0.005"]))
    assert "it would end at 0.005 s, and series.h5 until 0.0065 s" in said
    errors = run("restart", "out", settings=["time.end=0.008"])
    assert "rows and snapshots after 0.004 s (until 0.0065 s) are made again, with the same bits" in errors
    again = read_series("out/series.h5")[: len(rows)]
    for name in set(rows.dtype.names) - {"particle_steps_per_second", "detections"}:
        np.testing.assert_array_equal(again[name], rows[name], err_msg=name)


def test_rows_of_another_case_are_neither_mixed_nor_cut(here, monkeypatch):
    killed_behind(monkeypatch)
    said = refused("restart", "out", settings=["time.end=0.008", f"{FRICTION}=0.9"])
    assert f"it would go on from 0.004 s with another case ({FRICTION} 0.4, now 0.9), and series.h5" in said
    run("restart", "out", "--overwrite", settings=["time.end=0.008", f"{FRICTION}=0.9"])


def test_a_run_is_not_continued_behind_the_back_of_a_later_one(here, monkeypatch):
    """Text 3: a changed run that left no checkpoint, and then a restart without its changes."""
    killed_behind(monkeypatch, f"{FRICTION}=0.9")
    said = refused("restart", "out", settings=["time.end=0.008"])
    assert "out: the checkpoint of step 400 is older than the run that wrote here last (" in said
    assert f"whose case differs ({FRICTION} 0.4, now 0.9)" in said
    errors = run("restart", "out", settings=["time.end=0.008", f"{FRICTION}=0.9"])
    assert "with the same bits" in errors


def test_refused_walls_and_columns_change_nothing(here):
    """The fault A4: walls.vtkhdf was renamed before the columns of the series were found to differ."""
    later = "time.end=0.008"
    said = refused("restart", "out", settings=[later, "walls=[]"])
    assert "a restart keeps its 1 walls, and there would be 0" in said
    assert "begin a new case whose particles.file is the checkpoint" in said
    said = refused("restart", "out", settings=[later, "walls.0.scale=2.0"])
    assert "walls[0].scale of wall plate: a restart keeps the meshes of its walls" in said
    servo = "walls.0.servo={axis=[0, 0, 1], force=1.0, largest_rate=1.0}"
    assert "walls[0].servo of wall plate: a restart keeps" in refused("restart", "out", settings=[later, servo])
    said = refused("restart", "out", settings=[later, 'walls.0.name="floor"'])
    assert "out/series.h5: holds other columns or walls than this run and cannot be continued; --set" in said
    run("restart", "out", settings=[later, 'walls.0.name="floor"', "output.folder=floor"])


def test_the_end_is_told_from_the_past(here):
    said = refused("restart", "out", settings=["time.end=0.003"])
    assert "time.end = 0.003 s is before the present time 0.004 s of out/checkpoint-000000400.h5" in said
    assert "has reached its end" in command("restart", "out")[1]
    for name in ("check", "run"):
        result = CliRunner().invoke(main, [name, "case.toml", "--set", "time.end=4e-6", "--set", "output.folder=b"])
        assert result.exit_code == 2
        assert result.output.count("time.end = 4e-06 s is less than half the time step 1e-05 s") == 1


@pytest.mark.parametrize(
    ("folder", "why"),
    [
        ("case.toml", "case.toml is a file"),
        ("case.toml/a/b", "case.toml is a file"),
        ("nowhere", "nowhere is a link that leads nowhere"),
        ("a" * 300, "a" * 300 + ": File name too long"),
    ],
    ids=["file", "below a file", "link", "long"],
)
def test_a_folder_that_cannot_be_made_is_wrong_input(here, folder, why):
    Path("nowhere").symlink_to("none/at/all")
    setting = [f"output.folder={folder}"]
    said = refused("run", "case.toml", settings=setting)
    assert f"output.folder = '{folder}' cannot be made or written to ({why}" in said
    refused("run", "case.toml", "--overwrite", settings=setting)
    refused("run", "case.toml", "--continue", settings=setting)
    refused("restart", "out", settings=[*setting, "time.end=0.005"])
    result = CliRunner().invoke(main, ["check", "case.toml", "--set", *setting])
    assert result.exit_code == 2
    assert f"error: output: output.folder = '{folder}' cannot be made" in result.output


def test_what_checks_find_is_said_once(here):
    code, errors = command("run", "case.toml", settings=["output.folder=b", "particles.0.positions=[[0, 0, 0.3]]"])
    assert code == 2
    assert errors.count("particles are outside") == 1
    assert not Path("b").exists()


def test_the_ledger_goes_on_when_gravity_changes(here):
    before = read_series("out/series.h5")
    code, errors = command("restart", "out", settings=["time.end=0.005", "domain.gravity=[0.0, 0.0, -98.1]"])
    assert code == 0, errors
    (said,) = (line for line in errors.splitlines() if "the energy of this state by" in line)
    jump = float(re.search(r"of this state by (\S+) J", said)[1])
    assert jump == pytest.approx(9 * before["gravity"][-1], rel=1e-3)
    assert said.removeprefix("pdem: ") in Path("out/run.log").read_text()
    run("restart", "out", settings=["time.end=0.006"])
    rows = read_series("out/series.h5")
    assert np.abs(np.diff(rows["residual"])).max() < 0.01 * jump


def test_a_wall_with_another_motion_is_told_how_far_it_jumps(here):
    slow = "walls.0.translation={velocity=[0.0, 0.0, -0.5]}"
    errors = run("restart", "out", settings=["time.end=0.0045", slow, "output.folder=slow"])
    assert "wall plate: with its changed motion it jumps by 0.002 m at 0.004 s" in errors
    said = refused("restart", "out", settings=["time.end=0.0045", slow.replace("0.5", "5.0")])
    assert "wall plate: with its changed motion it would jump by 0.02 m at 0.004 s, which is more than the" in said
    table = "walls.0.translation_table={times=[0.004, 1.0], displacements=[[0, 0, 0], [0, 0, -1]]}"
    assert "jump" not in run("restart", "out", settings=["time.end=0.0045", table])


def test_a_script_is_held_to_the_same_rules(here):
    def simulation(*settings):
        case = pdem.Case.read("case.toml")
        for setting in settings:
            case.override(setting)
        return pdem.Simulation(case)

    before = listing()
    with pytest.raises(InputError, match=r"out holds a run .*Simulation\.restart\('out'\) goes on with it, run\(over"):
        simulation().run()
    state = read_checkpoint("out/checkpoint-000000200.h5").groups
    with pytest.raises(InputError, match="go on from step 200"):
        pdem.Simulation(pdem.Case.read("case.toml"), state=state).run()
    assert listing() == before
    continued = pdem.Simulation.restart("out")
    continued.case.override("time.end=0.005")
    assert continued.run() == 100
    continued.case.override("time.end=0.006")
    assert continued.run() == 100
    assert checkpoints("out")[-1] == "checkpoint-000000600.h5"
    with pytest.raises(InputError, match=r"would be lost; run\(overwrite=True\) removes that"):
        pdem.Simulation.restart("out/checkpoint-000000500.h5").run()
    assert simulation("time.end=0.001").run(overwrite=True) == 100
    assert checkpoints("out") == ["checkpoint-000000100.h5"]
