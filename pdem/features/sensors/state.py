"""State of sensors in checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.engine.feature_set import StateTable
from pdem.features.sensors.place import SensorState, remembering
from pdem.numerics.sums import ExactSums

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pdem.containers.exchange import Exchange
    from pdem.engine.system import System
    from pdem.features.sensors.place import SensorPlace
    from pdem.foundation.array_types import Integers

SENSORS, SUMS, KNOWN, STAYS = "sensors", "sensor_sums", "sensor_particles", "sensor_stays"
BY_SIZE = "sensor_sizes"
"""Names of the groups of a checkpoint: a row for each sensor, for each of its classes, for each particle that it
stores, for each duration of a stay, and, of sensors with passing sizes, for each class of size."""

TABLES = (
    StateTable(SENSORS, observes=True),
    StateTable(SUMS, observes=True),
    StateTable(KNOWN, ("key", "id"), observes=True),
    StateTable(STAYS, observes=True),
    StateTable(BY_SIZE, observes=True),
)
"""These groups; each rank has rows of the group of particles."""


def sensor_groups(places: Sequence[SensorPlace]) -> dict[str, dict[str, NDArray[Any]]]:
    """Return the groups of a checkpoint for sensors that have events between lines of the series."""
    places = [one for one in places if one.section.has_events]
    if not places:
        return {}
    keys, states = np.array([one.key for one in places], np.int64), [one.state for one in places]
    for one in states:
        one.mass.normalise()

    def of(name: str, kind: type) -> NDArray[Any]:
        return np.array([getattr(one, name) for one in states], kind)

    def key_of(name: str) -> Integers:
        return np.repeat(keys, [len(getattr(one, name)) for one in states])

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(one, name) for one in states])

    return {
        SENSORS: {
            "key": keys, "last": of("last", np.int64), "line_time": of("line_time", np.float64),
            "line_mass": of("line_mass", np.float64), "flow": of("flow", np.float64),
        },
        SUMS: {
            "key": key_of("count"), "count": joined("count"),
            "mass": np.concatenate([one.mass.limbs for one in states]),
        },
        KNOWN: {"key": key_of("known"), "id": joined("known"), "value": joined("value")},
        STAYS: {"key": key_of("stays"), "count": joined("stays")},
        **_size_group(places),
    }  # fmt: skip


def _size_group(places: Sequence[SensorPlace]) -> dict[str, dict[str, NDArray[Any]]]:
    """Return the group of masses by size; none if no sensor has passing sizes."""
    tables = [(one.key, one.state.sizes) for one in places if one.state.sizes is not None]
    if not tables:
        return {}
    rows = [np.nonzero(sizes.limbs.any(axis=(2, 3))) for _, sizes in tables]
    pairs = list(zip(tables, rows, strict=True))
    return {
        BY_SIZE: {
            "key": np.concatenate([np.full(len(at), key) for (key, _), (_, at) in pairs]),
            "kind": np.concatenate([kind for kind, _ in rows]),
            "size": np.concatenate([sizes.first + at for (_, sizes), (_, at) in pairs]),
            "sums": np.concatenate([sizes.limbs[row] for (_, sizes), row in pairs]),
        }
    }


def load_sensors(
    system: System, places: Sequence[SensorPlace], groups: Mapping[str, Mapping[str, NDArray[Any]]]
) -> None:
    """Set the state of sensors from the groups of a checkpoint; new sensors begin at the present step."""
    stored = groups.get(SENSORS, {"key": np.zeros(0)})
    for place in places:
        rows = np.flatnonzero(stored["key"] == place.key)
        of_class = groups[SUMS]["key"] == place.key if len(rows) else np.zeros(0, np.bool_)
        if np.count_nonzero(of_class) != len(place.state.count):  # new, or with different classes
            place.first_step, place.state.line_time = system.progress.step, system.progress.time
            continue
        row, names = int(rows[0]), place.state.mass.names
        sums, known, stays = groups[SUMS], groups[KNOWN], groups[STAYS]
        place.state = SensorState(sums["count"][of_class].copy(), ExactSums(names, sums["mass"][of_class]))
        for name in ("last", "line_time", "line_mass", "flow"):
            setattr(place.state, name, stored[name][row].item())
        place.state.stays = stays["count"][stays["key"] == place.key]
        _load_known(system.exchange, place, known)
        _load_sizes(place, groups.get(BY_SIZE, {"key": np.zeros(0, np.int64)}))


def _load_sizes(place: SensorPlace, stored: Mapping[str, NDArray[Any]]) -> None:
    """Continue the masses by size; those of a sensor without them begin at the present step."""
    if place.section.passing is None or not place.counts_passage:
        return
    place.state.sizes = place.no_sizes()
    mine = stored["key"] == place.key
    if mine.any():
        kind, size, sums = (stored[name][mine] for name in ("kind", "size", "sums"))
        first = int(size.min())
        limbs = np.zeros((len(place.state.sizes.limbs), int(size.max()) + 1 - first, *sums.shape[1:]), np.int64)
        limbs[kind, size - first] = sums
        place.state.sizes.add_sums(first, limbs)


def _load_known(exchange: Exchange, place: SensorPlace, known: Mapping[str, NDArray[Any]]) -> None:
    """Send the data on single particles to the ranks that store them. Collective."""
    mine = known["key"] == place.key
    columns = {name: known[name][mine] for name in ("id", "value")}
    came = exchange.route(columns, remembering(columns["id"], exchange.size))
    order = np.argsort(came["id"])
    place.state.known, place.state.value = came["id"][order], came["value"][order]
