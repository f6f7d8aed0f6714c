"""All sections of a case, as in its file: the input of checks and limits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import tomli_w
from pydantic import Field, PrivateAttr, model_validator

from pdem.case.sections.base import Section
from pdem.case.sections.forces import Force
from pdem.case.sections.general import (
    OUTPUT_SHARES,
    Decomposition,
    Detection,
    Domain,
    Limits,
    Output,
    Perturbation,
    Time,
)
from pdem.case.sections.given_walls import GivenWall
from pdem.case.sections.materials import Interaction, Material, split_pair
from pdem.case.sections.mixing import with_all_pairs
from pdem.case.sections.motions import MovingFrame
from pdem.case.sections.particles import ParticleGroup, with_domain
from pdem.case.sections.shapes import Shape
from pdem.case.sections.stages import Stage
from pdem.features.fields.section import GridFields, with_defaults
from pdem.features.insertions.section import Insertion
from pdem.features.sensors.section import Sensor

TEXT_SOURCE = "case"
"""Name in messages of a case without a file."""


class CaseData(Section):
    """All sections of a case, each valid by itself; `pdem.case.rules.checks` has the rules between them.

    Attributes
    ----------
    title : str
        Title of the case, for reports and pictures.
    time : Time
        Length of the time step, and end of the run.
    domain : Domain
        The box of the particles, and gravity.
    detection : Detection
        How contacts are found.
    decomposition : Decomposition
        How the domain is divided among MPI ranks.
    limits : Limits
        Limits at which a run stops, because its results would be meaningless.
    perturbation : Perturbation or None
        Slightly smaller radii, to repeat a run with another sample.
    output : Output
        Folder and intervals of the output.
    materials : dict of str to Material
        Materials by name; their order gives the index of a material in snapshots.
    interactions : dict of str to Interaction
        Contact laws of two materials by ``"a-b"``, in either order. In a file ``default`` stands for all pairs that the
        file does not name; a case that has been read holds them by their names.
    particles : tuple of ParticleGroup
        The groups of particles at time 0; ids run from one group to the next.
    shapes : dict of str to Shape
        Rigid clusters of spheres by name, for particles and insertions.
    walls : tuple of Wall
        The surfaces that particles touch: meshes in files, or shapes given by their dimensions (`shape`).
    insertions : tuple of Insertion
        Particles that are inserted during the run.
    sensors : tuple of Sensor
        Measurements of particles in regions and at planes, and outlets that remove particles.
    fields : tuple of GridFields
        Continuum fields on grids, averaged over time.
    forces : tuple of Force
        Forces on particles besides contacts and gravity.
    motions : dict of str to MovingFrame
        Motions by name, which carry walls and other motions.
    stages : tuple of Stage
        Stages of the run, one after the other.
    """

    title: str = ""
    time: Time
    domain: Domain
    materials: dict[str, Material] = Field(default_factory=dict)
    interactions: dict[str, Interaction] = Field(default_factory=dict)
    particles: Annotated[tuple[ParticleGroup, ...], Field(strict=False)] = ()
    shapes: dict[str, Shape] = Field(default_factory=dict)
    walls: Annotated[tuple[GivenWall, ...], Field(strict=False)] = ()
    insertions: Annotated[tuple[Insertion, ...], Field(strict=False)] = ()
    sensors: Annotated[tuple[Sensor, ...], Field(strict=False)] = ()
    fields: Annotated[tuple[GridFields, ...], Field(strict=False)] = ()
    forces: Annotated[tuple[Force, ...], Field(strict=False)] = ()
    motions: dict[str, MovingFrame] = Field(default_factory=dict)
    stages: Annotated[tuple[Stage, ...], Field(strict=False)] = ()
    detection: Detection = Detection()
    decomposition: Decomposition = Decomposition()
    limits: Limits = Limits()
    perturbation: Perturbation | None = None
    output: Output

    _path: Path | None = PrivateAttr(default=None)
    _directory: Path = PrivateAttr(default=Path())

    @model_validator(mode="before")
    @classmethod
    def _defaults_from_other_sections(cls, document: Any) -> Any:
        return _completed(document) if isinstance(document, dict) else document

    @property
    def path(self) -> Path | None:
        """The file the case was read from, None for a case from text."""
        return self._path

    @property
    def directory(self) -> Path:
        """Base of the relative paths in the case."""
        return self._directory

    @property
    def source(self) -> str:
        """Name of the case in messages: its file if it has one."""
        return str(self._path) if self._path else TEXT_SOURCE

    def file(self, name: str) -> Path:
        """Return the path of a file of the case, from its name relative to the folder of the case."""
        return self._directory / name

    def to_toml(self) -> str:
        """Return the case as TOML, every default written out; reading it again gives the same case."""
        return tomli_w.dumps(self.model_dump(mode="python", exclude_none=True))

    def interaction(self, first: str, second: str) -> Interaction | None:
        """Return the interaction of two materials, in either order; None if the case has none."""
        key = self.interaction_key(first, second)
        return None if key is None else self.interactions[key]

    def interaction_key(self, first: str, second: str) -> str | None:
        """Return the key of the interaction of two materials, in either order; None if the case has none."""
        for key in self.interactions:
            for pair in split_pair(key, self.materials):
                if pair in ((first, second), (second, first)):
                    return key
        return None

    def material_index(self, name: str) -> int:
        """Return the index of a material in the order of the case."""
        return list(self.materials).index(name)


def _completed(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document, completed by defaults that depend on other sections."""
    document = dict(document)
    groups = document.get("particles")
    if isinstance(groups, list):
        document["particles"] = [with_domain(group, document.get("domain")) for group in groups]
    if "interactions" in document:
        document["interactions"] = with_all_pairs(document.get("materials"), document["interactions"])
    time, output = document.get("time"), document.get("output", {})
    if not isinstance(output, dict):
        return document
    end = time.get("end") if isinstance(time, dict) else None
    # with a substitute, an invalid end is not reported three more times
    usable = isinstance(end, (int, float)) and not isinstance(end, bool) and 1e-300 < end < 1e300
    length = float(end) if usable and end is not None else 1.0
    document["output"] = {**{key: length / share for key, share in OUTPUT_SHARES.items()}, **output}
    if isinstance(document.get("fields"), list):
        every = document["output"]["fields_every"]
        document["fields"] = [with_defaults(one, document.get("domain"), every) for one in document["fields"]]
    return document
