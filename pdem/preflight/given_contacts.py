"""Checks of contacts that a script gives to a new simulation, together with its particles."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.contact.law.contact_law import BASE, BOX_WORK, NORMAL_DAMPING, UNKNOWN
from pdem.contact.law.models import LAWS, PARTS
from pdem.containers.group import on_each_rank
from pdem.containers.id_directory import IdDirectory
from pdem.foundation.errors import InputError, name_hint
from pdem.output.checkpoints.history_columns import numbers_by_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pdem.contact.law.contact_law import ContactLaw
    from pdem.containers.group import Group
    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Integers

    Columns = dict[str, NDArray[Any]]

CONTACTS, WALL_CONTACTS = "contacts", "wall_contacts"
"""Names of the arguments; the groups of a checkpoint have the same names."""

_ALL_PARTS = [
    *(part for law in LAWS.values() for part in law.parts),
    *(part for some in PARTS.values() for part in some.values()),
]
_ACCOUNTS_OF_ENERGY = {energy.name for part in _ALL_PARTS for energy in (*part.energies, NORMAL_DAMPING)} | {
    BOX_WORK,
    "wall_work",
}
"""Columns of checkpoints that are energy accounts. They are ignored: a new run starts its accounts at zero."""


class _Wanted(NamedTuple):
    """Columns of contacts that are required or allowed.

    `keys` has the types of columns of ids and other integers, which are required. `memory` has the history columns that
    are used, with the number of values in each; `needed` names the required columns of `memory`. `other` names columns
    that are allowed and ignored.
    """

    keys: Mapping[str, Any]
    needed: tuple[str, ...]
    memory: dict[str, int]
    other: tuple[str, ...]


def given_contacts(
    law: ContactLaw,
    contacts: Mapping[str, Any] | None,
    wall_contacts: Mapping[str, Any] | None,
    walls: Mesh | None,
    over: Group,
    ids: Integers,
) -> dict[str, Columns]:
    """Return the checked groups of contacts of an initial state; only rank 0 has rows. Collective.

    Parameters
    ----------
    law : ContactLaw
        The law of the case.
    contacts, wall_contacts : mapping of str to array_like, or None
        Columns, read on rank 0, see `pdem.run.simulation.Simulation`.
    walls : Mesh or None
        All walls joined.
    over : Group
        The ranks.
    ids : (n,) int64 array
        Ids of the particles of this rank.

    Raises
    ------
    InputError
        On all ranks, if a column is missing, unknown, or has a wrong type or shape, numbers are not finite, a particle
        or a facet does not exist, or a contact is given twice.
    """
    directory = IdDirectory(over, ids, np.zeros(len(ids), np.int64))
    groups = {}
    for name, given, wanted in ((CONTACTS, contacts, _of_pairs(law)), (WALL_CONTACTS, wall_contacts, _of_walls(law))):
        columns = on_each_rank(over, partial(_checked, name, None if over.rank else given, wanted))
        keys = ("lower", "higher") if name == CONTACTS else ("id",)
        found = {key: directory.find(columns[key]) for key in keys}
        on_each_rank(over, partial(_require, name, columns, found, walls))
        groups[name] = columns
    groups[CONTACTS]["overlap"] = np.full(len(groups[CONTACTS]["lower"]), UNKNOWN)  # computed in the first step
    return groups


def _of_pairs(law: ContactLaw) -> _Wanted:
    """Return the columns of contacts between particles."""
    base = [column.name for column in BASE]
    names = [column.name for column in law.history[: law.first_energy]]
    sizes = {name: len(numbers) for name, numbers in numbers_by_column(names)}
    others = tuple(name for name, _ in numbers_by_column(base))
    memory = {name: size for name, size in sizes.items() if name not in others}
    return _Wanted({"lower": np.int64, "higher": np.int64}, (), memory, others)


def _of_walls(law: ContactLaw) -> _Wanted:
    """Return the columns of contacts with walls; they are continued by their overlaps and normals."""
    names = [column.name for column in law.history[: law.first_energy]]
    memory = {name: len(numbers) for name, numbers in numbers_by_column(names)} | {"normal": 3}
    keys = {"id": np.int64, "kind": np.int8, "feature": np.int64, "facet": np.int64}
    return _Wanted(keys, ("overlap", "normal"), memory, ())


def _checked(where: str, given: Mapping[str, Any] | None, wanted: _Wanted) -> Columns:
    """Return the columns as arrays of the right types and shapes; empty arrays if no columns are given."""
    if given is None:
        empty = {name: np.zeros((0, *((size,) if size > 1 else ()))) for name, size in wanted.memory.items()}
        return {name: np.zeros(0, kind) for name, kind in wanted.keys.items()} | empty
    if not isinstance(given, Mapping):
        raise InputError(
            f"{where} must be columns by name, as gather_contacts returns them, not {type(given).__name__}"
        )
    known = (*wanted.keys, *wanted.memory)
    for name in given:
        if name not in known and name not in wanted.other and name not in _ACCOUNTS_OF_ENERGY:
            raise InputError(
                f"{where}[{str(name)!r}]: contacts of the laws of this case do not remember it; leave the column out, "
                f"or {name_hint(str(name), list(known))}"
            )
    for name in (*wanted.keys, *wanted.needed):
        if name not in given:
            raise InputError(f"{where}[{name!r}] is missing; needed are {', '.join((*wanted.keys, *wanted.needed))}")
    count = np.shape(given[next(iter(wanted.keys))])[:1]
    columns = {name: _column(where, name, given[name], count, kind) for name, kind in wanted.keys.items()}
    for name, size in wanted.memory.items():
        shape = (*count, *((size,) if size > 1 else ()))
        columns[name] = _column(where, name, given.get(name, np.zeros(shape)), shape, np.float64)
    return columns


def _column(where: str, name: str, given: Any, shape: Sequence[int], kind: Any) -> NDArray[Any]:
    values, whole = np.asarray(given), np.issubdtype(kind, np.integer)
    if values.dtype.kind not in ("iu" if whole else "fiu") or values.shape != tuple(shape):
        wanted = f"{'whole ' if whole else ''}numbers of shape ({', '.join(['n', *map(str, shape[1:])])})"
        raise InputError(f"{where}[{name!r}] is {values.dtype} of shape {values.shape}; it must be {wanted}")
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values).reshape(len(values), -1).all(axis=1)))
        raise InputError(f"{where}[{name!r}][{row}] is {values[row].tolist()}; it must be finite")
    return values.astype(kind)


def _require(where: str, columns: Columns, found: Mapping[str, Integers], walls: Mesh | None) -> None:
    """Require that all particles and facets exist, that ids are in order, and that each contact occurs once."""
    for key, places in found.items():
        if len(wrong := np.flatnonzero(places < 0)):
            raise InputError(
                f"{where}[{key!r}][{wrong[0]}] is {columns[key][wrong[0]]}, and there is no particle of this id; leave "
                "out contacts of particles that are not there"
            )
    names: tuple[str, ...] = ("id", "kind", "feature", "facet") if where == WALL_CONTACTS else ("lower", "higher")
    if where == WALL_CONTACTS:
        _require_features(columns, walls)
    else:
        if len(wrong := np.flatnonzero(columns["lower"] >= columns["higher"])):
            lower, higher = (int(columns[name][wrong[0]]) for name in names)
            raise InputError(
                f"{where}: row {wrong[0]} is from particle {lower} to {higher}; contacts go from the lower to the "
                "higher id: exchange the two, and turn the vectors round"
            )
    keys = np.stack([columns[name].astype(np.int64) for name in names], axis=1)
    order = np.lexsort(keys.T[::-1])
    same = np.flatnonzero((keys[order[1:]] == keys[order[:-1]]).all(axis=1))
    if len(same):
        first, second = sorted(order[same[0] : same[0] + 2].tolist())
        text = ", ".join(f"{name} {number}" for name, number in zip(names, keys[first].tolist(), strict=True))
        raise InputError(f"{where} has {text} twice, in rows {first} and {second}; give each contact once")


def _require_features(columns: Columns, walls: Mesh | None) -> None:
    """Require that the walls have the facets, edges and vertices that contacts name."""
    many = (0, 0, 0) if walls is None else (walls.facet_count, walls.edge_count, walls.vertex_count)
    kind, facet = columns["kind"], columns["facet"]
    wrong = np.flatnonzero((kind < 0) | (kind > 2))
    if len(wrong):
        raise InputError(
            f"{WALL_CONTACTS}['kind'][{wrong[0]}] is {kind[wrong[0]]}; it is 0 for a facet, 1 an edge, 2 a vertex"
        )
    limits = {"feature": np.array(many)[kind], "facet": np.full(len(facet), many[0])}
    for name, limit in limits.items():
        wrong = np.flatnonzero((columns[name] < 0) | (columns[name] >= limit))
        if len(wrong):
            raise InputError(
                f"{WALL_CONTACTS}[{name!r}][{wrong[0]}] is {columns[name][wrong[0]]}; the walls of the case, joined, "
                f"have {many[0]} facets, {many[1]} edges and {many[2]} vertices"
            )
