"""Sweeps end to end: designs that are run, stopped and gone on with, shared beginnings, commands, what is refused."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import pdem
from helpers.everything import case_in
from helpers.folders import CASE, PLATE
from pdem.cli import main
from pdem.foundation.errors import CaseError, InputError, Interrupted
from pdem.output.checkpoints.content_digest import read_digests
from pdem.run.simulation import Simulation

pytestmark = pytest.mark.compiles

FRICTION = "interactions.grain-grain.friction"
GRAVITY = "domain.gravity"
SHORT = ("time.end=0.001", "output.checkpoint_every=2e-4", "particles.0.velocity=[0.5, 0.0, -0.5]")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a case of a grain on a plate, short."""
    monkeypatch.chdir(tmp_path)
    Path("plate.stl").write_text(PLATE)
    Path("grain.toml").write_text(CASE)
    Path("own.py").write_text(
        "def push(results):\n    return {'speed': ('m/s', results[-1].velocity[0, 0]), 'steps': len(results.series)}\n"
    )
    return tmp_path


def speed(results):
    return "m/s", results[-1].velocity[0, 0]


def swept(values, **more):
    return pdem.sweep("grain.toml", values, measures={"speed": speed}, settings=SHORT, threads=1, **more)


def command(*words):
    result = CliRunner().invoke(main, [*map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result.exit_code, result.stdout, result.stderr


def test_a_sweep_has_the_runs_of_its_cases(folder):
    found = swept({FRICTION: [0.1, 0.4], "particles.0.radius": [0.01, 0.011]})
    assert found[FRICTION].tolist() == [0.1, 0.1, 0.4, 0.4]
    case = pdem.Case.read("grain.toml")
    for setting in (*SHORT, f"{FRICTION}=0.4", "particles.0.radius=0.011", "output.folder=single"):
        case.override(setting)
    pdem.Simulation(case, threads=1).run()
    assert found["speed"][3] == pdem.Results("single")[-1].velocity[0, 0]
    assert read_digests("single") == read_digests(found.folder / found.table.rows[3].folder)
    assert found.folder == Path("out-sweep")
    assert found.results(3).case.interactions["grain-grain"].friction == 0.4
    assert "speed" in str(found)
    assert found["speed"][0] > found["speed"][2], "friction slows it down"
    with pytest.raises(InputError, match="neither varied nor measured"):
        found["sped"]


def test_points_may_be_given_one_by_one_and_are_run_once(folder):
    first = swept([{FRICTION: 0.1}, {FRICTION: 0.2}], folder="sweep")
    before = {path: path.stat().st_mtime_ns for path in Path("sweep/runs").rglob("*") if path.is_file()}
    more = swept([{FRICTION: 0.2}, {FRICTION: 0.3}, {FRICTION: 0.2}], folder="sweep")
    assert more["speed"][0] == more["speed"][2] == first["speed"][1]
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert len(list(Path("sweep/runs").glob("*.json"))) == 3
    with pytest.raises(InputError, match="other keys than the rest"):
        swept([{FRICTION: 0.2}, {GRAVITY: [0, 0, -1]}], folder="sweep")


def test_replicas_are_a_trifle_apart(folder):
    found = swept({FRICTION: [0.1, 0.4]}, replicas=3, perturbation=1e-6)
    rows = found.table.rows
    assert [(row.point, row.replica) for row in rows] == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert len(np.unique(found["speed"])) == 6
    assert np.ptp(found["speed"][:3]) < 1e-4 * found["speed"][0]
    analysis = found.table.analyses[0]
    assert analysis.effects[0].is_larger
    radii = [found.results(run)[-1].radius[0] for run in range(3)]
    assert radii[0] == 0.01
    assert 0.01 * (1 - 1e-6) <= min(radii) < 0.01


class _StopInRun:
    """Stops the n-th run in its middle, as by a signal of the batch system."""

    def __init__(self, monkeypatch, number):
        self.runs, advance = 0, Simulation.advance

        def advance_or_stop(simulation, steps, **more):
            if simulation.step == 0:
                self.runs += 1
            if self.runs == number and simulation.step >= 50:
                os.kill(os.getpid(), signal.SIGTERM)
            return advance(simulation, steps, **more)

        monkeypatch.setattr(Simulation, "advance", advance_or_stop)


def test_a_sweep_that_is_stopped_goes_on(folder, monkeypatch):
    whole = swept({FRICTION: [0.1, 0.2, 0.3]}, folder="whole")
    with monkeypatch.context() as context:
        _StopInRun(context, 2)
        with pytest.raises(Interrupted, match="the same command again continues"):
            swept({FRICTION: [0.1, 0.2, 0.3]}, folder="stopped")
    finished = list(Path("stopped/runs").glob("*.json"))
    assert len(finished) == 1
    kept = {path: path.stat().st_mtime_ns for path in finished[0].with_suffix("").iterdir()}
    again = swept({FRICTION: [0.1, 0.2, 0.3]}, folder="stopped")
    assert again["speed"].tobytes() == whole["speed"].tobytes()
    assert {path: path.stat().st_mtime_ns for path in kept} == kept, "finished runs are left as they are"
    log = (again.folder / again.table.rows[1].folder / "run.log").read_text()
    begins = [int(step) for step in re.findall(r"from step (\d+)", log)]
    assert begins[0] == 0
    assert begins[1] >= 50, "the stopped run went on"
    for row in again.table.rows:
        expected = read_digests(whole.folder / row.folder)
        found = read_digests(again.folder / row.folder)  # one more where it was stopped
        assert {step: found[step] for step in expected} == expected


def test_runs_that_fail_do_not_stop_the_others(folder):
    found = swept([{"particles.0.velocity": [0.0, 0.0, one]} for one in (-0.1, -900.0)])
    assert [row.state for row in found.table.rows] == ["finished", "failed"]
    assert "inside wall plate" in found.table.rows[1].message
    assert np.isnan(found["speed"][1])
    page = (found.folder / "report.md").read_text()
    assert "## Failed" in page
    again = swept([{"particles.0.velocity": [0.0, 0.0, one]} for one in (-0.1, -900.0)])
    assert again.table.rows == found.table.rows


def last(results):
    return {"particles": results.series["particles"][-1], "speed": ("m/s", results[-1].velocity[0, 2])}


LATE = "stages.2.interactions.grain-grain.friction"
RATE = "insertions.0.count_rate"
STAGED = {LATE: [0.1, 0.9], RATE: [1e4, 1.2e4]}
FEW = "output.checkpoint_every=1.0", "output.snapshots_every=1.0", "output.series_every=1.0"


def test_what_runs_share_is_computed_once(tmp_path, monkeypatch):
    """Frictions of the last stage share two stages, rates of insertion the first: three beginnings for four runs."""
    steps, advance = [0], Simulation.advance

    def count(simulation, number, **more):
        before = simulation.step
        result = advance(simulation, number, **more)
        if str(tmp_path) in simulation.case.output.folder:  # not one by which kernels are compiled
            steps[0] += simulation.step - before
        return result

    monkeypatch.setattr(Simulation, "advance", count)
    case = case_in("unused", *FEW)
    found = pdem.sweep(case, STAGED, measures={"m": last}, folder=tmp_path / "sweep", threads=1)
    beginnings = sorted((tmp_path / "sweep" / "beginnings").glob("*.json"))
    assert len(beginnings) == 3
    assert steps[0] <= 200 + 2 * 200 + 4 * 200 + 10
    row = found.table.rows[3]
    whole = case_in(tmp_path / "whole", *FEW, *(f"{key}={value}" for key, value in row.values.items()))
    pdem.Simulation(whole, threads=1).run()
    assert read_digests(found.folder / row.folder)[600] == read_digests(whole.output.folder)[600]
    steps[0] = 0
    more = pdem.sweep(case, [{LATE: 0.5, RATE: 1.2e4}], folder=tmp_path / "sweep", threads=1)
    assert steps[0] <= 210, "the beginnings of an earlier sweep are found"
    assert more.table.rows[0].state == "finished"


def test_all_share_what_comes_before_a_stage_or_are_refused(tmp_path):
    case, folder = case_in("unused"), tmp_path / "sweep"
    with pytest.raises(CaseError, match=r"this acts before: insertions\[0\].count_rate"):
        pdem.sweep(case, STAGED, folder=folder, at="turning")
    for at, text in (("truning", "is no stage of the case"), ("falling", "one of opening, turning")):
        with pytest.raises(CaseError, match=text):
            pdem.sweep(case, {LATE: [0.1, 0.2]}, folder=folder, at=at)
    with pytest.raises(CaseError, match="it has no two stages"):
        pdem.sweep(pdem.Case.from_text(CASE), {FRICTION: [0.1]}, folder=folder, at="turning")
    assert not folder.exists()


def test_a_beginning_that_fails_is_said_once(tmp_path):
    case = case_in("unused", "limits.largest_overlap=0.02")
    found = pdem.sweep(case, {LATE: [0.1, 0.2]}, folder=tmp_path / "sweep", threads=1)
    assert {row.state for row in found.table.rows} == {"failed"}
    assert all("its shared beginning failed: " in row.message for row in found.table.rows)


@pytest.mark.parametrize(
    ("values", "more", "text"),
    [
        ({"interactions.grain-grain.frction": [0.1]}, {}, "(?s)vary.interactions.grain-grain.frction: .*did you mean"),
        ({"particles.7.radius": [0.1]}, {}, "there is no '7'"),
        ({FRICTION: [0.1, -1.0]}, {}, "must be at least 0"),
        ({FRICTION: {"min": 0.0, "max": 1.0}}, {}, "range without count"),
        ({FRICTION: 0.1}, {}, "give a list of values"),
        ({FRICTION: [1j]}, {}, "TOML does not have"),
        ({FRICTION: [0.1]}, {"desing": "grid"}, "no argument 'desing'"),
        ({FRICTION: [0.1]}, {"jobs": 0}, "jobs"),
        ({FRICTION: [0.1]}, {"measures": {"m": {"kind": "power", "wall": "plat"}}}, "did you mean 'plate'"),
    ],
)  # fmt: skip
def test_nothing_is_run_when_anything_is_wrong(folder, values, more, text):
    with pytest.raises((CaseError, InputError), match=text):
        pdem.sweep("grain.toml", values, folder="sweep", **more)
    assert not Path("sweep/runs").exists()


def test_commands_write_a_file_and_go_on_with_its_folder(folder):
    words = ["--quiet", "--threads", 1, *(word for one in SHORT for word in ("--set", one))]
    code, told, errors = command(
        "sweep", "grain.toml", "--vary", f"{FRICTION}=[0.1, 0.2]", "--vary", f"{GRAVITY}=[[0, 0, -9.81], [0, 0, -1.6]]",
        "--measure", "own=python:own.py:push", "-o", "sweep", *words,
    )  # fmt: skip
    assert code == 0, errors
    assert "4 runs: 4 finished" in told
    assert "speed" in told
    assert Path("sweep/sweep.toml").read_text().startswith('case = "../grain.toml"')
    assert command("sweep", "sweep", "--quiet", "--threads", 1)[1] == told
    (next(Path("sweep/runs").glob("*.json"))).unlink()
    code, told, _ = command("sweep", "sweep", "--table")
    assert code == 0
    assert "3 finished, 1 missing" in told
    numbers = [json.loads(path.read_text())["state"] for path in Path("sweep/runs").glob("*.json")]
    assert numbers == ["finished"] * 3
    jobs = json.loads(Path("sweep/jobs.json").read_text())
    missing = next(k for k, job in enumerate(jobs) if not Path(f"sweep/{job['name']}.json").exists())
    code, _, errors = command("sweep", "sweep", "--job", missing, "--threads", 1)
    assert code == 0, errors
    assert command("sweep", "sweep", "--job", 99)[0] == 2
    assert "4 runs: 4 finished" in command("sweep", "sweep", "--table")[1]
    shutil.copy("sweep/sweep.toml", "other.toml")
    Path("other.toml").write_text(Path("other.toml").read_text().replace("../grain", "grain").replace('"."', '"other"'))
    code, told, errors = command("sweep", "other.toml", "--table")
    assert code == 0, errors
    assert "4 runs: 4 missing" in told


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("grain.toml",), "say what is varied"),
        (("none.toml", "--vary", "a=[1]"), "none.toml"),
        (("none",), "cannot be read"),
        (("empty",), "has no sweep"),
        (("grain.toml", "--vary", FRICTION), "is written --vary NAME=VALUE"),
        (("grain.toml", "--vary", f"{FRICTION}=[0.1", "--vary", "b=[1]"), "not a TOML value"),
        (("grain.toml", "--vary", f"{FRICTION}=[0.1]", "--measure", "m={kind='torqe', wall='plate'}"), "torque"),
        (("grain.toml", "--vary", f"{FRICTION}=[0.1]", "--measure", "m=python:own.py:pull"), "give one of push"),
        (("sweep.toml", "--replicas", "2"), "leave out --replicas"),
        (("grain.toml", "--vary", f"{FRICTION}=[0.1]", "--slurm", "soon"), "--time soon"),
    ],
)  # fmt: skip
def test_commands_refuse(folder, words, text):
    Path("sweep.toml").write_text(f'case = "grain.toml"\nfolder = "out"\n[vary]\n"{FRICTION}" = {{values = [0.1]}}\n')
    Path("empty").mkdir()
    code, _, errors = command("sweep", *words)
    assert code == 2
    assert text in errors, errors
    assert not list(Path().glob("*/runs"))


def test_a_batch_script_computes_each_job(folder):
    """Run with stand-ins for srun and pdem: one job for each number of the array."""
    code, _, errors = command(
        "sweep", "grain.toml", "--vary", f"{FRICTION}=[0.1, 0.2]", "--slurm", "1:00:00", "--tasks", 4, "--jobs", 8,
        "-o", "it's here",
    )  # fmt: skip
    assert code == 0, errors
    script = Path("it's here/sweep.sbatch")
    text = script.read_text()
    assert "#SBATCH --array=0-1%8" in text
    assert "#SBATCH --job-name=it_s_here\n" in text
    assert "%%" not in text
    stand_in = '#!/bin/bash\nwhile [ "${1#--}" != "$1" ]; do echo -n "$1 "; shift; done\n'
    for name, more in (("srun", '"$@"\n'), ("pdem", 'echo "$@"\n')):
        Path(name).write_text(stand_in + more)
        Path(name).chmod(0o755)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "SLURM_ARRAY_TASK_ID": "1"}
    done = subprocess.run(["bash", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("sweep it's here --job 1")
    assert "--ntasks=4" in done.stdout


STAGES = "stages=[{name='sliding', end=5e-4}, {name='slower', interactions={grain-grain={friction=0.9}}}]"
SLOWER = "stages.1.interactions.grain-grain.friction"


def test_jobs_in_processes_of_their_own_have_the_same_results(folder):
    """What begins with a beginning waits for it."""
    values = {SLOWER: [0.0, 0.9], "particles.0.radius": [0.01, 0.011]}
    more = {"measures": {"speed": speed}, "settings": [*SHORT, STAGES], "threads": 1}
    alone = pdem.sweep("grain.toml", values, folder="alone", **more)
    beside = pdem.sweep("grain.toml", values, folder="beside", jobs=2, **more)
    assert beside["speed"].tobytes() == alone["speed"].tobytes()
    assert [row.folder for row in beside.table.rows] == [row.folder for row in alone.table.rows]
    assert len(list((beside.folder / "beginnings").glob("*.json"))) == 2


def test_a_process_that_dies_is_a_run_that_failed(folder):
    """A law of a user that ends its process."""
    Path("forces.py").write_text("import os\nos._exit(7)\n")
    case = pdem.Case.from_text(CASE, folder)
    for setting in (*SHORT, "forces=[{kind='python:forces.py:f'}]"):
        case.override(setting)
    found = pdem.sweep(case, {FRICTION: [0.1, 0.2]}, folder="sweep", jobs=2, threads=1)
    assert [row.state for row in found.table.rows] == ["failed"] * 2
    assert "its process ended with exit code 7" in found.table.rows[0].message


def test_runs_with_a_shared_beginning_have_output_from_there_on(folder):
    found = pdem.sweep("grain.toml", {SLOWER: [0.2, 0.3]}, settings=[*SHORT, STAGES], threads=1)
    times = found.results(0).series["time"]
    assert times[0] > 5e-4
    assert times[-1] == pytest.approx(1e-3)


def test_what_was_removed_is_computed_anew(folder):
    """A run whose folder is gone, and the beginning that it needs."""
    more = {"measures": {"speed": speed}, "settings": [*SHORT, STAGES], "threads": 1, "folder": "sweep"}
    first = pdem.sweep("grain.toml", {SLOWER: [0.2, 0.3]}, **more)
    shutil.rmtree(first.folder / first.table.rows[1].folder)
    for path in Path("sweep/beginnings").glob("*/*.h5"):
        path.unlink()
    kept = first.folder / first.table.rows[0].folder / "series.csv"
    before = kept.stat().st_mtime_ns
    again = pdem.sweep("grain.toml", {SLOWER: [0.2, 0.3]}, **more)
    assert again["speed"].tobytes() == first["speed"].tobytes()
    assert kept.stat().st_mtime_ns == before
    assert len(list(Path("sweep/beginnings").glob("*/stage-sliding.h5"))) == 1
