"""An amount that particles carry and contacts exchange, conserved to the last bit.

It is a field of the table of particles, a scalar in SI units, and always a whole number of quanta
(`pdem.contact.exchange`). A feature makes a `QuantumField` for it and calls `QuantumField.step` in its `before_step`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.exchange.flows import NO_ID
from pdem.contact.exchange.pair_flows import flowing_pairs, pair_choice_kernel, pair_flow_kernel, pair_parts_kernel
from pdem.contact.exchange.wall_flows import WallList, wall_choice_kernel, wall_flow_kernel, wall_parts_kernel
from pdem.contact.law.contact_law import OVERLAP
from pdem.engine.blow_up import PAIR_FLOW, TOO_MANY_QUANTA, WALL_FLOW
from pdem.engine.feature_set import StateTable
from pdem.engine.named_events import name_key
from pdem.foundation.errors import InputError
from pdem.foundation.packed_row import PACKED
from pdem.numerics.arrays import room_for, with_spare
from pdem.numerics.kernels import plain
from pdem.numerics.quanta import add_quanta, quantum_of, whole_quanta
from pdem.numerics.sums import ExactSums

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pdem.contact.exchange.pair_flows import FlowingPairs
    from pdem.contact.exchange.wall_flows import FlowingWalls
    from pdem.containers.exchange import Exchange
    from pdem.containers.particles import Particles
    from pdem.engine.feature import Columns, Groups
    from pdem.engine.parts.run_progress import RunProgress
    from pdem.engine.system import System
    from pdem.foundation.array_types import Floats, Int32s, Integers


class QuantumField:
    """One field of particles that contacts exchange in whole quanta.

    Flows are plain functions, which are compiled. They may call other plain functions and use numbers of their module.

    Parameters
    ----------
    name : str
        Name of the field, a scalar in double precision of `pdem.foundation.fields` or of a feature (`Feature.fields`).
    flow : callable
        ``flow(value_i, value_j, radius_i, radius_j, overlap, pair, dt, parameters)`` returns the amount from i to j in
        one step of `dt` [s], in the unit of the field; negative from j to i. i has the lower id, radii and overlap are
        in m, `pair` is ``material_i * materials + material_j``, and `parameters` is the argument of `step`: a number,
        an array, or a tuple of these. The overlap is negative while a contact is stretched.
    wall_flow : callable, optional
        ``wall_flow(value, wall_value, radius, overlap, pair, dt, parameters)`` returns the amount from a particle into
        a wall; ``pair`` is ``material * materials + material of the wall``. By default walls exchange nothing.
    memory : str, optional
        Name of a column of histories that is the last argument of flows; flows return its new value after the amount. A
        new contact has 0 in it.

    Attributes
    ----------
    name : str
        Name of the field.

    """

    def __init__(
        self, name: str, flow: Callable[..., Any], wall_flow: Callable[..., Any] | None = None, *, memory: str = ""
    ) -> None:  # fmt: skip
        self.name, self._memory = name, memory
        self._flows = flow, wall_flow
        self._rows, self._change = np.zeros((0, PACKED)), np.zeros(0, np.int64)
        self._bad, self._list = np.empty(2, np.int64), WallList()
        self._room = np.empty(0, np.int32), np.empty(0, np.int32)
        self._into_walls, self._no_values = ExactSums(()), np.zeros(0)

    @staticmethod
    def tables(name: str) -> tuple[StateTable, ...]:
        """Return the group of a checkpoint for a field with flows into walls, see `groups`."""
        return (StateTable(_group(name), observes=True),)

    def begin(self, system: System, largest: float) -> None:
        """Begin with the particles of a system. Collective; in the `load` of a feature.

        A new run chooses the quantum, which never changes afterwards and is in each checkpoint. Values that are not
        whole quanta are rounded down.

        Parameters
        ----------
        system : System
            System with its particles.
        largest : float
            Amount that a particle may have [unit of the field]; the largest of all ranks counts. The quantum is about
            2^-48 of it, and 32 times this amount is the limit for any particle.

        Raises
        ------
        InputError
            On all ranks, if particles have no such field, or it is not a scalar in double precision that moves with its
            particle; if the largest amount is not positive and finite, or contacts do not have the column `memory`.
        """
        field = system.particles.fields.get(self.name)
        if field is None or field.shape or np.dtype(field.dtype) != np.float64 or not field.state:
            raise InputError(
                f"{self.name} is no field that contacts can exchange; give one that particles of the case have, a "
                "scalar in double precision that belongs to the state"
            )
        if self._memory and not system.constants.law.has(self._memory):
            raise InputError(
                f"{self.name}: contacts of this case remember no {self._memory}; give a column of their histories"
            )
        walls = [wall.name for wall in system.case.walls]
        self._into_walls = ExactSums(walls if self._flows[1] is not None else ())
        self._no_values = np.zeros(len(walls))
        if self.name not in system.contacts.quanta:
            try:
                quantum = quantum_of(float(system.exchange.largest(np.array([largest]))[0]))
            except ValueError as error:
                raise InputError(f"{self.name}: {error}") from None
            system.contacts.quanta[self.name] = quantum
            system.particles[self.name][:] = whole_quanta(system.particles[self.name], quantum)

    def quantum(self, system: System) -> float:
        """Return the quantum, a power of two; 0 before `begin`."""
        return float(system.contacts.quanta.get(self.name, 0.0))

    def step(self, system: System, parameters: Any = (), wall_values: Floats | None = None) -> None:
        """Exchange amounts through all contacts of the last step; in the `before_step` of a feature. Collective.

        Parameters
        ----------
        system : System
            The state.
        parameters : tuple, array or number
            Parameters of the flows.
        wall_values : (W,) array, optional
            Values of all walls, in the order of the case; default 0.
        """
        walls = self.walls(system) if self._flows[1] is not None else None
        self.exchange(system, system.particles[self.name], self.pairs(system), walls, parameters, wall_values)

    def exchange(
        self, system: System, values: Floats, pairs: FlowingPairs, walls: FlowingWalls | None, parameters: Any = (),
        wall_values: Floats | None = None,
    ) -> None:  # fmt: skip
        """Exchange amounts through some contacts, with `values` of owned particles (n,) for the flows. Collective.

        Both ranks of a contact between ranks must include it. Errors stop the run at the next all-reduce of the status.
        """
        flow, wall_flow = self._flows
        rows, change = self._shared(system.particles, system.exchange, values), self._changes(system.particles)
        quantum, dt, self._bad[:] = self.quantum(system), system.constants.time_step.dt, NO_ID
        kernel = pair_flow_kernel(flow, remembers=bool(self._memory))
        kernel(*plain(pairs, rows, quantum, dt, parameters, change, self._bad))
        self._note_bad(system.progress, PAIR_FLOW)
        if walls is not None and wall_flow is not None:
            self._into_walls.count(len(walls.row))
            kernel, limbs = wall_flow_kernel(wall_flow, remembers=bool(self._memory)), self._into_walls.limbs
            of_walls = self._no_values if wall_values is None else wall_values
            kernel(*plain(walls, rows, of_walls, quantum, dt, parameters, change, self._bad, limbs))
            self._note_bad(system.progress, WALL_FLOW)
        bad = int(add_quanta(system.particles[self.name], change, quantum))
        if bad >= 0:
            system.progress.record_error(TOO_MANY_QUANTA, int(system.particles.id[bad]))

    def pairs(self, system: System, choice: Callable[..., Any] | None = None, parameters: Any = ()) -> FlowingPairs:
        """Return the contacts between particles of this rank, all or those that a plain function chooses; views.

        ``choice(pair, parameters, memory)`` returns whether a contact takes part, by column `memory` of its history.
        """
        law, materials = system.constants.law, len(system.constants.density)
        place = law.place(self._memory) if self._memory else OVERLAP
        pairs = flowing_pairs(system.contacts.pairs, system.particles, materials, place)
        if choice is None:
            return pairs
        listed = self._room_for(0, len(pairs.indices))
        number = int(pair_choice_kernel(choice)(*plain(pairs, parameters, listed)))
        return pairs._replace(indices=listed[:number])

    def walls(
        self, system: System, choice: Callable[..., Any] | None = None, parameters: Any = ()
    ) -> FlowingWalls | None:
        """Return the contacts with walls as `pairs` does; None for a case without walls."""
        if system.contacts.walls is None:
            return None
        law, materials = system.constants.law, len(system.constants.density)
        place = law.place(self._memory) if self._memory else OVERLAP
        walls = self._list.fill(system.contacts.walls, system.particles, materials, place)
        if choice is None:
            return walls
        listed = self._room_for(1, len(walls.row))
        number = int(wall_choice_kernel(choice)(*plain(walls, parameters, listed)))
        return walls.chosen(listed[:number])

    def _room_for(self, which: int, count: int) -> Int32s:
        """Return room for a list of contacts, of pairs (0) or with walls (1)."""
        if count > len(self._room[which]):
            room = np.empty(with_spare(count), np.int32)
            self._room = (room, self._room[1]) if which == 0 else (self._room[0], room)
        return self._room[which]

    def _shared(self, particles: Particles, exchange: Exchange, values: Floats) -> Floats:
        """Return rows with the values of owned particles and ghosts in the first column (n, PACKED). Collective."""
        own = particles
        number = own.count + own.ghosts
        if number > len(self._rows):
            self._rows = np.zeros((room_for(number, len(self._rows)), PACKED))
        rows = self._rows[:number]
        rows[: own.count, 0] = values
        exchange.begin_update(rows)
        exchange.finish_update()
        return rows

    def _changes(self, particles: Particles) -> Integers:
        """Return zeros for the changes of owned particles in quanta."""
        count = particles.count
        if count > len(self._change):
            self._change = np.zeros(room_for(count, len(self._change)), np.int64)
        return self._change[:count]

    def _note_bad(self, progress: RunProgress, kind: int) -> None:
        """Record the error of an invalid flow, if there was one."""
        if self._bad[0] != NO_ID:
            progress.record_error(kind, int(self._bad[0]), int(self._bad[1]))
            self._bad[:] = NO_ID

    def into_walls(self, system: System) -> dict[str, float]:
        """Return the inflow of each wall since the begin of the run, an exact sum rounded once. Collective."""
        return self._total(system.exchange).values()

    def _total(self, exchange: Exchange) -> ExactSums:
        self._into_walls.normalise()
        total = ExactSums(self._into_walls.names, exchange.add(self._into_walls.limbs))
        total.normalise()
        return total

    def groups(self) -> Groups:
        """Return this rank's part of the group of a checkpoint with the inflow of walls."""
        if not self._into_walls.names:
            return {}
        self._into_walls.normalise()
        return {_group(self.name): {"amount": self._into_walls.limbs.copy()}}

    def totals(self, system: System) -> Groups:
        """Return this group for all ranks. Collective."""
        if not self._into_walls.names:
            return {}
        keys = np.array([name_key(name) for name in self._into_walls.names], np.int64)
        return {_group(self.name): {"wall": keys, "amount": self._total(system.exchange).limbs}}

    def load(self, system: System, groups: Mapping[str, Columns], largest: float) -> None:
        """Begin, and continue with the inflow of walls of a checkpoint. Collective; `largest` as for `begin`."""
        self.begin(system, largest)
        stored = groups.get(_group(self.name))
        if stored is None or system.exchange.rank:
            return
        rows = {name_key(name): row for row, name in enumerate(self._into_walls.names)}
        for wall, limbs in zip(stored["wall"].tolist(), stored["amount"], strict=True):
            if wall in rows:
                self._into_walls.limbs[rows[wall]] = limbs


def sum_over_contacts(
    system: System, pairs: FlowingPairs, walls: FlowingWalls | None,
    parts: tuple[Callable[..., Any], Callable[..., Any]], parameters: Any = (),
) -> Integers:  # fmt: skip
    """Return sums of integers over the contacts of each owned particle (n,).

    Parameters
    ----------
    system : System
        The state.
    pairs, walls
        The contacts, see `QuantumField.pairs` and `QuantumField.walls`.
    parts : tuple of 2 callables
        Plain functions that return the integer of a particle: for a contact with a second particle, ``(radius,
        other_radius, overlap, pair, parameters, memory)``, and for a contact with a wall, ``(radius, overlap, pair,
        parameters, memory)``.
    parameters : tuple, array or number
        Parameters of these functions.
    """
    total = np.zeros(system.particles.count, np.int64)
    pair_parts_kernel(parts[0])(*plain(pairs, parameters, total))
    if walls is not None:
        wall_parts_kernel(parts[1])(*plain(walls, parameters, total))
    return total


def _group(name: str) -> str:
    """Return the name of the group of a checkpoint with the inflow of walls."""
    return f"{name}_into_walls"
