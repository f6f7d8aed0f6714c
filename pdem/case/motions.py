"""How walls move, as a case says it; `pdem.case.wall_motions` makes motions of that.

One more kind is a section here that says its courses, and its key in `Moving`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from pdem.case.base import Name, Positive, Section, Vector
from pdem.case.tables import read_table
from pdem.motion.courses import Oscillating, Steady, Tabulated

if TYPE_CHECKING:
    from pdem.motion.courses import Course

Values = Annotated[tuple[float, ...], Field(strict=False, min_length=2)]
Vectors = Annotated[tuple[Vector, ...], Field(strict=False, min_length=2)]


class Kind(Section, ABC):
    """A way of moving."""

    @abstractmethod
    def courses(self, folder: Path) -> tuple[Course, ...]:
        """Return how the angle [rad] of what turns changes, else how the displacements along x, y, z do [m].

        Parameters
        ----------
        folder : Path
            In which files of tables are looked for.

        Raises
        ------
        CaseError
            If a file of a table cannot be used.
        """


class About(Section):
    """An axis, as it lies at time 0.

    Attributes
    ----------
    axis : tuple of 3 float
        Direction, of any length but zero; turning is right-handed about it.
    centre : tuple of 3 float
        A point on the axis, in m.
    """

    axis: Vector
    centre: Vector = (0.0, 0.0, 0.0)


class Turning(About, Kind):
    """A way of turning about an axis; a kind that is none moves along."""


class Rotation(Turning):
    """``rotation``: turning at a constant rate.

    Attributes
    ----------
    rate : float
        In rad/s.
    """

    rate: float

    def courses(self, folder: Path) -> tuple[Course, ...]:
        """Return how the angle changes."""
        return (Steady(self.rate),)


class Swing(Turning):
    """``swing``: turning to and fro, by ``amplitude (sin(2 pi frequency t + phase) - sin phase)``.

    Attributes
    ----------
    amplitude, phase : float
        In rad.
    frequency : float
        In Hz.
    """

    amplitude: float
    frequency: Positive
    phase: float = 0.0

    def courses(self, folder: Path) -> tuple[Course, ...]:
        """Return how the angle changes."""
        return (Oscillating(self.amplitude, self.frequency, self.phase),)


class RotationTable(Turning):
    """``rotation_table``: turning in straight lines between given angles.

    Attributes
    ----------
    times : tuple of float
        Rising, in s; before the first and after the last nothing turns.
    angles : tuple of float
        In rad; the one of time 0 is where the mesh is.
    file : str
        In place of both: a text file with a column for each, relative to the folder of the case.
    """

    times: Values | None = None
    angles: Values | None = None
    file: Name | None = None

    def courses(self, folder: Path) -> tuple[Course, ...]:
        """Return how the angle changes."""
        times, angles = self.times or (), self.angles or ()
        if self.file is not None:
            times, rows = read_table(folder / self.file, ("angle",))
            angles = tuple(row[0] for row in rows)
        return (Tabulated(times, angles),)


class Translation(Kind):
    """``translation``: moving at constant velocity.

    Attributes
    ----------
    velocity : tuple of 3 float
        In m/s.
    """

    velocity: Vector

    def courses(self, folder: Path) -> tuple[Course, ...]:
        """Return how x, y and z change."""
        return tuple(Steady(rate) for rate in self.velocity)


class Oscillation(Kind):
    """``oscillation``: moving to and fro, by ``amplitude (sin(2 pi frequency t + phase) - sin phase)``.

    Attributes
    ----------
    amplitude : tuple of 3 float
        In m.
    frequency : float
        In Hz.
    phase : float
        In rad.
    """

    amplitude: Vector
    frequency: Positive
    phase: float = 0.0

    def courses(self, folder: Path) -> tuple[Course, ...]:
        """Return how x, y and z change."""
        return tuple(Oscillating(amplitude, self.frequency, self.phase) for amplitude in self.amplitude)


class TranslationTable(Kind):
    """``translation_table``: moving in straight lines between given displacements.

    Attributes
    ----------
    times : tuple of float
        Rising, in s; before the first and after the last nothing moves.
    displacements : tuple of vectors
        In m; the one of time 0 is where the mesh is.
    file : str
        In place of both: a text file with columns time, x, y, z, relative to the folder of the case.
    """

    times: Values | None = None
    displacements: Vectors | None = None
    file: Name | None = None

    def courses(self, folder: Path) -> tuple[Course, ...]:
        """Return how x, y and z change."""
        times: tuple[float, ...] = self.times or ()
        rows: tuple[tuple[float, ...], ...] = self.displacements or ()
        if self.file is not None:
            times, rows = read_table(folder / self.file, ("x", "y", "z"))
        return tuple(Tabulated(times, values) for values in zip(*rows, strict=True))


class Moving(Section):
    """What moves: ``[motions.NAME]``, a frame that carries others, and every wall.

    What turns, turns first, and all of it is then moved along: axes move with it. Axes and centres are those
    of time 0.

    Attributes
    ----------
    on : str or None
        Name of the motion that carries this one.
    rotation, swing, rotation_table : optional
        Turning, the table first, then the swing, then the rotation.
    translation, oscillation, translation_table : optional
        Moving along; what several of them say adds up.
    """

    on: Name | None = None
    rotation: Rotation | None = None
    swing: Swing | None = None
    rotation_table: RotationTable | None = None
    translation: Translation | None = None
    oscillation: Oscillation | None = None
    translation_table: TranslationTable | None = None

    def kinds(self) -> dict[str, Kind]:
        """Return by key what this frame does itself, in the order of the keys."""
        given = {key: getattr(self, key) for key in MOTION_KEYS}
        return {key: kind for key, kind in given.items() if isinstance(kind, Kind)}


MOTION_KEYS = tuple(Moving.model_fields)
"""Keys of what moves: what carries it, and all kinds."""
