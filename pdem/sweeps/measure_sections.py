"""``[measures.NAME]`` of a sweep: numbers evaluated from the results of each run."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from pdem.case.python_files import FROM_FILE
from pdem.case.sections.base import BRANCH, Name, NotNegative, Positive, Section, Vector, entry
from pdem.case.sections.particles import Region


def _direction(vector: tuple[float, float, float]) -> tuple[float, float, float]:
    if not math.hypot(*vector) > 0.0:
        raise PydanticCustomError("direction", "is not a direction; give a vector of non-zero length")
    return vector


def _rising(shares: tuple[float, float]) -> tuple[float, float]:
    if not shares[0] < shares[1]:
        raise PydanticCustomError("rising", "must rise, as [0.2, 0.8] does")
    return shares


class Measured(NamedTuple):
    """A number with its unit.

    Attributes
    ----------
    unit : str
        SI, ``"1"`` without dimension.
    value : float
        The number; NaN if it cannot be determined.
    remarks : tuple of str
        Why there is no number, or why it is doubtful: ``"fact: details; remedy"``. Empty if the number is good.
    is_detail : bool
        Whether it only describes a different number, such as its error; it then appears only in the table of runs.
    """

    unit: str
    value: float
    remarks: tuple[str, ...] = ()
    is_detail: bool = False


class Window(Section):
    """The part of a run that counts, by default all of it."""

    stage: Name | None = entry(
        "Name of a stage: measure only during this stage; `start` and `end` are counted from its beginning.",
        default=None,
    )
    start: NotNegative | None = entry("First time of the measure, in s.", default=None, unit="s")
    end: Positive | None = entry("Last time of the measure, in s.", default=None, unit="s")

    @model_validator(mode="after")
    def _in_order(self) -> Window:
        if self.start is not None and self.end is not None and not self.start < self.end:
            raise PydanticCustomError("window", "needs start below end")
        return self


class DischargeRate(Window):
    """``kind = "discharge-rate"``: mass per time that passes a sensor (kg/s), by least squares."""

    branch: ClassVar[str] = f"{BRANCH}discharge-rate"
    kind: Literal["discharge-rate"]
    sensor: Name = entry("Name of a sensor with a plane or face, or of one that removes particles.")
    shares: Annotated[
        tuple[Annotated[float, Field(ge=0.0, lt=1.0)], Annotated[float, Field(gt=0.0, le=1.0)]],
        Field(strict=False),
        AfterValidator(_rising),
    ] = entry(
        "Measure from the first to the second fraction of the total mass, without beginning and end of the flow; in "
        "rising order.",
        default=(0.2, 0.8),
    )


class AngleOfRepose(Section):
    """``kind = "angle-of-repose"``: slope of the flank of a heap at rest (degrees).

    A cone is fitted to the surface between 20 and 80 % of its height. Along a periodic side a heap is a ridge.
    """

    branch: ClassVar[str] = f"{BRANCH}angle-of-repose"
    kind: Literal["angle-of-repose"]
    centre: Annotated[tuple[float, float], Field(strict=False)] | None = entry(
        "Axis of the heap, in m: its two horizontal coordinates in the order of x, y, z; by default it is fitted.",
        default=None,
        unit="m",
    )
    radius: Positive | None = entry(
        "Use only the surface nearer to the axis than this, in m; by default all of the heap.", default=None, unit="m"
    )
    region: Region | None = entry(
        "Use only grains in a box, cylinder or ball, for example without those in a hopper above the heap.",
        default=None,
    )
    time: NotNegative | None = entry("Time of the snapshot, in s; by default the last.", default=None, unit="s")


class DynamicAngle(Window):
    """``kind = "dynamic-angle-of-repose"``: slope of the bed in a rotating drum (degrees), averaged over snapshots.

    A line is fitted to the middle of the free surface, in the plane across the axis; the last half unless given.
    """

    branch: ClassVar[str] = f"{BRANCH}dynamic-angle-of-repose"
    kind: Literal["dynamic-angle-of-repose"]
    wall: Name = entry("Name of the drum, whose axis is horizontal.")
    share: Annotated[float, Field(gt=0.0, le=1.0)] = entry(
        "Fraction of the surface from wall to wall, about its middle, that is used.", default=0.5
    )


class MixingTime(Window):
    """``kind = "mixing-time"``: time (s) until Lacey's index of a sensor reaches a level for the first time."""

    branch: ClassVar[str] = f"{BRANCH}mixing-time"
    kind: Literal["mixing-time"]
    sensor: Name = entry("Name of a sensor with `mixing`.")
    level: Annotated[float, Field(gt=0.0, le=1.0)] = entry(
        "Level of the index: 0 is unmixed, 1 mixed at random.", default=0.9
    )


class Torque(Window):
    """``kind = "torque"``: mean torque (N m) that turns a wall against the particles; the last half unless given."""

    branch: ClassVar[str] = f"{BRANCH}torque"
    kind: Literal["torque"]
    wall: Name = entry("Name of the wall.")
    axis: Annotated[Vector, AfterValidator(_direction)] | None = entry(
        "Direction of the component; by default that of the wall's rotation, without one the length of the mean.",
        default=None,
    )


class Power(Window):
    """``kind = "power"``: mean power (W) that a wall delivers to the particles; the last half unless given."""

    branch: ClassVar[str] = f"{BRANCH}power"
    kind: Literal["power"]
    wall: Name = entry("Name of the wall.")


class ColumnOfSeries(Window):
    """``kind = "column"``: a statistic of a column of the series."""

    branch: ClassVar[str] = f"{BRANCH}column"
    kind: Literal["column"]
    column: Name = entry("Name of the column; `pdem plot OUTPUT --list` shows all.")
    statistic: Literal["mean", "last", "largest", "smallest", "slope", "deviation"] = entry(
        '`"mean"`, `"last"`, `"largest"`, `"smallest"`, `"slope"` (per s), or `"deviation"` (standard).', default="mean"
    )


class OwnMeasure(Section):
    """``kind = "python:FILE.py:NAME"``: a function of `pdem.Results`, in a file beside the case.

    It returns a number, ``(unit, number)``, or a mapping of names to these.
    """

    branch: ClassVar[str] = f"{BRANCH}python"
    kind: Annotated[str, Field(pattern=r"^python:[^:]+:[A-Za-z_]\w*$")]


def _branch_of(value: Any) -> str:
    kind = value.get("kind", "") if isinstance(value, dict) else getattr(value, "kind", "")
    return f"{BRANCH}python" if str(kind).startswith(FROM_FILE) else f"{BRANCH}{kind}"


Measure = Annotated[
    Annotated[DischargeRate, Tag(DischargeRate.branch)]
    | Annotated[AngleOfRepose, Tag(AngleOfRepose.branch)]
    | Annotated[DynamicAngle, Tag(DynamicAngle.branch)]
    | Annotated[MixingTime, Tag(MixingTime.branch)]
    | Annotated[Torque, Tag(Torque.branch)]
    | Annotated[Power, Tag(Power.branch)]
    | Annotated[ColumnOfSeries, Tag(ColumnOfSeries.branch)]
    | Annotated[OwnMeasure, Tag(OwnMeasure.branch)],
    Discriminator(_branch_of),
]
"""A measure; `kind` decides on its class."""
