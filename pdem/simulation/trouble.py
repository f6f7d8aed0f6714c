"""What stops a run because its results would mean nothing: who, where, by how much, and the likely cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.timestep import automatic_step
from pdem.contact.law.contact_law import OVERLAP
from pdem.foundation.errors import BlowUpError, PdemError

if TYPE_CHECKING:
    from typing import NoReturn

    from numpy.typing import NDArray

    from pdem.simulation.system import System

    Columns = dict[str, NDArray[Any]]

FAST, FAR, PAIR, WALL, DRIVEN = range(5)
"""A wall moved more than the radius of a particle that it passes in one step; a particle moved more than its radius in
a step or is nowhere; two overlap too much; one and a wall do; a wall that particles drive went farther than the largest
radius, or is nowhere."""

OPPOSITE = -0.3
"""Cosine between two normals from which on walls squeeze what is between them."""


def stop_if_troubled(system: System) -> NoReturn:
    """Raise on every rank the trouble of the lowest kind that any rank saw, the worst or first of it. Collective."""
    rows = np.array(system.trouble, np.int64).reshape(-1, 3)
    joined = system.exchange.collect({"kind": rows[:, 0], "id": rows[:, 1], "other": rows[:, 2]})
    chosen = None
    if joined is not None:
        chosen = min(zip(*(joined[name].tolist() for name in ("kind", "id", "other")), strict=True))
    kind, first, other = system.exchange.share(chosen)
    share = 0.0
    if kind in (PAIR, WALL):
        first, other, share = _deepest(system, kind) or (first, other, 0.0)
    message = None
    facts = _Facts(system, [first, other] if kind == PAIR else [other if kind == FAST else first])
    if joined is not None:
        where = f"step {system.step} (time {system.time:.6g} s)"
        message = f"{where}: {_MESSAGES[kind](system, facts, (first, other), share)}"
    raise BlowUpError(system.exchange.share(message))


def _deepest(system: System, kind: int) -> tuple[int, int, float] | None:
    """Return ids, or id and wall, of what overlaps most for its size, and how much, on every rank. Collective."""
    found = system.exchange.collect(_pairs(system) if kind == PAIR else _walls(system))
    deepest = None
    if found is not None and len(found["id"]):
        row = np.lexsort((found["other"], found["id"], -found["share"]))[0]
        deepest = int(found["id"][row]), int(found["other"][row]), float(found["share"][row])
    shared: tuple[int, int, float] | None = system.exchange.share(deepest)
    return shared


def _pairs(system: System) -> Columns:
    """Return lower and higher id and the overlap over the smaller radius of contacts that are too deep."""
    records, own = system.pair_records(), system.particles
    rows = own.count + own.ghosts
    ids = own.column("id")[:rows]
    order = np.argsort(ids, kind="stable")
    radius = own.column("radius")[:rows][order]
    at = [np.minimum(np.searchsorted(ids[order], one), rows - 1) for one in (records.lower, records.higher)]
    share = records.history[OVERLAP] / np.minimum(radius[at[0]], radius[at[1]])
    deep = share > system.constants.largest_overlap
    return {"id": records.lower[deep], "other": records.higher[deep], "share": share[deep]}


def _walls(system: System, ids: NDArray[np.int64] | None = None) -> Columns:
    """Return id, wall, overlap over the radius and normal of wall contacts that are too deep, or of some particles."""
    assert system.walls is not None
    records, own, normal = system.wall_records(), system.particles, system.constants.law.columns
    order = np.argsort(own.id, kind="stable")
    radius = own.radius[order][np.searchsorted(own.id[order], records.id)]
    share = records.history[OVERLAP] / radius
    chosen = share > system.constants.largest_overlap if ids is None else np.isin(records.id, ids)
    return {
        "id": records.id[chosen],
        "other": system.walls.walls.facet_wall[records.facet[chosen]].astype(np.int64),
        "share": share[chosen],
        "normal": np.ascontiguousarray(records.history[normal : normal + 3].T[chosen]),
    }


class _Facts:
    """What messages say of some particles, gathered on rank 0. Collective.

    Parameters
    ----------
    system : System
        The state.
    ids : list of int
        Of the particles.
    """

    def __init__(self, system: System, ids: list[int]) -> None:
        own, wanted = system.particles, np.array(ids, np.int64)
        rows = np.flatnonzero(np.isin(own.id, wanted))
        columns = {name: own[name][rows].copy() for name in ("id", "radius", "position", "velocity")}
        self._particles = system.exchange.collect(columns) or columns
        touched = _walls(system, wanted) if system.walls is not None else None
        self._walls = None if touched is None else system.exchange.collect(touched) or touched

    def at(self, id_: int) -> str:
        """Return name, place and radius of a particle."""
        found = np.flatnonzero(self._particles["id"] == id_)
        if not len(found):
            return f"particle {id_}"
        place = ", ".join(f"{x:.6g}" for x in self._particles["position"][found[0]].tolist())
        return f"particle {id_} at ({place}) m, of radius {self._particles['radius'][found[0]]:.4g} m,"

    def way(self, id_: int, step: float) -> str:
        """Return how far a particle goes in a step."""
        found = np.flatnonzero(self._particles["id"] == id_)
        if not len(found):
            return ""
        speed = float(np.linalg.norm(self._particles["velocity"][found[0]]))
        return f" ({speed:.4g} m/s, {speed * step:.4g} m in a step)"

    def touching(self, id_: int) -> list[tuple[int, float, NDArray[np.float64]]]:
        """Return wall, overlap over the radius and normal of each wall that a particle touches, the deepest first."""
        if self._walls is None:
            return []
        mine = np.flatnonzero(self._walls["id"] == id_)
        order = mine[np.lexsort((self._walls["other"][mine], -self._walls["share"][mine]))]
        found: dict[int, tuple[int, float, NDArray[np.float64]]] = {}
        for row in order.tolist():
            wall = int(self._walls["other"][row])
            found.setdefault(wall, (wall, float(self._walls["share"][row]), self._walls["normal"][row]))
        return list(found.values())


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %"


def _named(system: System, wall: int) -> str:
    return f"wall {system.case.walls[wall].name}"


def _step(system: System) -> str:
    """Return what the time step has to do with it: it is blamed only where it is above the automatic one."""
    step = system.constants.step
    try:
        automatic = automatic_step(system.case)
    except PdemError:
        return "reduce time.step"
    if step > (1.0 + 1e-9) * automatic:
        return f"the time step {step:.4g} s is above the automatic one, {automatic:.4g} s: reduce time.step"
    return (
        f"The time step {step:.4g} s is not above the automatic one, {automatic:.4g} s, and hardly the cause: look "
        "for particles put too close or on the wrong side of a wall, for smaller ones inserted, and for speeds too "
        "high for the stiffness (make the material stiffer)"
    )


def _too_far(system: System, facts: _Facts, who: tuple[int, int], share: float) -> str:
    first = who[0]
    near = [_named(system, wall) for wall, _, _ in facts.touching(first)]
    beside = f"; it touched {' and '.join(near)}" if near else ""
    way = facts.way(first, system.constants.step)
    text = f"{facts.at(first)} moved more than its radius in one step, or its velocity is not finite"
    return f"{text}{way}{beside}. {_step(system)}"


def _too_near(system: System, facts: _Facts, who: tuple[int, int], share: float) -> str:
    first, other = who
    text = f"{facts.at(first)} overlaps {facts.at(other)} by {_percent(share)} of the smaller radius"
    limit = f"more than limits.largest_overlap, {system.constants.largest_overlap:g}"
    near = [_named(system, wall) for one in (first, other) for wall, _, _ in facts.touching(one)]
    beside = f"; they touch {' and '.join(dict.fromkeys(near))}" if near else ""
    return f"{text}, {limit}{beside}. {_step(system)}"


def _too_deep(system: System, facts: _Facts, who: tuple[int, int], share: float) -> str:
    first, other = who
    touched = facts.touching(first)
    limit = f"more than limits.largest_overlap, {system.constants.largest_overlap:g}"
    text = f"{facts.at(first)} is {_percent(share)} of its radius inside {_named(system, other)}, {limit}"
    others = [wall for wall, _, _ in touched if wall != other]
    if not others:
        return f"{text}. {_step(system)}"
    text += f", and touches {' and '.join(_named(system, wall) for wall in others)} as well"
    normal = {wall: along for wall, _, along in touched}
    if any(float(normal[other] @ normal[wall]) < OPPOSITE for wall in others):
        text += ": it is squeezed between two walls. Leave a gap of a diameter between them, or stop one"
    return f"{text}. {_step(system)}"


def _too_fast(system: System, facts: _Facts, who: tuple[int, int], share: float) -> str:
    first, other = who
    assert system.walls is not None
    way = float(system.walls.walls.ways[first])
    return (
        f"{_named(system, first)} moved up to {way:.4g} m in one step ({way / system.constants.step:.4g} m/s), past "
        f"{facts.at(other)} which is less than that: it goes through particles. Let it move more slowly (a jump in a "
        "table takes many steps), or reduce time.step"
    )


def _driven_too_far(system: System, facts: _Facts, who: tuple[int, int], share: float) -> str:
    assert system.walls is not None
    wall, way = who[0], float(system.walls.walls.ways[who[0]])
    return (
        f"driven {_named(system, wall)} moved {way:.4g} m in one step, more than the largest radius, or its velocity "
        "is not finite; its mass or inertia is too small for the time step and what touches it, or "
        "servo.largest_rate too large: reduce time.step"
    )


_MESSAGES = {FAST: _too_fast, FAR: _too_far, PAIR: _too_near, WALL: _too_deep, DRIVEN: _driven_too_far}
