"""State of a case in each of its stages: interactions, present walls, active sensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.case.sections.materials import Interaction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.case.sections.schema import CaseData
    from pdem.case.sections.stages import Stage
    from pdem.containers.meshes.mesh import Mesh
    from pdem.features.sensors.section import Sensor


def changed_interaction(interaction: Interaction, changes: dict[str, Any]) -> Interaction:
    """Return an interaction with changed values.

    Raises
    ------
    pydantic.ValidationError
        If a value is not valid.
    """
    return Interaction.model_validate({**interaction.model_dump(exclude_none=True), **changes})


def in_stage(case: CaseData, number: int) -> CaseData:
    """Return a case with its interactions in a stage."""
    interactions = dict(case.interactions)
    for stage in case.stages[: number + 1]:
        for key, changes in stage.interactions.items():
            interactions[key] = changed_interaction(interactions[key], changes)
    return case if interactions == case.interactions else case.model_copy(update={"interactions": interactions})


def cases_of_stages(case: CaseData) -> list[CaseData]:
    """Return the case in each stage with interactions that differ from all earlier stages; at least one case."""
    found = [in_stage(case, 0)]
    for number, stage in enumerate(case.stages):
        if number and stage.interactions:
            found.append(in_stage(case, number))
    return found


def first_present(case: CaseData, name: str) -> bool:
    """Return whether a wall is present before the first stage that changes it."""
    changes = [stage.walls[name] for stage in case.stages if name in stage.walls]
    return not changes or not changes[0].add


def walls_present(case: CaseData, number: int) -> list[bool]:
    """Return for each wall whether it is present in a stage; without stages all are."""
    found = []
    for wall in case.walls:
        there = first_present(case, wall.name)
        for stage in case.stages[: number + 1]:
            change = stage.walls.get(wall.name)
            there = there if change is None else change.add
        found.append(there)
    return found


def sensor_acts(case: CaseData, sensor: Sensor, number: int) -> bool:
    """Return whether a sensor counts and removes particles in a stage; without stages it does."""
    if sensor.stages is not None:
        return case.stages[number].name in sensor.stages
    return sensor.stage is None or number >= stage_named(case.stages, sensor.stage)


def first_meshes(case: CaseData, meshes: Sequence[Mesh]) -> list[Mesh]:
    """Return the meshes of the walls that are present at time 0."""
    return [mesh for mesh, there in zip(meshes, walls_present(case, 0), strict=True) if there]


def stage_named(stages: Sequence[Stage], name: str) -> int:
    """Return the number of the stage with a name, -1 if there is none."""
    return next((number for number, stage in enumerate(stages) if stage.name == name), -1)
