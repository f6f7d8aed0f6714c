"""How walls move, as a case says it, and the motion that follows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from pdem.case.base import Name, Positive, Section, Vector
from pdem.case.tables import read_table
from pdem.motion.motions import Motion, Oscillating, Shift, Steady, Tabulated, Turn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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


def motion_of(wall: Moving, motions: Mapping[str, Moving], folder: Path | None = None) -> Motion:
    """Return the motion of a wall, carried by those it is on.

    Torques are about the centre of its own ``rotation``, else of its ``swing``, else of its ``rotation_table``; of a
    wall that has none about that of the nearest motion it is on which has one: where that centre is by then. Without
    any they are about the origin, which is fixed in space.

    Parameters
    ----------
    wall : Moving
        The wall.
    motions : mapping of str to Moving
        Those of the case.
    folder : Path, optional
        In which files of tables are looked for, the folder of the case.

    Raises
    ------
    CaseError
        If a file of a table cannot be used.
    """
    chain = [wall]
    while chain[-1].on is not None:
        chain.append(motions[chain[-1].on])
    parts: list[Turn | Shift] = []
    centre, frame = (0.0, 0.0, 0.0), 0
    for one in reversed(chain):
        for first, part in enumerate(_parts(one, folder or Path())):
            parts.append(part)
            if isinstance(part, Turn) and not any(
                isinstance(other, Turn) for other in parts[-1 - first : -1]
            ):
                centre, frame = part.centre, len(parts)
    return Motion(parts, centre, frame)


def _parts(one: Moving, folder: Path) -> Iterator[Turn | Shift]:
    """Return what a frame does itself, the outermost first."""
    for shift in (one.translation, one.oscillation, one.translation_table):
        if shift is not None:
            yield Shift(_courses(shift, folder))
    if one.rotation is not None:
        yield Turn(one.rotation.axis, one.rotation.centre, Steady(one.rotation.rate))
    if one.swing is not None:
        swing = one.swing
        yield Turn(swing.axis, swing.centre, Oscillating(swing.amplitude, swing.frequency, swing.phase))
    if one.rotation_table is not None:
        table = one.rotation_table
        times, angles = table.times or (), table.angles or ()
        if table.file is not None:
            times, rows = read_table(folder / table.file, ("angle",))
            angles = tuple(row[0] for row in rows)
        yield Turn(table.axis, table.centre, Tabulated(times, angles))


def _courses(
    shift: Translation | Oscillation | TranslationTable, folder: Path
) -> tuple[Steady | Oscillating | Tabulated, ...]:
    """Return how x, y and z change."""
    if isinstance(shift, Translation):
        return tuple(Steady(rate) for rate in shift.velocity)
    if isinstance(shift, Oscillation):
        return tuple(Oscillating(amplitude, shift.frequency, shift.phase) for amplitude in shift.amplitude)
    times: tuple[float, ...] = shift.times or ()
    rows: tuple[tuple[float, ...], ...] = shift.displacements or ()
    if shift.file is not None:
        times, rows = read_table(folder / shift.file, ("x", "y", "z"))
    return tuple(Tabulated(times, values) for values in zip(*rows, strict=True))
