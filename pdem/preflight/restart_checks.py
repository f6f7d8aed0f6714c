"""Checks of a case that continues from a checkpoint: forbidden changes, jumps of walls, and the end of the run."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.differences import physical_differences
from pdem.case.drives import drives_of
from pdem.case.model import Case
from pdem.case.sections.driven_walls import Body, Servo
from pdem.case.wall_files import read_walls
from pdem.case.wall_motions import motion_of
from pdem.foundation.errors import CaseError
from pdem.preflight.findings import Finding, end_problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Floats
    from pdem.motion.courses import Clock
    from pdem.motion.poses import Pose

_NEW_CASE = "begin a new case whose particles.file is the checkpoint"
_ROUNDING = 1e-9
"""Displacement in smallest radii below which two motions agree, up to rounding."""


def set_folder(case: Case, folder: Path | str) -> None:
    """Set the output folder of a case."""
    case.override(f"output.folder={json.dumps(str(folder))}")


def check_continuable(old: Case, new: Case) -> None:
    """Check that a case can continue from the state of a different case.

    Raises
    ------
    CaseError
        If time step, shapes, number of walls, meshes or drives differ.
    """
    before, after = old.resolved_step(), new.resolved_step()
    if before != after:
        raise CaseError(
            f"a restart keeps its time step of {before:.6g} s and --set would make it "
            f"{after:.6g} s; set time.step={before!r} as well, "
            "or begin a new run with the checkpoint as the file of its particles"
        )
    names = list(old.shapes)
    if [(name, new.shapes.get(name)) for name in list(new.shapes)[: len(names)]] != list(old.shapes.items()):
        raise CaseError(
            f"a restart keeps its shapes ({', '.join(names)}): clusters know theirs by number; others may only follow "
            f"behind these; {_NEW_CASE}"
        )
    if len(old.walls) != len(new.walls):
        raise CaseError(
            f"a restart keeps its {len(old.walls)} walls, and there would be {len(new.walls)}: contacts know facets "
            f"by their numbers; {_NEW_CASE}"
        )
    for number, (old_wall, new_wall) in enumerate(zip(old.walls, new.walls, strict=True)):
        surfaces = [wall.geometry for wall in (old_wall, new_wall)]  # contacts know facets by their numbers
        for key in (*dict.fromkeys(key for surface in surfaces for key in surface), "servo", "body"):
            old_value, new_value = (_unchangeable_part(getattr(wall, key, None)) for wall in (old_wall, new_wall))
            if old_value != new_value:
                raise CaseError(
                    f"walls[{number}].{key} of wall {new_wall.name}: a restart keeps the meshes of its walls and what "
                    f"drives them; {_NEW_CASE}"
                )


def _unchangeable_part(value: Any) -> Any:
    """Return the part of a wall's value that a restart must not change; for a drive, the meaning of its state."""
    if isinstance(value, Servo):
        return "servo", value.centre is None
    if isinstance(value, Body):
        return "body", value.hinge is None, value.free_rotation
    return value


def moved_walls(
    cases: tuple[Case, Case],
    time: float,
    groups: Mapping[str, Mapping[str, NDArray[Any]]],
    driven: str,
    clocks: tuple[Mapping[str, Clock], Mapping[str, Clock]] = ({}, {}),
) -> list[Finding]:
    """Return a warning for each wall with a changed motion that makes it jump at the time of the checkpoint.

    Parameters
    ----------
    cases : tuple of 2 Case
        Case of the checkpoint, and case of the continued run.
    time : float
        Time of the checkpoint [s].
    groups : mapping
        State in the checkpoint.
    driven : str
        Name of the group with the state of driven walls.
    clocks : tuple of 2 mappings
        Clocks of the stages of both cases at this time.

    Raises
    ------
    CaseError
        If a wall jumps by more than the smallest radius, because it could pass through particles.
    """
    changed, new = physical_differences(*cases), cases[1]
    if not any(key.startswith(("walls", "motions", "stages")) for key, _, _ in changed):
        return []
    meshes, state = read_walls(new), groups.get(driven, {})
    smallest = float(groups["particles"]["radius"].min(initial=math.inf))
    both = zip(cases, clocks, strict=True)
    poses = zip(*(_poses(case, time, meshes, state, each) for case, each in both), strict=True)
    findings = []
    for wall, mesh, (old_pose, new_pose) in zip(new.walls, meshes, poses, strict=True):
        jump = _largest_length(new_pose.place(mesh.vertices) - old_pose.place(mesh.vertices))
        if jump > smallest:
            raise CaseError(
                f"wall {wall.name}: with its changed motion it would jump by {jump:.3g} m at {time:g} s, which is more "
                f"than the smallest radius {smallest:.3g} m, and through particles; let the new motion be where the "
                f"old one is at that time (a table can), or {_NEW_CASE}"
            )
        if jump > _ROUNDING * smallest or (math.isinf(smallest) and jump > 0.0):
            text = f"with its changed motion it jumps by {jump:.3g} m at {time:g} s"
            findings.append(Finding("warning", f"wall {wall.name}", text))
    return findings


def _largest_length(vectors: Floats) -> float:
    return float(np.sqrt((vectors**2).sum(axis=1)).max(initial=0.0))


def _poses(
    case: Case, time: float, meshes: Sequence[Mesh], state: Mapping[str, NDArray[Any]], clocks: Mapping[str, Clock]
) -> list[Pose]:
    """Return the poses of the walls of a case; poses of driven walls follow from the state."""
    drives = drives_of(case, meshes, clocks)
    for wall, row in zip(state.get("wall", ()), state.get("state", ()), strict=True):
        drives[int(wall)].load_state(row)
    return [
        drives[number].now(time)
        if number in drives
        else motion_of(wall, case.motions, case.directory, clocks).pose(time)
        for number, wall in enumerate(case.walls)
    ]


def check_end(case: Case, step: int, what: str = "the simulation") -> bool:
    """Return whether a case has steps after `step`.

    Parameters
    ----------
    case : Case
        The case.
    step : int
        Number of steps taken so far.
    what : str
        Source of the state, for the error message.

    Raises
    ------
    CaseError
        If the end of the case is before this step, or before the first step.
    """
    length = case.resolved_step()
    last = round(case.time.end / length)
    if last < 1:
        raise CaseError(f"{case.source}: {end_problem(case, length)}")
    if last < step:
        raise CaseError(
            f"time.end = {case.time.end:g} s is before the present time {step * length:g} s of {what}; give a later "
            "end, or name an earlier checkpoint"
        )
    return last > step
