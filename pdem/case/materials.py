"""The materials of a case, and what happens where two of them meet."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from pdem.case.base import NotNegative, Positive, Section


class Material(Section):
    """``[materials.NAME]``: what particles and walls are made of.

    Attributes
    ----------
    density : float or None
        In kg/m^3; needed by particles, walls have none.
    youngs_modulus : float or None
        In Pa; a wall without it is rigid (infinite modulus).
    poisson_ratio : float or None
        In (-1, 0.5); needed together with `youngs_modulus`.
    """

    density: Positive | None = None
    youngs_modulus: Positive | None = None
    poisson_ratio: Annotated[float, Field(gt=-1.0, lt=0.5)] | None = None

    @property
    def rigid(self) -> bool:
        """Whether it does not deform at all."""
        return self.youngs_modulus is None


class Interaction(Section):
    """``[interactions.A-B]``: the contact law of two materials, in either order.

    Attributes
    ----------
    law : {"hertz-mindlin", "linear"}
        Elastic spheres (stiffness from the materials), or a linear spring and dashpot.
    friction : float
        Coefficient of Coulomb friction.
    restitution : float
        Rebound speed over impact speed of a binary normal impact, in (0, 1].
    rolling_friction : float
        Resisting moment over normal force and rolling radius.
    normal_stiffness : float or None
        Linear law only, where it is needed: in N/m.
    tangential_ratio : float or None
        Linear law only: tangential over normal stiffness; 2/7 unless given, which makes the tangential
        oscillation of a sphere as slow as its normal impact.
    """

    law: Literal["hertz-mindlin", "linear"] = "hertz-mindlin"
    friction: NotNegative
    restitution: Annotated[float, Field(gt=0.0, le=1.0)]
    rolling_friction: NotNegative = 0.0
    normal_stiffness: Positive | None = None
    tangential_ratio: Positive | None = None

    @model_validator(mode="before")
    @classmethod
    def _default_ratio(cls, table: Any) -> Any:
        if isinstance(table, dict) and table.get("law") == "linear" and "tangential_ratio" not in table:
            return {**table, "tangential_ratio": 2.0 / 7.0}
        return table


def split_pair(key: str, materials: dict[str, Material]) -> list[tuple[str, str]]:
    """Return every way to read `key` as two names of `materials` joined by a hyphen.

    Names may hold hyphens themselves, so there can be none, one or several.
    """
    cuts = [index for index, letter in enumerate(key) if letter == "-"]
    pairs = [(key[:cut], key[cut + 1 :]) for cut in cuts]
    return [pair for pair in pairs if pair[0] in materials and pair[1] in materials]
