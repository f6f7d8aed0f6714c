"""What a folder holds, and whether it can be written to, without a run."""

from __future__ import annotations

import os
import time

import pytest

from pdem.foundation.errors import InputError
from pdem.output.checkpoints.checkpoint import write_checkpoint
from pdem.output.run_folder import find_run, folder_problem, remove_run, require_folder, time_of_day


def test_a_folder_without_permission_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    assert folder_problem(tmp_path / "a" / "b") == f"nothing may be written into {tmp_path}"
    with pytest.raises(InputError, match="nothing may be written"):
        require_folder(tmp_path)


def test_a_name_that_is_none_is_told(tmp_path):
    assert "null" in folder_problem("a\0b")
    assert folder_problem(tmp_path / "a" / "b") == ""


def test_the_newest_checkpoint_tells_how_far_a_run_came(tmp_path):
    assert find_run(tmp_path / "none") is None
    (tmp_path / "notes.txt").touch()
    assert find_run(tmp_path) is None
    for step in (999999999, 1000000000):  # not by the order of the names
        write_checkpoint(tmp_path / f"checkpoint-{step:09d}.h5", {}, {"time": step * 1e-9})
    held = find_run(tmp_path)
    assert (held.checkpoint.name, held.time) == ("checkpoint-1000000000.h5", 1.0)
    (tmp_path / "checkpoint-1000000000.h5").write_bytes(b"torn")
    assert str(find_run(tmp_path)).startswith(f"{tmp_path} holds a run (checkpoint-1000000000.h5, ")
    remove_run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_time_of_day_has_a_date_unless_it_is_of_today():
    assert time_of_day(time.time()).endswith(" today")
    assert time_of_day(time.time() - 10 * 86400).count("-") == 2
