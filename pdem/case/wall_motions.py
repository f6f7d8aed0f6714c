"""Motions of walls from the sections of a case."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pdem.case.sections.motions import RotationKind
from pdem.motion.courses import Delayed
from pdem.motion.motions import MotionTurn, RigidMotion, Shift

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pdem.case.sections.motions import MotionKind, MovingFrame
    from pdem.motion.courses import Clock, Course


def motion_of(
    wall: MovingFrame,
    motions: Mapping[str, MovingFrame],
    folder: Path | None = None,
    clocks: Mapping[str, Clock] | None = None,
) -> RigidMotion:
    """Return the motion of a wall, including the motions of all frames that carry it.

    Torques are about the centre of its own ``rotation``, else of its ``swing``, else of its ``rotation_table``. If it
    has none of these, they are about the present position of such a centre of the nearest carrier with one, else about
    the origin, fixed in space.

    Parameters
    ----------
    wall : MovingFrame
        The wall.
    motions : mapping of str to MovingFrame
        The frames of the case, by name.
    folder : Path, optional
        Folder of the case, to which files of tables are relative.
    clocks : mapping of str to Clock, optional
        Clocks of the stages, from which motions with a `stage` count; by default all count from time 0, as in checks.

    Raises
    ------
    CaseError
        If a file of a table cannot be used.
    """
    chain = [wall]
    while chain[-1].on is not None:
        chain.append(motions[chain[-1].on])
    parts: list[MotionTurn | Shift] = []
    centre, frame = (0.0, 0.0, 0.0), 0
    for moving in reversed(chain):
        for first, part in enumerate(_parts(moving, folder or Path(), clocks or {})):
            parts.append(part)
            if isinstance(part, MotionTurn) and not any(
                isinstance(other, MotionTurn) for other in parts[-1 - first : -1]
            ):
                centre, frame = part.centre, len(parts)
    return RigidMotion(parts, centre, frame)


def _parts(moving: MovingFrame, folder: Path, clocks: Mapping[str, Clock]) -> Iterator[MotionTurn | Shift]:
    """Yield the motions of a frame itself, the outermost first: all translations, then all rotations."""
    kinds, clock = moving.kinds().values(), clocks.get(moving.stage or "")

    def courses(kind: MotionKind) -> tuple[Course, ...]:
        own = kind.courses(folder)
        return own if clock is None else tuple(Delayed(course, clock) for course in own)

    for kind in kinds:
        if not isinstance(kind, RotationKind):
            yield Shift(courses(kind))
    for kind in kinds:
        if isinstance(kind, RotationKind):
            yield MotionTurn(kind.axis, kind.centre, *courses(kind))
