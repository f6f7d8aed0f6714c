"""The materials of a case, and the interactions of their pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from pdem.case.sections.base import NotNegative, Positive, Section, entry
from pdem.case.sections.breakage import MaterialBreakage
from pdem.case.sections.thermal import MaterialHeat
from pdem.contact.law.models import LAWS

if TYPE_CHECKING:
    from collections.abc import Mapping


class Material(MaterialHeat, MaterialBreakage, Section):
    """``[materials.NAME]``: a material of particles and walls."""

    density: Positive | None = entry("Density in kg/m^3; needed for particles only.", default=None, unit="kg/m^3")
    youngs_modulus: Positive | None = entry(
        "Young's modulus in Pa; a wall without it is rigid (infinite modulus).", default=None, unit="Pa"
    )
    poisson_ratio: Annotated[float, Field(gt=-1.0, lt=0.5)] | None = entry(
        "Poisson's ratio, in (-1, 0.5); needed together with `youngs_modulus`.", default=None
    )
    friction: NotNegative | None = entry(
        "Coefficient of Coulomb friction from which interactions that give none compute theirs, see "
        "`interactions.mixing`.",
        default=None,
    )
    restitution: Annotated[float, Field(gt=0.0, le=1.0)] | None = entry(
        "Coefficient of restitution, in (0, 1], used in the same way as `friction`.", default=None
    )

    @property
    def rigid(self) -> bool:
        """Whether the material is rigid: without elastic constants."""
        return self.youngs_modulus is None


class Interaction(Section):
    """``[interactions.A-B]``: the contact law of two materials, in either order.

    ``[interactions.default]`` is the law of all pairs without an entry of their own.

    Laws of users declare further keys.
    """

    model_config = ConfigDict(extra="allow")

    law: str = entry(
        '`"hertz-mindlin"`, elastic spheres with stiffness from the materials; `"linear"`, a linear spring and '
        'dashpot; `"viscoelastic"`, elastic spheres whose restitution falls with the impact speed; '
        '`"walton-braun"`, `"luding"`, `"eepa"`, `"eepa-linear"`, plastic ones; the name of a law made by '
        '`pdem.contact_law` in a script; or `"python:FILE.py:NAME"`, one in a file.',
        default="hertz-mindlin",
    )
    friction: NotNegative = entry(
        "Coefficient of Coulomb friction; unless given it follows from those of both materials by `mixing`.",
        follows=True,
    )
    restitution: Annotated[float, Field(gt=0.0, le=1.0)] = entry(
        "Rebound speed over impact speed of a binary normal impact without adhesion, in (0, 1]; unless given it "
        "follows from those of both materials by `mixing`. Viscoelastic spheres do not use it; with "
        '`"luding"` and `"eepa"` it sets the damping in addition to the plastic losses.',
        follows=True,
    )
    mixing: Literal["geometric", "arithmetic", "harmonic", "min"] = entry(
        "How constants that the interaction does not give follow from those of its materials: the geometric, "
        "arithmetic or harmonic mean, or the smaller value.",
        default="geometric",
    )
    rolling_friction: NotNegative = entry(
        'Resisting moment over normal force and rolling radius: short for `rolling = {model = "constant-torque", '
        "friction = ...}`.",
        default=0.0,
    )
    rolling: dict[str, Any] | None = entry("Resistance to rolling: a table with a `model` and its keys.", default=None)
    twisting: dict[str, Any] | None = entry(
        "Resistance to twisting about the normal: a table with a `model` and its keys.", default=None
    )
    adhesion: dict[str, Any] | None = entry(
        "Attraction, dry or by liquid bridges: a table with a `model` and its keys.", default=None
    )
    normal_stiffness: Positive | None = entry(
        "Laws with linear springs only, where it is required: stiffness of loading in N/m.", default=None, unit="N/m"
    )
    tangential_ratio: Positive | None = entry(
        "Laws with linear springs only: tangential over normal stiffness; by default 2/7, for which the tangential "
        "oscillation of a sphere takes as long as its normal impact.",
        default=None,
    )

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_law(cls, table: Any) -> Any:
        model = LAWS.get(str(table.get("law"))) if isinstance(table, dict) else None
        if model is None:
            return table
        defaults: dict[str, Any] = {} if model.normal.has_restitution else {"restitution": 1.0}
        if "tangential_ratio" in model.keys:
            defaults["tangential_ratio"] = model.keys["tangential_ratio"].default
        return {**defaults, **table}

    @property
    def from_materials(self) -> bool:
        """Whether stiffness follows from elastic constants of the materials; False for laws in files."""
        model = LAWS.get(self.law)
        return model is not None and model.normal.from_materials

    @property
    def law_keys(self) -> dict[str, Any]:
        """The keys that belong to its law, by name."""
        given = {"normal_stiffness": self.normal_stiffness, "tangential_ratio": self.tangential_ratio}
        own = {name: value for name, value in given.items() if value is not None}
        return {**own, **(self.model_extra or {})}

    @property
    def parts(self) -> dict[str, dict[str, Any]]:
        """The tables of further parts, by role, including the table that `rolling_friction` abbreviates."""
        tables = {"rolling": self.rolling, "twisting": self.twisting, "adhesion": self.adhesion}
        found = {role: table for role, table in tables.items() if table is not None}
        if self.rolling_friction and self.rolling is None:
            found["rolling"] = {"model": "constant-torque", "friction": self.rolling_friction}
        return found


LAW_KEYS = ("law", "friction", "restitution", "mixing", "rolling_friction", "rolling", "twisting", "adhesion")
"""Keys of every interaction."""


def split_pair(key: str, materials: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return all readings of `key` as two names of `materials` joined by a hyphen.

    Names may contain hyphens themselves, so there can be no reading, one, or several.
    """
    cuts = [index for index, letter in enumerate(key) if letter == "-"]
    pairs = [(key[:cut], key[cut + 1 :]) for cut in cuts]
    return [pair for pair in pairs if pair[0] in materials and pair[1] in materials]
