"""Errors that stop a run with meaningless results: particles, position, size of the error and its likely cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.timestep import automatic_step
from pdem.contact.law.contact_law import OVERLAP
from pdem.foundation import exact_math
from pdem.foundation.errors import BlowUpError, PdemError

if TYPE_CHECKING:
    from typing import NoReturn

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.engine.parts.rank_contacts import RankContacts
    from pdem.engine.parts.run_progress import RunProgress
    from pdem.engine.parts.system_box import SystemBox
    from pdem.engine.setup import Constants
    from pdem.engine.system import System
    from pdem.foundation.array_types import Floats, Integers

    Columns = dict[str, NDArray[Any]]

(
    WALL_TOO_FAST, PARTICLE_TOO_FAST, PAIR_OVERLAP, WALL_OVERLAP, DRIVEN_WALL_TOO_FAST, OF_FEATURE, BOX_TOO_SMALL,
    PAIR_FLOW, WALL_FLOW, TOO_MANY_QUANTA,
) = range(10)  # fmt: skip
"""Kinds of errors, in the order in which they are reported:

- ``WALL_TOO_FAST``: in one step a wall moved more than the radius of a particle in its path;
- ``PARTICLE_TOO_FAST``: in one step a particle moved more than its radius, or its position is not finite;
- ``PAIR_OVERLAP``, ``WALL_OVERLAP``: two particles, or a particle and a wall, overlap too much;
- ``DRIVEN_WALL_TOO_FAST``: in one step a driven wall moved more than the largest radius, or is not finite;
- ``OF_FEATURE``: an error that a feature reports on a particle, such as a force that is not finite;
- ``BOX_TOO_SMALL``: a periodic axis of a deforming box is shorter than two of the largest diameters;
- ``PAIR_FLOW``, ``WALL_FLOW``: a flow through a contact is not finite, or exceeds the range of quanta;
- ``TOO_MANY_QUANTA``: the amount of a particle exceeds the range of quanta.
"""


class BlowUp(BlowUpError):
    """A run that left the range of meaningful results, with step, particles and wall.

    Attributes
    ----------
    step : int
        Step at which the error was detected.
    particles : tuple of int
        Ids of the particles concerned: zero, one or two.
    wall : int
        Number of the wall, -1 without one.
    """

    def __init__(self, text: str, step: int = -1, particles: tuple[int, ...] = (), wall: int = -1) -> None:
        super().__init__(text)
        self.step, self.particles, self.wall = step, particles, wall

    def with_note(self, text: str) -> BlowUp:
        """Return the same error with a further sentence."""
        return BlowUp(f"{self}; {text}", self.step, self.particles, self.wall)


OPPOSITE = -0.3
"""Cosine between the normals of two walls below which they squeeze a particle."""


def raise_blow_up(system: System) -> NoReturn:
    """Raise on every rank the error of lowest kind on any rank: the deepest overlap or the lowest id. Collective."""
    rows = np.array(system.progress.errors, np.int64).reshape(-1, 3)
    joined = system.exchange.collect({"kind": rows[:, 0], "id": rows[:, 1], "other": rows[:, 2]})
    chosen = None
    if joined is not None:
        chosen = min(zip(*(joined[name].tolist() for name in ("kind", "id", "other")), strict=True))
    kind, first, other = system.exchange.share(chosen)
    share = 0.0
    if kind in (PAIR_OVERLAP, WALL_OVERLAP):
        first, other, share = _deepest(system, kind) or (first, other, 0.0)
    message = None
    particles, wall = _bodies(kind, first, other)
    facts = _Facts(system, list(particles))
    if joined is not None:
        where = f"step {system.progress.step} (time {system.progress.time:.6g} s)"
        message = f"{where}: {_MESSAGES[kind](system, facts, (first, other), share)}"
    raise BlowUp(system.exchange.share(message), system.progress.step, particles, wall)


def _bodies(kind: int, first: int, other: int) -> tuple[tuple[int, ...], int]:
    """Return the particles and the wall of an error."""
    if kind == WALL_TOO_FAST:
        return (other,), first
    if kind == DRIVEN_WALL_TOO_FAST:
        return (), first
    if kind in (WALL_OVERLAP, WALL_FLOW):
        return (first,), other
    return ((first, other), -1) if kind in (PAIR_OVERLAP, PAIR_FLOW) else ((first,), -1)


def _deepest(system: System, kind: int) -> tuple[int, int, float] | None:
    """Return ids, or id and wall, of the deepest contact and its relative overlap, on every rank. Collective."""
    found = system.exchange.collect(_pairs(system) if kind == PAIR_OVERLAP else _walls(system))
    deepest = None
    if found is not None and len(found["id"]):
        row = np.lexsort((found["other"], found["id"], -found["share"]))[0]
        deepest = int(found["id"][row]), int(found["other"][row]), float(found["share"][row])
    shared: tuple[int, int, float] | None = system.exchange.share(deepest)
    return shared


def _pairs(system: System) -> Columns:
    """Return lower id, higher id and overlap over the smaller radius of contacts beyond the limit."""
    records, own = system.contacts.pair_records(), system.particles
    rows = own.count + own.ghosts
    ids = own.column("id")[:rows]
    order = np.argsort(ids, kind="stable")
    radius = own.column("radius")[:rows][order]
    at = [np.minimum(np.searchsorted(ids[order], one), rows - 1) for one in (records.lower, records.higher)]
    share = records.history[OVERLAP] / np.minimum(radius[at[0]], radius[at[1]])
    deep = share > system.constants.largest_overlap
    return {"id": records.lower[deep], "other": records.higher[deep], "share": share[deep]}


def _walls(system: System, ids: Integers | None = None) -> Columns:
    """Return id, wall, overlap over the radius and normal of wall contacts beyond the limit, or of some ids."""
    assert system.walls is not None
    records, own, normal = system.contacts.wall_records(), system.particles, system.constants.law.columns
    order = np.argsort(own.id, kind="stable")
    radius = own.radius[order][np.searchsorted(own.id[order], records.id)]
    share = records.history[OVERLAP] / radius
    chosen = share > system.constants.largest_overlap if ids is None else np.isin(records.id, ids)
    return {
        "id": records.id[chosen],
        "other": system.walls.facet_wall[records.facet[chosen]].astype(np.int64),
        "share": share[chosen],
        "normal": np.ascontiguousarray(records.history[normal : normal + 3].T[chosen]),
    }


class _Facts:
    """Data of some particles for error messages, gathered on rank 0. Collective.

    Parameters
    ----------
    system : System
        The state.
    ids : list of int
        Ids of the particles.
    """

    def __init__(self, system: System, ids: list[int]) -> None:
        own, wanted = system.particles, np.array(ids, np.int64)
        rows = np.flatnonzero(np.isin(own.id, wanted))
        columns = {name: own[name][rows].copy() for name in ("id", "radius", "position", "velocity")}
        self._particles = system.exchange.collect(columns) or columns
        touched = _walls(system, wanted) if system.contacts.walls is not None else None
        self._walls = None if touched is None else system.exchange.collect(touched) or touched

    def description(self, id_: int) -> str:
        """Return id, position and radius of a particle as text."""
        found = np.flatnonzero(self._particles["id"] == id_)
        if not len(found):
            return f"particle {id_}"
        place = ", ".join(f"{x:.6g}" for x in self._particles["position"][found[0]].tolist())
        return f"particle {id_} at ({place}) m, of radius {self._particles['radius'][found[0]]:.4g} m,"

    def speed(self, id_: int, step: float) -> str:
        """Return the speed of a particle and its displacement in a step of `step` [s] as text."""
        found = np.flatnonzero(self._particles["id"] == id_)
        if not len(found):
            return ""
        speed = float(exact_math.norm(self._particles["velocity"][found[0]]))
        return f" ({speed:.4g} m/s, {speed * step:.4g} m in a step)"

    def wall_contacts_of(self, id_: int) -> list[tuple[int, float, Floats]]:
        """Return wall, overlap over the radius and normal of each wall that a particle touches, the deepest first."""
        if self._walls is None:
            return []
        mine = np.flatnonzero(self._walls["id"] == id_)
        order = mine[np.lexsort((self._walls["other"][mine], -self._walls["share"][mine]))]
        found: dict[int, tuple[int, float, Floats]] = {}
        for row in order.tolist():
            wall = int(self._walls["other"][row])
            found.setdefault(wall, (wall, float(self._walls["share"][row]), self._walls["normal"][row]))
        return list(found.values())


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %"


def _wall_name(case: Case, wall: int) -> str:
    return f"wall {case.walls[wall].name}"


def _time_step_advice(constants: Constants, case: Case) -> str:
    """Return advice on the time step, which is the likely cause only if it is above the automatic one."""
    step = constants.time_step.dt
    try:
        automatic = automatic_step(case)
    except PdemError:
        return "reduce time.step"
    if step > (1.0 + 1e-9) * automatic:
        return f"the time step {step:.4g} s is above the automatic one, {automatic:.4g} s: reduce time.step"
    return (
        f"The time step {step:.4g} s is not above the automatic one, {automatic:.4g} s, and hardly the cause: look "
        "for particles put too close or on the wrong side of a wall, for smaller ones inserted, and for speeds too "
        "high for the stiffness (make the material stiffer)"
    )


def _particle_too_fast(system: System, facts: _Facts, ids: tuple[int, int], share: float) -> str:
    first = ids[0]
    near = [_wall_name(system.case, wall) for wall, _, _ in facts.wall_contacts_of(first)]
    beside = f"; it touched {' and '.join(near)}" if near else ""
    speed = facts.speed(first, system.constants.time_step.dt)
    text = f"{facts.description(first)} moved more than its radius in one step, or its velocity is not finite"
    return f"{text}{speed}{beside}. {_time_step_advice(system.constants, system.case)}"


def _pair_overlap(system: System, facts: _Facts, ids: tuple[int, int], share: float) -> str:
    first, other = ids
    text = f"{facts.description(first)} overlaps {facts.description(other)} by {_percent(share)} of the smaller radius"
    limit = f"more than limits.largest_overlap, {system.constants.largest_overlap:g}"
    if system.box.moving is not None:
        limit += _compression(system.box, system.progress)
    near = [_wall_name(system.case, wall) for one in (first, other) for wall, _, _ in facts.wall_contacts_of(one)]
    beside = f"; they touch {' and '.join(dict.fromkeys(near))}" if near else ""
    return f"{text}, {limit}{beside}. {_time_step_advice(system.constants, system.case)}"


def _compression(box: SystemBox, progress: RunProgress) -> str:
    """Return a text on the compression of the box, for messages."""
    assert box.moving is not None
    strain = ", ".join(f"{100.0 * part:.3g} %" for part in box.moving.strain(progress.step).tolist())
    return (
        f", in a box that has strained by {strain} along x, y, z: if that has left no room, stop the compression "
        "before (stages until a solid fraction or a stress)"
    )


def _box_too_small(system: System, facts: _Facts, ids: tuple[int, int], share: float) -> str:
    box = system.box.moving
    assert box is not None
    axis, least = ids[0], box.least_length(float(system.lists.skins.radii[-1]))
    length = box.at(system.progress.step).lengths[axis]
    return (
        f"the box has become {length:.6g} m long along {'xyz'[axis]}, less than two of the largest diameters "
        f"({least:.6g} m): a particle would touch a neighbour and its image. Stop the compression before, or begin "
        "with more particles in a larger box"
    )


def _wall_overlap(system: System, facts: _Facts, ids: tuple[int, int], share: float) -> str:
    first, other = ids
    contacts = facts.wall_contacts_of(first)
    limit = f"more than limits.largest_overlap, {system.constants.largest_overlap:g}"
    inside = _wall_name(system.case, other)
    text = f"{facts.description(first)} is {_percent(share)} of its radius inside {inside}, {limit}"
    others = [wall for wall, _, _ in contacts if wall != other]
    if not others:
        return f"{text}. {_time_step_advice(system.constants, system.case)}"
    text += f", and touches {' and '.join(_wall_name(system.case, wall) for wall in others)} as well"
    normal = {wall: vector for wall, _, vector in contacts}
    if any(float(exact_math.inner(normal[other], normal[wall])) < OPPOSITE for wall in others):
        text += ": it is squeezed between two walls. Leave a gap of a diameter between them, or stop one"
    return f"{text}. {_time_step_advice(system.constants, system.case)}"


def _wall_too_fast(system: System, facts: _Facts, ids: tuple[int, int], share: float) -> str:
    first, other = ids
    assert system.walls is not None
    displacement = float(system.walls.displacements[first])
    speed = displacement / system.constants.time_step.dt
    return (
        f"{_wall_name(system.case, first)} moved up to {displacement:.4g} m in one step ({speed:.4g} m/s), past "
        f"{facts.description(other)} which is less than that: it goes through particles. Let it move more slowly "
        "(a jump in a table takes many steps), or reduce time.step"
    )


def _driven_wall_too_fast(system: System, facts: _Facts, ids: tuple[int, int], share: float) -> str:
    assert system.walls is not None
    wall, displacement = ids[0], float(system.walls.displacements[ids[0]])
    return (
        f"driven {_wall_name(system.case, wall)} moved {displacement:.4g} m in one step, more than the largest radius, "
        "or its velocity is not finite; its mass or inertia is too small for the time step and what touches it, or "
        "servo.largest_rate too large: reduce time.step"
    )


def _of_feature(system: System, facts: _Facts, ids: tuple[int, int], share: float) -> str:
    speed = facts.speed(ids[0], system.constants.time_step.dt)
    text: str = system.features.at(ids[1]).error(system, facts.description(ids[0]), speed)
    return text


def _pair_flow(system: System, facts: _Facts, ids: tuple[int, int], share: float) -> str:
    first, other = ids
    return _bad_flow(system.contacts, facts.description(first), facts.description(other))


def _wall_flow(system: System, facts: _Facts, ids: tuple[int, int], share: float) -> str:
    return _bad_flow(system.contacts, facts.description(ids[0]), _wall_name(system.case, ids[1]))


def _bad_flow(contacts: RankContacts, first: str, other: str) -> str:
    fields = " or ".join(contacts.quanta)
    return (
        f"what flows of {fields} between {first} and {other} is not finite, or more than 2^53 quanta in one step; "
        "mend the function, or reduce time.step if its flow is stiff"
    )


def _too_many_quanta(system: System, facts: _Facts, ids: tuple[int, int], share: float) -> str:
    fields = " or ".join(f"{name} (quantum {quantum:g})" for name, quantum in system.contacts.quanta.items())
    return (
        f"{facts.description(ids[0])} has more than 2^53 quanta of {fields}, or its value is not finite; begin with a "
        "larger amount that a particle may have, or reduce time.step if its flow is stiff"
    )


_MESSAGES = {
    WALL_TOO_FAST: _wall_too_fast, PARTICLE_TOO_FAST: _particle_too_fast, PAIR_OVERLAP: _pair_overlap,
    WALL_OVERLAP: _wall_overlap, DRIVEN_WALL_TOO_FAST: _driven_wall_too_fast, OF_FEATURE: _of_feature,
    BOX_TOO_SMALL: _box_too_small, PAIR_FLOW: _pair_flow, WALL_FLOW: _wall_flow, TOO_MANY_QUANTA: _too_many_quanta,
}  # fmt: skip
