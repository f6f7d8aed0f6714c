"""In which values two cases differ, and in which of them what they simulate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pdem.case.model import Case

_MISSING = object()

HARMLESS = ("title", "time.", "output.", "decomposition.", "detection.", "limits.")
"""How keys begin that change nothing of what is simulated; of ``time``, `Case.resolved_step` does."""


def differences(then: Case, now: Case) -> list[tuple[str, str, str]]:
    """Return key, former and present value of all that differs between two cases, defaults included.

    Parameters
    ----------
    then, now : Case
        To be compared; where they were read from does not matter.

    Returns
    -------
    list of (str, str, str)
        Keys as in `Case.override`; ``nothing`` stands for a value that is not there.
    """
    before, after = (_flat("", case.model_dump(mode="python", exclude_none=True)) for case in (then, now))
    found = []
    for key in [*before, *(key for key in after if key not in before)]:
        old, new = before.get(key, _MISSING), after.get(key, _MISSING)
        if old is _MISSING or new is _MISSING or old != new:
            found.append((key, _shown(old), _shown(new)))
    return found


def physical_differences(then: Case, now: Case) -> list[tuple[str, str, str]]:
    """Return those `differences` that change what is simulated; the time step is not looked at."""
    return [
        row
        for row in differences(then, now)
        if not row[0].startswith(HARMLESS) or row[0].startswith("detection.wall")
    ]


def in_words(rows: list[tuple[str, str, str]], most: int = 3) -> str:
    """Return the first few differences in one line: ``friction 0.4, now 0.9; ...``."""
    shown = [f"{key} {old}, now {new}" for key, old, new in rows[:most]]
    return "; ".join([*shown, *([f"and {len(rows) - most} more"] if len(rows) > most else [])])


def _shown(value: Any) -> str:
    return "nothing" if value is _MISSING else repr(value)


def _flat(key: str, value: Any) -> dict[str, Any]:
    """Return the values of nested tables and of lists of them, by their whole keys."""
    if isinstance(value, dict):
        inner = [(f"{key}.{name}" if key else str(name), one) for name, one in value.items()]
    elif isinstance(value, (list, tuple)) and any(isinstance(one, dict) for one in value):
        inner = [(f"{key}[{place}]", one) for place, one in enumerate(value)]
    else:
        return {key: list(value) if isinstance(value, tuple) else value}
    return {name: leaf for part, one in inner for name, leaf in _flat(part, one).items()}
