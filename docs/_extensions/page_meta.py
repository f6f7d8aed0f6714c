"""Description, title and picture of each page for search engines and for links that people share."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PICTURE = "_images/rotary_mixer.png"
"""The picture of the first page, which the site has anyway."""

_LONGEST = 200
"""Characters of a description, as many as search engines show."""


def description_of(tree: nodes.document, otherwise: str) -> str:
    """Return the first paragraph of a page that has letters, shortened to whole words."""
    for paragraph in tree.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        if len(text) > 20:
            return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rsplit(' ', 1)[0]} ..."
    return otherwise


def add(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: nodes.document | None) -> None:
    """Add the tags of a page to its head; addresses are absolute if ``html_baseurl`` is set."""
    if tree is None:
        return
    title = context.get("title", app.config.project)
    base = app.config.html_baseurl
    picture = f"{base.rstrip('/')}/{PICTURE}" if base else context["pathto"](PICTURE, 1)
    description = description_of(tree, app.config.html_title)
    tags = {
        'name="description"': description,
        'property="og:type"': "website",
        'property="og:site_name"': app.config.project,
        'property="og:title"': title,
        'property="og:description"': description,
        'property="og:image"': picture,
    }
    lines = [f'<meta {name} content="{escape(text)}">' for name, text in tags.items()]
    context["metatags"] = "\n".join([context.get("metatags", ""), *lines])


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the tags to all pages."""
    app.connect("html-page-context", add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
