"""Rules on regions: boxes, cylinders and balls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from pdem.case.hints.validation import problem_of
from pdem.case.messages import Problem
from pdem.case.rules.value_rules import direction_problems
from pdem.case.sections.particles import BoxRegion, CylinderRegion, SphereRegion
from pdem.case.sections.particles import Region as GivenRegion
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.sections.base import Section
    from pdem.particles.regions import Region


_SECTIONS: dict[str, type[Section]] = {one.branch: one for one in (BoxRegion, CylinderRegion, SphereRegion)}


def region_problems(region: Any, where: tuple[str | int, ...]) -> Iterator[Problem]:
    """Yield the problems of a region: corners of a box in the wrong order, an axis without direction."""
    if isinstance(region, BoxRegion):
        for axis in range(3):
            if not region.lower[axis] < region.upper[axis]:
                text = f"must be greater than lower ({region.lower[axis]}) along {'xyz'[axis]}"
                yield Problem((*where, "upper", axis), text)
    if isinstance(region, CylinderRegion):
        yield from direction_problems(region.axis, (*where, "axis"))


def region_of(region: Any) -> Region:
    """Return the region from a script: a region of a case, or a mapping with the keys of a region.

    Raises
    ------
    InputError
        If it is not a region.
    """
    try:
        checked: Region = TypeAdapter(GivenRegion).validate_python(region)
    except ValidationError as error:
        first = error.errors()[0]
        found = problem_of(_SECTIONS.get(str(first["loc"][0]) if first["loc"] else "", BoxRegion), first)
        where = ".".join(map(str, found.location))
        text = found.text if found.text.endswith("?") else f"{found.text};"
        raise InputError(f"{region!r} is no region: {where} {text} give one as in a fill") from None
    for problem in region_problems(checked, ()):
        raise InputError(f"{region!r} is no region: {'.'.join(map(str, problem.location))} {problem.text}")
    return checked
