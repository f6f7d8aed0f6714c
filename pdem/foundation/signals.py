"""Signals that ask a run to write a checkpoint and stop."""

from __future__ import annotations

import signal
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType

Result = TypeVar("Result")

# Ctrl-C, a batch system ending the job, its early warning, and a terminal or connection that is closed.
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP)


def signal_name(number: int) -> str:
    """Return the name of a signal for users: ``Ctrl-C``, ``signal SIGTERM``."""
    return "Ctrl-C" if number == signal.SIGINT else f"signal {signal.Signals(number).name}"


class _Stop(BaseException):
    """Aborts work before the first step; not an ``Exception``, because libraries catch such exceptions."""


class SignalFlag:
    """Record a stop signal, for the step loop to check between two steps.

    While this object is active as a context manager, the signals only set `requested`. A signal may reach only some
    ranks, or reach them at different steps: the step loop reduces `requested` over the ranks (maximum), so that all
    ranks stop together. A second Ctrl-C raises ``KeyboardInterrupt``: the user does not want to wait for a checkpoint.

    Attributes
    ----------
    requested : int
        Number of the signal received, 0 before any signal.
    """

    def __init__(self) -> None:
        self.requested = 0
        self._breaks = False
        self._previous: dict[int, object] = {}

    @property
    def name(self) -> str:
        """Name of the signal received, such as ``SIGTERM``; empty if there is none."""
        return signal.Signals(self.requested).name if self.requested else ""

    def unless_stopped(self, function: Callable[[], Result]) -> Result | None:
        """Call `function` and return its result; return None if a stop signal came before or comes during the call.

        For work before the first step, which may take long and leaves nothing to save.
        """
        with suppress(_Stop):
            try:
                self._breaks = True
                if not self.requested:
                    return function()
            finally:
                self._breaks = False
        return None

    def __enter__(self) -> SignalFlag:
        for number in STOP_SIGNALS:
            if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                continue  # as under nohup: the run must outlive its terminal
            try:
                self._previous[number] = signal.signal(number, self._remember)
            except ValueError:  # not in the main thread, where Python allows no handlers: the caller handles signals
                break
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, previous in self._previous.items():
            signal.signal(number, previous)  # type: ignore[arg-type]
        self._previous.clear()

    def _remember(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT and self.requested == number:
            raise KeyboardInterrupt
        self.requested = number
        if self._breaks:
            self._breaks = False
            raise _Stop
