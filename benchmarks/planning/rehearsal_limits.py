"""Cases that cannot be rehearsed: copies of them are not a larger system, or one rank alone cannot run them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.deformation import deforms
from pdem.case.laws import takes_liquid
from pdem.case.messages import shown_key
from pdem.case.sections.flat_walls import PlaneWall
from pdem.case.wall_motions import motion_of
from pdem.foundation.errors import InputError
from pdem.motion.motions import MotionTurn, Shift

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.model import Case

_ROUNDING = 1e-9
_INSTEAD = "measure it by pdem scaling run"


def require_rehearsable(name: str, case: Case, particles: int) -> None:
    """Require that a rehearsal of a case predicts a run on many ranks.

    Parameters
    ----------
    name : str
        Name of the case, for messages.
    case : Case
        The small system.
    particles : int
        Number of particles at the beginning.

    Raises
    ------
    InputError
        With the first reason why it does not.
    """
    for reason in _reasons(case, particles):
        raise InputError(f"{name}: {reason}")


def _reasons(case: Case, particles: int) -> Iterator[str]:
    if deforms(case):
        yield f"its box deforms, which a rehearsal does not; {_INSTEAD}"
    if not any(case.domain.periodic):
        yield (
            "no axis of its domain is periodic; a rehearsal lays copies of a case side by side: make the axis along "
            "which the large system is longer periodic"
        )
    if not particles:
        yield "has no particles at its beginning; rehearse a checkpoint of its run instead"
    if takes_liquid(case):
        yield f"its particles carry liquid, of which all ranks are asked in each step; {_INSTEAD}"
    for number, wall in enumerate(case.walls):
        name = shown_key(["walls", number])
        if wall.servo is not None or wall.body is not None:
            yield f"{name} is moved by its load, which is that on all ranks; {_INSTEAD}"
        for motion in _own_motions(case, wall):
            yield f"{name} {motion}, which each of its copies would have to do by itself; {_INSTEAD}"


def _own_motions(case: Case, wall: Any) -> Iterator[str]:
    """Yield the motions of a wall by which its copies along periodic axes would not move as one wall."""
    periodic, copied = np.array(case.domain.periodic), np.array(case.domain.periodic)
    if isinstance(wall, PlaneWall) and wall.size is None:
        copied &= np.array(wall.normal) != 0.0  # along the remaining axes the wall continues
    for part in motion_of(wall, case.motions, case.directory).parts:
        if isinstance(part, MotionTurn):
            direction = np.abs(part.axis) / np.linalg.norm(part.axis)
            if part.angle.largest_rate and (periodic & (direction < 1.0 - _ROUNDING)).any():
                yield "turns about an axis that is not that of all periodic sides"
        elif isinstance(part, Shift):
            moves = copied & np.array([course.largest_rate > 0.0 for course in part.courses])
            if moves.any():
                yield f"moves along {'xyz'[int(np.argmax(moves))]}, where the box is periodic"
