"""Explanation of a key of the case file: its text, type, limits, default, and an example, all read from the code."""

from __future__ import annotations

import re
import textwrap
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel

from pdem.case.explain.example_texts import example_groups, example_text
from pdem.case.explain.key_examples import example_of, is_named
from pdem.case.explain.key_texts import (
    LIMITS,
    NO_DEFAULT,
    REQUIRED,
    default_text,
    first_sentence,
    kind_of,
    meaning_of,
    models_in,
    plain,
    summary_of,
    text_of,
    written,
)
from pdem.case.explain.search import WIDTH, found_text, listed
from pdem.case.messages import nearest_key_hint
from pdem.case.sections.base import BRANCH
from pdem.case.sections.earlier_keys import present_key
from pdem.case.sections.materials import Interaction
from pdem.case.sections.schema import CaseData
from pdem.contact.law.models import LAWS, PARTS
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pdem.contact.law.parts import Key

    Models = list[type[BaseModel]]
    Fields = list[tuple[type[BaseModel], str]]

_INDEX = re.compile(r"\[\d+\]|(?<=\.)\d+(?=\.|$)")


class Root(NamedTuple):
    """Sections of a kind of file, and examples of it.

    Attributes
    ----------
    model : type of BaseModel
        Sections of the file.
    examples : mapping of str to str
        Texts of examples by their names in ``pdem new``, in a good order for reading.
    """

    model: type[BaseModel]
    examples: Mapping[str, str]


def explain(key: str = "", roots: Mapping[str, Root] | None = None) -> str:
    """Return the explanation of a key of the case file, or a list of keys and texts with certain words.

    Parameters
    ----------
    key : str
        Key as in messages and ``--set``: ``time.step``, ``insertions.face.radius``, ``walls[0].servo``. Names of
        materials, interactions and motions are optional. An empty key stands for all sections. Text that is not a key
        is searched in the names and texts of all keys, models, measures and examples: ``friction``,
        ``rolling friction``, ``rpm``.
    roots : mapping of str to Root, optional
        Further kinds of files by the name that begins their keys: ``sweep.vary.min``.

    Raises
    ------
    InputError
        If there is no such key, and no text contains these words.
    """
    if len(key.split()) > 1:
        return _found(key.split(), roots or {}) or _nothing(key)
    given = [part for part in _INDEX.sub("", key).split(".") if part]
    parts = present_key(given)
    head = ".".join(parts) if parts == given else f"{'.'.join(given)} is called {'.'.join(parts)} now"
    root = (roots or {}).get(parts[0]) if parts else None
    if not parts:
        others = f"\n\nother files: {', '.join(f'pdem explain {name}' for name in roots)}" if roots else ""
        return f"sections of a case; pdem explain SECTION.KEY says more{_listed([CaseData], briefly=True)}{others}"
    told = model_key_texts(parts)
    if told:
        return "\n\n".join([head, *told])
    try:
        found, models = _place_of(parts, CaseData if root is None else root.model, skip=root is not None)
    except InputError:
        if len(parts) == 1 and (text := _found(parts, roots or {})):
            return text
        raise
    texts = _field_texts(found[-1] if found else [])
    sections = _section_texts(list(dict.fromkeys(models)))
    examples = _case_examples() if root is None else root.examples
    path = [some[0] for some in found]
    example = example_of(path, examples) if path else []
    return "\n\n".join([head, *texts, *model_texts(parts), *sections, *example])


def _found(words: Sequence[str], roots: Mapping[str, Root]) -> str:
    """Return a list of the entries that contain these words; empty if there are none."""
    return found_text(words, {"": CaseData, **{name: root.model for name, root in roots.items()}})


def _nothing(words: str) -> str:
    raise InputError(f"nothing has the words {words!r}; give fewer, or pdem explain for all sections")


def _place_of(parts: Sequence[str], top: type[BaseModel], skip: bool) -> tuple[list[Fields], Models]:
    """Return the fields at each part of a key except chosen names, and the sections that the last part may contain."""
    models: Models = [top]
    found: list[Fields] = []
    for number, part in enumerate(parts):
        if number == 0 and skip:
            continue
        owners = [model for model in models if part in model.model_fields]
        if owners:
            found.append([(owner, part) for owner in owners])
            models = [inner for owner in owners for inner in models_in(owner.model_fields[part])]
        elif not (found and is_named(*found[-1][0]) and found[-1][0][1] == parts[number - 1]):
            raise InputError(_mistake(parts, number, models))  # else: the name of a material, a motion, ...
    return found, models


def _mistake(parts: Sequence[str], number: int, models: Models) -> str:
    """Return the mistake in a part of a key, and the allowed names."""
    where = ".".join(parts[:number])
    allowed = list(dict.fromkeys(name for model in models for name in model.model_fields)) or model_keys(parts[:number])
    hint = nearest_key_hint(parts[number], allowed) if allowed else f"{where} is a value without keys"
    return f"{'.'.join(parts)} is no key{f' of {where}' if where else ''}; {hint}"


def _case_examples() -> dict[str, str]:
    """Return the texts of all examples of cases."""
    return {name: example_text(name) for name in chain.from_iterable(example_groups().values())}


def _field_texts(found: Fields) -> list[str]:
    """Return meaning, types and defaults of a key, once for all sections in which its meaning is the same."""
    owners: dict[str, Models] = {}
    for owner, name in found:
        owners.setdefault(meaning_of(owner, name), []).append(owner)
    name = found[0][1] if found else ""
    texts = []
    for meaning, some in owners.items():
        fields = [owner.model_fields[name] for owner in some]
        kinds = dict.fromkeys(kind_of(field.annotation, field.metadata) for field in fields)
        defaults = dict.fromkeys(default_text(field) for field in fields)
        lines = [*textwrap.wrap(plain(meaning), WIDTH), f"  value: {' or '.join(kinds)}"]
        texts.append("\n".join([*lines, f"  default: {' or '.join(defaults)}"]))
    return texts


def _section_texts(models: Models) -> list[str]:
    """Return the texts of sections and their keys; keys that all of several sections share come first, once."""
    shared = _shared_base(models)
    before = [] if shared is None else [shared]
    without = () if shared is None else tuple(shared.model_fields)
    texts = [_section_text(model) for model in before] + [_section_text(model, without) for model in models]
    return [text for text in texts if text]


def _shared_base(models: Models) -> type[BaseModel] | None:
    """Return the class with the keys that several sections share; None if there is no such class."""
    if len(models) < 2:
        return None
    for base in models[0].__mro__:
        if issubclass(base, BaseModel) and all(issubclass(model, base) for model in models):
            return base if base.model_fields and base not in models else None
    return None


def _section_text(model: type[BaseModel], without: Sequence[str] = ()) -> str:
    """Return the text of a section and its keys, except for the keys in `without`."""
    tag = str(getattr(model, "branch", "")).removeprefix(BRANCH) if without else ""
    text = f"{tag}: {summary_of(model)}" if tag else summary_of(model)
    return "\n".join(textwrap.wrap(plain(text), WIDTH)) + _listed([model], without)


def _listed(models: Models, without: Sequence[str] = (), *, briefly: bool = False) -> str:
    """Return the keys of sections, except for `without`, with all of their text or only the first sentence."""
    names = list(dict.fromkeys((name, model) for model in models for name in model.model_fields if name not in without))
    width = max((len(name) for name, _ in names), default=0)
    say = first_sentence if briefly else text_of
    return "".join(f"\n{listed(name, plain(say(model, name)), width)}" for name, model in names)


def model_texts(parts: Sequence[str]) -> list[str]:
    """Return the models of a part of a contact law, or the laws, with their keys; empty if the key names neither."""
    width = max((len(_name(key)) for _, keys in _models_of(parts) for key in keys), default=0)
    return [
        "\n".join([head, *(f"  {_name(key):<{width}}  {_meaning(key)}" for key in keys)])
        for head, keys in _models_of(parts)
    ]


def model_keys(parts: Sequence[str]) -> list[str]:
    """Return the keys of all models of a part of a contact law."""
    names = dict.fromkeys(key.name for _, keys in _models_of(parts) for key in keys)
    return ["model", *names] if names else []


def model_key_texts(parts: Sequence[str]) -> list[str]:
    """Return the texts of all models that have a key; empty if no model has it."""
    if len(parts) < 2 or parts[0] != "interactions":
        return []
    if parts[-2] not in (*PARTS, "law") and parts[-1] in Interaction.model_fields:
        return []
    place = parts[:-1] if parts[-2] in PARTS else ("interactions", "law")
    return [
        f"{head}\n  {_name(key)}  {_meaning(key)}\n  value: {_kind(key)}\n  default: {_default(key)}"
        for head, keys in _models_of(place)
        for key in keys
        if key.name == parts[-1]
    ]


def _models_of(parts: Sequence[str]) -> list[tuple[str, Iterable[Key]]]:
    """Return a line about each model that a key may name, with the keys of the model."""
    if parts[0] != "interactions" or parts[-1] not in (*PARTS, "law"):
        return []
    if parts[-1] == "law":
        return [(f'law = "{name}": {one.normal.text}', list(one.keys.values())) for name, one in LAWS.items()]
    return [(f'model = "{one.model}": {one.text}', one.keys) for one in PARTS[parts[-1]].values()]


def _name(key: Key) -> str:
    return f"{key.name} [{key.unit}]" if key.unit else key.name


def _meaning(key: Key) -> str:
    """Return the meaning of a key of a model, with its choices or its default."""
    choices = f" {_kind(key)}" if key.choices else ""
    default = "" if key.default is None else f" (default: {written(key.default)})"
    return f"{key.text}{choices}{default}"


def _kind(key: Key) -> str:
    """Return the allowed values of a key."""
    if key.choices:
        return " or ".join(map(written, key.choices))
    limits = {"gt": key.above, "ge": key.at_least, "lt": key.below, "le": key.at_most}
    return " ".join(["number", *(f"{LIMITS[one]} {limit:g}" for one, limit in limits.items() if limit is not None)])


def _default(key: Key) -> str:
    if key.default is not None:
        return written(key.default)
    return REQUIRED if key.required else NO_DEFAULT
