"""Section of the case file for gravity by a table."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pdem.case.base import Name, Positive, Section, Vector

Times = Annotated[tuple[float, ...], Field(strict=False, min_length=2)]
Accelerations = Annotated[tuple[Vector, ...], Field(strict=False, min_length=2)]


class GravityTable(Section):
    """``gravity_table``: gravity against time, linear between its times, constant before the first and after the last.

    Attributes
    ----------
    times : tuple of float
        Rising, in s; of a stage counted from its begin.
    values : tuple of vectors
        Acceleration at each, in m/s^2.
    file : str
        In place of both: a text file with columns time, x, y, z, relative to the folder of the case.
    every : float or None
        Interval at which gravity is set, in s, each time to what the table says for the middle of the interval; by
        default 20 time steps. In between it is constant, so that no energy is lost to the table.
    """

    times: Times | None = None
    values: Accelerations | None = None
    file: Name | None = None
    every: Positive | None = None
