"""Properties of a shape made of spheres: its mass properties by several rules, and its pieces."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.meshes.solid import Solid, inertia_of
from pdem.containers.principal_axes import principal_axes
from pdem.foundation import exact_math
from pdem.numerics.components import components

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pdem.containers.sphere_lists import SphereList
    from pdem.foundation.array_types import Floats, Integers

MANY = 100
"""Number of spheres above which a warning says that contacts cost more than the detail of the shape is worth."""

CONTRADICTION = 0.01
"""Relative difference of volume or a principal moment above which a file contradicts its spheres."""


def sum_of_spheres(centre: Floats, radius: Floats) -> Solid:
    """Return volume, centre and inertia of spheres (n, 3), (n,) [m]; overlapping regions count several times."""
    volume = 4.0 / 3.0 * math.pi * radius * radius * radius
    total = exact_math.total(volume)
    middle = exact_math.totals(volume[:, None] * centre) / total
    away = centre - middle
    second = exact_math.totals(volume[:, None, None] * away[:, :, None] * away[:, None, :])
    own = 0.4 * exact_math.total(volume * radius * radius)
    return Solid(total, middle, own * np.eye(3) + inertia_of(second))


def solid_of_list(spheres: SphereList) -> Solid | None:
    """Return the mass properties in the file of a shape, None if it has none."""
    if spheres.volume is None or spheres.inertia_per_mass is None:
        return None
    return Solid(spheres.volume, np.zeros(3), spheres.volume * np.diag(spheres.inertia_per_mass))


def scaled(spheres: SphereList, factor: float) -> SphereList:
    """Return the spheres in other units: m for a `factor` of m per unit."""
    volume, inertia = spheres.volume, spheres.inertia_per_mass
    return spheres._replace(
        centre=factor * spheres.centre, radius=factor * spheres.radius,
        volume=None if volume is None else factor * factor * factor * volume,
        inertia_per_mass=None if inertia is None else factor * factor * inertia,
    )  # fmt: skip


def pieces_of(centre: Floats, radius: Floats) -> int:
    """Return the number of separate pieces of a shape, which do not touch each other."""
    apart = exact_math.norm(centre[:, None] - centre)
    first, second = np.nonzero(apart <= (1.0 + 1e-12) * (radius[:, None] + radius))
    return int(components(first, second, len(radius)).max(initial=-1)) + 1


def hidden_in(centre: Floats, radius: Floats) -> Integers:
    """Return the spheres that are inside another sphere; of identical spheres, all but the first."""
    apart = exact_math.norm(centre[:, None] - centre)
    inside = apart + radius[:, None] <= radius * (1.0 + 1e-12)
    both = inside & inside.T
    return np.flatnonzero((inside & ~both).any(axis=1) | np.tril(both, -1).any(axis=1))


def shape_warnings(centre: Floats, radius: Floats, rules: Mapping[str, Solid]) -> Iterator[str]:
    """Yield warnings about a shape, with mass properties by rule."""
    pieces, hidden = pieces_of(centre, radius), hidden_in(centre, radius)
    if pieces > 1:
        yield f"the shape is in {pieces} pieces that do not touch: add spheres between them, or make them larger"
    if len(hidden):
        yield f"{len(hidden)} spheres are inside others (sphere {hidden[0] + 1}) and change nothing: leave them out"
    if len(radius) > MANY:
        yield f"{len(radius)} spheres make many contacts: {MANY} or fewer have nearly any shape"
    for rule, where in (("file", "in the file"), ("given", "as given")):
        for name, share in differences(rules[rule], rules["union"]) if rule in rules else ():
            if abs(share) > CONTRADICTION:
                yield (
                    f"{name} {where} differs by {100.0 * share:+.2g} % from that of the union of its spheres: decide "
                    "which counts"
                )


def differences(one: Solid, other: Solid) -> Iterator[tuple[str, float]]:
    """Yield the relative differences of volume, centre and moments over mass between two solids."""
    yield "the volume", one.volume / other.volume - 1.0
    away = float(exact_math.norm(one.centre - other.centre))
    yield "the centre of mass, over the size,", away / exact_math.cbrt(other.volume)
    own, same = (np.sort(principal_axes(solid.inertia)[0]) / solid.volume for solid in (one, other))
    for number, share in enumerate((own / same - 1.0).tolist()):
        yield f"the {('smallest', 'middle', 'largest')[number]} moment over mass", share
