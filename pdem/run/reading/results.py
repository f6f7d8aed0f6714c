"""Results of a run for scripts and notebooks: series, snapshots by time, walls with loads, the case, the log."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from pdem.case.model import Case
from pdem.features.bonds.results.breaks_file import read_breaks
from pdem.features.breakage.results.breakage_file import read_breakage
from pdem.features.breakage.results.fines import fines_below
from pdem.features.collisions.counted import edges_of, read_collisions
from pdem.foundation.arguments import path_of
from pdem.foundation.errors import InputError, name_hint
from pdem.foundation.named import Named
from pdem.output.contact_table import ContactTable
from pdem.output.frames import data_frame
from pdem.output.log import LOG_FILE
from pdem.output.notebook import notebook_page, picture_of
from pdem.output.run_folder import COLLISION_FILE, PICTURE_FILE
from pdem.output.series import TABLE, read_series, read_units, series_attributes
from pdem.output.snapshots import vtkhdf
from pdem.output.snapshots.contact_snapshots import CONTACT_FILE, read_contacts
from pdem.output.snapshots.image_series import FIELD_FILES, field_file
from pdem.output.snapshots.snapshot_files import PARTICLE_FILE, WALL_FILE
from pdem.run.reading.field_series import FieldSeries
from pdem.run.reading.snapshot import Snapshot, why_no_contacts
from pdem.run.reading.wall_snapshot import WallSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import ArrayLike, NDArray

    from pdem.features.bonds.results.breaks_file import Breaks
    from pdem.features.bonds.results.fragments import Fragments
    from pdem.features.breakage.results.breakage_file import BrokenParticles
    from pdem.features.collisions.counted import CollisionEnergies
    from pdem.foundation.array_types import Floats
    from pdem.run.reading.passing_curve import PassingCurve

_SHOWN_COLUMNS = 12


class SeriesTable:
    """The series of a run: columns by name.

    Parameters
    ----------
    rows : structured array (n,)
        A row for each line, a field for each column.
    units : mapping of str to str
        SI unit of each column, ``"1"`` without dimension.
    """

    def __init__(self, rows: NDArray[Any], units: Mapping[str, str]) -> None:
        self.rows, self.units = rows, dict(units)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.rows.dtype.names or ())

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the columns; thus ``dict(series)`` and ``in`` work as for tables of pandas."""
        return iter(self.names)

    def keys(self) -> tuple[str, ...]:
        """Return the names of the columns; ``dict(series)`` uses them."""
        return self.names

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self.names:
            raise InputError(f"the series has no column {name!r}; {name_hint(name, list(self.names))}")
        return self.rows[name]

    def to_pandas(self) -> Any:
        """Return a pandas.DataFrame with the same columns; ``attrs["units"]`` has their units.

        Raises
        ------
        InputError
            If pandas is not installed.
        """
        return data_frame({name: self.rows[name] for name in self.names}, self.units)

    def __repr__(self) -> str:
        """Return the number of lines, and the first columns with their units."""
        shown = [f"{name} [{self.units.get(name, '1')}]" for name in self.names[:_SHOWN_COLUMNS]]
        more = f" and {len(self.names) - _SHOWN_COLUMNS} more" if len(self.names) > _SHOWN_COLUMNS else ""
        return f"SeriesTable({len(self)} lines of {', '.join(shown)}{more})"


class Results:
    """The results in the output folder of a run. Files are opened on access.

    Iteration yields the snapshots in order; ``len(results)`` is their number.

    Parameters
    ----------
    folder : path
        Output folder of a run, which may still be in progress.

    Raises
    ------
    InputError
        If the folder does not exist, or contains no results of a run.

    Examples
    --------
    >>> results = Results("results/hopper")  # doctest: +SKIP
    >>> results.series["time"], results.series.units["translation"]  # doctest: +SKIP
    >>> results.at(0.5).position.mean(axis=0)  # doctest: +SKIP
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = path_of(folder)
        if not self.folder.is_dir():
            raise InputError(f"{self.folder}: no such folder; name the output folder of a run")
        if not any((self.folder / name).exists() for name in (PARTICLE_FILE, f"{TABLE}.h5")):
            raise InputError(f"{self.folder}: holds no results of a run; name its output.folder")

    @property
    def series(self) -> SeriesTable:
        """The present content of the series."""
        path = self.folder / f"{TABLE}.h5"
        return SeriesTable(read_series(path), read_units(path))

    @property
    def times(self) -> Floats:
        """Times of all snapshots [s]."""
        return vtkhdf.read_times(self.folder / PARTICLE_FILE)

    def __len__(self) -> int:
        return len(self.times)

    @overload
    def __getitem__(self, index: int) -> Snapshot: ...
    @overload
    def __getitem__(self, index: slice) -> list[Snapshot]: ...
    def __getitem__(self, index: int | slice) -> Snapshot | list[Snapshot]:
        count = len(self)
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(count))]
        if not isinstance(index, int | np.integer):
            raise TypeError(
                f"snapshots have numbers, results[0], and ranges, results[2:5], not {index!r}; results.at(time) gives "
                "the one nearest to a time in s"
            )
        if not -count <= index < count:
            raise IndexError(f"{self.folder} has {count} snapshots, there is no number {index}")
        return Snapshot(self, index % count)

    def __iter__(self) -> Iterator[Snapshot]:
        return (self[index] for index in range(len(self)))

    def at(self, time: float) -> Snapshot:
        """Return the snapshot nearest to a time [s].

        Raises
        ------
        InputError
            If the run has no snapshot.
        """
        times = self.times
        if not len(times):
            raise InputError(f"{self.folder}: has no snapshot yet")
        return self[int(np.argmin(np.abs(times - time)))]

    def walls_at(self, time: float) -> Named[WallSnapshot]:
        """Return the walls by name, at the snapshot nearest to a time [s]; empty without walls."""
        path = self.folder / WALL_FILE
        times = vtkhdf.read_times(path) if path.exists() else np.zeros(0)
        if not len(times):
            return Named({}, "wall", f"{self.folder}: the run has written no walls")
        step = vtkhdf.read_step(path, int(np.argmin(np.abs(times - time))))
        walls = {wall.name: WallSnapshot(step, number) for number, wall in enumerate(self.case.walls)}
        return Named(walls, "wall")

    def contacts_at(self, time: float) -> ContactTable:
        """Return the contacts written nearest to a time [s], as columns by name.

        If the run has written no contacts at all, access to a column raises an error with the reason. Rows are ordered
        by ids. Columns: ``first``, ``second`` (ids; -1 for a wall), ``wall`` (-1 between particles), materials,
        ``centre`` of the first particle, ``branch`` from this centre to the second particle or to the wall, ``point``,
        ``normal``, ``force`` of the first body on the second body [N], ``normal_force``, ``tangential_force``,
        ``overlap``, energies, ``age``.
        """
        times = self.contact_times
        if not len(times):
            return ContactTable({}, why_no_contacts(times))
        return ContactTable(read_contacts(self.folder / CONTACT_FILE, int(np.argmin(np.abs(times - time)))))

    @property
    def contact_times(self) -> Floats:
        """Times at which contacts were written [s]."""
        path = self.folder / CONTACT_FILE
        return vtkhdf.read_times(path) if path.exists() else np.zeros(0)

    @property
    def field_names(self) -> list[str]:
        """Names of the ``[[fields]]`` that have been written."""
        begin, end = FIELD_FILES.split("*")
        return [path.name.removeprefix(begin).removesuffix(end) for path in sorted(self.folder.glob(FIELD_FILES))]

    def fields(self, name: str) -> FieldSeries:
        """Return the averaged continuum fields with a name.

        Raises
        ------
        InputError
            If no fields with this name have been written.
        """
        if name not in self.field_names:
            hint = name_hint(name, self.field_names) if self.field_names else "the case has no [[fields]]"
            raise InputError(f"{self.folder}: no fields {name!r} have been written; {hint}")
        return FieldSeries(self.folder / field_file(name))

    @property
    def collisions(self) -> CollisionEnergies:
        """Numbers of collisions by the energy lost until the last snapshot.

        Raises
        ------
        InputError
            If the case does not count collisions.
        """
        if not (path := self.folder / COLLISION_FILE).exists():
            raise InputError(f"{path}: is not there; give the case output.collision_energies = {{}}")
        return read_collisions(path, edges_of(self.case))

    @property
    def breaks(self) -> Breaks:
        """Bonds that have broken until the last snapshot, by time and ids, for a case with bonds."""
        return read_breaks(self.folder)

    @property
    def breakage(self) -> BrokenParticles:
        """Particles that have broken into fragments until the last snapshot, by time and id.

        Raises
        ------
        InputError
            If no material of the case breaks.
        """
        return read_breakage(self.folder)

    def fines(self, diameters: ArrayLike) -> Floats:
        """Return the mass of fines below some diameters (d,) [m], until the last snapshot [kg].

        Fines are the fragments of broken particles that were too small for spheres.

        Raises
        ------
        InputError
            If no material of the case breaks.
        """
        return fines_below(self.breakage, self.case, diameters)

    def fragments(self, time: float) -> Fragments:
        """Return the fragments at the snapshot nearest to a time [s]: groups of particles that bonds join.

        Raises
        ------
        InputError
            If the run has no snapshot, or the case has no bonds.
        """
        return self.at(time).fragments

    def sizes(self, time: float, material: str | None = None, region: Any = None) -> PassingCurve:
        """Return the size distribution by mass at the snapshot nearest to a time [s].

        ``results.sizes(2.0).percentile(80)`` is P80; ``diameter`` and ``passing`` are the passing curve.

        Parameters
        ----------
        time : float
            Time [s].
        material : str, optional
            Name of the material of the particles that count; by default all.
        region : mapping or region of a case, optional
            Particles count if their centre is inside, see `Snapshot.inside`; by default all.

        Raises
        ------
        InputError
            If the run has no snapshot, the case no such material, or the region is not valid.
        """
        return self.at(time).sizes(material, region)

    @cached_property
    def case(self) -> Case:
        """The case of the run with all defaults written out; after a restart with other values, the last case."""
        attributes = series_attributes(self.folder)
        if "case" not in attributes:
            attributes = vtkhdf.read_step(self.folder / PARTICLE_FILE, 0).attributes
        return Case.from_text(str(attributes["case"]), str(attributes.get("directory", ".")))

    @property
    def log(self) -> str:
        """Text of the log."""
        return (self.folder / LOG_FILE).read_text(encoding="utf-8")

    def __repr__(self) -> str:
        """Return the folder, the number of snapshots and the last time."""
        times = self.times
        until = f"{len(times)} snapshots until {times[-1]:.6g} s" if len(times) else "no snapshot"
        return f"Results({str(self.folder)!r}: {until})"

    def _repr_html_(self) -> str:
        """Return an HTML page for a notebook: the stored picture or the last snapshot, and the last values."""
        series, picture = self.series, self.folder / PICTURE_FILE
        last = [(name, f"{series[name][-1]:.6g}", series.units[name]) for name in series.names if len(series)]
        image = picture.read_bytes() if picture.exists() else picture_of(self.folder)
        return notebook_page(self.case.title or str(self.folder), repr(self), last, image)
