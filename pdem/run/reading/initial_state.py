"""Particles and contacts of a checkpoint as the initial state of a new case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.deformation import deforms
from pdem.case.model import Case
from pdem.engine.setup import wall_geometry_of
from pdem.features.registry import fields_of_features
from pdem.foundation.arguments import instance_of, path_of
from pdem.foundation.errors import CheckpointError, InputError, name_hint
from pdem.foundation.fields import state_fields, with_further
from pdem.run.inputs import case_of, checkpoint_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Integers

    Columns = dict[str, NDArray[Any]]

_LEFT_OUT = ("image", "force", "torque", "box_work")
"""Columns of particles that are left out: sums since time 0 of their run, or results of the first step."""


def initial_state(
    checkpoint: str | PathLike[str], case: Case, *, walls: Sequence[str] | None = None
) -> dict[str, Columns]:
    """Return the particles and contacts of a checkpoint, as the initial state of a new case.

    A bed from one run keeps its network of friction, or its liquid bridges, in a run with different walls, gravity or
    parameters of the law: ``pdem.Simulation(case, **pdem.initial_state("settled", case))``.

    Parameters
    ----------
    checkpoint : path
        A checkpoint, or the output folder of a run: its newest one.
    case : Case
        The new case. Materials of the particles are matched by their names.
    walls : sequence of str, optional
        Walls with contacts that continue; by default all walls that have the same name and the same mesh in both cases.
        Their positions have to be the same as at the time of the checkpoint.

    Returns
    -------
    dict of dict of ndarray
        ``particles``, ``contacts`` and ``wall_contacts``, arguments of `pdem.Simulation`. A script may change or remove
        columns first: the law of the case has to remember all columns of contacts.

    Raises
    ------
    CheckpointError
        If the file cannot be read, or has clusters or a box that deforms.
    InputError
        If the case lacks a material of the particles, or a wall of `walls` is not in both.
    MeshError, CaseError
        If the mesh of a wall cannot be read.
    """
    case = instance_of("case", case, Case, "read one: Case.read(path)")
    stored = checkpoint_at(path_of(checkpoint, CheckpointError))
    before, groups = case_of(stored), stored.groups
    if "clusters" in groups or deforms(before):
        what = "clusters" if "clusters" in groups else "a box that deforms"
        raise CheckpointError(f"{stored.path}: has {what}; a case can begin with single spheres in a box at rest")
    return {
        "particles": _particles(groups["particles"], before, case),
        "contacts": dict(groups["contacts"]),
        "wall_contacts": _wall_contacts(groups["wall_contacts"], before, case, walls),
    }


def _particles(columns: Mapping[str, NDArray[Any]], before: Case, case: Case) -> Columns:
    """Return the columns that the particles of the new case have, with the material numbers of the new case."""
    names = [one.name for one in state_fields(with_further(fields_of_features(case)).values())]
    found = {name: columns[name] for name in names if name in columns and name not in _LEFT_OUT}
    old, new = list(before.materials), list(case.materials)
    numbers = np.full(len(old), -1, np.int32)
    for number in np.unique(columns["material"]):
        if old[number] not in new:
            raise InputError(
                f"{case.source}: has no material {old[number]!r} of the particles; {name_hint(old[number], new)}"
            )
        numbers[number] = new.index(old[number])
    return found | {"material": numbers[columns["material"]]}


def _wall_contacts(
    columns: Mapping[str, NDArray[Any]], before: Case, case: Case, walls: Sequence[str] | None
) -> Columns:
    """Return the contacts with walls that both cases have, with facets and features numbered as in the new case."""
    old, new = ([wall.name for wall in one.walls] for one in (before, case))
    wanted = [name for name in old if name in new] if walls is None else list(walls)
    for name in wanted:
        if name not in old or name not in new:
            raise InputError(f"walls: {name!r} is not a wall of both cases; these are {', '.join(set(old) & set(new))}")
    rows = np.zeros(0, np.int64)
    found = dict(columns)
    if wanted and len(columns["id"]):
        one, other = (wall_geometry_of(each).joined for each in (before, case))
        assert one is not None, "it has walls"
        assert other is not None, "it has walls"
        if (before.detection.walls == "signed") == (case.detection.walls == "signed"):
            same = {name: (old.index(name), new.index(name)) for name in wanted}
            rows, found = _renumbered(columns, one, other, same)
    return {name: column[rows] for name, column in found.items()}


def _renumbered(
    columns: Mapping[str, NDArray[Any]], one: Mesh, other: Mesh, same: Mapping[str, tuple[int, int]]
) -> tuple[Integers, Columns]:
    """Return the rows of contacts with walls of equal meshes, and the columns with the numbers of mesh `other`."""
    wall = one.facet_wall[columns["facet"]]
    found, kept = dict(columns), np.zeros(len(wall), bool)
    feature, facet = columns["feature"].copy(), columns["facet"].copy()
    for here, there in same.values():
        if not _is_same(one, here, other, there):
            continue
        mine = wall == here
        kept |= mine
        shift = np.array([b - a for a, b in zip(_begins(one, here), _begins(other, there), strict=True)])
        feature[mine] += shift[columns["kind"][mine]]
        facet[mine] += shift[0]
    return np.flatnonzero(kept), found | {"feature": feature, "facet": facet}


def _begins(mesh: Mesh, wall: int) -> tuple[int, int, int]:
    """Return the first facet, edge and vertex of a wall in a joined mesh."""
    of_edges = mesh.vertex_wall[mesh.edges[:, 0]]
    first, edge, vertex = (np.searchsorted(one, wall) for one in (mesh.facet_wall, of_edges, mesh.vertex_wall))
    return int(first), int(edge), int(vertex)


def _is_same(one: Mesh, here: int, other: Mesh, there: int) -> bool:
    """Return whether two walls, each of a joined mesh, have the same vertices and facets."""
    parts = []
    for mesh, wall in ((one, here), (other, there)):
        facets = np.flatnonzero(mesh.facet_wall == wall)
        loops = mesh.facet_vertices[mesh.facet_start[facets[0]] : mesh.facet_start[facets[-1] + 1]]
        vertices = mesh.vertices[mesh.vertex_wall == wall]
        parts.append((vertices, np.diff(mesh.facet_start)[facets], loops - _begins(mesh, wall)[2]))
    return all(np.array_equal(a, b) for a, b in zip(*parts, strict=True))
