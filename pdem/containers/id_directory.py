"""A distributed table from ids to numbers: each rank stores a part of the ids, independent of the particles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pdem.containers.group import Group
    from pdem.foundation.array_types import Integers

IDS_TOGETHER = 1024
"""Number of consecutive ids on one rank: requests often concern ids that are near each other."""


class IdDirectory:
    """A number for each id, which any rank can set and any rank can find. Collective.

    Parameters
    ----------
    over : Group
        The ranks.
    ids, numbers : (n,) int64 arrays
        Ids of this rank and their numbers; no id may occur twice.
    """

    def __init__(self, over: Group, ids: Integers, numbers: Integers) -> None:
        self._over = over
        mine = over.route({"id": ids, "number": numbers}, self._home(ids))
        order = np.argsort(mine["id"])
        self._ids, self._numbers = mine["id"][order], mine["number"][order]

    def _home(self, ids: Integers) -> Integers:
        """Return the rank that stores each id."""
        return ids // IDS_TOGETHER % self._over.size

    def find(self, ids: Integers) -> Integers:
        """Return the number of each id (n,), -1 for ids that no rank has set. Collective."""
        asked, places = np.unique(ids, return_inverse=True)
        here = np.full(len(asked), self._over.rank)
        questions = self._over.route({"id": asked, "rank": here}, self._home(asked))
        found = np.full(len(questions["id"]), -1)
        if len(self._ids):
            at = np.minimum(np.searchsorted(self._ids, questions["id"]), len(self._ids) - 1)
            found = np.where(self._ids[at] == questions["id"], self._numbers[at], -1)
        answers = self._over.route({"id": questions["id"], "number": found}, questions["rank"])
        return answers["number"][np.argsort(answers["id"])][places]
