"""A case that goes on from a checkpoint: what may have changed since, and what jumps if it has."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.differences import physical_differences
from pdem.case.driven import Body, Servo
from pdem.case.drives import drives_of
from pdem.case.findings import Finding, too_short
from pdem.case.model import Case
from pdem.case.wall_files import read_walls
from pdem.case.wall_motions import motion_of
from pdem.foundation.errors import CaseError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.containers.mesh import Mesh
    from pdem.motion.poses import Pose

    Floats = NDArray[np.float64]

SURFACE = ("mesh", "scale", "group", "split_facets")
"""Keys of a wall that say of which facets it is; histories of contacts know these by their numbers."""

_NEW_CASE = "begin a new case whose particles.file is the checkpoint"
_ROUNDING = 1e-9
"""Over the smallest radius: two ways to write the same motion differ by less."""


def set_folder(case: Case, folder: Path | str) -> None:
    """Let a case write to a folder."""
    case.override(f"output.folder={json.dumps(str(folder))}")


def check_continuable(then: Case, now: Case) -> None:
    """Require that a case can go on from the state of another one.

    Raises
    ------
    CaseError
        If its time step, its walls or what drives them are others.
    """
    before, after = then.resolved_step(), now.resolved_step()
    if before != after:
        raise CaseError(
            f"a restart keeps its time step of {before:.6g} s and --set would make it "
            f"{after:.6g} s; set time.step={before!r} as well, "
            "or begin a new run with the checkpoint as the file of its particles"
        )
    if len(then.walls) != len(now.walls):
        raise CaseError(
            f"a restart keeps its {len(then.walls)} walls, and there would be {len(now.walls)}: contacts know facets "
            f"by their numbers; {_NEW_CASE}"
        )
    for number, (old, new) in enumerate(zip(then.walls, now.walls, strict=True)):
        for key in (*SURFACE, "servo", "body"):
            was, is_ = (_kept(getattr(wall, key)) for wall in (old, new))
            if was != is_:
                raise CaseError(
                    f"walls[{number}].{key} of wall {new.name}: a restart keeps the meshes of its walls and what "
                    f"drives them; {_NEW_CASE}"
                )


def _kept(value: Any) -> Any:
    """Return of a value of a wall what a restart keeps: of a drive, what its state means."""
    if isinstance(value, Servo):
        return "servo", value.centre is None
    if isinstance(value, Body):
        return "body", value.hinge is None, value.free_rotation
    return value


def moved_walls(
    then: Case, now: Case, time: float, groups: Mapping[str, Mapping[str, NDArray[Any]]], driven: str
) -> list[Finding]:
    """Return a warning for each wall that jumps at a time because its motion is another one from then on.

    Parameters
    ----------
    then, now : Case
        Of the checkpoint, and of the run that goes on.
    time : float
        Of the checkpoint [s].
    groups : mapping
        Its state.
    driven : str
        The group of that which has the state of driven walls.

    Raises
    ------
    CaseError
        If one jumps by more than the smallest radius: it might go through particles.
    """
    if not any(key.startswith(("walls", "motions")) for key, _, _ in physical_differences(then, now)):
        return []
    meshes, state = read_walls(now), groups.get(driven, {})
    smallest = float(groups["particles"]["radius"].min(initial=math.inf))
    poses = zip(*(_poses(case, time, meshes, state) for case in (then, now)), strict=True)
    findings = []
    for wall, mesh, (old, new) in zip(now.walls, meshes, poses, strict=True):
        way = _largest(new.place(mesh.vertices) - old.place(mesh.vertices))
        if way > smallest:
            raise CaseError(
                f"wall {wall.name}: with its changed motion it would jump by {way:.3g} m at {time:g} s, which is more "
                f"than the smallest radius {smallest:.3g} m, and through particles; let the new motion be where the "
                f"old one is at that time (a table can), or {_NEW_CASE}"
            )
        if way > _ROUNDING * smallest or (math.isinf(smallest) and way > 0.0):
            text = f"with its changed motion it jumps by {way:.3g} m at {time:g} s"
            findings.append(Finding("warning", f"wall {wall.name}", text))
    return findings


def _largest(ways: Floats) -> float:
    return float(np.sqrt((ways**2).sum(axis=1)).max(initial=0.0))


def _poses(case: Case, time: float, meshes: Sequence[Mesh], state: Mapping[str, NDArray[Any]]) -> list[Pose]:
    """Return where the walls of a case are, those that particles drive by their state."""
    drives = drives_of(case, meshes)
    for wall, row in zip(state.get("wall", ()), state.get("state", ()), strict=True):
        drives[int(wall)].adopt(row)
    return [
        drives[number].now(time)
        if number in drives
        else motion_of(wall, case.motions, case.directory).pose(time)
        for number, wall in enumerate(case.walls)
    ]


def check_end(case: Case, step: int, what: str = "the simulation") -> bool:
    """Tell whether a case has steps left from one on.

    Parameters
    ----------
    case : Case
        The case.
    step : int
        Steps taken.
    what : str
        Where this state comes from, for the message.

    Raises
    ------
    CaseError
        If its end is before that step, or before the first one.
    """
    length = case.resolved_step()
    last = round(case.time.end / length)
    if last < 1:
        raise CaseError(f"{case.source}: {too_short(case, length)}")
    if last < step:
        raise CaseError(
            f"time.end = {case.time.end:g} s is before the present time {step * length:g} s of {what}; give a later "
            "end, or name an earlier checkpoint"
        )
    return last > step
