"""Random decisions by which cases are put together."""

from __future__ import annotations

from typing import Any

import numpy as np


class Choices:
    """Decisions that follow from a seed, one after the other."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def _has(self, share: float) -> bool:
        """Decide for something with a probability."""
        return bool(self._random.random() < share)

    def _one_of(self, choices: Any) -> Any:
        """Return one of these, each as likely as any other."""
        return choices[self._random.integers(len(choices))]
