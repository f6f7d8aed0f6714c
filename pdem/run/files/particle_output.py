"""Snapshots of particles, and of rigid clusters as bodies in addition to their members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.law.contact_law import OVERLAP
from pdem.engine.clusters.energy import cluster_columns_of
from pdem.engine.feature import features_of
from pdem.engine.kept_fields import kept_fields
from pdem.features.deforming_box.report import BOX_FIELDS, box_tables
from pdem.features.registry import FEATURES, fields_of_features
from pdem.foundation.fields import FIELDS, Field, with_further, written_fields
from pdem.output.snapshots.formats import FORMATS, WRITTEN_FORMAT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pdem.case.sections.schema import CaseData
    from pdem.containers.particles import Particles
    from pdem.engine.clusters.rigid_clusters import RigidClusters
    from pdem.engine.parts.rank_contacts import RankContacts
    from pdem.engine.protocol import Engine
    from pdem.foundation.array_types import Int32s
    from pdem.output.snapshots.formats import RowWriter
    from pdem.output.storage import Attribute

CONTACT_COUNT = Field("contact_count", np.int32, (), "1", "number of contacts that overlap, with particles and walls")
"""Column in snapshots of particles and of clusters; for a cluster, the sum over its spheres."""

CLUSTER_FIELDS = (
    Field("cluster", np.int64, (), "1", "number of the cluster, that of its members"),
    Field("shape", np.int32, (), "1", "index of the shape in the case"),
    FIELDS["material"],
    Field("radius", np.float64, (), "m", "radius of the sphere of the same volume"),
    Field("scale", np.float64, (), "1", "size over that in which the shape is drawn"),
    Field("position", np.float64, (3,), "m", "centre of mass"),
    Field("velocity", np.float64, (3,), "m/s", "velocity of the centre of mass"),
    FIELDS["angular_velocity"],
    Field("orientation", np.float64, (4,), "1", "unit quaternion w, x, y, z from how the shape is drawn"),
    FIELDS["image"],
    Field("mass", np.float64, (), "kg", "mass"),
    CONTACT_COUNT,
)
"""Columns of the file of clusters."""


def snapshot_fields(case: CaseData) -> list[Field]:
    """Return the particle fields in the snapshots of a case."""
    fields = written_fields(with_further(fields_of_features(case)).values())
    derived = (field for one in FEATURES for field in one.snapshot_fields_in(case))
    return [*kept_fields(fields, case, FEATURES), CONTACT_COUNT, *derived]


class ParticleOutput:
    """The files of particles and clusters of a run.

    Parameters
    ----------
    simulation : Engine
        The run to write.
    folder : Path
        Output folder.
    attributes : mapping
        Attributes of the files.
    """

    def __init__(self, simulation: Engine, folder: Path, attributes: Mapping[str, Attribute]) -> None:
        self._simulation, form = simulation, FORMATS[WRITTEN_FORMAT]
        self._fields = snapshot_fields(simulation.case)
        given: dict[str, Any] = {
            "resume_step": simulation.step or None, "ranks": simulation.system.exchange,
        }  # fmt: skip
        tables = () if simulation.system.box.moving is None else BOX_FIELDS
        file = folder / form.particle_file
        self._particles = form.particles(file, self._fields, attributes, **given, tables=tables)
        self._clusters: RowWriter | None = None
        if simulation.system.clusters is not None:
            self._clusters = form.particles(folder / form.cluster_file, CLUSTER_FIELDS, attributes, **given)

    def files(self) -> Iterator[RowWriter]:
        """Yield the files."""
        yield self._particles
        if self._clusters is not None:
            yield self._clusters

    def write(self) -> None:
        """Append the present particles and clusters of all ranks. Collective."""
        simulation, system = self._simulation, self._simulation.system
        own, counts = simulation.particles, contact_counts(system.particles, system.contacts)
        derived = {CONTACT_COUNT.name: counts}
        for feature in features_of(system):
            derived |= feature.snapshot_values(system)
        columns = {field.name: own[field.name] for field in self._fields if field.name not in derived} | derived
        rows, tables = system.exchange.in_order([own.id]), box_tables(system)
        self._particles.write(simulation.time, simulation.step, columns, rows, tables)
        if self._clusters is not None:
            assert system.clusters is not None
            bodies = cluster_columns_of(system.clusters.table, system.constants, simulation.case)
            bodies[CONTACT_COUNT.name] = counts_of_clusters(system.clusters, system.particles, counts)
            rows = system.exchange.in_order([bodies["cluster"]])
            self._clusters.write(simulation.time, simulation.step, bodies, rows)


def contact_counts(particles: Particles, contacts: RankContacts) -> Int32s:
    """Return the number of contacts of each owned particle (n,), with particles and walls.

    Stretched contacts, such as liquid bridges, exert forces but are not counted.
    """
    owned, pairs = particles.count, contacts.pairs
    found = np.zeros(owned, np.int64)
    for touching, histories in pairs.pieces():
        deep = touching[histories[OVERLAP] > 0.0]
        ends = np.concatenate((pairs.lower[deep], pairs.higher[deep]))
        found += np.bincount(ends[ends < owned], minlength=owned)
    if contacts.walls is not None:
        particle, row, _, histories = contacts.walls.places()
        found += np.bincount(particle[histories[row, OVERLAP] > 0.0], minlength=owned)
    return found.astype(np.int32)


def counts_of_clusters(clusters: RigidClusters | None, particles: Particles, counts: Int32s) -> Int32s:
    """Return the number of contacts of each owned cluster (c,), the sum of the `counts` of its members."""
    assert clusters is not None
    table, cluster = clusters.table, particles.cluster
    member = np.flatnonzero(cluster)
    rows = table.rows_of(cluster[member])
    return np.bincount(rows, weights=counts[member], minlength=table.count).astype(np.int32)
