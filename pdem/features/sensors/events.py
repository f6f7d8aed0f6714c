"""Events of sensors: particles that have passed a plane, entered or left a region, or are removed.

Sums over particles are exact, and the memory of single particles is on a rank that follows from their ids: counts do
not depend on the owner of a particle, and no rank stores all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.engine.population import remove_particles
from pdem.engine.step import migrate_and_rebuild_lists
from pdem.engine.views.bodies import bodies_of, largest_present_speed
from pdem.engine.warn_once import note_once
from pdem.features.sensors.place import remembering
from pdem.numerics.sums import ExactSums

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pdem.containers.exchange import Exchange
    from pdem.engine.parts.run_progress import RunProgress
    from pdem.engine.phases import Phases
    from pdem.engine.system import System
    from pdem.engine.views.bodies import Bodies
    from pdem.features.sensors.place import SensorPlace, SensorState
    from pdem.foundation.array_types import Booleans, Floats, Integers

    Columns = dict[str, NDArray[Any]]


def act_sensors(system: System, places: Sequence[SensorPlace], phases: Phases) -> None:
    """Let all sensors act that are due at the present step. Collective, with columns that are up to date."""
    bodies = bodies_of(system)
    gone = np.zeros(len(bodies.id), np.bool_)
    for place in places:
        if place.next_step > system.progress.step:
            continue
        if place.section.region is None:
            gone |= _pass(system, place, bodies, ~gone)
        else:
            inside = place.inside(bodies.position) & ~gone
            if place.section.residence:
                _stay(system.exchange, system.progress, place, bodies.id[inside])
            if place.section.remove:
                _count_removed(system.exchange, place, bodies, inside)
                gone |= inside
        place.state.last = system.progress.step
    phases.lap("sensors")
    if int(system.exchange.add(np.array([np.count_nonzero(gone)], np.int64))[0]):
        contacts = remove_particles(system, bodies.id[gone])
        migrate_and_rebuild_lists(system, contacts, phases)


def add_by_class(sums: ExactSums, kind: Integers, mass: Floats, classes: int) -> Integers:
    """Add masses of particles (n,) [kg] to the sums of their classes; return their numbers. Class 0 has all."""
    count = np.zeros(classes, np.int64)
    for number in range(classes):
        mine = np.ones(len(mass), np.bool_) if number == 0 else kind == number
        count[number] = np.count_nonzero(mine)
        sums.add(str(number), mass[mine])
    return count


def _count_removed(exchange: Exchange, place: SensorPlace, bodies: Bodies, inside: Booleans) -> None:
    """Count the particles that an outlet removes. Collective."""
    state = place.state
    found = ExactSums(state.mass.names)
    radius, mass = bodies.radius[inside], bodies.mass[inside]
    kind = place.class_of({"material": bodies.material[inside], "radius": radius})
    count = add_by_class(found, kind, mass, len(state.count))
    found.normalise()
    total = exchange.add(np.concatenate((count[:, None], found.limbs), axis=1))
    _add_counted(state, total)
    _add_sizes(exchange, place, kind, radius, mass)


def _add_counted(state: SensorState, total: Integers) -> None:
    """Add numbers and masses of particles of all ranks, a row for each class."""
    state.count += total[:, 0]
    state.mass.limbs += total[:, 1:]
    state.mass.normalise()


def _add_sizes(exchange: Exchange, place: SensorPlace, kind: Integers, radius: Floats, mass: Floats) -> None:
    """Add masses (n,) [kg] that have passed, or come back as negative masses, to the masses by size. Collective."""
    sizes = place.state.sizes
    if sizes is not None:
        passed = place.no_sizes()
        place.add_sizes(passed, kind, radius, mass)
        total = passed.joined(exchange)
        sizes.add_sums(total.first, total.limbs)


def _stay(exchange: Exchange, progress: RunProgress, place: SensorPlace, ids: Integers) -> None:
    """Record particles that have entered a region, and the stays of particles that have left it. Collective."""
    state = place.state
    now = np.sort(exchange.route({"id": ids}, remembering(ids, exchange.size))["id"])
    at, is_known = _look_up(state.known, now)
    since = np.where(is_known, state.value[at] if len(state.value) else 0, progress.step)
    left = ~np.isin(state.known, now, assume_unique=True)
    events = (progress.step - state.value[left]) // place.interval
    longest = int(exchange.largest(np.array([events.max(initial=-1)]))[0])
    stays = exchange.add(np.bincount(events, minlength=max(longest + 1, len(state.stays))).astype(np.int64))
    stays[: len(state.stays)] += state.stays
    state.known, state.value, state.stays = now, since, stays


def _look_up(known: Integers, ids: Integers) -> tuple[Integers, Booleans]:
    """Return the rows of ids among rising `known` ids, and which ids are among them."""
    if not len(known):
        return np.zeros(len(ids), np.int64), np.zeros(len(ids), np.bool_)
    at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
    return at, known[at] == ids


def _pass(system: System, place: SensorPlace, own: Bodies, present: Booleans) -> Booleans:
    """Count the particles that have passed a plane since the last event; return which are removed. Collective."""
    exchange = system.exchange
    distance, within = place.distance(own.position, system.constants.shape)
    near = np.flatnonzero((np.abs(distance) <= place.layer) & present)
    kind = place.class_of({"material": own.material[near], "radius": own.radius[near]})
    columns = {
        "id": own.id[near], "owner": np.full(len(near), exchange.rank),
        "side": (distance[near] >= 0.0).astype(np.int64), "within": within[near].astype(np.int64), "kind": kind,
        "mass": own.mass[near],
    }  # fmt: skip
    if place.state.sizes is not None:
        columns["radius"] = own.radius[near]
    _warn_of_speed(system, place)
    came = exchange.route(columns, remembering(columns["id"], exchange.size))
    counted, sign = _count_passed(place, came)
    _add_counted(place.state, exchange.add(counted))
    if place.state.sizes is not None:
        some = sign != 0
        kind, radius, mass = (came[name][some] for name in ("kind", "radius", "mass"))
        _add_sizes(exchange, place, kind, radius, sign[some] * mass)
    if not place.section.remove:
        return np.zeros(len(own.id), np.bool_)
    taken = exchange.route({"id": came["id"][sign > 0]}, came["owner"][sign > 0])["id"]
    return np.asarray(np.isin(own.id, taken) & present)


def _count_passed(place: SensorPlace, came: Columns) -> tuple[Integers, Integers]:
    """Compare the sides of particles with their sides at the last event.

    Returns numbers and limbs of the masses of particles that have passed, a row for each class, and for each row of
    `came` 1 if it has passed along the normal, -1 if it has come back, and 0 otherwise.
    """
    state, order = place.state, np.argsort(came["id"])
    ids, side, within, kind, mass = (came[name][order] for name in ("id", "side", "within", "kind", "mass"))
    at, is_known = _look_up(state.known, ids)
    before = np.where(is_known, state.value[at] if len(state.value) else 0, side)
    sign = np.where(within == 1, side - before, 0)
    if place.section.remove:
        sign = np.maximum(sign, 0)  # an outlet counts removed particles
    found, count = ExactSums(state.mass.names), np.zeros(len(state.count), np.int64)
    for number in range(len(count)):
        mine = sign if number == 0 else np.where(kind == number, sign, 0)
        count[number] = mine.sum()
        found.add(str(number), mine * mass)
    found.normalise()
    state.known, state.value = ids, side
    in_row = np.empty_like(sign)
    in_row[order] = sign
    return np.concatenate((count[:, None], found.limbs), axis=1), in_row


def _warn_of_speed(system: System, place: SensorPlace) -> None:
    """Warn in the log, once, that particles are fast enough to pass unnoticed. Collective."""
    largest = largest_present_speed(system.particles, system.exchange)
    kind = f"sensor {place.name} speed"
    if largest * place.interval * place.step <= place.layer:
        return
    text = (
        f"sensor {place.name}: at {system.progress.time:.6g} s particles move {largest:.3g} m/s, up to "
        f"{largest * place.interval * place.step:.3g} m between two events, more than the {place.layer:.3g} m in which "
        f"it looks for them: some may pass unseen; give every = {place.layer / largest:.2g} or less"
    )
    note_once(system.progress, kind, text)
