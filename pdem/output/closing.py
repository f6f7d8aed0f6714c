"""What has to be closed at the end of a run, in its order, whatever fails, and also if nobody closes it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pdem.foundation.errors import PdemError

if TYPE_CHECKING:
    from collections.abc import Callable


class Closing:
    """Functions that close files, called once, by the process that has added them."""

    def __init__(self) -> None:
        self._parts: list[Callable[[], object]] = []
        self._last: list[Callable[[], object]] = []
        self._process = os.getpid()

    def add(self, close: Callable[[], object]) -> None:
        """Add a function, which is called after those that were added before."""
        self._parts.append(close)

    def add_last(self, close: Callable[[], object]) -> None:
        """Add a function that is called behind all others."""
        self._last.append(close)

    def close(self) -> None:
        """Close everything; a forked process has nothing to close.

        Raises
        ------
        OSError, RuntimeError, PdemError
            The first failure, when everything is closed.
        """
        parts, self._parts, self._last = [*self._parts, *self._last], [], []
        problems = []
        for close in parts if os.getpid() == self._process else ():
            try:
                close()
            except (OSError, RuntimeError, PdemError) as error:
                problems.append(error)
        if problems:
            raise problems[0]
