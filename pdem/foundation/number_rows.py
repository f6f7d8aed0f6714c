"""Numbers in text: words, and lines of them as spreadsheets and scripts write them."""

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
"""Signs without which columns are divided by blanks, and there are no comments."""


class NumberRow(NamedTuple):
    """A line of a table.

    Attributes
    ----------
    number : int
        Of the line, from 1 on.
    line : str
        Without its comment.
    fields : list of str
        What stands in its columns.
    """

    number: int
    line: str
    fields: list[str]


def number_of(word: str) -> float:
    """Return the number that a word is; exponents may be written with D, as Fortran does.

    Raises
    ------
    TextError
        If it is none, with the probable reason.
    """
    try:
        if "_" not in word:  # which Python allows within numbers
            return float(word)
    except ValueError:
        pass
    if _FORTRAN.fullmatch(word):
        return float(word.lower().replace("d", "e"))
    raise TextError(f"{shown_text(word)} is not a number{_reason(word)}")


def is_number(word: str) -> bool:
    """Tell whether a word is a number."""
    try:
        number_of(word)
    except TextError:
        return False
    return True


def numbers_of(words: Sequence[str]) -> Floats:
    """Return the numbers that words are, shape (n,).

    Raises
    ------
    TextError
        Naming the first word that is none.
    """
    try:
        if "_" not in "".join(words):
            return np.array(words, np.float64)
    except ValueError:
        pass
    return np.array([number_of(word) for word in words])


def numbers_in(text: str) -> Floats:
    """Return the numbers in a text that are divided by blanks and ends of lines; fast for millions.

    Raises
    ------
    TextError
        Naming the first word that is none.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.fromstring(text, dtype=np.float64, sep=" ") if text.strip() else np.zeros(0)
        except (DeprecationWarning, ValueError):
            return numbers_of(text.split())


def without_comment(line: str) -> str:
    """Return a line without the comment that ``#``, ``%`` or ``//`` begins, and without blanks around it."""
    if "#" in line or "%" in line or "//" in line:
        line = _COMMENT.sub("", line)
    return line.strip()


def rows_of(text: str, widths: Collection[int], first: int = 1, sign: str = "") -> Iterator[NumberRow]:
    """Yield the lines that are not empty.

    Columns are divided by commas, semicolons or blanks, fields may stand in quotes, and empty ones at the end are none.

    Parameters
    ----------
    text : str
        Lines of a table.
    widths : collection of int
        Numbers of columns that it may have.
    first : int
        Number of the first line.
    sign : str
        What divides columns, and nothing else does, in lines that have it; see `divider_of`.

    Raises
    ------
    TextError
        With the number of a line that has an empty field between others.
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
    """Return what stands in the columns of a line, without empty ones at its end.

    Parameters
    ----------
    line : str
        Without comment.
    widths : collection of int
        Numbers of columns that it may have; they tell decimal commas from those that divide columns.
    sign : str
        What divides columns, and nothing else does, in lines that have it; see `divider_of`.
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
    """Return the names of columns in a line of them, with their units in brackets if they have some."""
    sign, line = divider_of(line), line.strip()
    names = [name.strip(_QUOTES) for name in (line.split(sign) if sign else _FIELD.findall(line))]
    while names and not names[-1]:
        names.pop()
    return names


def divider_of(line: str) -> str:
    """Return the sign that divides the names of columns in a line, empty if these are blanks."""
    return next((sign for sign in ";,\t" if sign in line.strip()), "")


def is_decimal_comma(word: str) -> bool:
    """Tell whether a word is a number with a comma in place of the decimal point."""
    return bool(_DECIMAL_COMMA.fullmatch(word))


def is_heading(row: NumberRow) -> bool:
    """Tell whether a line names columns: none of its fields is a number, or could have been one."""
    return not any(is_number(word) or _is_nearly_number(word) for word in names_of(row.line))


def finite_numbers(row: NumberRow) -> list[float]:
    """Return the numbers of a line.

    Raises
    ------
    TextError
        With the number of the line, if a field is no finite number.
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
    """Tell whether a line has as many words as columns, and commas within some, which are numbers with points."""
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
