"""Rolling resistance without memory: a torque ``mu R N`` against the relative rotation.

Type A of Wensrich and Katterfeld, Powder Technology 217 (2012) 409. Near rest it is limited, so that it removes at most
a tenth of the rotation in a step: particles stop instead of chattering. A heap therefore creeps, in contrast to the
rolling spring (`pdem.contact.law.kinds.rolling_spring`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.contact.law.parts import Energy, Key, ResistancePart

if TYPE_CHECKING:
    from pdem.contact.law.parts import Pair

ROLLING_SHARE = 0.1
"""Part of the relative rotation that the resistance may take away in one step."""


def _values(pair: Pair) -> tuple[float]:
    return (pair.keys["friction"],)


CONSTANT_TORQUE = ResistancePart(
    role="rolling",
    model="constant-torque",
    text="A torque against the relative rotation, of the same size whenever it rolls.",
    keys=(Key("friction", "", "Largest torque over normal force and effective radius.", at_least=0.0),),
    coefficients=("friction",),
    values=_values,
    energies=(Energy("rolling", "rolling", "rolling"),),
)
"""Evaluated together with Coulomb's limit (`pdem.contact.law.limits`), with which it shares a division."""
