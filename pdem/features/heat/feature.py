"""Heat of particles as a feature of the engine: its state, its steps, what contacts lose, and its terms and columns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from pdem.contact.losses import LossSink, left_losses, pass_listed_at_pairs, pass_listed_at_walls
from pdem.engine.energy_terms import EnergyTerm, Role
from pdem.engine.feature import Feature
from pdem.engine.feature_set import StateTable, Turn
from pdem.engine.named_events import NEVER, name_key
from pdem.engine.views.bodies import rows_of_ids
from pdem.features.heat.columns import OF_ALL, wall_columns
from pdem.features.heat.heat_materials import smallest_capacity
from pdem.features.heat.heat_step import HEAT_FROM_MOTION, HEAT_RADIATED, HEAT_TO_FLUID, HeatExchange
from pdem.features.heat.intervals import CAREFUL, MOST_PARTS, interval_in_steps, number_of_parts
from pdem.features.heat.thermal_bodies import HeatScale, capacities, capacities_of_bodies, heat_of_bodies
from pdem.foundation.fields import Field
from pdem.numerics.quanta import quantum_of
from pdem.numerics.sums import ExactSums, normalise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pdem.case.sections.schema import CaseData
    from pdem.containers.particles import Particles
    from pdem.containers.records import PairRecords, WallRecords
    from pdem.engine.feature import Columns, Groups
    from pdem.engine.phases import Phases
    from pdem.engine.system import System
    from pdem.engine.views.series_line import SeriesLine
    from pdem.foundation.array_types import Floats, Integers

HEAT, HEAT_OF_WALLS = "heat", "heat_walls"
"""Terms of the energy balance: heat of particles above 0 K, and heat that walls have received."""

TEMPERATURE_FIELD = Field("temperature", np.float64, (), "K", "temperature")
CAPACITY_FIELD = Field("heat_capacity", np.float64, (), "J/K", "heat capacity", written=False)
RECEIVED_FIELD = Field(
    "received_heat", np.float64, (), "J", "heat from ended contacts since the last step of heat", written=False
)

WALL_GROUP = "heat_of_walls"
"""Group of a checkpoint with the heat that each wall has received."""

HEADROOM = 4.0
"""Heat that determines the quantum, over the largest heat of a particle at the largest temperature of the case."""


class HeatFeature(Feature):
    """Heat of all particles of a case."""

    name, turn, needs_forces, receives_losses = HEAT, Turn.COLLECT, False, True
    tables = (StateTable(WALL_GROUP, observes=True),)
    fields: ClassVar[tuple[Field, ...]] = (TEMPERATURE_FIELD, CAPACITY_FIELD, RECEIVED_FIELD)
    energy_terms = (
        EnergyTerm(HEAT, Role.STORED, of_state=True, is_heat=True),
        EnergyTerm(HEAT_FROM_MOTION, Role.SUPPLIED, summed=True),
        EnergyTerm(HEAT_OF_WALLS, Role.REMOVED, of_state=True, is_heat=True),
        EnergyTerm(HEAT_TO_FLUID, Role.REMOVED, of_state=True, summed=True, is_heat=True),
        EnergyTerm(HEAT_RADIATED, Role.REMOVED, of_state=True, summed=True, is_heat=True),
    )

    def __init__(self, exchange: HeatExchange | None = None) -> None:
        self.exchange = exchange
        self._last, self._next, self._rate = 0, NEVER, -1.0

    @classmethod
    def of(cls, system: System) -> Self:
        """Return the heat of a case at time 0.

        Raises
        ------
        CaseError
            If the file of a table cannot be used.
        """
        section, law = system.case.heat, system.constants.law
        return cls(None if section is None else HeatExchange(system.case, section, law))

    @classmethod
    def terms_in(cls, case: CaseData) -> tuple[str, ...]:
        """Return the names of the terms that a case has."""
        if (heat := case.heat) is None:
            return ()
        radiates = heat.radiation is not None and heat.radiation.to == "surroundings"
        present = {HEAT: True, HEAT_FROM_MOTION: heat.from_motion, HEAT_OF_WALLS: bool(case.walls)}
        present |= {HEAT_TO_FLUID: heat.convection is not None, HEAT_RADIATED: radiates}
        return tuple(name for name, is_there in present.items() if is_there)

    @property
    def next_step(self) -> int:
        """Step of the next step of heat."""
        return self._next

    def act(self, system: System, phases: Phases) -> None:
        """Take a step of heat."""
        self._advance(system)
        phases.lap("heat")

    def change_stage(self, system: System) -> None:
        """Take a step of heat, since the interval of the next stage may be another one."""
        self._advance(system)

    def _advance(self, system: System) -> None:
        """Exchange heat since the last step of heat, in parts in which no temperature can oscillate; plan the next."""
        exchange, step = self.exchange, system.progress.step
        if exchange is None:
            return
        duration = (step - self._last) * system.constants.time_step.dt
        if self._rate < 0.0 or duration * self._rate > CAREFUL:
            self._rate = exchange.trial(system)
        parts, rate = number_of_parts(duration, self._rate), self._rate
        if parts > MOST_PARTS:
            exchange.record_error(system, int(system.particles.id.min(initial=0)))
            parts = 1
        for part in range(parts):
            rate = exchange.take(system, duration / parts, rate, passes=part == 0)
        self._rate = rate
        self._plan(system)

    def _plan(self, system: System) -> None:
        """Choose the step of the next step of heat."""
        assert self.exchange is not None
        self._last = system.progress.step
        frozen = 0
        if system.stages.is_frozen:
            frozen = max(int(system.exchange.add(np.array([system.particles.count]))[0]), 1)
        dt, every = system.constants.time_step.dt, self.exchange.section.every
        interval = interval_in_steps(every, dt, self._rate, frozen=frozen)
        self._next = (self._last // interval + 1) * interval  # multiples, which outputs at round times meet

    def loss_sink(self, system: System) -> LossSink | None:
        """Return the arrays to which kernels give what contacts have lost when they end."""
        one, walls = self.exchange, system.walls
        if one is None or one.scale.quantum == 0.0:
            return None
        facet_wall = np.zeros(0, np.int32) if walls is None else walls.facet_wall
        material, ended = system.particles.column("material"), system.contacts.ended_energies
        row = ended.names.index(HEAT_FROM_MOTION)
        return LossSink(
            system.particles["received_heat"], one.scale.quantum, ended.limbs[row], material, one.materials.share,
            one.wall_material, one.walls.conducts, one.gained.limbs, facet_wall, one.lossy_at_end, one.passed,
        )  # fmt: skip

    def on_end(self, system: System, reason: int, pairs: PairRecords, walls: WallRecords) -> None:
        """Give what contacts have lost that end with a particle or a wall to their bodies."""
        law, exchange = system.constants.law, self.exchange
        if exchange is None or not law.passes_losses:
            return
        rows = (rows_of_ids(system.particles, ids) for ids in (pairs.lower, pairs.higher))
        self.receive_losses(system, np.stack(tuple(rows), axis=1), left_losses(law, pairs.history))
        sink = self.loss_sink(system)
        if system.walls is not None and len(walls.id) and sink is not None:
            system.contacts.ended_energies.count(len(walls.id))
            exchange.gained.count(len(walls.id))
            row, wall = rows_of_ids(system.particles, walls.id), system.walls.facet_wall[walls.facet]
            pass_listed_at_walls(row, wall, left_losses(law, walls.history), tuple(sink))

    def receive_losses(self, system: System, rows: Integers, losses: Floats) -> None:
        """Give the losses of pairs that end to their particles."""
        sink = self.loss_sink(system) if system.constants.law.passes_losses else None
        if sink is not None:
            system.contacts.ended_energies.count(2 * len(losses))
            first, second = np.ascontiguousarray(rows.T)
            pass_listed_at_pairs(first, second, losses, tuple(sink))

    def on_insert(self, system: System, columns: Columns) -> None:
        """Set the heat capacity of inserted particles, and round their heat to whole quanta."""
        if self.exchange is not None:
            self._complete(system, columns)

    def _complete(self, system: System, columns: Particles | Columns) -> None:
        """Set the heat capacity of new particles, and the temperature of the case where there is none."""
        assert self.exchange is not None
        temperature = columns["temperature"]
        temperature[temperature == 0.0] = self.exchange.section.temperature
        columns["heat_capacity"][:] = capacities(system, columns, self.exchange.materials)

    def load(self, system: System, groups: Mapping[str, Columns]) -> None:
        """Choose the quantum of a new run, or continue from a checkpoint. Collective."""
        exchange, counters = self.exchange, groups.get("counters", {})
        if exchange is None:
            return
        if "heat_unit" in counters:
            exchange.scale = HeatScale(float(counters["heat_unit"]), float(counters["heat_scale"]))
            self._last, self._next = int(counters["heat_last"]), int(counters["heat_next"])
            self._rate = float(counters["heat_rate"])
            self._load_walls(system, exchange, groups.get(WALL_GROUP))
            return
        self._complete(system, system.particles)
        exchange.scale = self._first_scale(system, exchange)
        self._last, self._next = system.progress.step, system.progress.step + 1

    def _first_scale(self, system: System, exchange: HeatExchange) -> HeatScale:
        """Return the units of heat of a new run: by its smallest body, at the highest temperature. Collective."""
        own, section, case = system.particles, exchange.section, system.case
        given = [one.temperature or 0.0 for one in case.particles] + [one.temperature or 0.0 for one in case.insertions]
        given += [one.temperature or 0.0 for one in (section.convection, section.radiation) if one is not None]
        highest = max([section.temperature, exchange.walls.highest, *given, float(own["temperature"].max(initial=0.0))])
        whole = capacities_of_bodies(exchange.bodies(own), own["heat_capacity"])
        highest, least = system.exchange.largest(np.array([highest, -whole.min(initial=math.inf)])).tolist()
        # without particles by those that come later
        smallest = -least if math.isfinite(least) else smallest_capacity(case, exchange.materials)
        temperature = HEADROOM * highest
        return HeatScale(quantum_of(HEADROOM * smallest * temperature), temperature)

    def counters(self, system: System) -> Columns:
        """Return quantum, steps of heat and the fastest rate."""
        if self.exchange is None:
            return {}
        quantum, scale = self.exchange.scale
        values = {"unit": quantum, "scale": scale, "last": self._last, "next": self._next, "rate": self._rate}
        return {f"heat_{name}": np.array(value) for name, value in values.items()}

    def groups(self, system: System) -> Groups:
        """Return this rank's part of the heat that walls have received."""
        if (exchange := self.exchange) is None or not exchange.gained.names:
            return {}
        for one in (exchange.conducted, exchange.gained):
            one.normalise()
        return {
            WALL_GROUP: {
                "conducted": exchange.conducted.limbs.copy(), "gained": exchange.gained.limbs.copy(),
                "temperature": exchange.wall_temperature.copy(),
            }
        }  # fmt: skip

    def totals(self, system: System, local: Groups) -> Groups:
        """Return the heat that walls have received on all ranks. Collective."""
        if WALL_GROUP not in local or self.exchange is None:
            return {}
        keys = np.array([name_key(name) for name in self.exchange.gained.names], np.int64)
        mine = local[WALL_GROUP]
        sums = {name: system.exchange.add(mine[name]) for name in ("conducted", "gained")}
        for limbs in sums.values():
            normalise(limbs)
        return {WALL_GROUP: {"wall": keys, **sums, "temperature": mine["temperature"]}}

    def _load_walls(self, system: System, exchange: HeatExchange, stored: Columns | None) -> None:
        """Continue with the last temperatures of walls, and on the first rank with the heat that they have received."""
        if stored is None:
            return
        rows = {name_key(name): row for row, name in enumerate(exchange.gained.names)}
        for place, key in enumerate(stored["wall"].tolist()):
            if key in rows:
                exchange.wall_temperature[rows[key]] = stored["temperature"][place]
            if key in rows and not system.exchange.rank:
                exchange.conducted.limbs[rows[key]] = stored["conducted"][place]
                exchange.gained.limbs[rows[key]] = stored["gained"][place]

    def particle_energies(self, system: System, columns: Particles | Columns) -> Mapping[str, Floats]:
        """Return the heat of each particle; the heat of a cluster belongs to its first member."""
        exchange = self.exchange
        if exchange is None or exchange.scale.quantum == 0.0:
            return {}
        heat = np.zeros(len(columns["id"]))
        capacity, temperature = (np.ascontiguousarray(columns[name]) for name in ("heat_capacity", "temperature"))
        heat_of_bodies(tuple(exchange.bodies(columns)), capacity, temperature, tuple(exchange.scale), heat)
        return {HEAT: heat + columns["received_heat"]}

    def add_energies(self, system: System, sums: ExactSums) -> None:
        """Add the heat of walls, and the part of it that comes from motion."""
        if (exchange := self.exchange) is None:
            return
        for one in (exchange.conducted, exchange.gained):
            sums.add_limbs(HEAT_OF_WALLS, one.limbs)
        sums.add_limbs(HEAT_FROM_MOTION, exchange.gained.limbs)

    def columns(self, system: System) -> list[tuple[str, ...]]:
        """Return names and units of the columns of temperatures, and of the heat of walls."""
        if self.exchange is None:
            return []
        return [*OF_ALL, *wall_columns(system.case)]

    def values(self, system: System, line: SeriesLine) -> dict[str, float]:
        """Return the values of these columns. Collective."""
        if (exchange := self.exchange) is None:
            return {}
        into_walls, now = self.heat_of_walls(system), exchange.walls.at(system.progress.time)
        temperature = np.where(np.isnan(exchange.walls.rate), now, exchange.wall_temperature)
        found = self._temperatures(system)
        for number, wall in enumerate(system.case.walls):
            if exchange.walls.conducts[number]:
                found[f"{wall.name}_heat"] = into_walls[wall.name]
                found[f"{wall.name}_temperature"] = float(temperature[number])
        return found

    def heat_of_walls(self, system: System) -> dict[str, float]:
        """Return the heat that each wall has received since time 0 [J], an exact sum rounded once. Collective."""
        if (exchange := self.exchange) is None:
            return {}
        total = ExactSums(exchange.gained.names)
        for one in (exchange.conducted, exchange.gained):
            one.normalise()
            total.limbs += system.exchange.add(one.limbs)
        total.normalise()
        return total.values()

    def _temperatures(self, system: System) -> dict[str, float]:
        """Return mean, lowest and highest temperature of all particles [K]; NaN without particles. Collective."""
        own, sums = system.particles, ExactSums(("heat", "capacity"))
        sums.add("heat", self.particle_energies(system, own).get(HEAT, np.zeros(0)))
        sums.add("capacity", own["heat_capacity"])
        sums.normalise()
        total = ExactSums(sums.names, system.exchange.add(sums.limbs)).values()
        temperature = own["temperature"]
        ends = np.array([-temperature.min(initial=math.inf), temperature.max(initial=-math.inf)])
        low, high = system.exchange.largest(ends).tolist()
        if total["capacity"] == 0.0:
            return {name: math.nan for name, _ in OF_ALL}
        values = total["heat"] / total["capacity"], -low, high
        return {name: value for (name, _), value in zip(OF_ALL, values, strict=True)}

    def error(self, system: System, particle: str, speed: str) -> str:
        """Return the message on heat that leaves the range of numbers."""
        return (
            f"the temperature of {particle} would fall below 0 K or rise beyond all reason, or a step of heat would "
            "need more than a thousand parts: check heat_capacity, conductivity and heat_rate, or reduce heat.every"
        )

    def quantity(self, system: System, owner: str, name: str) -> float:
        """Return the present value of a column, for the condition of a stage. Collective."""
        return self._temperatures(system)[name]
