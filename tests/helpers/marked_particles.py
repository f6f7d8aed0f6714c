"""Features whose particles remember something, for tests: their fields are declared as any feature would."""

from __future__ import annotations

import numpy as np
import pytest

from pdem.engine import same_lists, step
from pdem.engine.feature import Feature
from pdem.engine.feature_set import Turn
from pdem.features import registry
from pdem.foundation.fields import Field, Ghosted
from pdem.run import simulation as simulations

SHARE = 16
"""Of a difference of heat, what goes through a contact in a step, is one over this."""

HEAT = Field("heat", np.int64, (), "J", "heat in whole quanta", Ghosted.EVERY_STEP, default=1e12)
MARK = Field("mark", np.float32, (2,), "1", "as it came", Ghosted.AT_DETECTION, default=2.5)
CHARGE = Field("charge", np.float64, (), "C", "changes in every step", Ghosted.EVERY_STEP)
DIPOLE = Field("dipole", np.float64, (3,), "C m", "changes in every step", Ghosted.EVERY_STEP, written=False)


def of_copies(system, name):
    """Return a column of ghosts."""
    own = system.particles
    return own.column(name)[own.count : own.count + own.ghosts]


class Warmth(Feature):
    """Heat that flows through contacts between two steps, in whole quanta: sums do not depend on their order."""

    name, turn, needs_forces = "warmth", Turn.MEASURE, False
    fields = HEAT, MARK

    def __init__(self):
        self._next = 0

    @classmethod
    def of(cls, system):
        return cls()

    @classmethod
    def fields_in(cls, case):
        return cls.fields

    def load(self, system, groups):
        self._next = system.progress.step + 1
        own = system.particles
        if system.progress.step == 0:
            own.heat[:] = 10**15 * (own.id % 7) + own.id

    @property
    def next_step(self):
        return self._next

    def act(self, system, phases):
        """Let heat flow along the contacts of this rank; those with ghosts are known to both owners."""
        self._next = system.progress.step + 1
        own, pairs = system.particles, system.contacts.pairs
        heat, lower, higher = own.column("heat"), pairs.lower[pairs.touching], pairs.higher[pairs.touching]
        flow = (heat[lower] - heat[higher]) // SHARE
        for rows, taken in ((lower, flow), (higher, -flow)):
            here = rows < own.count
            np.subtract.at(own.heat, rows[here], taken[here])


class Charges(Feature):
    """Numbers that change at the begin of each step, in whichever way steps are taken.

    Notes of each step whether ghosts had in it what their owners had at its begin.
    """

    name, turn = "charges", Turn.MEASURE
    fields = CHARGE, DIPOLE

    def __init__(self):
        self.seen = {}

    @classmethod
    def of(cls, system):
        return cls()

    @classmethod
    def fields_in(cls, case):
        return cls.fields

    def load(self, system, groups):
        self._write(system, system.progress.step)

    @property
    def watches_pairs(self):
        return True  # Python acts in every step

    @staticmethod
    def values_of(ids, step):
        charge = np.sin(ids + 0.37 * step)
        return charge, charge[:, None] * [1.0, -2.0, 1e-300]

    def _write(self, system, step):
        own = system.particles
        own.charge[:], own.dipole[:] = self.values_of(own.id, step)

    def begin(self, system):
        """Look at ghosts as the last step has left them; then owners have the values of the next."""
        expected = self.values_of(of_copies(system, "id"), system.progress.step)
        found = of_copies(system, "charge"), of_copies(system, "dipole")
        self.seen[system.progress.step] = all(np.array_equal(*both) for both in zip(found, expected, strict=True))
        self._write(system, system.progress.step + 1)


@pytest.fixture
def changing_charges(with_feature, monkeypatch):
    """Have `Charges` change at the begin of each step."""
    begin = step.drift_and_move_walls

    def changed(system, phases):
        system.features.get(Charges).begin(system)
        return begin(system, phases)

    monkeypatch.setattr(step, "drift_and_move_walls", changed)
    monkeypatch.setattr(same_lists, "drift_and_move_walls", changed)
    return with_feature(Charges)


@pytest.fixture
def with_feature(monkeypatch):
    """Register a feature besides those that there are, until the test is over."""

    def register(kind):
        features = (*registry.FEATURES, kind)
        monkeypatch.setattr(registry, "FEATURES", features)
        monkeypatch.setattr(simulations, "FEATURES", features)
        return kind

    return register
