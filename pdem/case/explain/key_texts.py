"""Texts about the keys of a case file from fields and their types, for ``pdem explain`` and the reference pages."""

from __future__ import annotations

import inspect
import re
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from pdem.case.sections.base import BRANCH
from pdem.case.sections.units import UnitSection

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic.fields import FieldInfo

_WORDS = {Any: "any value", float: "number", int: "whole number", str: "text", bool: "true or false", dict: "table"}
LIMITS = {"gt": "greater than", "ge": "at least", "lt": "less than", "le": "at most"}
"""Words for limits of numbers."""

REQUIRED, NO_DEFAULT = "none: it has to be given, or follows from other keys", "nothing"
"""Texts in place of a default for a required key, and for a key without a default."""


def models_in(field: FieldInfo) -> Iterator[type[BaseModel]]:
    """Yield the sections that a field may hold."""

    def within(annotation: Any) -> Iterator[type[BaseModel]]:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield annotation
        for argument in get_args(annotation):
            yield from within(argument)

    yield from within(field.annotation)
    for item in field.metadata:
        yield from within(item)


def lists_of(model: type[BaseModel]) -> list[str]:
    """Return the keys of a section that hold lists of tables, ``[[NAME]]`` in a file."""
    return [
        name
        for name, field in model.model_fields.items()
        if get_origin(field.annotation) is tuple and any(True for _ in models_in(field))
    ]


def meaning_of(owner: type[BaseModel], name: str) -> str:
    """Return the meaning of a key; without a text, the first paragraph of the docstring of its section."""
    return _said(owner, name, "description") or summary_of(owner)


def units_of(owner: type[BaseModel], name: str) -> list[str]:
    """Return the units of the numbers of a key; several units if further keys decide on the unit."""
    unit = (_said(owner, name, "json_schema_extra") or {}).get("unit", "")
    return unit.split(" or ") if unit else []


def _said(owner: type[BaseModel], name: str, attribute: str) -> Any:
    """Return an attribute of the field of a key, or of the same key in a base class; None if neither has it."""
    fields = (model.model_fields.get(name) for model in owner.__mro__ if issubclass(model, BaseModel))
    return next((said for field in fields if (said := getattr(field, attribute, None))), None)


def summary_of(model: type[BaseModel]) -> str:
    """Return the first paragraph of the docstring of a section; code is between backticks."""
    return " ".join((inspect.getdoc(model) or "").split("\n\n")[0].replace("``", "`").split())


def text_of(model: type[BaseModel], name: str) -> str:
    """Return the text on a key; if the text of the section already covers the key, its type."""
    meaning = meaning_of(model, name)
    if meaning == summary_of(model):
        field = model.model_fields[name]
        return kind_of(field.annotation, field.metadata)
    return meaning


def first_sentence(model: type[BaseModel], name: str) -> str:
    """Return the first sentence on a key; if the text of the section already covers the key, its type."""
    return re.split(r"(?<=[a-z)])\. ", text_of(model, name))[0]


def kind_of(annotation: Any, metadata: Sequence[Any] = ()) -> str:
    """Return the type of a value in words, with its limits."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    limits = [
        f"{word} {value:g}"
        for item in metadata
        for one in (item, *getattr(item, "metadata", ()))
        for key, word in LIMITS.items()
        if isinstance(value := getattr(one, key, None), (int, float))
    ]
    if origin is Annotated:
        return kind_of(arguments[0], [*arguments[1:], *metadata])
    if origin is Literal:
        return " or ".join(map(written, arguments))
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(kind_of(one) for one in arguments if one is not NoneType))
    if origin is tuple:
        many = "list of any number" if arguments[-1:] == (Ellipsis,) else f"list of {len(arguments)}"
        return f"{many}: {kind_of(arguments[0])}"
    if origin is dict:
        return "tables by name" if arguments[1] is not Any else "table"
    if isinstance(annotation, type) and issubclass(annotation, UnitSection):
        inner = annotation.model_fields[annotation.unit]
        return f"{{{annotation.unit} = {kind_of(inner.annotation, inner.metadata)}}}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        tag = str(getattr(annotation, "branch", "")).removeprefix(BRANCH)
        return f"table ({tag})" if tag else "table"
    return " ".join([_WORDS.get(annotation, str(annotation)), *dict.fromkeys(limits)])


def default_text(field: FieldInfo) -> str:
    """Return the default of a key in words."""
    if field.is_required():
        return REQUIRED
    if field.default_factory is not None or field.default is None or field.default == ():
        return NO_DEFAULT
    return "the defaults of its keys" if isinstance(field.default, BaseModel) else written(field.default)


def written(value: Any) -> str:
    """Return a value in the notation of a case file."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    return f"[{', '.join(map(written, value))}]" if isinstance(value, tuple) else f"{value}"


def plain(text: str) -> str:
    """Return a text without backticks."""
    return text.replace("`", "")
