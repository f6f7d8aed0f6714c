"""Particles of several spheres that are inserted between two steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.groups.initial_clusters import made_clusters
from pdem.case.groups.shapes import has_clusters, has_flexible, is_flexible, shapes_of
from pdem.containers.clusters import Clusters, states_of
from pdem.engine.clusters.energy import cluster_energies
from pdem.foundation import exact_math
from pdem.foundation.errors import InputError, name_hint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.engine.system import System
    from pdem.foundation.array_types import Floats, Integers

    Columns = dict[str, NDArray[Any]]


def numbers_of_members(case: Case, columns: Mapping[str, NDArray[Any]]) -> Integers:
    """Return the number of spheres of each new particle, by its column ``shape``."""
    numbers = np.ones(len(columns["radius"]), np.int64)
    if "shape" in columns:
        shape, sizes = columns["shape"], np.array([len(one.radius) for one in shapes_of(case).values()], np.int64)
        numbers[shape >= 0] = sizes[shape[shape >= 0]]
    return numbers


def insert_clusters(system: System, columns: Mapping[str, NDArray[Any]]) -> list[Floats]:
    """Add clusters to the table of this rank; return their energies [J], see `cluster_energies`."""
    if system.clusters is None or not columns:
        return []
    table, new = system.clusters.table, Clusters(system.clusters.table.shapes)
    new.replace(columns["number"], columns["image"], states_of(columns))
    own = slice(0, table.count)
    table.replace(
        np.concatenate((table.number[own], new.number)), np.concatenate((table.image, new.image)),
        np.concatenate((table.states[own], new.states)),
    )  # fmt: skip
    return cluster_energies(new, system.constants)


def as_clusters(case: Case, columns: Columns, shape: Any, orientation: Floats) -> Columns:
    """Return the columns of particles of a shape that replace spheres of the same volume.

    Parameters
    ----------
    case : Case
        The case.
    columns : columns
        Columns of the spheres.
    shape : str
        Name of the shape.
    orientation : (n, 4) array
        Quaternions, w first, of any length but 0.

    Raises
    ------
    InputError
        If the case has no such shape, no particles that are rigid or flexible as this shape, or an orientation is 0.
    """
    shapes = shapes_of(case)
    if not shapes:
        raise InputError("no particles of the case have a shape; give one to a group or an insertion of the case")
    if shape not in shapes:
        names = list(shapes)
        raise InputError(f"shape {shape!r} is none of the case: {', '.join(names)}; {name_hint(str(shape), names)}")
    if not (has_flexible(case) if is_flexible(case, shape) else has_clusters(case)):
        kind = "flexible" if is_flexible(case, shape) else "rigid clusters"
        raise InputError(
            f"shape {shape!r}: no particles of the case are {kind}; give a group or an insertion this shape"
        )
    length = exact_math.norm(orientation)
    if (length == 0.0).any():
        raise InputError(f"orientation[{int(np.argmin(length))}] is 0; give a quaternion w, x, y, z")
    chosen = shapes[shape]
    return {
        **columns, "radius": columns["radius"] * (chosen.reach / chosen.equivalent_radius),
        "shape": np.full(len(length), list(shapes).index(shape)), "orientation": orientation / length[:, None],
    }  # fmt: skip


def spheres_of(case: Case, columns: Columns) -> Columns:
    """Return the spheres of some new particles, for checks.

    Spheres of shapes have ``row``, the row of their cluster, which also replaces ids, and ``centre``, its position.
    """
    if "shape" not in columns:
        return columns
    numbers = numbers_of_members(case, columns)
    first = np.cumsum(numbers) - numbers
    members, _ = made_clusters(case, {**columns, "id": first})
    row = np.repeat(np.arange(len(numbers)), numbers)
    return {**members, "id": row, "row": row, "centre": columns["position"][row]}
