"""What differs between pages that are read as files and those of the site: links out of this folder, and the menu."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_BACK = re.compile(r"^\[Back to the README\]\(\S*README\.md\)\s*$", re.MULTILINE)
_OUTSIDE = {
    "ARCHITECTURE.md": "/developers/architecture.md",
    "CHANGELOG.md": "/developers/changelog.md",
    "README.md": "/index.md",
}


def redirect(app: Sphinx, page: str, source: list[str]) -> None:
    """Change the text of a page before it is read; the way back to the README is what the site's menu is for."""
    text = _BACK.sub("", source[0])
    if page == app.config.root_doc:
        text = re.sub(r"^\*$", "\n".join(sorted(_unnamed(Path(app.srcdir), text))), text, flags=re.MULTILINE)
    for name, target in _OUTSIDE.items():
        text = re.sub(rf"\]\((?:\.\./)+{re.escape(name)}", f"]({target}", text)
    source[0] = text


def _unnamed(folder: Path, text: str) -> set[str]:
    """Return the pages beside the first one that it names in no menu."""
    named = set(re.findall(r"^[\w-]+$", text, re.MULTILINE))
    return {path.stem for path in folder.glob("*.md")} - named - {"index"}


def setup(app: Sphinx) -> dict[str, bool]:
    """Change pages as they are read."""
    app.connect("source-read", redirect)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
