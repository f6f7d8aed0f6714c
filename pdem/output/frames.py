"""Conversion of columns to pandas tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.foundation.errors import InputError, how_to_install

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_AXES = "xyz"


def data_frame(columns: Mapping[str, NDArray[Any]], units: Mapping[str, str]) -> Any:
    """Return a pandas.DataFrame of columns with one row each; a vector becomes a column for each component.

    Parameters
    ----------
    columns : mapping of (n, ...) arrays
        Columns by name. Components of vectors along three axes are named ``force_x``, ``force_y``, ``force_z``,
        components of other vectors by their indices from 0 on.
    units : mapping of str to str
        SI unit of each column, ``"1"`` without dimension; ``attrs["units"]`` of the frame has the units of its columns.

    Raises
    ------
    InputError
        If pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise InputError(
            f"pandas is not installed: {how_to_install('pandas')}; columns by name are there without it"
        ) from None
    flat = {
        label: (name, values)
        for name, column in columns.items()
        for label, values in _components(name, np.asarray(column))
    }
    frame = pandas.DataFrame({label: values for label, (_, values) in flat.items()})
    frame.attrs["units"] = {label: units.get(name, "1") for label, (name, _) in flat.items()}
    return frame


def _components(name: str, column: NDArray[Any]) -> list[tuple[str, NDArray[Any]]]:
    """Return the components (n,) of a column with their names."""
    if column.ndim == 1:
        return [(name, column)]
    rows = column.reshape(len(column), -1)
    many = rows.shape[1]
    ends = _AXES if many == len(_AXES) else [str(number) for number in range(many)]
    return [(f"{name}_{end}", np.ascontiguousarray(values)) for end, values in zip(ends, rows.T, strict=True)]
