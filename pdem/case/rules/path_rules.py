"""Rules of the case file on names of files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pdem.case.messages import Problem
from pdem.case.sections.base import Section

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from pdem.case.sections.schema import CaseData

    Location: TypeAlias = tuple[str | int, ...]

_FILES = ("mesh", "file", "folder")


def path_problems(case: CaseData) -> Iterator[Problem]:
    """Refuse names of files with letters that nobody types: a backslash in quotes has become one."""
    for where, text in _file_names(case, ()):
        if not text.isprintable():
            meant = json.dumps(text, ensure_ascii=False)[1:-1].replace("\\", "/")
            yield Problem(
                where, f"has a control letter: in quotes a backslash begins a code; write slashes: {meant!r}"
            )


def _file_names(section: Section, where: Location) -> Iterator[tuple[Location, str]]:
    """Yield the location of each name of a file in a section, and the name."""
    for key, value in section:
        if key in _FILES and isinstance(value, str):
            yield (*where, key), value
        if isinstance(value, Section):
            yield from _file_names(value, (*where, key))
        many = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, tuple) else ()
        )
        for part, one in many:
            if isinstance(one, Section):
                yield from _file_names(one, (*where, key, part))
