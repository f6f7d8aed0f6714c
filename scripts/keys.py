"""Write docs/reference/keys.md, the page about all keys of the case file, from its sections.

Run ``python scripts/keys.py`` after a change of a section. The texts are those of ``pdem explain``. A test compares the
page with the output of this script.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, get_origin

from pdem.case.explain.key_texts import default_text, kind_of, meaning_of, models_in, summary_of, written
from pdem.case.sections.base import BRANCH
from pdem.case.sections.schema import CaseData
from pdem.contact.law.models import LAWS, PARTS
from pdem.sweeps.examples import study_roots

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

    from pdem.contact.law.parts import Key

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "keys.md"

GROUPS = {
    "What every case has": ("time", "domain", "materials", "interactions", "particles", "walls", "output"),
    "Machines and processes": ("motions", "shapes", "bonds", "insertions", "stages", "forces", "heat", "breakage"),
    "Measurements": ("sensors", "fields"),
    "Numerics": ("limits", "detection", "decomposition", "perturbation"),
}
"""Sections in the order in which one needs them."""

HEAD = """# Keys of the case file

<!-- Made by `python scripts/keys.py` from the sections of the case file: edit the texts there. -->

`pdem explain KEY` prints the same texts in a terminal, and `pdem explain WORD` searches them. Each key has its type,
unit, limits and default value. The key `title` is one line of text that describes the case.
"""


def page() -> str:
    """Return the text of the page."""
    lines = [HEAD, *_contents()]
    for group, names in GROUPS.items():
        lines += [f"## {group}\n", *(line for name in names for line in _section(name))]
    lines += ["## Files with many runs\n", "Files of `pdem sweep` and `pdem calibrate` have keys of their own.\n"]
    for name, root in study_roots().items():
        lines += [f"### File of `pdem {name}`\n", *_tables(name, [root.model], set())]
    return "\n".join(lines).rstrip() + "\n"


def _contents() -> Iterator[str]:
    """Yield a table of the groups and their sections."""
    yield "| group | sections |"
    yield "|---|---|"
    for group, names in GROUPS.items():
        yield f"| {group} | {', '.join(f'[`{_header(name)}`](#{_anchor(_header(name))})' for name in names)} |"
    yield ""


def _anchor(header: str) -> str:
    """Return the anchor of a heading in code, as sites and forges make it."""
    return re.sub(r"[^a-z0-9-]", "", header.lower())


def _section(name: str) -> Iterator[str]:
    """Yield the lines about a section of the case and all tables in it."""
    field = CaseData.model_fields[name]
    yield f"### `{_header(name)}`\n"
    yield f"{_safe(meaning_of(CaseData, name))}\n"
    yield from _tables(name, list(dict.fromkeys(models_in(field))), set())
    if name == "interactions":
        yield from _law_models()


def _header(name: str) -> str:
    """Return the line with which a section begins in a file."""
    annotation = CaseData.model_fields[name].annotation
    if get_origin(annotation) is dict:
        return f"[{name}.NAME]"
    return f"[[{name}]]" if get_origin(annotation) is tuple else f"[{name}]"


def _tables(path: str, models: list[type[BaseModel]], seen: set[type[BaseModel]]) -> Iterator[str]:
    """Yield the lines about the tables that a key may hold, and about the tables within them."""
    shared = _shared_keys(models)
    for number, model in enumerate(models):
        if model in seen:
            continue
        seen.add(model)
        tag = str(model.branch).removeprefix(BRANCH) if hasattr(model, "branch") else ""
        if tag or "." in path or number:
            yield f"#### `{path}`{f': {_safe(tag)}' if tag else ''}\n"
        if tag or "." in path or len(models) > 1 or not _repeats(path, model):
            yield f"{_safe(summary_of(model))}\n"
        own = [name for name in model.model_fields if not number or name not in shared]
        if number and shared:
            yield f"Further keys: the keys of `{path}` above that all kinds have.\n"
        yield from (_key(model, name) for name in own)
        yield ""
        for name in own:
            inner = [one for one in dict.fromkeys(models_in(model.model_fields[name])) if one not in seen]
            if inner:
                yield from _tables(f"{path}.{name}", inner, seen)


def _repeats(section: str, model: type[BaseModel]) -> bool:
    """Return whether the summary of the table of a section says what the section itself says."""
    words = [re.sub(r"`[^`]*`|\W", "", text).lower() for text in (summary_of(model), meaning_of(CaseData, section))]
    return words[0] == words[1]


def _shared_keys(models: list[type[BaseModel]]) -> set[str]:
    """Return the keys that all of several tables have with the same meaning."""
    if len(models) < 2:
        return set()
    names = set.intersection(*(set(model.model_fields) for model in models))
    return {name for name in names if len({meaning_of(model, name) for model in models}) == 1}


def _key(model: type[BaseModel], name: str) -> str:
    """Return the line about a key."""
    field = model.model_fields[name]
    default = default_text(field)
    kind = re.sub(r'("[^"]*")', r"`\1`", kind_of(field.annotation, field.metadata))
    default = "no default" if default.startswith("none") else f"default: {_code(default)}"
    return f"* **`{name}`** ({_kind(kind)}; {default}): {_safe(meaning_of(model, name))}"


def _kind(kind: str) -> str:
    return "`".join(part if number % 2 else _safe(part) for number, part in enumerate(kind.split("`")))


def _safe(text: str) -> str:
    """Return a text in which brackets and dollars are ordinary characters."""
    parts = text.split("`")
    plain = [re.sub(r"([\[\]$*<])", r"\\\1", part) for part in parts[::2]]
    code = [f"`{part}`" for part in parts[1::2]]
    return "".join(word for pair in zip(plain, [*code, ""], strict=True) for word in pair)


def _code(default: str) -> str:
    return default if default in ("nothing", "the defaults of its keys") else f"`{default}`"


def _law_models() -> Iterator[str]:
    """Yield the lines about contact laws and the models of their parts."""
    yield "#### `interactions.law`\n"
    for name, law in LAWS.items():
        yield from _model(f'law = "{name}"', law.normal.text, list(law.keys.values()))
    yield ""
    for part, models in PARTS.items():
        yield f"#### `interactions.{part}`: models\n"
        for one in models.values():
            yield from _model(f'model = "{one.model}"', one.text, list(one.keys))
        yield ""


def _model(head: str, text: str, keys: list[Key]) -> Iterator[str]:
    """Yield the lines about a law or a model of a part."""
    yield f"* **`{head}`**: {_safe(text)}"
    for key in keys:
        unit = f" [{key.unit}]" if key.unit else ""
        choices = f", {' or '.join(f'`{written(one)}`' for one in key.choices)}" if key.choices else ""
        default = "" if key.default is None else f"; default: `{written(key.default)}`"
        yield f"  * `{key.name}`{_safe(unit)}: {_safe(key.text)}{choices}{default}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
