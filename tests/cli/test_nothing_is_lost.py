"""A run is only written over, or gone on with, where that was asked for, and a refusal changes nothing."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import pdem
from helpers.folders import FRICTION, checkpoints, command, die_in_step, listing, refused, run, state
from pdem.cli import main
from pdem.engine.blow_up import BlowUp
from pdem.output.series import read_series


def test_a_run_is_not_written_over(here):
    said = refused("run", "case.toml")
    assert re.search(
        r"pdem: error: out holds a run that reached 0\.004 s \(checkpoint-000000400\.h5, .*\); pdem restart out goes "
        r"on with it, --overwrite begins anew, --set output\.folder=\.\.\. writes elsewhere",
        said,
    )
    assert "out holds a run" in refused("run", "case.toml", settings=["output.folder=../" + here.name + "/out"])
    code, _ = command("check", "case.toml")
    assert code == 0
    output = CliRunner().invoke(main, ["check", "case.toml"]).output
    assert "warning: output: pdem run would refuse: out holds a run" in output
    run("run", "case.toml", settings=["output.folder=other"])


@pytest.mark.parametrize("left", ["run.log", "series.csv", "particles.vtkhdf", "checkpoint-000000200.h5"])
def test_any_file_of_a_run_is_one(here, left):
    for path in Path("out").iterdir():
        if path.name != left:
            path.unlink()
    assert "out holds a run" in refused("run", "case.toml")


def test_overwriting_leaves_nothing_of_the_old_run_and_all_that_is_not_of_it(here):
    own = ("notes.txt", "checkpoint-good.h5", "picture-1.png", "series-copy.csv")
    for name in own:
        Path("out", name).write_text("mine")
    for name in ("picture.png", "walls.vtkhdf.torn-1", "checkpoint-000000999.h5.tmp"):
        Path("out", name).write_text("old")
    run("run", "case.toml", "--overwrite", settings=["time.end=0.001", "walls=[]"])
    assert [Path("out", name).read_text() for name in own] == ["mine"] * len(own)
    rest = {path.name for path in Path("out").iterdir()} - set(own)
    assert rest == {
        "checkpoint-000000100.h5",
        "digests.csv",
        "series.h5",
        "series.csv",
        "particles.vtkhdf",
        "run.log",
        "status.json",
    }


def test_old_checkpoints_go_before_anything_else(here, monkeypatch):
    """Killed before its first checkpoint, a run of another case leaves none of the old case (the fault A2)."""
    removed = []
    unlink = Path.unlink

    def note(path, missing_ok=False):
        removed.append(path.name)
        unlink(path, missing_ok=missing_ok)

    with monkeypatch.context() as patch:
        die_in_step(patch, 100)
        patch.setattr(Path, "unlink", note)
        code, _ = command("run", "case.toml", "--overwrite", settings=[f"{FRICTION}=0.9"])
    assert code == 137
    assert removed[:2] == ["checkpoint-000000400.h5", "checkpoint-000000200.h5"]
    assert checkpoints("out") == []
    assert "no readable checkpoint" in refused("restart", "out")


def test_particles_are_not_read_from_what_is_overwritten(here):
    settings = ['particles=[{file="out/checkpoint-000000400.h5", material="grain"}]']
    said = refused("run", "case.toml", "--overwrite", settings=settings)
    assert "particles[0].file = 'out/checkpoint-000000400.h5' is in out, which would be overwritten" in said


def test_continuing_goes_on_or_begins(here):
    whole = state("out/checkpoint-000000400.h5")
    shutil.rmtree("out")
    run("run", "case.toml", "--continue", settings=["time.end=0.002"])
    code, said = command("run", "case.toml", "--continue")
    assert code == 0, said
    assert "pdem: going on from out/checkpoint-000000200.h5" in said
    assert state("out/checkpoint-000000400.h5") == whole
    assert "has reached its end" in command("run", "case.toml", "--continue")[1]
    said = refused("run", "case.toml", "--continue", settings=[f"{FRICTION}=0.9"])
    assert f"its case differs ({FRICTION} 0.4, now 0.9); --overwrite begins anew" in said
    said = refused("run", "case.toml", "--continue", settings=["time.step=5e-6"])
    assert "time.step 1e-05 s, now 5e-06 s" in said
    assert command("run", "case.toml", "--continue", "--overwrite")[0] == 2


def test_continuing_begins_a_run_anew_that_died_before_its_first_checkpoint(here, monkeypatch):
    whole = state("out/checkpoint-000000400.h5")
    shutil.rmtree("out")
    with monkeypatch.context() as patch:
        die_in_step(patch, 100)
        assert command("run", "case.toml", "--continue")[0] == 137
    assert Path("out/series.h5").exists()
    said = refused("run", "case.toml", "--continue", settings=[f"{FRICTION}=0.9"])
    assert f"its case differs ({FRICTION} 0.4, now 0.9)" in said
    run("run", "case.toml", "--continue")
    assert state("out/checkpoint-000000400.h5") == whole


def test_results_whose_checkpoints_were_removed_are_not_begun_anew(here):
    for name in checkpoints("out"):
        Path("out", name).unlink()
    said = refused("run", "case.toml", "--continue")
    assert "out holds a run that reached 0.004 s (no checkpoint, " in said
    assert "its checkpoints are gone; --overwrite begins anew" in said


@pytest.mark.parametrize("way", [shutil.copytree, shutil.move], ids=["cp", "mv"])
def test_a_restart_goes_on_where_its_checkpoint_is(here, monkeypatch, way):
    """The fault A3: a restart of a copy went on in the original, and cut that back."""
    run("restart", "out", settings=["time.end=0.008"])
    way("out", "copy")
    original = listing_of("out")
    run("restart", "copy", settings=["time.end=0.009"])
    assert listing_of("out") == original
    assert checkpoints("copy")[-1] == "checkpoint-000000900.h5"
    assert read_series("copy/series.h5")["time"][-1] == pytest.approx(0.009)
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    run("restart", "../copy/checkpoint-000000900.h5", settings=["time.end=0.01"])
    assert list(Path().iterdir()) == []
    assert checkpoints("../copy")[-1] == "checkpoint-000001000.h5"


def listing_of(folder):
    return {name: found for name, found in listing().items() if name.startswith(f"{folder}/")}


def test_a_restart_into_another_folder_is_held_to_the_same_rule(here):
    later = ["time.end=0.005"]
    run("restart", "out", settings=[*later, "output.folder=branch"])
    assert checkpoints("branch") == ["begin-000000400.h5", "checkpoint-000000500.h5"]
    said = refused("restart", "out", settings=[*later, "output.folder=branch"])
    assert "branch holds a run that reached 0.005 s" in said
    run("restart", "out", "--overwrite", settings=["time.end=0.006", "output.folder=branch"])
    assert checkpoints("branch") == ["begin-000000400.h5", "checkpoint-000000600.h5"]
    assert read_series("branch/series.h5")["time"][0] > 0.004


def test_a_blow_up_keeps_a_checkpoint_that_is_newer_than_the_last_copy(here, monkeypatch):
    """The copy of step 200 would be written, and the whole checkpoint of step 250 removed as a later one."""
    advance = pdem.Simulation.advance

    def advance_or_blow_up(self, steps):
        if self.step + steps > 300:
            raise BlowUp("too far", 300, (), "")
        return advance(self, steps)

    monkeypatch.setattr(pdem.Simulation, "advance", advance_or_blow_up)
    settings = ["output.folder=blown", "output.checkpoint_every=0.0025"]
    code, errors = command("run", "case.toml", "--quiet", settings=settings)
    assert code == 3
    assert "too far; the last good state (step 250) is in blown/checkpoint-000000250.h5" in errors
    assert checkpoints("blown") == ["checkpoint-000000250.h5"]
