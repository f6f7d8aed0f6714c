"""Rules between several keys of a case. Each function yields problems, with the keys they belong to."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from pdem.case.groups.fixed_groups import fixed_problems
from pdem.case.groups.particle_sources import largest_given_radius, particle_materials
from pdem.case.laws import interaction_problems, liquid_problems
from pdem.case.messages import Problem, nearest_key_hint
from pdem.case.rules.deformation_rules import deformation_problems
from pdem.case.rules.driven_wall_rules import driven_problems
from pdem.case.rules.magnitude_rules import magnitude_problems
from pdem.case.rules.region_rules import region_problems
from pdem.case.rules.shape_rules import shape_problems, shape_use_problems
from pdem.case.rules.stage_rules import stage_problems
from pdem.case.rules.value_rules import direction_problems, table_problems
from pdem.case.sections.base import Section
from pdem.case.sections.materials import split_pair
from pdem.case.sections.motions import RotationKind
from pdem.case.sections.particles import FillKeys, ParticleGroup
from pdem.case.sections.placed_meshes import PlacedMesh
from pdem.case.sections.sizes import sizes_of
from pdem.case.sections.surfaces import surface_problems
from pdem.case.sections.wall_shapes import ShapeWall
from pdem.features.insertions.rules import insertion_problems
from pdem.features.rules import RULES
from pdem.features.wear.rules import wear_problems
from pdem.foundation.errors import InputError, name_hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TypeAlias

    from pdem.case.sections.materials import Material
    from pdem.case.sections.motions import MovingFrame
    from pdem.case.sections.schema import CaseData

    Location: TypeAlias = tuple[str | int, ...]

_NAME = re.compile(r"[^\s.\"'\[\]=#/\\]+\Z")
AXES = "xyz"
_FILES = ("mesh", "file", "folder")


def problems_of_case(case: CaseData) -> list[Problem]:
    """Return all problems of a case with valid single values."""
    rules = (
        magnitude_problems,
        _domain,
        _paths,
        _material_names,
        _interaction_keys,
        _particles,
        _walls,
        _placements,
        _insertions,
        *RULES,
        fixed_problems,
        _motions,
        _detection,
        stage_problems,
        deformation_problems,
        liquid_problems,
        shape_problems,
    )
    problems = [problem for rule in rules for problem in rule(case)]
    # If there are other problems, these rules would only repeat them.
    if not problems:
        problems = [problem for rule in (_contact_pairs, _periodic_width) for problem in rule(case)]
    return problems


def _domain(case: CaseData) -> Iterator[Problem]:
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
        yield Problem(("domain", "gravity", 2), "must be 0 in a case of dimension 2, which lies in the x-y plane")


def _material_names(case: CaseData) -> Iterator[Problem]:
    for name, material in case.materials.items():
        where = ("materials", name)
        if not _NAME.match(name):
            yield Problem(where, "a name of a material holds no spaces, dots, quotes, slashes or brackets")
        if (material.youngs_modulus is None) != (material.poisson_ratio is None):
            missing = "poisson_ratio" if material.poisson_ratio is None else "youngs_modulus"
            yield Problem((*where, missing), "is missing; an elastic material has both constants, a rigid one neither")


def _interaction_keys(case: CaseData) -> Iterator[Problem]:
    key_of_pair: dict[frozenset[str], str] = {}
    for key, interaction in case.interactions.items():
        where = ("interactions", key)
        pairs = {frozenset(pair) for pair in split_pair(key, case.materials)}
        if len(pairs) != 1:
            yield Problem(where, _bad_pair(key, len(pairs), list(case.materials)))
            continue
        pair = pairs.pop()
        if pair in key_of_pair:
            yield Problem(where, f"names the same two materials as interactions.{key_of_pair[pair]}; keep one of them")
        key_of_pair[pair] = key
        yield from interaction_problems(interaction, where)


def _bad_pair(key: str, readings: int, materials: list[str]) -> str:
    if readings > 1:
        return "can be read as several pairs of materials; rename a material"
    keys = [f"{first}-{second}" for index, first in enumerate(materials) for second in materials[index:]]
    hint = nearest_key_hint(key, keys[:20]) if keys else "the case has no materials"
    return f"must be two names of materials joined by a hyphen; {hint}"


def _material(case: CaseData, where: Location, name: str) -> Iterator[Problem]:
    if name not in case.materials:
        hint = nearest_key_hint(name, list(case.materials)) if case.materials else "the case has none"
        yield Problem((*where, "material"), f"is not a material of the case; {hint}")


def _particles(case: CaseData) -> Iterator[Problem]:
    for index, group in enumerate(case.particles):
        where = ("particles", index)
        yield from _material(case, where, group.material)
        if group.material in case.materials and not (group.fixed and getattr(group.fill, "mass", None) is None):
            yield from density_problems(case, group.material)
        yield from _positions(group, where)
        yield from shape_use_problems(case, group, where)
        yield from _sizes(group, where)
        if group.fill is not None:
            yield from _fill(case, group.fill, (*where, "fill"))


def _insertions(case: CaseData) -> Iterator[Problem]:
    for index, insertion in enumerate(case.insertions):
        where = ("insertions", index)
        yield from _material(case, where, insertion.material)
        if insertion.material in case.materials:
            yield from density_problems(case, insertion.material)
    yield from insertion_problems(case)


def _positions(group: ParticleGroup, where: Location) -> Iterator[Problem]:
    given = [key for key in ("fill", "file", "positions") if getattr(group, key) is not None]
    if len(given) != 1:
        found = " and ".join(given) if given else "none of them"
        yield Problem(where, f"needs exactly one of fill, file and positions, has {found}")
    elif group.file is not None and group.radius is not None:
        yield Problem((*where, "radius"), "is not allowed together with file, which holds the radii")
    elif group.file is None and group.radius is None and group.shape is None:
        yield Problem((*where, "radius"), f"is missing; particles with {given[0]} need one")


def _sizes(group: ParticleGroup, where: Location) -> Iterator[Problem]:
    try:
        _ = None if group.radius is None else sizes_of(group.radius)
    except InputError as error:
        yield Problem((*where, "radius"), str(error))


def _fill(case: CaseData, fill: FillKeys, where: Location) -> Iterator[Problem]:
    given = [key for key in ("count", "volume_fraction", "mass", "pressure") if getattr(fill, key) is not None]
    if len(given) > 1:
        yield Problem((*where, given[1]), f"is not allowed together with {given[0]}")
    if fill.arrangement == "packed":
        yield from _packed(case, fill, where, counted=given not in ([], ["pressure"]))
    elif fill.pressure is not None:
        yield Problem((*where, "pressure"), 'presses packings: give arrangement = "packed", or leave it out')
    if fill.connected_to is not None and not fill.avoid_walls:
        yield Problem((*where, "avoid_walls"), "must be true with connected_to: walls bound what is filled")
    if not given and fill.arrangement == "random":
        yield Problem((*where, "count"), "is missing; a random arrangement needs count, volume_fraction or mass")
    whole = getattr(fill, "upper", None) == case.domain.upper  # then any problem is reported for the domain
    regions: list[tuple[Any, Location]] = [] if whole else [(fill, where)]
    regions += [(region, (*where, "exclude", index)) for index, region in enumerate(fill.exclude)]
    for region, location in regions:
        yield from region_problems(region, location)


def _packed(case: CaseData, fill: FillKeys, where: Location, *, counted: bool) -> Iterator[Problem]:
    """Reject keys that packings do not support."""
    packed = [one.fill for one in case.particles if one.fill is not None and one.fill.arrangement == "packed"]
    if fill.pressure is not None and len(case.particles) > 1:
        text = "is that of one packing, but there are other groups of particles; leave one of the two out"
        yield Problem((*where, "pressure"), text)
    elif not counted and len(packed) > 1:
        text = "is missing: several groups are packed, and each needs a number of particles"
        yield Problem((*where, "volume_fraction"), f"{text}; give count, volume_fraction or mass")


def _walls(case: CaseData) -> Iterator[Problem]:
    names: dict[str, int] = {}
    for index, wall in enumerate(case.walls):
        where = ("walls", index)
        yield from _material(case, where, wall.material)
        yield from _motion(case, wall, where)
        yield from driven_problems(case, wall, where)
        if wall.surface is not None:
            yield from surface_problems(case.domain.dimension, wall.surface, (*where, "surface"))
        yield from wear_problems(case, wall, where)
        if isinstance(wall, ShapeWall):
            yield from wall.problems(case.domain, where)
        if wall.name in names:
            text = f"({wall.name!r}) is taken by walls[{names[wall.name]}]; give each wall its own name"
            yield Problem((*where, "name"), text)
        names[wall.name] = index


def _motions(case: CaseData) -> Iterator[Problem]:
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


def _motion(case: CaseData, moving: MovingFrame, where: Location) -> Iterator[Problem]:
    if moving.on is not None and moving.on not in case.motions:
        yield Problem((*where, "on"), f"is no motion of this case; {name_hint(moving.on, list(case.motions))}")
    for key, kind in moving.kinds().items():
        if isinstance(kind, RotationKind):
            yield from direction_problems(kind.axis, (*where, key, "axis"))
        if kind.values_key:
            yield from table_problems(kind, kind.values_key, (*where, key))


def _detection(case: CaseData) -> Iterator[Problem]:
    levels, sizes = case.detection.levels, case.detection.cell_sizes
    if not isinstance(levels, str) and not isinstance(sizes, str) and levels != len(sizes):
        text = f"does not agree with the {len(sizes)} entries of detection.cell_sizes; leave one of them out"
        yield Problem(("detection", "levels"), text)


def contact_pairs(case: CaseData, of_particles: Sequence[str] | None = None) -> list[tuple[str, str, bool]]:
    """Return the pairs of materials that can touch: particle, partner, and whether the partner is a wall or fixed.

    `of_particles` are materials of particles to use instead of those of the case.
    """
    if of_particles is None:
        of_particles = particle_materials(case)
    fixed = [group.material for group in case.particles if group.fixed]
    of_walls = list(dict.fromkeys([*(wall.material for wall in case.walls), *fixed]))
    pairs = [(first, second, False) for index, first in enumerate(of_particles) for second in of_particles[index:]]
    return pairs + [(particle, wall, True) for particle in of_particles for wall in of_walls]


def _contact_pairs(case: CaseData) -> Iterator[Problem]:
    yield from contact_pair_problems(case, contact_pairs(case))


def contact_pair_problems(case: CaseData, pairs: Iterable[tuple[str, str, bool]]) -> Iterator[Problem]:
    """Yield a problem for each pair of materials in possible contact without interaction, or with both rigid."""
    reported: set[frozenset[str]] = set()
    for first, second, is_wall in pairs:
        pair = frozenset((first, second))
        if pair in reported:
            continue
        reported.add(pair)
        interaction = case.interaction(first, second)
        if interaction is None:
            walls = is_wall and any(wall.material == second for wall in case.walls)
            who = f"particles of {first!r} can touch {'walls' if walls else 'particles'} of {second!r}"
            text = f"is missing; {who}; [interactions.default] is for all pairs that are not named"
            yield Problem(("interactions", f"{first}-{second}"), text)
        elif interaction.from_materials:
            yield from _rigid_pair(case.materials, first, second)


def density_problems(case: CaseData, material: str) -> Iterator[Problem]:
    """Yield a problem if a material of particles has no density."""
    if case.materials[material].density is None:
        yield Problem(("materials", material, "density"), "is missing; particles are made of this material")


def _rigid_pair(materials: dict[str, Material], first: str, second: str) -> Iterator[Problem]:
    if materials[first].rigid and materials[second].rigid:
        text = f"is missing; {first!r} touches {second!r} as elastic spheres do and one of the two must be elastic"
        yield Problem(("materials", first, "youngs_modulus"), text)


def _periodic_width(case: CaseData) -> Iterator[Problem]:
    yield from periodic_width_problems(case, largest_given_radius(case))


def periodic_width_problems(case: CaseData, largest_radius: float) -> Iterator[Problem]:
    """Yield a problem for each periodic axis too short for particles up to `largest_radius` (m).

    The box must be at least two largest diameters wide: a particle must not touch a neighbour and its image.
    """
    for axis in range(3):
        width = case.domain.upper[axis] - case.domain.lower[axis]
        if case.domain.periodic[axis] and width < 4.0 * largest_radius:
            text = (
                f"makes the periodic box {width:g} m wide along {AXES[axis]}, "
                f"less than two of the largest diameters ({4.0 * largest_radius:g} m): widen it"
            )
            yield Problem(("domain", "upper", axis), text)


def _paths(case: CaseData) -> Iterator[Problem]:
    """Reject file names with control letters, which arise from a backslash in quotes."""
    for where, text in _file_names(case, ()):
        if not text.isprintable():
            meant = json.dumps(text, ensure_ascii=False)[1:-1].replace("\\", "/")
            yield Problem(where, f"has a control letter: in quotes a backslash begins a code; write slashes: {meant!r}")


def _file_names(section: Section, where: Location) -> Iterator[tuple[Location, str]]:
    """Yield the location of each name of a file in a section, and the name."""
    for key, value in section:
        if key in _FILES and isinstance(value, str):
            yield (*where, key), value
        if isinstance(value, Section):
            yield from _file_names(value, (*where, key))
        many = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, tuple) else ()
        for part, one in many:
            if isinstance(one, Section):
                yield from _file_names(one, (*where, key, part))


def _placements(case: CaseData) -> Iterator[Problem]:
    """Yield a problem for each axis of a rotation without direction, in walls and faces."""
    placed = {("walls", index): wall for index, wall in enumerate(case.walls)}
    faces = {("insertions", index, "face"): one.face for index, one in enumerate(case.insertions)}
    faces |= {("sensors", index, "face"): one.face for index, one in enumerate(case.sensors)}
    for where, mesh in (*placed.items(), *faces.items()):
        if isinstance(mesh, PlacedMesh):
            several = isinstance(mesh.rotate, tuple)
            for number, one in enumerate(mesh.rotate if isinstance(mesh.rotate, tuple) else (mesh.rotate,)):
                place = (*where, "rotate", number) if several else (*where, "rotate")
                yield from direction_problems(one.axis, (*place, "axis"))
