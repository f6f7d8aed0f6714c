"""Rules of a case that join several keys. Each function yields the problems it finds, with their keys."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.base import Section
from pdem.case.driven_checks import driven_problems, table_problems
from pdem.case.laws import interaction_problems
from pdem.case.materials import split_pair
from pdem.case.messages import Problem, nearest_key_hint
from pdem.case.particles import BoxRegion, CylinderRegion, FillKeys, ParticleGroup
from pdem.foundation.errors import InputError, name_hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TypeAlias

    from pdem.case.materials import Material
    from pdem.case.motions import Moving
    from pdem.case.schema import CaseData as Case

    Location: TypeAlias = tuple[str | int, ...]

_NAME = re.compile(r"[^\s.\"'\[\]=#/\\]+\Z")
AXES = "xyz"
SMALLEST, LARGEST = 1e-20, 1e20
BEYOND_REASON = f"is beyond all reason ({SMALLEST:g} to {LARGEST:g} in SI units); check the unit"


def problems_of_case(case: Case) -> list[Problem]:
    """Return everything that is wrong with a case whose single values are right."""
    rules = (
        _magnitudes,
        _domain,
        _material_names,
        _interaction_keys,
        _particles,
        _walls,
        _motions,
        _detection,
    )
    problems = [problem for rule in rules for problem in rule(case)]
    # What follows would only repeat them.
    if not problems:
        problems = [problem for rule in (_meeting_materials, _periodic_width) for problem in rule(case)]
    return problems


def _magnitudes(case: Case) -> Iterator[Problem]:
    """Refuse numbers so small or large that products of them would leave the range of the machine."""
    values: list[tuple[tuple[str | int, ...], float]] = [(("time", "end"), case.time.end)]
    if not isinstance(case.time.step, str):
        values.append((("time", "step"), case.time.step))
    for key in ("lower", "upper", "gravity"):
        values += [(("domain", key, axis), value) for axis, value in enumerate(getattr(case.domain, key))]
    for kind in ("materials", "interactions"):
        for name, table in getattr(case, kind).items():
            values += [((kind, name, key), value) for key, value in table if isinstance(value, float)]
    for index, group in enumerate(case.particles):
        values += _group_magnitudes(group, ("particles", index))
    for index, wall in enumerate(case.walls):
        values += _numbers(wall, ("walls", index))
    for name, motion in case.motions.items():
        values += _numbers(motion, ("motions", name))
    for where, value in values:
        if value != 0.0 and not SMALLEST <= abs(value) <= LARGEST:
            yield Problem(where, BEYOND_REASON)


def _group_magnitudes(
    group: ParticleGroup, where: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], float]]:
    if isinstance(group.radius, float):
        yield (*where, "radius"), group.radius
    elif group.radius is not None:
        values = {key: value for key, value in group.radius if key in ("min", "max", "median")}
        yield from (((*where, "radius", key), value) for key, value in values.items())
        yield from (
            ((*where, "radius", "radii", at), one)
            for at, one in enumerate(getattr(group.radius, "radii", ()))
        )
    velocity = group.velocity
    parts = velocity if isinstance(velocity, tuple) else () if velocity is None else (velocity.random,)
    yield from (((*where, "velocity"), part) for part in parts)
    yield from (
        ((*where, "angular_velocity", axis), part) for axis, part in enumerate(group.angular_velocity or ())
    )


def _numbers(moving: Section, where: Location) -> Iterator[tuple[Location, float]]:
    """Return every number of a motion and where it stands."""
    for key, part in moving:
        if key == "inertia":  # of a grain of dust it is beyond all other reason
            continue
        if isinstance(part, Section):
            yield from _numbers(part, (*where, key))
        elif isinstance(part, (float, int, tuple)):
            for place, number in np.ndenumerate(np.array(part)):
                yield (*where, key, *place), float(number)


def _domain(case: Case) -> Iterator[Problem]:
    domain = case.domain
    for axis in range(3):
        if not domain.lower[axis] < domain.upper[axis]:
            text = f"must be greater than domain.lower ({domain.lower[axis]}) along {AXES[axis]}"
            yield Problem(("domain", "upper", axis), text)
        elif not math.isfinite(domain.upper[axis] - domain.lower[axis]):
            yield Problem(("domain", "upper", axis), f"is too far from domain.lower along {AXES[axis]}")
    if domain.dimension == 2 and domain.periodic[2]:
        yield Problem(("domain", "periodic", 2), "must be false in a case of dimension 2")
    if domain.dimension == 2 and domain.gravity[2] != 0.0:
        yield Problem(
            ("domain", "gravity", 2), "must be 0 in a case of dimension 2, which lies in the x-y plane"
        )


def _material_names(case: Case) -> Iterator[Problem]:
    for name, material in case.materials.items():
        where = ("materials", name)
        if not _NAME.match(name):
            yield Problem(where, "a name of a material holds no spaces, dots, quotes, slashes or brackets")
        if (material.youngs_modulus is None) != (material.poisson_ratio is None):
            missing = "poisson_ratio" if material.poisson_ratio is None else "youngs_modulus"
            yield Problem(
                (*where, missing), "is missing; an elastic material has both constants, a rigid one neither"
            )


def _interaction_keys(case: Case) -> Iterator[Problem]:
    seen: dict[frozenset[str], str] = {}
    for key, interaction in case.interactions.items():
        where = ("interactions", key)
        pairs = {frozenset(pair) for pair in split_pair(key, case.materials)}
        if len(pairs) != 1:
            yield Problem(where, _bad_pair(key, len(pairs), list(case.materials)))
            continue
        pair = pairs.pop()
        if pair in seen:
            yield Problem(
                where, f"names the same two materials as interactions.{seen[pair]}; keep one of them"
            )
        seen[pair] = key
        yield from interaction_problems(interaction, where)


def _bad_pair(key: str, readings: int, materials: list[str]) -> str:
    if readings > 1:
        return "can be read as several pairs of materials; rename a material"
    keys = [f"{first}-{second}" for index, first in enumerate(materials) for second in materials[index:]]
    hint = nearest_key_hint(key, keys[:20]) if keys else "the case has no materials"
    return f"must be two names of materials joined by a hyphen; {hint}"


def _material(case: Case, where: tuple[str | int, ...], name: str) -> Iterator[Problem]:
    if name not in case.materials:
        hint = nearest_key_hint(name, list(case.materials)) if case.materials else "the case has none"
        yield Problem((*where, "material"), f"is not a material of the case; {hint}")


def _particles(case: Case) -> Iterator[Problem]:
    for index, group in enumerate(case.particles):
        where = ("particles", index)
        yield from _material(case, where, group.material)
        if group.material in case.materials:
            yield from density_problems(case, group.material)
        yield from _places(group, where)
        yield from _sizes(group, where)
        if group.fill is not None:
            yield from _fill(case, group.fill, (*where, "fill"))


def _places(group: ParticleGroup, where: tuple[str | int, ...]) -> Iterator[Problem]:
    given = [key for key in ("fill", "file", "positions") if getattr(group, key) is not None]
    if len(given) != 1:
        found = " and ".join(given) if given else "none of them"
        yield Problem(where, f"needs exactly one of fill, file and positions, has {found}")
    elif group.file is not None and group.radius is not None:
        yield Problem((*where, "radius"), "is not allowed together with file, which holds the radii")
    elif group.file is None and group.radius is None:
        yield Problem((*where, "radius"), f"is missing; particles with {given[0]} need one")


def _sizes(group: ParticleGroup, where: tuple[str | int, ...]) -> Iterator[Problem]:
    try:
        group.sizes()
    except InputError as error:
        yield Problem((*where, "radius"), str(error))


def _fill(case: Case, fill: FillKeys, where: tuple[str | int, ...]) -> Iterator[Problem]:
    if fill.count is not None and fill.volume_fraction is not None:
        yield Problem((*where, "volume_fraction"), "is not allowed together with count")
    if fill.count is None and fill.volume_fraction is None and fill.arrangement == "random":
        yield Problem((*where, "count"), "is missing; a random arrangement needs count or volume_fraction")
    whole = getattr(fill, "upper", None) == case.domain.upper  # any fault is then reported with the domain
    regions: list[tuple[Any, tuple[str | int, ...]]] = [] if whole else [(fill, where)]
    regions += [(region, (*where, "exclude", index)) for index, region in enumerate(fill.exclude)]
    for region, place in regions:
        yield from _region(region, place)


def _region(region: Any, where: tuple[str | int, ...]) -> Iterator[Problem]:
    if isinstance(region, BoxRegion):
        for axis in range(3):
            if not region.lower[axis] < region.upper[axis]:
                text = f"must be greater than lower ({region.lower[axis]}) along {AXES[axis]}"
                yield Problem((*where, "upper", axis), text)
    if isinstance(region, CylinderRegion):
        yield from _direction(region.axis, (*where, "axis"))


def _direction(axis: Sequence[float], where: tuple[str | int, ...]) -> Iterator[Problem]:
    length = math.hypot(*axis)
    if not 1e-150 < length < 1e150:
        yield Problem(where, "is not a direction; give a vector of moderate, non-zero length")


def _walls(case: Case) -> Iterator[Problem]:
    names: dict[str, int] = {}
    for index, wall in enumerate(case.walls):
        where = ("walls", index)
        yield from _material(case, where, wall.material)
        yield from _motion(case, wall, where)
        yield from driven_problems(case, wall, where)
        if wall.name in names:
            text = f"({wall.name!r}) is taken by walls[{names[wall.name]}]; give each wall its own name"
            yield Problem((*where, "name"), text)
        names[wall.name] = index


def _motions(case: Case) -> Iterator[Problem]:
    for name, motion in case.motions.items():
        yield from _motion(case, motion, ("motions", name))
        carriers = [name]
        while (carrier := case.motions[carriers[-1]].on) in case.motions and carrier is not None:
            if carrier == name:
                text = f"goes round in a circle: {' on '.join([*carriers, name])}; let one of them be on none"
                yield Problem(("motions", name, "on"), text)
            if carrier in carriers:
                break
            carriers.append(carrier)


def _motion(case: Case, moving: Moving, where: Location) -> Iterator[Problem]:
    if moving.on is not None and moving.on not in case.motions:
        yield Problem(
            (*where, "on"), f"is no motion of this case; {name_hint(moving.on, list(case.motions))}"
        )
    for key in ("rotation", "swing", "rotation_table"):
        turn = getattr(moving, key)
        if turn is not None:
            yield from _direction(turn.axis, (*where, key, "axis"))
    for key, values in (("rotation_table", "angles"), ("translation_table", "displacements")):
        table = getattr(moving, key)
        if table is not None:
            yield from table_problems(table, values, (*where, key))


def _detection(case: Case) -> Iterator[Problem]:
    levels, sizes = case.detection.levels, case.detection.cell_sizes
    if not isinstance(levels, str) and not isinstance(sizes, str) and levels != len(sizes):
        text = f"does not agree with the {len(sizes)} entries of detection.cell_sizes; leave one of them out"
        yield Problem(("detection", "levels"), text)


def meeting_pairs(case: Case, grains: Sequence[str] | None = None) -> list[tuple[str, str, bool]]:
    """Return the pairs of materials that can touch: of a particle, of its partner, and if that is a wall.

    `grains` are the materials of particles, in place of those of the case.
    """
    grains = list(dict.fromkeys(group.material for group in case.particles)) if grains is None else grains
    walls = list(dict.fromkeys(wall.material for wall in case.walls))
    pairs = [(first, second, False) for index, first in enumerate(grains) for second in grains[index:]]
    return pairs + [(grain, wall, True) for grain in grains for wall in walls]


def _meeting_materials(case: Case) -> Iterator[Problem]:
    yield from meeting_problems(case, meeting_pairs(case))


def meeting_problems(case: Case, pairs: Iterable[tuple[str, str, bool]]) -> Iterator[Problem]:
    """Yield a problem for each of the pairs of materials that can touch and have no interaction, or both are rigid."""
    reported: set[frozenset[str]] = set()
    for first, second, is_wall in pairs:
        pair = frozenset((first, second))
        if pair in reported:
            continue
        reported.add(pair)
        interaction = case.interaction(first, second)
        if interaction is None:
            who = f"particles of {first!r} can touch {'walls' if is_wall else 'particles'} of {second!r}"
            yield Problem(("interactions", f"{first}-{second}"), f"is missing; {who}")
        elif interaction.from_materials:
            yield from _rigid_pair(case.materials, first, second)


def density_problems(case: Case, material: str) -> Iterator[Problem]:
    """Yield a problem if particles cannot be made of a material of the case, which has no density."""
    if case.materials[material].density is None:
        yield Problem(("materials", material, "density"), "is missing; particles are made of this material")


def _rigid_pair(materials: dict[str, Material], first: str, second: str) -> Iterator[Problem]:
    if materials[first].rigid and materials[second].rigid:
        text = f"is missing; {first!r} touches {second!r} as elastic spheres do and one of the two must be elastic"
        yield Problem(("materials", first, "youngs_modulus"), text)


def _periodic_width(case: Case) -> Iterator[Problem]:
    sizes = [(group.sizes(), index) for index, group in enumerate(case.particles)]
    largest = max((size.largest for size, _ in sizes if size is not None), default=0.0)
    yield from periodic_width_problems(case, largest)


def periodic_width_problems(case: Case, largest_radius: float) -> Iterator[Problem]:
    """Yield a problem for each periodic axis too short for particles up to `largest_radius` (m).

    A particle must not reach the same neighbour through two faces, so the box is at least two of the
    largest diameters wide.
    """
    for axis in range(3):
        width = case.domain.upper[axis] - case.domain.lower[axis]
        if case.domain.periodic[axis] and width < 4.0 * largest_radius:
            text = (
                f"makes the periodic box {width:g} m wide along {AXES[axis]}, "
                f"less than two of the largest diameters ({4.0 * largest_radius:g} m): widen it"
            )
            yield Problem(("domain", "upper", axis), text)
