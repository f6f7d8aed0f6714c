"""How Sphinx makes the site of these pages: `scripts/docs`."""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_extensions"), str(HERE.parent)]

from pdem.foundation.version import VERSION  # noqa: E402

project = "pdem"
author = "the pdem authors"
release = version = VERSION
html_title = f"pdem {VERSION}"
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["pdem.css"]
html_show_sourcelink = False
html_show_copyright = False
html_copy_source = False
html_logo = html_favicon = "_static/logo.svg"
html_baseurl = os.environ.get("PDEM_DOCS_URL", "")  # address of the site, for the pictures of shared links

# Pages link to their source in the repository once pyproject.toml names its address.
_URLS = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"].get("urls", {})
if repository := _URLS.get("Repository"):
    html_theme_options = {
        "source_repository": repository,
        "source_branch": "main",
        "source_directory": "docs/",
        "top_of_page_buttons": ["view", "edit"],
    }

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "sphinx_copybutton",
    "myst_nb",
    "cell_listings",
    "column_reference",
    "joined_output",
    "mathml",
    "page_links",
    "page_meta",
]
# The tables of columns in `generated` are parts of a page, no pages that a search should show.
exclude_patterns = ["_build", "_extensions", "_static", "generated", "**/.ipynb_checkpoints"]
highlight_language = "none"
default_role = "py:obj"
nitpicky = False
suppress_warnings = ["myst-nb.lexer"]  # of tutorials that are not executed

myst_enable_extensions = ["deflist", "dollarmath", "attrs_inline"]
myst_heading_anchors = 3
myst_dmath_double_inline = True
myst_links_external_new_tab = False

# Tutorials run each in a folder of its own; what fails stops the build with the name of the page.
nb_execution_mode = "cache"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 900
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_ivar = True
copybutton_exclude = ".linenos, .gp, .go"
