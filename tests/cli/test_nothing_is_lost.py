"""What is in an output folder stays there unless its end was asked for, and a refusal changes nothing."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import pdem
from pdem.cli import main
from pdem.foundation.errors import InputError
from pdem.output.checkpoint import read_checkpoint
from pdem.output.checkpoint_folder import CheckpointFolder
from pdem.output.series import read_series
from pdem.output.vtkhdf import read_times

CASE = """
title = "A grain on a plate"
[time]
step = 1e-5
end = 0.004
[domain]
lower = [-0.1, -0.1, -0.1]
upper = [0.1, 0.1, 0.2]
gravity = [0.0, 0.0, -9.81]
[materials.grain]
density = 2500.0
youngs_modulus = 1e7
poisson_ratio = 0.3
[interactions.grain-grain]
friction = 0.4
restitution = 0.5
[[particles]]
material = "grain"
radius = 0.01
positions = [[0.0, 0.0, 0.0099], [0.05, 0.0, 0.05]]
[[walls]]
mesh = "plate.stl"
material = "grain"
[output]
folder = "out"
fields_every = 0.001
series_every = 0.0005
checkpoint_every = 0.002
"""
PLATE = """solid plate
facet normal 0 0 1
outer loop
vertex -0.1 -0.1 0
vertex 0.1 -0.1 0
vertex 0.1 0.1 0
endloop
endfacet
facet normal 0 0 1
outer loop
vertex -0.1 -0.1 0
vertex 0.1 0.1 0
vertex -0.1 0.1 0
endloop
endfacet
endsolid
"""
FRICTION = "interactions.grain-grain.friction"


def command(*arguments, settings=()):
    """Run a command in this process; return exit code and what it said."""
    words = [*map(str, arguments), *(word for one in settings for word in ("--set", one))]
    result = CliRunner().invoke(main, words)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result.exit_code, result.stderr


def run(*arguments, settings=()):
    code, errors = command(*arguments, "--quiet", settings=settings)
    assert code == 0, errors
    return errors


def refused(*arguments, settings=()):
    """Return the one line with which a command refuses, and see that it has changed nothing."""
    before = listing()
    code, errors = command(*arguments, "--quiet", settings=settings)
    assert code == 2, errors
    assert listing() == before
    lines = [line for line in errors.splitlines() if not line.startswith("pdem: warning")]
    assert len(lines) == 1, errors
    return lines[0]


def listing():
    """Return digests and times of all files here."""
    return {
        str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in Path().rglob("*")
        if path.is_file()
    }


def checkpoints(folder):
    return [path.name for path in CheckpointFolder(folder).paths()]


def die_in_step(monkeypatch, step):
    """Let the next run die, as by kill -9, before it takes a step: what is buffered is lost."""
    from pdem.output.series import Series
    from pdem.simulation.simulation import Simulation

    advance = Simulation.advance

    def advance_or_die(self, steps):
        if self.step + steps > step:
            raise SystemExit(137)
        return advance(self, steps)

    monkeypatch.setattr(Simulation, "advance", advance_or_die)
    monkeypatch.setattr(Series, "close", lambda self: None)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Return a folder with a case and a run of it."""
    folder = tmp_path_factory.mktemp("done")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("case.toml").write_text(CASE)
        Path("plate.stl").write_text(PLATE)
        run("run", "case.toml")
    return folder


@pytest.fixture
def here(done, tmp_path, monkeypatch):
    """Be in a copy of that folder."""
    shutil.copytree(done, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_is_not_written_over(here):
    said = refused("run", "case.toml")
    assert re.search(
        r"pdem: error: out holds a run that reached 0\.004 s \(checkpoint-000000400\.h5, .*\); pdem restart out goes "
        r"on with it, --overwrite begins anew, --set output\.folder=\.\.\. writes elsewhere",
        said,
    )
    assert "out holds a run" in refused(
        "run", "case.toml", settings=["output.folder=../" + here.name + "/out"]
    )
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
    assert rest == {"checkpoint-000000100.h5", "series.h5", "series.csv", "particles.vtkhdf", "run.log"}


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


def state(path):
    """Return all numbers of a checkpoint as bytes."""
    groups = read_checkpoint(path).groups
    return {
        f"{group}/{name}": column.tobytes() for group, row in groups.items() for name, column in row.items()
    }


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
    assert checkpoints("branch") == ["checkpoint-000000500.h5"]
    said = refused("restart", "out", settings=[*later, "output.folder=branch"])
    assert "branch holds a run that reached 0.005 s" in said
    run("restart", "out", "--overwrite", settings=["time.end=0.006", "output.folder=branch"])
    assert checkpoints("branch") == ["checkpoint-000000600.h5"]
    assert read_series("branch/series.h5")["time"][0] > 0.004


def test_going_back_needs_to_be_asked_for(here):
    first = "out/checkpoint-000000200.h5"
    said = refused("restart", first)
    assert (
        "it would go on from step 200 (0.002 s), and checkpoint-000000400.h5, series.h5 until 0.004 s, "
        in said
    )
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
        code, errors = command(
            *arguments, settings=["time.end=0.02", "output.checkpoint_every=0.01", *settings]
        )
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
    said = refused("restart", "out", settings=[later, 'walls.0.name="floor"'])
    assert "out/series.h5: holds other columns or walls than this run and cannot be continued; --set" in said
    run("restart", "out", settings=[later, 'walls.0.name="floor"', "output.folder=floor"])


def test_the_end_is_told_from_the_past(here):
    said = refused("restart", "out", settings=["time.end=0.003"])
    assert "time.end = 0.003 s is before the present time 0.004 s of out/checkpoint-000000400.h5" in said
    assert "has reached its end" in command("restart", "out")[1]
    for name in ("check", "run"):
        result = CliRunner().invoke(
            main, [name, "case.toml", "--set", "time.end=4e-6", "--set", "output.folder=b"]
        )
        assert result.exit_code == 2
        assert result.output.count("time.end = 4e-06 s is less than half the time step 1e-05 s") == 1


@pytest.mark.parametrize("folder", ["case.toml", "case.toml/out", "case.toml/a/b", "nowhere", "a" * 300])
def test_a_folder_that_cannot_be_made_is_wrong_input(here, folder):
    Path("nowhere").symlink_to("none/at/all")
    setting = [f"output.folder={folder}"]
    said = refused("run", "case.toml", settings=setting)
    assert f"output.folder = '{folder}' cannot be made or written to (" in said
    refused("run", "case.toml", "--overwrite", settings=setting)
    refused("run", "case.toml", "--continue", settings=setting)
    refused("restart", "out", settings=[*setting, "time.end=0.005"])
    result = CliRunner().invoke(main, ["check", "case.toml", "--set", *setting])
    assert result.exit_code == 2
    assert f"error: output: output.folder = '{folder}' cannot be made" in result.output


def test_what_checks_find_is_said_once(here):
    code, errors = command(
        "run", "case.toml", settings=["output.folder=b", "particles.0.positions=[[0, 0, 0.3]]"]
    )
    assert code == 2
    assert errors.count("particles are outside") == 1
    assert not Path("b").exists()


def test_the_ledger_goes_on_when_gravity_changes(here):
    before = read_series("out/series.h5")
    code, errors = command("restart", "out", settings=["time.end=0.005", "domain.gravity=[0.0, 0.0, -98.1]"])
    assert code == 0, errors
    (said,) = (line for line in errors.splitlines() if "the energy of this state is" in line)
    jump = float(re.search(r"is (\S+) J another", said)[1])
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
    assert (
        "wall plate: with its changed motion it would jump by 0.02 m at 0.004 s, which is more than the"
        in said
    )
    table = "walls.0.translation_table={times=[0.004, 1.0], displacements=[[0, 0, 0], [0, 0, -1]]}"
    assert "jump" not in run("restart", "out", settings=["time.end=0.0045", table])


def test_a_script_is_held_to_the_same_rules(here):
    def simulation(*settings):
        case = pdem.Case.read("case.toml")
        for setting in settings:
            case.override(setting)
        return pdem.Simulation(case)

    before = listing()
    with pytest.raises(
        InputError, match=r"out holds a run .*Simulation\.restart\('out'\) goes on with it, run\(over"
    ):
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
