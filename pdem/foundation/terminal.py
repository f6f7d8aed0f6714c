"""Output to a terminal that may be closed: a closed window, pipe or stream must not end a run; the log has it all."""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from pdem.foundation.files import NO_ROOM

if TYPE_CHECKING:
    from typing import TextIO

_STREAMS = {"stdin": 0, "stdout": 1, "stderr": 2}


class Terminal:
    """The present standard output or error of Python; text that cannot be written is dropped.

    Parameters
    ----------
    name : str
        ``stdout`` or ``stderr``.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def _stream(self) -> TextIO | None:
        stream: TextIO | None = getattr(sys, self._name)
        return stream

    @property
    def encoding(self) -> str:
        """Encoding of the stream."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        """Write a text, or drop it if the stream fails; return its length."""
        with suppress(ValueError):  # the stream was closed
            try:
                if self._stream is not None:
                    self._stream.write(text)
            except OSError:
                lead_nowhere(self._stream)
        return len(text)

    def flush(self) -> None:
        """Flush the buffer of the stream, or drop it if the stream fails."""
        with suppress(ValueError):
            try:
                if self._stream is not None:
                    self._stream.flush()
            except OSError:
                lead_nowhere(self._stream)

    def line(self, text: str) -> None:
        """Write a line and flush it in one piece, because ranks write at the same time."""
        self.write(f"{text}\n")
        self.flush()

    def isatty(self) -> bool:
        """Return whether the stream is an interactive terminal."""
        with suppress(ValueError):
            return self._stream is not None and self._stream.isatty()
        return False

    def fileno(self) -> int:
        """Return the file descriptor of the stream.

        Raises
        ------
        OSError
            If the stream is closed.
        """
        if self._stream is None:
            raise OSError(f"{self._name} is closed")
        return self._stream.fileno()


OUTPUT, ERRORS = Terminal("stdout"), Terminal("stderr")


def lead_nowhere(stream: TextIO | None) -> None:
    """Flush a stream, or drop its buffer and redirect it to the null device, only for now if the disk is full."""
    if stream is None:
        return
    try:
        os.write(stream.fileno(), b"")  # writes nothing, and fails if a terminal or pipe is closed
        stream.flush()
    except BlockingIOError:
        return
    except (OSError, ValueError) as error:
        with suppress(OSError, ValueError):
            number = stream.fileno()
            later = os.dup(number) if isinstance(error, OSError) and error.errno in NO_ROOM else -1
            _open_nowhere(number)
            stream.flush()
            if later >= 0:
                os.dup2(later, number)
                os.close(later)


def open_closed_streams() -> None:
    """Open standard streams that this process was started without, on the null device.

    Otherwise the next file that is opened, such as a file of results, would get the descriptor of the stream, and
    receive the text that libraries write to that stream.
    """
    for name, number in _STREAMS.items():
        try:
            os.fstat(number)
        except OSError:
            _open_nowhere(number)
        if getattr(sys, name) is None:
            mode = "r" if number == 0 else "w"
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def _open_nowhere(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere == number:
        os.set_inheritable(number, True)
    else:
        os.dup2(nowhere, number)
        os.close(nowhere)


def end_quietly() -> None:
    """Make this process end with the exit code of its command, even if its streams are closed or full at the end."""
    atexit.register(_flush_streams)


def _flush_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                _open_nowhere(stream.fileno())
                stream.flush()
