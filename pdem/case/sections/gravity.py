"""Section of the case file for gravity by a table."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pdem.case.sections.base import Name, Positive, Section, Vector, entry

Times = Annotated[tuple[float, ...], Field(strict=False, min_length=2)]
Accelerations = Annotated[tuple[Vector, ...], Field(strict=False, min_length=2)]


class GravityTable(Section):
    """``gravity_table``: gravity against time, linear between its times, constant before and after."""

    times: Times | None = entry(
        "Times in increasing order, in s; in a stage they are counted from its beginning.", default=None, unit="s"
    )
    values: Accelerations | None = entry("Acceleration at each of the times, in m/s^2.", default=None, unit="m/s^2")
    file: Name | None = entry(
        "In place of `times` and `values`: a text file with columns time, x, y, z, relative to the folder of the case.",
        default=None,
    )
    every: Positive | None = entry(
        "Interval at which gravity is updated, in s, by default 20 time steps. Its value is that of the table in "
        "the middle of the interval and stays constant within it, so that energy is conserved there.",
        default=None,
        unit="s",
    )
