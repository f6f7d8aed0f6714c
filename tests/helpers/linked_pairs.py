"""Springs between particles that need not touch, and what they note: a feature with a table of pairs, for tests."""

from __future__ import annotations

import numpy as np

from pdem.engine.energy_terms import EnergyTerm, Role
from pdem.engine.feature import Feature
from pdem.engine.feature_set import StateTable, Turn
from pdem.engine.id_pairs.pair_places import pair_box
from pdem.engine.id_pairs.pairs_by_id import NO_CONTACT, PairTable
from pdem.foundation.fields import Field, Ghosted

STIFFNESS = 0.2
"""[N/m]."""

TURNED = Field("turned", np.float64, (3,), "rad", "integral of the angular velocity", Ghosted.EVERY_STEP)

COLUMNS = (
    Field("length", np.float64, (), "m", "distance at rest"),
    Field("mark", np.int64, (2,), "1", "both ids, with the bits of no number"),
    Field("energy", np.float64, (), "J", "stored"),
    Field(NO_CONTACT, np.int64, (), "1", "not 0: no contact"),
)

NOT_A_NUMBER = 0x7FF8_0000_0000_0000 | 12345


class Links(Feature):
    """Springs between pairs that a test gives; they are cut once they are half longer than at rest."""

    name, turn = "links", Turn.MEASURE
    tables = (StateTable("links", keys=("lower", "higher")),)
    energy_terms = (EnergyTerm("links", Role.STORED), EnergyTerm("cut_links", Role.LOST, summed=True))
    fields = (TURNED,)
    given = np.empty((0, 2), np.int64), np.empty(0), False
    """Pairs, their lengths, and whether they are without contact."""
    cut_at = 1.5

    def __init__(self):
        self.table, self.force, self.torque = PairTable("links", COLUMNS), np.zeros((0, 3)), np.zeros((0, 3))
        self.broken = np.zeros(0, bool)
        self.evaluated = 0

    @classmethod
    def of(cls, system):
        return cls()

    @classmethod
    def fields_in(cls, case):
        return cls.fields

    @property
    def pair_tables(self):
        return (self.table,)

    @property
    def has_forces(self):
        return True

    @property
    def drifts(self):
        return True

    def after_drift(self, system):
        own = system.particles
        own.turned[:] += system.constants.time_step.dt * own.angular_velocity

    def load(self, system, groups):
        columns = groups.get("links")
        if columns is None:
            pairs, lengths, without = self.given
            mine = np.arange(len(pairs)) % system.exchange.size == system.exchange.rank
            pairs = pairs[mine]
            columns = {
                "lower": pairs[:, 0], "higher": pairs[:, 1], "length": lengths[mine],
                "mark": pairs | NOT_A_NUMBER, NO_CONTACT: np.full(len(pairs), int(without)),
            }  # fmt: skip
        self.table.load(system.exchange, system.particles, columns)

    def groups(self, system):
        return {"links": self.table.columns_of(self.table.counted(system.particles))}

    def evaluate_forces(self, system, dt):
        table, own = self.table, system.particles
        rows = own.count + own.ghosts
        packed = system.contacts.pairs.rows_to_share(own)
        table.follow(packed, pair_box(system))
        i, j = table.rows.T
        branch = packed[j, :3] - packed[i, :3] + table.shift
        x, y, z = branch.T
        distance = np.sqrt(x * x + y * y + z * z)
        longer = distance - table.columns["length"]
        table.columns["energy"][:] = 0.5 * STIFFNESS * longer * longer
        self.force = (STIFFNESS * longer / distance)[:, None] * branch
        # turns of both ends differ by what the higher one has more: ghosts have to have those of their owners
        turned = own.column("turned")[:rows]
        self.torque = -1e-6 * (turned[j] - turned[i])
        self.broken = distance > self.cut_at * table.columns["length"]
        self.evaluated += 1

    def add_forces(self, system, force, torque):
        starts, entries = self.table.of_particles
        for particle in np.flatnonzero(np.diff(starts)):
            for entry in entries[starts[particle] : starts[particle + 1]]:
                sign = -1.0 if entry & 1 else 1.0
                force[particle] += sign * self.force[entry >> 1]
                torque[particle] -= sign * self.torque[entry >> 1]

    def forces_change(self, system, dt):
        table = self.table
        if not self.broken.any():
            return False
        mine = table.counted(system.particles) & self.broken
        system.contacts.ended_energies.add("cut_links", table.columns["energy"][mine])
        stays = ~self.broken
        table.keep(stays)
        self.force, self.torque, self.broken = self.force[stays], self.torque[stays], self.broken[stays]
        return True

    def add_energies(self, system, sums):
        sums.add("links", self.table.columns["energy"][self.table.counted(system.particles)])

    def on_remove_pairs(self, system, table, ends):
        mine = table.counted(system.particles) & ends
        system.contacts.ended_energies.add("outflow", table.columns["energy"][mine])


def links_of(pairs, lengths, *, without_contact=False, cut_at=1.5):
    """Return a feature with springs of some lengths [m] between pairs of ids (n, 2)."""

    class Given(Links):
        given = np.asarray(pairs, np.int64).reshape(-1, 2), np.asarray(lengths, float), without_contact

    Given.cut_at = cut_at
    return Given
