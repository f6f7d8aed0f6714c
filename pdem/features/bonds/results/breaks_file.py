"""The file of broken bonds: one line for each bond, sorted by time and ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.features.bonds.columns import MODES
from pdem.foundation.errors import CheckpointError, InputError
from pdem.output.run_folder import BREAKS_FILE
from pdem.output.saving import RUN_GOES_ON, save_file
from pdem.output.summary import counted
from pdem.report.table import Table, csv_texts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.case.sections.schema import CaseData
    from pdem.foundation.array_types import Floats, Integers

_HEAD = ("time [s]", "step", "id_1", "id_2", "x [m]", "y [m]", "z [m]", "mode", "energy [J]", "bond")


class Breaks(NamedTuple):
    """Bonds that have broken, sorted by time and ids.

    Attributes
    ----------
    time : (n,) array
        End of the step in which each bond has broken [s].
    step : (n,) array
        Number of that step.
    ids : (n, 2) array
        Ids of both particles, the lower id first.
    position : (n, 3) array
        Middle of the bond [m].
    mode : (n,) array of str
        ``"tension"``, ``"shear"``, ``"bending"`` or ``"twist"``.
    energy : (n,) array
        Energy that the bond had stored [J].
    bond : (n,) array of str
        Name of the kind of the bond.
    """

    time: Floats
    step: Integers
    ids: Integers
    position: Floats
    mode: NDArray[Any]
    energy: Floats
    bond: NDArray[Any]


def breaks_of(events: Mapping[str, NDArray[Any]], names: list[str], step: float) -> Breaks:
    """Return events (`.broken`) as breaks, given the names of the kinds of bonds and the time step [s]."""
    return Breaks(
        events["step"] * step,
        events["step"],
        np.stack((events["lower"], events["higher"]), axis=1),
        events["position"],
        np.array([MODES[mode - 1] for mode in events["mode"].tolist()], dtype=str),
        events["energy"],
        np.array([names[kind] for kind in events["kind"].tolist()], dtype=str),
    )


def write_breaks(events: Mapping[str, NDArray[Any]] | None, case: CaseData, step: float, folder: Path) -> None:
    """Write the events of all ranks into a folder and replace an earlier file; do nothing for None.

    Raises
    ------
    WriteError
        If the disk is full.
    """
    if events is None:
        return
    columns = breaks_of(events, list(case.bonds), step)
    rows = [
        (repr(time), step, *ids, *map(repr, place), mode, repr(energy), bond)
        for time, step, ids, place, mode, energy, bond in zip(*(one.tolist() for one in columns), strict=True)
    ]
    save_file(folder / BREAKS_FILE, Table(_HEAD, rows).csv(), RUN_GOES_ON)


def read_breaks(folder: Path) -> Breaks:
    """Read the breaks of a run from its folder.

    Raises
    ------
    InputError
        If the folder has no file of breaks.
    CheckpointError
        If the file is not a table of breaks, or is damaged.
    """
    path = folder / BREAKS_FILE
    if not path.exists():
        raise InputError(f"{path}: is not there; it comes with the first snapshot of a case with [bonds.NAME]")
    try:
        texts = csv_texts(path, _HEAD)
        numbers = texts[:, [0, 4, 5, 6, 8]].astype(np.float64)
        return Breaks(
            numbers[:, 0], texts[:, 1].astype(np.int64), texts[:, 2:4].astype(np.int64), numbers[:, 1:4], texts[:, 7],
            numbers[:, 4], texts[:, 9],
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"{path}: is no table of broken bonds of pdem or is damaged ({error}); run the case again"
        ) from error


def breaks_line(count: Integers) -> str:
    """Return a line for the report on the numbers of bonds that have broken in each mode (4,)."""
    modes = ", ".join(f"{number} by {mode}" for number, mode in zip(count.tolist(), MODES, strict=True) if number)
    return f"bonds: {counted(int(count.sum()), 'bond')} broken: {modes}; see {BREAKS_FILE}"
