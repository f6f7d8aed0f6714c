"""The bonds of a rank: their table, the arguments of their kernels, and the results of an evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.engine.id_pairs.pair_places import pair_box
from pdem.engine.id_pairs.pairs_by_id import NO_CONTACT, PairTable
from pdem.features.bonds.bond_sums import add_bond_loads
from pdem.features.bonds.box_work import FIELDS_IN_BOX, BondsInBox
from pdem.features.bonds.kernel import BondColumns, BondEnds, BondResults
from pdem.features.bonds.kernel import evaluate_bonds as evaluate
from pdem.features.bonds.potential import UNBROKEN
from pdem.foundation.fields import Field
from pdem.numerics.kernels import prange, uncounted_kernel

if TYPE_CHECKING:
    from pdem.engine.system import System
    from pdem.foundation.array_types import Booleans, Floats, Integers
    from pdem.motion.moving_box import MovingBox

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
    Field("used", np.float64, (), "1", "load over strength; a bond breaks at 1"),
    Field("power", np.float64, (), "W", "power dissipated by damping"),
    Field(NO_CONTACT, np.int64, (), "1", "0: its ends may be in contact; 1: not while bonded; 2: never"),
)
"""Columns of the table of bonds: the columns of `.kernel.BondColumns`, and results of the last evaluation."""

LOSS = Field("loss", np.float64, (), "J", "lost by damping, and not yet heat of its ends")
"""Column of the table of bonds in cases in which losses become heat."""

BEGUN_FIELDS = (
    Field("reference", np.float64, (), "m", "overlap without force"),
    Field("energy", np.float64, (), "J", "elastic energy at the beginning"),
)
"""Columns of the table of contacts that begin with the next lists."""

AFTER_BREAK, NEVER_TOUCHING = 1, 2
"""Values of the column `NO_CONTACT`: contact only after the break; no contact at any time. 0: contact at any time."""


class BondEvaluation:
    """The table of bonds of this rank, and the last evaluation of them.

    Parameters
    ----------
    box : MovingBox or None
        The box of the run if it deforms.
    heats : bool
        Whether losses become heat of the ends.

    Attributes
    ----------
    table : PairTable
        The bonds.
    apart : PairTable
        Pairs of broken bonds that never touch; their particles may be far apart.
    begun : PairTable
        Pairs of broken bonds that touch, with reference overlaps, until the next lists contain their contacts.
    results : BondResults
        Results of the last evaluation; ``energy``, ``used`` and ``power`` are columns of the table.
    in_box : BondsInBox or None
        Forces and work in a box that deforms.
    """

    def __init__(self, box: MovingBox | None = None, *, heats: bool = False) -> None:
        further = *(() if box is None else FIELDS_IN_BOX), *((LOSS,) if heats else ())
        self.table = PairTable("bonds", (*BOND_FIELDS, *further))
        self.in_box = None if box is None else BondsInBox(box, self.table)
        self.apart = PairTable("broken_pairs", (Field(NO_CONTACT, np.int64, (), "1", "2: never"),), near=False)
        self.begun = PairTable("begun_contacts", BEGUN_FIELDS, near=False)
        self.results, self._of = BondResults.empty(0), self.table.rows
        self._ends, self._columns = self._arguments()
        self._lost = np.zeros(0)

    def _arguments(self) -> tuple[BondEnds, BondColumns]:
        """Return the arguments of kernels for the present table."""
        table = self.table
        columns = BondColumns(*(table.columns[name] for name in BondColumns._fields))
        return BondEnds(table.rows, table.shift, table.drift), columns

    def _follow_table(self) -> None:
        """Make new arguments and results if the pairs of the table have changed."""
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
        self.table.follow(packed, pair_box(system))
        evaluate(self._ends, self._columns, laws, packed, own.column("orientation")[:rows], self.results)
        if self.in_box is not None:
            self.in_box.note(packed, self.results.loads)

    def measured(self, system: System, laws: Floats, *, present: bool) -> BondResults:
        """Return the results of the last step, or of an evaluation at `present` that changes no column of the table.

        The bonds are also evaluated at present if the table has changed since the last step.
        """
        table, own = self.table, system.particles
        if not present and self._of is table.rows:
            return self.results
        results = BondResults.empty(len(table))
        if len(table):
            packed = system.contacts.pairs.rows_to_share(own)
            table.follow(packed, pair_box(system))
            evaluate(*self._arguments(), laws, packed, own.column("orientation")[: len(packed)], results)
        return results

    def too_long(self) -> int | None:
        """Return the lower id of the first bond of about half a periodic side in length; None without such a bond."""
        table = self.table
        return int(table.lower[np.argmax(table.far)]) if table.far.any() else None

    def add_loads(self, force: Floats, torque: Floats) -> None:
        """Add the loads of bonds to the forces and torques of owned particles (n, 3) [N, N m]."""
        if len(self.table):
            add_bond_loads(self.table.of_particles, self.results.loads, force, torque)

    def lost(self, owned: int, dt: float) -> Floats:
        """Return the energies (n,) [J] that bonds counted by this rank have lost to damping in a step of `dt` [s].

        For a bond that breaks, the part that is `ahead` of time is left out.
        """
        if len(self.table):
            write_lost(self.table.rows, owned, dt, self.results.power, self.results.mode, self._lost)
        return self._lost

    def ahead(self, pairs: Booleans, dt: float) -> Floats:
        """Return the damping losses of marked bonds that are accounted for ahead of the next kick [J].

        A dashpot acts by the rate r before a kick. Both kicks between r and the next rate r' dissipate the product of r
        with the mean of both rates, r (r + r') / 2 = (3 r^2 + r'^2) / 4 to second order. Half of this loss belongs to
        the kick that ends the step. Since each step accounts for r^2, a fourth of the last step is ahead of time.
        """
        return 0.25 * dt * self.table.columns["power"][pairs]

    def keep_losses(self, dt: float) -> None:
        """Add what all bonds of the table have lost to damping in a step of `dt` [s] to their column, if it exists."""
        if LOSS.name in self.table.columns:
            share = np.where(self.results.mode == UNBROKEN, 1.0, 0.75)  # as in `write_lost`
            self.table.columns[LOSS.name] += share * dt * self.results.power

    @property
    def any_breaks(self) -> bool:
        """Whether any bond breaks according to the last evaluation."""
        return bool(self.results.mode.any())

    def take_out(self, broken: Booleans) -> None:
        """Remove the marked bonds; the remaining bonds keep their loads."""
        loads = self.results.loads[~broken]
        never = broken & (self.table.columns[NO_CONTACT] == NEVER_TOUCHING)
        if never.any():
            marks = np.full(np.count_nonzero(never), NEVER_TOUCHING)
            self.apart.add(self.table.lower[never], self.table.higher[never], {NO_CONTACT: marks})
        self.table.keep(~broken)
        self._follow_table()
        self.results.loads[:] = loads


@uncounted_kernel
def write_lost(rows: Integers, owned: int, dt: float, power: Floats, mode: Integers, lost: Floats) -> None:
    """Write to `lost` the energy [J] that each bond has lost to damping in a step of `dt` [s].

    It is 0 for bonds that this rank does not count. For a bond that breaks, it excludes the kick that begins the next
    step.
    """
    for bond in prange(len(rows)):
        share = 1.0 if mode[bond] == UNBROKEN else 0.75
        lost[bond] = share * dt * power[bond] if rows[bond, 0] < owned else 0.0
