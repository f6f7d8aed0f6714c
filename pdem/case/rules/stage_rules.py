"""Rules of the case file on stages, on motions that begin with a stage, and on gravity."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pydantic import ValidationError

from pdem.case.gravity import gravity_tables
from pdem.case.hints.validation import problems_of
from pdem.case.laws import interaction_problems
from pdem.case.messages import Problem, nearest_key_hint
from pdem.case.rules.stage_quantities import quantities_of
from pdem.case.rules.value_rules import table_problems
from pdem.case.sections.materials import Interaction
from pdem.case.stage_cases import changed_interaction, first_present, stage_named, walls_present
from pdem.foundation.errors import name_hint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from pdem.case.sections.motions import MovingFrame
    from pdem.case.sections.schema import CaseData
    from pdem.case.sections.stages import UntilKeys

    Location: TypeAlias = tuple[str | int, ...]

_NAME = re.compile(r"\w[\w.-]*\Z")
_FLAT = "must be 0 in a case of dimension 2, which lies in the x-y plane"


def stage_problems(case: CaseData) -> Iterator[Problem]:
    """Yield the problems of all stages, and of motions, insertions and sensors that belong to a stage."""
    yield from _gravity(case)
    taken: dict[str, int] = {}
    for index, stage in enumerate(case.stages):
        where = ("stages", index)
        yield from _name(stage.name, where, taken)
        taken.setdefault(stage.name, index)
        yield from _end(case, index, where)
        yield from _walls(case, index, where)
    yield from _interactions(case)
    yield from _references(case)


def _name(name: str, where: Location, taken: dict[str, int]) -> Iterator[Problem]:
    if name in taken:
        text = f"({name!r}) is taken by stages[{taken[name]}]; give each stage its own name"
        yield Problem((*where, "name"), text)
    if not _NAME.match(name):
        text = "names a file, stage-NAME.h5; use letters, digits, and _ - . after the first"
        yield Problem((*where, "name"), text)


def _end(case: CaseData, index: int, where: Location) -> Iterator[Problem]:
    stage, is_last = case.stages[index], index == len(case.stages) - 1
    if stage.end is not None and stage.until is not None:
        yield Problem((*where, "until"), "is not allowed together with end; keep one of them")
    elif stage.end is None and stage.until is None and not is_last:
        text = "is missing: only the last stage may end with time.end; give end (s after its begin) or until"
        yield Problem((*where, "end"), text)
    if stage.until is not None:
        yield from _until(case, index, stage.until, (*where, "until"))


def _until(case: CaseData, index: int, until: UntilKeys, where: Location) -> Iterator[Problem]:
    known = quantities_of(case)
    if (until.above is None) == (until.below is None):
        found = "none of them" if until.above is None else "both"
        yield Problem(where, f"needs exactly one of below and above, has {found}")
    if until.latest is not None and until.latest < until.held:
        text = f"is less than for ({until.held:g} s), so that the condition can never hold long enough; raise it"
        yield Problem((*where, "latest"), text)
    quantity = known.get(until.quantity)
    if quantity is None:
        yield Problem((*where, "quantity"), _unknown_quantity(case, until.quantity, list(known)))
        return
    if until.above is None and until.below is not None and until.below <= quantity.least:
        text = f"can never be reached: {until.quantity} is never less than {quantity.least:g}; raise it"
        yield Problem((*where, "below"), text)
    if until.below is None and until.above is not None and until.above < quantity.least:
        text = f"is always exceeded: {until.quantity} is never less than {quantity.least:g}; raise it"
        yield Problem((*where, "above"), text)
    yield from _absent_owner(case, index, quantity.owner, where)


def _absent_owner(case: CaseData, index: int, owner: str, where: Location) -> Iterator[Problem]:
    names = [wall.name for wall in case.walls]
    if owner in names and not walls_present(case, index)[names.index(owner)]:
        text = f"is of wall {owner}, which is not there in this stage; name another one"
        yield Problem((*where, "quantity"), text)


def _unknown_quantity(case: CaseData, name: str, known: list[str]) -> str:
    if any(name == f"{sensor.name}_flow" for sensor in case.sensors):
        return "is a mean between lines of the series, no condition can be on it; take passed or removed"
    return f"is no quantity of this case; {nearest_key_hint(name, known)}"


def _walls(case: CaseData, index: int, where: Location) -> Iterator[Problem]:
    names = [wall.name for wall in case.walls]
    for name, change in case.stages[index].walls.items():
        location = (*where, "walls", name)
        if name not in names:
            hint = name_hint(name, names) if names else "the case has none"
            yield Problem(location, f"is no wall of this case; {hint}")
            continue
        if change.add == change.remove:
            yield Problem(location, "needs exactly one of remove = true and add = true")
            continue
        before = walls_present(case, index - 1)[names.index(name)] if index else first_present(case, name)
        if change.add == before:
            verb, what = ("add", "is there already") if before else ("remove", "is not there before")
            yield Problem((*location, verb), f"wall {name} {what}; leave this out")


def _interactions(case: CaseData) -> Iterator[Problem]:
    present = dict(case.interactions)
    for index, stage in enumerate(case.stages):
        for key, changes in stage.interactions.items():
            where = ("stages", index, "interactions", key)
            if key not in present:
                yield Problem(where, f"is no interaction of the case; {nearest_key_hint(key, list(present))}")
                continue
            try:
                changed = changed_interaction(present[key], changes)
            except ValidationError as error:
                for one in problems_of(Interaction, error.errors(include_url=False)):
                    yield Problem((*where, *one.location), one.text)
                continue
            problems = [*_changed_models(present[key], changed, where), *interaction_problems(changed, where)]
            yield from problems
            present[key] = present[key] if problems else changed


def _changed_models(before: Interaction, after: Interaction, where: Location) -> Iterator[Problem]:
    remedy = "a stage changes values only, since contacts keep what their law remembers; leave it out"
    if before.law != after.law:
        yield Problem((*where, "law"), f'would replace "{before.law}"; {remedy}')
    for role, table in after.parts.items():
        old = before.parts.get(role)
        if old is not None and old.get("model") != table.get("model"):
            yield Problem((*where, role), f'would replace the model "{old.get("model")}"; {remedy}')
        elif old is not None and ("carried_volume" in old) != ("carried_volume" in table):
            text = "carried_volume can neither come nor go in a stage: particles carry liquid from the begin or never"
            yield Problem((*where, role), text)
        elif old is None and role == "adhesion":
            yield Problem((*where, role), f"is not there before; {remedy}, or give it in interactions")


def _gravity(case: CaseData) -> Iterator[Problem]:
    if case.domain.gravity_table is not None and any(case.domain.gravity):
        yield Problem(("domain", "gravity_table"), "is not allowed together with gravity; keep one of them")
    for index, stage in enumerate(case.stages):
        if stage.gravity is not None and stage.gravity_table is not None:
            yield Problem(("stages", index, "gravity_table"), "is not allowed together with gravity; keep one of them")
    flat = case.domain.dimension == 2
    for where, table in gravity_tables(case):
        yield from table_problems(table, "values", where)
        for row, value in enumerate(table.values or ()):
            if flat and value[2] != 0.0:
                yield Problem((*where, "values", row, 2), _FLAT)
    for index, stage in enumerate(case.stages):
        if flat and stage.gravity is not None and stage.gravity[2] != 0.0:
            yield Problem(("stages", index, "gravity", 2), _FLAT)


def _references(case: CaseData) -> Iterator[Problem]:
    """Yield the problems of keys ``stage``."""
    for index, wall in enumerate(case.walls):
        where = ("walls", index)
        number = stage_named(case.stages, wall.stage or "")
        yield from stage_reference(case, wall.stage, where)
        yield from _nothing_to_begin(wall, wall.servo is not None, where)
        later = range(number, len(case.stages)) if number >= 0 else ()
        if later and not any(walls_present(case, one)[index] for one in later):
            text = f"lets the wall move from stage {wall.stage} on, but the wall is not there then; keep it"
            yield Problem((*where, "stage"), text)
    for name, motion in case.motions.items():
        yield from stage_reference(case, motion.stage, ("motions", name))
        yield from _nothing_to_begin(motion, False, ("motions", name))
    for index, insertion in enumerate(case.insertions):
        yield from stage_reference(case, insertion.stage, ("insertions", index))
    for index, sensor in enumerate(case.sensors):
        yield from stage_reference(case, sensor.stage, ("sensors", index))
        for number, name in enumerate(sensor.stages or ()):
            yield from stage_reference(case, name, ("sensors", index), ("stages", number))


def stage_reference(case: CaseData, name: str | None, where: Location, key: Location = ("stage",)) -> Iterator[Problem]:
    """Yield a problem if a key names a stage that the case does not have; None names no stage."""
    if name is None or stage_named(case.stages, name) >= 0:
        return
    names = [stage.name for stage in case.stages]
    hint = name_hint(name, names) if names else "it has none: [[stages]] makes some"
    yield Problem((*where, *key), f"is no stage of this case; {hint}")


def _nothing_to_begin(moving: MovingFrame, driven: bool, where: Location) -> Iterator[Problem]:
    if moving.stage is not None and not moving.kinds() and not driven:
        text = "says when motions begin, and there are none here; leave it out"
        yield Problem((*where, "stage"), f"{text}, or put the wall in at that stage: walls = {{NAME = {{add = true}}}}")
