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
    """Return a signal as a user knows it: ``Ctrl-C``, ``signal SIGTERM``."""
    return "Ctrl-C" if number == signal.SIGINT else f"signal {signal.Signals(number).name}"


class _Stop(BaseException):
    """Leaves work that is not worth waiting for; no ``Exception``, because libraries catch those."""


class SignalFlag:
    """Remember that a stop signal came, for the step loop to ask between two steps.

    While it is entered as a context, the signals only set `requested`. Not every rank need get the signal,
    and not at the same step: the step loop reduces `requested` over the ranks (maximum), so that all stop
    together. A second Ctrl-C raises ``KeyboardInterrupt``: the user does not want to wait for the checkpoint.

    Attributes
    ----------
    requested : int
        Number of the signal that came, 0 as long as none did.
    """

    def __init__(self) -> None:
        self.requested = 0
        self._breaks = False
        self._previous: dict[int, object] = {}

    @property
    def name(self) -> str:
        """Name of the signal that came, such as ``SIGTERM``; empty if none did."""
        return signal.Signals(self.requested).name if self.requested else ""

    def unless_stopped(self, function: Callable[[], Result]) -> Result | None:
        """Call `function` and return what it returns, or None as soon as a stop signal comes, or if one came.

        For work before the first step, which may be long and leaves nothing that would have to be kept.
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
                continue  # as under nohup: the run is to outlive its terminal
            try:
                self._previous[number] = signal.signal(number, self._remember)
            except ValueError:  # not in the main thread, where Python allows no handlers: the caller's business
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
