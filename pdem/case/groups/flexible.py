"""Flexible particles: single spheres with consecutive ids, which bonds join instead of a rigid body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.groups.shapes import is_flexible

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.case.sections.schema import CaseData

    Table = dict[str, NDArray[Any]]

FLEXIBLE, FLEXIBLE_SHAPE = "flexible", "flexible_shape"
"""Columns of the spheres of flexible particles: the number of the particle, which is the id of its first sphere plus
one, and the number of its shape plus one. Both are 0 for other spheres."""

FLEXIBLE_COLUMNS = (FLEXIBLE, FLEXIBLE_SHAPE)


def without_flexible(case: CaseData, members: Table, clusters: Table) -> Table:
    """Turn the members of flexible particles into single spheres; return the remaining rigid clusters.

    Parameters
    ----------
    case : CaseData
        The case.
    members, clusters : dict of ndarray
        Columns of the spheres and of the clusters, see `pdem.case.groups.initial_clusters.made_clusters`. Members have
        the velocities of points of a rigid body, which they keep. Columns of `members` are replaced and added.
    """
    flexible = np.array([is_flexible(case, name) for name in case.shapes], np.bool_)
    order = np.argsort(clusters["number"])
    number, shape = clusters["number"][order], clusters["shape"][order]
    at = np.minimum(np.searchsorted(number, members["cluster"]), max(len(number) - 1, 0))
    is_member = (members["cluster"] > 0) & flexible[shape[at]] if len(number) else np.zeros(len(at), np.bool_)
    members[FLEXIBLE] = np.where(is_member, members["cluster"], 0)
    members[FLEXIBLE_SHAPE] = np.zeros(len(at), np.int64)
    members[FLEXIBLE_SHAPE][is_member] = shape[at[is_member]] + 1
    members["cluster"] = np.where(is_member, 0, members["cluster"])
    return {name: column[~flexible[clusters["shape"]]] for name, column in clusters.items()}
