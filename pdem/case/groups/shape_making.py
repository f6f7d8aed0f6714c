"""Creation of shapes from their sections, separate from `pdem.case.groups.shapes` because it needs compiled code."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.sections.shapes import GivenMass
from pdem.containers.meshes.solid import Solid
from pdem.containers.sphere_lists import SphereList, require_possible
from pdem.foundation.errors import InputError
from pdem.particles.clusters.cluster_shapes import scaled
from pdem.particles.clusters.shape_files import ShapeFile, mass_rules, read_shape
from pdem.particles.clusters.shapes import ClusterShape

if TYPE_CHECKING:
    from pathlib import Path

    from pdem.case.sections.shapes import Shape


@lru_cache(maxsize=64)
def made_shape(section: Shape, path: Path | None, stamp: int | None) -> tuple[ClusterShape, dict[str, Solid]]:
    """Return a shape, and its mass properties by rule.

    Parameters
    ----------
    section : Shape
        Section of the case.
    path : Path or None
        Its file.
    stamp : int or None
        Modification time, by which a rewritten file is recognised.

    Raises
    ------
    InputError, MeshError
        If the file cannot be used, or the mass properties are not those of a body.
    """
    found = _spheres(section, path)
    solids, wanted = mass_rules(found), section.mass_properties
    rule: str = "given" if isinstance(wanted, GivenMass) else wanted
    if section.bonds is not None:
        rule = "sum"  # each sphere has its own mass
    if isinstance(wanted, GivenMass):
        solids["given"] = _given(wanted)
    if rule not in solids:
        raise InputError(
            f'mass_properties = "{rule}": the shape has none; there are {", ".join(solids)}, or give a table'
        )
    if rule in ("given", "file"):
        where = "mass_properties" if rule == "given" else f"{path}"
        require_possible(solids[rule], f"{where}.inertia" if rule == "given" else f"{where}: Inertia")
        _require_inside(solids[rule], found.spheres, where)
    return ClusterShape.of(found.spheres.centre, found.spheres.radius, solids[rule]), solids


def _spheres(section: Shape, path: Path | None) -> ShapeFile:
    if path is not None:
        return read_shape(path, section.scale, section.most_spheres, section.error)
    given = np.array(section.spheres, np.float64)
    return ShapeFile(scaled(SphereList(given[:, :3], given[:, 3]), section.scale), {})


def _require_inside(solid: Solid, spheres: SphereList, where: str) -> None:
    """Require that a centre of mass is inside the box around the spheres, as for every real body."""
    reach = spheres.radius[:, None]
    lower, upper = (spheres.centre - reach).min(axis=0), (spheres.centre + reach).max(axis=0)
    if ((solid.centre < lower) | (solid.centre > upper)).any():
        raise InputError(
            f"{where}: the centre of mass {solid.centre.tolist()} m is outside the box around the spheres, "
            f"{lower.tolist()} to {upper.tolist()} m; move one of them"
        )


def _given(rule: GivenMass) -> Solid:
    xx, yy, zz, xy, xz, yz = rule.inertia
    tensor = rule.volume * np.array(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
    return Solid(rule.volume, np.array(rule.centre), tensor)
