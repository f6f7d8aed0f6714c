"""The share of a worker in a number of equal items."""

from __future__ import annotations

from pdem.numerics.kernels import inlined


@inlined
def share_of(worker: int, workers: int, items: int) -> tuple[int, int]:
    """Return the first item of a worker and the index after its last item; all shares are about equal."""
    return worker * items // workers, (worker + 1) * items // workers
