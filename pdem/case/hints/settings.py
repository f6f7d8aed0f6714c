"""Keys that a setting such as ``rotation.rate=3`` may mean, if its key does not exist."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, cast

from pdem.case.hints.key_places import CHOSEN, all_keys
from pdem.case.hints.suggestions import foreign_key
from pdem.case.sections.units import UNIT_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic import BaseModel

_SHOWN = 4
_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")

Way = tuple[str | int, ...]


def meant_settings(root: type[BaseModel], document: dict[str, Any], parts: Sequence[str]) -> str:
    """Return the keys of a case that end with the parts of a setting; empty if there are none.

    Parameters
    ----------
    root : type of BaseModel
        Sections of the case.
    document : dict
        The case, parsed.
    parts : sequence of str
        Parts of the key, with or without numbers and names of entries.
    """
    ways = list(dict.fromkeys(_meant(root, document, list(parts))))
    if not ways:
        return ""
    texts = [_shown(document, way) for way in ways]
    more = f" or {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return f"did you mean {' or '.join(texts[:_SHOWN])}{more}?"


def _meant(root: type[BaseModel], document: dict[str, Any], parts: list[str]) -> Iterator[Way]:
    """Yield the paths of keys that a setting may mean: keys of the case, or else keys that are allowed in it."""
    there = [way for way in _ways(document, ()) if _ends_with(document, way, parts)]
    if there:
        yield from sorted(there, key=len)
        return
    ways = [way for key in _keys_like(root, document, parts) for way in _filled(document, key.split("."), ())]
    named = [part for part in parts if part in _entry_names(document)]
    yield from (way for way in ways if all(name in _names_along(document, way) for name in named))
    if parts[-1] in UNIT_KEYS and not ways:
        yield from ((*way, parts[-1]) for way in _meant(root, document, parts[:-1]))


def _keys_like(root: type[BaseModel], document: dict[str, Any], parts: list[str]) -> list[str]:
    """Return the keys of the sections that end with the parts of a setting, or that its only part means."""
    wanted = [part for part in _plain_parts(parts) if part not in _entry_names(document)]
    keys = [key for key in all_keys(root) if wanted and _plain_parts(key.split("."))[-len(wanted) :] == wanted]
    if keys or len(wanted) != 1:
        return keys
    names = list(dict.fromkeys(key.rpartition(".")[2] for key in all_keys(root)))
    foreign = foreign_key(wanted[0], names)
    return [key for key in all_keys(root) if foreign is not None and key.rpartition(".")[2] == foreign.key]


def _entry_names(document: dict[str, Any]) -> set[str]:
    """Return the names of all entries of lists at the top of a document."""
    lists = [value for value in document.values() if isinstance(value, list)]
    return {str(one["name"]) for value in lists for one in value if isinstance(one, dict) and "name" in one}


def _names_along(document: dict[str, Any], way: Way) -> set[str]:
    """Return the names of the entries of lists along a path."""
    found, value = set(), cast(Any, document)
    for part in way[:-1]:
        value = value[part]
        if isinstance(part, int) and isinstance(value, dict):
            found.add(str(value.get("name")))
    return found


def _plain_parts(parts: Sequence[str]) -> list[str]:
    """Return the parts of a key without numbers of entries and chosen names."""
    return [part for part in parts if part != CHOSEN and not part.isdecimal()]


def _ways(value: Any, before: Way) -> Iterator[Way]:
    """Yield the paths of all values of a document."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, one in entries:
        yield (*before, part)
        yield from _ways(one, (*before, part))


def _ends_with(document: dict[str, Any], way: Way, parts: list[str]) -> bool:
    """Return whether a path ends with the parts of a setting; entries of lists may be named or left out."""
    value, steps = cast(Any, document), []
    for part in way:
        if isinstance(part, int):
            value = value[part]
            steps.append({str(part), str(value.get("name")) if isinstance(value, dict) else ""})
        else:
            value = value[part] if isinstance(value, dict) else None
            steps.append({part})
    return _matches(steps, [isinstance(part, int) for part in way], parts)


def _matches(steps: list[set[str]], are_entries: list[bool], parts: list[str]) -> bool:
    """Return whether parts match the end of some steps; steps into entries of lists may be left out."""
    at = len(steps) - 1
    for part in reversed(parts):
        while at >= 0 and are_entries[at] and part not in steps[at]:
            at -= 1
        if at < 0 or part not in steps[at]:
            return False
        at -= 1
    return not are_entries[-1] or parts[-1] in steps[-1]


def _filled(value: Any, parts: list[str], before: Way) -> Iterator[Way]:
    """Yield the paths of a key in the existing tables of a document, with numbers of entries and chosen names."""
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield from _filled(one, parts, (*before, number))
    elif isinstance(value, dict):
        part, rest = parts[0], parts[1:]
        if part == CHOSEN:
            for name, one in value.items():
                yield from _filled(one, rest, (*before, name))
        elif not rest:
            yield (*before, part)
        elif part in value:
            yield from _filled(value[part], rest, (*before, part))


def _shown(document: dict[str, Any], way: Way) -> str:
    """Return a key in the notation of a setting, with the name of its entry of a list."""
    key = ".".join(str(part) if _BARE.match(str(part)) else json.dumps(part) for part in way)
    name, value = "", cast(Any, document)
    for part in way[:-1]:
        value = value[part]
        if isinstance(part, int) and isinstance(value, dict):
            name = str(value.get("name") or value.get("mesh") or value.get("material") or "")
    return f"{key} ({name})" if name else key
