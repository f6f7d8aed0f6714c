"""Users without a home, without an entry, or without any folder that can be written, as in containers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.folders import CASE, PLATE
from pdem.numerics.cache import cache_directory

pytestmark = pytest.mark.compiles

ROOT = Path(__file__).resolve().parents[2]
NO_ENTRY = """
import pwd

def nobody(number):
    raise KeyError(f"getpwuid(): uid not found: {number}")

pwd.getpwuid = nobody
"""
DROPPED = ("HOME", "XDG_CACHE_HOME", "PDEM_CACHE_DIR", "NUMBA_CACHE_DIR", "USER", "LOGNAME")


def pdem(*words, **variables):
    """Run a command as a user without home and entry; return code, output and errors."""
    inherited = {name: value for name, value in os.environ.items() if name not in DROPPED}
    found = subprocess.run(
        [sys.executable, "-m", "pdem", *words], capture_output=True, text=True, timeout=300,
        env=inherited | {"PYTHONPATH": f"{Path.cwd() / 'site'}{os.pathsep}{ROOT}"} | variables,
    )  # fmt: skip
    assert "Traceback" not in found.stderr
    return found.returncode, found.stdout, found.stderr


@pytest.fixture
def nobody(tmp_path, monkeypatch):
    """Be in a folder with a case, and without an entry in processes that are started."""
    monkeypatch.chdir(tmp_path)
    for name in ("site", "tmp"):
        Path(name).mkdir()
    Path("site", "sitecustomize.py").write_text(NO_ENTRY)
    Path("case.toml").write_text(CASE)
    Path("plate.stl").write_text(PLATE)
    return tmp_path


@pytest.mark.parametrize("home", [{}, {"HOME": "/nonexistent"}, {"HOME": ""}])
def test_check_says_it_in_one_line(nobody, home):
    code, output, errors = pdem("check", "case.toml", TMPDIR=str(nobody / "tmp"), **home)
    assert code == 0, errors
    assert "0 errors" in output
    base = nobody / "tmp" / f"pdem-{os.getuid()}"
    assert errors.splitlines()[0] == (
        f"pdem: warning: there is no home folder: compiled kernels are kept in {base}; set PDEM_CACHE_DIR to a folder "
        "that only you may write"
    )
    assert not Path("/nonexistent").exists()


def test_a_run_needs_no_home_where_the_folder_of_kernels_is_named(nobody):
    kernels = cache_directory()
    code, _, errors = pdem("run", "case.toml", "-q", NUMBA_CACHE_DIR=str(kernels), TMPDIR="/nowhere")
    assert (code, errors) == (0, "")
    log = Path("out", "run.log").read_text()
    assert "results in out" in log


def test_other_commands_do_without(nobody):
    for words in (("new", "--list"), ("explain", "output"), ("new", "two_spheres"), ("--version",)):
        code, _, errors = pdem(*words, TMPDIR=str(nobody / "tmp"))
        assert code == 0, errors
