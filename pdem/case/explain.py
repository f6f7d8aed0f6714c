"""What a key of the case file means: its text, type, limits, default, and an example, all read from the code."""

from __future__ import annotations

import re
import textwrap
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, get_origin

from pydantic import BaseModel

from pdem.case.base import BRANCH
from pdem.case.example_cases import example_groups, example_text
from pdem.case.key_texts import (
    default_text,
    first_sentence,
    kind_of,
    meaning_of,
    models_in,
    plain,
    summary_of,
    written,
)
from pdem.case.messages import nearest_key_hint
from pdem.case.schema import CaseData
from pdem.contact.law.models import LAWS, PARTS
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pdem.contact.law.parts import Key

    Models = list[type[BaseModel]]

WIDTH = 100
_INDEX = re.compile(r"\[\d+\]|(?<=\.)\d+(?=\.|$)")


class Root(NamedTuple):
    """What a kind of file may hold, and examples of it.

    Attributes
    ----------
    model : type of BaseModel
        Its sections.
    examples : mapping of str to str
        Texts of examples by the names that ``pdem new`` has for them, those first that are read best.
    """

    model: type[BaseModel]
    examples: Mapping[str, str]


def explain(key: str = "", roots: Mapping[str, Root] | None = None) -> str:
    """Return what a key of the case file means.

    Parameters
    ----------
    key : str
        As in messages and ``--set``: ``time.step``, ``insertions.face.radius``, ``walls[0].servo``. Names of materials,
        interactions and motions may be there or not. Empty: all sections.
    roots : mapping of str to Root, optional
        Other kinds of files by name, with which their keys begin: ``sweep.vary.min``.

    Raises
    ------
    InputError
        If there is no such key.
    """
    parts = [part for part in _INDEX.sub("", key).split(".") if part]
    root = (roots or {}).get(parts[0]) if parts else None
    models: Models = [CaseData if root is None else root.model]
    found: list[tuple[type[BaseModel], str]] = []
    for number, part in enumerate(parts):
        if number == 0 and root is not None:
            continue
        owners = [model for model in models if part in model.model_fields]
        if not owners:
            if found and _is_named(found) and found[0][1] == parts[number - 1]:
                continue  # the name of a material, an interaction, a motion, or a wall of a stage
            allowed = list(dict.fromkeys(name for model in models for name in model.model_fields))
            where = ".".join(parts[:number])
            raise InputError(
                f"{key} is no key{f' of {where}' if where else ''}; {nearest_key_hint(part, allowed)}"
            )
        found = [(owner, part) for owner in owners]
        models = [inner for owner, name in found for inner in models_in(owner.model_fields[name])]
    if not parts:
        others = f"\n\nother files: {', '.join(f'pdem explain {name}' for name in roots)}" if roots else ""
        return f"sections of a case; pdem explain SECTION.KEY says more{_listed([CaseData])}{others}"
    texts = _field_texts(found)
    sections = _section_texts(list(dict.fromkeys(models)))
    return "\n\n".join([".".join(parts), *texts, *_model_texts(parts), *sections, *_example(parts, root)])


def _is_named(found: Sequence[tuple[type[BaseModel], str]]) -> bool:
    """Return whether the entries of a section have names chosen by the user."""
    return any(get_origin(owner.model_fields[name].annotation) is dict for owner, name in found)


def _field_texts(found: Sequence[tuple[type[BaseModel], str]]) -> list[str]:
    """Return meaning, types and defaults of a key, once for all sections in which it means the same."""
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


def _model_texts(parts: Sequence[str]) -> list[str]:
    """Return the models of a part of a contact law, or the laws, with their keys, if that is what the key is."""
    if parts[0] != "interactions" or parts[-1] not in (*PARTS, "law"):
        return []
    if parts[-1] == "law":
        told = [(f'law = "{name}": {one.normal.text}', list(one.keys.values())) for name, one in LAWS.items()]
    else:
        told = [(f'model = "{one.model}": {one.text}', list(one.keys)) for one in PARTS[parts[-1]].values()]
    return ["\n".join([line, *map(_key_line, keys)]) for line, keys in told]


def _key_line(key: Key) -> str:
    """Return a line on a key of a model: its unit, what it is, and its default or choices."""
    choices = f" {' or '.join(map(written, key.choices))}" if key.choices else ""
    default = "" if key.default is None else f" (default: {written(key.default)})"
    return f"  {key.name}{f' [{key.unit}]' if key.unit else ''}  {key.text}{choices}{default}"


def _section_texts(models: Models) -> list[str]:
    """Return what sections are, and their keys; those that all of several sections have stand once, before."""
    shared = _shared_base(models)
    before = [] if shared is None else [shared]
    without = () if shared is None else tuple(shared.model_fields)
    texts = [_section_text(model) for model in before] + [_section_text(model, without) for model in models]
    return [text for text in texts if text]


def _shared_base(models: Models) -> type[BaseModel] | None:
    """Return the class with keys that several sections have in common, if there is one."""
    if len(models) < 2:
        return None
    for base in models[0].__mro__:
        if issubclass(base, BaseModel) and all(issubclass(model, base) for model in models):
            return base if base.model_fields and base not in models else None
    return None


def _section_text(model: type[BaseModel], without: Sequence[str] = ()) -> str:
    """Return what a section is, and its keys except some."""
    tag = str(getattr(model, "branch", "")).removeprefix(BRANCH) if without else ""
    text = f"{tag}: {summary_of(model)}" if tag else summary_of(model)
    return "\n".join(textwrap.wrap(plain(text), WIDTH)) + _listed([model], without)


def _listed(models: Models, without: Sequence[str] = ()) -> str:
    """Return the keys of sections except some, a line each, with the first sentence of their meaning."""
    names = list(
        dict.fromkeys((name, model) for model in models for name in model.model_fields if name not in without)
    )
    width = max((len(name) for name, _ in names), default=0)
    texts = [
        textwrap.shorten(plain(first_sentence(model, name)), WIDTH - width, placeholder=" ...")
        for name, model in names
    ]
    return "".join(f"\n  {name:<{width}}  {text}" for (name, _), text in zip(names, texts, strict=True))


def _example(parts: Sequence[str], root: Root | None) -> list[str]:
    """Return a line of the first example with the key, in its section; none if no example has it."""
    if root is not None:
        parts = parts[1:] if len(parts) > 2 else ["", *parts[1:]]
        return _example_in(parts, root.examples) if len(parts) > 1 else []
    names = chain.from_iterable(example_groups().values())
    return _example_in(parts, {name: example_text(name) for name in names})


def _example_in(parts: Sequence[str], examples: Mapping[str, str]) -> list[str]:
    pattern = re.compile(rf"(?<![\w-]){re.escape(parts[-1])} = ")
    for name, text in examples.items():
        root = ""
        for line in text.splitlines():
            header = re.match(r"\[+([\w-]+)", line)
            root = header[1] if header else root
            is_section = len(parts) == 1 and header is not None
            if root == parts[0] and (is_section or (len(parts) > 1 and pattern.search(line.split("#")[0]))):
                return [f"example, of pdem new {name}:\n  {line.strip()}"]
    return []
