"""The required form of the value of a key: kind, number of entries, unit, and an example of ``pdem new``."""

from __future__ import annotations

import tomllib
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from pdem.case.explain.example_texts import example_groups, example_text
from pdem.case.explain.key_examples import is_named
from pdem.case.explain.key_texts import units_of
from pdem.case.messages import shown_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.case.hints.key_places import Field, KeyPlace

_NUMBER_WORDS = {1: "one", 2: "two", 3: "three", 4: "four", 6: "six"}
_LONGEST_EXAMPLE = 90
_FLAGS = "values, each true or false"


def list_form(place: KeyPlace) -> str:
    """Return the form of a key with a list, for example ``three numbers [x, y, z] in m``."""
    kind = _tuple_in(None if place.field is None else place.field.annotation)
    entries, count = _entries(kind, place)
    unit, example = unit_of(place), example_of_kind(place, list)
    if _is_table(entries):
        return _tables_form(place)
    words = _kind_words(entries, place)
    form = f"a list of {words}" if count is None else f"{_NUMBER_WORDS.get(count, count)} {words}"
    form += " [x, y, z]" if count == 3 and words == "numbers" else ""
    made = {"numbers": "[0.0, 0.0, 1.0]", _FLAGS: "[true, false, false]"} if count == 3 else {}
    shown = example or made.get(words, "")
    return f"{form}{f' in {unit}' if unit else ''}{f', for example {shown}' if shown else ''}"


def fixed_length(place: KeyPlace) -> int | None:
    """Return the fixed number of entries of a key's list, or of a list within it; None if the number is not fixed."""
    kind = _tuple_in(None if place.field is None else place.field.annotation)
    inner = _entries(kind, place)[0]
    return len(get_args(inner)) if place.is_entry and get_origin(inner) is tuple else _entries(kind, place)[1]


def _tables_form(place: KeyPlace) -> str:
    """Return the form of a list of tables: separate sections at the top of a file, else a list in one line."""
    name = place.way[-1][1]
    if len(place.way) == 1:
        return f"tables, each below [[{name}]] with two brackets: there may be several"
    example = example_of_kind(place, list)
    return f"a list of tables{f', for example {example}' if example else f': {name} = [{{...}}, {{...}}]'}"


def table_form(place: KeyPlace) -> str:
    """Return the form of a key with a table, and an example."""
    name = place.chosen or (place.way[-1][1] if place.way else "")
    example = example_of_kind(place, dict) or _made_example(place)
    return f"a table{f', for example {name} = {example}' if example and name else ''}"


def number_form(place: KeyPlace, *, whole: bool = False) -> str:
    """Return the form of a key with a number."""
    unit = unit_of(place)
    return f"a {'whole ' if whole else ''}number{f' in {unit}' if unit else ''}"


def unit_of(place: KeyPlace) -> str:
    """Return the unit of the numbers of a key; empty if they have no unit."""
    return " or ".join(dict.fromkeys(unit for field in place.fields for unit in units_of(*field)))


def example_of_kind(place: KeyPlace, kind: type) -> str:
    """Return the first value of a kind at a location in the examples; empty if there is none."""
    if not place.way or (place.is_entry and kind is list):
        return ""
    found = [
        shown_value(value, _LONGEST_EXAMPLE)
        for document in _documents()
        for value in _values(document, place.way)
        if isinstance(value, kind) and value
    ]
    return next((text for text in found if not text.endswith("...")), "")


def _made_example(place: KeyPlace) -> str:
    """Return a table with the required keys."""
    model = place.models[0] if place.models else None
    if model is None:
        return ""
    names = list(model.model_fields)
    needed = [name for name, field in model.model_fields.items() if field.is_required()]
    needed = needed or names[: 2 if names[0] == "times" else 1]
    return f"{{{', '.join(f'{name} = ...' for name in needed)}}}"


@cache
def _documents() -> list[dict[str, Any]]:
    """Return the example cases in a good order for reading."""
    names = [name for group in example_groups().values() for name in group]
    return [tomllib.loads(example_text(name)) for name in names]


def _values(document: Any, way: Sequence[Field]) -> Iterator[Any]:
    """Yield all values of a document along a path of keys, in any entry of lists and below any chosen name."""
    if not way:
        yield document
        return
    (owner, name), rest = way[0], way[1:]
    for table in document if isinstance(document, list) else [document]:
        if not isinstance(table, dict) or name not in table:
            continue
        value = table[name]
        chosen = is_named(owner, name) and isinstance(value, dict)
        for one in value.values() if chosen else [value]:
            yield from _values(one, rest)


def _tuple_in(annotation: Any) -> Any:
    """Return the first list type within a type; None without a list type."""
    if get_origin(annotation) is tuple:
        return annotation
    return next((one for part in get_args(annotation) if (one := _tuple_in(part)) is not None), None)


def _entries(kind: Any, place: KeyPlace) -> tuple[Any, int | None]:
    """Return the type of the entries of a list type, and their number if it is fixed."""
    arguments = get_args(kind)
    if not arguments:
        return Any, None
    first = arguments[0]
    least, most = _lengths(place)
    if arguments[-1] is Ellipsis:
        return _plain(first), least if least is not None and least == most else None
    return _plain(first), len(arguments)


def _lengths(place: KeyPlace) -> tuple[int | None, int | None]:
    """Return the least and the largest number of entries of a key."""
    metadata = [] if place.field is None else place.field.metadata
    found = {
        name: value
        for item in metadata
        for name in ("min_length", "max_length")
        if (value := getattr(item, name, None))
    }
    return found.get("min_length"), found.get("max_length")


def _is_table(annotation: Any) -> bool:
    """Return whether a type is that of a table, or of one of several kinds of tables."""
    if isinstance(annotation, type):
        return issubclass(annotation, BaseModel)
    branches = [_plain(one) for one in get_args(annotation)] if get_origin(annotation) in (Union, UnionType) else []
    return bool(branches) and all(map(_is_table, branches))


def _plain(annotation: Any) -> Any:
    return _plain(get_args(annotation)[0]) if get_origin(annotation) is Annotated else annotation


def _kind_words(entries: Any, place: KeyPlace) -> str:
    """Return the entries of a list in words."""
    if get_origin(entries) is tuple:
        return "points, each [x, y, z]" if len(get_args(entries)) == 3 else "lists of numbers"
    if get_origin(entries) is Literal:
        return f"these words: {', '.join(map(shown_value, get_args(entries)))}"
    return {float: "numbers", int: "whole numbers", bool: _FLAGS, str: "texts in quotes"}.get(entries, "values")
