"""The strength of particles against the energies of their contacts: weakening by contacts that end, and breakage.

A particle reaches its strength where its share of the largest strain energy of a contact reaches a limit. It breaks at
the end of this loading: as soon as the energy of the contact falls, or a given number of steps later where the load
stays. Kernels watch for it in every step, and only record that a particle breaks; `pdem.features.breakage` does the
rest. A contact that ends below the limit weakens its particles. The damage of all contacts that end in a step is added
up in whole quanta and applied after the step, so that neither the order of contacts nor the number of ranks matters.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.contact.losses import particle_of_row, pass_at_pairs
from pdem.contact.pairs.arguments import Chunks, Contacts
from pdem.contact.pairs.history import history_of
from pdem.contact.pairs.layout import BLOCK
from pdem.contact.pairs.runs import ENDED_IN_ALL
from pdem.contact.walls.arguments import NearFacets, WallRecord, WallWork
from pdem.numerics.kernels import inlined, kernel
from pdem.numerics.portable.powers import power
from pdem.numerics.workers import share_of

if TYPE_CHECKING:
    from pdem.foundation.array_types import Booleans, Floats, Int32s, Integers

QUANTA = 2.0**50
"""Quanta of damage of a particle that has no strength left."""

NO_DAMAGE, CUMULATIVE = 0.0, -1.0
"""Exponents of damage of materials that contacts do not weaken, and of materials that add up energies."""

WEAKENED, BROKEN = range(2)
"""Indices of `Strengths.counts`: number of particles weakened in the present step; 1 if a particle breaks."""

_NEWTON = 40
_CLOSE = 1e-16  # a small part of a quantum


class Strengths(NamedTuple):
    """Arrays of the strength of particles.

    Attributes
    ----------
    limit : (n,) array
        Energy at which each owned particle breaks [J]; infinite if it cannot break.
    force_limit : (n,) array
        Normal force at which it breaks [N]; empty if no material breaks by force.
    fracture_energy, overload, mass : (n,) arrays
        Energy at which it breaks over its mass [J/kg], largest energy at or beyond the limit of a contact that has
        ended [J], and its mass [kg].
    reached_step : (n,) int64 array
        Step in which it has reached its strength, -1 before.
    damage, weakened : (n,) int64 and int32 arrays
        Damage in the present step, in quanta; rows with damage. The damage is 0 between steps.
    counts : (2,) int64 array
        See `WEAKENED`.
    least : (1,) array
        A lower bound of all limits [J].
    exponent, threshold : (M,) arrays
        Exponent of damage by material (`NO_DAMAGE`, `CUMULATIVE`, or gamma of Tavares); specific energy without effect
        in materials that add up energies [J/kg].
    share : (M, M) array
        Share of a body with the first material in the energy of a contact with the second material.
    material, wall_material, facet_wall : int32 arrays
        Materials of owned particles and ghosts, materials of walls, wall of each facet.
    strain, column, force_column : int
        Columns of the strain energy, of the largest one and, if any material breaks by force, of the largest force in
        histories.
    step, longest : int
        The last step before the steps of a kernel, and the largest number of steps from the strength to breakage.
    asks : int
        1 if a particle that breaks ends the steps of a kernel, 0 if particles are about to be replaced anyway.
    """

    limit: Floats
    force_limit: Floats
    fracture_energy: Floats
    overload: Floats
    mass: Floats
    reached_step: Integers
    damage: Integers
    weakened: Int32s
    counts: Integers
    least: Floats
    exponent: Floats
    threshold: Floats
    share: Floats
    material: Int32s
    wall_material: Int32s
    facet_wall: Int32s
    strain: int
    column: int
    force_column: int
    step: int
    longest: int
    asks: int


@inlined
def damage_by_ratio(ratio: float, exponent: float) -> float:
    """Return the damage D of an impact with a ratio x < 1 of its energy to the energy that breaks.

    ``D = (2 g x / (2 g - 5 D + 5))**(2 g / 5)`` with the exponent g (Tavares 2009). Newton's method rises from 0 to
    the smallest root, since the right side is convex.
    """
    damage, twice, order = 0.0, 2.0 * exponent, 0.4 * exponent
    for _ in range(_NEWTON):
        rest = twice - 5.0 * damage + 5.0
        base = twice * ratio / rest
        right = base * base if order == 2.0 else power(base, order)  # the usual exponent is 5
        change = (right - damage) / (1.0 - min(twice * right / rest, 1.0 - _CLOSE))
        damage += change
        if change <= _CLOSE:
            break
    return min(damage, 1.0)


@inlined
def weaken(row: int, energy: float, s: Strengths) -> None:
    """Account for the largest energy of a contact that has ended, a particle's share of it [J]."""
    if energy < s.limit[row]:
        exponent, strength = s.exponent[s.material[row]], s.fracture_energy[row]
        if exponent == NO_DAMAGE or math.isinf(s.limit[row]):
            return
        if exponent == CUMULATIVE:
            damage = max(energy / s.mass[row] - s.threshold[s.material[row]], 0.0) / strength
        else:
            damage = damage_by_ratio(energy / s.limit[row], exponent)
        quanta = np.int64(np.rint(damage * QUANTA))
        if quanta > 0:
            if s.damage[row] == 0:
                s.weakened[s.counts[WEAKENED]] = row
                s.counts[WEAKENED] += 1
            s.damage[row] += quanta
    else:
        s.overload[row] = max(s.overload[row], energy)
        s.counts[BROKEN] = 1


@inlined
def weaken_at_pair(i: int, j: int, energy: float, s: Strengths) -> None:
    """Account for the largest energy of a contact that has ended [J] at its particles, as far as they are owned."""
    owned = len(s.limit)
    if i < owned:
        weaken(i, s.share[s.material[i], s.material[j]] * energy, s)
    if j < owned:
        weaken(j, s.share[s.material[j], s.material[i]] * energy, s)


@inlined
def weaken_at_pairs(
    runs: Integers, left: Floats, lower: Int32s, higher: Int32s, strengths: tuple[Any, ...] | None
) -> None:  # fmt: skip
    """Account for contacts between particles that workers have ended, as `pdem.contact.losses.pass_at_pairs`."""
    if strengths is not None:
        s = Strengths(*strengths)
        room = left.shape[1] // len(runs)
        for worker in range(len(runs)):
            for place in range(room * worker, room * worker + runs[worker, ENDED_IN_ALL]):
                k = np.int64(left[0, place])
                weaken_at_pair(lower[k], higher[k], left[2, place], s)


@inlined
def weaken_at_walls(
    near: tuple[Any, ...], work: tuple[Any, ...], before: tuple[Any, ...], strengths: tuple[Any, ...] | None
) -> None:
    """Account for contacts with walls that have ended, as `pdem.contact.losses.pass_at_walls`."""
    if strengths is not None:
        facets, done, old, s = NearFacets(*near), WallWork(*work), WallRecord(*before), Strengths(*strengths)
        workers = done.seen.shape[1]
        for worker in range(workers):
            low, high = share_of(worker, workers, len(facets.near))
            for place in range(facets.start[low], facets.start[low] + done.seen[0, worker]):
                row = done.ended[place]
                particle = facets.near[particle_of_row(row, low, high, facets.start)]
                other = s.wall_material[s.facet_wall[old.facet[row]]]
                energy = old.history[old.width * (row + 1) + s.column]
                weaken(particle, s.share[s.material[particle], other] * energy, s)


@inlined
def apply_damage(s: Strengths) -> None:
    """Reduce the strength of the particles that contacts have weakened in this step."""
    for place in range(s.counts[WEAKENED]):
        row = s.weakened[place]
        s.fracture_energy[row] *= max(1.0 - s.damage[row] / QUANTA, 0.0)
        s.limit[row], s.damage[row] = s.mass[row] * s.fracture_energy[row], 0
        s.least[0] = min(s.least[0], s.limit[row])
        if s.limit[row] <= s.overload[row]:
            s.counts[BROKEN] = 1
    s.counts[WEAKENED] = 0


@inlined
def watch_pairs(number: int, chunks: Chunks, contacts: Contacts, taken: int, s: Strengths) -> None:
    """Note whether an owned particle breaks at a contact with a particle, after `taken` steps of a kernel.

    The contacts are in the first `number` chunks; behind them chunks of earlier lists may remain.
    """
    owned, forces, step = len(s.limit), len(s.force_limit) > 0, s.step + taken
    strain, column, force_column = BLOCK * s.strain, BLOCK * s.column, BLOCK * s.force_column
    least = s.least[0]
    for chunk in range(number):
        begin = chunks.history_begin[chunk]
        for h in range(begin, begin + chunks.contacts[chunk]):
            at = history_of(h, contacts.width)
            energy = contacts.history[at + column]
            if energy < least and not forces:
                continue
            load = ContactLoad(
                contacts.history[at + strain], energy, contacts.history[at + force_column] if forces else 0.0
            )
            i, j = contacts.lower[h], contacts.higher[h]
            if i < owned and breaks_at(i, s.share[s.material[i], s.material[j]], load, step, s):
                s.counts[BROKEN] = 1
            if j < owned and breaks_at(j, s.share[s.material[j], s.material[i]], load, step, s):
                s.counts[BROKEN] = 1


class ContactLoad(NamedTuple):
    """Strain energy of a contact at present and the largest one [J], and the largest normal force [N]."""

    strain: float
    energy: float
    force: float


@inlined
def breaks_at(row: int, share: float, load: ContactLoad, step: int, s: Strengths) -> bool:
    """Return whether a particle with a share in a contact breaks; note the step in which it reaches its strength."""
    by_force = len(s.force_limit) > 0 and load.force >= s.force_limit[row]
    if not by_force and share * load.energy < s.limit[row]:
        return False
    if s.reached_step[row] < 0:
        s.reached_step[row] = step
    return load.strain < load.energy or step - s.reached_step[row] >= s.longest


@inlined
def watch_walls(near: NearFacets, now: WallRecord, taken: int, s: Strengths) -> None:
    """Note whether a particle breaks at a contact with a wall, after `taken` steps of a kernel."""
    forces = len(s.force_limit) > 0
    for q in range(len(near.near)):
        for row in range(near.start[q], near.start[q] + now.counts[q]):
            at = now.width * (row + 1)
            force = now.history[at + s.force_column] if forces else 0.0
            load = ContactLoad(now.history[at + s.strain], now.history[at + s.column], force)
            particle, other = near.near[q], s.wall_material[s.facet_wall[now.facet[row]]]
            if breaks_at(particle, s.share[s.material[particle], other], load, s.step + taken, s):
                s.counts[BROKEN] = 1


@kernel
def mark_broken(
    rows: Integers, share: Floats, strain: Floats, largest: Floats, force: Floats, step: int,
    strengths: tuple[Any, ...], broken: Booleans,
) -> None:  # fmt: skip
    """Mark the owned particles (n,) that break at a step: by ended contacts, or at the listed ends of contacts.

    Ends have the row of the particle, its share, and the fields of `ContactLoad`; `strengths` are fields of
    `Strengths`.
    """
    s = Strengths(*strengths)
    for row in range(len(broken)):
        broken[row] = s.overload[row] >= s.limit[row]
    for n in range(len(rows)):
        if breaks_at(rows[n], share[n], ContactLoad(strain[n], largest[n], force[n]), step, s):
            broken[rows[n]] = True


@kernel
def finish_step_of_strengths(
    number: int, chunks: tuple[Any, ...], contacts: tuple[Any, ...], taken: int, strengths: tuple[Any, ...]
) -> None:  # fmt: skip
    """Apply the damage of a step, and watch the contacts between particles.

    Arguments are the number of chunks, the fields of `Chunks`, `Contacts` and `Strengths`, and the number of steps
    taken.
    """
    s = Strengths(*strengths)
    apply_damage(s)
    watch_pairs(number, Chunks(*chunks), Contacts(*contacts), taken, s)


@kernel
def watch_walls_of_step(near: tuple[Any, ...], now: tuple[Any, ...], taken: int, strengths: tuple[Any, ...]) -> None:
    """Watch the contacts with walls, see `watch_walls`."""
    watch_walls(NearFacets(*near), WallRecord(*now), taken, Strengths(*strengths))


@kernel
def leave_to_bodies(
    runs: Integers, left: Floats, lower: Int32s, higher: Int32s, sink: tuple[Any, ...] | None,
    strengths: tuple[Any, ...] | None,
) -> None:  # fmt: skip
    """Give what contacts between particles leave when they end to their bodies.

    See `pdem.contact.losses.pass_at_pairs` and `weaken_at_pairs`.
    """
    pass_at_pairs(runs, left, lower, higher, sink)
    weaken_at_pairs(runs, left, lower, higher, strengths)


@kernel
def damages(ratios: Floats, exponent: float, result: Floats) -> None:
    """Write the damage of impacts with these ratios, see `damage_by_ratio`."""
    for n in range(len(ratios)):
        result[n] = damage_by_ratio(ratios[n], exponent)


@kernel
def weaken_listed_at_pairs(first: Integers, second: Integers, energies: Floats, strengths: tuple[Any, ...]) -> None:
    """Account for the largest energies of ended contacts (n,) [J], by rows of owned particles and ghosts."""
    s = Strengths(*strengths)
    for n in range(len(energies)):
        weaken_at_pair(first[n], second[n], energies[n], s)
    apply_damage(s)


@kernel
def weaken_listed_at_walls(particle: Integers, wall: Integers, energies: Floats, strengths: tuple[Any, ...]) -> None:
    """Account for the largest energies of ended contacts with walls (n,) [J], by rows of owned particles."""
    s = Strengths(*strengths)
    for n in range(len(energies)):
        share = s.share[s.material[particle[n]], s.wall_material[wall[n]]]
        weaken(particle[n], share * energies[n], s)
    apply_damage(s)
