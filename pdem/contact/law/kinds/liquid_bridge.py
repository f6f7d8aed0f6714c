"""A liquid bridge between two wet spheres, or a sphere and a plane (pendular state).

With the surface tension sigma, the contact angle theta, the volume V of the bridge, the harmonic mean radius
R_h = 2 r1 r2 / (r1 + r2) (twice the radius at a plane) and the gap S between the surfaces:

``F = F0 / (1 + 1.05 s + 2.5 s^2)``, ``F0 = 2 pi R_h sigma cos(theta)``, ``s = S sqrt(R_h / V)``

(Willett, Adams, Johnson, Seville, Langmuir 16 (2000) 9396; other radii than equal ones by Derjaguin's approximation),
F0 while the spheres touch. A bridge forms at the touch and ruptures at ``S = (1 + theta / 2) V^(1/3)``, theta in rad
(Lian, Thornton, Adams, J. Colloid Interface Sci. 161 (1993) 138). Counted from the touch its energy is

``U = F0 sqrt(V / R_h) (2 / D) (atan((5 s + 1.05) / D) - atan(1.05 / D))``, ``D = sqrt(10 - 1.05^2)``,

and ``-F0 overlap`` while the spheres touch; what is stored at the rupture is lost.

The volume is a key of the case, or the liquid that both particles have carried to the contact
(`pdem.contact.law.carried_liquid`): then the volume is in the history, and a contact with 0 has no bridge.

The solids bear the external load and the pull of the bridge: frictions are proportional to the elastic force, and a
stretched bridge has neither friction nor damping. Viscous forces of the liquid are left out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pdem.contact.law.adhesion_part import AdhesionPart
from pdem.contact.law.kinds.jkr import cube_root
from pdem.contact.law.parts import TINY, Energy, HistoryColumn, Key
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pdem.contact.law.parts import Pair

LINEAR, QUADRATIC = 1.05, 2.5
"""Willett's coefficients of s and s^2."""

ROOT = math.sqrt(4.0 * QUADRATIC - LINEAR * LINEAR)
"""D of the energy: root of minus the discriminant of Willett's polynomial."""

PENDULAR = 0.03
"""Volume of a bridge, over the cube of the smaller radius, above which bridges of a bed merge with others."""

VOLUMES = ("volume", "relative_volume", "carried_volume")
"""Keys for the volume of a bridge, of which a case uses one."""

_TERMS = 9  # of the series, for the last digit


def arc_tangent(value: float) -> float:
    """Return the arc tangent of a number from 0 to 3, by three halvings of the angle and its series."""
    x = value
    for _ in range(3):
        x = x / (1.0 + math.sqrt(1.0 + x * x))
    square, total = x * x, 0.0
    for term in range(_TERMS, -1, -1):
        total = 1.0 / (2.0 * term + 1.0) - square * total
    return 8.0 * x * total


def volume_of(radius: float, c: Any, carried: float) -> float:
    """Return the volume [m^3] of the bridge of a pair of effective radius [m]; `carried` is its carried liquid."""
    cube = 8.0 * radius * radius * radius
    return c.volume + c.relative * cube + min(carried, c.most * cube)


def elastic(overlap: float, radius: float, c: Any, force: float, factor: float) -> tuple[float, float, float]:
    """Return the force [N], the factor of the stiffness, and the pull of the bridge [N]."""
    volume = volume_of(radius, c, c.carried)
    s = max(-overlap, 0.0) * math.sqrt(2.0 * radius / max(volume, TINY))
    pull = c.tension * radius / (1.0 + (LINEAR + QUADRATIC * s) * s) if volume > 0.0 else 0.0
    return force - pull, factor if overlap > 0.0 else 0.0, pull


def energy(overlap: float, radius: float, c: Any, elastic_energy: float) -> float:
    """Return the energy [J], 0 at the touch."""
    volume = volume_of(radius, c, c.carried)
    most, length = c.tension * radius if volume > 0.0 else 0.0, math.sqrt(0.5 * max(volume, TINY) / radius)
    s = max(-overlap, 0.0) / length
    # the difference of both arc tangents as one
    angle = arc_tangent(2.0 * QUADRATIC * s * ROOT / (4.0 * QUADRATIC + 2.0 * QUADRATIC * LINEAR * s))
    return elastic_energy - most * max(overlap, 0.0) + most * length * (2.0 / ROOT) * angle


def gap(radius: float, c: Any) -> float:
    """Return the gap of rupture of the bridge [m]; 0 without a bridge."""
    volume = volume_of(radius, c, c.carried)
    return c.stretch * cube_root(max(volume, TINY)) if volume > 0.0 else 0.0


def _values(pair: Pair) -> tuple[float, ...]:
    keys, angle = pair.keys, math.radians(pair.keys["contact_angle"])
    volumes = (float(keys[name] or 0.0) for name in VOLUMES)
    return 4.0 * math.pi * keys["surface_tension"] * exact_math.cos(angle), 1.0 + 0.5 * angle, *volumes, 0.0


def _rule(keys: Mapping[str, Any]) -> str:
    if sum(keys[name] is not None for name in VOLUMES) != 1:
        return f"must have one of {', '.join(VOLUMES)}, and only one"
    return ""


LIQUID_BRIDGE = AdhesionPart(
    role="adhesion",
    model="liquid-bridge",
    text="A bridge of liquid, which forms at the touch and lasts until it ruptures.",
    keys=(
        Key("surface_tension", "N/m", "Of the liquid: 0.072 of water.", above=0.0),
        Key("contact_angle", "degrees", "Of the liquid on both materials, below 90.", at_least=0.0, below=90.0),
        Key("volume", "m3", "Of each bridge.", required=False, above=0.0),
        Key(
            "relative_volume",
            "",
            "Of each bridge, over the cube of the harmonic mean of both radii (at a wall: of twice the radius).",
            required=False,
            above=0.0,
        ),
        Key(
            "carried_volume",
            "",
            "Largest volume of a bridge, over the same cube, of the liquid that particles carry: see their key liquid.",
            required=False,
            above=0.0,
        ),
    ),
    coefficients=("tension", "stretch", "volume", "relative", "most", "carried"),
    values=_values,
    history=(HistoryColumn("bridge_volume", "m3"),),
    remembered=("carried",),
    energies=(Energy("adhesion", None, "adhesion"),),
    elastic=elastic,
    energy=energy,
    gap=gap,
    normal=("hertz", "linear"),
    rule=_rule,
)
"""``tension`` is F0 over the effective radius, ``stretch`` the gap of rupture over the cube root of the volume,
``most`` the limit of carried liquid in a bridge over the cube of the harmonic mean radius; ``carried`` is the volume in
the history [m^3]: 0 in a new contact, negative in a dry one."""
