"""Decoder of text files from users and other programs: the only place where their bytes become characters.

Case files, tables, lists of spheres and meshes in text are decoded by `text_of`, so that each of them may come from an
editor of Windows, from a spreadsheet, or from a program of the last century.
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
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with the mark of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LFS = b"version https://git-lfs.github.com/spec/"
_PAGE = re.compile(rb"\s*(<!doctype\s+html|<html)", re.IGNORECASE)
_LONGEST = 60
_LEAST_ASCII = 0.05


class TextError(ValueError):
    """Content that is not text, or not the expected file; the message has neither the path nor a full stop."""


class NoTextError(TextError):
    """Content that is binary."""


def text_of(content: bytes) -> str:
    r"""Return the text that bytes encode, with ``\n`` as the line end.

    A byte order mark decides on the encoding: UTF-8, UTF-16 or UTF-32. Without a mark the encoding is UTF-8, or, if the
    bytes are not valid UTF-8, Western Windows (CP1252, which has all printable characters of Latin-1). Marks are
    removed, also at the beginning of later lines, where joined files have them. Line ends may be of Unix, Windows or
    old Macintosh.

    Raises
    ------
    NoTextError
        If the content is binary.
    TextError
        If the content is a substitute for the file: a web page, or a pointer of Git LFS.
    """
    if problem := stand_in(content):
        raise TextError(problem)
    text = _decoded(content)
    if "\0" in text:
        raise NoTextError(f"is no text: character {text.index(chr(0)) + 1} is zero")
    return plain_text(text)


def plain_text(text: str) -> str:
    r"""Return a text without byte order marks and with ``\n`` as the line end."""
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
    """Return whether bytes begin with a byte order mark."""
    return any(content.startswith(mark) for mark, _ in _MARKS)


def is_wide(content: bytes) -> bool:
    """Return whether bytes begin with the mark of an encoding with several bytes per character (UTF-16 or UTF-32)."""
    return has_mark(content) and not content.startswith(codecs.BOM_UTF8)


def stand_in(content: bytes) -> str:
    """Return a description of a substitute for a file that was not downloaded, empty for other content."""
    if content.startswith(_LFS):
        return "is a pointer of Git LFS and not the file itself; fetch the file with 'git lfs pull'"
    if _PAGE.match(content):
        return "is a web page (HTML) and not the file itself; download the file again"
    return ""


def shown_text(text: str) -> str:
    """Return words of a file for a message: on one line, in quotes, printable and at most 60 characters long."""
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
    """Decode UTF-16 or UTF-32, and raise an error for binary content that begins with such a mark by chance."""
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
