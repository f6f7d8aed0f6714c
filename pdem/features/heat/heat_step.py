"""A step of heat on one rank: values for other ranks, flows through contacts and walls, and the new temperatures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.exchange.flows import NO_ID
from pdem.contact.exchange.pair_flows import FlowingPairs, flowing_pairs
from pdem.contact.exchange.wall_flows import FlowingWalls, WallList
from pdem.contact.law.parts import EXCHANGE_REST, PASSED_LOSS
from pdem.contact.losses import lossy_columns
from pdem.engine.blow_up import OF_FEATURE
from pdem.engine.views.conducting_pairs import conducting_pairs
from pdem.features.heat.heat_flows import (
    CONDUCTANCE_QUANTUM,
    SHARED_CONDUCTIVITY,
    SHARED_TEMPERATURE,
    SHARED_VIEW,
    HeatedWalls,
    HeatStep,
    HeatSums,
    count_neighbours,
    count_walls,
    heat_of_pairs,
    pair_heat_kernel,
    wall_conductances_kernel,
    wall_heat_kernel,
)
from pdem.features.heat.heat_materials import WallTemperatures, heat_materials
from pdem.features.heat.surroundings import STEFAN_BOLTZMANN, FluidRow
from pdem.features.heat.thermal_bodies import (
    HeatScale,
    HeatSurroundings,
    ThermalBodies,
    add_heat,
    bodies_among,
    exchange_with_surroundings,
)
from pdem.foundation.packed_row import PACKED
from pdem.numerics.arrays import room_for
from pdem.numerics.kernels import plain
from pdem.numerics.sums import LIMBS, ExactSums, exact_values, normalise

if TYPE_CHECKING:
    from pdem.case.model import Case
    from pdem.case.sections.schema import CaseData
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.engine.system import System
    from pdem.features.heat.section import Heat
    from pdem.foundation.array_types import Floats, Integers

HEAT_TO_FLUID, HEAT_RADIATED = "heat_fluid", "heat_radiated"
"""Terms of the energy balance: heat that particles have lost to a fluid, and to surroundings."""

HEAT_FROM_MOTION = "heat_from_motion"
"""Term of the energy balance: energy that contacts have lost and bodies have received."""

ONE_EVALUATION = 1e-5
"""Length of a step over the shortest time constant up to which one evaluation of the flows suffices."""


class HeatExchange:
    """Steps of heat of a case.

    Parameters
    ----------
    case : Case
        The case, with ``[heat]``.
    section : Heat
        This section.
    law : ContactLaw
        The contact law of the case.

    Attributes
    ----------
    section : Heat
        The section of the case.
    materials : HeatMaterials
        Numbers of its materials.
    walls : WallTemperatures
        Temperatures of its walls.
    scale : HeatScale
        Units of heat.
    wall_material : (W,) int32 array
        Materials of the walls.
    wall_temperature : (W,) array
        Temperatures of the walls in the last step [K].
    lossy_at_end : int64 array
        Columns of histories whose sum a contact that ends has lost.
    passed : int
        Column with the part of its loss that a contact has passed on.
    conducted, gained : ExactSums
        Heat that each wall has received on this rank, by flows and from the losses of contacts [J].
    """

    def __init__(self, case: Case, section: Heat, law: ContactLaw) -> None:
        self.section, self.scale = section, HeatScale()
        self._lossy, self.lossy_at_end = (np.array(lossy_columns(law, ended=end), np.int64) for end in (False, True))
        self.passed, self._rest = law.place(PASSED_LOSS.name), law.place(EXCHANGE_REST.name)
        self.materials, self.walls = heat_materials(case), WallTemperatures(case)
        names = [wall.name for wall in case.walls]
        self.conducted, self.gained = ExactSums(names), ExactSums(names)
        self.wall_temperature = self.walls.at(0.0)
        self.wall_material = np.array([case.material_index(wall.material) for wall in case.walls], np.int32)
        self._surroundings = surroundings_of(case, section)
        self._rows, self._list = np.zeros((0, PACKED)), WallList()

    def bodies(self, columns: Any) -> ThermalBodies:
        """Return the bodies with one temperature among particles, from their columns."""
        return bodies_among(columns, whole_clusters=self.section.clusters == "one")

    def fastest_rate(self, system: System, sums: HeatSums, outside: Floats) -> float:
        """Return the largest sum of conductances over the heat capacity of any particle of any rank [1/s]. Collective.

        `outside` are conductances to fluid and surroundings (n,) [W/K].
        """
        total = sums.conductance.astype(np.float64) * CONDUCTANCE_QUANTUM + outside
        largest = (total / system.particles["heat_capacity"]).max(initial=0.0)
        return float(system.exchange.largest(np.array([largest]))[0])

    def trial(self, system: System) -> float:
        """Return `fastest_rate` of the present state, without any change. Collective."""
        own = system.particles
        step = self._step_of(system, 0.0, commits=False, passes=False)
        sums, _, outside = self._flows(system, own["temperature"], step)
        return self.fastest_rate(system, sums, outside)

    def take(self, system: System, dt: float, rate: float, *, passes: bool) -> float:
        """Exchange heat for a time [s]; return the fastest rate [1/s]. Collective.

        With steps that are not far below the shortest time constant 1 / `rate` flows are those of the middle of the
        step: the rule of the midpoint, of second order.

        Parameters
        ----------
        system : System
            The state.
        dt : float
            Length of the step [s].
        rate : float
            `fastest_rate` before it [1/s].
        passes : bool
            Whether bodies receive what contacts have lost.
        """
        own, temperature = system.particles, system.particles["temperature"]
        bodies, middle = self.bodies(own), temperature
        if dt * rate > ONE_EVALUATION:
            trial = self._step_of(system, 0.5 * dt, commits=False, passes=False)
            sums, lost, _ = self._flows(system, temperature, trial)
            middle = np.empty(own.count)
            self._warm(system, bodies, sums.flowed - lost[0] - lost[1], middle, commits=False)
        step = self._step_of(system, dt, commits=True, passes=passes)
        sums, lost, outside = self._flows(system, middle, step)
        self._warm(system, bodies, sums.flowed + sums.gained - lost[0] - lost[1], temperature, commits=True)
        ended = system.contacts.ended_energies
        for name, quanta in ((HEAT_TO_FLUID, lost[0]), (HEAT_RADIATED, lost[1]), (HEAT_FROM_MOTION, sums.gained)):
            if name in system.features.terms.names and quanta.any():
                ended.add(name, quanta.astype(np.float64) * self.scale.quantum)
        return self.fastest_rate(system, sums, outside)

    def _step_of(self, system: System, dt: float, *, commits: bool, passes: bool) -> HeatStep:
        passes = passes and system.constants.law.passes_losses
        return HeatStep(dt, self.scale.quantum, commits, passes, self.passed, self._lossy, self.materials.share)

    def _flows(
        self, system: System, temperature: Floats, step: HeatStep
    ) -> tuple[HeatSums, tuple[Integers, Integers], Floats]:
        """Return sums over contacts, losses to fluid and surroundings, and conductances to these. Collective."""
        own, count = system.particles, system.particles.count
        flowed, gained, conductance = np.zeros((3, count), np.int64)
        sums = HeatSums(flowed, gained, conductance, np.full(2, NO_ID))
        pairs, walls = self._contacts(system)
        area = self._areas(system, pairs, walls)
        values = self._shared(system, temperature, area)
        kernel = pair_heat_kernel(self.section.contact)
        kernel(tuple(pairs), values, self.materials.rows, tuple(step), tuple(sums))
        for joined in conducting_pairs(system):
            columns = own.column("id"), own.column("material")
            heat_of_pairs(tuple(joined), columns, values, tuple(step), tuple(sums))
        self._note_bad(system, sums)
        if walls is not None:
            self._through_walls(system, walls, values, area, step, sums)
        lost, outside = (np.zeros(count, np.int64), np.zeros(count, np.int64)), np.zeros(count)
        if self._surroundings.fluid_temperature or self._surroundings.temperature:
            emissivity = self.materials.emissivity[own.material]
            exchange_with_surroundings(
                plain(self._surroundings)[0], own.radius, own.velocity, emissivity, temperature,
                (step.dt, step.quantum), lost, outside,
            )  # fmt: skip
        return sums, lost, outside

    def _contacts(self, system: System) -> tuple[FlowingPairs, FlowingWalls | None]:
        """Return the contacts of this rank."""
        contacts, materials = system.contacts, len(system.constants.density)
        pairs = flowing_pairs(contacts.pairs, system.particles, materials, self._rest)
        if contacts.walls is None:
            return pairs, None
        return pairs, self._list.fill(contacts.walls, system.particles, materials, self._rest)

    def _areas(self, system: System, pairs: FlowingPairs, walls: FlowingWalls | None) -> Floats:
        """Return the surface that each owned particle turns to each of its neighbours [m^2]."""
        own = system.particles
        if self.section.radiation is None or self.section.radiation.to != "neighbours":
            return np.zeros(own.count)
        number = np.zeros(own.count, np.int64)
        count_neighbours(tuple(pairs), number)
        if walls is not None:
            count_walls(tuple(walls), self.walls.conducts, number)
        surface: Floats = 4.0 * math.pi * (own.radius * own.radius) / np.maximum(number, 1)
        return surface

    def _shared(self, system: System, temperature: Floats, area: Floats) -> Floats:
        """Return the values of owned particles and ghosts that flows need, in the first columns. Collective."""
        own, exchange = system.particles, system.exchange
        number = own.count + own.ghosts
        if number > len(self._rows):
            self._rows = np.zeros((room_for(number, len(self._rows)), PACKED))
        rows = self._rows[:number]
        rows[: own.count, SHARED_TEMPERATURE] = temperature
        rows[: own.count, SHARED_CONDUCTIVITY] = self.materials.conductivities(own.material, temperature)
        rows[: own.count, SHARED_VIEW] = STEFAN_BOLTZMANN * self.materials.emissivity[own.material] * area
        exchange.begin_update(rows)
        exchange.finish_update()
        return rows

    def _through_walls(
        self, system: System, walls: FlowingWalls, values: Floats, area: Floats, step: HeatStep, sums: HeatSums
    ) -> None:
        """Add the flows of heat through contacts with walls. Collective."""
        temperature = self.walls.at(system.progress.time)
        conductivity = self.materials.conductivities(self.wall_material, np.maximum(temperature, 1.0))
        rated = np.flatnonzero(~np.isnan(self.walls.rate))
        conducts = self.walls.conducts.copy()
        if len(rated):
            limbs = np.zeros((2, len(temperature), LIMBS), np.int64)
            kernel = wall_conductances_kernel(self.section.contact)
            kernel(tuple(walls), values, self.materials.rows, conductivity, limbs)
            normalise(limbs.reshape(-1, LIMBS))
            total, at_zero = (exact_values(one) for one in system.exchange.add(limbs))
            conducts[rated] = total[rated] > 0.0
            some = rated[total[rated] > 0.0]
            temperature[some] = np.maximum((self.walls.rate[some] + at_zero[some]) / total[some], 0.0)
        self.wall_temperature = np.where(conducts, temperature, np.nan)
        emissivity = STEFAN_BOLTZMANN * self.materials.emissivity[self.wall_material]
        emissivity[rated] = 0.0  # they give their heat by conduction
        for one in (self.conducted, self.gained):
            one.count(len(walls.row))
        of_walls = HeatedWalls(
            temperature, conducts, conductivity, emissivity, area, self.conducted.limbs, self.gained.limbs
        )
        kernel = wall_heat_kernel(self.section.contact)
        kernel(tuple(walls), values, self.materials.rows, tuple(step), tuple(sums), tuple(of_walls))
        self._note_bad(system, sums)

    def record_error(self, system: System, particle: int) -> None:
        """Record that the heat of a particle leaves the range of numbers; `HeatFeature.error` has the message."""
        place = system.features.place(system.features.named("heat"))
        system.progress.record_error(OF_FEATURE, particle, place)

    def _note_bad(self, system: System, sums: HeatSums) -> None:
        """Record the error of an invalid flow, if there was one."""
        if sums.bad[0] != NO_ID:
            self.record_error(system, int(sums.bad[0]))
            sums.bad[:] = NO_ID

    def _warm(self, system: System, bodies: ThermalBodies, quanta: Integers, warmed: Floats, *, commits: bool) -> None:
        """Write temperatures after particles have received heat; record an error if one leaves the range."""
        own = system.particles
        columns = own["heat_capacity"], own["temperature"], own["received_heat"]
        bad = int(add_heat(tuple(bodies), columns, quanta, tuple(self.scale), warmed, commits))
        if bad >= 0:
            self.record_error(system, int(own.id[bad]))


def surroundings_of(case: CaseData, section: Heat) -> HeatSurroundings:
    """Return fluid and surroundings of the particles of a case."""
    fluid, radiation = section.convection, section.radiation
    outside = 0.0 if radiation is None or radiation.temperature is None else radiation.temperature
    if fluid is None:
        return HeatSurroundings((0.0, 0.0, 1.0, 1.0), 0.0, np.zeros(3), 0.0, outside)
    prandtl = fluid.heat_capacity * fluid.viscosity / fluid.conductivity
    row = FluidRow(fluid.conductivity, fluid.density, fluid.viscosity, prandtl)
    porosity = float(fluid.porosity or 1.0) if fluid.law == "gunn" else 0.0
    return HeatSurroundings(tuple(row), fluid.temperature, np.array(fluid.velocity), porosity, outside)
