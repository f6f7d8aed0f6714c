"""The site of the documentation: no warning, no link that leads nowhere, all keys with the text of `pdem explain`."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from pdem.case.explain.key_texts import meaning_of, models_in, plain
from pdem.case.explain.keys import explain
from pdem.case.sections.schema import CaseData
from pdem.features.registry import TERMS

DOCS = Path(__file__).resolve().parents[2] / "docs"
SHELL = "pdem: command", "pip ", "pyvista.read"
pytestmark = pytest.mark.compiles


class Page(HTMLParser):
    """What a page of HTML refers to, and what can be referred to in it."""

    def __init__(self, path):
        super().__init__()
        self.links, self.names = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for key, value in attributes:
            if key in ("id", "name"):
                self.names.add(value)
            elif key in ("href", "src") and value:
                self.links.append(value)


def build(source, target, theme):
    """Make a site without executing its tutorials."""
    how = ["-m", "sphinx", "-q", "--fail-on-warning", "--keep-going"]
    settings = ["-D", "nb_execution_mode=off", "-D", f"html_theme={theme}"]
    command = [sys.executable, *how, *settings, "-d", target / "read", source, target / "html"]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, env=os.environ)


@pytest.fixture(scope="module", params=["basic", pytest.param("furo", marks=pytest.mark.slow)])
def site(request, tmp_path_factory):
    """Return the pages by the plainest theme, which takes half of the time, or by their own."""
    for module in ("sphinx", "myst_nb", "furo", "sphinx_click", "sphinx_copybutton", "latex2mathml"):
        pytest.importorskip(module, reason="the site is made with the extra docs: pip install 'polydem[docs]'")
    folder = tmp_path_factory.mktemp("site")
    result = build(DOCS, folder, request.param)
    assert result.returncode == 0, result.stderr
    assert not result.stderr
    return folder / "html"


def test_every_link_within_the_site_leads_somewhere(site):
    pages = {path: Page(path) for path in site.rglob("*.html")}
    assert len(pages) > 50
    missing = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].names):
                missing.append(f"{path.relative_to(site)}: {link}")
    assert not missing


def test_pages_need_nothing_from_other_hosts(site):
    """Formulas are MathML, fonts those of the reader: pages work without a network."""
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|link|img)\b[^>]*(?:src|href)=\"(?:https?:)?//[^\"]*\"", text), path
    assert "<math" in (site / "theory" / "contact.html").read_text(encoding="utf-8")


def keys(model, seen):
    """Yield all pairs of a section of the case and a key in it."""
    if model not in seen:
        seen.add(model)
        for name, field in model.model_fields.items():
            yield model, name
            for inner in models_in(field):
                yield from keys(inner, seen)


@pytest.fixture(scope="module")
def reference():
    """Return the script that writes the page of all keys."""
    spec = importlib.util.spec_from_file_location("keys_script", DOCS.parent / "scripts" / "keys.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_reference_is_current(reference):
    text = (DOCS / "reference" / "keys.md").read_text(encoding="utf-8")
    assert text == reference.page(), "run python scripts/keys.py"


def test_reference_has_every_section_once(reference):
    names = [name for group in reference.GROUPS.values() for name in group]
    assert sorted([*names, "title"]) == sorted(CaseData.model_fields)


def test_site_has_every_section_of_the_reference(site):
    page = Page(site / "reference" / "keys.html")
    assert {name for name in CaseData.model_fields if name != "title"} <= {
        name.removesuffix("name") for name in page.names
    }


@pytest.mark.parametrize("section", [name for name in CaseData.model_fields if name != "title"])
def test_reference_has_every_key_with_its_text(section):
    """A text that several kinds of a table share may stand once."""
    words = simple((DOCS / "reference" / "keys.md").read_text(encoding="utf-8"))
    seen = set()
    for inner in models_in(CaseData.model_fields[section]):
        for model, name in keys(inner, seen):
            text = plain(meaning_of(model, name))
            assert simple(text) in words, f"{model.__name__}.{name}: {text}"
    assert simple(explain(section).splitlines()[2][:40]) in words


def simple(text):
    """Return a text without what typography changes."""
    return re.sub(r"[\s\"'“”‘’`*\\]|&quot;|&#39;|&#x27;|--|–|—|\.\.\.|…", "", text)


def test_every_column_of_the_ledger_is_explained():
    text = (DOCS / "reference" / "files.md").read_text(encoding="utf-8")
    assert not [name for name in TERMS.names if f"`{name}`" not in text]


def test_messages_of_the_page_of_errors_are_those_of_the_program():
    """Those in bold backticks; dots stand for what differs."""
    heads = re.findall(r"^\*\*(.*?)\*\*", (DOCS / "faq.md").read_text(encoding="utf-8"), re.MULTILINE)
    told = [text for head in heads for text in re.findall(r"`([^`]+)`", head) if not text.startswith(SHELL)]
    assert len(told) > 8
    paths = [path for folder in ("pdem", "decomposition") for path in (DOCS.parent / folder).rglob("*.py")]
    sources = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    sources = re.sub(r"[\"']\s*\n\s*f?[\"']", "", sources)  # a text over several lines
    parts = [part.strip() for text in told for part in text.split("...") if part.strip()]
    assert [part for part in parts if part not in sources] == []


def test_an_example_that_fails_stops_the_build_with_the_name_of_its_page(tmp_path):
    pytest.importorskip("myst_nb", reason="the site is made with the extra docs: pip install 'polydem[docs]'")
    (tmp_path / "index.md").write_text("# Pages\n\n```{toctree}\nbroken\n```\n")
    (tmp_path / "broken.md").write_text(
        "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n---\n# A page\n\n"
        "```{code-cell} ipython3\n%%bash\nfalse\n```\n"
    )
    settings = (DOCS / "conf.py").read_text(encoding="utf-8")
    (tmp_path / "conf.py").write_text(
        'extensions = ["myst_nb"]\n' + "\n".join(re.findall(r"^nb_\w+ = .*$", settings, re.MULTILINE))
    )
    command = [sys.executable, "-m", "sphinx", "-q", "-W", str(tmp_path), str(tmp_path / "html")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert "broken" in result.stderr
