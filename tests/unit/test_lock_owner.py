"""Who has a lock, and which file systems hand locks on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pdem.foundation import processes
from pdem.output import lock_owner
from pdem.output.lock_owner import Owner, hands_locks_on

MOUNTS = """22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
30 22 0:26 / /home rw - nfs4 server:/home rw,vers=4.2,local_lock=none
31 22 0:27 / /old rw - nfs server:/old rw,vers=3,nolock,local_lock=all
32 22 0:28 / /work rw - lustre mds:/work rw,flock
33 22 0:29 / /local rw - lustre mds:/work rw,localflock
34 22 0:30 / /far rw - fuse.sshfs host:/far rw
35 22 0:31 / /with\\040space rw - tmpfs none rw
36 22 0:32 / /bee rw - beegfs beegfs_nodev rw
37 30 0:33 / /home/usb rw - ext4 /dev/sdb rw
"""


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("/var/x", True), ("/home/a/b", True), ("/homework", True), ("/old/x", False), ("/work", True),
        ("/local/x", False), ("/far/x", False), ("/with space/x", True), ("/bee/x", False), ("/home/usb/x", True),
    ],
)  # fmt: skip
def test_which_file_systems_hand_locks_on(folder, expected, tmp_path, monkeypatch):
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "mountinfo").write_text(MOUNTS)
    (tmp_path / "filesystems").write_text("nodev\tsysfs\nnodev\ttmpfs\n\text4\nnodev\tnfs\n")
    monkeypatch.setattr(lock_owner, "_PROC", tmp_path)
    assert hands_locks_on(Path(folder)) == expected
    (tmp_path / "self" / "mountinfo").unlink()
    assert not hands_locks_on(Path(folder)), "a system that does not tell"


def test_this_file_system_hands_locks_on(tmp_path):
    assert hands_locks_on(tmp_path)


def test_without_proc_a_process_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "_PROC", tmp_path)
    assert processes.state_of(os.getpid())[0] not in "ZXx"
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert processes.state_of(child.pid)[0] == "X"
    assert Owner.me().is_of_this_machine


def test_a_user_without_an_entry_has_a_number(monkeypatch):
    def unknown(number):
        raise KeyError(number)

    monkeypatch.setattr("pwd.getpwuid", unknown)
    assert Owner.me().user == f"user {os.getuid()}"
