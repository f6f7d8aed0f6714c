"""Findings of `pdem check` on stages: their begins, their ends, and their changes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.case.gravity import gravity_tables, table_values
from pdem.features.insertions.preflight import expected_mass, expected_number, largest_mass
from pdem.preflight.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.model import Case
    from pdem.case.sections.stages import Stage

LOOK_EVERY = 100
"""Default number of steps between two evaluations of the condition of a stage."""

FROZEN_LOOK, FROZEN_LOOKS = 1.0, 1000
"""In frozen stages: default interval between two evaluations [s], and their number until the latest end."""

SPREAD_OF_NUMBERS = 1.1
"""Safety factor of the number of particles in an inserted mass, relative to the mass divided by the mean mass."""


def look_interval(stage: Stage, step: float) -> int:
    """Return the number of steps of length `step` [s] between two evaluations of the condition of a stage."""
    every = None if stage.until is None else stage.until.every
    if every is None and stage.motion == "frozen":
        latest = None if stage.until is None else stage.until.latest
        every = FROZEN_LOOK if latest is None else latest / FROZEN_LOOKS
    return LOOK_EVERY if every is None else max(1, round(every / step))


def stage_findings(case: Case, step: float, particles: int) -> Iterator[Finding]:
    """Yield a line on each stage, with a time step [s] and a number of particles at time 0.

    Warn of stages that `time.end` cuts off, and of conditions that need more particles than are ever inserted.

    Raises
    ------
    CaseError
        If a file of gravity is not valid.
    """
    for _, table in gravity_tables(case):
        table_values(case, table)
    earliest = 0.0
    for index, stage in enumerate(case.stages):
        begins = (
            f"begins at {earliest:g} s"
            if index == 0 or _is_timed(case, index)
            else f"begins at {earliest:g} s or later"
        )
        yield Finding("info", f"stage {stage.name}", "; ".join([begins, _ends(stage, step), *_changes(case, stage)]))
        if earliest >= case.time.end:
            text = f"cannot begin before {earliest:g} s, and time.end is {case.time.end:g} s; raise time.end"
            yield Finding("warning", f"stage {stage.name}", text)
        else:
            yield from _cut_off(case, stage, earliest)
            yield from _out_of_reach(case, stage, particles)
        earliest += stage.end or (0.0 if stage.until is None else stage.until.held)


def _is_timed(case: Case, index: int) -> bool:
    return all(stage.end is not None for stage in case.stages[:index])


def _cut_off(case: Case, stage: Stage, earliest: float) -> Iterator[Finding]:
    keys = {"end": stage.end}
    if stage.until is not None:
        keys = {"until.for": stage.until.held, "until.latest": stage.until.latest}
    for key, value in keys.items():
        if value is not None and earliest + value > case.time.end * (1.0 + 1e-9):
            text = f"{key} = {value:g} s from {earliest:g} s on is after time.end = {case.time.end:g} s, which ends "
            text += "the run before" + ("; the condition can never hold so long" if key == "until.for" else "")
            yield Finding("warning", f"stage {stage.name}", f"{text}; raise time.end")


def _out_of_reach(case: Case, stage: Stage, particles: int) -> Iterator[Finding]:
    """Warn of a condition on more particles, or a larger mass, than the run will ever have."""
    if stage.until is None or stage.until.above is None:
        return
    most = _most_of(case, stage.until.quantity, particles)
    if stage.until.above >= most:
        text = f"waits for {stage.until}, but {stage.until.quantity} is at most about {most:.4g} until time.end"
        text += f" = {case.time.end:g} s: the condition can never hold; lower above, or let more come in"
        yield Finding("warning", f"stage {stage.name}", text)


def _most_of(case: Case, quantity: str, particles: int) -> float:
    """Return the largest possible value of a quantity until the end of a run, infinite if unknown."""
    if quantity == "particles":
        return particles + sum(SPREAD_OF_NUMBERS * expected_number(case, one) + 1.0 for one in case.insertions)
    for one in case.insertions:
        if quantity == f"{one.name}_mass":
            return expected_mass(case, one) + largest_mass(case, one)
        if quantity == f"{one.name}_count" and one.count is not None:
            return one.count
    return math.inf


def _ends(stage: Stage, step: float) -> str:
    if stage.end is not None:
        return f"ends {stage.end:g} s later"
    if stage.until is None:
        return "ends with time.end"
    steps = look_interval(stage, step)
    latest = "time.end" if stage.until.latest is None else f"{stage.until.latest:g} s after its begin"
    return f"ends with {stage.until}, looked at every {steps:,} steps, at the latest {latest}"


def _changes(case: Case, stage: Stage) -> Iterator[str]:
    for name, change in stage.walls.items():
        yield f"{'adds' if change.add else 'removes'} wall {name}"
    for key, changes in stage.interactions.items():
        yield f"{key}: {', '.join(f'{name} = {value}' for name, value in changes.items())}"
    if stage.gravity is not None:
        yield f"gravity {list(stage.gravity)} m/s2"
    if stage.gravity_table is not None:
        yield "gravity by a table"
    if stage.deformation is not None:
        yield f"the box {stage.deformation}"
    starts = [f"motion {name}" for name, motion in case.motions.items() if motion.stage == stage.name]
    starts += [f"wall {wall.name}" for wall in case.walls if wall.stage == stage.name]
    starts += [f"insertion {one.name}" for one in case.insertions if one.stage == stage.name]
    if starts:
        yield f"times of {', '.join(starts)} count from it"
