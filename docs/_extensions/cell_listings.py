"""Cells of tutorials that write a file are shown as a listing with the name and the colours of the file.

The first line of such a cell, ``%%writefile NAME``, is not part of the file and becomes its caption.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_FIRST_LINE = re.compile(r"%%(?:writefile (?P<name>\S+)|(?P<shell>bash)\b[^\n]*)\n")
_LANGUAGES = {".toml": "toml", ".py": "python"}


def show(app: Sphinx, tree: nodes.document) -> None:
    """Give all cells of a page that begin with a magic command the language of their text."""
    for block in list(tree.findall(nodes.literal_block)):
        first = _FIRST_LINE.match(block.astext())
        if first is None:
            continue
        text, name = block.astext()[first.end() :], first["name"]
        listing = nodes.literal_block(text, text, language="bash" if name is None else _language(name))
        block.replace_self(listing if name is None else _with_caption(listing, name))


def _language(name: str) -> str:
    return _LANGUAGES.get(PurePath(name).suffix, "none")


def _with_caption(listing: nodes.literal_block, name: str) -> nodes.container:
    caption = nodes.caption(name, name)
    wrapper = nodes.container("", caption, listing, literal_block=True, classes=["literal-block-wrapper"])
    wrapper["ids"].append(nodes.make_id(f"file-{name}"))
    return wrapper


def setup(app: Sphinx) -> dict[str, bool]:
    """Change cells after a page has been read, with or without executing it."""
    app.connect("doctree-read", show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
