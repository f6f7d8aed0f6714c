"""Bonds as lines from particle to particle: the columns of snapshots of bonds, and of `Simulation.bonds`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.engine.views.acting_contacts import refresh_packed_rows
from pdem.features.bonds.bond_forces import forces_of_bonds
from pdem.features.bonds.selection import sections_of
from pdem.foundation.errors import InputError
from pdem.foundation.exact_math import inner, norm
from pdem.foundation.fields import Field
from pdem.foundation.named import Named
from pdem.output.frames import data_frame
from pdem.output.snapshots.contact_snapshots import ENDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.engine.system import System
    from pdem.engine.views.pair_forces import PairForces
    from pdem.features.bonds.evaluation import BondEvaluation
    from pdem.features.bonds.kernel import BondResults
    from pdem.foundation.array_types import Booleans, Floats

    Columns = dict[str, NDArray[Any]]

BOND_LINE_FIELDS = (
    Field("first", np.int64, (), "1", "id of the particle with the lower id"),
    Field("second", np.int64, (), "1", "id of the other particle"),
    Field("kind", np.int32, (), "1", "index of the section [bonds.NAME] in the case"),
    Field("length", np.float64, (), "m", "distance of the centres"),
    Field("radius", np.float64, (), "m", "outer radius of the section"),
    Field("force", np.float64, (3,), "N", "force of the first on the second particle"),
    Field("first_moment", np.float64, (3,), "N m", "moment of the bond on the first particle"),
    Field("second_moment", np.float64, (3,), "N m", "moment of the bond on the second particle"),
    Field("normal_force", np.float64, (), "N", "part of the force along the bond: positive under compression"),
    Field("tangential_force", np.float64, (), "N", "size of the rest"),
    Field("tensile_stress", np.float64, (), "Pa", "largest tension of the section, by force and bending"),
    Field("shear_stress", np.float64, (), "Pa", "largest shear stress of the section, by force and twist"),
    Field("stress", np.float64, (), "1", "load over strength by the criterion of the bond: it breaks at 1"),
    Field("energy", np.float64, (), "J", "elastic energy"),
)
"""Columns of bonds in snapshots."""

UNITS_OF_BONDS = {field.name: field.unit for field in BOND_LINE_FIELDS} | dict.fromkeys(("centre", "branch"), "m")
"""SI unit of each column."""


class BondTable(Named["NDArray[Any]"]):
    """Bonds at one time: a dict of columns by name, rows in the order of ids. The columns are `BOND_LINE_FIELDS`.

    ``centre`` (n, 3) is the centre of the first particle, and ``branch`` (n, 3) leads to the second one [m].

    Parameters
    ----------
    columns : mapping of (n, ...) arrays
        The columns; empty if no bonds have been written.
    reason : str
        Reason if there are no bonds; the error for a missing column quotes it.
    """

    def __init__(self, columns: Mapping[str, NDArray[Any]], reason: str = "") -> None:
        super().__init__(columns, "column of bonds", reason)

    def to_pandas(self) -> Any:
        """Return a pandas.DataFrame with a row for each bond; its ``attrs["units"]`` has the units.

        Raises
        ------
        InputError
            If no bonds have been written, or pandas is not installed.
        """
        if self.reason:
            raise InputError(self.reason)
        return data_frame(self, UNITS_OF_BONDS)


def bond_columns(system: System, bonds: BondEvaluation, laws: Floats) -> Columns:
    """Return the columns of the bonds that this rank counts: `BOND_LINE_FIELDS` and ``ends``, in any order. Collective.

    The loads are those of the last step if the case stores the forces of contacts in it, else loads at present.
    """
    present = not system.contacts.pairs.keeps_forces
    if present:
        refresh_packed_rows(system)
    results, table, own = bonds.measured(system, laws, present=present), bonds.table, system.particles
    pairs, mine = forces_of_bonds(system, bonds, results), table.rows[:, 0] < own.count
    moments = results.loads[mine, 3:6], results.loads[mine, 6:9]
    kind = table.columns["kind"][mine]
    return {
        "first": table.lower[mine], "second": table.higher[mine], "kind": kind, "length": norm(pairs.branch),
        "radius": _outer_radii(system, pairs, kind), "force": pairs.force, "first_moment": moments[0],
        "second_moment": moments[1], **_stresses(pairs, moments, table.columns["section"][mine]),
        **_states(results, mine), ENDS: np.stack((pairs.centre, pairs.centre + pairs.branch), axis=1),
    }  # fmt: skip


def _states(results: BondResults, mine: Booleans) -> Columns:
    """Return the used share of the strength, and the elastic energy [J]."""
    energy = results.energy[mine]
    return {"stress": results.used[mine], "energy": energy[:, 0] + energy[:, 1] + (energy[:, 2] + energy[:, 3])}


def _stresses(pairs: PairForces, moments: tuple[Floats, Floats], section: Floats) -> Columns:
    """Return the parts of forces [N] and the largest stresses of sections [Pa], as `.potential.stresses` does."""
    normal = pairs.branch / norm(pairs.branch)[:, None]
    push, twist = inner(pairs.force, normal), inner(moments[1], normal)
    side = norm(pairs.force - push[:, None] * normal)
    bends = (norm(moment - inner(moment, normal)[:, None] * normal) for moment in moments)
    area, bending, twisting = section.T
    return {
        "normal_force": push, "tangential_force": side,
        "tensile_stress": np.maximum(*bends) * bending - push / area,
        "shear_stress": side / area + np.abs(twist) * twisting,
    }  # fmt: skip


def _outer_radii(system: System, pairs: PairForces, kind: NDArray[Any]) -> Floats:
    """Return the outer radii of the sections of bonds (n,) [m]."""
    column = system.particles.column("radius")
    smaller = np.minimum(column[pairs.first], column[pairs.second])
    found = np.zeros(len(smaller))
    for number, section in enumerate(system.case.bonds.values()):
        mine = kind == number
        found[mine] = sections_of(section, smaller[mine]).outer
    return found
