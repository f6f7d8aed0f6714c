"""Force functions of a simulation: first the functions of its case, then the functions of its script."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.engine.named_events import name_key
from pdem.features.external_forces.kernels import NONE_BAD, OwnForces, new_limbs
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from pdem.features.external_forces.kernels import OwnForce
    from pdem.foundation.array_types import Integers


class ForcesOfRun:
    """The force functions of one rank.

    Attributes
    ----------
    all : OwnForces or None
        Functions of the case and of the script; None without any.
    scripts : list of OwnForce
        Functions of the script.
    expected : (k,) int64 array
        Identities of the forces of the script that wrote the checkpoint, see `identities`.
    worst : int
        Lowest id of a particle on which a force was not finite, `NONE_BAD` without any.
    """

    def __init__(self, of_case: tuple[OwnForce, ...] = ()) -> None:
        self._of_case = of_case
        self.scripts: list[OwnForce] = []
        self.expected, self.worst = np.zeros(0, np.int64), int(NONE_BAD)
        self._make()

    def add(self, force: OwnForce) -> None:
        """Add a force of the script."""
        self.scripts.append(force)
        self._make()

    def _make(self) -> None:
        forces = (*self._of_case, *self.scripts)
        self.all = OwnForces(forces) if forces else None
        self._limbs, self._bad = new_limbs(0), np.empty(0, np.int64)

    def take_worst(self) -> int:
        """Return `worst` and reset it."""
        worst, self.worst = self.worst, int(NONE_BAD)
        return worst

    @property
    def identities(self) -> Integers:
        """Numbers that identify the functions of the script and their limits."""
        keys = [name_key(f"{one.version} {one.parameters}") for one in self.scripts]
        return np.array(keys, np.int64)

    def check_given(self) -> None:
        """Require the forces of the script of a run that is continued.

        Raises
        ------
        InputError
            If they have not been added again, or differ.
        """
        if not len(self.expected):
            return
        given, wanted = self.identities, len(self.expected)
        if len(given) >= wanted and np.array_equal(given[:wanted], self.expected):
            self.expected = np.zeros(0, np.int64)
            return
        if len(given) >= wanted:
            raise InputError(
                "simulation.force has been given other functions than those of the run that is continued; give the "
                "same in the same order, or begin a new case whose particles.file is the checkpoint"
            )
        many = f"{wanted} own force{'s' * (wanted != 1)}"
        raise InputError(
            f"the run that is continued had {many} of its script, and {len(given)} of them are given; call "
            "simulation.force as it did before the first step, or put functions into a file that the case names: "
            '[[forces]] kind = "python:FILE.py:NAME"'
        )

    def scratch(self, workers: int) -> tuple[Integers, Integers]:
        """Return the outputs of the kernels for each worker: a sum of work, 0, and `NONE_BAD`."""
        if len(self._limbs) != workers:
            self._limbs, self._bad = new_limbs(workers), np.empty(workers, np.int64)
        self._limbs[:], self._bad[:] = 0, NONE_BAD
        return self._limbs, self._bad
