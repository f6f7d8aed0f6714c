"""The Edinburgh elasto-plastic adhesion model (EEPA), with the power 3/2 of the overlap, or 1.

Morrissey, PhD thesis, Edinburgh 2013; Thakur, Morrissey, Sun, Chen, Ooi, Granular Matter 16 (2014) 383. With the power
n, ``x = overlap^n``, the overlap h up to which a contact has been loaded, and the plasticity ``p = 1 - k1 / k2``:

``F = -P0 + k2 (x - p h^n)``, between ``-P0 + k1 x`` on the first loading and ``-P0 - ka x``.

For n = 3/2, k1 is that of Hertz. The pull grows with the area that is plastic, of radius ``a = sqrt(2 R d)`` at the
largest plastic overlap ``d = p^(1/n) h_max``: it is ``3/2 pi w a``, with the work of adhesion w, where the line of
unloading meets that of the pull. That gives ``ka = pull / (d^n - pull / k2)``, at most k2. On the line of the pull h
decreases as in `pdem.contact.law.kinds.plastic`; ka does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from pdem.contact.law.kinds.jkr import cube_root
from pdem.contact.law.kinds.plastic import PLASTIC, PLASTIC_OVERLAP
from pdem.contact.law.parts import TINY, HistoryColumn, Key, NormalPart
from pdem.contact.law.restitution import damped_as_hertz, damped_as_spring
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from pdem.contact.law.parts import Pair

LARGEST_OVERLAP = HistoryColumn("largest_overlap", "m")
"""Largest overlap of a contact so far."""


class Curve(NamedTuple):
    """Functions that depend on the power of the overlap.

    Attributes
    ----------
    power : float
        The power n.
    grown, overlap_of : callable
        ``overlap^n`` of an overlap [m], and the inverse function.
    scale : callable
        ``scale(radius)`` returns ``k1 / modulus`` for an effective radius [m].
    factor : callable
        ``factor(overlap, radius)`` returns the stiffness of loading over the modulus.
    """

    power: float
    grown: Callable[[float], float]
    overlap_of: Callable[[float], float]
    scale: Callable[[float], float]
    factor: Callable[[float, float], float]


def _grown(overlap: float) -> float:
    return overlap * math.sqrt(abs(overlap))


def _overlap_of(grown: float) -> float:
    root = cube_root(max(grown, TINY))
    return root * root


def _hertz_scale(radius: float) -> float:
    return 2.0 / 3.0 * math.sqrt(radius)


def _contact_radius(overlap: float, radius: float) -> float:
    return math.sqrt(abs(radius * overlap))


def _same(value: float) -> float:
    return value


def _one(radius: float) -> float:
    return 1.0


def _always_one(overlap: float, radius: float) -> float:
    return 1.0


def _pull_stiffness(curve: Curve) -> Callable[..., float]:
    """Make the function that returns ka from the largest overlap of a contact so far."""
    grown = curve.grown

    def pull_stiffness(largest: float, radius: float, k2: float, c: Any) -> float:
        plastic = c.share * largest
        pull = c.pull * math.sqrt(2.0 * radius * plastic)
        room = grown(plastic) - pull / k2
        return min(pull / max(room, TINY), k2) if room > 0.0 else k2 * (1.0 if pull > 0.0 else 0.0)

    return pull_stiffness


def _stored(curve: Curve) -> Callable[..., float]:
    """Make the function that returns the energy [J] of unloading along the line of an overlap h."""
    grown, n = curve.grown, curve.power

    def stored(overlap: float, h: float, k2: float, c: Any) -> float:
        plastic = c.share * h
        whole, rest = grown(overlap) * overlap, n * grown(plastic) * plastic
        return float(k2 * ((whole + rest) / (n + 1.0) - grown(plastic) * overlap))

    return stored


def _lost_loading(curve: Curve) -> Callable[..., float]:
    """Make the function that returns the loss of the first loading up to an overlap h [J]."""
    grown, n, stored = curve.grown, curve.power, _stored(curve)

    def lost_loading(h: float, k1: float, k2: float, c: Any) -> float:
        return k1 * grown(h) * h / (n + 1.0) - stored(h, h, k2, c)

    return lost_loading


def _lost_pulling(curve: Curve) -> Callable[..., float]:
    """Make the function that returns the loss of a contact at its largest pull if it were pulled apart [J]."""
    grown, overlap_of, n, stored = curve.grown, curve.overlap_of, curve.power, _stored(curve)

    def lost_pulling(h: float, k2: float, ka: float, c: Any) -> float:
        meets = overlap_of(k2 * grown(c.share * h) / (k2 + ka))
        return ka * grown(meets) * meets / (n + 1.0) + stored(meets, h, k2, c)

    return lost_pulling


def _elastic(curve: Curve) -> Callable[..., Any]:
    """Make the function of force [N], factor of stiffness, largest pull [N], history, and energy lost [J]."""
    grown, overlap_of, scale, factor = curve.grown, curve.overlap_of, curve.scale, curve.factor
    pull_stiffness, lost_loading, lost_pulling = (
        _pull_stiffness(curve), _lost_loading(curve), _lost_pulling(curve)
    )  # fmt: skip

    def elastic(
        overlap: float, radius: float, c: Any, history: tuple[float, ...]
    ) -> tuple[float, float, float, tuple[float, ...], float]:
        old, largest, k1 = history[0], max(history[1], overlap), c.modulus * scale(radius)
        k2 = k1 / (1.0 - c.plasticity)
        ka, h, x = pull_stiffness(largest, radius, k2, c), max(old, overlap), grown(overlap)
        force = k2 * (x - grown(c.share * h))
        pulls = force < -ka * x
        now = min(overlap_of((k2 + ka) * x / k2) / max(c.share, TINY), h) if pulls else h
        loaded = lost_loading(h, k1, k2, c) - lost_loading(old, k1, k2, c)
        pulled = lost_pulling(h, k2, ka, c) - lost_pulling(now, k2, ka, c)
        held, lost = ka * x + c.constant_pull, pulled if pulls else loaded
        return (
            max(force, -ka * x) - c.constant_pull,
            factor(overlap, radius),
            held,
            (now, largest, *history[2:]),
            lost,
        )

    return elastic


def _energy(curve: Curve) -> Callable[..., float]:
    """Make the function of the energy [J] of unloading; the energy of the constant pull is 0 at the touch."""
    scale, stored = curve.scale, _stored(curve)

    def energy(overlap: float, radius: float, c: Any, history: tuple[float, ...]) -> float:
        k2 = c.modulus * scale(radius) / (1.0 - c.plasticity)
        return float(stored(overlap, history[0], k2, c) - c.constant_pull * overlap)

    return energy


def _steepest(curve: Curve) -> Callable[..., float]:
    """Make the function of the stiffness of unloading from an overlap [N/m]."""
    factor = curve.factor

    def steepest(overlap: float, radius: float, c: Any) -> float:
        return float(c.modulus * factor(overlap, radius) / (1.0 - c.plasticity))

    return steepest


HERTZIAN = Curve(1.5, _grown, _overlap_of, _hertz_scale, _contact_radius)
STRAIGHT = Curve(1.0, _same, _same, _one, _always_one)


def _values(pair: Pair) -> tuple[float, ...]:
    plasticity = pair.keys["plasticity"]
    return (
        2.0 * pair.effective_modulus, plasticity, exact_math.power(plasticity, 2.0 / 3.0),
        1.5 * math.pi * pair.keys["work_of_adhesion"], pair.keys["constant_pull"],
    )  # fmt: skip


def _linear_values(pair: Pair) -> tuple[float, ...]:
    plasticity = pair.keys["plasticity"]
    return (
        pair.keys["normal_stiffness"], plasticity, plasticity, 1.5 * math.pi * pair.keys["work_of_adhesion"],
        pair.keys["constant_pull"],
    )  # fmt: skip


_KEYS = (
    Key("plasticity", "", "1 - k1 / k2: 0 is elastic, near 1 hardly anything comes back.", at_least=0.0, at_most=0.99),
    Key(
        "work_of_adhesion",
        "J/m2",
        "By which the largest pull grows with the plastic area; twice the surface energy of like materials.",
        default=0.0,
        required=False,
        at_least=0.0,
    ),
    Key(
        "constant_pull",
        "N",
        "By which the bodies always attract each other while they touch, P0.",
        default=0.0,
        required=False,
        at_least=0.0,
    ),
)
_STIFFNESS = Key("normal_stiffness", "N/m", "Force over overlap on the first loading, k1.", above=0.0)
_COEFFICIENTS = ("modulus", "plasticity", "share", "pull", "constant_pull")

EEPA = NormalPart(
    role="normal",
    model="eepa",
    text="Elastic spheres that become plastic, and the more adhesive the harder they were pressed.",
    keys=_KEYS,
    coefficients=_COEFFICIENTS,
    values=_values,
    history=(PLASTIC_OVERLAP, LARGEST_OVERLAP),
    energies=(PLASTIC,),
    damped=damped_as_hertz,
    elastic=_elastic(HERTZIAN),
    energy=_energy(HERTZIAN),
    steepest=_steepest(HERTZIAN),
    power=1.5,
    onset=0.8,
    from_materials=True,
)
"""``share`` is the plastic overlap over h, ``pull`` 3/2 pi w."""

EEPA_LINEAR = NormalPart(
    role="normal",
    model="eepa-linear",
    text="Plastic springs, the more adhesive the harder they were pressed.",
    keys=(_STIFFNESS, *_KEYS),
    coefficients=_COEFFICIENTS,
    values=_linear_values,
    history=(PLASTIC_OVERLAP, LARGEST_OVERLAP),
    energies=(PLASTIC,),
    damped=damped_as_spring,
    elastic=_elastic(STRAIGHT),
    energy=_energy(STRAIGHT),
    steepest=_steepest(STRAIGHT),
    power=1.0,
    onset=1.0,
)
