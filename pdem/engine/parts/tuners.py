"""Tuners: they choose settings during a run that change its speed, but no result."""

from __future__ import annotations

from pdem.engine.tuning.chunk_tuner import ChunkTuner
from pdem.engine.tuning.skin_tuner import SkinTuner
from pdem.engine.tuning.thread_tuner import ThreadTuner
from pdem.numerics.thread_pool import threads


class Tuners:
    """The tuners of a rank. `pdem.engine.step` asks them when lists are made; no result depends on them.

    Attributes
    ----------
    skin : SkinTuner or None
        Chooses the skin, None if the case sets it.
    chunks : ChunkTuner
        Chooses the chunk size.
    threads : ThreadTuner
        Chooses the number of running threads.
    """

    def __init__(self) -> None:
        self.skin: SkinTuner | None = None
        self.chunks, self.threads = ChunkTuner(), ThreadTuner(threads())

    def start(self, step: int, fraction: float | None) -> None:
        """Start at a step, with the present skin over the radius, None if the skin is fixed."""
        self.chunks.start(step)
        self.threads.start(step)
        if fraction is not None:
            self.skin = SkinTuner(fraction)
            self.skin.start(step)

    def fix_skin(self) -> None:
        """Stop tuning the skin."""
        self.skin = None
