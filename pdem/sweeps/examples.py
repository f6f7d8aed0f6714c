"""Examples of ``pdem new`` with many runs: the file of a sweep or a calibration, and the example case for it."""

from __future__ import annotations

import re
import tomllib
from importlib import resources
from typing import TYPE_CHECKING

from pdem.case.explain.example_cases import write_example
from pdem.case.explain.example_texts import title_of
from pdem.case.explain.keys import Root
from pdem.sweeps.sections import CalibrationPlan, RunsPlan, SweepPlan

if TYPE_CHECKING:
    from pathlib import Path

_OWN_FILE = re.compile(r'^kind = "python:([^:]+):', re.MULTILINE)

_COMMANDS = {"repose_sweep": "sweep", "repose_calibration": "calibrate", "sliding_calibration": "calibrate"}
"""The command that runs each example, by name of the example."""

_CHANGES = {
    "repose_sweep": {
        "vary.rolling.count": "More values of the rolling friction show whether its effect is a straight line.",
        "replicas": "More replicas give smaller error bars; each is a run of its own.",
    },
    "repose_calibration": {
        "targets.angle.value": "The slope of your own heap, in degrees.",
        "targets.angle.uncertainty": "A larger uncertainty of the experiment needs fewer runs.",
    },
    "sliding_calibration": {
        "targets.upward.value": "The rebound speed of your own experiment.",
        "vary.friction.start": "A different first value: the calibration should end at the same fit.",
    },
}
"""Keys to change next and their effects, by name of the example."""


def study_names() -> list[str]:
    """Return the names of the examples with many runs."""
    return list(_COMMANDS)


def study_text(name: str) -> str:
    """Return the text of the file of an example with many runs."""
    return _text(f"{name}.toml")


def _text(file: str) -> str:
    return (resources.files("pdem.sweeps") / "example_files" / file).read_text(encoding="utf-8")


def study_title(name: str) -> str:
    """Return the title of an example with many runs."""
    return title_of(study_text(name))


def study_command(name: str) -> str:
    """Return the command that runs an example: ``"sweep"`` or ``"calibrate"``."""
    return _COMMANDS[name]


def study_changes(name: str) -> dict[str, str]:
    """Return keys of an example with many runs to change next, each with its effect."""
    return dict(_CHANGES[name])


def study_roots() -> dict[str, Root]:
    """Return the file formats for many runs, with examples, by name of their command."""
    texts = {name: study_text(name) for name in _COMMANDS}
    kinds: dict[str, type[RunsPlan]] = {"sweep": SweepPlan, "calibrate": CalibrationPlan}
    return {
        kind: Root(model, {name: text for name, text in texts.items() if _COMMANDS[name] == kind})
        for kind, model in kinds.items()
    }


def write_study(name: str, folder: str | Path) -> dict[Path, bool]:
    """Write an example with many runs and its case into a folder; see `write_example`."""
    text = study_text(name)
    case = str(tomllib.loads(text)["case"]).removesuffix(".toml")
    files = {f"{name}.toml": text} | {file: _text(f"{file}.txt") for file in _OWN_FILE.findall(text)}
    return write_example(case, folder, {file: content.encode("utf-8") for file, content in files.items()})
