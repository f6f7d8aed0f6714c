"""Things by name, of which one that is not there is an error that says why."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, TypeVar

from pdem.foundation.errors import InputError, name_hint

if TYPE_CHECKING:
    from collections.abc import Mapping

Thing = TypeVar("Thing")


class Named(dict[str, Thing]):
    """A dict by name; to ask for a name that it lacks is an `InputError`.

    Parameters
    ----------
    things : mapping of str
        What there is.
    kind : str
        What the names are of, such as ``wall``: there is no wall 'gat'; did you mean 'gate'?
    reason : str
        Why there are none at all: what the error says then.

    Attributes
    ----------
    reason : str
        As given if there are none, else empty.
    """

    def __init__(self, things: Mapping[str, Thing], kind: str, reason: str = "") -> None:
        super().__init__(things)
        self._kind, self.reason = kind, "" if things else reason

    def __missing__(self, name: str) -> NoReturn:
        raise InputError(self.reason or f"there is no {self._kind} {name!r}; {self.hint(name)}")

    def hint(self, name: str) -> str:
        """Return what to do about a name that is not there."""
        return name_hint(name, list(self))
