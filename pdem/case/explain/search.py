"""Search for words in all keys of the case file and of files with many runs, in models, measures and examples."""

from __future__ import annotations

import difflib
import re
import textwrap
from typing import TYPE_CHECKING, NamedTuple

from pdem.case.explain.example_texts import example_names, example_title
from pdem.case.explain.key_texts import first_sentence, kind_of, meaning_of, plain, summary_of
from pdem.case.hints.key_places import CHOSEN, all_keys
from pdem.case.hints.suggestions import foreign_key
from pdem.case.sections.base import BRANCH
from pdem.contact.law.models import LAWS, PARTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pydantic import BaseModel

WIDTH = 100
"""Letters of a line."""

_WIDEST_NAME = 44
_OTHERS = 3
_NEAR = 0.8


class SearchEntry(NamedTuple):
    """An entry that a search can return.

    Attributes
    ----------
    name : str
        Name as in ``pdem explain``, or as in a file.
    line : str
        Explanation in one sentence.
    text : str
        Full text.
    others : tuple of str
        Further keys with the same text, or the models that have the key.
    """

    name: str
    line: str
    text: str = ""
    others: tuple[str, ...] = ()


def search(words: Sequence[str], roots: Mapping[str, type[BaseModel]]) -> list[SearchEntry]:
    """Return all entries that contain all of some words; first matches of the name, then of values, then of the text.

    Parameters
    ----------
    words : sequence of str
        Words or parts of them; hyphens, underscores and capitals do not matter.
    roots : mapping of str to type of BaseModel
        Sections of the kinds of files, by the name that begins their keys; empty for the case file.
    """
    wanted = [_plain_word(word) for word in words if _plain_word(word)]
    if not wanted:
        return []
    ranked = [(_rank(one, wanted), number, one) for number, one in enumerate(_merged(_entries(roots)))]
    return [one for rank, _, one in sorted(ranked, key=lambda item: item[:2]) if rank < _NOT_FOUND]


_NOT_FOUND = 4


def _rank(entry: SearchEntry, wanted: Sequence[str]) -> int:
    """Return 0 for words in the last part of a name, 1 in further parts of it, 2 in the sentence, 3 in the text."""
    name, line, text = (_plain_word(part) for part in (entry.name, entry.line, f"{entry.text} {entry.others}"))
    last = re.split(r"[.=]", name)[-1].strip(' "')
    if all(word == last for word in wanted):
        return 0
    for rank, part in enumerate((name, f"{name} {line}", f"{name} {line} {text}"), 1):
        if all(word in part for word in wanted):
            return rank
    return _NOT_FOUND


def _plain_word(text: str) -> str:
    return re.sub(r"[-_\s]+", " ", text.lower()).strip()


def _entries(roots: Mapping[str, type[BaseModel]]) -> Iterator[SearchEntry]:
    """Yield all entries."""
    for name, root in roots.items():
        yield from _keys(f"{name}." if name else "", root)
        yield from _kinds(f"{name}." if name else "", root)
        if not name:
            yield from _models()
    for example in example_names():
        yield SearchEntry(f"pdem new {example}", example_title(example))


def _merged(entries: Iterable[SearchEntry]) -> list[SearchEntry]:
    """Return entries with one entry for all keys of the same last name and the same text."""
    found: dict[tuple[str, str], SearchEntry] = {}
    for one in entries:
        key = re.split(r"\.(?=[^.]*$)", one.name)[-1], one.line
        first = found.get(key)
        others = one.others if first is None or one.name == first.name else (one.name, *one.others)
        found[key] = one if first is None else first._replace(others=(*first.others, *others))
    return list(found.values())


def _keys(before: str, root: type[BaseModel]) -> Iterator[SearchEntry]:
    """Yield the keys of a kind of file."""
    for key, fields in all_keys(root).items():
        owner, name = fields[0]
        field = owner.model_fields[name]
        text = f"{plain(meaning_of(owner, name))} {kind_of(field.annotation, field.metadata)}"
        yield SearchEntry(before + key, plain(first_sentence(owner, name)), text)


def _kinds(before: str, root: type[BaseModel]) -> Iterator[SearchEntry]:
    """Yield the kinds of a table that differ by the value of a key: shapes of walls, distributions, measures."""
    seen = set()
    for key, fields in all_keys(root).items():
        for owner, name in fields:
            tag = str(getattr(owner, "branch", "")).removeprefix(BRANCH)
            if name in ("shape", "distribution", "kind") and tag and (owner, name) not in seen:
                seen.add((owner, name))
                yield SearchEntry(f'{before}{key} = "{tag}"', plain(summary_of(owner)))


def _models() -> Iterator[SearchEntry]:
    """Yield contact laws, models of their parts, and the keys of these models."""
    pair = f"interactions.{CHOSEN}"
    for name, law in LAWS.items():
        yield SearchEntry(f'{pair}.law = "{name}"', law.normal.text)
        for key in law.keys.values():
            yield SearchEntry(f"{pair}.{key.name}", key.text, key.unit, (f'law = "{name}"',))
    for role, models in PARTS.items():
        for model in models.values():
            yield SearchEntry(f'{pair}.{role}.model = "{model.model}"', model.text)
            for key in model.keys:
                yield SearchEntry(f"{pair}.{role}.{key.name}", key.text, key.unit, (f'model = "{model.model}"',))


def found_text(words: Sequence[str], roots: Mapping[str, type[BaseModel]]) -> str:
    """Return a list of entries with some words, or with a similar word, one line each; empty if there are none."""
    found, head = search(words, roots), f"{' '.join(words)}: found in"
    if not found and len(words) == 1:
        meant = _meant_word(words[0], roots)
        found = [one for one in search([meant], roots) if one.name.endswith(meant)] if meant else []
        head = f"{words[0]} is no word of pdem; did you mean {meant}?"
    if not found:
        return ""
    width = min(max(len(one.name) for one in found), _WIDEST_NAME)
    return "\n".join([head, *(f"  {one.name:<{width}}  {one.line}{_others(one.others)}" for one in found)])


def _meant_word(word: str, roots: Mapping[str, type[BaseModel]]) -> str:
    """Return the key within a section that corresponds to a word of a foreign program, or a key spelt similarly."""
    names = sorted({key.rpartition(".")[2] for root in roots.values() for key in all_keys(root) if "." in key})
    foreign = foreign_key(word, names)
    near = difflib.get_close_matches(word.lower(), names, n=1, cutoff=_NEAR)
    top = difflib.get_close_matches(word.lower(), list(next(iter(roots.values())).model_fields), n=1, cutoff=_NEAR)
    return foreign.key if foreign is not None else "" if top else next(iter(near), "")


def _others(names: Sequence[str]) -> str:
    """Return the further locations of an entry as text."""
    shown = ", ".join(dict.fromkeys(names[:_OTHERS]))
    return f" ({shown}{', ...' if len(names) > _OTHERS else ''})" if names else ""


def listed(name: str, text: str, width: int) -> str:
    """Return a name and its text, wrapped after a column of a certain width for names."""
    lines = textwrap.wrap(text, max(WIDTH - width - 4, 40)) or [""]
    if len(name) > width:
        return "\n".join([f"  {name}", *(f"  {'':<{width}}  {line}" for line in lines)])
    first, *others = lines
    return "\n".join([f"  {name:<{width}}  {first}", *(f"  {'':<{width}}  {line}" for line in others)])
