"""Resistance to rolling and to twisting by a spring, a dashpot and a slider of constant stiffness (SDS).

Luding, Granular Matter 10 (2008) 235; Wang, Alonso-Marroquin, Guo, Particuology 23 (2015) 49; the models ``rolling
sds`` and ``twisting sds`` of LAMMPS. Spring and dashpot together are limited to ``friction R N``, with R the effective
radius: if they exceed it, the spring is shortened so that they are at the limit.

A rolling displacement xi of LAMMPS is R times the angle here: its stiffness k and damping gamma in N/m and N s/m are
``k R^2`` in N m/rad and ``gamma R^2`` in N m s/rad. The torque of rolling changes its sign when the two partners are
exchanged; that of twisting, a number along the normal, does not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pdem.contact.law.kinds.two_frictions import DYNAMIC_FRICTION, frictions_rule, torques_of, with_two_frictions
from pdem.contact.law.parts import TINY, HistoryColumn, Key, ResistancePart, vector
from pdem.contact.law.rotation import (
    TORQUE_FRICTION,
    across,
    resistance_energies,
    stable_damping,
    turned,
    twisting_slider,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pdem.contact.law.parts import Contact, Load, Pair
    from pdem.motion.time_step import TimeStep
    from pdem.numerics.vectors import Vector


def limited_rolling(
    step: TimeStep, contact: Contact, c: Any, load: Load, history: Vector, frictions: tuple[float, float]
) -> tuple[Vector, Vector, float, bool]:
    """Return torque, torque of the spring, energy, and whether it sticks, with static and dynamic friction."""
    square = contact.radius * contact.radius
    stiffness = c.stiffness * square + c.torque_stiffness
    damping = min(c.damping * square + c.torque_damping, stable_damping(step, contact, stiffness))
    tx, ty, tz = across(contact.rolling, contact.normal)
    (hx, hy, hz), grows = turned(history, contact, step.dt), stiffness * load.time
    sx, sy, sz = across((hx - grows * tx, hy - grows * ty, hz - grows * tz), contact.normal)
    mx, my, mz = sx - damping * tx, sy - damping * ty, sz - damping * tz
    size, reach = mx * mx + my * my + mz * mz, contact.radius * load.force
    sticks = size <= frictions[0] * reach * (frictions[0] * reach)
    scale = 1.0 if sticks else frictions[1] * reach / math.sqrt(max(size, TINY))
    mx, my, mz = mx * scale, my * scale, mz * scale
    sx, sy, sz = (
        sx if sticks else mx + damping * tx, sy if sticks else my + damping * ty, sz if sticks else mz + damping * tz
    )  # fmt: skip
    stored = 0.5 * (sx * sx + sy * sy + sz * sz) / max(stiffness, TINY)
    return (mx, my, mz), (sx, sy, sz), stored, sticks


rolling_torque, rolling_torque_of_two = torques_of(limited_rolling)


def limited_twisting(
    step: TimeStep, contact: Contact, c: Any, load: Load, history: tuple[float], frictions: tuple[float, float]
) -> tuple[Vector, tuple[float], float, bool]:
    """Return torque, torque of the spring, energy, and whether it sticks, with static and dynamic friction."""
    n, w = contact.normal, contact.rolling
    twist = w[0] * n[0] + w[1] * n[1] + w[2] * n[2]
    damping = min(c.damping, stable_damping(step, contact, c.stiffness))
    grown, reach = history[0] - c.stiffness * load.time * twist, contact.radius * load.force
    limits = frictions[0] * reach, frictions[1] * reach
    torque, spring, sticks = twisting_slider(grown, damping, twist, limits)
    stored = 0.5 * spring * spring / max(c.stiffness, TINY)
    return (torque * n[0], torque * n[1], torque * n[2]), (spring,), stored, sticks


twisting_torque, twisting_torque_of_two = torques_of(limited_twisting)


def _rolling_values(pair: Pair) -> tuple[float, ...]:
    names = ("friction", "stiffness", "torque_stiffness", "damping", "torque_damping")
    return tuple(float(pair.keys.get(name) or 0.0) for name in names)


def _rolling_rule(keys: Mapping[str, Any]) -> str:
    for name, unit, other in (("stiffness", "N/m", "N m/rad"), ("damping", "N s/m", "N m s/rad")):
        given = [key for key in (name, f"torque_{name}") if keys.get(key) is not None]
        if len(given) == 2:
            return f"has {name} and torque_{name}; give one of them"
        if name == "stiffness" and not given:
            return f"has no stiffness; give stiffness ({unit}) or torque_stiffness ({other})"
    return frictions_rule(keys)


def _rolling_stiffness(overlap: float, radius: float, normal: float, c: Any) -> float:
    return float(c.stiffness * radius * radius + c.torque_stiffness)


def _twisting_values(pair: Pair) -> tuple[float, ...]:
    return tuple(float(pair.keys.get(name) or 0.0) for name in ("friction", "stiffness", "damping"))


def _twisting_stiffness(overlap: float, radius: float, normal: float, c: Any) -> float:
    return float(c.stiffness)


ROLLING_SDS = with_two_frictions(
    ResistancePart(
        role="rolling",
        model="sds",
        text="A spring, a dashpot and a slider of constant stiffness against rolling: a heap stays as it is.",
        keys=(
            TORQUE_FRICTION,
            Key("stiffness", "N/m", "Force over rolling displacement, R times the angle.", required=False, above=0.0),
            Key("torque_stiffness", "N m/rad", "Torque over angle, in its place.", required=False, above=0.0),
            Key("damping", "N s/m", "Force over rolling velocity.", required=False, at_least=0.0),
            Key("torque_damping", "N m s/rad", "Torque over rate, in its place.", required=False, at_least=0.0),
            DYNAMIC_FRICTION,
        ),
        coefficients=("friction", "stiffness", "torque_stiffness", "damping", "torque_damping"),
        values=_rolling_values,
        rule=_rolling_rule,
        history=vector("rolling_torque", "N m", -1),
        energies=resistance_energies("rolling"),
        torque=rolling_torque,
        stiffness=_rolling_stiffness,
    ),
    rolling_torque_of_two,
)

TWISTING_SDS = with_two_frictions(
    ResistancePart(
        role="twisting",
        model="sds",
        text="A spring, a dashpot and a slider of constant stiffness against twisting.",
        keys=(
            TORQUE_FRICTION,
            Key("stiffness", "N m/rad", "Torque over angle.", above=0.0),
            Key("damping", "N m s/rad", "Torque over rate.", default=0.0, required=False, at_least=0.0),
            DYNAMIC_FRICTION,
        ),
        coefficients=("friction", "stiffness", "damping"),
        values=_twisting_values,
        rule=frictions_rule,
        history=(HistoryColumn("twisting_torque", "N m"),),
        energies=resistance_energies("twisting"),
        torque=twisting_torque,
        stiffness=_twisting_stiffness,
    ),
    twisting_torque_of_two,
)
