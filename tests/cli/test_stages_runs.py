"""Runs with stages: checkpoints named after them, the series, restarts from a stage, what is said of it."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import pdem
from helpers.folders import CASE, PLATE, checkpoints, command, refused, run, state
from pdem.cli import main
from pdem.output.log import LOG_FILE
from pdem.output.pictures.scene import open_scene
from pdem.output.series import read_series
from pdem.output.storage import open_hdf5

pytestmark = pytest.mark.filterwarnings("ignore:stage float")

STAGES = """
[[stages]]
name = "rest"
end = 1.5e-3
[[stages]]
name = "fall"
walls = {plate = {remove = true}}
end = 1e-3
[[stages]]
name = "float"
gravity = [0.0, 0.0, 0.0]
until = {quantity = "particles", below = 2.0, latest = 0.8e-3, every = 1e-4}
"""


@pytest.fixture(scope="module")
def staged(tmp_path_factory):
    """Return a folder with a case of three stages and a run of it."""
    folder = tmp_path_factory.mktemp("staged")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("always")
        patch.chdir(folder)
        Path("case.toml").write_text(CASE + STAGES)
        Path("plate.stl").write_text(PLATE)
        result = CliRunner().invoke(main, ["run", "case.toml"])
        assert result.exit_code == 0, result.output
        Path("said").write_text(result.output)
        lines = result.stderr.splitlines()
        Path("warned").write_text("\n".join(line for line in lines if line.startswith("pdem: warning: stage ")))
    return folder


@pytest.fixture
def here(staged, tmp_path, monkeypatch):
    """Be in a copy of that folder."""
    import shutil

    shutil.copytree(staged, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_stage_leaves_its_checkpoint_and_the_run_ends_with_the_last(here):
    assert sorted(path.name for path in Path("out").glob("stage-*")) == [
        "stage-fall.h5", "stage-float.h5", "stage-rest.h5",
    ]  # fmt: skip
    steps = {name: int(np.frombuffer(state(f"out/stage-{name}.h5")["counters/step"], np.int64)[0]) for name in
             ("rest", "fall", "float")}  # fmt: skip
    assert steps == {"rest": 150, "fall": 250, "float": 330}
    assert checkpoints("out")[-1] == "checkpoint-000000330.h5"
    assert state("out/stage-float.h5") == state("out/checkpoint-000000330.h5")
    series = read_series("out/series.h5")
    assert dict(zip(series["step"].tolist(), series["stage"].tolist(), strict=True)) == {
        0: 0, 50: 0, 100: 0, 150: 0, 200: 1, 250: 1, 300: 2, 330: 2,
    }  # fmt: skip
    assert series["gravity_z"].tolist() == [-9.81] * 6 + [0.0] * 2
    with open_hdf5("out/series.h5", "r") as file:
        assert file.attrs["stages"] == "rest, fall, float"


def test_log_report_and_warnings_say_how_stages_ended(here):
    said, log = Path("said").read_text(), Path("out", LOG_FILE).read_text()
    last = "stage float: from step 250 (0.0025 s) to step 330 (0.0033 s), ended at its latest: particles below 2"
    for text in (said, log):
        assert "stage rest: from step 0 (0 s) to step 150 (0.0015 s)" in text
        assert last in text
    warned = Path("warned").read_text()
    assert "particles below 2 was not reached (it was 2); give more time in until.latest" in warned
    assert warned.count("\n") == 0, "said once"
    assert "stage fall begins with step 151, at 0.0015 s" in log


def test_snapshots_mark_walls_that_are_not_there(here):
    results = pdem.Results("out")
    assert results.at(0.001).walls["plate"].present
    assert not results.at(0.003).walls["plate"].present
    scene = open_scene("out")
    drawn = [len(scene.frame(index).walls.facet_wall) for index in range(len(scene.times))]
    assert drawn == [2, 2, 0, 0, 0], list(scene.times)
    assert np.diff(scene.frame(0).walls.facet_start).tolist() == [3, 3]


def test_a_stage_is_repeated_with_the_same_bits(here):
    before = state("out/stage-float.h5")
    said = refused("restart", "out", "--from", "fall")
    assert "it would go on from step 150 (0.0015 s), and checkpoint-" in said
    assert "checkpoint-000000250.h5, checkpoint-000000330.h5" in said
    assert Path("out/stage-fall.h5").exists()
    run("restart", "out", "--from", "fall", "--overwrite")
    assert state("out/stage-float.h5") == before
    run("restart", "out", "--from", "float", settings=['output.folder="other"', "stages.2.gravity=[0.0, 0.0, 5.0]"])
    assert state("out/stage-float.h5") == before
    assert sorted(path.name for path in Path("other").glob("stage-*")) == ["stage-fall.h5", "stage-float.h5"]
    assert state("other/stage-float.h5") != before


def test_going_back_removes_checkpoints_of_later_stages(here):
    run("restart", "out/stage-rest.h5", "--overwrite", settings=["time.end=0.002"])
    assert [path.name for path in Path("out").glob("stage-*")] == ["stage-rest.h5"]
    assert checkpoints("out")[-1] == "checkpoint-000000200.h5"
    assert "stage float: not reached" in Path("out", LOG_FILE).read_text()
    run("run", "case.toml", "--overwrite", settings=["time.end=0.001"])
    assert not list(Path("out").glob("stage-*"))


def test_restarts_that_make_no_sense_say_so(here):
    assert "stage rest is the first one and begins at time 0" in refused("restart", "out", "--from", "rest")
    assert "'fal' is no stage of this run; did you mean 'fall'?" in refused("restart", "out", "--from", "fal")
    Path("out/stage-rest.h5").unlink()
    assert "stage rest has not ended, or its checkpoint was removed" in refused("restart", "out", "--from", "fall")
    code, errors = command("restart", "out")
    assert code == 0
    assert "the run has ended with its last stage, float" in errors


def test_a_run_that_is_stopped_at_the_end_of_a_stage_goes_on(here, monkeypatch):
    """A signal that arrives in the very step: the checkpoint of the stage is there, and nothing is made twice."""
    from pdem.run.simulation import Simulation

    before = state("out/stage-float.h5")
    simulation = pdem.Simulation(pdem.Case.read("case.toml"))
    advance = Simulation.advance
    with monkeypatch.context() as patch:
        patch.setattr(
            Simulation, "advance", lambda self, steps: advance(self, steps) or (15 if self.step == 150 else 0)
        )
        with pytest.raises(pdem.Interrupted, match="step 150"):
            simulation.run(overwrite=True)
    assert Path("out/stage-rest.h5").exists()
    run("restart", "out")
    assert state("out/stage-float.h5") == before


def test_scripts_obey_stages_too(here):
    simulation = pdem.Simulation(pdem.Case.read("case.toml"))
    simulation.advance(150)
    assert simulation.stage == "rest"
    simulation.advance(10)
    assert simulation.stage == "fall"
    assert not simulation.wall_loads()["plate"]["force"].any()
