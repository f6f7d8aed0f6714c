"""Room on a disk is made sure of before a write, and is not looked for more often than needed."""

from __future__ import annotations

import errno
import os
import resource

import pytest

from pdem.output import storage


@pytest.fixture
def tried(monkeypatch):
    """Return the lengths for which room is tried from now on; what is above `most` finds none."""
    lengths, real = [], os.posix_fallocate

    def fallocate(descriptor, begin, length):
        lengths.append(length)
        if length > tried.most:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor, begin, length)

    tried = type("Tried", (), {"lengths": lengths, "most": 1 << 40})
    monkeypatch.setattr(os, "posix_fallocate", fallocate)
    monkeypatch.setattr(storage, "_found", {})
    return tried


def test_room_is_tried_for_several_writes_at_once(tried, tmp_path):
    for _ in range(100):
        storage.reserve(tmp_path, 1000)
    assert 0 < len(tried.lengths) <= 5
    assert sum(tried.lengths) > 100 * 1000


def test_a_larger_write_than_there_was_room_for_is_tried(tried, tmp_path):
    storage.reserve(tmp_path, 1000)
    storage.reserve(tmp_path, 1 << 26)
    assert tried.lengths[-1] > 1 << 26


def test_where_there_is_little_room_each_write_is_tried(tried, tmp_path):
    tried.most = 100_000
    for _ in range(5):
        storage.reserve(tmp_path, 10_000)
    assert sum(10_000 < length <= tried.most for length in tried.lengths) == 5
    tried.most = 9_999
    with pytest.raises(OSError, match="No space left"):
        storage.reserve(tmp_path, 10_000)


def test_another_limit_of_file_sizes_is_found_out(tried, tmp_path):
    storage.reserve(tmp_path, 1000)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, before[1]))
    try:
        number = len(tried.lengths)
        storage.reserve(tmp_path, 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert len(tried.lengths) == number + 1


def test_nothing_is_left_behind(tried, tmp_path):
    storage.reserve(tmp_path, 1000)
    assert not list(tmp_path.iterdir())
