"""The quantities of a simulation that are compared at a step, and the first differing contact with its inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.engine.state import gather_groups, local_groups
from pdem.run.files.contact_columns import HISTORY_PREFIX, gathered_contacts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pdem.run.simulation import Simulation

    Inputs = dict[str, Any]
    Columns = dict[str, NDArray[Any]]

_OF_BODIES = {"radius": "m", "position": "m", "velocity": "m/s", "angular_velocity": "rad/s"}
_RESULTS = {
    "point": "m", "normal": "1", "overlap": "m", "force": "N", "normal_force": "N", "tangential_force": "N",
}  # fmt: skip
_ABSENT = "-"
_NO_CONTACT = "no contact"


@dataclass(frozen=True)
class View:
    """The compared quantities of a simulation at one step.

    Attributes
    ----------
    step : int
        The step.
    groups : dict of dict of ndarray
        Compared columns of the state by group, rows ordered by id.
    contacts : dict of ndarray
        Contacts with forces and histories, ordered by ids.
    materials, walls : tuple of str
        Names of the materials and walls, by index.
    coefficients : dict of ndarray
        Columns of the pair table by name, shape (M * M,).
    wall_motion : dict of ndarray
        Velocity and angular velocity of each wall, shape (walls, 3).
    """

    step: int
    groups: dict[str, Columns]
    contacts: Columns
    materials: tuple[str, ...]
    walls: tuple[str, ...]
    coefficients: Columns
    wall_motion: Columns

    def particle(self, number: int) -> dict[str, Any] | None:
        """Return the columns of the particle with an id, None if there is no such particle."""
        particles = self.groups["particles"]
        rows = np.flatnonzero(particles["id"] == number)
        return {name: column[rows[0]] for name, column in particles.items()} if len(rows) else None

    def keys(self) -> list[tuple[int, int, int, int]]:
        """Return for each contact: first and second particle, wall, and a counter among contacts of the same bodies."""
        found, seen = [], dict[tuple[int, ...], int]()
        for key in zip(*(self.contacts[name].tolist() for name in ("first", "second", "wall")), strict=True):
            seen[key] = seen.get(key, -1) + 1
            found.append((*key, seen[key]))
        return found

    def coefficients_of(self, first: int, second: int) -> dict[str, float]:
        """Return the coefficients of a pair of materials, given by their indices."""
        row = first * len(self.materials) + second
        return {name: float(column[row]) for name, column in self.coefficients.items()}


def view_of(simulation: Simulation, chosen: Mapping[str, Sequence[str]]) -> View | None:
    """Return all compared quantities on rank 0, None elsewhere. Collective."""
    system = simulation.system
    groups = gather_groups(system, local_groups(system))
    contacts = gathered_contacts(system, remembered=True)
    if groups is None or contacts is None:
        return None
    constants, walls = system.constants, system.walls
    motion = {} if walls is None else {"velocity": walls.velocity, "angular_velocity": walls.angular_velocity}
    return View(
        system.progress.step, {group: {name: groups[group][name] for name in names} for group, names in chosen.items()},
        contacts, tuple(simulation.case.materials), tuple(wall.name for wall in simulation.case.walls),
        dict(zip(constants.law.coefficients, constants.table.T.copy(), strict=True)),
        {name: np.array(column) for name, column in motion.items()},
    )  # fmt: skip


def same_bits(a: Any, b: Any) -> bool:
    """Return whether two values have the same type, shape and bits."""
    one, other = np.asarray(a), np.asarray(b)
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


@dataclass(frozen=True)
class ContactPair:
    """The same contact in two runs.

    Attributes
    ----------
    name : str
        Description of the two bodies.
    step : int
        Step at which the contact differs.
    a, b : dict
        Values in each run by label, in the order of a report.
    """

    name: str
    step: int
    a: dict[str, Any]
    b: dict[str, Any]

    def lines(self) -> Iterator[tuple[str, str, str, bool]]:
        """Yield for each quantity its label, both values as text, and whether they differ."""
        for label in [*self.a, *(one for one in self.b if one not in self.a)]:
            left, right = (one.get(label, _ABSENT) for one in (self.a, self.b))
            yield label, _text(left), _text(right), not same_bits(left, right)


def first_contact(before: tuple[View, View], after: tuple[View, View]) -> ContactPair | None:
    """Return the first contact, ordered by ids, with a different force or history; None if all contacts agree.

    Parameters
    ----------
    before, after : tuple of two View
        Both runs before the step and after it.
    """
    rows = [dict(zip(view.keys(), range(len(view.contacts["first"])), strict=True)) for view in after]
    names = _compared(*after)
    for key in sorted(rows[0].keys() | rows[1].keys(), key=lambda one: (one[0], one[1] < 0, *one[1:])):
        here = [one.get(key) for one in rows]
        if None not in here and all(
            same_bits(*(view.contacts[name][row] for view, row in zip(after, here, strict=True))) for name in names
        ):
            continue
        inputs = [_inputs(then, now, key, row) for then, now, row in zip(before, after, here, strict=True)]
        return ContactPair(_name(key, after[0]), after[0].step, *inputs)
    return None


def _compared(a: View, b: View) -> list[str]:
    """Return the columns that decide whether contacts differ; energies are excluded."""
    memory = {f"{HISTORY_PREFIX}{name}" for name in a.groups.get("contacts", {})}
    memory |= {f"{HISTORY_PREFIX}{name}" for name in a.groups.get("wall_contacts", {})}
    return [name for name in a.contacts if name in b.contacts and (name in _RESULTS or name in memory)]


def _name(key: tuple[int, int, int, int], view: View) -> str:
    other = f"wall {view.walls[key[2]]}" if key[2] >= 0 else f"particle {key[1]}"
    return f"particle {key[0]} and {other}"


def _inputs(before: View, after: View, key: tuple[int, int, int, int], row: int | None) -> Inputs:
    """Return the inputs of the force of a contact in one run, and the resulting force."""
    found: Inputs = {}
    for number in (one for one in key[:2] if one >= 0):
        particle = before.particle(number)
        for name, unit in _OF_BODIES.items() if particle else ():
            found[f"{_words(name)} of particle {number}, step {before.step} [{unit}]"] = particle[name]  # type: ignore[index]
    if key[2] >= 0:
        for name, column in after.wall_motion.items():
            found[f"{_words(name)} of wall {after.walls[key[2]]} [{_OF_BODIES[name]}]"] = column[key[2]]
    earlier = before.keys()
    if key in earlier:
        found |= _memory(before, earlier.index(key))
    if row is None:
        return found | dict.fromkeys((_label(name, after.step) for name in _RESULTS), _NO_CONTACT)
    kinds = (int(after.contacts[f"{body}_material"][row]) for body in ("first", "second"))
    for name, value in after.coefficients_of(*kinds).items():
        found[f"coefficient {name}"] = value
    found |= {_label(name, after.step): after.contacts[name][row] for name in _RESULTS}
    return found | _memory(after, row)


def _label(name: str, step: int) -> str:
    return f"{_words(name)}, step {step} [{_RESULTS[name]}]"


def _memory(view: View, row: int) -> Inputs:
    return {
        f"remembered {_words(name.removeprefix(HISTORY_PREFIX))}, step {view.step}": column[row]
        for name, column in view.contacts.items()
        if name.startswith(HISTORY_PREFIX)
    }


def _words(name: str) -> str:
    return name.replace("_", " ")


def _text(value: Any) -> str:
    """Return a value as text with all its digits."""
    if isinstance(value, str):
        return value
    parts = [repr(one) for one in (value.tolist() if getattr(value, "ndim", 0) else [float(value)])]
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
