"""Reader of TOML with messages that show the line, point at the mistake, and state its usual cause."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

from pdem.case.hints.toml_causes import cause_at
from pdem.case.hints.toml_fault import TextFault
from pdem.case.hints.toml_structure import structure_cause
from pdem.foundation.errors import CaseError

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHOWN = 100
"""Largest number of letters of a line in a message."""

_LONGEST_CAUSE = 240

_WHERE = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)\Z", re.DOTALL)


def parsed(text: str, source: str, lists: Sequence[str] = ()) -> dict[str, Any]:
    """Return parsed TOML.

    Parameters
    ----------
    text : str
        The text.
    source : str
        Name of its file, for messages.
    lists : sequence of str
        Names of sections that may occur several times, ``[[NAME]]``.

    Raises
    ------
    CaseError
        If it is not valid. The message contains the line of the text, a caret below the mistake, and the usual cause.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        fault, cause = _fault_and_cause(text, str(error), lists)
        where = f"line {fault.number}, column {fault.column}"
        raise CaseError(f"{source}: {where}: not valid TOML: {cause}\n{shown(fault)}") from None
    except (RecursionError, ValueError) as error:
        # Python limits the depth of nesting and the digits of an integer.
        raise CaseError(f"{source}: not usable TOML: {str(error).splitlines()[0]}") from None


def value_cause(text: str) -> str:
    """Return the usual cause why a text is not a TOML value; empty if no rule applies."""
    line = f"value = {text}"
    try:
        tomllib.loads(line)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        fault, cause = _fault_and_cause(line, str(error), ())
        return "" if cause == fault.reason else cause
    return ""


def _fault_and_cause(text: str, message: str, lists: Sequence[str]) -> tuple[TextFault, str]:
    """Return the position of a parser's error, moved to the beginning of the mistake, and its usual cause."""
    found = _WHERE.match(message)
    text = text.replace("\r\n", "\n")  # like the parser's count
    reason = found[1] if found else message
    if found and found[2]:
        fault = TextFault.at_line(text, int(found[2]), int(found[3]), reason)
    else:
        fault = TextFault(text, len(text.rstrip("\n")), reason)
    moved = structure_cause(fault, lists)
    fault, cause = moved if moved is not None else (fault, cause_at(fault) or reason)
    return fault, cause if len(cause) <= _LONGEST_CAUSE else f"{cause[:_LONGEST_CAUSE]} ..."


def shown(fault: TextFault) -> str:
    """Return the line of a position with a caret below it."""
    line, at = fault.line, fault.column - 1
    first = max(0, at - _SHOWN // 2) if len(line) > _SHOWN else 0
    part = line[first : first + _SHOWN]
    part = "".join(letter if letter.isprintable() else " " for letter in part)
    number = f"{fault.number:>5} | "
    return f"{number}{part}\n{' ' * (len(number) - 2)}| {' ' * (at - first)}^"
