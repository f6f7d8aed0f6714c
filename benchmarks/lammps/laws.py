"""The contact law of a benchmark case, described for other codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.benchmark.cases import SkipCase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pdem.contact.law.contact_law import ContactLaw
    from pdem.contact.law.parts import ResistancePart
    from pdem.foundation.array_types import Floats


class SpringSlider(NamedTuple):
    """A spring, a dashpot and a slider (SDS): stiffness, damping, and friction over the effective radius.

    Stiffness and damping are values of pdem's keys: for rolling in N/m and N s/m, for twisting in N m/rad and N m
    s/rad.
    """

    stiffness: float
    damping: float
    friction: float


@dataclass(frozen=True)
class Law:
    """Coefficients of Hertz and Mindlin between two bodies, as in `pdem.contact.law.pair_table`.

    Attributes
    ----------
    stiffness : float
        2 E* [Pa]: normal stiffness over the contact radius.
    tangential_ratio : float
        Tangential over normal stiffness.
    damping : float
        gamma in the damping coefficient ``2 gamma sqrt(mass * normal stiffness)``.
    friction : float
        Coulomb's coefficient.
    work_of_adhesion : float
        Of JKR, in which a contact ends at its largest pull [J/m^2]; 0 without adhesion.
    rolling, twisting : SpringSlider, str or None
        Resistances; "marshall" is Marshall's model of twisting.
    """

    stiffness: float
    tangential_ratio: float
    damping: float
    friction: float
    work_of_adhesion: float = 0.0
    rolling: SpringSlider | None = None
    twisting: SpringSlider | str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the law is Hertz and Mindlin alone."""
        return self.work_of_adhesion == 0.0 and self.rolling is None and self.twisting is None


def law_of(law: ContactLaw, row: Floats) -> Law:
    """Return a law with the coefficients of one pair of materials.

    Parameters
    ----------
    law : ContactLaw
        The law of the case.
    row : (k,) array
        Its coefficients, a row of the table of pairs.

    Raises
    ------
    SkipCase
        If other codes do not have this law.
    """
    values = dict(zip(law.coefficients, row.tolist(), strict=True))
    adhesions = {part.model for part in law.adhesions}
    normals = {normal.model for normal, _ in law.elastics}
    if normals != {"hertz"} or not adhesions <= {"jkr"} or law.has("slips"):
        raise SkipCase(
            "peers are given Hertz and Mindlin's law with one friction, JKR, sds and Marshall's twisting only"
        )
    modulus, ratio, damping, friction = (
        values.get(name, 0.0) for name in ("modulus", "tangential.ratio", "damping", "tangential.friction")
    )
    parts = {part.role: _resistance(part, values) for part in law.resistances}
    rolling = parts.get("rolling")
    assert not isinstance(rolling, str)
    work = values.get("jkr.pull", 0.0) / (1.5 * np.pi)
    return Law(modulus, ratio, damping, friction, work, rolling, parts.get("twisting"))


def _resistance(part: ResistancePart, values: Mapping[str, float]) -> SpringSlider | str:
    if part.model == "marshall":
        return part.model
    prefix = "sds" if part.role == "rolling" else "twisting-sds"
    if part.model != "sds" or values.get(f"{prefix}.torque_stiffness") or values.get(f"{prefix}.torque_damping"):
        raise SkipCase("peers are given rolling and twisting sds with stiffness and damping, and Marshall's twisting")
    return SpringSlider(*(values[f"{prefix}.{name}"] for name in ("stiffness", "damping", "friction")))
