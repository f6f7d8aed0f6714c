"""Rules for directions and for tables against time, in any section."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.case.messages import Problem
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from pdem.case.sections.base import Section

    Location: TypeAlias = tuple[str | int, ...]


def direction_problems(axis: tuple[float, float, float], where: Location) -> Iterator[Problem]:
    """Yield a problem if a vector has no direction, because its length is zero or out of range."""
    if not 1e-150 < exact_math.hypot(*axis) < 1e150:
        yield Problem(where, "is not a direction; give a vector of moderate, non-zero length")


def table_problems(table: Section, values: str, where: Location) -> Iterator[Problem]:
    """Yield the problems of a table against time.

    Parameters
    ----------
    table : Section
        Section with the keys ``times``, ``file`` and the key of the values.
    values : str
        Key of the values.
    where : tuple of str or int
        Location of the table.
    """
    times, numbers, file = (getattr(table, key) for key in ("times", values, "file"))
    if file is not None:
        if times is not None or numbers is not None:
            yield Problem((*where, "file"), f"is not allowed together with times and {values}")
        return
    for key, given in (("times", times), (values, numbers)):
        if given is None:
            yield Problem((*where, key), f"is missing; give times and {values}, or a file")
    if times is None or numbers is None:
        return
    if len(times) != len(numbers):
        text = f"has {len(times)} entries and {values} {len(numbers)}; give one for each time"
        yield Problem((*where, "times"), text)
    falls = np.flatnonzero(np.diff(times) <= 0.0)
    if len(falls):
        text = f"must rise: {times[falls[0]]} is followed by {times[falls[0] + 1]}"
        yield Problem((*where, "times", int(falls[0]) + 1), text)
