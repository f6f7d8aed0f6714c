"""Replays of runs in which something happens: stages, insertions, outlets, clusters, another folder, a blow-up."""

from __future__ import annotations

import csv
import shutil

import numpy as np
import pytest

import pdem
from helpers.everything import STEP, case_in
from helpers.folders import CASE, PLATE, command
from pdem.foundation.errors import InputError
from pdem.output.checkpoints.checkpoint_folder import CheckpointFolder
from pdem.output.compare import compare
from pdem.replays.blow_up import HISTORY_FILE

pytestmark = pytest.mark.compiles


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run with everything: stages end at steps 200, 400 and 600."""
    folder = tmp_path_factory.mktemp("everything") / "run"
    pdem.Simulation(case_in(folder), threads=1).run()
    return folder


@pytest.mark.parametrize(
    ("first", "last", "proofs"),
    [
        (20, 90, {50, 100}),  # from the begin of the run
        (230, 290, {250, 300}),  # from the end of a stage: the gate goes, particles come in
        (180, 420, {50, 100, 150, 200, 250, 300, 350, 400, 450}),  # over two ends of stages
        (555, 600, {600}),  # to the end, with particles that go
    ],
)
def test_intervals_with_events_are_the_same_motion(finished, tmp_path, first, last, proofs):
    done = pdem.replay(finished, first * STEP, last * STEP, output=tmp_path / "again", contacts=True)
    assert done.proved, str(done)
    assert set(done.same) == proofs
    again, run = pdem.Results(tmp_path / "again"), pdem.Results(finished)
    common = np.intersect1d(again.series["step"], run.series["step"])
    assert len(common) >= (last - first) // 3
    rows = [np.isin(one.series["step"], common) for one in (again, run)]
    for name in ("particles", "outlet_passed", "inlet_mass", "box_mass", "stage", "translation", "blade_torque_z"):
        assert again.series[name][rows[0]].tobytes() == run.series[name][rows[1]].tobytes(), name


def test_a_run_that_went_on_in_another_folder_begins_there(finished, tmp_path):
    """It has the state that it began from, which stays, and nothing before."""
    other = tmp_path / "other"
    told = command(
        "restart", finished, "--from", "turning", "--quiet",
        settings=(f"output.folder={other}", "stages.2.interactions={grain-grain={friction=0.9}}"),
    )  # fmt: skip
    assert told[0] == 0, told
    assert CheckpointFolder(other).paths()[0].name == "begin-000000400.h5"
    done = pdem.replay(other, 410 * STEP, 440 * STEP, output=tmp_path / "again")
    assert done.proved
    assert done.started == 400
    with pytest.raises(InputError, match=r"reaches from 0\.008 to 0\.012 s"):
        pdem.replay(other, 390 * STEP, 440 * STEP, output=tmp_path / "none")
    assert command("restart", other, "--overwrite", "--quiet", settings=("output.checkpoints_kept=1",))[0] == 0
    assert not compare(other, finished).equal


def test_a_script_that_begins_late_leaves_its_first_state(tmp_path):
    simulation = pdem.Simulation(case_in(tmp_path / "run"), threads=1)
    simulation.advance(30)
    simulation.particles.velocity[0, 0] += 1.0
    simulation.run()
    done = pdem.replay(tmp_path / "run", 30 * STEP, 90 * STEP, output=tmp_path / "again")
    assert done.proved
    assert done.started == 30


def test_the_contact_that_blew_up_is_shown_step_by_step(tmp_path):
    (tmp_path / "plate.stl").write_text(PLATE)
    (tmp_path / "case.toml").write_text(CASE)
    settings = (
        f"output.folder={tmp_path / 'run'}", "particles.0.positions=[[0.0, 0.0, 0.05], [0.05, 0.0, 0.0099]]",
        "particles.0.velocity=[0.0, 0.0, -200.0]",
    )  # fmt: skip
    code, told = command("run", tmp_path / "case.toml", "--quiet", settings=settings)
    assert code == 3
    assert f"pdem replay {tmp_path / 'run'} --blow-up" in told
    assert "inside wall plate" in (tmp_path / "run" / "run.log").read_text()
    code, told = command("replay", tmp_path / "run", "--blow-up", 15, "--quiet")
    assert code == 0, told
    assert "blows up again" in told
    assert "contact of particle 1 and wall plate:" in told
    folder = tmp_path / "run-replay"
    with (folder / HISTORY_FILE).open() as file:
        rows = list(csv.DictReader(file))
    overlap = [float(row["overlap"]) for row in rows]
    assert overlap == sorted(overlap)
    assert overlap[-2] < 0.5 * 0.01 < overlap[-1]
    assert [float(row["history_overlap"]) for row in rows] == pytest.approx(overlap)
    results = pdem.Results(folder)
    steps = [snapshot.step for snapshot in results]
    assert steps == list(range(steps[0], int(rows[-1]["step"])))
    assert results.contact_times.tobytes() == results.times.tobytes()


def test_a_run_that_did_not_blow_up_is_no_blow_up(finished, tmp_path):
    copy = shutil.copytree(finished, tmp_path / "run")
    for path in CheckpointFolder(copy).paths()[1:]:
        path.unlink()
    with pytest.raises(InputError, match="does not blow up: replayed from step 600 it came to its end at step 600"):
        pdem.replay_blow_up(copy, output=tmp_path / "again")
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize(
    "options",
    [("--from", "0.001"), (), ("--blow-up", "9", "--from", "0", "--to", "1"), ("--blow-up", "9", "--contacts")],
)
def test_options_that_do_not_go_together(finished, options):
    code, told = command("replay", finished, *options)
    assert code == 2
    assert "--blow-up" in told
