"""Functions for all modules that write files: HDF5 without file locks, replacement in one step, errors in one line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from pdem.foundation.errors import InputError
from pdem.output.hdf5.recoverable_file import WritableHDF5

if TYPE_CHECKING:
    from collections.abc import Mapping

Attribute = str | int | float

HDF5_ERRORS = (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError, MemoryError)
"""Exceptions of h5py for damaged or foreign files, or a failed write."""

_LARGEST_INTEGER = 2**63 - 1


def open_hdf5(path: Path, mode: str, **options: Any) -> h5py.File:
    """Open a file without a file lock: a viewer that reads it never stops the run that writes it.

    In a mode other than ``"r"``, the result is a `pdem.output.hdf5.recoverable_file.WritableHDF5`.
    """
    return h5py.File(path, mode, locking=False) if mode == "r" else WritableHDF5(path, mode, **options)


def unfilled_dataset() -> Any:
    """Return the properties of a new dataset that HDF5 allocates immediately and does not fill: ranks write it."""
    create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    create.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    create.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    create.set_obj_track_times(False)
    return create


def set_aside(path: Path) -> Path:
    """Rename an unreadable file to the first free ``NAME.torn-1``, ``-2``, ... and return the new path."""
    number = 1
    while (aside := path.with_name(f"{path.name}.torn-{number}")).exists():
        number += 1
    path.rename(aside)
    return aside


def plain_attribute(name: str, value: object) -> Attribute:
    """Return `value` as the str, int or float that HDF5 returns unchanged.

    Raises
    ------
    InputError
        When it has a different type, does not fit 64 bits, or is a text with a NUL character.
    """
    if isinstance(value, str) and "\0" not in value:
        return str(value)
    if isinstance(value, (int, np.integer, np.bool_)) and abs(int(value)) <= _LARGEST_INTEGER:
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value)
    raise InputError(f"attribute {name!r} is {repr(value)[:50]}; give text without NUL, a 64-bit integer or a float")


def write_attributes(node: h5py.Group, attributes: Mapping[str, object]) -> None:
    """Store `attributes` on the HDF5 `node`: texts as UTF-8, numbers as int64 and float64."""
    stored = node.attrs  # accessing ``attrs`` takes as long as writing an attribute
    for name, value in attributes.items():
        plain = plain_attribute(name, value)
        stored[name] = plain if isinstance(plain, str) else np.array(plain)[()]


def read_attributes(node: h5py.Group) -> dict[str, Attribute]:
    """Return the text and number attributes of the HDF5 `node`, sorted by name."""
    found: dict[str, Attribute] = {}
    for name in sorted(node.attrs):
        value = node.attrs[name]
        found[name] = value.item() if isinstance(value, np.generic) else value
    return found
