"""The file of particles that have broken: one line for each, sorted by time and id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.foundation.errors import CheckpointError, InputError
from pdem.output.run_folder import BREAKAGE_FILE
from pdem.output.saving import RUN_GOES_ON, save_file
from pdem.output.summary import counted
from pdem.report.table import Table, csv_texts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.case.sections.schema import CaseData
    from pdem.foundation.array_types import Floats, Integers

_HEAD = (
    "time [s]", "step", "id", "material", "generation", "x [m]", "y [m]", "z [m]", "radius [m]", "mass [kg]",
    "energy [J/kg]", "stress [Pa]", "strength [J/kg or Pa]", "partner", "t10 [%]", "fragments", "first fragment",
    "fines [kg]", "released [J]",
)  # fmt: skip

CONTACT_ENDED = "ended contact"
"""Partner of a particle that has broken by the damage or the load of a contact that has ended."""


class BrokenParticles(NamedTuple):
    """Particles that have broken, sorted by time and id.

    Attributes
    ----------
    time, step : (n,) arrays
        End of the step in which each was replaced [s], and its number.
    id, generation : (n,) arrays
        Id of the particle, and number of breaks from a particle of the case to it.
    material : (n,) array of str
        Its material.
    position : (n, 3) array
        Its centre [m].
    radius, mass : (n,) arrays
        [m, kg].
    energy, stress : (n,) arrays
        Its share of the largest energy of a contact over its mass [J/kg], and the largest normal force over the squared
        diameter [Pa], 0 unless a material breaks by force.
    strength : (n,) array
        Its strength at this moment [J/kg or Pa].
    partner : (n,) array of str
        Id of the other particle or name of the wall of this contact, or `CONTACT_ENDED`.
    t10 : (n,) array
        Share of the mass below a tenth of its size, in percent.
    fragments, first_fragment : (n,) arrays
        Number of its fragments, and id of the first one; their ids are consecutive.
    fines : (n,) array
        Mass of fragments that were too small for spheres [kg].
    released : (n,) array
        Energy that its breakage took out of motion and contacts [J].
    """

    time: Floats
    step: Integers
    id: Integers
    material: NDArray[Any]
    generation: Integers
    position: Floats
    radius: Floats
    mass: Floats
    energy: Floats
    stress: Floats
    strength: Floats
    partner: NDArray[Any]
    t10: Floats
    fragments: Integers
    first_fragment: Integers
    fines: Floats
    released: Floats


_NAMES = tuple(name for name in BrokenParticles._fields if name not in ("time", "position"))
_WHOLE = ("step", "id", "generation", "fragments", "first_fragment")
_TEXTS = ("material", "partner")


def broken_particles_of(events: Mapping[str, NDArray[Any]], case: CaseData, step: float) -> BrokenParticles:
    """Return events (`..break_events`) as particles that have broken, for a time step [s]."""
    materials, walls = list(case.materials), [wall.name for wall in case.walls]
    partners = [
        CONTACT_ENDED if one == own else (str(one) if one >= 0 else walls[-1 - one])
        for one, own in zip(events["partner"].tolist(), events["id"].tolist(), strict=True)
    ]
    columns = {name: events[name] for name in _NAMES if name not in _TEXTS}
    names = np.array([materials[number] for number in events["material"].tolist()], str)
    return BrokenParticles(
        time=events["step"] * step, position=events["position"], material=names, partner=np.array(partners, str),
        **columns,
    )  # fmt: skip


def write_breakage(events: Mapping[str, NDArray[Any]] | None, case: CaseData, step: float, folder: Path) -> None:
    """Write the events of all ranks into a folder and replace an earlier file; do nothing for None.

    Raises
    ------
    WriteError
        If the disk is full.
    """
    if events is None:
        return
    found = broken_particles_of(events, case, step)
    columns = [found.time, found.step, found.id, found.material, found.generation, *found.position.T, *found[6:]]
    rows = [
        tuple(repr(one) if isinstance(one, float) else one for one in row)
        for row in zip(*(column.tolist() for column in columns), strict=True)
    ]
    save_file(folder / BREAKAGE_FILE, Table(_HEAD, rows).csv(), RUN_GOES_ON)


def read_breakage(folder: Path) -> BrokenParticles:
    """Read the particles that have broken in a run from its folder.

    Raises
    ------
    InputError
        If the folder has no such file.
    CheckpointError
        If the file is another table, or is damaged.
    """
    path = folder / BREAKAGE_FILE
    if not path.exists():
        raise InputError(
            f"{path}: is not there; it comes with the first snapshot of a case with [materials.NAME.breakage]"
        )
    try:
        texts = csv_texts(path, _HEAD).T
        position = texts[5:8].astype(np.float64).T
        columns = dict(zip(_NAMES, (texts[1], texts[2], texts[3], texts[4], *texts[8:]), strict=True))
        kinds = {name: np.int64 if name in _WHOLE else np.float64 for name in _NAMES if name not in _TEXTS}
        numbers = {name: columns[name].astype(kind) for name, kind in kinds.items()}
        named = {name: columns[name] for name in _TEXTS}
        return BrokenParticles(time=texts[0].astype(np.float64), position=position, **named, **numbers)
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"{path}: is no table of broken particles of pdem or is damaged ({error}); run the case again"
        ) from error


def breakage_line(broken: int, fragments: int, sums: Mapping[str, float]) -> str:
    """Return a line for the report on the particles that have broken."""
    return (
        f"breakage: {counted(broken, 'particle')} broken into {counted(fragments, 'fragment')} and "
        f"{sums['fines']:.6g} kg of fines; see {BREAKAGE_FILE}"
    )
