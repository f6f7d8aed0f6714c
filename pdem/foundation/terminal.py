"""Writing to a terminal that may be gone: a closed window or connection must not end a run without a checkpoint."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO


@contextmanager
def to_terminal() -> Iterator[None]:
    """Do something that writes to standard output or error; what cannot be written from now on goes nowhere."""
    try:
        yield
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        for stream in (sys.stdout, sys.stderr):
            _forget_if_closed(stream)


def _forget_if_closed(stream: TextIO) -> None:
    """Lead a stream that cannot be written to nowhere, with what it still holds."""
    try:
        stream.flush()
        os.write(stream.fileno(), b"")
    except (OSError, ValueError):  # of the second kind: a stream that is no file
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
            stream.flush()
