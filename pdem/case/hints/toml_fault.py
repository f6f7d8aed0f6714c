"""A fault in a text of TOML: the position at which the parser has stopped, and its reason."""

from __future__ import annotations

import re
from functools import cached_property

_STATEMENT = re.compile(r"\s*(?P<key>[^=#\"'\[{]*?|\"[^\"]*\")\s*=(?P<value>.*)\Z", re.DOTALL)
_STRINGS = re.compile(r"\"\"\".*?\"\"\"|'''.*?'''|\"(?!\"\")(?:[^\"\\\n]|\\.)*\"|'(?!'')[^'\n]*'|#[^\n]*", re.DOTALL)


class TextFault:
    """A fault at a position in a text of TOML.

    Parameters
    ----------
    text : str
        The whole text, with lines that end in a line feed.
    position : int
        Index of the letter, from 0.
    reason : str
        Message of the parser.
    """

    def __init__(self, text: str, position: int, reason: str) -> None:
        self.text, self.position, self.reason = text, position, reason

    @classmethod
    def at_line(cls, text: str, number: int, column: int, reason: str) -> TextFault:
        """Return the fault at a line and column, both counted from 1."""
        begin = 0
        for _ in range(number - 1):
            begin = text.index("\n", begin) + 1
        return cls(text, begin + column - 1, reason)

    def moved(self, position: int) -> TextFault:
        """Return the same fault at a different position of the text."""
        return TextFault(self.text, position, self.reason)

    @cached_property
    def begin(self) -> int:
        """Position of the first letter of the line."""
        return self.text.rfind("\n", 0, self.position) + 1

    @property
    def number(self) -> int:
        """Number of the line, from 1."""
        return self.text.count("\n", 0, self.begin) + 1

    @property
    def column(self) -> int:
        """Number of the letter in the line, from 1."""
        return self.position - self.begin + 1

    @property
    def line(self) -> str:
        """The line that contains the position."""
        end = self.text.find("\n", self.begin)
        return self.text[self.begin :] if end < 0 else self.text[self.begin : end]

    @property
    def rest(self) -> str:
        """The line from the position on."""
        return self.line[self.column - 1 :]

    @property
    def before(self) -> str:
        """The line up to the position."""
        return self.line[: self.column - 1]

    @property
    def bare_line(self) -> str:
        """The line, with blanks for quoted texts and comments."""
        return blanked(self.line)

    @property
    def key(self) -> str:
        """The text before the equals sign; empty without an equals sign."""
        found = _STATEMENT.match(self.line)
        return found["key"].strip() if found else ""

    @property
    def value(self) -> str:
        """The text after the equals sign, without a comment; empty without an equals sign."""
        found = _STATEMENT.match(self.line)
        if not found:
            return ""
        begin = found.start("value")
        bare = blanked(self.line, comments_alone=True)
        return bare[begin:].strip()


def blanked(text: str, *, comments_alone: bool = False) -> str:
    """Return a text of TOML with blanks for quoted texts and comments; all other letters keep their positions."""

    def blank(found: re.Match[str]) -> str:
        if comments_alone and not found[0].startswith("#"):
            return found[0]
        return "".join("\n" if letter == "\n" else " " for letter in found[0])

    return _STRINGS.sub(blank, text)
