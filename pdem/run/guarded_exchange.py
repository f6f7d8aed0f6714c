"""Collective calls from a user's function: ranks agree on each call before they make it.

Without this agreement, a function that fails on one rank, or makes different collective calls on different ranks, would
leave ranks waiting for each other forever, or mix up their messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.engine.named_events import name_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from pdem.containers.exchange import Exchange

COLLECTIVE = (
    "add", "agree", "before", "begin_update", "collect", "divide", "finish_update", "first", "in_order", "known_ids",
    "largest", "make_ghosts", "migrate", "near", "owners", "rebalance", "route", "share",
)  # fmt: skip
"""Methods of `pdem.containers.exchange.Exchange` that all ranks must call together."""

END = "the end"


class RanksPart(BaseException):
    """Leaves a user's function on this rank after disagreement of the ranks; not caught by ``except Exception``."""


class GuardedExchange:
    """An exchange with agreement of the ranks before each collective call.

    Parameters
    ----------
    exchange : Exchange
        The wrapped exchange.

    Attributes
    ----------
    parted : str
        Why the ranks disagreed; empty as long as they agree.
    """

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.parted = ""

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the exchange; collective methods are guarded."""
        value = getattr(self.exchange, name)
        return self._guarded(name, value) if name in COLLECTIVE else value

    def _guarded(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.agree(name)
            return method(*arguments, **named)

        return call

    def agree(self, name: str, *, failed: bool = False) -> None:
        """Check together with the other ranks that all are about to call `name`. Collective.

        Parameters
        ----------
        name : str
            Name of the method, or `END` at the end of the function.
        failed : bool
            Whether the function failed on this rank.

        Raises
        ------
        RanksPart
            If the function failed on another rank, or ranks are about to call different methods; also at any later
            call.
        """
        if self.parted:
            if failed:
                return
            raise RanksPart
        code = name_key(name) >> 1
        found = self.exchange.largest(np.array([failed, code, -code], np.int64))
        if found[0]:
            self.parted = "the function failed on another rank"
        elif found[1] != -found[2]:
            self.parted = f"ranks differ in what they ask of each other ({self._differences(name)})"
        if self.parted and not failed:
            raise RanksPart

    def _differences(self, name: str) -> str:
        """Return text about the calls of rank 0 and of the first rank with a different call. Collective."""
        first = self.exchange.share(name)
        rank, other = self.exchange.first((self.exchange.rank, name) if name != first else None)
        texts = [f"rank {number} {_said(what)}" for number, what in ((0, first), (rank, other))]
        return ", ".join(texts)


def _said(name: str) -> str:
    return "is at the end of the function" if name == END else f"calls a function that needs all ranks ({name})"
