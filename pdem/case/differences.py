"""Differences between two cases: of all values, and of values that change the physics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.case.sections.base import flat_keys

if TYPE_CHECKING:
    from pdem.case.model import Case

_MISSING = object()

NON_PHYSICAL_KEYS = ("title", "time.", "output.", "decomposition.", "detection.", "limits.", "fields")
"""Prefixes of keys that do not change the physics; `Case.resolved_step` compares the time step."""


def differences(old: Case, new: Case) -> list[tuple[str, str, str]]:
    """Return key, old and new value of all differences between two cases, defaults included.

    Parameters
    ----------
    old, new : Case
        The cases; their files do not matter.

    Returns
    -------
    list of (str, str, str)
        Keys as in `Case.override`; ``nothing`` stands for a missing value.
    """
    before, after = (flat_keys("", case.model_dump(mode="python", exclude_none=True)) for case in (old, new))
    found = []
    for key in [*before, *(key for key in after if key not in before)]:
        first, second = before.get(key, _MISSING), after.get(key, _MISSING)
        if first is _MISSING or second is _MISSING or first != second:
            found.append((key, _text_of(first), _text_of(second)))
    return found


def physical_differences(old: Case, new: Case) -> list[tuple[str, str, str]]:
    """Return the `differences` that change the physics, except for the time step."""
    return [
        row
        for row in differences(old, new)
        if not row[0].startswith(NON_PHYSICAL_KEYS) or row[0].startswith("detection.wall")
    ]


def differences_text(rows: list[tuple[str, str, str]], most: int = 3) -> str:
    """Return the first few differences in one line: ``friction 0.4, now 0.9; ...``."""
    texts = [f"{key} {old}, now {new}" for key, old, new in rows[:most]]
    return "; ".join([*texts, *([f"and {len(rows) - most} more"] if len(rows) > most else [])])


def _text_of(value: Any) -> str:
    return "nothing" if value is _MISSING else repr(value)
