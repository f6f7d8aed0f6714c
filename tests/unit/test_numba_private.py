"""Private parts of numba are used only where they fit; elsewhere kernels are plain functions with the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pdem.numerics import numba_private
from pdem.run.kernels import prepare_kernels

ROOT = Path(__file__).resolve().parents[2]

# Imported by each Python that finds it: a numba in which a private part has another name, as in a later version.
RENAMED = """
from numba.core import codegen
codegen.CodeLibraryOfLater = codegen.JITCodeLibrary
del codegen.JITCodeLibrary
"""
TRIED = """
from pdem.numerics import numba_private, numba_trial
print(numba_private.misfit())
print(numba_trial.try_kernels(False))
"""
RUN = """
import hashlib, sys
import pdem
sys.path.insert(0, "tests")
from helpers.rank_cases import CLOUD
simulation = pdem.Simulation(pdem.Case.from_text(CLOUD), threads=2)
simulation.advance(60)
found = simulation.gather()
print(hashlib.sha256(b"".join(found[name].tobytes() for name in sorted(found))).hexdigest())
"""


def python(program, *paths, **variables):
    """Return what a program prints in a process of its own."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (*paths, ROOT)))} | variables
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_this_numba_fits():
    assert numba_private.misfit() == ""
    assert numba_private.warning_of_misfit() == ""


@pytest.mark.compiles
def test_the_trial_passes_here():
    assert numba_private._try() == ""


def test_the_trial_sees_kernels_that_are_not_stored(monkeypatch):
    monkeypatch.setattr(numba_private, "_TRIAL", numba_private._TRIAL.replace("({})", "(True)"))  # in the first process
    assert "not found again" in numba_private._try()


@pytest.mark.compiles
def test_a_part_with_another_name_is_left_alone(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(RENAMED)
    reason, problem = python(TRIED, tmp_path)
    assert reason == "module 'numba.core.codegen' has no attribute 'JITCodeLibrary'"
    assert problem == ""


@pytest.mark.compiles
def test_users_may_leave_private_parts_alone():
    assert python(TRIED, PDEM_PLAIN_NUMBA="1") == ["PDEM_PLAIN_NUMBA is 1", ""]


@pytest.fixture
def untested(tmp_path, monkeypatch):
    """Let the installed version be one that was never tested; return the folder of its kernels and a list of trials."""
    trials = []
    monkeypatch.setattr(numba_private, "TESTED", ())
    monkeypatch.setattr(numba_private, "cache_directory", lambda: tmp_path)
    monkeypatch.setattr(numba_private, "misfit", numba_private.misfit.__wrapped__)
    monkeypatch.setattr(numba_private, "_try", lambda: trials.append(1) or "")
    return trials


def test_an_untested_version_is_tried_once(untested):
    assert [numba_private.misfit(), numba_private.misfit()] == ["", ""]
    assert untested == [1]


def test_one_that_does_not_fit_is_warned_of_once(untested, monkeypatch):
    monkeypatch.setattr(numba_private, "_try", lambda: untested.append(1) or "a kernel crashes")
    monkeypatch.setattr(prepare_kernels, "_prepared", set())
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match=r"not tested.*a kernel crashes.*pip install 'numba>=0\.68") as caught:
            prepare_kernels._warn_of_numba(None)
        assert len(caught) == 1
    prepare_kernels._prepared.add("kernels of a run")
    prepare_kernels._warn_of_numba(None)  # warnings are errors in tests
    assert untested == [1]


def test_a_trial_that_crashes_or_does_not_start_is_a_misfit(monkeypatch):
    crash = "import os; os.kill(os.getpid(), 11)  # {}"
    monkeypatch.setattr(numba_private, "_TRIAL", crash)
    assert numba_private._try() == "its trial ends with -11"
    monkeypatch.setattr(sys, "executable", "/nothing/python")
    assert "No such file" in numba_private._try()


@pytest.mark.slow
def test_without_private_parts_the_bits_are_the_same():
    assert python(RUN) == python(RUN, PDEM_PLAIN_NUMBA="1")


@pytest.mark.parametrize("first", ["pdem.output.provenance", "pdem.run.same_on_ranks", "pdem.numerics.kernels"])
def test_the_processor_is_the_same_whatever_is_imported_first(first):
    """The compiler reads the features once, when it is made: a rank that asked too early compiled other kernels."""
    ask = "from pdem.output.provenance import provenance; print(provenance()['processor_features'])"
    assert python(f"import {first}\n{ask}") == python(f"import pdem.numerics.kernels\n{ask}")
