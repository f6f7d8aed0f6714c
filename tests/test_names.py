"""Public names that stand for several things: a reader who looks for one finds all. Budgets may only shrink."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted(path for folder in ("pdem", "decomposition") for path in (ROOT / folder).rglob("*.py"))

BUDGETS = {"class": 0, "function": 84, "constant": 152, "file": 72}
"""Names that are used in two modules or more, by kind. `feature.py`, `section.py` and others are one name each."""

MOST_FILES = 27
"""Modules of a folder."""


@cache
def modules_by_name():
    """Return for each kind of name in how many modules it is defined."""
    found = {kind: Counter() for kind in BUDGETS}
    for path in SOURCES:
        found["file"][path.name] += path.stem != "__init__"
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            for kind, name in defined(node):
                found[kind][name] += not name.startswith("_")
    return found


def defined(node):
    if isinstance(node, ast.ClassDef):
        yield "class", node.name
    elif isinstance(node, ast.FunctionDef):
        yield "function", node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            for one in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(one, ast.Name) and one.id.isupper():
                    yield "constant", one.id


@pytest.mark.parametrize("kind", BUDGETS)
def test_few_names_are_used_twice(kind):
    twice = sorted(name for name, number in modules_by_name()[kind].items() if number > 1)
    assert len(twice) <= BUDGETS[kind], f"{len(twice)} names of a {kind} in several modules: {', '.join(twice)}"


@pytest.mark.parametrize("kind", BUDGETS)
def test_budgets_shrink_with_the_code(kind):
    """Who removes a name that was used twice lowers the budget, so that nobody else fills it."""
    assert BUDGETS[kind] == sum(number > 1 for number in modules_by_name()[kind].values())


def test_folders_are_small():
    sizes = Counter(path.parent for path in SOURCES)
    assert not {str(folder.relative_to(ROOT)): size for folder, size in sizes.items() if size > MOST_FILES}
