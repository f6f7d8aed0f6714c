"""Checks of the shapes of a case before a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.case.groups.group_sizes import group_sizes, reach_of
from pdem.case.groups.shapes import shape_masses, shape_of
from pdem.case.messages import shown_key
from pdem.case.rules.checks import periodic_width_problems
from pdem.particles.clusters.cluster_shapes import shape_warnings
from pdem.preflight.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.groups.group_sizes import Group
    from pdem.case.model import Case


def shape_findings(case: Case) -> Iterator[Finding]:
    """Yield the findings on the shapes of a case.

    Raises
    ------
    CaseError
        If the file of a shape in use is not valid.
    """
    groups: list[Group] = [*case.particles, *case.insertions]
    used = {one.shape for one in groups}
    for name in case.shapes:
        if name not in used:
            text = "no particles or insertions have it; give shape = " + f'"{name}" to some, or leave it out'
            yield Finding("warning", f"shape {name}", text)
        else:
            yield from _of_one(case, name)
    for group in groups:
        if group.shape is not None:
            yield from _too_large(case, group)


def _of_one(case: Case, name: str) -> Iterator[Finding]:
    shape, subject, rules = shape_of(case, name), f"shape {name}", shape_masses(case, name)
    many = len(shape.radius)
    text = f"{many} sphere{'s' if many != 1 else ''}, reaches {shape.reach:.4g} m from its centre of mass, volume "
    text += f"{shape.solid.volume:.4g} m3, that of a sphere of radius {shape.equivalent_radius:.4g} m"
    yield Finding("info", subject, text)
    for warning in shape_warnings(shape.centre, shape.radius, rules):
        yield Finding("warning", subject, warning)


def _too_large(case: Case, group: Group) -> Iterator[Finding]:
    """Report clusters that are longer than the domain, or too long for its periodic sides."""
    sizes, domain = group_sizes(case, group), case.domain
    assert sizes is not None, "clusters have no file"
    reach = reach_of(case, group) * sizes.largest
    side = float(np.subtract(domain.upper, domain.lower)[: domain.dimension].min())
    for problem in periodic_width_problems(case, reach):
        yield Finding("error", f"shape {group.shape}", f"{shown_key(problem.location)} {problem.text}")
    if 2.0 * reach > side:
        text = f"reaches up to {reach:.4g} m from its centre, and the domain is {side:.4g} m wide: widen it, or reduce "
        yield Finding("error", f"shape {group.shape}", text + "radius or shapes." + f"{group.shape}.scale")
