"""Locations of keys in the sections of a file: the section at a location, and all locations of a key."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from pdem.case.explain.key_examples import is_named
from pdem.case.explain.key_texts import models_in
from pdem.case.sections.base import BRANCH
from pdem.case.sections.units import UnitSection

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    Models = list[type[BaseModel]]
    Field = tuple[type[BaseModel], str]

CHOSEN = "NAME"
"""Placeholder for a name that the user chooses."""

_DEEPEST = 6


class KeyPlace(NamedTuple):
    """A location in a file.

    Attributes
    ----------
    way : tuple of (section, key)
        Pairs for the keys that lead to this location, without names that the user chooses and numbers of entries.
    fields : list of (section, key)
        Candidates for the last key, which may belong to several kinds of a table.
    models : list of sections
        Sections that this location may contain.
    chosen : str
        The last part if it is a name that the user chooses.
    is_entry : bool
        Whether the last part is the number of an entry of a list.
    """

    way: tuple[Field, ...]
    fields: list[Field]
    models: Models
    chosen: str = ""
    is_entry: bool = False

    @property
    def field(self) -> FieldInfo | None:
        """The last key; None at the top."""
        return self.fields[0][0].model_fields[self.fields[0][1]] if self.fields else None

    @property
    def keys(self) -> list[str]:
        """All keys that are allowed in a table at this location."""
        return list(dict.fromkeys(name for model in self.models for name in model.model_fields))


def place_of(root: type[BaseModel], location: Sequence[str | int]) -> KeyPlace:
    """Return the location of a validation error, which includes tags of branches."""
    place = KeyPlace((), [], [root])
    for part in location:
        place = _step(place, part)
    return place


def _step(place: KeyPlace, part: str | int) -> KeyPlace:
    """Return the location one part deeper."""
    if isinstance(part, int):
        return place._replace(chosen="", is_entry=True)
    if part.startswith(BRANCH):
        return place._replace(models=_of_branch(place.models, part))
    if place.fields and not place.chosen and not place.is_entry and is_named(*place.fields[-1]):
        return place._replace(chosen=part)
    owners = [model for model in place.models if part in model.model_fields]
    if not owners:
        return place._replace(models=[])
    fields = [(owner, part) for owner in owners]
    models = [inner for owner in owners for inner in models_in(owner.model_fields[part])]
    return KeyPlace((*place.way, fields[0]), fields, list(dict.fromkeys(models)))


def _of_branch(models: Models, tag: str) -> Models:
    """Return the sections of a branch; all sections if no branch has this tag."""
    return [model for model in models if getattr(model, "branch", "") == tag] or models


@lru_cache(maxsize=8)
def all_keys(root: type[BaseModel]) -> dict[str, tuple[Field, ...]]:
    """Return the section and name of every key of a file, by the full key, short ones first.

    Names that the user chooses are `CHOSEN`; entries of lists have no number.
    """
    found: dict[str, list[Field]] = {}
    for key, field in _walk(root, "", 0, ()):
        found.setdefault(key, []).append(field)
    ordered = sorted(found, key=lambda key: key.replace(f".{CHOSEN}", "").count("."))
    return {key: tuple(dict.fromkeys(found[key])) for key in ordered}


def _walk(
    model: type[BaseModel], before: str, depth: int, within: tuple[type[BaseModel], ...]
) -> Iterator[tuple[str, Field]]:
    for name, field in model.model_fields.items():
        yield before + name, (model, name)
        key = f"{before}{name}.{CHOSEN}" if is_named(model, name) else before + name
        for inner in dict.fromkeys(models_in(field)):
            if depth < _DEEPEST and inner not in within and not issubclass(inner, UnitSection):
                yield from _walk(inner, f"{key}.", depth + 1, (*within, inner))


def places_of_key(root: type[BaseModel], name: str) -> list[str]:
    """Return the full keys that end with a key, the shortest first."""
    return [key for key in all_keys(root) if key.endswith(f".{name}") or key == name]
