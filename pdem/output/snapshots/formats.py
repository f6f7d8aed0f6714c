"""Formats of snapshots, by name: their writers and the names of their files.

A new format needs a file with two writers and an entry here. Pictures and comparisons read VTKHDF.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pdem.output.snapshots.contact_snapshots import CONTACT_FILE, ContactSnapshots
from pdem.output.snapshots.growing_snapshots import last_snapshot
from pdem.output.snapshots.snapshot_files import PARTICLE_FILE, WALL_FILE, ParticleSnapshots, WallSnapshots

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.containers.global_order import OrderedRows
    from pdem.foundation.array_types import Floats

    Columns = Mapping[str, NDArray[Any]]


class SnapshotFile(Protocol):
    """A file to which a run adds snapshots.

    Attributes
    ----------
    path : Path
        Path of the file.
    commit_every : float
        Snapshots within this time [s] after a committed one may be committed with the next.
    """

    path: Path
    commit_every: float

    @property
    def conflict(self) -> bool:
        """Whether there is a complete file with different columns, which cannot be continued; changes nothing."""
        ...

    def open(self) -> None:
        """Truncate an existing file to the step from which the run continues, if there is one."""
        ...

    def flush(self) -> None:
        """Commit all snapshots, so that readers see them. Collective."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class RowWriter(SnapshotFile, Protocol):
    """A file of particles or contacts, see `pdem.output.snapshots.snapshot_files.ParticleSnapshots`."""

    def write(self, time: float, step: int, columns: Columns, rows: OrderedRows | None = None) -> None:
        """Append the rows at `time` (s); rows of this or a later step are replaced. Collective."""
        ...


class ParticleWriter(RowWriter, Protocol):
    """A file of particles that may have additional small tables."""

    def write(
        self, time: float, step: int, columns: Columns, rows: OrderedRows | None = None, tables: Columns | None = None
    ) -> None:
        """Append the rows at `time` (s), and tables by name; data of this or a later step are replaced. Collective."""
        ...


class WallWriter(SnapshotFile, Protocol):
    """A file of walls, see `pdem.output.snapshots.snapshot_files.WallSnapshots`."""

    def write(
        self,
        time: float,
        step: int,
        vertices: Floats,
        loads: Columns,
        vertex_columns: Columns | None = None,
        facet_columns: Columns | None = None,
    ) -> None:
        """Append the walls at `time` (s); snapshots of this or a later step are replaced."""
        ...


@dataclass(frozen=True)
class SnapshotFormat:
    """A file format of snapshots.

    Attributes
    ----------
    particle_file, wall_file, cluster_file, contact_file, bond_file : str
        Names of its files in an output folder.
    particles, walls, contacts : callable
        Make the writers, with the arguments of `ParticleSnapshots`, `WallSnapshots` and `ContactSnapshots`; the last
        one also makes the writer of bonds.
    last_snapshot : callable
        Returns step and time [s] of the last snapshot in a file, None if there is none.
    """

    particle_file: str
    wall_file: str
    cluster_file: str
    contact_file: str
    bond_file: str
    particles: Callable[..., ParticleWriter]
    walls: Callable[..., WallWriter]
    contacts: Callable[..., RowWriter]
    last_snapshot: Callable[[Path], tuple[int, float] | None]

    @property
    def files(self) -> tuple[str, ...]:
        """Names of all files."""
        return self.particle_file, self.wall_file, self.cluster_file, self.contact_file, self.bond_file


CLUSTER_FILE = "clusters.vtkhdf"
"""Name of the snapshots of rigid clusters as bodies; their members are among the particles."""

BOND_FILE = "bonds.vtkhdf"
"""Name of the bonds at each snapshot: a line from particle to particle for each bond."""

FORMATS = {
    "vtkhdf": SnapshotFormat(
        PARTICLE_FILE,
        WALL_FILE,
        CLUSTER_FILE,
        CONTACT_FILE,
        BOND_FILE,
        ParticleSnapshots,
        WallSnapshots,
        ContactSnapshots,
        last_snapshot,
    )
}
"""Formats by name."""

WRITTEN_FORMAT = "vtkhdf"
"""The format that runs write."""
