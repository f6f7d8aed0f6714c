"""A failing rank ends the run with one message and an exit code, and the others do not wait for ever."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from decomposition.failure import Failure
from decomposition.mpi import run_or_abort
from pdem.foundation.errors import BlowUpError, CaseError, Interrupted
from rank_harness.parent import mpirun

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import sys
from decomposition.mpi import run_or_abort, start_world
from pdem.foundation.errors import *

communicator = start_world().communicator
rank = communicator.rank

def run():
    {body}
    communicator.Barrier()
    communicator.Barrier()

sys.exit(run_or_abort(run, communicator))
"""

MESSAGES = {
    "all": ("raise CaseError('mixer.toml: no')", 2, "pdem: error: mixer.toml: no\n"),
    "one": ("if rank == 1: raise BlowUpError('particle 7')", 3, "pdem: error: rank 1: particle 7\n"),
    "differing": (
        "raise CaseError(f'number {min(rank, 1)}')",
        2,
        "pdem: error: rank 0: number 0\npdem: error: ranks 1, 2: number 1\n",
    ),
    "stopped": ("raise Interrupted('at step 3')", 99, "pdem: stopped: at step 3\n"),
    "silent exit": ("if rank == 2: sys.exit(5)", 5, ""),
}


def start(body):
    return start_program(PROGRAM.format(body=body), 3)


def start_program(code, ranks):
    return subprocess.Popen(
        [mpirun(), "-n", str(ranks), sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize(("body", "code", "message"), MESSAGES.values(), ids=MESSAGES)
def test_one_message_and_the_exit_code(body, code, message):
    process = start(body)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (code, "", message)


def test_an_unexpected_error_shows_one_traceback():
    process = start("1 / 0 if rank == 2 else None")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert errors.startswith("pdem: rank 2: unexpected error, please report it\nTraceback")
    assert errors.count("Traceback") == errors.count("ZeroDivisionError") == 1


def test_without_ranks(capsys):
    def fail():
        raise CaseError("no")

    assert run_or_abort(lambda: None) == 0
    assert run_or_abort(lambda: 4) == 4
    assert run_or_abort(fail) == 2
    assert capsys.readouterr().err == "pdem: error: no\n"


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (BlowUpError("too far"), 3, "pdem: error: rank 1: too far"),
        (Interrupted("at step 3"), 99, "pdem: stopped: rank 1: at step 3"),
        (SystemExit("usage"), 1, "pdem: error: rank 1: usage"),
        (SystemExit(7), 7, ""),
        (KeyboardInterrupt(), 130, "pdem: stopped: rank 1: Ctrl-C, without a checkpoint"),
    ],
)
def test_what_an_error_becomes(error, code, text):
    failure = Failure.of(error)
    assert (failure.code, failure.message("rank 1")) == (code, text)


STOPPED = """
import os, sys, time
from decomposition.mpi import load_mpi, run_or_abort, start_world
from pdem.foundation.signals import SignalFlag
from pdem.foundation.errors import Interrupted

communicator = start_world().communicator

def run():
    with SignalFlag() as flag:
        os.write(1, b"ready\\n")  # in one piece
        while True:
            time.sleep(0.01)
            if communicator.allreduce(flag.requested, op=load_mpi().MAX):
                time.sleep(1.0)  # a checkpoint takes a while
                os.write(1, b"written\\n")
                raise Interrupted("by a signal")

sys.exit(run_or_abort(run, communicator))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_mpirun_passes_a_stop_signal_on_and_waits_for_the_checkpoint(number):
    with start_program(STOPPED, 2) as process:
        assert [process.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == Interrupted.exit_code
    assert output.count("written\n") == 2  # mpirun has something to say about Ctrl-C as well
    assert errors.count("pdem: stopped: by a signal\n") == 1


SCRIPT = """
from decomposition.mpi import guard_script, start_world
from pdem.foundation.errors import InputError

communicator = start_world().communicator
guard_script(communicator)
if communicator.rank == 1:
    raise InputError("skin = -1")
communicator.Barrier()
"""


def test_a_users_script_ends_on_all_ranks():
    output, errors = start_program(SCRIPT, 2).communicate(timeout=60)
    assert (output, errors) == ("", "pdem: error: rank 1: skin = -1\n")


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_a_killed_rank_ends_all(ranks):
    body = f"if rank == {ranks - 1}: os.kill(os.getpid(), signal.SIGKILL)"
    program = "import os, signal" + PROGRAM.format(body=body)
    output, errors = (process := start_program(program, ranks)).communicate(timeout=60)
    assert process.returncode != 0
    assert "Traceback" not in output + errors
    assert (output + errors).count("BAD TERMINATION") == 1  # mpirun says so


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("error", ["MemoryError()", "SystemError('CPUDispatcher returned NULL')"])
def test_an_error_of_one_rank_is_told_once(ranks, error):
    process = start_program(PROGRAM.format(body=f"if rank == 1: raise {error}"), ranks)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert errors.startswith("pdem: rank 1: unexpected error, please report it\nTraceback")
    assert errors.count("Traceback") == 1


@pytest.mark.parametrize(
    ("ranks", "number"), [(2, signal.SIGTERM), (3, signal.SIGTERM), (4, signal.SIGTERM), (2, signal.SIGHUP)]
)
def test_a_signal_to_one_rank_stops_all(ranks, number):
    program = STOPPED.replace('b"ready\\n"', 'b"%d\\n" % os.getpid()')
    assert program != STOPPED
    with start_program(program, ranks) as process:
        numbers = [int(process.stdout.readline()) for _ in range(ranks)]
        os.kill(numbers[-1], number)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == Interrupted.exit_code
    assert output.count("written\n") == ranks
    assert errors == "pdem: stopped: by a signal\n"
