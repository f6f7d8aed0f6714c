"""Texts of the example cases of ``pdem new``."""

from __future__ import annotations

import itertools
import re
import tomllib
from importlib import resources

from pdem.case.explain.example_table import EXAMPLE_TABLE
from pdem.case.messages import nearest_key_hint
from pdem.foundation.errors import CaseError


def example_groups() -> dict[str, tuple[str, ...]]:
    """Return the names of the examples of each group, in a good order for reading."""
    groups: dict[str, tuple[str, ...]] = {}
    for name, example in EXAMPLE_TABLE.items():
        groups[example.group] = (*groups.get(example.group, ()), name)
    return groups


def example_names() -> list[str]:
    """Return the names of all examples, in alphabetical order."""
    files = (resources.files("pdem.case") / "examples").iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


def example_text(name: str) -> str:
    """Return the case file of an example.

    Raises
    ------
    CaseError
        If there is no such example.
    """
    names = example_names()
    if name not in names:
        raise CaseError(f"{name!r} is not an example; {nearest_key_hint(name, names)}")
    return (resources.files("pdem.case") / "examples" / f"{name}.toml").read_text(encoding="utf-8")


def example_title(name: str) -> str:
    """Return the title of an example; see `title_of`."""
    return title_of(example_text(name))


def title_of(text: str) -> str:
    """Return the opening comment of a file up to its first colon or the end of its first sentence.

    A colon between numbers, as in sizes of 1 : 10, does not count.
    """
    return re.split(r"(?<!\s):\s|(?<!\d)(?<! al)\.(?:\s|$)", description_of(text))[0]


def description_of(text: str) -> str:
    """Return the opening comment of a file as one line."""
    comments = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    return " ".join(line.removeprefix("#").strip() for line in comments)


def example_results(name: str) -> str:
    """Return the output folder of an example, relative to the folder in which it is started."""
    return str(tomllib.loads(example_text(name))["output"]["folder"])
