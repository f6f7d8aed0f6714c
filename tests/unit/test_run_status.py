"""What a run says of itself to those who watch it: that kernels are compiled, that it goes on, how it has ended."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from helpers.cases import Grains, make_case
from helpers.folders import CASE, PLATE
from pdem.case.model import Case
from pdem.cli import main
from pdem.foundation import processes
from pdem.foundation.errors import CaseError, Interrupted
from pdem.foundation.signals import SignalFlag
from pdem.output.folder_lock import FolderLock
from pdem.output.lock_owner import LOCK_FILE, Owner
from pdem.output.run_folder import remove_run
from pdem.output.run_status import RUNNING, STATUS_FILE, CompilingStatus, RunStatus, read_status, write_status
from pdem.run.kernels import prepare_kernels
from pdem.run.reading.results import Results
from pdem.run.run import run
from pdem.run.simulation import Simulation
from pdem.watch.state import Reached, RunState, phase_of

STAGES = """
[[stages]]
name = "fall"
end = 0.001
[[stages]]
name = "rest"
until = {quantity = "particles", below = 10}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Go where there is a case."""
    monkeypatch.chdir(tmp_path)
    Path("plate.stl").write_text(PLATE)
    return tmp_path


def start(text=CASE, **changes):
    """Return a simulation of a case with other values."""
    case = Case.from_text(text, Path.cwd())
    for key, value in changes.items():
        case.override(f"{key.replace('__', '.')}={value}")
    return Simulation(case, threads=1)


def watched():
    """Return status and sentence of the page."""
    found = RunState(Path("out")).read()
    return found["status"], found["sentence"]


def test_a_run_that_comes_to_its_time_is_finished(here):
    start().run()
    status = read_status("out")
    assert (status.state, status.begin, status.starts) == ("finished", 0.0, 1)
    assert status.end == pytest.approx(0.004)
    assert watched() == ("finished", "finished at 0.004 of 0.004 s")


def test_a_run_that_a_condition_ends_is_finished(here):
    """Not at 28 % for ever: the bar is full, and the sentence says why."""
    start(CASE + STAGES).run()
    found = RunState(Path("out")).read()
    assert found["status"] == "finished"
    assert found["share"] == 1.0
    assert found["time"] < 0.0025
    assert found["left"] is None
    assert found["sentence"].endswith("of 0.004 s: its last stage, rest, has ended by particles below 10")
    Path("out", STATUS_FILE).unlink()  # as an earlier version left it: its log has the report
    assert watched()[0] == "finished"


def test_a_run_that_goes_on_tells_its_stage_and_the_longest_time(here, monkeypatch):
    start(CASE + STAGES.replace("below = 10", "above = 10"), time__end=0.002).run()
    status = read_status("out")
    write_status("out", replace(status, state="running", end=0.004))
    state, clock = RunState(Path("out")), iter([1.0, 2.0])
    monkeypatch.setattr("pdem.watch.state.clock.monotonic", lambda: next(clock))
    state._readings.append((0.0, 0.0))
    found = state.read()
    assert found["status"] == "running"
    assert "50.0 %, 0.002 of 0.004 s, stage rest (2 of 2), " in found["sentence"]
    assert "left at most 00:01" in found["sentence"]


def test_a_restart_has_the_end_of_the_new_case(here):
    """Not 2.6 of 2.5 s; and each restart counts."""
    start().run()
    for number, end in enumerate((0.006, 0.0065), 2):
        again = Simulation.restart("out", threads=1)
        again.case.override(f"time.end={end}")
        begin = again.time
        again.run()
        status = read_status("out")
        assert (status.starts, status.begin) == (number, begin)
        assert watched() == ("finished", f"finished at {end:g} of {end:g} s")
        assert Results("out").case.time.end == end
    write_status("out", replace(status, state="running"))
    assert "0.0065 of 0.0065 s, continued from 0.006 s, restart 2, " in watched()[1]


def test_a_run_that_is_asked_to_stop_says_so(here):
    simulation, flag = start(), SignalFlag()
    flag.requested = signal.SIGTERM
    with pytest.raises(Interrupted):
        run(simulation, quiet=True, flag=flag)
    name, sentence = watched()
    assert name == "stopped"
    assert "SIGTERM" in sentence
    assert "continue with pdem restart out" in sentence


def test_a_run_that_fails_says_with_what(here, monkeypatch):
    simulation = start()
    simulation.advance(10)
    monkeypatch.setattr(Simulation, "advance", lambda self, steps: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        simulation.run()
    assert watched()[0] == "failed"
    assert read_status("out").detail == "ZeroDivisionError: division by zero"
    with pytest.raises(ZeroDivisionError):
        start(output__folder='"other"').run()
    assert RunState(Path("other")).read()["status"] == "failed", "before its first line"


def test_an_observer_that_stops_a_run_is_named(here):
    simulation = start()

    def stop(run):
        if run.step >= 100:
            run.stop()

    simulation.run(observers=[stop])
    assert watched()[1].endswith("of 0.004 s: an observer has ended it")


def test_a_run_that_is_killed_is_not_going_on_for_ever(here):
    """With kill -9, in a process of its own; then from its last checkpoint to its end."""
    Path("case.toml").write_text(CASE.replace("end = 0.004", "end = 1000.0"))
    process = subprocess.Popen(
        [sys.executable, "-m", "pdem", "run", "case.toml", "-q", "--threads", "1"], stderr=subprocess.DEVNULL
    )
    folder = Path("out")
    while process.poll() is None and not list(folder.glob("checkpoint-*.h5")):
        pass
    assert read_status(folder).is_alive
    assert RunState(folder).read()["status"] == "running"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert read_status(folder).is_alive is False
    name, sentence = watched()
    assert name == "killed"
    assert f"its process {process.pid} is gone, and has not said why" in sentence
    assert "pdem restart out goes on from the last of " in sentence
    again = Simulation.restart(folder, threads=1)
    again.case.override(f"time.end={again.time + 2e-4}")
    again.run(overwrite=True)  # it may have gone on beyond that before it was killed
    assert watched()[0] == "finished"


def test_processes_are_told_apart_by_when_they_began():
    me = RunStatus.of_this_process("running")
    assert me.is_alive
    assert replace(me, started=me.started + 1).is_alive is False, "a number that is used again"
    assert replace(me, process=2**22 + 5).is_alive is False
    assert replace(me, host="elsewhere").is_alive is None
    assert replace(me, boot="before").is_alive is None
    assert replace(me, namespace="of a container").is_alive is None


@pytest.mark.parametrize(
    ("changes", "reached", "name", "text"),
    [
        ({"state": "compiling"}, None, "compiling", "compiling the first kernels, for 00:"),
        ({"state": "compiling", "kernels": 1243}, None, "compiling", "compiling kernels, 1,243 so far, for 00:"),
        ({"state": "ready"}, None, "ready", "kernels are ready, the first step is next"),
        ({"state": "ready"}, Reached(1.0, 2.0, False), "ready", "the first step is next"),
        ({"state": "compiling", "started": 1}, None, "killed", "ended before the first step: its process"),
        ({"state": "running"}, None, "running", "nothing to show yet: no line"),
        ({"state": "running", "started": 1}, None, "killed", "there is no checkpoint, start it again"),
        ({"state": "running", "host": "node7"}, Reached(1.0, 2.0, False), "running", "1 of 2 s, on node7"),
        (
            {"state": "failed", "detail": "disk full"},
            Reached(1.0, 2.0, False),
            "failed",
            "failed at 1 of 2 s: disk full",
        ),
        ({"state": "failed", "detail": "disk full"}, None, "failed", "failed: disk full"),
        (None, None, "waiting", "nothing to show yet: no line"),
        (None, Reached(1.0, 2.0, False), "running", "1 of 2 s"),
        (None, Reached(1.5, 2.0, True), "finished", "finished at 1.5 of 2 s"),
    ],
)
def test_phases(tmp_path, changes, reached, name, text):
    status = None if changes is None else replace(RunStatus.of_this_process("running"), **changes)
    phase = phase_of(tmp_path, status, reached, "no line")
    assert phase.name == name
    assert text in phase.text


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"null", b'{"state": 3}', b"\xff\xfe", b'{"state": "x", "since": "y"}']
)
def test_a_spoilt_status_is_none(tmp_path, content):
    (tmp_path / STATUS_FILE).write_bytes(content)
    assert read_status(tmp_path) is None
    assert RunState(tmp_path).read()["status"] == "waiting"


def test_a_status_that_cannot_be_written_ends_nothing(tmp_path, monkeypatch):
    status = RunStatus.of_this_process("running")
    write_status(tmp_path / "missing", status)
    assert read_status(tmp_path / "missing") is None
    write_status(tmp_path, status)
    assert read_status(tmp_path) == status
    (tmp_path / f"{STATUS_FILE}.tmp").write_text("torn")
    remove_run(tmp_path)
    assert not list(tmp_path.iterdir())


def test_compiling_is_told_and_leaves_no_trace_of_a_run_that_does_not_begin(tmp_path):
    folder = tmp_path / "results" / "new"
    telling = CompilingStatus(folder)
    telling.undo()
    telling.finish()
    assert not folder.exists(), "nothing was compiled"
    telling.count(0)
    telling.count(12)
    assert read_status(folder).kernels == 12
    assert RunState(folder).read()["status"] == "compiling"
    telling.finish()
    assert read_status(folder).state == "ready"
    telling.undo()
    assert not (tmp_path / "results").exists()
    old = replace(RunStatus.of_this_process("finished"), detail="before")
    write_status(tmp_path, old)
    telling = CompilingStatus(tmp_path)
    telling.count(3)
    telling.undo()
    assert read_status(tmp_path) == old


@pytest.mark.parametrize("fails", [False, True])
def test_kernels_are_counted_while_they_are_compiled(tmp_path, monkeypatch, fails):
    seen, folder = [], tmp_path / "out"
    monkeypatch.setattr(prepare_kernels, "_SECONDS_BETWEEN_UPDATES", 0.02)
    monkeypatch.setattr(prepare_kernels, "_stored_kernels", iter(range(100, 10**6)).__next__)

    def compile_all(communicator, function, tag, announce, is_stopped):
        announce()
        while not seen or seen[-1].kernels < 5:
            seen.append(read_status(folder))
        if fails:
            raise OSError("no room")
        return True

    monkeypatch.setattr(prepare_kernels, "warm_up", compile_all)
    monkeypatch.setattr(prepare_kernels, "_prepared", set())
    case = make_case(tmp_path, Grains([0.0, 0.0, 0.0], 0.1))
    if fails:
        with pytest.raises(OSError, match="no room"):
            prepare_kernels.prepare_kernels(Simulation, None, case, 1, status=CompilingStatus(folder))
        assert not folder.exists()
    else:
        prepare_kernels.prepare_kernels(Simulation, None, case, 1, status=CompilingStatus(folder))
        assert read_status(folder).state == "ready"
    assert {one.state for one in seen} == {"compiling"}
    assert seen[0].kernels == 0


def test_without_proc_a_process_is_asked_for_by_a_signal(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "_PROC", tmp_path)
    me = RunStatus.of_this_process("running")
    assert me.is_alive
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert replace(me, process=process.pid).is_alive is False


def test_a_copied_folder_is_what_it_was(here):
    start().run()
    shutil.copytree("out", "copy")
    assert RunState(Path("copy")).read()["status"] == "finished"


def test_a_run_that_is_about_to_be_refused_says_nothing_over_the_one_that_writes(tmp_path, other_process):
    (tmp_path / LOCK_FILE).write_bytes(other_process.text())
    write_status(tmp_path, RunStatus.of_this_process(RUNNING))
    before = (tmp_path / STATUS_FILE).read_bytes()
    status = CompilingStatus(tmp_path)
    status.count(3)
    status.finish()
    status.undo()
    assert (tmp_path / STATUS_FILE).read_bytes() == before


def test_a_run_that_has_the_folder_says_how_far_its_kernels_are(tmp_path):
    lock = FolderLock.acquire(tmp_path)
    try:
        status = CompilingStatus(tmp_path)
        status.count(3)
        found = read_status(tmp_path)
        assert (found.state, found.kernels) == ("compiling", 3)
        status.finish()
        assert read_status(tmp_path).state == "ready"
    finally:
        lock.release()


@pytest.mark.parametrize("refused", [False, True])
def test_a_run_that_is_refused_after_its_kernels_were_compiled_leaves_nothing(here, monkeypatch, refused):
    def compile_all(communicator, function, tag, announce, is_stopped):
        announce()
        function()
        return True

    def prove(communicator, case, wanted, *, quiet):
        assert read_status("out").state == "ready"
        if refused:
            raise CaseError("case.toml: this law pulls itself up")
        return [], {}

    monkeypatch.setattr(prepare_kernels, "warm_up", compile_all)
    monkeypatch.setattr(prepare_kernels, "_prepared", set())
    monkeypatch.setattr(sys.modules["pdem.cli.run"], "prove_before_run", prove)
    Path("case.toml").write_text(CASE)
    result = CliRunner().invoke(main, ["run", "case.toml", "-q"])
    assert result.exit_code == (2 if refused else 0), result.output
    assert Path("out").exists() is not refused
    assert refused or read_status("out").state == "finished"


@pytest.fixture
def other_process():
    """Return the owner of a lock that is alive and another process than this one."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield replace(Owner.me(), process=process.pid, started=processes.state_of(process.pid)[1])
        process.kill()
