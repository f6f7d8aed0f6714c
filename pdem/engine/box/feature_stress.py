"""Forces of features in a box that deforms by stress, see `pdem.engine.feature.Feature.box_forces`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.contact.pairs.box_sums import BOX_SUMS
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.engine.system import System
    from pdem.foundation.array_types import Floats


class BoxForces(NamedTuple):
    """Forces between two bodies each, and their resistance against displacements. One rank counts each force.

    Attributes
    ----------
    force : (n, 3) array
        Force of the first on the second body [N].
    branch : (n, 3) array
        From the first body to the nearest image of the second one [m].
    stiffness, damping : (n, 2) arrays
        Resistance against displacements of the second body along and across the branch [N/m, kg/s].
    """

    force: Floats
    branch: Floats
    stiffness: Floats
    damping: Floats


def products(force: Floats, branch: Floats, along: Floats, across: Floats) -> Floats:
    """Return the products of forces (n, 3) [N] and branches (n, 3) [m] along the modes of deformation (4, n) [J]."""
    return exact_math.matmul(force, along.T).T * exact_math.matmul(branch, across.T).T


def rows_of_features(system: System, ways: Floats) -> Iterator[Floats]:
    """Yield the parts of each feature in the sums of a box (`BOX_SUMS`, n), as contacts have them.

    `ways` are the modes of deformation, see `pdem.contact.pairs.box_sums.BoxSums`.
    """
    for feature in system.features:
        forces = feature.box_forces(system)
        if forces is not None:
            yield _rows(forces, ways)


def _rows(forces: BoxForces, ways: Floats) -> Floats:
    """Return forces times branches of each mode [J], and stiffness [J] and damping [J s] against all driven modes."""
    along, across, driven = ways[:, :3], ways[:, 3:6], ways[:, 6:]
    rows = np.empty((BOX_SUMS, len(forces.force)))
    rows[:4] = products(forces.force, forces.branch, along, across)
    direction = forces.branch / exact_math.norm(forces.branch)[:, None]
    moved = exact_math.matmul(forces.branch, across.T).T
    aligned = moved * exact_math.matmul(direction, along.T).T
    squares, parallel = driven * (moved * moved), driven * (aligned * aligned)
    straight = parallel[0] + parallel[1] + parallel[2] + parallel[3]
    aside = np.maximum(squares[0] + squares[1] + squares[2] + squares[3] - straight, 0.0)
    for row, resistance in ((4, forces.stiffness), (5, forces.damping)):
        rows[row] = resistance[:, 0] * straight + resistance[:, 1] * aside
    return rows
