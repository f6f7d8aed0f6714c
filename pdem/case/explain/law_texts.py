"""Contact laws and their parts, with the keys of each model, for ``pdem explain``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.explain.key_texts import LIMITS, NO_DEFAULT, REQUIRED, written
from pdem.case.sections.materials import Interaction
from pdem.contact.law.models import LAWS, PARTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pdem.contact.law.parts import Key


def model_texts(parts: Sequence[str]) -> list[str]:
    """Return the models of a part of a contact law, or the laws, with their keys, if that is what the key is."""
    width = max((len(_name(key)) for _, keys in _models_of(parts) for key in keys), default=0)
    return [
        "\n".join([head, *(f"  {_name(key):<{width}}  {_meaning(key)}" for key in keys)])
        for head, keys in _models_of(parts)
    ]


def model_keys(parts: Sequence[str]) -> list[str]:
    """Return the keys that the models of a part of a contact law have."""
    names = dict.fromkeys(key.name for _, keys in _models_of(parts) for key in keys)
    return ["model", *names] if names else []


def model_key_texts(parts: Sequence[str]) -> list[str]:
    """Return what the models that have a key say about it; nothing where it is no key of models."""
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
    """Return a line about each model that a key may name, and its keys."""
    if parts[0] != "interactions" or parts[-1] not in (*PARTS, "law"):
        return []
    if parts[-1] == "law":
        return [(f'law = "{name}": {one.normal.text}', list(one.keys.values())) for name, one in LAWS.items()]
    return [(f'model = "{one.model}": {one.text}', one.keys) for one in PARTS[parts[-1]].values()]


def _name(key: Key) -> str:
    return f"{key.name} [{key.unit}]" if key.unit else key.name


def _meaning(key: Key) -> str:
    """Return what a key of a model is, and its choices or its default."""
    choices = f" {_kind(key)}" if key.choices else ""
    default = "" if key.default is None else f" (default: {written(key.default)})"
    return f"{key.text}{choices}{default}"


def _kind(key: Key) -> str:
    """Return what values of a key are allowed."""
    if key.choices:
        return " or ".join(map(written, key.choices))
    limits = {"gt": key.above, "ge": key.at_least, "lt": key.below, "le": key.at_most}
    return " ".join(
        ["number", *(f"{LIMITS[one]} {limit:g}" for one, limit in limits.items() if limit is not None)]
    )


def _default(key: Key) -> str:
    if key.default is not None:
        return written(key.default)
    return REQUIRED if key.required else NO_DEFAULT
