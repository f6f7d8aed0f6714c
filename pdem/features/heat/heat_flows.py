"""Kernels of a step of heat: flows through contacts in whole quanta, and what contacts have lost since the last step.

Both ranks of a contact between ranks evaluate it from equal numbers, and each applies its side. The rest of a flow that
is less than a quantum stays in the contact until the next step.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.contact.exchange.flows import note_bad
from pdem.contact.exchange.pair_flows import FlowingPairs
from pdem.contact.exchange.wall_flows import FlowingWalls
from pdem.contact.law.contact_law import BLOCK
from pdem.contact.losses import quanta_of_two
from pdem.contact.pairs.history import history_of
from pdem.engine.views.conducting_pairs import ConductingPairs
from pdem.features.heat.conductance import PairRow, solid, solid_gas
from pdem.features.heat.surroundings import radiated
from pdem.numerics.kernel_factory import inlined_exactly, versioned_kernel
from pdem.numerics.kernels import inlined, kernel
from pdem.numerics.simd.columns import column_reader
from pdem.numerics.sums import add_exactly

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Integers

NORMAL_FORCE = 1
"""Column of histories with the normal force."""

SHARED_TEMPERATURE, SHARED_CONDUCTIVITY, SHARED_VIEW = range(3)
"""Columns of the values that ranks share [K, W/(m K), W/K^4]; the view is the surface that a particle turns to each of
its neighbours, times its emissivity and the constant of Stefan and Boltzmann."""

MOST_OF_FLOW = 2.0**57
"""Largest flow through a contact in one step, in quanta."""

CONDUCTANCE_QUANTUM = 2.0**-44
"""Unit of the sums of conductances over the contacts of a particle [W/K]."""


class HeatStep(NamedTuple):
    """Numbers of a step of heat.

    Attributes
    ----------
    dt : float
        Its length [s].
    quantum : float
        The quantum of heat, a power of two [J].
    commits : bool
        Whether contacts remember what they have exchanged; else the step is a trial.
    passes : bool
        Whether bodies receive what contacts have lost.
    passed : int
        Column of histories with the part of the loss that bodies have received.
    lossy : int64 array
        Columns of histories whose sum a contact has lost so far.
    share : (M, M) array
        Share of a body with the first material in the loss of a contact with the second one.
    """

    dt: float
    quantum: float
    commits: bool
    passes: bool
    passed: int
    lossy: Integers
    share: Floats


class HeatSums(NamedTuple):
    """Results of a step of heat for owned particles.

    Attributes
    ----------
    flowed, gained : (n,) int64 arrays
        Quanta by flows, and by losses of contacts.
    conductance : (n,) int64 array
        Sum of the conductances of all contacts, in `CONDUCTANCE_QUANTUM`.
    bad : (2,) int64 array
        Contact with an invalid flow, see `pdem.contact.exchange.flows.note_bad`.
    """

    flowed: Integers
    gained: Integers
    conductance: Integers
    bad: Integers


@inlined_exactly
def _no_conduction(force: float, radius: float, other: float, k: PairRow) -> float:
    """Return 0: the case has no conduction through contacts."""
    return 0.0


PAIR_NUMBERS = len(PairRow._fields)
"""Numbers of a pair of materials."""

_surface_and_gas = column_reader(range(4, PAIR_NUMBERS))

CONDUCTANCES = {"solid": solid, "solid-gas": solid_gas, "none": _no_conduction}
"""Conductance of a contact by the name in the case."""


@inlined
def mean_conductivity(first: float, second: float) -> float:
    """Return the harmonic mean of two conductivities, 0 if both are 0 [W/(m K)]."""
    total = first + second
    return 2.0 * first * second / total if total > 0.0 else 0.0


@inlined
def radiated_between(temperature: float, other: float, view: float, other_view: float) -> tuple[float, float]:
    """Return the power that two neighbours exchange by radiation [W], and its derivative [W/K].

    `view` are their surfaces for each other times emissivity and constant; the harmonic mean of both acts.
    """
    factor = mean_conductivity(view, other_view)
    square = temperature * temperature + other * other
    return radiated(temperature, other, factor), factor * square * (temperature + other)


@inlined
def unpassed_loss(history: Floats, at: int, stride: int, step: HeatStep) -> float:
    """Return what a contact has lost and not passed on [J]; the numbers of its history are `stride` apart."""
    loss = -history[at + stride * step.passed]
    for column in step.lossy:
        loss += history[at + stride * column]
    return loss


@inlined
def is_in_range(quanta: float) -> bool:
    """Return whether a flow is finite, and sums of the flows of a particle fit into 64 bits."""
    return abs(quanta) <= MOST_OF_FLOW


@inlined
def flow_in_quanta(flow: float, rest: float, quantum: float) -> tuple[float, float]:
    """Return the whole quanta of an amount and the rest of the last step [J], and the new rest [J]."""
    amount = flow + rest
    quanta = np.rint(amount / quantum)
    return quanta, amount - quanta * quantum


@inlined
def row_at(table: Floats, pair: int, first: float, second: float) -> PairRow:
    """Return the coefficients of a pair of materials, with the mean of the present conductivities [W/(m K)]."""
    at = PAIR_NUMBERS * pair
    return PairRow(mean_conductivity(first, second), table[at + 1], first, second, *_surface_and_gas(table, at))


@cache
def pair_heat_kernel(contact: str) -> Any:
    """Make the kernel of a step of heat for the contacts between particles.

    Its arguments are `pdem.contact.exchange.pair_flows.FlowingPairs`, whose memory is the rest of the flow, the shared
    values (n, m), flat rows `PairRow` of the pairs of materials, and the fields of `HeatStep` and `HeatSums`, as
    plain tuples.
    """
    conductance_of = CONDUCTANCES[contact]

    @versioned_kernel(contact)
    def pair_heat(
        contacts: tuple[Any, ...], values: Floats, table: Floats, step: tuple[Any, ...], sums: tuple[Any, ...]
    ) -> None:
        c, s, out = FlowingPairs(*contacts), HeatStep(*step), HeatSums(*sums)
        for index in c.indices:
            at, i, j = history_of(index, c.width), c.lower[c.candidate[index]], c.higher[c.candidate[index]]
            first, second = c.material[i], c.material[j]
            row = row_at(
                table, first * c.materials + second, values[i, SHARED_CONDUCTIVITY], values[j, SHARED_CONDUCTIVITY]
            )
            conductance = conductance_of(c.history[at + BLOCK * NORMAL_FORCE], c.radius[i], c.radius[j], row)
            warm, cold = values[i, SHARED_TEMPERATURE], values[j, SHARED_TEMPERATURE]
            power, slope = radiated_between(warm, cold, values[i, SHARED_VIEW], values[j, SHARED_VIEW])
            power += conductance * (warm - cold)
            held = at + BLOCK * c.memory
            quanta, rest = flow_in_quanta(power * s.dt, c.history[held], s.quantum)
            one = other = 0.0
            if s.passes:
                loss = unpassed_loss(c.history, at, BLOCK, s)
                one, other = quanta_of_two(loss, s.share[first, second], s.quantum)
            if not is_in_range(abs(quanta) + abs(one) + abs(other)):
                note_bad(out.bad, c.id[i], c.id[j])
                continue
            if s.commits:
                c.history[held] = rest
            if s.passes:
                c.history[at + BLOCK * s.passed] += (one + other) * s.quantum
            total = np.int64(np.rint((conductance + slope) / CONDUCTANCE_QUANTUM))
            if i < c.owned:
                out.flowed[i] -= np.int64(quanta)
                out.gained[i] += np.int64(one)
                out.conductance[i] += total
            if j < c.owned:
                out.flowed[j] += np.int64(quanta)
                out.gained[j] += np.int64(other)
                out.conductance[j] += total

    return pair_heat


class HeatedWalls(NamedTuple):
    """Walls in a step of heat.

    Attributes
    ----------
    temperature : (W,) array
        Temperatures [K].
    conducts : (W,) bool array
        Whether each wall has a temperature; else it is insulated.
    conductivity : (W,) array
        Conductivities at these temperatures [W/(m K)].
    emissivity : (W,) array
        Emissivity times the constant of Stefan and Boltzmann [W/(m^2 K^4)].
    area : (n,) array
        Surface that an owned particle turns to each of its neighbours [m^2].
    conducted, gained : (W, LIMBS) int64 arrays
        Exact sums of the heat that each wall has received, by flows and from the losses of contacts [J].
    """

    temperature: Floats
    conducts: Any
    conductivity: Floats
    emissivity: Floats
    area: Floats
    conducted: Integers
    gained: Integers


@cache
def wall_heat_kernel(contact: str) -> Any:
    """Make the kernel of a step of heat for the contacts with walls.

    Its arguments are those of `pair_heat_kernel` with `FlowingWalls`, and the fields of `HeatedWalls` as a plain tuple.
    """
    conductance_of = CONDUCTANCES[contact]

    @versioned_kernel(contact)
    def wall_heat(
        contacts: tuple[Any, ...], values: Floats, table: Floats, step: tuple[Any, ...], sums: tuple[Any, ...],
        walls: tuple[Any, ...],
    ) -> None:  # fmt: skip
        c, s, out, of_walls = FlowingWalls(*contacts), HeatStep(*step), HeatSums(*sums), HeatedWalls(*walls)
        for n in range(len(c.row)):
            i, w, at = c.particle[n], c.wall[n], c.width * c.row[n]
            first, second = c.material[i], c.wall_material[w]
            quanta = one = other = total = 0.0
            held, rest = at + c.memory, 0.0
            if of_walls.conducts[w]:
                row = row_at(
                    table, first * c.materials + second, values[i, SHARED_CONDUCTIVITY], of_walls.conductivity[w]
                )
                conductance = conductance_of(c.history[at + NORMAL_FORCE], c.radius[i], 0.0, row)
                warm, cold = values[i, SHARED_TEMPERATURE], of_walls.temperature[w]
                view = of_walls.emissivity[w] * of_walls.area[i]
                power, slope = radiated_between(warm, cold, values[i, SHARED_VIEW], view)
                power += conductance * (warm - cold)
                quanta, rest = flow_in_quanta(power * s.dt, c.history[held], s.quantum)
                total = conductance + slope
            if s.passes:
                loss = unpassed_loss(c.history, at, 1, s)
                share = s.share[first, second] if of_walls.conducts[w] else 1.0
                one, other = quanta_of_two(loss, share, s.quantum)
            if not is_in_range(abs(quanta) + abs(one) + abs(other)):
                note_bad(out.bad, c.id[i], w)
                continue
            if s.commits:
                c.history[held] = rest
                add_exactly(of_walls.conducted[w], quanta * s.quantum)
            if s.passes:
                c.history[at + s.passed] += (one + other) * s.quantum
                add_exactly(of_walls.gained[w], other * s.quantum)
            out.flowed[i] -= np.int64(quanta)
            out.gained[i] += np.int64(one)
            out.conductance[i] += np.int64(np.rint(total / CONDUCTANCE_QUANTUM))

    return wall_heat


@cache
def wall_conductances_kernel(contact: str) -> Any:
    """Make the kernel that adds up the conductances of all contacts with each wall, and their heat flows at 0 K.

    Its arguments are `FlowingWalls` as a plain tuple, the shared values, rows of pairs, conductivities of walls (W,),
    and exact sums (2, W, LIMBS) of conductances [W/K] and of conductances times temperatures [W].
    """
    conductance_of = CONDUCTANCES[contact]

    @versioned_kernel(contact)
    def wall_conductances(
        contacts: tuple[Any, ...], values: Floats, table: Floats, conductivity: Floats, limbs: Integers
    ) -> None:
        c = FlowingWalls(*contacts)
        for n in range(len(c.row)):
            i, w, at = c.particle[n], c.wall[n], c.width * c.row[n]
            pair = c.material[i] * c.materials + c.wall_material[w]
            row = row_at(table, pair, values[i, SHARED_CONDUCTIVITY], conductivity[w])
            conductance = conductance_of(c.history[at + NORMAL_FORCE], c.radius[i], 0.0, row)
            add_exactly(limbs[0, w], conductance)
            add_exactly(limbs[1, w], conductance * values[i, SHARED_TEMPERATURE])

    return wall_conductances


@kernel
def heat_of_pairs(
    pairs: tuple[Any, ...], columns: tuple[Any, Any], values: Floats, step: tuple[Any, ...], sums: tuple[Any, ...]
) -> None:
    """Add the flows through pairs that are joined, and their losses.

    Parameters
    ----------
    pairs : tuple
        Fields of `pdem.engine.views.conducting_pairs.ConductingPairs`.
    columns : tuple of 2 arrays
        Ids and materials of owned particles and ghosts.
    values, step, sums
        As for `pair_heat_kernel`.
    """
    p, s, out = ConductingPairs(*pairs), HeatStep(*step), HeatSums(*sums)
    owned, (ids, material) = len(out.flowed), columns
    for n in range(len(p.shape)):
        i, j, one, other = p.rows[n, 0], p.rows[n, 1], 0.0, 0.0
        mean = mean_conductivity(values[i, SHARED_CONDUCTIVITY], values[j, SHARED_CONDUCTIVITY])
        conductance = p.shape[n] * (p.conductivity[n] if p.conductivity[n] > 0.0 else mean)
        apart = values[i, SHARED_TEMPERATURE] - values[j, SHARED_TEMPERATURE]
        quanta = np.rint(conductance * apart * s.dt / s.quantum)
        if s.passes:
            one, other = quanta_of_two(p.losses[n], s.share[material[i], material[j]], s.quantum)
            p.losses[n] -= (one + other) * s.quantum
        if not is_in_range(abs(quanta) + abs(one) + abs(other)):
            note_bad(out.bad, ids[i], ids[j])
            continue
        total = np.int64(np.rint(conductance / CONDUCTANCE_QUANTUM))
        if i < owned:
            out.flowed[i] -= np.int64(quanta)
            out.gained[i] += np.int64(one)
            out.conductance[i] += total
        if j < owned:
            out.flowed[j] += np.int64(quanta)
            out.gained[j] += np.int64(other)
            out.conductance[j] += total


@kernel
def count_neighbours(contacts: tuple[Any, ...], number: Integers) -> None:
    """Add the number of contacts between particles of each owned particle; `FlowingPairs` as a plain tuple."""
    c = FlowingPairs(*contacts)
    for index in c.indices:
        i, j = c.lower[c.candidate[index]], c.higher[c.candidate[index]]
        if i < c.owned:
            number[i] += 1
        if j < c.owned:
            number[j] += 1


@kernel
def count_walls(contacts: tuple[Any, ...], conducts: Any, number: Integers) -> None:
    """Add the number of contacts with walls that have a temperature; `FlowingWalls` as a plain tuple."""
    c = FlowingWalls(*contacts)
    for n in range(len(c.row)):
        number[c.particle[n]] += conducts[c.wall[n]]
