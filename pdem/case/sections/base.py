"""Base class of the sections of a case, and the types of their values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar, dataclass_transform, overload

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic.config import JsonDict

Value = TypeVar("Value")

BRANCH = "|"
"""First letter of the tag of a branch of a union: distinguishes tags from keys in the location of an error."""


FOLLOWS = "follows"
"""Mark of keys that a file may leave out because they follow from other keys before the case is read."""


@overload
def entry(text: str = ..., *, unit: str = ..., follows: bool = ...) -> Any: ...
@overload
def entry(text: str = ..., *, default: Value, unit: str = ...) -> Value: ...
@overload
def entry(text: str = ..., *, default_factory: Callable[[], Value], unit: str = ...) -> Value: ...
def entry(text: str = "", *, unit: str = "", follows: bool = False, **default: Any) -> Any:
    """Return a key of a section, with its texts for ``pdem explain``, the reference and the schema.

    Parameters
    ----------
    text : str
        Meaning of the key, with code between backticks. If it is empty, the text of the same key in a base class
        applies, or else the first paragraph of the docstring of the section is sufficient.
    unit : str
        SI unit of its numbers; several units are joined by " or ". Empty for numbers without a unit and for other
        types.
    follows : bool
        Whether a file may leave out a key without a default because it follows from other keys.
    **default : value
        ``default``, or ``default_factory``, which returns it. Without both the key is required, unless it follows.
    """
    extra: JsonDict = {**({"unit": unit} if unit else {}), **({FOLLOWS: True} if follows else {})}
    return Field(description=text or None, json_schema_extra=extra or None, **default)


@dataclass_transform(kw_only_default=True, field_specifiers=(Field, entry))
class Section(BaseModel):
    """A table of the case file: unknown keys, wrong types and non-finite numbers are errors."""

    # with `defer_build` a section is compiled once: when it is read, or as part of an enclosing section
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True)

    branch: ClassVar[str] = ""
    """Tag of this section as a branch of a union, else empty."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Move keys that a feature adds, by a base class that is no section, behind the keys of the section."""
        super().__pydantic_init_subclass__(**kwargs)
        keys = cls.model_fields
        added = [
            name for one in cls.__mro__ if not issubclass(one, Section) for name in getattr(one, "model_fields", ())
        ]
        for name in dict.fromkeys(added):
            keys[name] = keys.pop(name)


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


def flat_keys(key: str, value: Any) -> dict[str, Any]:
    """Return the values of nested tables and lists of tables by their full keys."""
    if isinstance(value, dict):
        inner = [(f"{key}.{name}" if key else str(name), one) for name, one in value.items()]
    elif isinstance(value, (list, tuple)) and any(isinstance(one, dict) for one in value):
        inner = [(f"{key}[{index}]", one) for index, one in enumerate(value)]
    else:
        return {key: list(value) if isinstance(value, tuple) else value}
    return {name: leaf for part, one in inner for name, leaf in flat_keys(part, one).items()}
