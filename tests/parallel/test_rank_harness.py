"""The harness itself: a rank that fails, hangs or crashes fails its own test, and no other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]

CONFIGURATION = f"""
[pytest]
pythonpath = "{ROOT}" "{ROOT / "tests"}"
addopts = --strict-markers --import-mode=importlib
markers = ranks(*counts, timeout): see rank_harness
"""

EXAMPLE = """
import os, signal
import pytest

pytestmark = pytest.mark.ranks(2, timeout=60)

def test_passes_before(communicator, shared_path):
    assert communicator.allreduce(1) == 2
    if communicator.rank == 0:
        (shared_path / "file").touch()
    communicator.Barrier()
    assert (shared_path / "file").exists()

@pytest.mark.skip(reason="not today")
def test_is_skipped():
    assert False

@pytest.mark.xfail(reason="known", strict=True)
def test_is_expected_to_fail():
    assert False

def test_fails_on_one_rank(communicator):
    print("printed by rank", communicator.rank)
    assert communicator.rank == 0, "one rank only"
    communicator.Barrier()

def test_fails_on_both_ranks():
    assert False, "on both ranks"

@pytest.mark.ranks(2, timeout=3)
def test_hangs(communicator):
    if communicator.rank == 1:
        communicator.Recv(bytearray(8), 0, 3)

def test_crashes(communicator):
    if communicator.rank == 1:
        os.kill(os.getpid(), signal.SIGSEGV)
    communicator.Barrier()

def test_passes_after(communicator):
    assert communicator.allreduce(1) == 2
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Return what a plain pytest says about the tests of `EXAMPLE`."""
    folder = tmp_path_factory.mktemp("harness")
    (folder / "pytest.ini").write_text(CONFIGURATION)
    (folder / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (folder / "test_example.py").write_text(EXAMPLE)
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", str(folder)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240)
    assert run.returncode == 1, run.stdout + run.stderr
    return run.stdout


def test_every_outcome_is_reported_for_its_own_test(report):
    outcomes = dict(re.findall(r"::(test_\w+)\[n2\] ([A-Z]+)", report.partition("FAILURES")[0]))
    assert outcomes == {
        "test_passes_before": "PASSED",
        "test_is_skipped": "SKIPPED",
        "test_is_expected_to_fail": "XFAIL",
        "test_fails_on_one_rank": "FAILED",
        "test_fails_on_both_ranks": "FAILED",
        "test_hangs": "FAILED",
        "test_crashes": "FAILED",
        "test_passes_after": "PASSED",
    }


def test_only_the_failing_rank_is_shown(report):
    text = _section(report, "test_fails_on_one_rank")
    assert "rank 1 of 2:" in text
    assert "printed by rank 1" in text
    assert "printed by rank 0" not in text
    assert "[had not finished: rank 0]" in text


def test_a_failure_of_all_ranks_is_shown_once(report):
    text = _section(report, "test_fails_on_both_ranks")
    assert text.count("AssertionError: on both ranks") == 1
    assert "[failed as well: rank 1]" in text


def test_a_hang_shows_where(report):
    text = _section(report, "test_hangs")
    assert "did not end in time: stopped after 3 s; not finished: rank 1" in text
    assert "in test_hangs" in text


def test_a_crash_shows_where(report):
    text = _section(report, "test_crashes")
    assert "Segmentation fault" in text
    assert "in test_crashes" in text


def _section(report, test):
    return re.split(r"\n_{3,} ", report.partition("FAILURES")[2].partition(f"{test}[n2] __")[2])[0]
