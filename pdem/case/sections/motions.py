"""Sections of the case file for the motion of walls, from which `pdem.case.wall_motions` makes motions.

A new kind of motion is a section here that returns its courses, and a key in `MovingFrame`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from pdem.case.sections.base import Name, Section, Vector, entry
from pdem.case.sections.units import Angle, Angles, AngularRate, Frequency, InRpm, Values
from pdem.case.time_tables import read_table
from pdem.motion.courses import Oscillating, Steady, TabulatedCourse

if TYPE_CHECKING:
    from pdem.motion.courses import Course

Vectors = Annotated[tuple[Vector, ...], Field(strict=False, min_length=2)]


class MotionKind(Section, ABC):
    """A kind of motion."""

    values_key: ClassVar[str] = ""
    """Key of the values of a table against time; empty for other kinds."""

    @abstractmethod
    def courses(self, folder: Path) -> tuple[Course, ...]:
        """Return the course of the angle [rad] of a rotation, or the courses of the displacements along x, y, z [m].

        Parameters
        ----------
        folder : Path
            Folder of the case, to which files of tables are relative.

        Raises
        ------
        CaseError
            If a file of a table cannot be used.
        """


class Axis(Section):
    """An axis, at time 0."""

    axis: Vector = entry(
        "Direction of the axis, a vector of any length but zero; the rotation is right-handed about it."
    )
    centre: Vector = entry("A point on the axis, in m.", default=(0.0, 0.0, 0.0), unit="m")


class SteadyTurn(Section):
    """A constant rate of rotation."""

    rate: AngularRate = entry(
        "Rate of rotation in rad/s, or `{rpm = 20}` in revolutions per minute.", unit="rad/s", follows=True
    )
    rpm: float | None = entry(
        "In place of `rate`: revolutions per minute; the case then holds `rpm * pi / 30` as `rate`.",
        default=None,
        unit="rpm",
    )

    @model_validator(mode="before")
    @classmethod
    def _rate_in_rpm(cls, table: Any) -> Any:
        if not isinstance(table, dict) or table.get("rpm") is None:
            return table
        if table.get("rate") is not None:
            raise PydanticCustomError("two_rates", "has both rate and rpm; keep one of them")
        rest = {key: value for key, value in table.items() if key != "rpm"}
        return {**rest, "rate": {InRpm.unit: table["rpm"]}}


class RotationKind(Axis, MotionKind):
    """A kind of rotation about an axis; all other kinds are translations."""


class Rotation(SteadyTurn, RotationKind):
    """``rotation``: rotation at a constant rate, ``{rate = 2.0, axis = [0, 0, 1]}`` or ``{rpm = 20, axis = ...}``."""

    def courses(self, folder: Path) -> tuple[Course, ...]:
        """Return the course of the angle."""
        return (Steady(self.rate),)


class Swing(RotationKind):
    """``swing``: oscillating rotation, by ``amplitude (sin(2 pi frequency t + phase) - sin phase)``."""

    amplitude: Angle = entry("Amplitude in rad, or `{degrees = 5}`.", unit="rad")
    frequency: Frequency = entry("Frequency in Hz, or `{rpm = 300}` for 5 Hz.", unit="Hz")
    phase: Angle = entry("Phase at time 0 in rad, or `{degrees = 90}`.", default=0.0, unit="rad")

    def courses(self, folder: Path) -> tuple[Course, ...]:
        """Return the course of the angle."""
        return (Oscillating(self.amplitude, self.frequency, self.phase),)


class RotationTable(RotationKind):
    """``rotation_table``: rotation by a table of angles, linear between its times."""

    values_key: ClassVar[str] = "angles"
    times: Values | None = entry(
        "Times in increasing order, in s; no rotation before the first and after the last.", default=None, unit="s"
    )
    angles: Angles | None = entry(
        "Angles in rad, or `{degrees = [0, 90]}`; the mesh in the file has the angle of time 0.",
        default=None,
        unit="rad",
    )
    file: Name | None = entry(
        "In place of the two lists: a text file with a column for each (s, rad), relative to the folder of the case.",
        default=None,
    )

    def courses(self, folder: Path) -> tuple[Course, ...]:
        """Return the course of the angle."""
        times, angles = self.times or (), self.angles or ()
        if self.file is not None:
            times, rows = read_table(folder / self.file, ("angle",))
            angles = tuple(row[0] for row in rows)
        return (TabulatedCourse(times, angles),)


class Translation(MotionKind):
    """``translation``: translation at constant velocity."""

    velocity: Vector = entry("Velocity in m/s.", unit="m/s")

    def courses(self, folder: Path) -> tuple[Course, ...]:
        """Return the courses of x, y and z."""
        return tuple(Steady(rate) for rate in self.velocity)


class Oscillation(MotionKind):
    """``oscillation``: oscillating translation, by ``amplitude (sin(2 pi frequency t + phase) - sin phase)``."""

    amplitude: Vector = entry("Amplitude in m.", unit="m")
    frequency: Frequency = entry("Frequency in Hz, or `{rpm = 900}` for 15 Hz.", unit="Hz")
    phase: Angle = entry("Phase at time 0 in rad, or `{degrees = 90}`.", default=0.0, unit="rad")

    def courses(self, folder: Path) -> tuple[Course, ...]:
        """Return the courses of x, y and z."""
        return tuple(Oscillating(amplitude, self.frequency, self.phase) for amplitude in self.amplitude)


class TranslationTable(MotionKind):
    """``translation_table``: translation by a table of displacements, linear between its times."""

    values_key: ClassVar[str] = "displacements"
    times: Values | None = entry(
        "Times in increasing order, in s; no translation before the first and after the last.", default=None, unit="s"
    )
    displacements: Vectors | None = entry(
        "Displacements in m; the mesh in the file has the displacement of time 0.", default=None, unit="m"
    )
    file: Name | None = entry(
        "In place of `times` and `values`: a text file with columns time, x, y, z, relative to the folder of the case.",
        default=None,
    )

    def courses(self, folder: Path) -> tuple[Course, ...]:
        """Return the courses of x, y and z."""
        times: tuple[float, ...] = self.times or ()
        rows: tuple[tuple[float, ...], ...] = self.displacements or ()
        if self.file is not None:
            times, rows = read_table(folder / self.file, ("x", "y", "z"))
        return tuple(TabulatedCourse(times, values) for values in zip(*rows, strict=True))


class MovingFrame(Section):
    """A moving frame: ``[motions.NAME]``, which carries walls and further frames, and every wall.

    Rotations come first, then translations, which also move the axes. Axes and centres are those at time 0.
    """

    on: Name | None = entry("Name of the motion that carries this one.", default=None)
    stage: Name | None = entry(
        "Name of a stage: all times of the motion are counted from the beginning of that stage, and before it the "
        "wall is at rest.",
        default=None,
    )
    rotation: Rotation | None = entry(
        "Rotation at a constant rate. Of several rotations the table acts first, then the swing, then this one.",
        default=None,
    )
    swing: Swing | None = entry("Rotation to and fro about an axis.", default=None)
    rotation_table: RotationTable | None = entry(
        "Rotation by angles about an axis that are given at several times.", default=None
    )
    translation: Translation | None = entry("Motion at a constant velocity. Translations add up.", default=None)
    oscillation: Oscillation | None = entry("Motion to and fro along a line.", default=None)
    translation_table: TranslationTable | None = entry(
        "Motion by displacements that are given at several times.", default=None
    )

    def kinds(self) -> dict[str, MotionKind]:
        """Return the motions of the frame itself by key, in the order of the keys."""
        given = {key: getattr(self, key) for key in MOTION_KEYS}
        return {key: kind for key, kind in given.items() if isinstance(kind, MotionKind)}


MOTION_KEYS = tuple(MovingFrame.model_fields)
"""Keys of a moving frame: its carrier, its stage, and all kinds of motion."""
