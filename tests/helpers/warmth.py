"""A warmth: a heat-like scalar that flows through contacts: a feature outside of the package, for tests."""

from __future__ import annotations

import math

import numpy as np

import pdem.run.files.outputs
import pdem.run.files.particle_output
import pdem.run.simulation
from pdem.engine.feature import Feature
from pdem.engine.feature_set import Turn, observing
from pdem.engine.quantum_field import QuantumField
from pdem.features import registry
from pdem.features.registry import FEATURES, OBSERVING
from pdem.foundation.fields import Field

FIELD = "warmth"
ROW = Field(FIELD, np.float64, (), "J", "heat of a particle above 0 K", state=True)

CAPACITY = 2e6
"""Of a volume, over one kelvin [J/(m^3 K)]."""

CONDUCTIVITY = 5e4
"""[W/(m K)], by which the cases of tests get warm in few steps."""

HOT = 700.0
"""Temperature of the walls, and of every third particle [K]; others have 300."""

SPHERE = 4.0 / 3.0 * math.pi


def temperature(heat, radius, capacity):
    return heat / (capacity * SPHERE * radius * radius * radius)


def heat_flow(heat, other_heat, radius, other, overlap, pair, dt, parameters):
    """Return what goes through a contact, by the radius of its circle; nothing while it is stretched."""
    circle = math.sqrt(max(overlap, 0.0) * radius * other / (radius + other))
    difference = temperature(heat, radius, parameters[1]) - temperature(other_heat, other, parameters[1])
    return 2.0 * parameters[0][pair] * circle * difference * dt


def wall_heat_flow(heat, wall_temperature, radius, overlap, pair, dt, parameters):
    circle = math.sqrt(max(overlap, 0.0) * radius)
    difference = temperature(heat, radius, parameters[1]) - wall_temperature
    return 2.0 * parameters[0][pair] * circle * difference * dt


class Warmth(Feature):
    """Heat of all particles; every third one is hot at time 0, and so are the walls."""

    name, turn, fields, tables = FIELD, Turn.COLLECT, (ROW,), QuantumField.tables(FIELD)
    flows, memory = (heat_flow, wall_heat_flow), ""

    def __init__(self):
        self.exchange = QuantumField(FIELD, *self.flows, memory=self.memory)
        self.parameters, self.walls = (np.zeros(1), CAPACITY), np.zeros(0)

    @classmethod
    def of(cls, system):
        warmth, rows = cls(), len(system.constants.density) ** 2
        warmth.parameters = np.full(rows, CONDUCTIVITY), CAPACITY
        warmth.walls = np.full(len(system.case.walls), HOT)
        return warmth

    @classmethod
    def fields_in(cls, case):
        return cls.fields

    @property
    def acts_each_step(self):
        return True

    def load(self, system, groups):
        own = system.particles
        volume = CAPACITY * SPHERE * own.radius**3
        if FIELD not in system.contacts.quanta:
            own[FIELD][:] = volume * np.where(own.id % 3 == 0, HOT, 300.0)
        self.exchange.load(system, groups, float((HOT * volume).max(initial=0.0)))

    def on_insert(self, system, columns):
        columns[FIELD][:] = 300.0 * CAPACITY * SPHERE * columns["radius"] ** 3

    def before_step(self, system):
        self.exchange.step(system, self.parameters, self.walls)

    def groups(self, system):
        return self.exchange.groups()

    def totals(self, system, local):
        return self.exchange.totals(system)

    def columns(self, system):
        return [("warmth_into_walls", "J")]

    def values(self, system, line):
        return {"warmth_into_walls": math.fsum(self.exchange.into_walls(system).values())}


def register(monkeypatch, feature=Warmth):
    """Have the feature in all simulations of a test, in place of another one that was registered before."""
    features = (*FEATURES, feature)
    for module in (registry, pdem.run.simulation, pdem.run.files.particle_output):
        monkeypatch.setattr(module, "FEATURES", features)
    monkeypatch.setattr(pdem.run.files.outputs, "OBSERVING", (*OBSERVING, *observing((feature,))))
