"""Batch scripts on a real Slurm of one node, started for these tests: a chain of jobs, binding, every template."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from pdem.cli import main
from pdem.output.series import read_series
from pdem.scaling.batch_scripts import KINDS

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
MISSING = [name for name in ("slurmctld", "slurmd", "munged", "sbatch", "srun") if not shutil.which(name, path=SYSTEM)]

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)} (slurm-wlm, munge)")

# In the jobs: a `pdem` of this tree, under control of the test. Of a chain, the first job would need longer to compile
# than it may take, and the one that begins the run for its last part, however fast the machine is.
PDEM = f"""#!{sys.executable}
import os, sys, time
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
if "PRINT_CORES" in os.environ:
    print("cores", sorted(os.sched_getaffinity(0)), flush=True)
    sys.exit()
from pdem.cli import main
from pdem.numerics import cache
from pdem.run.kernels import precompile
from pdem.run.simulation import Simulation

advance, compile_kernels = Simulation.advance, precompile.compile_kernels
begins = not Path("late").exists()

def advance_slowly(self, steps):
    if self.time > 0.03 and begins and sys.argv[1] == "run":
        Path("late").touch()
        time.sleep(1.0)
    return advance(self, steps)

def compile_slowly(*arguments):
    if "COMPILES" in os.environ and os.environ.get("SLURM_RESTART_COUNT", "0") == "0":
        Path("early").touch()
        time.sleep(600.0)
    compile_kernels(*arguments)

Simulation.advance, precompile.compile_kernels = advance_slowly, compile_slowly
if "COMPILES" in os.environ:
    cache.is_marked = lambda tag: False
main()
"""
PISTON = (
    "particles[0].fill.count=60", "domain.gravity=[0.0, 0.0, -200.0]", "time.end=0.04", "output.series_every=0.0001",
    "output.snapshots_every=0.02", "output.checkpoint_every=0.02",
)  # fmt: skip


def control(action, folder):
    command = ["bash", str(ROOT / "scripts" / "slurm"), action, folder]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """Return the environment for commands of a fresh Slurm with two cores."""
    folder = tempfile.mkdtemp(prefix="slurm-")  # sockets need a short path
    programs = tmp_path_factory.mktemp("bin")
    (programs / "pdem").write_text(PDEM)
    (programs / "pdem").chmod(0o755)
    try:
        os.environ["CORES"] = "2"
        started = control("start", folder)
        if started.returncode:
            pytest.skip(f"Slurm is installed and does not start here: {started.stderr[-1000:]}")
        unset = {name: value for name, value in os.environ.items() if not name.startswith(("PMI", "MPI", "SLURM"))}
        yield unset | {"SLURM_CONF": f"{folder}/slurm.conf", "PATH": f"{programs}:{SYSTEM}", "PYTHONUNBUFFERED": "1"}
    finally:
        del os.environ["CORES"]
        stopped = control("stop", folder)
        shutil.rmtree(folder)
        assert stopped.returncode == 0, stopped.stderr


def pdem(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def ask(slurm, *command):
    done = subprocess.run(command, env=slurm, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def hand_in(slurm, script):
    return ask(slurm, "sbatch", "--parsable", script).strip()


def wait_for(slurm, job, seconds):
    """Wait until a job is over; return its state and what it has written."""
    deadline = time.monotonic() + seconds
    while True:
        fields = dict(
            word.split("=", 1) for word in ask(slurm, "scontrol", "-o", "show", "job", job).split() if "=" in word
        )
        log = Path(fields["StdOut"])
        text = log.read_text() if log.exists() else ""
        if fields["JobState"] in ("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL"):
            return fields, text
        assert time.monotonic() < deadline, f"{fields}\n{text}"
        time.sleep(0.2)


def wait_until(is_so, seconds):
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.1)


def set_options(settings):
    return [word for setting in settings for word in ("--set", setting)]


def chain(slurm, time_limit):
    """Hand in a chain of jobs of two ranks; return its number. Let the same run end on one rank."""
    pdem("new", "piston")
    changes = set_options([*PISTON, "output.folder=chain"])
    job = ("--kind", "requeue", "--tasks", 2, "--time", time_limit, "--warning", 20, "--output", "job")
    pdem("slurm", "piston.toml", *job, *changes)
    pdem("compile", "piston.toml")  # a job of minutes has no time for that
    pdem("run", "piston.toml", *set_options([*PISTON, "output.folder=whole"]), "--quiet")
    return hand_in(slurm, "job")


def check_chain(fields, log, early, late):
    assert fields["JobState"] == "COMPLETED", log
    assert log.count("stopped: signal SIGUSR1 before the first step") == early, log  # SIGUSR1; said once by two ranks
    assert log.count("stopped: signal SIGUSR1 at step") == late, log
    assert int(fields["Restarts"]) == early + late, log
    assert log.count("pdem: going on from chain/checkpoint-") == late, log
    rows = read_series("chain/series.h5")
    assert np.all(rows["wall_contacts"][rows["time"] > 0.03] > 0)  # with a history that has to be carried on
    assert "equal: the same bits" in pdem("compare", "whole", "chain")


@pytest.mark.slow  # Slurm waits before it begins a job that is queued again
def test_jobs_that_are_warned_queue_again(slurm, tmp_path, monkeypatch):
    """Once while it compiles and once late, a chain is warned; its end has the bits of a run in one go on one rank."""
    monkeypatch.chdir(tmp_path)
    job = chain(slurm | {"COMPILES": "1"}, 10)
    for sign in (Path("early"), Path("late")):
        wait_until(sign.exists, 300)
        ask(slurm, "scancel", "--signal=USR1", job)  # as Slurm does when the time is nearly up
    check_chain(*wait_for(slurm, job, 300), 1, 1)


@pytest.mark.slow  # Slurm looks at the clock every half minute
def test_a_run_longer_than_its_job_continues_in_the_next(slurm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_chain(*wait_for(slurm, chain(slurm, 2), 300), 0, 1)


def test_a_chain_that_is_cancelled_ends(slurm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pdem("new", "two_spheres")
    pdem("slurm", "two_spheres.toml", "--kind", "requeue", "--tasks", 1, "--time", 10, "--output", "job")
    job = hand_in(slurm | {"COMPILES": "1"}, "job")
    wait_until(Path("early").exists, 300)
    ask(slurm, "scancel", job)
    fields, log = wait_for(slurm, job, 60)
    assert (fields["JobState"], fields["Restarts"]) == ("CANCELLED", "0"), log


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
@pytest.mark.parametrize(("tasks", "threads"), [(2, 1), (1, 2)])
def test_ranks_are_bound_to_cores_of_their_own(slurm, tmp_path, monkeypatch, tasks, threads):
    monkeypatch.chdir(tmp_path)
    pdem("new", "two_spheres")
    pdem("slurm", "two_spheres.toml", "--tasks", tasks, "--threads", threads, "--time", 1, "--output", "job")
    fields, log = wait_for(slurm | {"PRINT_CORES": "1"}, hand_in(slurm | {"PRINT_CORES": "1"}, "job"), 60)
    assert fields["JobState"] == "COMPLETED", log
    cores = [ast.literal_eval(line.removeprefix("cores ")) for line in log.splitlines() if line.startswith("cores")]
    assert [len(own) for own in cores] == [threads] * tasks
    assert len({core for own in cores for core in own}) == 2


def test_an_array_runs_on_more_and_more_ranks(slurm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pdem("new", "two_spheres")
    pdem("slurm", "two_spheres.toml", "--kind", "strong", "--tasks", 2, "--time", 1, "--output", "job")
    array = hand_in(slurm | {"PRINT_CORES": "1"}, "job")
    for number, ranks in enumerate((1, 2)):
        fields, log = wait_for(slurm, f"{array}_{number}", 60)
        assert fields["JobState"] == "COMPLETED", log
        assert log.count("cores [") == ranks, log


@pytest.mark.parametrize("kind", KINDS, ids="{}-script".format)
def test_slurm_accepts_every_script(slurm, tmp_path, monkeypatch, kind):
    monkeypatch.chdir(ROOT)
    hybrid = ("--tasks", 1, "--threads", 2) if kind == "hybrid" else ("--tasks", 2)
    grows = set_options(["domain.upper=[0.1, 0.1, {0.1*ranks}]"]) if kind == "weak" else ()
    script = tmp_path / "job"
    pdem("slurm", "cases/polydisperse_box.toml", "--kind", kind, "--time", 10, *hybrid, *grows, "--output", script)
    tested = subprocess.run(["sbatch", "--test-only", script], env=slurm, capture_output=True, text=True, timeout=60)
    assert tested.returncode == 0, tested.stderr
    assert "using 2 processors" in tested.stderr


@pytest.mark.slow  # each job starts a Python of its own; tests/unit/test_sweeps.py runs the script with stand-ins
def test_a_sweep_is_an_array_whose_runs_wait_for_what_they_share(slurm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pdem("new", "two_spheres")
    stages = "stages=[{name='flying', end=0.02}, {name='hitting', interactions={glass-glass={friction=0.3}}}]"
    vary = "stages.1.interactions.glass-glass.friction=[0.1, 0.5]"
    measure = 'spin={kind="column", column="rotation", statistic="last"}'
    more = ("--set", stages, "--vary", vary, "--measure", measure, "-o", "many runs")
    pdem("sweep", "two_spheres.toml", *more, "--slurm", 2)
    array = hand_in(slurm, "many runs/sweep.sbatch")
    for number in range(3):
        fields, log = wait_for(slurm, f"{array}_{number}", 120)
        assert fields["JobState"] == "COMPLETED", log
    assert len(list(Path("many runs/beginnings").glob("*.json"))) == 1
    assert "2 runs: 2 finished" in pdem("sweep", "many runs", "--table")
