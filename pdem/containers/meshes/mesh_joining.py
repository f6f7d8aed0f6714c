"""Concatenation of the arrays of several meshes, with consecutive numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.meshes.mesh_topology import MeshOrigin, Topology

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.foundation.array_types import Integers


def joined_topology(parts: Sequence[Topology], vertices: Sequence[int]) -> Topology:
    """Return the topology of meshes that are not welded to each other; `vertices` are the numbers of vertices."""
    loops = [len(one.facet_vertices) for one in parts]
    edges = [len(one.edges) for one in parts]
    facets = [len(one.facet_start) - 1 for one in parts]
    return Topology(
        facet_start=_joined_rows([one.facet_start for one in parts], loops),
        facet_vertices=shifted([one.facet_vertices for one in parts], vertices),
        facet_edges=shifted([one.facet_edges for one in parts], edges),
        edges=shifted([one.edges for one in parts], vertices),
        edge_facet_start=_joined_rows([one.edge_facet_start for one in parts], loops),
        edge_facet_ids=shifted([one.edge_facet_ids for one in parts], facets),
        vertex_facet_start=_joined_rows([one.vertex_facet_start for one in parts], loops),
        vertex_facet_ids=shifted([one.vertex_facet_ids for one in parts], facets),
    )


def joined_origin(origins: Sequence[MeshOrigin]) -> MeshOrigin:
    """Return the joined, dropped and skipped items of all meshes together."""
    return MeshOrigin(
        sum(one.welded_vertices for one in origins),
        sum(one.collapsed_edges for one in origins),
        tuple(cells for one in origins for cells in one.passed_over),
        sum(one.split_facets for one in origins),
        tuple(number for one in origins for number in one.dropped_facets),
        notes=tuple(note for one in origins for note in one.notes),
        resolution=max(one.resolution for one in origins),
        certain=max(one.certain for one in origins),
        wall_resolutions=tuple(one.resolution for one in origins),
    )


def shifted(arrays: Sequence[Integers], sizes: Sequence[int]) -> Integers:
    """Return the concatenated indices of several meshes, each raised by the sizes of the previous meshes."""
    return np.concatenate([array + offset for array, offset in zip(arrays, _offsets(sizes), strict=True)])


def _joined_rows(starts: Sequence[Integers], sizes: Sequence[int]) -> Integers:
    rows = [start[1:] + offset for start, offset in zip(starts, _offsets(sizes), strict=True)]
    return np.concatenate([np.zeros(1, dtype=np.int64), *rows])


def _offsets(sizes: Sequence[int]) -> list[int]:
    return [0, *np.cumsum(sizes)[:-1].tolist()]
