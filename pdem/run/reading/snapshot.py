"""All particles, walls, contacts and bonds of a finished run at one time."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pdem.case.rules.region_rules import region_of
from pdem.features.bonds.readings import FRAGMENT
from pdem.features.bonds.results.bond_lines import BondTable
from pdem.features.bonds.results.fragments import fragments_of
from pdem.features.registry import PARTICLE_FIELDS
from pdem.foundation.errors import InputError, name_hint
from pdem.output.compare import step_index
from pdem.output.contact_table import ContactTable
from pdem.output.frames import data_frame
from pdem.output.notebook import notebook_page, picture_of
from pdem.output.snapshots import vtkhdf
from pdem.output.snapshots.contact_snapshots import read_contacts
from pdem.output.snapshots.formats import BOND_FILE
from pdem.output.snapshots.snapshot_files import PARTICLE_FILE
from pdem.particles import regions
from pdem.run.reading.passing_curve import PassingCurve, sizes_of_particles

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.features.bonds.results.fragments import Fragments
    from pdem.foundation.array_types import Booleans, Floats
    from pdem.foundation.named import Named
    from pdem.run.reading.wall_snapshot import WallSnapshot


class SnapshotSource(Protocol):
    """Results of a run, as a snapshot needs them: `pdem.run.reading.results.Results`.

    Attributes
    ----------
    folder : Path
        Output folder of the run.
    """

    folder: Path

    @property
    def case(self) -> Case:
        """The case of the run."""
        ...

    @property
    def contact_times(self) -> Floats:
        """Times at which contacts were written [s]."""
        ...

    def contacts_at(self, time: float) -> ContactTable:
        """Return the contacts written nearest to a time [s]."""
        ...

    def walls_at(self, time: float) -> Named[WallSnapshot]:
        """Return the walls by name, at the snapshot nearest to a time [s]."""
        ...


class Snapshot:
    """All particles and walls at one time: ``snapshot.position``, ``snapshot["radius"]``, and so on.

    Attributes
    ----------
    time : float
        Simulated time [s].
    step : int
        Number of the time step.
    columns : dict of ndarray
        Fields of particles by name, rows ordered by id.
    """

    def __init__(self, results: SnapshotSource, index: int) -> None:
        step = vtkhdf.read_step(results.folder / PARTICLE_FILE, index)
        self.time, self.step = step.time, step.step
        self.columns = {"position": step.points, **step.point_data}
        self._results, self._tables = results, step.step_data

    @property
    def box(self) -> tuple[Floats, Floats]:
        """The box at this time: its lowest corner (3,), and its period vectors as rows (3, 3) [m].

        Along open axes the vectors are the sides of the domain. In a sheared box one vector is inclined.
        """
        if "box_corner" in self._tables:
            return self._tables["box_corner"][0], self._tables["box_vectors"]
        domain = self.case.domain
        return np.array(domain.lower), np.diag(np.subtract(domain.upper, domain.lower))

    @property
    def box_speeds(self) -> Floats | None:
        """Rates of the period vectors as rows (3, 3) [m/s]; None if the box does not deform."""
        found: Floats | None = self._tables.get("box_speeds")
        if found is None and "box_corner" in self._tables:
            raise InputError(
                f"{self._results.folder}: was written by an earlier version, which did not say how fast the box "
                "deforms; run the case again for fields"
            )
        return found

    def __len__(self) -> int:
        return len(self.columns["position"])

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self.columns:
            raise InputError(f"the snapshot has no field {name!r}; {name_hint(name, list(self.columns))}")
        return self.columns[name]

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name.startswith("_") or name not in self.columns:
            raise AttributeError(f"the snapshot has no field {name!r}; there are {', '.join(self.columns)}")
        return self.columns[name]

    def inside(self, region: Any) -> Booleans:
        """Return a mask of centres (n,) inside a region: a box, cylinder or ball as in the case file.

        Parameters
        ----------
        region : mapping or region of a case
            ``{"lower": [...], "upper": [...]}``, ``{"shape": "sphere", "centre": [...], "radius": ...}``, ...

        Raises
        ------
        InputError
            If the region is not valid.
        """
        return regions.distance(region_of(region), self.position) == 0.0

    def sizes(self, material: str | None = None, region: Any = None) -> PassingCurve:
        """Return the size distribution by mass, see `Results.sizes`.

        Raises
        ------
        InputError
            As for `Results.sizes`.
        """
        return sizes_of_particles(self.columns, self.time, self._results, material, region)

    @cached_property
    def walls(self) -> Named[WallSnapshot]:
        """The walls by name, empty if the case has no walls; a missing name raises `InputError`."""
        return self._results.walls_at(self.time)

    @cached_property
    def contacts(self) -> ContactTable:
        """The contacts as columns by name, see `Results.contacts_at`.

        If the run has written no contacts at this time, access to a column raises an error with the reason.
        """
        times = self._results.contact_times
        if bool(np.isclose(times, self.time, rtol=1e-9, atol=0.0).any()):
            return self._results.contacts_at(self.time)
        return ContactTable({}, why_no_contacts(times, self.time))

    @cached_property
    def bonds(self) -> BondTable:
        """The bonds as columns by name, see `pdem.features.bonds.results.bond_lines.BondTable`.

        If the case has no bonds, access to a column raises an error with the reason.
        """
        path = self._results.folder / BOND_FILE
        if not path.exists():
            return BondTable({}, f"{self._results.folder}: the run has written no bonds; give the case [bonds.NAME]")
        return BondTable(read_contacts(path, step_index(path, self.time)))

    @property
    def fragments(self) -> Fragments:
        """The fragments at this time, see `Results.fragments`.

        Raises
        ------
        InputError
            If the case has no bonds.
        """
        if FRAGMENT.name not in self.columns:
            raise InputError(f"{self._results.folder}: the run has no fragments; give the case [bonds.NAME]")
        density = np.array([np.nan if one.density is None else one.density for one in self.case.materials.values()])
        return fragments_of(self.columns, density, self.case.domain.dimension)

    def to_pandas(self) -> Any:
        """Return a pandas.DataFrame with a row per particle; vectors have columns ``position_x``, ``position_y``, ...

        ``attrs["units"]`` of the frame has the units.

        Raises
        ------
        InputError
            If pandas is not installed.
        """
        return data_frame(self.columns, {name: field.unit for name, field in PARTICLE_FIELDS.items()})

    @property
    def case(self) -> Case:
        """The case of the run."""
        return self._results.case

    @property
    def folder(self) -> Path:
        """The output folder of the run."""
        return self._results.folder

    def __repr__(self) -> str:
        """Return time, number of particles, and fields."""
        return f"Snapshot({self.time:.6g} s, {len(self)} particles: {', '.join(self.columns)})"

    def _repr_html_(self) -> str:
        """Return an HTML page for a notebook, with a picture and the range of each field."""
        rows: list[tuple[str, ...]] = [("field", "smallest", "mean", "largest", "unit")]
        for name, column in self.columns.items() if len(self) else ():
            values = np.linalg.norm(column, axis=1) if column.ndim > 1 else column
            label = f"|{name}|" if column.ndim > 1 else name
            unit = PARTICLE_FIELDS[name].unit if name in PARTICLE_FIELDS else ""
            numbers = (f"{number:.6g}" for number in (values.min(), values.mean(), values.max()))
            rows.append((label, *numbers, unit))
        image = picture_of(self._results.folder, self.time)
        return notebook_page(f"{self.time:.6g} s", f"{len(self)} particles, step {self.step}", rows, image)


def why_no_contacts(times: Floats, time: float | None = None) -> str:
    """Return why there are no contacts at a time [s] or at all; `times` are the times with contacts."""
    at = "" if time is None else f" at {time:.6g} s"
    if time is None or not len(times):
        return f"the run has written no contacts{at}: run it with output.contacts_every"
    nearest = times[np.argmin(np.abs(times - time))]
    return (
        f"the run has written no contacts{at}: the nearest are those at {nearest:.6g} s; let output.contacts_every "
        "be output.snapshots_every, a multiple of it, or that over a whole number"
    )
