"""Dictionaries that raise a helpful error for a missing name."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, TypeVar

from pdem.foundation.errors import InputError, name_hint

if TYPE_CHECKING:
    from collections.abc import Mapping

Thing = TypeVar("Thing")


class Named(dict[str, Thing]):
    """A dict by name; looking up a missing name raises `InputError`.

    Parameters
    ----------
    things : mapping of str
        Objects by name.
    kind : str
        Kind of the objects for messages, such as ``wall`` in: there is no wall 'gat'; did you mean 'gate'?
    reason : str
        Explanation of an empty mapping, used as the error message.

    Attributes
    ----------
    reason : str
        The parameter `reason` if the mapping is empty, otherwise an empty string.
    """

    def __init__(self, things: Mapping[str, Thing], kind: str, reason: str = "") -> None:
        super().__init__(things)
        self._kind, self.reason = kind, "" if things else reason

    def __missing__(self, name: str) -> NoReturn:
        raise InputError(self.reason or f"there is no {self._kind} {name!r}; {self.hint(name)}")

    def hint(self, name: str) -> str:
        """Return advice for a name that is missing."""
        return name_hint(name, list(self))
