"""The description of the package on an index, which shows the README without the files beside it."""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import setup

_LOCAL = r"\((?!https?:|#)[^)\s]+\)"


def description(readme: str) -> str:
    """Return a README without its pictures of this folder, and with the texts of links into it alone."""
    pictures = re.sub(rf"^!\[[^\]]*\]{_LOCAL}\n+", "", readme, flags=re.MULTILINE)
    return re.sub(rf"\[([^\]]+)\]{_LOCAL}", r"\1", pictures)


if __name__ == "__main__":  # run by setuptools as by hand
    text = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
    setup(long_description=description(text), long_description_content_type="text/markdown")
