"""A place in a text of TOML at which its parser has stopped."""

from __future__ import annotations

import re
from functools import cached_property

_STATEMENT = re.compile(r"\s*(?P<key>[^=#\"'\[{]*?|\"[^\"]*\")\s*=(?P<value>.*)\Z", re.DOTALL)
_STRINGS = re.compile(r"\"\"\".*?\"\"\"|'''.*?'''|\"(?!\"\")(?:[^\"\\\n]|\\.)*\"|'(?!'')[^'\n]*'|#[^\n]*", re.DOTALL)


class Place:
    """A place in a text.

    Parameters
    ----------
    text : str
        The whole text; its lines end with a line feed.
    position : int
        Number of the letter, from 0.
    reason : str
        Message of the parser.
    """

    def __init__(self, text: str, position: int, reason: str) -> None:
        self.text, self.position, self.reason = text, position, reason

    @classmethod
    def at_line(cls, text: str, number: int, column: int, reason: str) -> Place:
        """Return a place by its line and column, both from 1."""
        begin = 0
        for _ in range(number - 1):
            begin = text.index("\n", begin) + 1
        return cls(text, begin + column - 1, reason)

    def moved(self, position: int) -> Place:
        """Return another place in the same text."""
        return Place(self.text, position, self.reason)

    @cached_property
    def begin(self) -> int:
        """Position of the first letter of its line."""
        return self.text.rfind("\n", 0, self.position) + 1

    @property
    def number(self) -> int:
        """Number of its line, from 1."""
        return self.text.count("\n", 0, self.begin) + 1

    @property
    def column(self) -> int:
        """Number of its letter in the line, from 1."""
        return self.position - self.begin + 1

    @property
    def line(self) -> str:
        """Its line."""
        end = self.text.find("\n", self.begin)
        return self.text[self.begin :] if end < 0 else self.text[self.begin : end]

    @property
    def rest(self) -> str:
        """The line from here on."""
        return self.line[self.column - 1 :]

    @property
    def before(self) -> str:
        """The line up to here."""
        return self.line[: self.column - 1]

    @property
    def bare_line(self) -> str:
        """Its line with blanks in place of texts in quotes and of comments."""
        return blanked(self.line)

    @property
    def key(self) -> str:
        """What stands before the sign of equality, empty without one."""
        found = _STATEMENT.match(self.line)
        return found["key"].strip() if found else ""

    @property
    def value(self) -> str:
        """What stands behind the sign of equality without a comment, empty without one."""
        found = _STATEMENT.match(self.line)
        if not found:
            return ""
        begin = found.start("value")
        bare = blanked(self.line, comments_alone=True)
        return bare[begin:].strip()


def blanked(text: str, *, comments_alone: bool = False) -> str:
    """Return a text of TOML with blanks in place of texts in quotes and of comments, all else where it is."""

    def blank(found: re.Match[str]) -> str:
        if comments_alone and not found[0].startswith("#"):
            return found[0]
        return "".join("\n" if letter == "\n" else " " for letter in found[0])

    return _STRINGS.sub(blank, text)
