"""Causes of mistakes in TOML on other lines: lists and texts without an end, tables that occur twice."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pdem.case.hints.toml_fault import blanked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.case.hints.toml_fault import TextFault

_HEADER = re.compile(r"^[ \t]*(\[\[?)\s*([^\]\n]*?)\s*(\]\]?)", re.MULTILINE)
_KEY = re.compile(r"^[ \t]*([\w.\"'-]+)\s*=", re.MULTILINE)
_BEGIN_OF_STATEMENT = re.compile(r"\s*(?:[\w.\"'-]+\s*=|\[\[?\s*[A-Za-z_\"'][^\]=,]*\]\]?\s*(?:#.*)?$)")
_PAIRS = {"[": "]", "{": "}", "(": ")"}


def structure_cause(fault: TextFault, lists: Sequence[str]) -> tuple[TextFault, str] | None:
    """Return the beginning of a mistake that the parser noticed later, and its cause; None for other mistakes."""
    if fault.reason.startswith("Cannot "):
        return fault, _repeated(fault, lists)
    if fault.reason.startswith(("Unclosed", "Invalid value", "Invalid initial character")):
        return _unclosed(fault)
    if fault.reason.startswith(("Expected '\"'", 'Expected "', "Unterminated string", "Illegal character")):
        return _unclosed_text(fault)
    return None


def _repeated(fault: TextFault, lists: Sequence[str]) -> str:
    """Return the reason why a table or a key is not allowed here."""
    header = _HEADER.match(fault.line)
    if header is None:
        return _repeated_key(fault)
    name, many = header[2], header[1] == "[["
    first = next((one for one in _HEADER.finditer(fault.text, 0, fault.begin) if one[2] == name), None)
    within = next((one for one in _HEADER.finditer(fault.text, 0, fault.begin) if one[2].startswith(f"{name}.")), None)
    if many and first is None and within is not None:
        at = _line_of(fault, within.start())
        return f"[{within[2]}] in line {at} stands before it and belongs to one: put it behind its [[{name}]]"
    if first is None:
        at = _line_of_key(fault, name)
        return f"{name} is there already{f', in line {at}' if at else ''}: keep all its keys in one place"
    at = _line_of(fault, first.start())
    if name in lists:
        which = f"both here and in line {at}" if not many else f"in line {at} as well"
        return f"there may be several of {name}: write [[{name}]] with two brackets, {which}"
    if many:
        return f"there is only one {name}, [{name}] in line {at}: write [{name}] with its keys once"
    return f"the table [{name}] is there already, in line {at}: put its keys together there"


def _repeated_key(fault: TextFault) -> str:
    """Return the hint on the first occurrence of a repeated key."""
    key = fault.key or fault.line.partition("=")[0].strip()
    header = list(_HEADER.finditer(fault.text, 0, fault.begin))
    begin = header[-1].end() if header else 0
    earlier = [one for one in _KEY.finditer(fault.text, begin, fault.begin) if one[1] == key]
    if earlier:
        at = _line_of(fault, earlier[0].start(1))
        return f"the key {key} is given twice, first in line {at}: keep one of them"
    return f"{key or 'this'} is given twice: keep one of them"


def _line_of(fault: TextFault, position: int) -> int:
    """Return the number of the line that contains the first letter at or after a position."""
    while position < len(fault.text) and fault.text[position].isspace():
        position += 1
    return fault.text.count("\n", 0, position) + 1


def _line_of_key(fault: TextFault, name: str) -> int:
    """Return the number of the line in which a key defines a table; 0 if there is none."""
    first = next((one for one in _KEY.finditer(fault.text, 0, fault.begin) if one[1] == name), None)
    return 0 if first is None else _line_of(fault, first.start(1))


def _unclosed(fault: TextFault) -> tuple[TextFault, str] | None:
    """Return the position of a bracket that is never closed, or of a wrong separator, and the cause."""
    opened = _open_brackets(fault)
    if not opened:
        return None
    first, bracket = fault.moved(opened[-1]), fault.text[opened[-1]]
    wanted, what = _PAIRS[bracket], "list" if bracket == "[" else "inline table"
    at_end = fault.position >= len(fault.text.rstrip())
    letter = "" if at_end else fault.text[fault.position]
    if letter in tuple(")}]") and letter != wanted:
        return fault, f"the {what} that begins with {bracket} ends with {wanted}, not with {letter}"
    if bracket == "{":
        return (first, _one_line(first)) if at_end or letter == "\n" or first.number != fault.number else None
    if at_end or (_BEGIN_OF_STATEMENT.match(fault.line) and not fault.before.strip()):
        return first, f"the list that begins here has no {wanted}"
    return None


def _one_line(first: TextFault) -> str:
    key = first.key or "NAME"
    text = "an inline table {...} begins and ends on one line, without a comma at its end"
    return f"{text}; for several lines begin a table: [SECTION.{key}], and a line for each key"


def _open_brackets(fault: TextFault) -> list[int]:
    """Return the positions of the brackets before a position that are still open there."""
    opened: list[int] = []
    for position, letter in enumerate(blanked(fault.text[: fault.position])):
        if letter in "[{":
            opened.append(position)
        elif letter in "]}" and opened:
            opened.pop()
    return opened


def _unclosed_text(fault: TextFault) -> tuple[TextFault, str] | None:
    """Return the beginning of a quoted text without an end, and the cause."""
    bare = blanked(fault.text)
    first = next((at for at, letter in enumerate(bare) if letter in "\"'"), len(bare))
    if first >= fault.position:
        return None
    begin, mark = fault.moved(first), bare[first]
    if fault.text[first : first + 3] == 3 * mark:
        return begin, f"the text that begins here with {3 * mark} does not end with {3 * mark}"
    other = '"' if mark == "'" else "'"
    ends_with_other = begin.line.rstrip(" ,]}").endswith(other)
    how = f"but with {other}: take the same quotes" if ends_with_other else "on this line"
    return begin, f"the text that begins here with {mark} does not end with {mark} {how}"
