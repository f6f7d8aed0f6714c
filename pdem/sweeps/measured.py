"""A number that has been measured in a run, with what is to be said of it."""

from __future__ import annotations

from typing import NamedTuple


class Measured(NamedTuple):
    """A number with its unit.

    Attributes
    ----------
    unit : str
        SI, ``"1"`` without dimension.
    value : float
        NaN where there is none.
    remarks : tuple of str
        Why there is none, or what makes it doubtful: ``"fact: details; remedy"``. Empty if the number is good.
    is_detail : bool
        Whether it only describes another number, as its error does: it stands in the table of runs alone.
    """

    unit: str
    value: float
    remarks: tuple[str, ...] = ()
    is_detail: bool = False
