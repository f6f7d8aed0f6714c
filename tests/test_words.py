"""Phrases that make a sentence hard to read at once, counted in docstrings, comments and pages.

Each stands for a noun that the reader has to look for: "those of which", "so many", a participle in place of a noun.
None is an error by itself, so that a room may have a few of them per thousand words. Lower the limit, never raise it.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

PHRASES = (
    # a pronoun in place of a noun
    "so many", "so much", "as many as", "of which", "of those", "those", "whose", "who", "whom", "what", "none of",
    "one of them", "the one before", "the one behind", "each other's", "others", "another", "the rest",
    # a participle in place of a noun, or of a verb that says more
    "found", "taken", "known", "kept", "seen", "told", "tell", "tells", "as given", "as wanted", "as they are",
    # a homely word in place of the word of the field
    "goes on", "go on", "went on", "stand", "stands", "lie", "lies", "do so", "did so", "does so", "likewise", "anew",
    "at once", "by then", "until then", "from then on", "in place of", "as far as", "no longer", "there is",
)  # fmt: skip

_PATTERN = re.compile(r"\b(" + "|".join(sorted(PHRASES, key=len, reverse=True)) + r")\b", re.IGNORECASE)
_CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)

LIMIT = 4.0
"""Phrases per 1,000 words of a room or of a page at the top."""


def texts_of(path: Path) -> list[str]:
    """Return the docstrings and comments of a Python file, or the text of a page; without code."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return [_CODE.sub("", source)]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = [ast.get_docstring(node) for node in ast.walk(ast.parse(source)) if isinstance(node, documented)]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    return [_CODE.sub("", text) for text in [*docstrings, *comments] if text]


def room_of(path: Path) -> str:
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[:2]) if parts[0] == "pdem" and len(parts) > 2 else parts[0]


def sources() -> list[Path]:
    folders = [ROOT / name for name in ("pdem", "decomposition", "benchmarks", "validation")]
    code = [path for folder in folders for path in folder.rglob("*.py")]
    made = {"_build", "generated"}
    pages = [path for path in (ROOT / "docs").rglob("*.md") if made.isdisjoint(path.parts)]
    return sorted([*code, *pages, *ROOT.glob("*.md")])


@cache
def counts() -> dict[str, tuple[int, int, Counter[str]]]:
    """Return by room the number of words, of phrases, and how often each file has one."""
    rooms: dict[str, tuple[int, int, Counter[str]]] = {}
    for path in sources():
        words, hits, files = rooms.get(room_of(path), (0, 0, Counter()))
        for text in texts_of(path):
            number = len(_PATTERN.findall(text))
            words, hits = words + len(re.findall(r"[A-Za-z]+", text)), hits + number
            files[str(path.relative_to(ROOT))] += number
        rooms[room_of(path)] = words, hits, files
    return rooms


@pytest.mark.parametrize("room", sorted({room_of(path) for path in sources()}))
def test_sentences_have_their_nouns(room):
    words, hits, files = counts()[room]
    worst = ", ".join(f"{name} ({number})" for name, number in files.most_common(5) if number)
    assert 1000 * hits <= LIMIT * max(words, 1), f"{1000 * hits / words:.1f} per 1,000 words: {worst}"


def test_phrases_are_counted_in_sentences_alone(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("What `those` do:\n```\nwhat\n```\nnothing else\n", encoding="utf-8")
    (text,) = texts_of(path)
    assert _PATTERN.findall(text) == ["What"]
