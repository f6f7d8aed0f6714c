"""Selection of bonded pairs: spheres of two materials within a gap, pairs of a file, or spheres of flexible shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.groups.flexible import FLEXIBLE, FLEXIBLE_COLUMNS
from pdem.case.messages import shown_key
from pdem.case.sections.materials import split_pair
from pdem.case.stage_cases import stage_named
from pdem.containers.group import on_first_rank
from pdem.detection.find_pairs import find_pairs
from pdem.features.bonds.bond_stiffness import Elasticity, RoundSection
from pdem.features.bonds.kernel import BondColumns
from pdem.features.bonds.pair_lists import read_pairs
from pdem.features.bonds.reference import BondModel, EndStates, new_bonds
from pdem.features.bonds.section import Metres
from pdem.features.bonds.shape_bonds import rows_in_shapes
from pdem.features.bonds.strengths import strengths_of
from pdem.foundation import exact_math
from pdem.foundation.errors import CaseError
from pdem.foundation.id_sets import pairs_among
from pdem.numerics.geometry_kernels import sphere_mass

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from pdem.case.sections.schema import CaseData
    from pdem.containers.group import Group
    from pdem.containers.particles import Particles
    from pdem.features.bonds.section import BondSection, SectionRadius
    from pdem.foundation.array_types import Booleans, Floats, Integers

    Columns = Mapping[str, NDArray[Any]]

NEEDED = ("id", "position", "radius", "material", "fixed", "orientation", "cluster", *FLEXIBLE_COLUMNS)
"""Columns of particles that the selection of bonds reads."""


def kinds_of_stage(case: CaseData, stage: int) -> list[str]:
    """Return the names of the bonds that are made at the beginning of a stage; stage 0 begins with the run."""
    return [name for name, one in case.bonds.items() if max(0, stage_named(case.stages, one.stage or "")) == stage]


def select_bonds(
    case: CaseData, over: Group, particles: Columns | Particles, stage: int = 0, bonded: Integers | None = None
) -> tuple[Integers, Integers, BondColumns]:
    """Return the bonds that a case makes at the beginning of a stage. Collective.

    Parameters
    ----------
    case : CaseData
        The case.
    over : Group
        The ranks.
    particles : mapping of str to (n, ...) array
        Columns `NEEDED` of the particles of this rank. ``fixed`` is 0 for particles that move; without this column all
        particles move. ``orientation`` has quaternions; without this column all orientations are the same.
    stage : int
        Number of the stage; stage 0 begins with the run.
    bonded : (m, 2) array, optional
        Ids of pairs of this rank that are bonded already, the lower id first. They are left out.

    Returns
    -------
    lower, higher : (b,) arrays
        Ids of the ends of each bond, sorted. The first rank has all bonds, other ranks have no bonds.
    columns : BondColumns
        Columns of the bonds.

    Raises
    ------
    CaseError
        On all ranks: see `bonds_of_all`.
    """
    mine = {name: np.asarray(particles[name]) for name in NEEDED if name in particles}
    table = over.collect(mine)
    before = over.collect({"bonded": np.empty((0, 2), np.int64) if bonded is None else bonded})
    found: list[tuple[Integers, BondColumns]] = []

    def on_first() -> None:
        assert table is not None, "the first rank has all particles"
        assert before is not None, "the first rank has all bonds"
        found.append(bonds_of_all(case, table, kinds_of_stage(case, stage), before["bonded"]))

    on_first_rank(over, on_first)
    pairs, columns = found[0] if found else (np.empty((0, 2), np.int64), _no_bonds())
    return pairs[:, 0], pairs[:, 1], columns


def _no_bonds() -> BondColumns:
    """Return columns without rows."""
    nobody = EndStates(np.empty((0, 3)), np.empty((0, 2, 4)), np.empty((0, 2)), np.empty((0, 2)))
    nothing = RoundSection(np.empty(0), np.empty(0))
    return new_bonds(BondModel(0, Elasticity(1.0, 0.0)), nobody, nothing, np.empty((0, 3)))


def bonds_of_all(
    case: CaseData, particles: Columns, kinds: Collection[str] | None = None, bonded: Integers | None = None
) -> tuple[Integers, BondColumns]:
    """Return the ids (b, 2) and the columns of the bonds among all particles of a case, sorted by id.

    `kinds` are names of bonds, by default all that begin with the run. Pairs of ids `bonded` (m, 2) are left out.

    Raises
    ------
    CaseError
        With key, ids and remedy, if a file cannot be used, an id has no particle, no pair is within the gap, two kinds
        join the same pair, a section is wider than a sphere, a bond is longer than half of a periodic side, both
        particles of a bond are fixed, or one belongs to a rigid cluster.
    """
    order = np.argsort(particles["id"], kind="stable")
    table = {name: column[order] for name, column in particles.items()}
    names = list(kinds_of_stage(case, 0) if kinds is None else kinds)
    rows, number = _all_rows(case, table, names)
    if bonded is not None and len(bonded):
        free = ~pairs_among(table["id"][rows], bonded)
        rows, number = rows[free], number[free]
    columns = _no_bonds()
    parts = [bonds_of_rows(case, name, table, rows[number == place]) for place, name in enumerate(names)]
    if parts:
        columns = BondColumns._make(np.concatenate(column) for column in zip(*parts, strict=True))
    pairs = table["id"][rows].astype(np.int64)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    return pairs[order], BondColumns._make(column[order] for column in columns)


def _all_rows(case: CaseData, table: Columns, names: Sequence[str]) -> tuple[Integers, Integers]:
    """Return the rows (b, 2) of the ends of all bonds of some kinds in a table sorted by id, and their places (b,)."""
    rows = [rows_of_kind(case, name, table) for name in names]
    kinds = np.repeat(np.arange(len(rows)), [len(one) for one in rows])
    joined = np.concatenate(rows) if rows else np.empty((0, 2), np.int64)
    order = np.lexsort((kinds, joined[:, 1], joined[:, 0]))
    ordered = joined[order]
    same = np.flatnonzero((ordered[1:] == ordered[:-1]).all(axis=1))
    if len(same):
        first, second = (names[kinds[order[same[0] + more]]] for more in range(2))
        lower, higher = table["id"][ordered[same[0]]].tolist()
        raise CaseError(
            f"{case.source}: {shown_key(['bonds', second])}: particles {lower} and {higher} are joined by "
            f"{shown_key(['bonds', first])} already; let one of both join them"
        )
    return joined, kinds


def rows_of_kind(case: CaseData, name: str, table: Columns) -> Integers:
    """Return the rows (b, 2) of the ends of bonds of one kind, in a table of all particles that is sorted by id.

    Raises
    ------
    CaseError
        If the file of the kind cannot be used, or if no two spheres are within the gap.
    """
    section, where = case.bonds[name], f"{case.source}: {shown_key(['bonds', name])}"
    if section.file is not None:
        return _rows_of_file(case, name, table)
    if section.between is None:
        return rows_in_shapes(case, name, table)
    domain, ways = case.domain, case.domain.dimension
    search = find_pairs(
        table["position"][:, :ways], table["radius"], skin=section.gap or 0.0, lower=domain.lower[:ways],
        upper=domain.upper[:ways], periodic=domain.periodic[:ways],
    )  # fmt: skip
    first, second = (case.material_index(one) for one in pair_materials(case, name))
    of_pair = table["material"][search.pairs]
    wanted = (of_pair == [first, second]).all(axis=1) | (of_pair == [second, first]).all(axis=1)
    wanted &= ~_both_fixed(table, search.pairs) & ~_in_one_particle(table, search.pairs)
    if not wanted.any():
        raise CaseError(
            f"{where}.gap: no two spheres of {section.between} are nearer than {section.gap:g} m at the start of "
            f"{'the run' if section.stage is None else f'stage {section.stage}'}; enlarge gap, or place the spheres "
            "closer together"
        )
    return search.pairs[wanted]


def pair_materials(case: CaseData, name: str) -> tuple[str, ...]:
    """Return the names of both materials that bonds of a kind join; an empty tuple if a file gives the pairs."""
    between = case.bonds[name].between
    return () if between is None else split_pair(between, case.materials)[0]


def _both_fixed(table: Columns, rows: Integers) -> Booleans:
    """Return for each pair of rows (b, 2) whether both particles are fixed."""
    fixed = table.get("fixed")
    both: Booleans = np.zeros((len(rows), 2), dtype=np.bool_) if fixed is None else fixed[rows] > 0
    return both[:, 0] & both[:, 1]


def _in_one_particle(table: Columns, rows: Integers) -> Booleans:
    """Return for each pair of rows (b, 2) whether both are spheres of the same flexible particle."""
    if FLEXIBLE not in table:
        return np.zeros(len(rows), np.bool_)
    number: Integers = table[FLEXIBLE][rows]
    return (number[:, 0] == number[:, 1]) & (number[:, 0] > 0)


def _rows_of_file(case: CaseData, name: str, table: Columns) -> Integers:
    """Return the rows (b, 2) of the pairs of a file."""
    pairs, lines = read_pairs(case, name)
    ids = table["id"]
    rows = np.minimum(np.searchsorted(ids, pairs), max(len(ids) - 1, 0))
    missing = np.argwhere(ids[rows] != pairs) if len(ids) else np.array([[0, 0]])
    if len(missing):
        line, end = missing[0]
        last = f"ids run from {ids[0]} to {ids[-1]}" if len(ids) else "there are none"
        where = f'{case.source}: {shown_key(["bonds", name, "file"])} = "{case.bonds[name].file}"'
        raise CaseError(f"{where}: line {lines[line]}: there is no particle {pairs[line, end]}; {last}")
    return rows.astype(np.int64)


def bonds_of_rows(case: CaseData, name: str, table: Columns, rows: Integers) -> BondColumns:
    """Return the columns of bonds of one kind between rows (b, 2) of a table of particles.

    Raises
    ------
    CaseError
        If a section is wider than a sphere, a bond is too long for the box, both ends of a bond are fixed, or one is
        part of a rigid cluster.
    """
    section, ids = case.bonds[name], table["id"][rows]
    where = f"{case.source}: {shown_key(['bonds', name])}"
    branch = branches_of(case, table["position"], rows)
    _require_short(case, where, branch, ids)
    radius = table["radius"][rows]
    inverse = inverse_masses_of(case, table)[rows]
    rigid = np.flatnonzero(_both_fixed(table, rows))
    if len(rigid):
        lower, higher = ids[rigid[0]].tolist()
        raise CaseError(f"{where}: joins particles {lower} and {higher}, which are both fixed; leave such pairs out")
    _require_single(where, table, rows)
    of_kind = BondModel(
        list(case.bonds).index(name), elasticity_of(section), section.damping_ratio, section.moment_factor
    )
    ends = EndStates(branch, _orientations_of(table, rows), radius, inverse)
    round_section = sections_of(section, radius.min(axis=1))
    _require_narrow(where, round_section.outer, radius.min(axis=1), ids)
    return new_bonds(of_kind, ends, round_section, strengths_of(section, ids[:, 0], ids[:, 1]))


def _orientations_of(table: Columns, rows: Integers) -> Floats:
    """Return the orientations (b, 2, 4) of the ends of bonds; equal ones if the table has none."""
    if "orientation" in table:
        return np.asarray(table["orientation"])[rows]
    still = np.zeros((len(rows), 2, 4))
    still[:, :, 0] = 1.0
    return still


def _require_single(where: str, table: Columns, rows: Integers) -> None:
    """Raise an error if an end of a bond is a sphere of a rigid cluster."""
    if "cluster" in table and (members := (table["cluster"][rows] > 0).any(axis=1)).any():
        lower, higher = table["id"][rows[members.argmax()]].tolist()
        raise CaseError(
            f"{where}: joins particles {lower} and {higher}, and rigid clusters have no bonds; join single spheres, or "
            "give the shape bonds"
        )


def branches_of(case: CaseData, position: Floats, rows: Integers) -> Floats:
    """Return the branches (b, 3) from the lower ends to the nearest images of the higher ends [m]."""
    branch = position[rows[:, 1]] - position[rows[:, 0]]
    sides = np.subtract(case.domain.upper, case.domain.lower)
    for axis in np.flatnonzero(case.domain.periodic):
        branch[:, axis] -= sides[axis] * np.floor(branch[:, axis] / sides[axis] + 0.5)
    return branch


def _require_short(case: CaseData, where: str, branch: Floats, ids: Integers) -> None:
    """Raise an error if a bond is as long as half of a periodic side, since its nearest image is ambiguous then."""
    sides = np.subtract(case.domain.upper, case.domain.lower)[list(case.domain.periodic)]
    length = exact_math.norm(branch)
    if len(sides) and len(length) and length.max() >= 0.5 * sides.min():
        worst = int(length.argmax())
        lower, higher = ids[worst].tolist()
        raise CaseError(
            f"{where}: the bond of particles {lower} and {higher} is {length[worst]:.6g} m long, not less than half of "
            f"the periodic side of {sides.min():.6g} m; widen the domain, or join nearer particles"
        )


def _require_narrow(where: str, outer: Floats, smaller: Floats, ids: Integers) -> None:
    """Raise an error if a section is wider than the smaller sphere."""
    wide = np.flatnonzero(outer > smaller * (1.0 + 1e-12))
    if len(wide):
        lower, higher = ids[wide[0]].tolist()
        raise CaseError(
            f"{where}.radius: the section of {outer[wide[0]]:g} m is wider than the smaller sphere of particles "
            f"{lower} and {higher}, of {smaller[wide[0]]:g} m; give at most that, or a share of it without metres"
        )


def inverse_masses_of(case: CaseData, table: Columns) -> Floats:
    """Return one over the mass of each particle [1/kg], 0 for fixed particles."""
    density = np.array([one.density or np.inf for one in case.materials.values()])
    mass = sphere_mass.py_func(density[table["material"]], table["radius"])
    fixed = table.get("fixed")
    return np.where(np.zeros(len(mass), bool) if fixed is None else fixed > 0, 0.0, 1.0 / mass)


def elasticity_of(section: BondSection) -> Elasticity:
    """Return the elastic material of a kind of bonds."""
    family = "springs" if section.section == "springs" else section.beam_theory
    return Elasticity(section.youngs_modulus, section.poisson_ratio, family, section.shear_coefficient)


def sections_of(section: BondSection, smaller: Floats) -> RoundSection:
    """Return the sections of bonds, given the radii (b,) of their smaller spheres [m]."""
    inner = section.inner_radius
    return RoundSection(_radii(section.radius, smaller), smaller * 0.0 if inner is None else _radii(inner, smaller))


def _radii(given: SectionRadius, smaller: Floats) -> Floats:
    return np.full(len(smaller), given.metres) if isinstance(given, Metres) else given * smaller
