"""Estimates of the duration of a run on this machine, and of the size of its output."""

from __future__ import annotations

import json
import math
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pdem.case.laws import law_of
from pdem.contact.law.contact_law import AGE
from pdem.contact.walls.stages import wall_columns_of
from pdem.engine.energy import terms_of
from pdem.engine.kept_fields import kept_fields
from pdem.features.insertions.preflight import inserted_number
from pdem.features.registry import FEATURES, TERMS, fields_of_features
from pdem.features.wall_loads.columns import mean_load_columns
from pdem.foundation.fields import state_fields, with_further
from pdem.foundation.files import write_file
from pdem.numerics.cache import cache_directory, stored
from pdem.output.snapshots.contact_snapshots import contact_fields
from pdem.output.summary import counted, duration, quantity
from pdem.preflight.findings import Finding
from pdem.run.files.particle_output import snapshot_fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.case.model import Case
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.containers.meshes.mesh import Mesh

    Speed = dict[str, float]

ASSUMED_STEP, ASSUMED_PARTICLE_STEP = 2e-5, 4e-7
"""Assumed times of a step and of a particle-step on one core, before the first measured run [s]."""

SHORTEST_STEP = 1e-4
"""Minimum time of a step with very few particles [s]: small runs are not faster in proportion."""

CONTACTS_PER_PARTICLE = 3.0
"""Pair contacts per particle, as in a loose bed; determines the size of contact histories in checkpoints."""

SHORTEST_RECORD = 1.0
"""Minimum elapsed time of a run for storing its speed [s]: the first steps load kernels and tune settings."""

_FILE = "speeds.json"
_MOST_RECORDS = 40
_SIMILAR = math.log(1.3)
_SLOWER = 1.25
_SCALED = 5.0
_SERIES_NUMBER = 8 + 19  # bytes in HDF5 plus bytes as text
_MB = 1e6


def forecast(
    case: Case, number: int, meshes: Sequence[Mesh], ranks: int = 1, threads: int = 1, *, spheres: int | None = None
) -> Iterator[Finding]:
    """Yield findings on the duration of a run with `number` initial particles, and on the disk space of its output.

    Files have a row per sphere; `spheres` is the number of spheres of all particles, by default equal to `number`.
    """
    steps = round(max(case.time.end - frozen_time(case), 0.0) / case.resolved_step())
    rows = (number if spheres is None else spheres) + inserted_number(case, members=True)
    number += inserted_number(case)
    yield Finding("info", "duration", _duration(steps, number, ranks * threads))
    yield _disk(case, rows, meshes)


def frozen_time(case: Case) -> float:
    """Return the time of the stages of a case in which nothing moves [s], which take hardly any time to compute."""
    begin = frozen = 0.0
    for stage in case.stages:
        length = stage.end if stage.until is None else stage.until.latest
        length = max(case.time.end - begin, 0.0) if length is None else length
        frozen += length if stage.motion == "frozen" else 0.0
        begin += length
    return min(frozen, case.time.end)


def record_speed(particles: int, steps: int, seconds: float, workers: int) -> None:
    """Store the speed of a run in the kernel cache, for later forecasts; without write access nothing is stored.

    Runs shorter than `SHORTEST_RECORD` are not stored. A run slower than a similar earlier run may have shared the
    machine with other programs: its time is limited to `_SLOWER` times the time of the earlier run. Thus forecasts
    follow a machine that has become slower within a few runs.
    """
    if particles < 1 or steps < 1 or seconds < SHORTEST_RECORD:
        return
    records = _recorded_speeds()
    similar = [one for one in records if one["workers"] == workers and _distance(one, particles) <= _SIMILAR]
    each = min([seconds / steps, *(_SLOWER * one["seconds"] for one in similar)])
    new = {"particles": float(particles), "seconds": each, "workers": float(workers)}
    others = [one for one in records if one not in similar]
    path = cache_directory() / _FILE
    with suppress(OSError):
        write_file(path, json.dumps([*others, new][-_MOST_RECORDS:]))


def _recorded_speeds() -> list[Speed]:
    """Return the speeds of earlier runs, the oldest first; empty if the file is not valid."""
    try:
        speeds = json.loads(stored(cache_directory() / _FILE).read_text(encoding="utf-8"))
        names = ("particles", "seconds", "workers")
        found = [{name: float(one[name]) for name in names} for one in speeds]
    except (OSError, ValueError, TypeError, KeyError):
        return []
    return [one for one in found if all(0.0 < value < math.inf for value in one.values())]


def _distance(one: Speed, particles: int) -> float:
    return abs(math.log(max(particles, 1) / one["particles"]))


def _duration(steps: int, particles: int, workers: int) -> str:
    records = _recorded_speeds()
    if not records:
        each = _assumed_step(particles, workers)
        remark = "within a factor of five, since no run has been timed on this machine yet"
        return f"{steps:,} steps take {duration(steps * each)} or so, {remark}"
    one = min(records, key=lambda one: (one["workers"] != workers, _distance(one, particles)))
    share = particles / one["particles"] * (one["workers"] / workers)
    each = one["seconds"] * share
    if share < 1.0:
        each = max(each, min(one["seconds"], SHORTEST_STEP))
    elif share > _SCALED:  # the time of a step with few particles is not proportional to their number
        each = one["seconds"] * _assumed_step(particles, workers) / _assumed_step(one["particles"], one["workers"])
    rate = one["particles"] / one["seconds"]
    factor = "two" if one["workers"] == workers and _distance(one, particles) < math.log(5.0) else "four"
    threads = counted(int(one["workers"]), "thread")
    return (
        f"{steps:,} steps take about {duration(steps * each)}, within a factor of {factor}, by the latest run here of "
        f"{one['particles']:,.0f} particles ({quantity(rate)} particle-steps/s on {threads})"
    )


def _assumed_step(particles: float, workers: float) -> float:
    return ASSUMED_STEP + ASSUMED_PARTICLE_STEP * particles / workers


class DiskNeeds(NamedTuple):
    """Numbers of outputs, and the size of each in bytes."""

    snapshots: int
    snapshot: float
    lines: int
    series: float
    checkpoints: int
    checkpoint: float
    contacts: int
    contact: float

    @property
    def total(self) -> float:
        """Total size in bytes."""
        parts = (self.snapshots * self.snapshot, self.checkpoints * self.checkpoint, self.contacts * self.contact)
        return self.series + sum(parts)


def disk_needs(case: Case, particles: int, meshes: Sequence[Mesh]) -> DiskNeeds:
    """Return the size of the output of a run with a number of particles; spheres of clusters count as particles."""
    output, end, law = case.output, case.time.end, law_of(case)
    fields = sum(field.allocate(1).nbytes for field in snapshot_fields(case))
    nodes, facets = (sum(getattr(mesh, name) for mesh in meshes) for name in ("vertex_count", "facet_count"))
    loads = 7 * len(case.walls) + len(mean_load_columns(case))
    of_features = [name for one in FEATURES for name in one.terms_in(case)]
    rows, terms = math.floor(end / output.series_every) + 1, len(terms_of(law, case, TERMS, of_features))
    return DiskNeeds(
        math.floor(end / output.snapshots_every) + 1,
        fields * particles + 48 * nodes + 40 * facets,
        rows,
        rows * _SERIES_NUMBER * (12 + terms + loads + 3 * len(case.insertions)),
        # one more while the next checkpoint is written
        min(output.checkpoints_kept + 1, math.ceil(end / output.checkpoint_every)) + len(case.stages),
        particles * _checkpoint_bytes(case, law, bool(meshes)),
        0 if output.contacts_every is None else math.floor(end / output.contacts_every) + 1,
        particles * CONTACTS_PER_PARTICLE * _contact_bytes(law),
    )


def _contact_bytes(law: ContactLaw) -> int:
    """Return the bytes per contact in the file of contacts: its columns, and the end points of its line."""
    fields = contact_fields(energies=law.has_ledger, ages=law.has(AGE.name))
    return 48 + sum(field.allocate(1).nbytes for field in fields)


def _disk(case: Case, particles: int, meshes: Sequence[Mesh]) -> Finding:
    output, needed = case.output, disk_needs(case, particles, meshes)
    text = f"about {_size(needed.total)} in {output.folder}: "
    text += f"{needed.snapshots:,} snapshots of {_size(needed.snapshot)}, "
    text += f"{needed.lines:,} lines of the series, {needed.checkpoints} checkpoints of {_size(needed.checkpoint)}"
    if needed.contacts:
        text += f", contacts {needed.contacts:,} times {_size(needed.contact)}"
    free = _free(Path(output.folder))
    if free is not None and needed.total > free:
        keys = f"output.snapshots_every{' or contacts_every' if needed.contacts else ''}"
        remedy = f"lengthen {keys}, or choose another output.folder"
        return Finding("warning", "disk", f"{text}; only {_size(free)} are free there: {remedy}")
    return Finding("info", "disk", text + ("" if free is None else f"; {_size(free)} are free there"))


def _checkpoint_bytes(case: Case, law: ContactLaw, walls: bool) -> float:
    """Return the bytes per particle in a checkpoint: its state, and the histories of contacts."""
    fields = state_fields(with_further(fields_of_features(case)).values())
    state = sum(field.allocate(1).nbytes for field in kept_fields(fields, case, FEATURES))
    pairs = CONTACTS_PER_PARTICLE * (16 + 8 * law.columns)
    return state + pairs + (0.2 * (25 + 8 * wall_columns_of(law)) if walls else 0.0)


def _size(size: float) -> str:
    return f"{size / 1e3 / _MB:.3g} GB" if size >= 1e3 * _MB else f"{size / _MB:.3g} MB"


def _free(folder: Path) -> int | None:
    """Return the free bytes on the disk of a folder, which may not exist yet; None if unknown."""
    with suppress(OSError):
        for place in (folder.absolute(), *folder.absolute().parents):
            if place.exists():
                return shutil.disk_usage(place).free
    return None
