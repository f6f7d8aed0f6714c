"""Pages about all keys of the case file, made from its sections: the texts are those of ``pdem explain``."""

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
    from sphinx.application import Sphinx

    from pdem.contact.law.parts import Key

FOLDERS = "generated/case", "generated/plans"
"""Of the sections of the case file, and of other files."""


def pages() -> dict[str, str]:
    """Return the text of each page by the name of its section."""
    return {name: "\n".join(_page(name)) for name in CaseData.model_fields if name != "title"}


def plan_pages() -> dict[str, str]:
    """Return the text of a page for each kind of file with many runs."""
    found = {}
    for name, root in study_roots().items():
        lines = [f"# File of `pdem {name}`\n", f"In a terminal: `pdem explain {name}`\n"]
        found[name] = "\n".join([*lines, *_tables(name, [root.model], set())])
    return found


def _page(name: str) -> Iterator[str]:
    """Yield the lines about a section of the case and all tables in it."""
    field = CaseData.model_fields[name]
    yield f"# `{_header(name)}`\n"
    yield f"{meaning_of(CaseData, name)}\n"
    yield f"In a terminal: `pdem explain {name}`\n"
    seen: set[type[BaseModel]] = set()
    yield from _tables(name, list(dict.fromkeys(models_in(field))), seen)
    if name == "interactions":
        yield from _law_models()


def _header(name: str) -> str:
    """Return the line with which a section begins in a file."""
    annotation = CaseData.model_fields[name].annotation
    if get_origin(annotation) is dict:
        return f"[{name}.NAME]"
    return f"[[{name}]]" if get_origin(annotation) is tuple else f"[{name}]"


def _tables(path: str, models: list[type[BaseModel]], seen: set[type[BaseModel]]) -> Iterator[str]:
    """Yield the lines about tables that may stand at a place, and about those within them."""
    shared = _shared_keys(models)
    for number, model in enumerate(models):
        if model in seen:
            continue
        seen.add(model)
        tag = str(model.branch).removeprefix(BRANCH) if hasattr(model, "branch") else ""
        yield f"## `{path}`{f': {tag}' if tag else ''}\n"
        yield f"{summary_of(model)}\n"
        own = [name for name in model.model_fields if not number or name not in shared]
        if number and shared:
            yield f"Further keys: those of `{path}` above that all kinds have.\n"
        for name in own:
            yield from _key(model, name)
        for name in own:
            inner = [one for one in dict.fromkeys(models_in(model.model_fields[name])) if one not in seen]
            if inner:
                yield from _tables(f"{path}.{name}", inner, seen)


def _shared_keys(models: list[type[BaseModel]]) -> set[str]:
    """Return the keys that all of several tables have with the same meaning."""
    if len(models) < 2:
        return set()
    names = set.intersection(*(set(model.model_fields) for model in models))
    return {name for name in names if len({meaning_of(model, name) for model in models}) == 1}


def _key(model: type[BaseModel], name: str) -> Iterator[str]:
    """Yield the lines about a key."""
    field = model.model_fields[name]
    default = default_text(field)
    yield f"`{name}`"
    yield f":   {_safe(meaning_of(model, name))}\n"
    needed = default.startswith("none")
    kind = re.sub(r'("[^"]*")', r"`\1`", kind_of(field.annotation, field.metadata))
    yield f"    *{kind}* · {'no default' if needed else f'default: {_code(default)}'}\n"


def _safe(text: str) -> str:
    """Return a text in which brackets and dollars are what they look like."""
    parts = text.split("`")
    plain = [re.sub(r"([\[\]$*<])", r"\\\1", part) for part in parts[::2]]
    code = [f"`{part}`" for part in parts[1::2]]
    return "".join(word for pair in zip(plain, [*code, ""], strict=True) for word in pair)


def _code(default: str) -> str:
    return default if default in ("nothing", "the defaults of its keys") else f"`{default}`"


def _law_models() -> Iterator[str]:
    """Yield the lines about contact laws and the models of their parts."""
    yield "## `law`\n"
    for name, law in LAWS.items():
        yield from _model(f'law = "{name}"', law.normal.text, list(law.keys.values()))
    for part, models in PARTS.items():
        yield f"## `{part}`\n"
        for one in models.values():
            yield from _model(f'model = "{one.model}"', one.text, list(one.keys))


def _model(head: str, text: str, keys: list[Key]) -> Iterator[str]:
    """Yield the lines about a law or a model of a part."""
    yield f"`{head}`"
    yield f":   {_safe(text)}\n"
    for key in keys:
        unit = f" [{key.unit}]" if key.unit else ""
        choices = f", {' or '.join(f'`{written(one)}`' for one in key.choices)}" if key.choices else ""
        default = "" if key.default is None else f" · default: `{written(key.default)}`"
        yield f"    - `{key.name}`{_safe(unit)} {_safe(key.text)}{choices}{default}"
    yield ""


def write(app: Sphinx) -> None:
    """Write the pages where they have changed, so that Sphinx reads only those anew."""
    for folder, texts in zip(FOLDERS, (pages(), plan_pages()), strict=True):
        _write(Path(app.srcdir) / folder, texts)


def _write(folder: Path, texts: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.md"):
        if path.stem not in texts:
            path.unlink()
    for name, text in texts.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before Sphinx looks for pages."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
