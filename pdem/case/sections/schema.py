"""All sections of a case, as in its file: the input of checks and limits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import tomli_w
from pydantic import Discriminator, Field, PrivateAttr, Tag, model_validator

from pdem.case.sections.base import BRANCH, Section, entry
from pdem.case.sections.breakage import BreakageLimits
from pdem.case.sections.flat_walls import BladeWall, BoxWall, ChuteWall, PlaneWall
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
from pdem.case.sections.materials import Interaction, Material, split_pair
from pdem.case.sections.mixing import with_all_pairs
from pdem.case.sections.motions import MovingFrame
from pdem.case.sections.particles import ParticleGroup, with_domain
from pdem.case.sections.round_walls import ConeWall, CylinderWall, ScrewWall, SphereWall, TubeWall
from pdem.case.sections.shapes import Shape
from pdem.case.sections.stages import Stage
from pdem.case.sections.walls import MeshWall
from pdem.features.bonds.section import BondSection
from pdem.features.external_forces.section import Force
from pdem.features.fields.section import GridFields, with_defaults
from pdem.features.heat.section import Heat
from pdem.features.insertions.section import Insertion
from pdem.features.sensors.section import Sensor

TEXT_SOURCE = "case"
"""Name of a case without a file in messages."""


def _branch(value: Any) -> str:
    if isinstance(value, Section):
        return value.branch
    return f"{BRANCH}{value.get('shape', 'mesh')}" if isinstance(value, dict) else MeshWall.branch


GivenWall = Annotated[
    Annotated[MeshWall, Tag(MeshWall.branch)]
    | Annotated[PlaneWall, Tag(PlaneWall.branch)]
    | Annotated[BoxWall, Tag(BoxWall.branch)]
    | Annotated[CylinderWall, Tag(CylinderWall.branch)]
    | Annotated[ConeWall, Tag(ConeWall.branch)]
    | Annotated[TubeWall, Tag(TubeWall.branch)]
    | Annotated[SphereWall, Tag(SphereWall.branch)]
    | Annotated[ScrewWall, Tag(ScrewWall.branch)]
    | Annotated[BladeWall, Tag(BladeWall.branch)]
    | Annotated[ChuteWall, Tag(ChuteWall.branch)],
    Discriminator(_branch),
]


class CaseData(Section):
    """All sections of a case, each valid by itself; `pdem.case.rules.checks` has the rules between them."""

    title: str = entry("Title of the case, for reports and pictures.", default="")
    time: Time = entry("Length of the time step, and end of the run.")
    domain: Domain = entry("The box of the particles, and gravity.")
    materials: dict[str, Material] = entry(
        "Materials by name; their order gives the index of a material in snapshots.", default_factory=dict
    )
    interactions: dict[str, Interaction] = entry(
        'Contact laws of two materials by `"a-b"`, in either order. In a file `default` stands for all pairs that '
        "the file does not name; a case that has been read holds them by their names.",
        default_factory=dict,
    )
    particles: Annotated[tuple[ParticleGroup, ...], Field(strict=False)] = entry(
        "The groups of particles at time 0; ids run from one group to the next.", default=()
    )
    shapes: dict[str, Shape] = entry(
        "Rigid clusters of spheres by name, for particles and insertions.", default_factory=dict
    )
    walls: Annotated[tuple[GivenWall, ...], Field(strict=False)] = entry(
        "The surfaces that particles touch: meshes in files, or shapes given by their dimensions (`shape`).", default=()
    )
    insertions: Annotated[tuple[Insertion, ...], Field(strict=False)] = entry(
        "Particles that are inserted during the run.", default=()
    )
    sensors: Annotated[tuple[Sensor, ...], Field(strict=False)] = entry(
        "Measurements of particles in regions and at planes, and outlets that remove particles.", default=()
    )
    fields: Annotated[tuple[GridFields, ...], Field(strict=False)] = entry(
        "Continuum fields on grids, averaged over time.", default=()
    )
    forces: Annotated[tuple[Force, ...], Field(strict=False)] = entry(
        "Forces on particles besides contacts and gravity.", default=()
    )
    bonds: dict[str, BondSection] = entry(
        "Bonds between spheres by name, from the start of the run on.", default_factory=dict
    )
    heat: Heat | None = entry("Temperatures of particles, and their exchange of heat.", default=None)
    breakage: BreakageLimits | None = entry(
        "When spheres that break are replaced; `materials.NAME.breakage` makes those of a material break.", default=None
    )
    motions: dict[str, MovingFrame] = entry(
        "Motions by name, which carry walls and other motions.", default_factory=dict
    )
    stages: Annotated[tuple[Stage, ...], Field(strict=False)] = entry(
        "Stages of the run, one after the other.", default=()
    )
    detection: Detection = entry("How contacts are found.", default=Detection())
    decomposition: Decomposition = entry("How the domain is divided among MPI ranks.", default=Decomposition())
    limits: Limits = entry("Limits at which a run stops, because its results would be meaningless.", default=Limits())
    perturbation: Perturbation | None = entry(
        "Slightly smaller radii, to repeat a run with another sample.", default=None
    )
    output: Output = entry("Folder and intervals of the output.", follows=True)

    _path: Path | None = PrivateAttr(default=None)
    _directory: Path = PrivateAttr(default=Path())

    @model_validator(mode="before")
    @classmethod
    def _defaults_from_other_sections(cls, document: Any) -> Any:
        return _completed(document) if isinstance(document, dict) else document

    @property
    def path(self) -> Path | None:
        """The file that the case was read from; None for a case from text."""
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
        """Return the interaction of two materials, in either order; None if the case has no such interaction."""
        key = self.interaction_key(first, second)
        return None if key is None else self.interactions[key]

    def interaction_key(self, first: str, second: str) -> str | None:
        """Return the key of the interaction of two materials, in either order; None if there is none."""
        for key in self.interactions:
            for pair in split_pair(key, self.materials):
                if pair in ((first, second), (second, first)):
                    return key
        return None

    def material_index(self, name: str) -> int:
        """Return the index of a material in the order of the case."""
        return list(self.materials).index(name)


def _completed(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document, completed by defaults that depend on further sections."""
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
        every = document["output"]["snapshots_every"]
        document["fields"] = [with_defaults(one, document.get("domain"), every) for one in document["fields"]]
    return document
