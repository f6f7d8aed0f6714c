"""Base class of the sections of a case, and the types of their values."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

BRANCH = "|"
"""First letter of the tag of a branch of a union: distinguishes tags from keys in the location of an error."""


class Section(BaseModel):
    """A table of the case file: unknown keys, wrong types and non-finite numbers are refused."""

    # with `defer_build` a section is compiled when it is read, or as part of the one that holds it, and not twice
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True)

    branch: ClassVar[str] = ""
    """Tag of this section as a branch of a union, else empty."""


Vector = Annotated[tuple[float, float, float], Field(strict=False)]
"""Three finite numbers (a TOML list)."""

Flags = Annotated[tuple[bool, bool, bool], Field(strict=False)]
"""Three booleans."""

Positive = Annotated[float, Field(gt=0.0)]
NotNegative = Annotated[float, Field(ge=0.0)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Name = Annotated[str, Field(min_length=1)]


def _auto_or_value(value: Any) -> str:
    return f"{BRANCH}auto" if isinstance(value, str) else f"{BRANCH}value"


AutoOrNotNegative = Annotated[
    Annotated[NotNegative, Tag(f"{BRANCH}value")] | Annotated[Literal["auto"], Tag(f"{BRANCH}auto")],
    Discriminator(_auto_or_value),
]
AutoOrPositive = Annotated[
    Annotated[Positive, Tag(f"{BRANCH}value")] | Annotated[Literal["auto"], Tag(f"{BRANCH}auto")],
    Discriminator(_auto_or_value),
]
AutoOrCount = Annotated[
    Annotated[Annotated[int, Field(ge=1, le=64)], Tag(f"{BRANCH}value")]
    | Annotated[Literal["auto"], Tag(f"{BRANCH}auto")],
    Discriminator(_auto_or_value),
]
AutoOrSizes = Annotated[
    Annotated[Annotated[tuple[Positive, ...], Field(strict=False, min_length=1)], Tag(f"{BRANCH}value")]
    | Annotated[Literal["auto"], Tag(f"{BRANCH}auto")],
    Discriminator(_auto_or_value),
]
