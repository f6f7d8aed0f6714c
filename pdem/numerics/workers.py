"""The part of many like things that a worker takes."""

from __future__ import annotations

from pdem.numerics.kernels import inlined


@inlined
def share_of(worker: int, workers: int, items: int) -> tuple[int, int]:
    """Return the first item of a worker, and the one behind its last; all take about as many."""
    return worker * items // workers, (worker + 1) * items // workers
