"""Forces and drags that a script sets for each particle: their fields, how a script sets them, and how they act."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.group import on_each_rank
from pdem.containers.id_directory import IdDirectory
from pdem.engine.feature_forces import kicked_rows
from pdem.features.external_forces.array_kernel import DraggedColumns, KickConstants, kick_dragged
from pdem.features.external_forces.kicks import TERM, forced_columns, relative_to_box
from pdem.features.external_forces.parameters import has_array
from pdem.foundation.errors import InputError
from pdem.foundation.fields import Field
from pdem.numerics.kernels import plain

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pdem.containers.exchange import Exchange
    from pdem.containers.particles import Particles
    from pdem.engine.parts.rank_contacts import RankContacts
    from pdem.engine.system import System
    from pdem.foundation.array_types import Floats, Int32s, Integers

    Columns = dict[str, NDArray[Any]]

FORCE = Field("external_force", np.float64, (3,), "N", "force from outside, without drag")
DRAG = Field("external_drag", np.float64, (), "kg/s", "force over velocity relative to the fluid")
FLUID = Field("fluid_velocity", np.float64, (3,), "m/s", "velocity of the fluid at the particle")
FIELDS = (FORCE, DRAG, FLUID)
"""Fields that a script sets for each particle, in cases with `ARRAY` among their forces."""


def kick_by_array(
    system: System, time: float, half: float, begins: bool, scratch: tuple[Integers, Integers]
) -> int:  # fmt: skip
    """Apply the forces and drags of a script for half a kick of `half` [s]; add their work to the energy balance.

    Parameters
    ----------
    system : System
        State of this rank.
    time : float
        Time between the two steps [s].
    half : float
        Length of the kick [s].
    begins : bool
        Whether the kick by contacts follows.
    scratch : tuple of arrays
        Sums and ids that the kernel writes, by worker.

    Returns
    -------
    int
        Lowest id of a particle with a velocity that is not finite or a negative drag, `NONE_BAD` without any.
    """
    constants, particles, (limbs, bad) = system.constants, system.particles, scratch
    shared = KickConstants(constants.density, constants.gravity, constants.free)
    with relative_to_box(
        system.box, round(time / constants.time_step.dt), forced_columns(system.particles), particles.count
    ):
        kick_columns(particles, shared, (half, begins), kicked_rows(system.contacts, system.particles), scratch)
    system.contacts.ended_energies.add_limbs(TERM, limbs)
    return int(bad.min())


def kick_columns(
    particles: Particles, constants: KickConstants, kick: tuple[float, bool], which: tuple[int, Int32s],
    scratch: tuple[Integers, Integers],
) -> None:  # fmt: skip
    """Call the kernel for particles, with length and `begins` of the kick, number and rows, and its outputs."""
    columns = DraggedColumns(*(particles.column(name) for name in DraggedColumns._fields))
    kick_dragged(*plain(*kick, *which, columns, constants, *scratch))


def set_array(
    system: System, force: ArrayLike, drag: ArrayLike | None, fluid_velocity: ArrayLike | None, ids: ArrayLike | None
) -> None:
    """Set external forces and drags, see `pdem.run.scripting.Scripting.set_external_force`. Collective.

    Raises
    ------
    InputError
        On all ranks.
    """
    if not has_array(system.case):
        raise InputError(
            "simulation.set_external_force: particles of this case have no external forces; give the case "
            '[[forces]] kind = "array"'
        )
    own = system.particles
    whose = on_each_rank(system.exchange, lambda: own.id.copy() if ids is None else _checked_ids(ids))
    given = on_each_rank(system.exchange, lambda: _checked(force, drag, fluid_velocity, len(whose)))
    order = np.argsort(own.id)
    if ids is not None:
        whose, given = _at_their_owners(system.exchange, system.particles, whose, given)
    rows = order[np.searchsorted(own.id, whose, sorter=order)]
    on_each_rank(system.exchange, lambda: _check_rows(system.contacts, system.particles, rows, given))
    for name, column in given.items():
        own[name][rows] = column


def _checked_ids(ids: ArrayLike) -> Integers:
    """Return ids as an array."""
    array = np.asarray(ids)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(
            f"simulation.set_external_force: ids have the shape {array.shape} and the type {array.dtype}; give the ids "
            "of particles, whole numbers (n,)"
        )
    whose = array.astype(np.int64)
    sorted_ = np.sort(whose)
    twice = sorted_[1:][sorted_[1:] == sorted_[:-1]]
    if len(twice):
        raise InputError(f"simulation.set_external_force: particle {twice[0]} is twice in ids; give each once")
    return whose


def _checked(force: ArrayLike, drag: ArrayLike | None, fluid: ArrayLike | None, count: int) -> Columns:
    """Return columns of `count` particles from arguments that have one value for all, or one for each."""
    given = {FORCE.name: force, DRAG.name: 0.0 if drag is None else drag, FLUID.name: 0.0 if fluid is None else fluid}
    columns = {field.name: _column(field, given[field.name], count) for field in FIELDS}
    if (columns[DRAG.name] < 0.0).any():
        raise InputError(
            f"simulation.set_external_force: a drag is {columns[DRAG.name].min():g} kg/s, and would drive "
            "particles; give coefficients that are not negative"
        )
    return columns


def _column(field: Field, values: ArrayLike, count: int) -> Floats:
    shape = (count, *field.shape)
    name = {FORCE.name: "force", DRAG.name: "drag"}.get(field.name, field.name)
    try:
        array = np.asarray(values, np.float64)
        column = np.broadcast_to(array, shape)
    except (TypeError, ValueError):
        found = getattr(values, "shape", None)
        text = "is no array of numbers that fits" if found is None else f"has the shape {found}"
        raise InputError(
            f"simulation.set_external_force: {name} {text}; give numbers of the shape {shape}, in {field.unit}, or of "
            f"the shape {field.shape} for all"
        ) from None
    if not np.isfinite(array).all():
        raise InputError(f"simulation.set_external_force: {name} holds numbers that are not finite; give finite ones")
    return column


def _at_their_owners(
    exchange: Exchange, particles: Particles, ids: Integers, given: Columns
) -> tuple[Integers, Columns]:
    """Return ids and columns of the particles of this rank, from the arguments of all ranks. Collective."""
    own = particles.id
    owner = IdDirectory(exchange, own.copy(), np.full(len(own), exchange.rank)).find(ids)
    on_each_rank(exchange, lambda: _check_known(ids, owner))
    sent = exchange.route({"id": ids, **{name: column.copy() for name, column in given.items()}}, owner)
    order = np.argsort(sent["id"], kind="stable")
    sent = {name: column[order] for name, column in sent.items()}
    whose = sent.pop("id")
    again = np.flatnonzero(whose[1:] == whose[:-1]) + 1
    on_each_rank(exchange, lambda: _check_same(whose, sent, again))
    first = np.setdiff1d(np.arange(len(whose)), again)
    return whose[first], {name: column[first] for name, column in sent.items()}


def _check_known(ids: Integers, owner: Integers) -> None:
    if (owner < 0).any():
        raise InputError(
            f"simulation.set_external_force: there is no particle {ids[owner < 0].min()}; give ids of particles that "
            "exist"
        )


def _check_same(ids: Integers, given: Columns, again: Integers) -> None:
    """Require that ranks set equal values for a particle; `again` are the rows with the id of the row before."""
    for name, column in given.items():
        differs = (column[again] != column[again - 1]).any(axis=tuple(range(1, column.ndim)))
        if differs.any():
            raise InputError(
                f"simulation.set_external_force: ranks give different values ({name}) for particle "
                f"{ids[again[differs][0]]}; give all the same, or each rank its own particles"
            )


def _check_rows(contacts: RankContacts, particles: Particles, rows: Integers, given: Columns) -> None:
    """Refuse values without effect: a force or a drag on particles that a cluster moves."""
    acts = (given[FORCE.name] != 0.0).any(axis=1) | (given[DRAG.name] != 0.0)
    carried = np.isin(rows, contacts.pairs.held.carried) & acts
    if carried.any():
        raise InputError(
            f"simulation.set_external_force: particle {particles.id[rows[carried]].min()} belongs to a cluster, "
            "which external forces do not act on; give zero for such particles, and use simulation.force for clusters"
        )
