"""Limits of the time step by the bonds of a case."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.case.groups.fixed_groups import number_of_fixed
from pdem.case.groups.flexible import FLEXIBLE, FLEXIBLE_SHAPE
from pdem.case.groups.group_sizes import sphere_limits
from pdem.case.groups.particle_files import read_particle_file
from pdem.case.groups.particle_sources import smallest_radii
from pdem.case.groups.shapes import is_flexible, shape_of
from pdem.case.input_files import contents_of, input_files
from pdem.features.bonds.bond_steps import BondNetwork, bounded_step, close_packed_step, stable_step
from pdem.features.bonds.bond_stiffness import damping_coefficients, inverse_inertias, stiffnesses
from pdem.features.bonds.selection import (
    bonds_of_all,
    branches_of,
    elasticity_of,
    inverse_masses_of,
    kinds_of_stage,
    pair_materials,
    sections_of,
)
from pdem.features.bonds.shape_bonds import kinds_of_shapes
from pdem.numerics.geometry_kernels import SPHERE_INERTIA, sphere_mass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from numpy.typing import NDArray

    from pdem.case.groups.group_sizes import Group
    from pdem.case.sections.schema import CaseData
    from pdem.features.bonds.kernel import BondColumns
    from pdem.foundation.array_types import Integers

    Columns = Mapping[str, NDArray[Any]]

MOST_BONDS = 50_000
"""Largest number of bonds for which the highest frequency is computed; for more bonds it is bounded."""

_DIGITS = 5
"""Significant digits of a limit: few enough to be the same on all processors."""


class BondLimit(NamedTuple):
    """A limit of the time step by bonds.

    Attributes
    ----------
    time : float
        The limit [s].
    subject : str
        Which bonds the limit holds for, and how it was computed.
    """

    time: float
    subject: str


def bond_network(case: CaseData, particles: Columns, kinds: Collection[str]) -> BondNetwork:
    """Return the bonds of some kinds among all particles of a case at the start of its run.

    Parameters
    ----------
    case : CaseData
        The case.
    particles : mapping of str to (n, ...) array
        Columns of the particles of all ranks, see `.selection.select_bonds`.
    kinds : collection of str
        Names of the kinds of bonds.

    Raises
    ------
    CaseError
        See `.selection.bonds_of_all`.
    """
    order = np.argsort(particles["id"], kind="stable")
    table = {name: column[order] for name, column in particles.items()}
    return network_among(case, table, *bonds_of_all(case, table, kinds))


def network_among(case: CaseData, table: Columns, pairs: Integers, columns: BondColumns) -> BondNetwork:
    """Return bonds with ids `pairs` (b, 2) as a network of the particles of a table that is sorted by id."""
    rows = np.searchsorted(table["id"], pairs)
    inverse = inverse_masses_of(case, table)
    return BondNetwork(
        rows, branches_of(case, table["position"], rows), columns.stiffness, columns.damping, inverse,
        inverse_inertias(inverse, table["radius"]), case.domain.dimension,
    )  # fmt: skip


def limit_of(network: BondNetwork) -> BondLimit:
    """Return the limit of the step by existing bonds: exact for up to `MOST_BONDS` bonds, else a lower bound of it."""
    number = f"{len(network.rows):,} bonds"
    if len(network.rows) <= MOST_BONDS:
        return BondLimit(_rounded(stable_step(network)), number)
    return BondLimit(_rounded(bounded_step(network)), f"{number}, particle by particle")


def _rounded(time: float) -> float:
    """Return a time without the digits that depend on the processor."""
    return float(f"{time:.{_DIGITS}g}")


def bond_step_limits(case: CaseData) -> tuple[BondLimit, ...]:
    """Return the limits of the step by the bonds of a case; none without bonds.

    If the case gives all particles by positions or files, the limit follows from their bonds. If some particles fill a
    region, or bonds begin with a later stage, it follows from the smallest spheres in closest packing; the checks
    before a run compute the limit of the actual bonds at its start. Flexible particles have the limit of a single one
    of the smallest size.

    Raises
    ------
    CaseError
        If a file cannot be read, or particles cannot be joined.
    """
    if not case.bonds:
        return ()
    sections = case.model_dump_json(include={"bonds", "particles", "insertions", "shapes", "materials", "domain"})
    files = contents_of(input_files(case))
    return _limits(_Keyed(case, (sections, str(case.path), str(sorted(files.items())))))


class _Keyed:
    """A case with a key; two such cases are equal if their keys are."""

    def __init__(self, case: CaseData, key: tuple[str, ...]) -> None:
        self.case, self._key = case, key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Keyed) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(maxsize=8)
def _limits(keyed: _Keyed) -> tuple[BondLimit, ...]:
    case = keyed.case
    return (*_limits_between(case), *limits_of_shapes(case))


def _limits_between(case: CaseData) -> Iterator[BondLimit]:
    """Yield the limits of all kinds of bonds except kinds of flexible particles."""
    kinds, first = [name for name in case.bonds if name not in kinds_of_shapes(case)], kinds_of_stage(case, 0)
    early = [name for name in kinds if name in first]
    given = particles_given(case) if early else None
    if given is not None:
        yield limit_of(bond_network(case, given, early))
    for name in kinds if given is None else [name for name in kinds if name not in first]:
        yield from _limits_of_packing(case, name)


def limits_of_shapes(case: CaseData) -> Iterator[BondLimit]:
    """Yield the limits of single flexible particles of the smallest size of each group and insertion."""
    groups: list[Group] = [*case.particles, *case.insertions]
    for group in groups:
        if group.shape is None or not is_flexible(case, group.shape):
            continue
        kind, limits = case.shapes[group.shape].bonds, sphere_limits(case, group)
        assert kind is not None
        assert limits is not None, "a group with a shape has sizes"
        network = bond_network(case, _single_particle(case, group, limits[0]), [kind])
        subject = f"bonds.{kind} in shapes.{group.shape} with spheres of radius {limits[0]:g} m or more"
        yield BondLimit(_rounded(stable_step(network)), subject)


def _single_particle(case: CaseData, group: Group, smallest: float) -> dict[str, NDArray[Any]]:
    """Return the spheres of a flexible particle of a group, given the radius of its smallest sphere [m]."""
    name = group.shape or ""
    shape = shape_of(case, name)
    scale, one = smallest / float(shape.radius.min()), np.ones(len(shape.radius), np.int64)
    return {
        "id": np.arange(len(one)), "position": scale * shape.centre, "radius": scale * shape.radius,
        "material": case.material_index(group.material) * one, FLEXIBLE: one,
        FLEXIBLE_SHAPE: (list(case.shapes).index(name) + 1) * one,
    }  # fmt: skip


def particles_given(case: CaseData) -> dict[str, NDArray[Any]] | None:
    """Return the particles of a case that gives all groups by positions or files; None if groups fill a region.

    Raises
    ------
    CaseError
        If a file of particles cannot be read.
    """
    if (
        not case.particles
        or any(group.fill is not None or group.shape is not None for group in case.particles)
        or case.perturbation
    ):
        return None
    parts = []
    for index, group in enumerate(case.particles):
        if group.file is not None:
            read = read_particle_file(case, index)
            position, radius = read["position"], read["radius"]
        else:
            position = np.array(group.positions, dtype=np.float64).reshape(-1, 3)
            if not isinstance(group.radius, float):
                return None
            radius = np.full(len(position), group.radius)
        count = len(position)
        material = np.full(count, case.material_index(group.material))
        fixed = np.full(count, number_of_fixed(case, index))
        parts.append({"position": position, "radius": radius, "material": material, "fixed": fixed})
    table = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return {**table, "id": np.arange(len(table["radius"]))}


def _limits_of_packing(case: CaseData, name: str) -> Iterator[BondLimit]:
    """Yield the limits of the smallest spheres of each material that bonds of a kind join, in closest packing."""
    section, smallest = case.bonds[name], smallest_radii(case)
    for material in dict.fromkeys(pair_materials(case, name) or smallest):
        if material not in smallest:
            continue
        radius = smallest[material]
        mass = float(sphere_mass.py_func(case.materials[material].density or 0.0, radius))
        inertia, length = SPHERE_INERTIA * mass * (radius * radius), np.array([2.0 * radius])
        stiffness = stiffnesses(sections_of(section, np.array([radius])), length, elasticity_of(section))
        inverse = np.array([[1.0 / mass] * 2]), np.array([[1.0 / inertia] * 2])
        damping = damping_coefficients(stiffness, length, *inverse, section.damping_ratio)
        time = close_packed_step(stiffness[0], damping[0], float(length[0]), mass, inertia)
        yield BondLimit(_rounded(time), f"bonds.{name} in closest packing of radius {radius:g} m")
