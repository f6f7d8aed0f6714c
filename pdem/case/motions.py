"""How walls move, as a case says it; `pdem.case.wall_motions` makes motions of that."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pdem.case.base import Name, Positive, Section, Vector

Values = Annotated[tuple[float, ...], Field(strict=False, min_length=2)]
Vectors = Annotated[tuple[Vector, ...], Field(strict=False, min_length=2)]


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


class Rotation(About):
    """``rotation``: turning at a constant rate.

    Attributes
    ----------
    rate : float
        In rad/s.
    """

    rate: float


class Swing(About):
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


class RotationTable(About):
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


class Translation(Section):
    """``translation``: moving at constant velocity.

    Attributes
    ----------
    velocity : tuple of 3 float
        In m/s.
    """

    velocity: Vector


class Oscillation(Section):
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


class TranslationTable(Section):
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
