"""The tests on one rank, shared by two processes: each is reported once, in its place, whoever has run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.planted import ORDER

ROOT = Path(__file__).resolve().parents[2]

CONFIGURATION = f"""
[pytest]
pythonpath = "{ROOT}" "{ROOT / "tests"}"
addopts = --strict-markers --import-mode=importlib -m "not slow"
markers =
    ranks(*counts, timeout): see rank_harness
    slow: left out
    shares_law(name): see rank_harness
"""

# The first module waits until the last one has begun, so that two processes are at work.
FRONT = """
import os, time
from pathlib import Path
import pytest

@pytest.fixture(scope="module", autouse=True)
def number():
    end = time.monotonic() + 60.0
    while not (begun := Path("begun")).exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    return int(begun.read_text())

def test_is_in_another_process(number):
    assert number != os.getpid()

@pytest.mark.slow
def test_is_left_out():
    assert False
"""
MIDDLE = """
def test_passes():
    pass
"""
GROUP = """
import os
from pathlib import Path
import pytest

pytestmark = pytest.mark.shares_law("long")

def test_of_a_group():
    assert Path("last").read_text() == str(os.getpid()), "not where the rest of the group has run"
"""
LAST = """
import os
from pathlib import Path
import pytest

pytestmark = pytest.mark.shares_law("long")

def test_is_last():
    Path("last").write_text(str(os.getpid()))
"""
END = """
import os, signal, time
from pathlib import Path
import pytest

@pytest.fixture
def torn():
    yield
    assert False, "not put away"

def test_begins():
    Path("new").write_text(str(os.getpid()))
    Path("new").rename("begun")

def test_fails():
    print("printed before")
    assert 1 == 2, "as it should"

@pytest.mark.skip(reason="not today")
def test_is_skipped():
    assert False

@pytest.mark.xfail(reason="known", strict=True)
def test_is_expected_to_fail():
    assert False

def test_leaves_something(torn):
    pass

@pytest.mark.slow
def test_is_left_out():
    assert False

def test_crashes():
    assert Path("begun").read_text() == str(os.getpid()), "run twice"
    os.kill(os.getpid(), signal.SIGSEGV)

def test_goes_on_in_the_first_process():
    assert Path("begun").read_text() != str(os.getpid())
"""
OTHER = """
import pytest

@pytest.mark.ranks(1)
def test_on_a_rank(ranks):
    assert ranks == 1
"""


def run(folder, *options):
    left_out = ("PYTHONDONTWRITEBYTECODE", ORDER)  # the order of these tests is what they are about
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *options, str(folder)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Return what a pytest of two processes says about the tests above."""
    folder = tmp_path_factory.mktemp("two")
    (folder / "pytest.ini").write_text(CONFIGURATION)
    (folder / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    for place, text in (
        ("a/test_front", FRONT),
        ("a/test_group", GROUP),
        ("a/test_middle", MIDDLE),
        ("b/test_end", END),
        ("c/test_last", LAST),
    ):
        (folder / place).parent.mkdir(exist_ok=True)
        (folder / f"{place}.py").write_text(text)
    (folder / "a" / "test_other.py").write_text(OTHER)
    done = run(folder, "--processes", "2")
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def test_every_test_is_reported_once_in_its_place(report):
    assert re.findall(r"::(test_\w+)\S* ([A-Z]+)", report.partition("FAILURES")[0].partition("ERRORS")[0]) == [
        ("test_is_in_another_process", "PASSED"),
        ("test_of_a_group", "PASSED"),
        ("test_passes", "PASSED"),
        ("test_begins", "PASSED"),
        ("test_fails", "FAILED"),
        ("test_is_skipped", "SKIPPED"),
        ("test_is_expected_to_fail", "XFAIL"),
        ("test_leaves_something", "PASSED"),
        ("test_leaves_something", "ERROR"),
        ("test_crashes", "FAILED"),
        ("test_goes_on_in_the_first_process", "PASSED"),
        ("test_is_last", "PASSED"),
        ("test_on_a_rank", "PASSED"),
    ]
    assert "2 failed, 8 passed, 1 skipped, 2 deselected, 1 xfailed, 1 error" in report


def test_failures_are_shown_as_if_there_were_one_process(report):
    assert report.count("AssertionError: as it should") >= 1
    assert report.count("printed before\n") == 1
    assert "not put away" in report


def test_a_crash_is_told_with_what_the_process_said(report):
    assert f"the second pytest ended in this test with exit code {-11}" in report
    assert "Segmentation fault" in report
