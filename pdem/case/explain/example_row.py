"""A row of the table of example cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class ExampleRow(NamedTuple):
    """A row of the table of examples.

    Parameters
    ----------
    group : str
        Heading in ``pdem new --list``.
    changes : mapping of str to str
        Settings to try next, as for ``--set``, each with its effect.
    look : str
        Options of ``pdem render`` for picture and film.
    time : float, optional
        Time of the picture [s]; the last snapshot by default.
    film : bool
        Whether the page has a film.
    shorter : tuple of str
        Settings of the gallery's run, where the whole case would take much longer than two minutes.
    """

    group: str
    changes: Mapping[str, str]
    look: str = ""
    time: float | None = None
    film: bool = False
    shorter: tuple[str, ...] = ()
