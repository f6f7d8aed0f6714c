"""The motions of walls that follow from a case."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pdem.case.motions import Turning
from pdem.motion.motions import Motion, Shift, Turn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pdem.case.motions import Moving


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
    """Return what a frame does itself, the outermost first: all shifts, then all turns."""
    kinds = one.kinds().values()
    for kind in kinds:
        if not isinstance(kind, Turning):
            yield Shift(kind.courses(folder))
    for kind in kinds:
        if isinstance(kind, Turning):
            yield Turn(kind.axis, kind.centre, *kind.courses(folder))
