"""One writer at a time in a folder, however the others were ended, and nobody is locked out by one that is gone."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pdem.foundation import processes
from pdem.foundation.errors import FolderInUseError, InputError
from pdem.output import folder_lock
from pdem.output.folder_lock import LOCK_FILE, FolderLock
from pdem.output.lock_owner import Owner

ROOT = Path(__file__).resolve().parents[2]

HOLD = """
import sys
from pdem.output.folder_lock import FolderLock
try:
    lock = FolderLock.acquire(sys.argv[1], "name another one")
except Exception as error:
    print(type(error).__name__, error, flush=True)
    sys.exit(2)
print("held", flush=True)
sys.stdin.read()
lock.release()
"""


@contextlib.contextmanager
def holding(folder, code=HOLD):
    """Yield a process that has tried to take a folder, and what it said; in the end it is told to give it up."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGCONT)
        process.stdin.close()
        process.wait(30)
        process.stdout.close()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "a" / "out"


def refusal(folder):
    """Return why a folder cannot be taken, and see that the try has changed nothing."""
    before = listing(folder)
    with pytest.raises(FolderInUseError) as caught:
        FolderLock.acquire(folder, "--set output.folder=... writes elsewhere")
    assert listing(folder) == before
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2
    return str(caught.value)


def listing(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def take(folder):
    lock = FolderLock.acquire(folder)
    assert lock.is_held
    owner = Owner.read((folder / LOCK_FILE).read_bytes())
    assert (owner.process, owner.may_be_alive) == (os.getpid(), True)
    lock.release()
    assert not lock.is_held


def test_a_writer_that_is_alive_is_named(folder):
    with holding(folder) as (process, said):
        assert said == "held"
        text = refusal(folder)
        assert text.startswith(f"{folder}: python (process {process.pid} of ")
        assert f" on {os.uname().nodename}) has been writing here since " in text
        assert " today; wait until it ends, stop it (kill " in text
        assert text.endswith(", or --set output.folder=... writes elsewhere")
    take(folder)


def test_the_folder_is_made_and_goes_again_if_nothing_was_written(folder, tmp_path):
    lock = FolderLock.acquire(folder)
    assert os.listdir(folder) == [LOCK_FILE]
    lock.release()
    assert not list(tmp_path.iterdir())
    lock = FolderLock.acquire(folder)
    (folder / "series.h5").touch()
    lock.release()
    assert os.listdir(folder) == ["series.h5"]


def test_a_killed_writer_leaves_no_lock(folder):
    with holding(folder) as (process, _):
        process.kill()
        process.wait()
        assert (folder / LOCK_FILE).exists()
        begin = time.monotonic()
        take(folder)
        assert time.monotonic() - begin < 1.0


def test_a_suspended_writer_is_alive(folder):
    with holding(folder) as (process, _):
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        assert f"today, and is suspended (kill -CONT {process.pid} lets it go on); wait" in refusal(folder)


def test_of_writers_that_begin_at_the_same_time_one_wins(folder):
    """Whether there was a folder, a lock that a killed one has left, or nothing."""
    for left in ("nothing", "a folder", "a lock"):
        if left == "a folder":
            folder.mkdir(parents=True, exist_ok=True)
        if left == "a lock":
            with holding(folder) as (killed, _):  # the file of a process that is alive would rightly be believed
                killed.kill()
                killed.wait()
        with contextlib.ExitStack() as stack:
            processes = [
                subprocess.Popen(
                    [sys.executable, "-c", HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    text=True, env=os.environ | {"PYTHONPATH": str(ROOT)},
                )
                for _ in range(4)
            ]  # fmt: skip
            for process in processes:
                stack.enter_context(process)
            said = [process.stdout.readline().strip() for process in processes]
            assert sorted(word.split()[0] for word in said) == ["FolderInUseError"] * 3 + ["held"]
            winner = processes[said.index("held")]
            assert all(f"(process {winner.pid} of " in word for word in said if word != "held")
            for process in processes:
                process.stdin.close()
            codes = [process.wait(30) for process in processes]
            assert sorted(codes) == [0, 2, 2, 2]


def test_threads_that_begin_at_the_same_time(folder, monkeypatch):
    """Many times, since they are faster than processes."""
    monkeypatch.setattr(folder_lock.gc, "collect", lambda: 0)  # which takes most of the time of a refusal here
    for _ in range(50):
        found, start = [], threading.Barrier(4)

        def attempt(found=found, start=start):
            start.wait()
            try:
                found.append(FolderLock.acquire(folder))
            except FolderInUseError as error:
                found.append(error)

        threads = [threading.Thread(target=attempt) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        locks = [one for one in found if isinstance(one, FolderLock)]
        assert len(locks) == 1
        locks[0].release()
        assert not folder.exists() or not list(folder.iterdir())


def test_the_same_process_has_it_once_until_it_gives_it_up(folder):
    lock = FolderLock.acquire(folder)
    assert refusal(folder).startswith(f"{folder}: another Simulation of this process has been writing here since ")
    linked = folder.parent / "link"
    linked.symlink_to(folder)
    with pytest.raises(FolderInUseError):
        FolderLock.acquire(linked)
    lock.release()
    lock.release()
    take(folder)


def test_what_nobody_refers_to_any_more_has_no_lock(folder):
    class Simulation:
        def __init__(self):
            self.lock, self.itself = FolderLock.acquire(folder), self

    lost = Simulation()
    assert lost.lock.is_held
    del lost
    take(folder)  # only a search for garbage finds the cycle
    with contextlib.suppress(ZeroDivisionError):
        failing = FolderLock.acquire(folder)
        failing.path = 1 / 0
    del failing
    take(folder)


def _sleep(pipe):
    pipe.recv()


@pytest.mark.parametrize("way", ["fork", "os.fork"])
def test_forked_processes_keep_no_lock_alive(folder, way):
    lock = FolderLock.acquire(folder)
    ours, theirs = multiprocessing.Pipe()
    if way == "fork":
        child = multiprocessing.get_context("fork").Process(target=_sleep, args=(theirs,))
        child.start()
        number = child.pid
    else:
        number = os.fork()
        if number == 0:
            with contextlib.suppress(BaseException):
                assert not lock.is_held
                lock.release()
                theirs.send("ready")
                theirs.recv()
            os._exit(0)
        assert ours.recv() == "ready"
    try:
        assert lock.is_held
        refusal(folder)  # what the child has done to its copy counts for nothing
        fcntl.flock(lock._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # still its own
        fcntl.flock(lock._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(lock._descriptor)  # as when this process dies
        lock._descriptor = -1
        take(folder)
    finally:
        ours.send("end")
        os.waitpid(number, 0) if way == "os.fork" else child.join()


FORKING = HOLD.replace(
    'print("held"',
    "import multiprocessing, time\n"
    "child = multiprocessing.get_context('fork').Process(target=time.sleep, args=(60,))\n"
    'child.start()\nprint(child.pid, flush=True)\nprint("held"',
)


def test_a_killed_writer_whose_children_live_leaves_no_lock(folder):
    with holding(folder, FORKING) as (process, child):
        assert process.stdout.readline() == "held\n"
        process.kill()
        process.wait()
        os.kill(int(child), 0)
        take(folder)
        os.kill(int(child), signal.SIGKILL)


def test_a_copied_folder_is_free(folder, tmp_path):
    lock = FolderLock.acquire(folder)
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / LOCK_FILE).write_bytes((folder / LOCK_FILE).read_bytes())
    take(copy)
    lock.release()


def test_a_lock_file_that_somebody_has_removed_is_no_harm(folder):
    lock = FolderLock.acquire(folder)
    (folder / LOCK_FILE).unlink()
    other = FolderLock.acquire(folder)
    lock.release()
    assert (folder / LOCK_FILE).exists(), "it was the other's"
    other.release()
    assert not list(folder.iterdir())


@pytest.mark.parametrize("content", [b"", b"torn {", b"[]", b'{"process": 1}', b"\xff\0", b"null"])
def test_a_file_that_names_nobody_is_taken(folder, content):
    folder.mkdir(parents=True)
    (folder / LOCK_FILE).write_bytes(content)
    take(folder)


def test_a_folder_that_cannot_be_used_is_named_with_the_reason(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(
        InputError, match=r"output.folder = '.*file/out' cannot be made or written to \(.*file is a file\)"
    ):
        FolderLock.acquire(tmp_path / "file" / "out")
    with pytest.raises(InputError, match="cannot be made or written to"):
        FolderLock.acquire("nul\0byte")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def someone(**changes):
    """Return the text of the lock of a process that cannot be seen from here."""
    other = {"process": 4711, "host": "node7", "boot": "another", "since": "2026-01-02T03:04:05+00:00"}
    return json.dumps(json.loads(Owner.me().text()) | other | changes).encode()


def test_where_the_file_system_hands_locks_on_a_free_one_is_one(folder, monkeypatch):
    monkeypatch.setattr(folder_lock, "hands_locks_on", lambda _: True)
    folder.mkdir(parents=True)
    (folder / LOCK_FILE).write_bytes(someone())
    take(folder)


def test_elsewhere_the_user_decides(folder, monkeypatch):
    monkeypatch.setattr(folder_lock, "hands_locks_on", lambda _: False)
    folder.mkdir(parents=True)
    (folder / LOCK_FILE).write_bytes(someone())
    (folder / "series.csv").touch()
    text = refusal(folder)
    assert "(process 4711 of " in text
    assert " on node7) has been writing here since 2026-01-02 03:04, and this machine cannot see whether" in text
    assert "; the last file here is of " in text
    assert f" today. If it has ended, remove {folder / LOCK_FILE}; --set" in text
    (folder / LOCK_FILE).unlink()
    take(folder)


@pytest.fixture
def no_kernel_locks(monkeypatch):
    def flock(descriptor, operation):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)


NO_LOCKS = HOLD.replace(
    "import sys\n",
    "import errno, fcntl, sys\n"
    "def flock(*_): raise OSError(errno.ENOLCK, 'none')\n"
    "fcntl.flock = flock\n",
    1,
)  # fmt: skip


@pytest.mark.usefixtures("no_kernel_locks")
class TestWithoutKernelLocks:
    """As on some network file systems: the process that the file names decides."""

    def test_alive(self, folder):
        with holding(folder, NO_LOCKS) as (process, said):
            assert said == "held"
            assert f"(process {process.pid} of " in refusal(folder)
        take(folder)

    def test_killed(self, folder):
        with holding(folder, NO_LOCKS) as (process, _):
            process.kill()
            process.wait()
            take(folder)

    def test_a_process_of_the_same_number_is_another(self, folder):
        folder.mkdir(parents=True)
        here = json.loads(Owner.me().text())
        (folder / LOCK_FILE).write_bytes(json.dumps(here | {"started": here["started"] - 1}).encode())
        take(folder)

    @pytest.mark.parametrize("change", [{}, {"namespace": "pid:[1]", "boot": processes.boot(), "host": "box"}])
    def test_what_cannot_be_seen_is_told(self, folder, change):
        folder.mkdir(parents=True)
        (folder / LOCK_FILE).write_bytes(someone(**change))
        assert "(process 4711 of " in refusal(folder)

    def test_threads_that_begin_at_the_same_time(self, folder, monkeypatch):
        test_threads_that_begin_at_the_same_time(folder, monkeypatch)
