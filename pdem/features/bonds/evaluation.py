"""The bonds of a rank: their table, their kernels' arguments, and what an evaluation has found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.engine.id_pairs.pairs_by_id import NO_CONTACT, PairTable
from pdem.features.bonds.kernel import BondColumns, BondEnds, BondResults, BondsOfParticles, add_bond_loads
from pdem.features.bonds.kernel import evaluate_bonds as evaluate
from pdem.features.bonds.potential import UNBROKEN
from pdem.foundation.fields import Field
from pdem.numerics.kernels import prange, uncounted_kernel

if TYPE_CHECKING:
    from pdem.engine.system import System
    from pdem.foundation.array_types import Booleans, Floats, Integers

BOND_FIELDS = (
    Field("length", np.float64, (), "m", "distance of the centres at rest"),
    Field("axis", np.float64, (3,), "1", "direction to the higher end at rest, in the frame of the lower one"),
    Field("turn", np.float64, (4,), "1", "orientation of the lower end at rest in the frame of the higher one"),
    Field("stiffness", np.float64, (4,), "N/m, N m", "axial, shear, bending, twisting"),
    Field("damping", np.float64, (4,), "kg/s, N m s", "axial, shear, bending, twisting"),
    Field("section", np.float64, (3,), "m^2, 1/m^3", "area, and stresses over bending and twisting moments"),
    Field("strength", np.float64, (3,), "Pa, J/m^2", "tensile and shear strength, fracture energy"),
    Field("kind", np.int64, (), "1", "number of the kind of bond"),
    Field("energy", np.float64, (4,), "J", "stored in elongation, shear, bending and twist"),
    Field("used", np.float64, (), "1", "what of the strength is used; a bond breaks at 1"),
    Field("power", np.float64, (), "W", "taken out by damping"),
    Field(NO_CONTACT, np.int64, (), "1", "0: its ends may be in contact; 1: not while bonded; 2: never"),
)
"""Columns of the table of bonds: those of `.kernel.BondColumns`, and what the last evaluation has found."""

AFTER_BREAK, NEVER_TOUCHING = 1, 2
"""In the column `NO_CONTACT`: contact once the bond is broken; no contact, broken or not. 0: contact at any time."""


class BondEvaluation:
    """The table of bonds of this rank, and the last evaluation of them.

    Attributes
    ----------
    table : PairTable
        The bonds.
    apart : PairTable
        Pairs whose bonds have broken, and which never touch; they may be far apart.
    results : BondResults
        Of the last evaluation; ``energy``, ``used`` and ``power`` are columns of the table.
    """

    def __init__(self) -> None:
        self.table = PairTable("bonds", BOND_FIELDS)
        self.apart = PairTable("broken_pairs", (Field(NO_CONTACT, np.int64, (), "1", "2: never"),), near=False)
        self.results, self._of = BondResults.empty(0), self.table.rows
        self._ends, self._columns = self._arguments()
        self._lost = np.zeros(0)

    def _arguments(self) -> tuple[BondEnds, BondColumns]:
        """Return what kernels are given of the table as it is."""
        table = self.table
        columns = BondColumns(*(table.columns[name] for name in BondColumns._fields))
        return BondEnds(table.rows, table.shift, np.zeros((len(table), 3))), columns

    def _follow_table(self) -> None:
        """Have arguments and results for the present pairs, if these have changed."""
        if self._of is not self.table.rows:
            self._of = self.table.rows
            self._ends, self._columns = self._arguments()
            columns = self.table.columns
            shared = {name: columns[name] for name in ("energy", "used", "power")}
            self.results = BondResults.empty(len(self.table))._replace(**shared)
            self._lost = np.zeros(len(self.table))

    def evaluate(self, system: System, laws: Floats) -> None:
        """Evaluate all bonds at the present positions, orientations and velocities."""
        self._follow_table()
        if not len(self.table):
            return
        own = system.particles
        rows = own.count + own.ghosts
        packed = system.contacts.pairs.rows_to_share(own)
        self.table.follow(packed, system.constants.periods)
        evaluate(self._ends, self._columns, laws, packed, own.column("orientation")[:rows], self.results)

    def too_long(self) -> int | None:
        """Return the lower id of the first bond that is as long as half of a periodic side, None without any."""
        table = self.table
        return int(table.lower[np.argmax(table.far)]) if table.far.any() else None

    def add_loads(self, force: Floats, torque: Floats) -> None:
        """Add the loads of bonds to the forces and torques of owned particles (n, 3) [N, N m]."""
        if len(self.table):
            add_bond_loads(BondsOfParticles(*self.table.of_particles), self.results.loads, force, torque)

    def lost(self, owned: int, dt: float) -> Floats:
        """Return what damping has taken out of bonds that this rank counts in a step of `dt` [s] (n,) [J].

        Of one that breaks, what is `ahead` is left out.
        """
        if len(self.table):
            write_lost(self.table.rows, owned, dt, self.results.power, self.results.mode, self._lost)
        return self._lost

    def ahead(self, pairs: Booleans, dt: float) -> Floats:
        """Return what steps have accounted for of the damping of some bonds, and the next kick alone takes out [J].

        A dashpot acts by the rate r before a kick. Both kicks between r and the next rate r' take out the product of r
        with the mean of both rates, r (r + r') / 2 = (3 r^2 + r'^2) / 4 to second order. Half of that belongs to the
        kick that ends the step: with r^2 for each step, a fourth of the last one is ahead of time.
        """
        return 0.25 * dt * self.table.columns["power"][pairs]

    @property
    def any_breaks(self) -> bool:
        """Whether a bond breaks by the last evaluation."""
        return bool(self.results.mode.any())

    def take_out(self, broken: Booleans) -> None:
        """Take out the bonds that are marked; the others keep their loads."""
        loads = self.results.loads[~broken]
        never = broken & (self.table.columns[NO_CONTACT] == NEVER_TOUCHING)
        if never.any():
            pairs = self.apart
            lower, higher = (
                np.concatenate((one, new[never]))
                for one, new in ((pairs.lower, self.table.lower), (pairs.higher, self.table.higher))
            )
            pairs.replace(lower, higher, {NO_CONTACT: np.full(len(lower), NEVER_TOUCHING)})
        self.table.keep(~broken)
        self._follow_table()
        self.results.loads[:] = loads


@uncounted_kernel
def write_lost(rows: Integers, owned: int, dt: float, power: Floats, mode: Integers, lost: Floats) -> None:
    """Write what damping has taken out of each bond in a step of `dt` [s] [J], 0 for those that another rank counts.

    Of a bond that breaks the kick is missing that begins the next step.
    """
    for bond in prange(len(rows)):
        share = 1.0 if mode[bond] == UNBROKEN else 0.75
        lost[bond] = share * dt * power[bond] if rows[bond, 0] < owned else 0.0
