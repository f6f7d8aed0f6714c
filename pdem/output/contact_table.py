"""Contacts at one time as columns by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.foundation.errors import InputError
from pdem.foundation.named import Named
from pdem.output.frames import data_frame
from pdem.output.snapshots.contact_snapshots import AGE_OF_CONTACT, LOST, STORED, contact_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

UNITS = {field.name: field.unit for field in contact_fields(energies=True, ages=True)} | dict.fromkeys(
    ("centre", "branch"), "m"
)
"""SI unit of each column."""

_ASKED_BY = {AGE_OF_CONTACT.name: "contact_ages", STORED.name: "energies", LOST.name: "energies"}
"""Keys of ``[output]`` that add further columns to contacts."""


class ContactTable(Named["NDArray[Any]"]):
    """Contacts: a dict of columns by name, rows in the order of ids. `Results.contacts_at` describes the columns.

    Parameters
    ----------
    columns : mapping of (n, ...) arrays
        The columns; empty if no contacts have been written.
    reason : str
        Reason if there are no contacts; the error for a missing column quotes it.
    """

    def __init__(self, columns: Mapping[str, NDArray[Any]], reason: str = "") -> None:
        super().__init__(columns, "column of contacts", reason)

    def hint(self, name: str) -> str:
        """Return the remedy for a missing column."""
        if name in _ASKED_BY:
            return f"run the case with output.{_ASKED_BY[name]} = true"
        return super().hint(name)

    def to_pandas(self) -> Any:
        """Return a pandas.DataFrame with a row for each contact, and ``force_x``, ``force_y``, ... for vectors.

        Units are in ``attrs["units"]`` of the frame.

        Raises
        ------
        InputError
            If no contacts have been written, or pandas is not installed.
        """
        if self.reason:
            raise InputError(self.reason)
        return data_frame(self, UNITS)
