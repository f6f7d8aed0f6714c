"""Writing to a terminal that may be gone: a closed window, pipe or stream must not end a run, whose log has it all."""

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
    """Standard output or error as it is when something is written; what nobody takes is dropped.

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
        """How text is written as bytes."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        """Write some text, as far as it is taken; return its length."""
        with suppress(ValueError):  # the stream was closed
            try:
                if self._stream is not None:
                    self._stream.write(text)
            except OSError:
                lead_nowhere(self._stream)
        return len(text)

    def flush(self) -> None:
        """Write what is buffered, as far as it is taken."""
        with suppress(ValueError):
            try:
                if self._stream is not None:
                    self._stream.flush()
            except OSError:
                lead_nowhere(self._stream)

    def line(self, text: str) -> None:
        """Write a line at once, in one piece: what ranks write at the same time is interleaved."""
        self.write(f"{text}\n")
        self.flush()

    def isatty(self) -> bool:
        """Return whether somebody sees at once what is written."""
        with suppress(ValueError):
            return self._stream is not None and self._stream.isatty()
        return False

    def fileno(self) -> int:
        """Return the number of the stream.

        Raises
        ------
        OSError
            If there is none.
        """
        if self._stream is None:
            raise OSError(f"{self._name} is closed")
        return self._stream.fileno()


OUTPUT, ERRORS = Terminal("stdout"), Terminal("stderr")


def lead_nowhere(stream: TextIO | None) -> None:
    """Drop what a stream still holds; lead it nowhere if nobody reads it any more: a full disk may have room later."""
    if stream is None:
        return
    try:
        os.write(stream.fileno(), b"")  # takes nothing, and fails where a terminal or pipe is closed
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
    """Lead standard streams that this process was started without nowhere.

    Otherwise the next file that is opened, of results maybe, would get the number of the stream, and what libraries
    write to that.
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
    """Let this process end with the exit code of its command, also where its streams are closed or full by then."""
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
