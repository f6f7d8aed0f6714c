"""State of continuum fields in checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.engine.feature_set import StateTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pdem.features.fields.averages import FieldAverage

    Groups = Mapping[str, Mapping[str, NDArray[Any]]]

AVERAGES, CELLS = "field_averages", "field_sums"
"""Names of the groups of a checkpoint: a row for each average, and for each cell of each of its classes."""

TABLES = (StateTable(AVERAGES, observes=True), StateTable(CELLS, observes=True))
"""These groups, the same on every rank."""


def average_groups(averages: Sequence[FieldAverage]) -> dict[str, dict[str, NDArray[Any]]]:
    """Return the groups of a checkpoint for averages; the same on every rank."""
    if not averages:
        return {}
    begun = [one for one in averages if one.samples]
    width = averages[0].sums.shape[-1]
    rows = [one.sums.reshape(-1, width) for one in begun]
    return {
        AVERAGES: {
            "key": np.array([one.key for one in averages], np.int64),
            "samples": np.array([one.samples for one in averages], np.int64),
            "last": np.array([one.last for one in averages], np.int64),
            "lower": np.array([one.now.lower for one in averages]),
            "size": np.array([one.now.size for one in averages]),
        },
        CELLS: {
            "key": np.repeat(np.array([one.key for one in begun], np.int64), [len(row) for row in rows]),
            "sums": np.concatenate(rows or [np.zeros((0, width))]),
        },
    }  # fmt: skip


def load_averages(averages: Sequence[FieldAverage], step: int, groups: Groups) -> None:
    """Continue at a step with the averages of a checkpoint, by name; new averages, or with new cells, begin now."""
    stored, cells = groups.get(AVERAGES, {}), groups.get(CELLS, {})
    for one in averages:
        one.last = step
        row = np.flatnonzero(stored.get("key", np.zeros(0)) == one.key)
        if not len(row):
            continue
        mine = np.flatnonzero(cells["key"] == one.key)
        one.last = int(stored["last"][row[0]])
        same = cells["sums"].shape[-1] == one.sums.shape[-1]
        if same and len(mine) == len(one.sums) * one.grid.total:
            one.sums[:] = cells["sums"][mine].reshape(one.sums.shape)
            one.samples = int(stored["samples"][row[0]])
            if "size" in stored:  # earlier versions did not write it, and had no deforming boxes
                one.now = one.grid._replace(lower=stored["lower"][row[0]], size=stored["size"][row[0]])
