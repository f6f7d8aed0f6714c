"""History of the contacts of some particles over steps, and of the strongest contact: as a table and as a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.output.saving import save_file
from pdem.report.table import Table
from pdem.run.files.contact_columns import gathered_contacts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Integers

    Columns = dict[str, NDArray[Any]]

_SHOWN = (
    ("step", "step"), ("time [s]", "time"), ("overlap [m]", "overlap"), ("of the radius", "share"),
    ("normal force [N]", "normal_force"), ("tangential [N]", "tangential_force"), ("speed [m/s]", "speed"),
    ("of the other", "other_speed"),
)  # fmt: skip
_AXES = "xyz"


class ContactHistory:
    """An observer that records the contacts of particles or of a wall at each call.

    Parameters
    ----------
    particles : tuple of int
        Ids. Two ids: their contact. One id: all its contacts, or only its contacts with the wall. None: all contacts of
        the wall.
    wall : int
        Index of a wall, -1 without a wall.

    Attributes
    ----------
    name : str
        Description of the contact selected by `choose`.
    rows : list of dict
        Quantities of this contact at each call, by column name.
    """

    def __init__(self, particles: tuple[int, ...] = (), wall: int = -1) -> None:
        self._particles, self._wall = particles, wall
        self._seen: list[Columns] = []
        self.name = ""
        self.rows: list[dict[str, Any]] = []

    def __call__(self, simulation: Any) -> None:
        """Record the contacts of the present step. Collective."""
        system = simulation.system
        columns = gathered_contacts(system, remembered=True)
        found = None if columns is None else self._mine(columns)
        bodies = None if found is None else np.unique((found["first"], found["second"]))
        speeds = _moving(system, system.exchange.share(bodies))
        if found is None or speeds is None:
            return
        count = len(found["first"])
        found |= {"step": np.full(count, system.progress.step), "time": np.full(count, system.progress.time)}
        self._seen.append(found | _speeds(found, speeds))

    def _mine(self, columns: Columns) -> Columns:
        first, second, wall = columns["first"], columns["second"], columns["wall"]
        touching = np.isin(first, self._particles) | np.isin(second, self._particles)
        if len(self._particles) > 1:
            touching = np.isin(first, self._particles) & np.isin(second, self._particles)
        elif self._wall >= 0:
            touching = (wall == self._wall) & (touching if self._particles else True)
        return {name: column[touching] for name, column in columns.items()}

    def choose(self, wall_names: list[str]) -> None:
        """Select the contact with the largest force in the last step with contacts, and keep its rows."""
        last = next((one for one in reversed(self._seen) if len(one["first"])), None)
        if last is None:
            return
        row = _strongest(last, np.arange(len(last["first"])))
        key = tuple(int(last[name][row]) for name in ("first", "second", "wall"))
        other = f"wall {wall_names[key[2]]}" if key[2] >= 0 else f"particle {key[1]}"
        self.name = f"particle {key[0]} and {other}"
        for one in self._seen:
            same = (one["first"] == key[0]) & (one["second"] == key[1]) & (one["wall"] == key[2])
            if same.any():  # with a wall there may be several contacts
                row = _strongest(one, np.flatnonzero(same))
                self.rows.append({name: column[row] for name, column in one.items()})

    def __str__(self) -> str:
        """Return the selected contact as a table."""
        if not self.rows:
            return "nothing touched the particle in these steps"
        rows = [[f"{row[name]:.6g}" for _, name in _SHOWN] for row in self.rows]
        return f"contact of {self.name}:\n{Table([title for title, _ in _SHOWN], rows).text(0)}"

    def write(self, path: Path) -> None:
        """Write all columns of the selected contact as CSV, a line per step.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        rows = [dict(_scalars(row)) for row in self.rows]
        table = Table(list(rows[0]) if rows else ["step"], [list(row.values()) for row in rows])
        save_file(path, table.csv())


def _strongest(columns: Columns, rows: NDArray[Any]) -> int:
    forces = (columns["force"][rows] ** 2).sum(axis=1)
    return int(rows[np.argmax(forces)])


def _moving(system: Any, bodies: Integers) -> Columns | None:
    """Return velocity and radius of the particles with given ids on rank 0, None elsewhere. Collective."""
    own = system.particles
    rows = np.flatnonzero(np.isin(own.id, bodies))
    found: Columns | None = system.exchange.collect(
        {name: own[name][rows].copy() for name in ("id", "radius", "velocity")}
    )
    return found


def _speeds(contacts: Columns, moving: Columns) -> Columns:
    """Return the speeds of both bodies [m/s] (NaN for walls), and the overlap divided by the smaller radius."""
    order = np.argsort(moving["id"])
    ids, radius = moving["id"][order], moving["radius"][order]
    speed = np.sqrt((moving["velocity"][order] ** 2).sum(axis=1))
    first = np.searchsorted(ids, contacts["first"])
    pair = contacts["second"] >= 0
    second = np.where(pair, np.searchsorted(ids, contacts["second"]), first)
    smaller = np.minimum(radius[first], radius[second])
    return {
        "speed": speed[first], "other_speed": np.where(pair, speed[second], np.nan),
        "share": contacts["overlap"] / smaller,
    }  # fmt: skip


def _scalars(row: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield names and values of a row; vectors are split into components."""
    for name, value in row.items():
        parts = np.asarray(value).reshape(-1).tolist()
        yield from ((f"{name}_{_AXES[k]}" if len(parts) > 1 else name, part) for k, part in enumerate(parts))
