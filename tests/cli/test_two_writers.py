"""A second command into the folder of a run that is alive is refused, whatever it is, and changes nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import pdem
from helpers.folders import CASE, PLATE, checkpoints, command, listing, refused, run, state
from pdem.foundation.errors import FolderInUseError
from pdem.output.folder_lock import LOCK_FILE, FolderLock
from pdem.sweeps.jobs import read_jobs
from rank_harness.parent import mpirun

pytestmark = pytest.mark.compiles

ROOT = Path(__file__).resolve().parents[2]
ENDLESS = ("time.end=1e4", "output.checkpoint_every=0.05", "output.snapshots_every=0.01", "output.series_every=0.01")


def start(*words, settings=(), launcher=()):
    words = [*words, "-q", *(word for one in settings for word in ("--set", one))]
    return subprocess.Popen(
        [*launcher, sys.executable, "-m", "pdem", *words], stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip


@contextmanager
def alive(folder="out", launcher=(), paused=True):
    """Yield a run that has written a checkpoint and goes on, or is suspended so that files stay as they are."""
    process = start("run", "case.toml", settings=(*ENDLESS, f"output.folder={folder}"), launcher=launcher)
    try:
        end = time.monotonic() + 200
        while len(checkpoints(folder)) < 1 and process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        assert process.poll() is None, process.stderr.read()
        if paused:
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
        process.communicate()


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """Be in a folder with a case."""
    monkeypatch.chdir(tmp_path)
    Path("case.toml").write_text(CASE)
    Path("plate.stl").write_text(PLATE)
    return tmp_path


def test_whatever_writes_is_refused_and_whatever_reads_is_not(empty):
    run("run", "case.toml", settings=("output.folder=other",))
    with alive() as process:
        named = f"pdem run (process {process.pid} of "
        checkpoint = f"out/{checkpoints('out')[-1]}"
        for words in (
            ("run", "case.toml"), ("run", "case.toml", "--overwrite"), ("run", "case.toml", "--continue"),
            ("restart", "out"), ("restart", "out", "--overwrite"), ("restart", checkpoint), ("attest", "out"),
        ):  # fmt: skip
            settings = ENDLESS if "run" in words else ()
            assert named in (refused(*words, settings=settings) if words[0] != "attest" else _attest_refused())
        assert named in refused("restart", "other", settings=("output.folder=out", "time.end=1.0"))
        assert named in refused("replay", "other", "--from", "0.001", "--to", "0.003", "-o", "out")
        before = listing()
        assert len(pdem.Results("out").times) > 1
        assert command("plot", "out", "translation", "-o", "plot.png")[0] == 0
        assert command("compare", "out", "other")[0] == 1
        assert {name: one for name, one in listing().items() if name != "plot.png"} == before
    assert run("restart", "out", settings=("time.end=0.2",)).count("pdem: ") <= 2


def _attest_refused():
    before = listing()
    code, errors = command("attest", "out")
    assert (code, listing()) == (2, before)
    return errors


def test_a_run_that_is_alive_is_named_and_ends_as_if_nothing_had_been(empty):
    with alive(paused=False) as process:
        code, errors = command("run", "case.toml", "--overwrite", "-q", settings=ENDLESS)
        assert code == 2
        assert f"out: pdem run (process {process.pid} of " in errors
        assert f"stop it (kill {process.pid}, which writes a checkpoint)" in errors
        assert "space" not in errors
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 99, errors
    assert not Path("out", LOCK_FILE).exists()
    results = pdem.Results("out")
    steps = results.series["step"]
    assert (steps[1:] > steps[:-1]).all()
    assert results.times.tolist() == sorted(set(results.times))
    assert all(len(snapshot.position) == 2 for snapshot in results)


def test_a_killed_run_is_gone_on_with_at_once_and_has_the_same_bits(empty):
    with alive() as process:
        process.kill()
        process.wait()
        assert Path("out", LOCK_FILE).exists()
        run("restart", "out", settings=("time.end=0.2",))
    run("run", "case.toml", settings=(*ENDLESS[1:], "time.end=0.2", "output.folder=whole"))
    assert state(f"out/{checkpoints('out')[-1]}") == state(f"whole/{checkpoints('whole')[-1]}")
    assert not Path("out", LOCK_FILE).exists()


def test_of_two_that_begin_at_the_same_time_one_runs(empty):
    settings = ("time.end=0.02", "output.folder=new/out")
    both = [start("run", "case.toml", settings=settings) for _ in range(2)]
    said = [process.communicate(timeout=300)[1] for process in both]
    codes = [process.returncode for process in both]
    if sorted(codes) == [0, 2]:
        text = said[codes.index(2)]
        assert text.count("pdem: error") == 1
        assert "has been writing here since" in text or "holds a run" in text
    else:  # one began when the other had ended
        pytest.fail(f"{codes}: {said}")
    run("run", "case.toml", settings=(*settings, "output.folder=alone"))
    names = checkpoints("alone")
    assert checkpoints("new/out") == names
    assert state(f"new/out/{names[-1]}") == state(f"alone/{names[-1]}")


def test_ranks_say_it_once(empty):
    with alive() as process:
        for words in (("run", "case.toml", "--overwrite"), ("restart", "out")):
            before = listing()
            second = start(*words, launcher=[mpirun(), "-n", "2"])
            _, errors = second.communicate(timeout=300)
            assert second.returncode == 2, errors
            assert errors.count(f"pdem run (process {process.pid} of ") == 1
            assert listing() == before
    with alive("ranks", launcher=[mpirun(), "-n", "2"], paused=False):
        code, errors = command("restart", "ranks", "-q")
        assert code == 2
        assert "has been writing here since" in errors


def test_a_refused_run_makes_no_folder(empty):
    Path("broken.toml").write_text(CASE.replace("radius = 0.01", "radius = 5.0"))
    assert command("run", "broken.toml", "-q", settings=("output.folder=a/b",))[0] == 2
    assert not Path("a").exists()


def case_of(folder, *settings):
    case = pdem.Case.read("case.toml")
    for setting in (f"output.folder={folder}", *settings):
        case.override(setting)
    return case


def test_two_simulations_of_a_process(empty):
    first, second = (pdem.Simulation(case_of("out"), threads=1) for _ in range(2))
    first.write()
    before = listing()
    for write in (second.write, second.run, lambda: second.run(overwrite=True), lambda: second.write(overwrite=True)):
        with pytest.raises(FolderInUseError, match="another Simulation of this process has been writing here since"):
            write()
        assert listing() == before
    code, errors = command("run", "case.toml", "--overwrite", "-q")
    assert (code, "another Simulation of this process" in errors) == (2, True)
    first.advance(10)
    first.close()
    second.run(overwrite=True)
    assert not Path("out", LOCK_FILE).exists()


def test_an_exception_gives_the_folder_back(empty):
    def failing(simulation):
        raise RuntimeError("mine")

    simulation = pdem.Simulation(case_of("out"), threads=1)
    with pytest.raises(pdem.ObserverError):
        simulation.run(observers=[failing])
    assert not Path("out", LOCK_FILE).exists()
    pdem.Simulation(case_of("out"), threads=1).run(overwrite=True)


def test_what_nobody_refers_to_any_more_is_closed_and_loses_no_row(empty):
    simulation = pdem.Simulation(case_of("out"), threads=1)
    for _ in range(3):
        simulation.advance(7)
        simulation.write()
    del simulation
    again = pdem.Simulation(case_of("out"), threads=1)
    again.run(overwrite=True)
    simulation = pdem.Simulation(case_of("other"), threads=1)
    simulation.write()
    simulation.outputs.write_series_row(0, 0.0)  # the same time: left out
    simulation.advance(5)
    simulation.outputs.write_series_row(0, 0.0)  # waits in memory
    assert pdem.Results("other").series["step"].tolist() == [0]
    del simulation
    FolderLock.acquire("other").release()
    assert pdem.Results("other").series["step"].tolist() == [0, 5]


def test_a_forked_process_writes_nothing(empty):
    simulation = pdem.Simulation(case_of("out"), threads=1)
    simulation.write()
    simulation.advance(5)
    simulation.outputs.write_series_row(0, 0.0)
    before = listing()
    child = os.fork()
    if child == 0:
        try:
            simulation.close()
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert listing() == before
    with pytest.raises(FolderInUseError):
        FolderLock.acquire("out")
    simulation.close()
    assert pdem.Results("out").series["step"].tolist() == [0, 5]


SWEEP = ("--vary", "domain.gravity=[[0, 0, -9.81], [0, 0, -5.0]]", "--measure", "rows=python:rows.py:rows")


def test_jobs_and_folders_of_sweeps(empty):
    Path("rows.py").write_text("def rows(results):\n    return '1', len(results.series)\n")
    words = ("sweep", "case.toml", *SWEEP, "-o", "many", "-q")
    lock = FolderLock.acquire("many")
    assert command(*words)[0] == 2
    lock.release()
    code, errors = command(*words, "--slurm", "1:00:00")
    assert code == 0, errors
    first = read_jobs(Path("many"))[0].name
    lock = FolderLock.acquire(f"many/{first}")
    for tried in (words, ("sweep", "many", "--job", "0"), ("sweep", "many", "--job", "1"), (*words, "--jobs", "2")):
        code, errors = command(*tried)
        assert code == 2 or "--job" in tried, errors
    assert not Path(f"many/{first}.json").exists(), "it was noted that a job has failed that another computes"
    lock.release()
    code, errors = command(*words)
    assert code == 0, errors
    assert not list(Path("many").rglob(LOCK_FILE))
