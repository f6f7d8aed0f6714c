"""Flexible particles: which spheres of their shapes bonds join, and mistakes in such shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.case.groups.flexible import FLEXIBLE, FLEXIBLE_SHAPE
from pdem.case.groups.group_sizes import sphere_limits
from pdem.case.groups.shapes import is_flexible, is_in_file, shape_of, used_shapes
from pdem.case.messages import Problem, nearest_key_hint, shown_key
from pdem.case.sections.shapes import GivenMass
from pdem.features.bonds.section import Metres
from pdem.foundation import exact_math
from pdem.foundation.errors import CaseError
from pdem.foundation.fields import Field
from pdem.numerics.components import components

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, TypeAlias

    from numpy.typing import NDArray

    from pdem.case.groups.group_sizes import Group
    from pdem.case.sections.schema import CaseData
    from pdem.case.sections.shapes import Shape
    from pdem.foundation.array_types import Floats, Integers

    Columns = Mapping[str, NDArray[Any]]
    Location: TypeAlias = tuple[str | int, ...]

TOUCHING = 1e-6
"""Gap or overlap of two spheres, over the sum of their radii, up to which they touch: digits of a file are rounded."""

FLEXIBLE_FIELDS = (
    Field(FLEXIBLE, np.int64, (), "1", "number of its flexible particle, 0 for other spheres"),
    Field(FLEXIBLE_SHAPE, np.int64, (), "1", "number of the shape of its flexible particle plus one, or 0"),
)
"""Fields of the spheres of cases with flexible particles."""

_SHOWN = 5


class ShapeSpheres(NamedTuple):
    """The spheres of a shape.

    Attributes
    ----------
    centre, radius : (n, 3) and (n,) arrays
        Centres and radii [m].
    """

    centre: Floats
    radius: Floats

    def near(self, share: float) -> Integers:
        """Return the pairs (k, 2) of spheres that are not farther apart than a share of the sum of their radii."""
        first, second = np.triu_indices(len(self.radius), 1)
        apart = exact_math.norm(self.centre[first] - self.centre[second])
        close = apart <= share * (self.radius[first] + self.radius[second])
        return np.stack((first[close], second[close]), axis=1)


def kinds_of_shapes(case: CaseData) -> dict[str, list[str]]:
    """Return the names of the shapes with each kind of bonds, for kinds that join the spheres of shapes."""
    kinds: dict[str, list[str]] = {}
    for name, shape in case.shapes.items():
        if shape.bonds is not None:
            kinds.setdefault(shape.bonds, []).append(name)
    return kinds


def joined_spheres(shape: Shape, spheres: ShapeSpheres) -> Integers:
    """Return the pairs (k, 2) of spheres of a flexible shape that bonds join, each pair and all pairs in order."""
    if shape.links is not None:
        return np.unique(np.sort(np.array(shape.links, np.int64), axis=1), axis=0)
    return spheres.near(1.0 + TOUCHING)


def links_of(case: CaseData, name: str) -> Integers:
    """Return `joined_spheres` of a shape of a case.

    Raises
    ------
    CaseError
        If the file of the shape cannot be used.
    """
    shape = shape_of(case, name)
    return joined_spheres(case.shapes[name], ShapeSpheres(shape.centre, shape.radius))


def rows_in_shapes(case: CaseData, kind: str, table: Columns) -> Integers:
    """Return the rows (b, 2) of the ends of the bonds of a kind in new flexible particles.

    `table` has the particles sorted by id, with all spheres of each flexible particle.
    """
    found = [np.empty((0, 2), np.int64)]
    for number, (name, shape) in enumerate(case.shapes.items()):
        if shape.bonds == kind and FLEXIBLE_SHAPE in table:
            first = np.unique(table[FLEXIBLE][table[FLEXIBLE_SHAPE] == number + 1]) - 1
            if len(first):
                ids = (first[:, None, None] + links_of(case, name)).reshape(-1, 2)
                found.append(np.searchsorted(table["id"], ids))
    return np.concatenate(found)


def require_flexible_shapes(case: CaseData) -> None:
    """Check the flexible shapes in use, whether the case or a file has their spheres.

    Raises
    ------
    CaseError
        With a line for each problem, see `flexible_problems`; or if the file of a shape cannot be used.
    """
    lines = []
    for name in used_shapes(case):
        if is_flexible(case, name):
            shape = shape_of(case, name)
            found = [*_of_spheres(case, name, ShapeSpheres(shape.centre, shape.radius)), *_of_widths(case, name)]
            lines += [f"{case.source}: {shown_key(one.location)}: {one.text}" for one in found]
    if lines:
        raise CaseError("\n".join(lines))


def flexible_problems(case: CaseData) -> Iterator[Problem]:
    """Yield the problems of shapes with bonds, without opening files."""
    for name, shape in case.shapes.items():
        where: Location = ("shapes", name)
        if shape.bonds is None:
            if shape.links is not None:
                yield Problem((*where, "links"), "are joined by bonds: name their kind, bonds = ..., or remove links")
            continue
        found = [*_of_kind(case, shape, where), *_of_use(case, name)]
        if not is_in_file(case, name) and shape.spheres is not None:
            given = np.array(shape.spheres) * shape.scale
            found += _of_spheres(case, name, ShapeSpheres(given[:, :3], given[:, 3]))
        yield from found
        if not found and not is_in_file(case, name):
            yield from _of_widths(case, name)


def _of_kind(case: CaseData, shape: Shape, where: Location) -> Iterator[Problem]:
    """Yield the problems of the kind of bonds, and of keys that rigid shapes alone have."""
    kind = shape.bonds or ""
    if kind not in case.bonds:
        hint = nearest_key_hint(kind, list(case.bonds)) if case.bonds else f"add [bonds.{kind}]"
        yield Problem((*where, "bonds"), f"is no kind of bonds of the case; {hint}")
    else:
        given = [key for key in ("between", "gap", "file") if getattr(case.bonds[kind], key) is not None]
        if given:
            text = f"joins other spheres as well, by bonds.{kind}.{given[0]}; remove {' and '.join(given)} from that "
            yield Problem((*where, "bonds"), f"{text}kind, or give the shape a kind of its own")
        if case.bonds[kind].stage is not None:
            text = "has no influence on flexible particles, which have their bonds from the beginning; remove it"
            yield Problem(("bonds", kind, "stage"), text)
    if isinstance(shape.mass_properties, GivenMass) or shape.mass_properties in ("file", "mesh"):
        text = "belongs to rigid shapes; each sphere of a flexible one has its own mass: remove it, or bonds"
        yield Problem((*where, "mass_properties"), text)


def _of_use(case: CaseData, name: str) -> Iterator[Problem]:
    """Yield the problems of groups with a flexible shape."""
    for index, group in enumerate(case.particles):
        if group.shape == name and group.fixed:
            text = f"fixes both ends of all bonds of shapes.{name}; remove fixed, or use a shape without bonds"
            yield Problem(("particles", index, "fixed"), text)


def _of_spheres(case: CaseData, name: str, spheres: ShapeSpheres) -> Iterator[Problem]:
    """Yield the problems of the spheres of a flexible shape and of their links."""
    shape, where, count = case.shapes[name], ("shapes", name), len(spheres.radius)
    if count == 1:
        text = "joins two spheres or more, and the shape has a single one; add spheres, or remove bonds"
        yield Problem((*where, "bonds"), text)
        return
    wrong = list(_of_links(shape, where, count))
    yield from wrong
    if not wrong:
        yield from _of_pairs(where, spheres, joined_spheres(shape, spheres))


def _of_links(shape: Shape, where: Location, count: int) -> Iterator[Problem]:
    """Yield the problems of the links of a shape with a number of spheres."""
    before: dict[tuple[int, ...], int] = {}
    for index, link in enumerate(shape.links or ()):
        here = (*where, "links", index)
        if max(link) >= count:
            yield Problem(here, f"names sphere {max(link)}, and the shape has the spheres 0 to {count - 1}")
        elif link[0] == link[1]:
            yield Problem(here, "joins a sphere with itself; give two different spheres")
        elif (known := before.setdefault(tuple(sorted(link)), index)) != index:
            yield Problem(here, f"joins the same spheres as links[{known}]; remove one of them")


def _of_pairs(where: Location, spheres: ShapeSpheres, links: Integers) -> Iterator[Problem]:
    """Yield the problems of spheres that are at one place, in separate pieces, or overlap without a bond."""
    same = np.flatnonzero((spheres.centre[links[:, 0]] == spheres.centre[links[:, 1]]).all(axis=1))
    if len(same):
        text = f"spheres {_pair(links[same[0]])} have the same centre, and a bond needs a length; remove one of them"
        yield Problem(where, text)
    piece = components(links[:, 0], links[:, 1], len(spheres.radius))
    if piece.max() > 0:
        apart = np.flatnonzero(piece != piece[0])
        text = f"no bonds join spheres {_listed(apart.tolist())} to sphere 0: let neighbours touch, or add to links"
        yield Problem(where, text)
    over = spheres.near(1.0 - TOUCHING)
    free = over[~(over[:, None] == links).all(axis=2).any(axis=1)] if len(links) else over
    if len(free):
        text = f"spheres {_listed([_pair(one) for one in free])} overlap without a bond, and would push each other "
        yield Problem((*where, "links"), f"{text}apart: add these pairs, or move the spheres apart")


def _of_widths(case: CaseData, name: str) -> Iterator[Problem]:
    """Yield the problems of groups and insertions with spheres that are narrower than the bonds between them."""
    kind = case.shapes[name].bonds or ""
    given = case.bonds[kind].radius
    if not isinstance(given, Metres):
        return
    shape, links = shape_of(case, name), links_of(case, name)
    share = float(shape.radius[links].min()) / float(shape.radius.min())
    parts: list[tuple[Location, Group]] = [(("particles", k), one) for k, one in enumerate(case.particles)]
    parts += [(("insertions", k), one) for k, one in enumerate(case.insertions)]
    for where, group in parts:
        limits = sphere_limits(case, group) if group.shape == name else None
        if limits is not None and given.metres > share * limits[0] * (1.0 + TOUCHING):
            text = f"bonds.{kind}.radius = {given.metres:g} m is wider than the smallest sphere at its bonds, of "
            text += f"{share * limits[0]:.4g} m; give at most that, or a share of it without metres"
            yield Problem((*where, "shape"), text)


def _pair(both: Integers) -> str:
    return f"{both[0]} and {both[1]}"


def _listed(items: list[Any]) -> str:
    """Return the first items as text."""
    return ", ".join(map(str, items[:_SHOWN])) + (f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else "")
