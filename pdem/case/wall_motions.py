"""The motions of walls that follow from a case."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pdem.case.motions import Oscillation, Translation
from pdem.case.tables import read_table
from pdem.motion.motions import Motion, Oscillating, Shift, Steady, Tabulated, Turn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pdem.case.motions import Moving, TranslationTable


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
