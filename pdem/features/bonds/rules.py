"""Rules of the case file on bonds that need no further files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.groups.shapes import is_flexible
from pdem.case.messages import Problem, nearest_key_hint
from pdem.case.rules.stage_rules import stage_reference
from pdem.case.sections.materials import split_pair
from pdem.features.bonds.section import CUT, Metres, NormalStrength
from pdem.features.bonds.shape_bonds import flexible_problems, kinds_of_shapes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from pdem.case.sections.schema import CaseData
    from pdem.features.bonds.section import BondSection

    Location: TypeAlias = tuple[str | int, ...]


def bond_problems(case: CaseData) -> Iterator[Problem]:
    """Yield the problems of all kinds of bonds; `.selection` checks their pairs."""
    of_shapes = kinds_of_shapes(case)
    for name, section in case.bonds.items():
        where: Location = ("bonds", name)
        if name not in of_shapes:
            yield from _which(case, section, where)
        yield from stage_reference(case, section.stage, where)
        yield from _section(section, where)
        yield from _strength(section, where)
    yield from flexible_problems(case)
    if case.bonds:
        yield from _rest_of_case(case)


def _which(case: CaseData, section: BondSection, where: Location) -> Iterator[Problem]:
    """Yield the problems of the keys that choose the bonded spheres."""
    if (section.between is None) == (section.file is None):
        text = 'needs exactly one of between = "a-b", with gap, and file, a list of ids; or a shape with '
        yield Problem(where, f'{text}bonds = "{where[-1]}"')
        return
    if section.file is not None:
        if section.gap is not None:
            yield Problem((*where, "gap"), "belongs to between; pairs of a file are joined whatever their distance")
        return
    if section.gap is None:
        yield Problem((*where, "gap"), "is missing; give the largest distance of two surfaces that are joined, in m")
    key = section.between or ""
    if len({frozenset(pair) for pair in split_pair(key, case.materials)}) != 1:
        names = list(case.materials)
        keys = [f"{first}-{second}" for index, first in enumerate(names) for second in names[index:]]
        hint = nearest_key_hint(key, keys[:20]) if keys else "the case has no materials"
        yield Problem((*where, "between"), f"must be two names of materials joined by a hyphen; {hint}")


def _section(section: BondSection, where: Location) -> Iterator[Problem]:
    """Yield the problems of the section and of the theory of its shear."""
    outer, inner = section.radius, section.inner_radius
    for key, radius in (("radius", outer), ("inner_radius", inner)):
        if isinstance(radius, float) and radius > 1.0:
            text = "is a share of the radius of the smaller sphere, at most 1; in m write {metres = ...}"
            yield Problem((*where, key), text)
    if inner is not None:
        if isinstance(inner, Metres) != isinstance(outer, Metres):
            yield Problem((*where, "inner_radius"), "must be given like radius: both as shares, or both {metres = ...}")
        elif _number(inner) >= _number(outer):
            yield Problem((*where, "inner_radius"), f"must be smaller than radius ({_number(outer):g})")
    if section.section == "springs":
        for key, default in (("beam_theory", "timoshenko"), ("shear_coefficient", None)):
            if getattr(section, key) != default:
                yield Problem((*where, key), 'belongs to section = "beam"; springs have no use for it')
    elif section.beam_theory == "euler-bernoulli" and section.shear_coefficient is not None:
        text = 'belongs to beam_theory = "timoshenko"; the beam of Euler and Bernoulli is rigid in shear'
        yield Problem((*where, "shear_coefficient"), text)


def _number(radius: float | Metres) -> float:
    return radius.metres if isinstance(radius, Metres) else radius


def _strength(section: BondSection, where: Location) -> Iterator[Problem]:
    """Yield the problems of the criterion, and of the strengths that it needs."""
    by_energy = section.criterion == "energy"
    if by_energy and section.fracture_energy is None:
        yield Problem((*where, "fracture_energy"), 'is missing; criterion = "energy" needs it, in J/m^2')
    if not by_energy and section.fracture_energy is not None:
        yield Problem((*where, "fracture_energy"), f'has no influence on criterion = "{section.criterion}"; remove it')
    for key in ("tensile_strength", "shear_strength"):
        given = getattr(section, key)
        if by_energy and given is not None:
            yield Problem((*where, key), 'has no influence on criterion = "energy"; remove it')
        if isinstance(given, NormalStrength) and CUT * given.deviation >= given.mean:
            text = f"must be less than a third of the mean ({given.mean:g} Pa): strengths are positive"
            yield Problem((*where, key, "deviation"), text)
    if section.friction_angle > 0.0 and section.shear_strength is None:
        yield Problem((*where, "friction_angle"), "adds to shear_strength, which is missing; give it")


def _rest_of_case(case: CaseData) -> Iterator[Problem]:
    """Yield the problems of parts of the case that cannot be combined with bonds."""
    for index, group in enumerate(case.particles):
        if group.shape in case.shapes and not is_flexible(case, group.shape or "") and not group.fixed:
            yield from _of_rigid(case, group.material, ("particles", index, "shape"))


def _of_rigid(case: CaseData, material: str, where: Location) -> Iterator[Problem]:
    """Yield the problem of bonds that join the spheres of rigid clusters, by their material."""
    for name, section in case.bonds.items():
        if section.between is not None and material in sum(split_pair(section.between, case.materials), ()):
            text = f"is rigid already, and bonds.{name} joins single spheres of {material}; give the clusters another "
            yield Problem(where, f"{text}material, or the shape bonds")
            return
