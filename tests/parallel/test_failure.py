"""A failing rank ends the run with one message and an exit code, and the others do not wait for ever."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from decomposition.failure import Failure, run_or_abort
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


def start(body, ranks=3):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [mpirun(), "-n", str(ranks), sys.executable, "-c", PROGRAM.format(body=body)]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, env=environment, stdout=pipe, stderr=pipe, text=True, start_new_session=True
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
        (KeyboardInterrupt(), 130, "pdem: stopped: rank 1: before a checkpoint was complete"),
    ],
)
def test_what_an_error_becomes(error, code, text):
    failure = Failure.of(error)
    assert (failure.code, failure.message("rank 1")) == (code, text)
