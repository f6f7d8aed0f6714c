"""The part of a case that acts before a stage: cases with equal parts can share the run up to this stage."""

from __future__ import annotations

import hashlib
import json
import math
from typing import TYPE_CHECKING, Any

from pdem.case.groups.inlets import face_of, interval_of
from pdem.case.input_files import contents_of, files_in
from pdem.case.sections.base import flat_keys
from pdem.case.sections.motions import MOTION_KEYS
from pdem.case.stage_cases import sensor_acts, walls_present
from pdem.features.sensors.preflight import sensor_interval

if TYPE_CHECKING:
    from pdem.case.model import Case

_KEPT_OUTPUT = ("energies", "contact_ages")
"""Keys of the output section that affect the history of contacts."""

_WHERE = ("on", "stage")


def before_stage(case: Case, number: int) -> dict[str, Any]:
    """Return everything in a case that influences the state at the begin of a stage.

    Settings that act only from this stage on are left out: motions, servos, insertions, outlets, and changes by stages.
    Outputs, limits, and sensors without effect on the motion are left out as well. Settings that follow from the case
    as a whole are included as values: the time step, and the intervals of outlets and insertions.

    Parameters
    ----------
    case : Case
        The case.
    number : int
        Number of the stage; the total number of stages selects the complete case.
    """
    document = case.model_dump(mode="python", exclude_none=True)
    later = {stage.name for stage in case.stages[number:]}
    for section in ("title", "decomposition", "limits"):
        document.pop(section)
    output, detection = document.pop("output"), document.pop("detection")
    document["output"] = {key: output[key] for key in _KEPT_OUTPUT}
    document["detection"] = {key: value for key, value in detection.items() if key.startswith("wall")}
    step = case.resolved_step()
    document["time"] = {"step": step}

    def in_steps(interval: float) -> str:
        return f"{max(1, round(interval / step))} steps" if interval < math.inf else "never"

    document["stages"] = document["stages"][:number]
    document["walls_present"] = [walls_present(case, stage) for stage in range(number)]
    document["motions"] = {name: _until(frame, later) for name, frame in document["motions"].items()}
    document["walls"] = [_until(wall, later) for wall in document["walls"]]
    document["insertions"] = [
        {"liquid": bool(one["liquid"])}
        if one.get("stage") in later
        else one | {"every": in_steps(interval_of(case, case.insertions[index], face_of(case, index)))}
        for index, one in enumerate(document["insertions"])
    ]
    document["sensors"] = [
        _when(case, index, number) | {"every": in_steps(sensor_interval(case, case.sensors[index])[0])}
        for index in range(len(case.sensors))
        if _matters(case, index, number)
    ]
    return document


def _until(frame: dict[str, Any], later: set[str]) -> dict[str, Any]:
    """Return a wall or frame as it acts before the `later` stages: at rest if its motion starts in any of these."""
    if frame.get("stage") not in later:
        return frame
    still = {key: value for key, value in frame.items() if key in _WHERE or key not in MOTION_KEYS}
    return {key: "later" if key == "servo" else value for key, value in still.items()} | {"stage": "later"}


def _matters(case: Case, index: int, number: int) -> bool:
    """Return whether a sensor removes particles before a stage, or ends an earlier stage by its values."""
    sensor = case.sensors[index]
    quantities = [stage.until.quantity for stage in case.stages[:number] if stage.until is not None]
    acts = any(sensor_acts(case, sensor, stage) for stage in range(number)) or not case.stages
    return (sensor.remove and acts) or any(one.startswith(f"{sensor.name}_") for one in quantities)


def _when(case: Case, index: int, number: int) -> dict[str, Any]:
    """Return a sensor with the stages in which it acts before a stage, instead of all stages in the case."""
    sensor = case.sensors[index]
    keys = sensor.model_dump(mode="python", exclude_none=True, exclude={"stage", "stages"})
    acting = [stage.name for k, stage in enumerate(case.stages[:number]) if sensor_acts(case, sensor, k)]
    return keys | ({"stages": acting} if sensor.stage or sensor.stages else {})


def digest_before(case: Case, number: int, made_under: dict[str, str]) -> str:
    """Return a hexadecimal digest of everything that determines the state at the begin of a stage.

    Parameters
    ----------
    case, number
        As for `before_stage`.
    made_under : dict
        Versions of programs and sources, and the processor.
    """
    document = before_stage(case, number)
    files = contents_of(files_in(case, document))
    text = json.dumps([document, files, made_under], sort_keys=True, default=repr)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def changes_before(old: Case, new: Case, number: int) -> list[tuple[str, str, str]]:
    """Return key, old value and new value of all differences between two cases before a stage."""
    before, after = (flat_keys("", before_stage(case, number)) for case in (old, new))
    rows = []
    for key in dict.fromkeys((*before, *after)):
        values = before.get(key), after.get(key)
        if values[0] != values[1] and not key.startswith("walls_present"):
            old_text, new_text = ("nothing" if value is None else repr(value) for value in values)
            rows.append((key, old_text, new_text))
    if not rows and before != after:
        rows.append(("stages", "walls that are there before it", "others"))
    return rows


def remedy_for(key: str, case: Case, number: int) -> str:
    """Return how to make a change of a key act only from a stage on, empty if this is impossible."""
    stage = case.stages[number].name
    head, _, rest = key.partition(".")
    if head == "interactions":
        pair, _, name = rest.partition(".")
        return f"set stages.{number}.interactions={{{pair} = {{{name} = ...}}}} to change it from stage {stage} on"
    if key.startswith("domain.gravity"):
        return f"set stages.{number}.gravity to change it from stage {stage} on"
    if key == "time.step" or key.endswith("].every"):
        return f"give {key} in the case of the run, so that it does not follow from what has changed"
    if head.startswith(("walls[", "motions", "insertions[", "sensors[")):
        return f"what is to begin with stage {stage} has the key stage = {stage!r}"
    return ""
