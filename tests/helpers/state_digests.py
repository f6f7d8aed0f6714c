"""Digests of the states of short runs, small enough to be committed, which still tell where two runs differ."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import pdem
from pdem.engine.state import gather_groups, local_groups

Digests = dict[str, Any]

_ROW_BYTES = 2
_MOST_ROWS = 2000
"""Largest number of digests of particles; more particles share digests, in the order of ids."""


def digests_of(simulation: pdem.Simulation) -> Digests:
    """Return a digest of each column of the state and of each written number, and a short one for each particle."""
    groups = gather_groups(simulation.system, local_groups(simulation.system))
    columns = {f"{group}/{name}": _digest(one) for group, own in groups.items() for name, one in own.items()}
    written = {"energies": simulation.energies(), "sensors": simulation.sensors(), "walls": simulation.wall_loads()}
    numbers = {f"{group}/{name}": _digest(one) for group, own in written.items() for name, one in _flat(own)}
    return {"columns": columns | numbers, "particles": _digests_of_rows(groups["particles"])}


def run_digests(simulation: pdem.Simulation, steps: tuple[int, ...]) -> dict[str, Digests]:
    """Return digests at some steps of a run."""
    found = {}
    for step in steps:
        simulation.advance(step - simulation.step)
        found[str(step)] = digests_of(simulation)
    return found


def first_difference(expected: Mapping[str, Digests], found: Mapping[str, Digests]) -> str:
    """Return where two runs differ first: step, columns and particles; empty if they have the same digests."""
    for step, of_step in expected.items():
        theirs, ours = of_step["columns"], found[step]["columns"]
        if columns := sorted(name for name in theirs.keys() | ours.keys() if theirs.get(name) != ours.get(name)):
            return f"step {step}: {', '.join(columns)} differ; {_rows(of_step['particles'], found[step]['particles'])}"
    return ""


def _rows(theirs: str, ours: str) -> str:
    width = 2 * _ROW_BYTES
    if len(theirs) != len(ours):
        return f"{len(theirs) // width} particles were expected, there are {len(ours) // width}"
    rows = [row for row in range(len(ours) // width) if theirs[row * width :][:width] != ours[row * width :][:width]]
    kind = "particles" if len(ours) // width < _MOST_ROWS // 2 else "groups of particles"
    return f"{len(rows)} of {len(ours) // width} {kind}, in the order of ids the numbers {rows[:8]}"


def _digests_of_rows(columns: Mapping[str, np.ndarray]) -> str:
    number = len(columns["id"])
    group = max(-(-number // _MOST_ROWS), 1)
    parts = ([one[row : row + group].tobytes() for one in columns.values()] for row in range(0, number, group))
    return "".join(hashlib.blake2b(b"".join(part), digest_size=_ROW_BYTES).hexdigest() for part in parts)


def _digest(values: Any) -> str:
    return hashlib.blake2b(np.ascontiguousarray(values).tobytes(), digest_size=4).hexdigest()


def _flat(numbers: Mapping[str, Any], head: str = "") -> Iterator[tuple[str, Any]]:
    for name, one in numbers.items():
        if isinstance(one, Mapping):
            yield from _flat(one, f"{head}{name}/")
        else:
            yield f"{head}{name}", one
