"""Parser of numbers in text: single words, and rows of tables as spreadsheets and scripts write them."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.foundation.texts import TextError, shown_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from pdem.foundation.array_types import Floats

_COMMENT = re.compile(r"(#|//|%).*")
_DIVIDER = re.compile(r"\s*,\s*|\s+")
_FORTRAN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)[dD][+-]?\d+")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
_FIELD = re.compile(r"\"[^\"]*\"|'[^']*'|[^\s\[(]+(?:\s*(?:\[[^\]]*\]|\([^)]*\)))?")
_MINUS = re.compile("[\u2010-\u2015\u2212]")
_QUOTES = " \t\"'"
_SIGNS = "#%/;,\"'"
"""If a text has none of these characters, blanks separate its columns and it has no comments."""


class NumberRow(NamedTuple):
    """A row of a table in a text.

    Attributes
    ----------
    number : int
        Line number, from 1 on.
    line : str
        The line without its comment.
    fields : list of str
        Text of each column.
    """

    number: int
    line: str
    fields: list[str]


def number_of(word: str) -> float:
    """Return the value of a word that is a number; exponents may be written with D, as in Fortran.

    Raises
    ------
    TextError
        If the word is not a number, with the probable reason.
    """
    try:
        if "_" not in word:  # Python allows underscores within numbers
            return float(word)
    except ValueError:
        pass
    if _FORTRAN.fullmatch(word):
        return float(word.lower().replace("d", "e"))
    raise TextError(f"{shown_text(word)} is not a number{_reason(word)}")


def is_number(word: str) -> bool:
    """Return whether a word is a number."""
    try:
        number_of(word)
    except TextError:
        return False
    return True


def numbers_of(words: Sequence[str]) -> Floats:
    """Return the values of words that are numbers, shape (n,).

    Raises
    ------
    TextError
        With the first word that is not a number.
    """
    try:
        if "_" not in "".join(words):
            return np.array(words, np.float64)
    except ValueError:
        pass
    return np.array([number_of(word) for word in words])


def numbers_in(text: str) -> Floats:
    """Return the numbers of a text that are separated by blanks and line ends, shape (n,); fast for millions.

    Raises
    ------
    TextError
        With the first word that is not a number.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.fromstring(text, dtype=np.float64, sep=" ") if text.strip() else np.zeros(0)
        except (DeprecationWarning, ValueError):
            return numbers_of(text.split())


def without_comment(line: str) -> str:
    """Return a line without its comment, which begins with ``#``, ``%`` or ``//``, and without surrounding blanks."""
    if "#" in line or "%" in line or "//" in line:
        line = _COMMENT.sub("", line)
    return line.strip()


def rows_of(text: str, widths: Collection[int], first: int = 1, sign: str = "") -> Iterator[NumberRow]:
    """Yield the rows of a table, without its empty lines.

    Commas, semicolons or blanks separate columns. Fields may be quoted. Empty fields at the end of a line are ignored.

    Parameters
    ----------
    text : str
        Lines of a table.
    widths : collection of int
        Possible numbers of columns of the table.
    first : int
        Number of the first line.
    sign : str
        In lines that contain this character, it is the only separator of columns; see `divider_of`.

    Raises
    ------
    TextError
        With the number of a line that has an empty field before its last field.
    """
    is_plain = not any(one in text for one in _SIGNS)
    for number, given in enumerate(text.split("\n"), first):
        line = given if is_plain else without_comment(given)
        fields = line.split() if is_plain else fields_of(line, widths, sign)
        if "" in fields:
            raise TextError(
                f"line {number}: column {fields.index('') + 1} is empty in {shown_text(line)}; give all columns"
            )
        if fields:
            yield NumberRow(number, line, fields)


def fields_of(line: str, widths: Collection[int], sign: str = "") -> list[str]:
    """Return the text of each column of a line, without empty fields at the end.

    Parameters
    ----------
    line : str
        Line without its comment.
    widths : collection of int
        Possible numbers of columns of the table, to distinguish decimal commas from commas between columns.
    sign : str
        In lines that contain this character, it is the only separator of columns; see `divider_of`.
    """
    sign = sign if sign and sign in line else ";" * (";" in line)
    if sign or '"' in line or "'" in line or "," in line:
        way = line.split(sign) if sign else _divided(line, widths)
        fields = [field.strip(_QUOTES) for field in way]
    else:
        fields = line.split()
    while fields and not fields[-1]:
        fields.pop()
    return fields


def _divided(line: str, widths: Collection[int]) -> list[str]:
    return _DIVIDER.split(line) if "," in line and not _has_decimal_commas(line, widths) else line.split()


def names_of(line: str) -> list[str]:
    """Return the column names in a heading line, each with its unit in brackets if it has one."""
    sign, line = divider_of(line), line.strip()
    names = [name.strip(_QUOTES) for name in (line.split(sign) if sign else _FIELD.findall(line))]
    while names and not names[-1]:
        names.pop()
    return names


def divider_of(line: str) -> str:
    """Return the character that separates the column names of a line, an empty string for blanks."""
    return next((sign for sign in ";,\t" if sign in line.strip()), "")


def is_decimal_comma(word: str) -> bool:
    """Return whether a word is a number with a decimal comma."""
    return bool(_DECIMAL_COMMA.fullmatch(word))


def is_heading(row: NumberRow) -> bool:
    """Return whether a row contains column names: no field is a number or a misspelt number."""
    return not any(is_number(word) or _is_nearly_number(word) for word in names_of(row.line))


def finite_numbers(row: NumberRow) -> list[float]:
    """Return the numbers of a line.

    Raises
    ------
    TextError
        With the number of the line, if a field is not a finite number.
    """
    try:
        numbers = [number_of(field) for field in row.fields]
    except TextError as error:
        raise TextError(f"line {row.number}: {error}") from None
    for field, number in zip(row.fields, numbers, strict=True):
        if not np.isfinite(number):
            raise TextError(f"line {row.number}: {shown_text(field)} is not a finite number")
    return numbers


def _has_decimal_commas(line: str, widths: Collection[int]) -> bool:
    """Return whether a line has one word per column and its commas are decimal commas."""
    words = line.split()
    if len(words) not in widths or not any(map(is_decimal_comma, words)):
        return False
    return all(is_number(word.replace(",", ".", 1)) for word in words)


def _is_nearly_number(word: str) -> bool:
    return is_decimal_comma(word) or bool(_MINUS.match(word) and is_number(_MINUS.sub("-", word)))


def _reason(word: str) -> str:
    if is_decimal_comma(word):
        return "; decimals are written with a point"
    if _MINUS.search(word):
        return "; write the minus as - (it is another sign here)"
    return ""
