"""A second process does a part of some work, and nothing but time is lost with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from pdem.foundation.signals import SignalFlag
from pdem.numerics.cache import cache_directory
from pdem.run.kernels import helper_process
from pdem.run.kernels.helper_process import HelperProcess

ROOT = Path(__file__).resolve().parents[2]
LAUNCHED = ("OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "PMI_FD", "SLURM_PROCID", "PALS_RANKID")

CHORES = """
import os, time
from pathlib import Path
HERE = Path(__file__).parent

def tell():
    (HERE / "new").write_text(str(os.getpid()))
    (HERE / "new").rename(HERE / "told")

def variables():
    (HERE / "variables").write_text("\\n".join(f"{name}={value}" for name, value in os.environ.items()))

def stay():
    tell()
    time.sleep(300.0)

def fail():
    raise ValueError("it does not go")
"""

MAIN = """
import sys
sys.path.insert(0, sys.argv[1])
import chores
from pdem.run.kernels import helper_process
helper_process.available_cores = lambda: 2
with helper_process.HelperProcess(chores.stay) as one:
    one.wait()
"""


@pytest.fixture
def chores(tmp_path, monkeypatch):
    """Return the folder in which the helper tells its number, on a machine that has a core for it."""
    (tmp_path / "chores.py").write_text(CHORES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(helper_process, "available_cores", lambda: 2)
    return tmp_path


def chore(name):
    """Return a stand-in for a function of the module `chores`, which only the helper imports."""
    return SimpleNamespace(__module__="chores", __qualname__=name)


def number_told(folder):
    return int(eventually(lambda: (folder / "told").exists() and (folder / "told").read_text()))


def eventually(ask, seconds=60.0):
    end = time.monotonic() + seconds
    while not (answer := ask()):
        assert time.monotonic() < end
        time.sleep(0.01)
    return answer


def is_gone(number):
    """Tell whether a process has ended; one that nobody has waited for is only listed."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are seen in /proc")


def test_it_has_worked_when_it_was_waited_for(chores):
    with HelperProcess(chore("tell")) as one:
        one.wait()
        assert (chores / "told").exists()


def test_it_has_this_process_modules_and_kernels_and_takes_itself_for_no_rank(chores, monkeypatch):
    for name in LAUNCHED:
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("PDEM_THREADS", "3")
    with HelperProcess(chore("variables")) as one:
        one.wait()
    told = (chores / "variables").read_text().splitlines()
    assert not {line.partition("=")[0] for line in told} & set(LAUNCHED)
    assert {"PDEM_THREADS=3", f"NUMBA_CACHE_DIR={cache_directory()}"} <= set(told)


def test_what_it_said_is_shown_if_it_fails(chores):
    with HelperProcess(chore("fail")) as one, pytest.warns(RuntimeWarning, match="exit code 1(.|\n)*it does not go"):
        one.wait()


def test_one_that_is_killed_is_no_error(chores):
    with HelperProcess(chore("stay")) as one:
        os.kill(number_told(chores), signal.SIGKILL)
        with pytest.warns(RuntimeWarning, match="exit code -9"):
            one.wait()


@pytest.mark.parametrize("lacks", ["program", "core", "need"])
def test_one_that_cannot_be_had_is_not_waited_for(chores, monkeypatch, lacks):
    if lacks == "program":
        monkeypatch.setattr(sys, "executable", str(chores / "nothing"))
    if lacks == "core":
        monkeypatch.setattr(helper_process, "available_cores", lambda: 1)
    with HelperProcess(chore("tell"), needed=lacks != "need") as one:
        one.wait()
    assert not (chores / "told").exists()


@needs_proc
def test_it_ends_with_the_context(chores):
    with HelperProcess(chore("stay")):
        number = number_told(chores)
        assert not is_gone(number)
    assert is_gone(number)


@needs_proc
def test_it_ends_when_this_process_is_asked_to_stop(chores):
    def work():
        with HelperProcess(chore("stay")) as one:
            one.wait()

    def stop():
        os.kill(number_told(chores), signal.SIGUSR1)  # a launcher sends it to all: it is this process that decides
        os.kill(os.getpid(), signal.SIGUSR1)

    with SignalFlag() as flag:
        threading.Thread(target=stop).start()
        flag.unless_stopped(work)
    assert flag.requested == signal.SIGUSR1
    assert is_gone(number_told(chores))


@needs_proc
def test_it_ends_when_this_process_is_killed(chores):
    command = [sys.executable, "-c", MAIN, str(chores)]
    main = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)})
    number = number_told(chores)
    assert not is_gone(number)
    main.kill()
    main.wait()
    eventually(lambda: is_gone(number))
