"""What stops a run because its results would mean nothing: who, when, and the likely cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation.errors import BlowUpError

if TYPE_CHECKING:
    from typing import NoReturn

    from pdem.simulation.system import System

FAR, PAIR, WALL, DRIVEN = 1, 2, 3, 4
"""A particle moved more than its radius in a step or is nowhere; two overlap too much; one and a wall do; a wall that
particles drive went farther than the largest radius, or is nowhere."""


def stop_if_troubled(system: System) -> NoReturn:
    """Raise on every rank the trouble of the lowest kind and id that any rank saw. Collective."""
    rows = np.array(system.trouble, np.int64).reshape(-1, 3)
    joined = system.exchange.collect({"id": rows[:, 1], "kind": rows[:, 0], "other": rows[:, 2]})
    message = None
    if joined is not None:
        kind, first, other = min(
            zip(joined["kind"].tolist(), joined["id"].tolist(), joined["other"].tolist(), strict=True)
        )
        message = _message(system, kind, first, other)
    raise BlowUpError(system.exchange.share(message))


def _message(system: System, kind: int, first: int, other: int) -> str:
    where = f"step {system.step} (time {system.time:.6g} s)"
    remedy = (
        "the time step is too large for the stiffness and speeds, or particles were put too close: "
        "reduce time.step"
    )
    if kind == FAR:
        return (
            f"{where}: particle {first} moved more than its radius in one step, or its velocity is not finite; "
            + remedy
        )
    if kind == DRIVEN:
        return (
            f"{where}: driven wall {first} (counted from 0) moved more than the largest radius in one step, or its "
            "velocity is not finite; its mass or inertia is too small for the time step and what touches it, or "
            "servo.largest_rate too large: reduce time.step"
        )
    partner = f"particle {other}" if kind == PAIR else "a wall"
    return (
        f"{where}: particle {first} overlaps {partner} by more than {system.constants.largest_overlap:g} of the "
        f"smaller radius (limits.largest_overlap); {remedy}, or make the material stiffer"
    )
