"""Kernels of the forces of a case, compiled ahead of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.particles import Particles
from pdem.engine.feature_forces import ALL
from pdem.features.external_forces.array import FIELDS, kick_columns
from pdem.features.external_forces.array_kernel import KickConstants
from pdem.features.external_forces.kernels import NONE_BAD, ForceConstants, ForcedColumns, OwnForces, new_limbs
from pdem.features.external_forces.parameters import forces_of, has_array
from pdem.numerics.kernels import plain

if TYPE_CHECKING:
    from pdem.case.model import Case


def compile_forces(case: Case) -> None:
    """Compile the kernels of the force functions of a case, if it has any and the cache does not have them.

    Raises
    ------
    CaseError
        See `pdem.features.external_forces.parameters.forces_of`.
    """
    functions = forces_of(case)
    if has_array(case):
        shared = KickConstants(np.ones(1), np.ones(3), np.ones(6))
        kick_columns(Particles(further=FIELDS), shared, (0.0, False), (0, ALL), (new_limbs(1), np.full(1, NONE_BAD)))
    if functions:
        made, particles = OwnForces(functions), Particles()
        own = ForcedColumns(*(particles.column(name) for name in ForcedColumns._fields))
        constants = ForceConstants(np.ones(1), np.ones(6), made.table)
        made.kick(*plain(0.0, 0.0, 0, ALL, own, constants, new_limbs(1), np.full(1, NONE_BAD)))
