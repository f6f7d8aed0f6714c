"""Normal forces with a memory of straight lines: Luding's adhesive one, and Walton's and Braun's without adhesion.

Luding, Granular Matter 10 (2008) 235; Walton, Braun, J. Rheology 30 (1986) 949. A contact remembers one overlap h. On
the first loading h is the overlap, and the force ``k1 overlap``. Unloading and reloading are elastic with the stiffness
``k2(h)``, up to the first line and down to a third, the pull ``-kc overlap``:

``F = k2 overlap - (k2 - k1) h``, between ``k1 overlap`` and ``-kc overlap``, with ``k2(h) = first + b h``.

On the third line h decreases so that reloading begins there, with the stiffness of the new h. Luding's
``b`` is such that k2 is reached at a plastic part ``phi 2 R`` of the overlap, with R the effective radius; beyond
this overlap h does not grow, and the contact is elastic. Walton's and Braun's k2 is ``k1 / e^2``, with the same
restitution e at any speed, plus ``S F``, with F the largest force: at high speed it rebounds less.

The lost energy is a difference of two states, exact for steps of any length: on the first line
``k1 h^2 / 2 (1 - k1 / k2)``, on the third ``kc x^2 / 2 (1 + kc / k2)``, with x the overlap where the line of h meets
it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pdem.contact.law.parts import TINY, Energy, HistoryColumn, Key, NormalPart
from pdem.contact.law.restitution import damped_as_spring, undamped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pdem.contact.law.parts import Pair

PLASTIC_OVERLAP = HistoryColumn("plastic_overlap", "m")
"""Overlap up to which a contact has been loaded; it decreases if the contact is pulled beyond its largest pull."""

PLASTIC = Energy("plastic", "plastic", "plastic")

_ENDLESS = 1e30  # plastic overlap over radius that no contact reaches


def unloading(h: float, radius: float, c: Any) -> float:
    """Return the stiffness of unloading [N/m] of a contact that has been loaded up to an overlap h [m]."""
    return float(c.first + (c.slope / radius + c.growth) * h)


def reduced(overlap: float, radius: float, c: Any) -> float:
    """Return the overlap h [m] with a line of unloading that meets the largest pull at an overlap [m]."""
    b, meets = c.slope / radius + c.growth, (c.first + c.adhesion) * overlap
    p = c.first - c.modulus - b * overlap
    root = math.sqrt(max(p * p + 4.0 * b * meets, 0.0))
    # the form of the root of b h^2 + p h = meets without cancellation
    below, above = 2.0 * meets / max(p + root, TINY), 0.5 * (root - p) / max(b, TINY)
    return float(below if p >= 0.0 else above)


def lost_loading(h: float, radius: float, c: Any) -> float:
    """Return the loss of the first loading up to an overlap h [m], in J."""
    return float(0.5 * c.modulus * h * h * (1.0 - c.modulus / unloading(h, radius, c)))


def lost_pulling(h: float, radius: float, c: Any) -> float:
    """Return the loss of a contact at its largest pull, with h [m], if it were pulled apart [J]."""
    k = unloading(h, radius, c)
    x = (k - c.modulus) * h / (k + c.adhesion)
    return float(0.5 * c.adhesion * x * x * (1.0 + c.adhesion / k))


def elastic(
    overlap: float, radius: float, c: Any, history: tuple[float, ...]
) -> tuple[float, float, float, tuple[float, ...], float]:
    """Return force [N], 1, the largest pull [N], the new history, and the energy lost [J]."""
    old = history[0]
    h = max(old, min(overlap, c.depth * radius))
    k = unloading(h, radius, c)
    force, held = k * overlap - (k - c.modulus) * h, c.adhesion * overlap
    pulls = force < -held
    now = min(reduced(overlap, radius, c), h) if pulls else h
    loaded = lost_loading(h, radius, c) - lost_loading(old, radius, c)
    pulled = lost_pulling(h, radius, c) - lost_pulling(now, radius, c)
    return max(force, -held), 1.0, held, (now, *history[1:]), pulled if pulls else loaded


def energy(overlap: float, radius: float, c: Any, history: tuple[float, ...]) -> float:
    """Return the energy of unloading [J]."""
    h = history[0]
    k = unloading(h, radius, c)
    force = k * overlap - (k - c.modulus) * h
    return float(0.5 * force * force / max(k, TINY))


def steepest(overlap: float, radius: float, c: Any) -> float:
    """Return the stiffness of unloading from an overlap [N/m]."""
    return unloading(min(overlap, c.depth * radius), radius, c)


def _luding_values(pair: Pair) -> tuple[float, ...]:
    k1, k2 = pair.keys["normal_stiffness"], pair.keys["unloading_stiffness"]
    depth = 2.0 * pair.keys["plasticity_depth"] * k2 / (k2 - k1) if k2 > k1 else _ENDLESS
    return k1, k1, (k2 - k1) / depth, 0.0, pair.keys["adhesion_stiffness"], depth


def _luding_rule(keys: Mapping[str, Any]) -> str:
    k1, k2 = keys["normal_stiffness"], keys["unloading_stiffness"]
    if k2 >= k1:
        return ""
    return (
        f"unloading_stiffness is {k2:g} N/m, less than normal_stiffness, {k1:g} N/m: unloading would give back "
        f"more than loading took; give at least {k1:g}"
    )


_COEFFICIENTS = ("modulus", "first", "slope", "growth", "adhesion", "depth")

LUDING = NormalPart(
    role="normal",
    model="luding",
    text="Linear, plastic and adhesive: loaded, unloaded and pulled apart by three stiffnesses.",
    keys=(
        Key("normal_stiffness", "N/m", "Force over overlap on the first loading, k1.", above=0.0),
        Key("unloading_stiffness", "N/m", "Largest stiffness of unloading and reloading, k2; at least k1.", above=0.0),
        Key("adhesion_stiffness", "N/m", "Largest pull over overlap, kc.", default=0.0, required=False, at_least=0.0),
        Key(
            "plasticity_depth",
            "",
            "Largest plastic overlap over twice the effective radius, phi.",
            default=0.05,
            required=False,
            above=0.0,
            at_most=1.0,
        ),
    ),
    coefficients=_COEFFICIENTS,
    values=_luding_values,
    rule=_luding_rule,
    history=(PLASTIC_OVERLAP,),
    energies=(PLASTIC,),
    damped=damped_as_spring,
    elastic=elastic,
    energy=energy,
    steepest=steepest,
    power=1.0,
    onset=1.0,
)
"""With ``modulus`` = k1; ``restitution`` adds the damping that a spring of that stiffness would need for it."""


def _walton_braun_values(pair: Pair) -> tuple[float, ...]:
    k1, restitution = pair.keys["normal_stiffness"], pair.keys["restitution"]
    return k1, k1 / (restitution * restitution), 0.0, pair.keys["stiffening"] * k1, 0.0, _ENDLESS


WALTON_BRAUN = NormalPart(
    role="normal",
    model="walton-braun",
    text="Linear and plastic: stiffer when unloaded, by as much as the restitution asks for.",
    keys=(
        Key("normal_stiffness", "N/m", "Force over overlap on the first loading, k1.", above=0.0),
        Key(
            "stiffening",
            "1/m",
            "By how much the stiffness of unloading grows with the largest force: fast impacts rebound less.",
            default=0.0,
            required=False,
            at_least=0.0,
        ),
    ),
    coefficients=_COEFFICIENTS,
    values=_walton_braun_values,
    history=(PLASTIC_OVERLAP,),
    energies=(PLASTIC,),
    damped=undamped,
    elastic=elastic,
    energy=energy,
    steepest=steepest,
    power=1.0,
    onset=1.0,
)
"""``restitution`` holds for slow impacts, and for all impacts without ``stiffening``; no damping is added."""
