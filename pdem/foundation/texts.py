"""Texts that users hand in, of whatever program: the one place where their bytes become characters.

Case files, tables, lists of spheres and meshes in text go through `text_of`, so that all of them may be written by an
editor of Windows, by a spreadsheet, or by a program of the last century.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_MARK = "\ufeff"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LFS = b"version https://git-lfs.github.com/spec/"
_PAGE = re.compile(rb"\s*(<!doctype\s+html|<html)", re.IGNORECASE)
_LONGEST = 60
_LEAST_ASCII = 0.05


class TextError(ValueError):
    """Content that is no text, or not what it should be; the message has neither the path nor a full stop."""


class NoTextError(TextError):
    """Content that is binary."""


def text_of(content: bytes) -> str:
    r"""Return the text that some bytes encode, with lines that end in ``\n``.

    A byte order mark says what the encoding is: UTF-8, UTF-16 or UTF-32. Without a mark it is UTF-8, and if it is not,
    the encoding of Western Windows (CP1252, which has all printable characters of Latin-1). Marks are removed, also
    at the beginning of later lines, where joined files have them. Lines may end as in Unix, Windows or old Macintoshes.

    Raises
    ------
    NoTextError
        If the content is binary.
    TextError
        If it stands in the place of the file: a web page, or a pointer of Git LFS.
    """
    if problem := stand_in(content):
        raise TextError(problem)
    text = _decoded(content)
    if "\0" in text:
        raise NoTextError(f"is no text: character {text.index(chr(0)) + 1} is zero")
    return plain_text(text)


def plain_text(text: str) -> str:
    r"""Return a text without byte order marks, with lines that end in ``\n``."""
    text = text.lstrip(_MARK)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.replace(f"\n{_MARK}", "\n") if _MARK in text else text


def read_text(path: Path) -> str:
    """Return the text of a file; see `text_of`.

    Raises
    ------
    TextError
        As for `text_of`.
    OSError
        If the file cannot be read.
    """
    return text_of(path.read_bytes())


def has_mark(content: bytes) -> bool:
    """Tell whether some bytes begin with a byte order mark."""
    return any(content.startswith(mark) for mark, _ in _MARKS)


def is_wide(content: bytes) -> bool:
    """Tell whether some bytes begin with the mark of an encoding whose characters have several bytes each."""
    return has_mark(content) and not content.startswith(codecs.BOM_UTF8)


def stand_in(content: bytes) -> str:
    """Return which thing is in the place of a file that was not fetched; empty if nothing of the kind."""
    if content.startswith(_LFS):
        return "is a pointer of Git LFS and not the file itself; fetch the file with 'git lfs pull'"
    if _PAGE.match(content):
        return "is a web page (HTML) and not the file itself; download the file again"
    return ""


def shown_text(text: str) -> str:
    """Return words of a file as messages show them: on one line, in quotes, printable and not too long."""
    line = " ".join(text.split())
    line = "".join(letter if letter.isprintable() else "?" for letter in line[: _LONGEST + 1])
    return f'"{line}"' if len(line) <= _LONGEST else f'"{line[: _LONGEST - 3]}..."'


def _decoded(content: bytes) -> str:
    mark, encoding = next(((mark, name) for mark, name in _MARKS if content.startswith(mark)), (b"", "utf-8"))
    rest = content[len(mark) :]
    if encoding != "utf-8":
        return _wide_text(rest, encoding)
    try:
        return rest.decode(encoding)
    except UnicodeDecodeError:
        pass
    try:
        return rest.decode("cp1252")
    except UnicodeDecodeError:
        return rest.decode("latin-1")


def _wide_text(rest: bytes, encoding: str) -> str:
    """Return text with several bytes for each character; other content may begin with such a mark by chance."""
    try:
        text = rest.decode(encoding)
    except UnicodeDecodeError:
        text = ""
    if rest and sum(map(str.isascii, text)) <= _LEAST_ASCII * len(text):
        raise NoTextError(
            f"is no text: it begins with the byte order mark of {encoding[:-3].upper()}, and goes on otherwise; save "
            "it as text in UTF-8"
        )
    return text
