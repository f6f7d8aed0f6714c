"""Disks without room, for tests that need no rights: a limit of file sizes, or so many more bytes for this process."""

from __future__ import annotations

import errno
import os
import resource
from contextlib import contextmanager


@contextmanager
def largest_file(limit):
    """Let no file of this process become larger than so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class Disk:
    """A disk that `os.pwrite` writes to as long as it has room: files may grow by `room` bytes in all.

    A write for which there is room in part writes that part, as a real one does.
    """

    def __init__(self, monkeypatch, room):
        self.room = room
        self._write = os.pwrite
        monkeypatch.setattr(os, "pwrite", self._pwrite)

    def _pwrite(self, descriptor, data, place):
        data = memoryview(data).cast("B")
        end = os.fstat(descriptor).st_size
        fits = max(end, place) + self.room - place
        if fits <= 0 < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self._write(descriptor, data[:fits], place)
        self.room -= max(place + written - max(end, place), 0)
        return written


@contextmanager
def failing(kind=OSError):
    """Yield a list that afterwards has the text of the error of this kind, if there was one."""
    found = []
    try:
        yield found
    except kind as error:
        found.append(str(error))
