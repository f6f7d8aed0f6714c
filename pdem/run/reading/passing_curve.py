"""Distribution of the mass of the particles of a snapshot over their sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pdem.case.rules.region_rules import region_of
from pdem.engine.views.bodies import sphere_masses
from pdem.foundation.errors import InputError, name_hint
from pdem.output.compare import step_index
from pdem.output.frames import data_frame
from pdem.output.snapshots import vtkhdf
from pdem.output.snapshots.formats import CLUSTER_FILE
from pdem.particles import regions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from pdem.case.model import Case
    from pdem.foundation.array_types import Booleans, Floats
    from pdem.particles.regions import Region

    Columns = Mapping[str, NDArray[Any]]

UNITS_OF_SIZES = {"diameter": "m", "number": "1", "mass": "kg", "passing": "1"}
"""Columns of a table of sizes, and their units."""


class RunFolder(Protocol):
    """A run, for its snapshots: `pdem.run.reading.results.Results`.

    Attributes
    ----------
    folder : Path
        Output folder.
    """

    folder: Path

    @property
    def case(self) -> Case:
        """The case of the run."""
        ...


@dataclass(frozen=True, eq=False)
class PassingCurve:
    """Mass of particles by size at one time, and the passing curve: the mass fraction up to each size.

    A cluster counts as one particle, with the diameter of the sphere of its volume. Fixed particles do not count.

    Attributes
    ----------
    time : float
        Time of the snapshot [s].
    diameter : (k,) array
        All different diameters, rising [m].
    number : (k,) int64 array
        Number of particles of each diameter.
    mass : (k,) array
        Their mass [kg].
    passing : (k,) array
        Fraction of the mass with this diameter or a smaller one; the last is 1.
    """

    time: float
    diameter: Floats
    number: NDArray[np.int64]
    mass: Floats
    passing: Floats

    def __len__(self) -> int:
        return len(self.diameter)

    @property
    def table(self) -> dict[str, NDArray[Any]]:
        """The columns by name."""
        return {name: getattr(self, name) for name in UNITS_OF_SIZES}

    def percentile(self, percent: ArrayLike) -> Any:
        """Return passing sizes: the smallest diameter with a percent of the mass up to it, P80 for 80 [m].

        Parameters
        ----------
        percent : float or (n,) array_like
            Percents of the mass, above 0 and at most 100.

        Returns
        -------
        float or (n,) array
            NaN without particles.

        Raises
        ------
        InputError
            If a percent is out of range.
        """
        shares = np.asarray(percent, np.float64) / 100.0
        if not np.all((shares > 0.0) & (shares <= 1.0)):
            raise InputError(f"percents are {percent!r}; give numbers above 0 and up to 100, such as 80 for P80")
        sizes = np.append(self.diameter, np.nan)  # without particles, the last one
        found = sizes[np.searchsorted(self.passing, shares)]
        return float(found) if found.ndim == 0 else found

    def share_below(self, diameter: ArrayLike) -> Any:
        """Return the fraction of the mass with at most a diameter [m], such as the opening of a sieve.

        Parameters
        ----------
        diameter : float or (n,) array_like
            Diameters [m].

        Returns
        -------
        float or (n,) array
            NaN without particles.
        """
        sizes = np.asarray(diameter, np.float64)
        below = np.concatenate(([0.0 if len(self) else np.nan], self.passing))
        found = below[np.searchsorted(self.diameter, sizes, side="right")]
        return float(found) if found.ndim == 0 else found

    def to_pandas(self) -> Any:
        """Return a pandas.DataFrame with a row per diameter; its ``attrs["units"]`` has the units.

        Raises
        ------
        InputError
            If pandas is not installed.
        """
        return data_frame(self.table, UNITS_OF_SIZES)

    def __repr__(self) -> str:
        """Return the time, the number of particles, and P50 and P80."""
        if not len(self):
            return f"PassingCurve({self.time:.6g} s, no particles)"
        middle, upper = self.percentile([50, 80])
        return (
            f"PassingCurve({self.time:.6g} s, {np.cumsum(self.number)[-1]} particles of "
            f"{self.diameter[0]:.4g} to {self.diameter[-1]:.4g} m, P50 {middle:.4g} m, P80 {upper:.4g} m)"
        )


def sizes_of_particles(
    particles: Columns, time: float, source: RunFolder, material: str | None = None, region: Any = None
) -> PassingCurve:
    """Return the size distribution of the particles of a snapshot.

    Parameters
    ----------
    particles : mapping of (n, ...) arrays
        Columns of the spheres.
    time : float
        Time of the snapshot [s].
    source : RunFolder
        The run.
    material : str, optional
        Name of the material of the particles that count; by default all.
    region : mapping or region of a case, optional
        Particles count if their centre is inside: a box, cylinder or ball as in the case file; by default all.

    Raises
    ------
    InputError
        If the case has no such material, the region is not valid, or the file of clusters is missing.
    """
    case = source.case
    wanted = None if material is None else _number_of(material, case)
    place = None if region is None else region_of(region)
    parts = [
        (bodies["radius"][use], bodies["mass"][use])
        for bodies in _bodies(particles, time, source)
        for use in [_chosen(bodies, wanted, place)]
    ]
    radius, mass = (np.concatenate(one) for one in zip(*parts, strict=True))
    return distribution_of(time, 2.0 * radius, mass)


def distribution_of(time: float, diameter: Floats, mass: Floats) -> PassingCurve:
    """Return the size distribution of particles with diameters (n,) [m] and masses (n,) [kg]."""
    order = np.lexsort((mass, diameter))  # sums are then independent of the order of particles
    sizes, first, number = np.unique(diameter[order], return_index=True, return_counts=True)
    below = np.concatenate(([0.0], np.cumsum(mass[order])))[np.append(first, len(order))]
    whole = below[-1] if len(sizes) else 1.0
    return PassingCurve(time, sizes, number.astype(np.int64), np.diff(below), below[1:] / whole)


def _number_of(material: str, case: Case) -> int:
    if material not in case.materials:
        raise InputError(f"the case has no material {material!r}; {name_hint(material, list(case.materials))}")
    return case.material_index(material)


def _bodies(particles: Columns, time: float, source: RunFolder) -> list[Columns]:
    """Return the columns of single free spheres, with their masses [kg], and of the clusters."""
    loose = np.ones(len(particles["radius"]), np.bool_)
    for name in ("cluster", "fixed"):
        if name in particles:
            loose &= particles[name] == 0
    single = {name: particles[name][loose] for name in ("position", "radius", "material")}
    density = np.array([np.nan if one.density is None else one.density for one in source.case.materials.values()])
    found: list[Columns] = [single | {"mass": sphere_masses(single["radius"], density[single["material"]])}]
    if "cluster" in particles and particles["cluster"].any():
        found.append(_clusters(source.folder / CLUSTER_FILE, time))
    return found


def _clusters(path: Path, time: float) -> Columns:
    """Return the columns of the clusters at the time of a snapshot [s]."""
    if not path.exists():
        raise InputError(f"{path}: is not there, and has the sizes of the clusters; copy it beside the other files")
    step = vtkhdf.read_step(path, step_index(path, time))
    return {"position": step.points, **step.point_data}


def _chosen(bodies: Columns, material: int | None, place: Region | None) -> Booleans:
    """Return which bodies count."""
    use = np.ones(len(bodies["radius"]), np.bool_) if material is None else bodies["material"] == material
    return use if place is None else use & (regions.distance(place, bodies["position"]) == 0.0)
