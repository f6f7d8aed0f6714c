"""Checks of new pairs by ids; all ranks raise the same error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.group import on_each_rank
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from pdem.containers.group import Group
    from pdem.foundation.array_types import Integers

    Two = tuple[Integers, Integers]


def check_pairs(name: str, over: Group, ids: Two, owners: Two) -> None:
    """Require that pairs join two different existing particles, lower id first, and occur once. Collective.

    Parameters
    ----------
    name : str
        Name of the table, for the message.
    over : Group
        The ranks.
    ids : tuple of (n,) int64 arrays
        Lower and higher ids of the pairs that this rank gives.
    owners : tuple of (n,) int64 arrays
        Ranks that own these particles, -1 if no rank does.

    Raises
    ------
    InputError
        On all ranks, if a pair violates these conditions.
    """
    on_each_rank(over, lambda: _check_own(name, ids, owners))
    # the rank that owns the lower particle checks for duplicates of a pair
    lower, higher = ids
    there = over.route({"lower": lower, "higher": higher}, owners[0])
    on_each_rank(over, lambda: _check_once(name, there["lower"], there["higher"]))


def _check_own(name: str, ids: Two, owners: Two) -> None:
    """Require that the pairs of this rank join two different existing particles, lower id first."""
    lower, higher = ids
    for pair in np.flatnonzero(lower == higher)[:1]:
        raise InputError(f"{name}: particle {lower[pair]} is paired with itself; give two different particles")
    for pair in np.flatnonzero(lower > higher)[:1]:
        raise InputError(f"{name}: the pair {lower[pair]}, {higher[pair]} has the higher id first; turn it round")
    for some, owner in zip(ids, owners, strict=True):
        for pair in np.flatnonzero(owner < 0)[:1]:
            raise InputError(
                f"{name}: there is no particle {some[pair]}, of the pair {lower[pair]}, {higher[pair]}; give ids of "
                "particles that exist"
            )


def _check_once(name: str, lower: Integers, higher: Integers) -> None:
    """Require that no pair occurs twice."""
    order = np.lexsort((higher, lower))
    first, second = lower[order], higher[order]
    for at in np.flatnonzero((first[1:] == first[:-1]) & (second[1:] == second[:-1]))[:1]:
        raise InputError(f"{name}: the pair {first[at]}, {second[at]} is there twice; give each pair once")
