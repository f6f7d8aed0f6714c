"""Sections of the files of sweeps and calibrations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import tomli_w
from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from pdem.case.hints.toml_text import parsed
from pdem.case.hints.validation import problems_of
from pdem.case.sections.base import Name, Positive, Section, Seed, entry
from pdem.case.sections.earlier_keys import present_key
from pdem.foundation.errors import CaseError
from pdem.foundation.texts import TextError, read_text
from pdem.sweeps.fitting.next_locations import scan_size
from pdem.sweeps.measure_sections import Measure

Plan = TypeVar("Plan", bound="RunsPlan")

MOST_RUNS = 100_000
"""Largest number of runs in a sweep."""


class Varied(Section):
    """``[vary.NAME]``: a quantity that is varied, by values or within a range."""

    key: Name | None = entry("Key of the case, as for `--set`; by default the name of the quantity.", default=None)
    keys: Annotated[tuple[Name, ...], Field(strict=False)] = entry(
        "In place of `key`: several keys that always have the same value.", default=()
    )
    values: Annotated[tuple[Any, ...], Field(strict=False, min_length=1)] | None = entry(
        "Values, of any type that the key takes.", default=None
    )
    min: float | None = entry("In place of `values`: smallest value of a range.", default=None)
    max: float | None = entry("Largest value of that range.", default=None)
    count: Annotated[int, Field(ge=2, le=MOST_RUNS)] | None = entry(
        "Number of values that a grid takes from the range.", default=None
    )
    scale: Literal["linear", "log"] = entry('`"linear"`, or `"log"` for a range over decades.', default="linear")
    start: float | None = entry(
        "Calibrations: value of the first runs; by default the middle of the range.", default=None
    )

    @model_validator(mode="after")
    def _one_way(self) -> Varied:
        if self.key is not None and self.keys:
            raise PydanticCustomError("keys", "has both key and keys; keep one of them")
        ends = self.min is not None, self.max is not None
        if (self.values is not None) == any(ends) or (any(ends) and not all(ends)):
            raise PydanticCustomError("range", "needs either values, or min and max")
        if self.min is not None and self.max is not None:
            if not self.min < self.max:
                raise PydanticCustomError("order", "needs min below max")
            if self.scale == "log" and self.min <= 0.0:
                raise PydanticCustomError("log", 'needs min above 0 with scale = "log"')
            if self.start is not None and not self.min <= self.start <= self.max:
                raise PydanticCustomError("start", "needs start between min and max")
        return self

    def keys_of(self, name: str) -> tuple[str, ...]:
        """Return the keys of the case that the entry `name` varies."""
        return tuple(".".join(present_key(key.split("."))) for key in self.keys or (self.key or name,))


class RunsPlan(Section):
    """Many runs of one case: varied quantities and measures."""

    file: ClassVar[str]
    case: Name = entry("Case file, relative to the folder of this file.")
    folder: Name = entry("Folder of all results, relative to the folder in which the command is started.")
    replicas: Annotated[int, Field(ge=1, le=1000)] = entry(
        "Number of runs of each point: the first as given, the others with slightly smaller radii (`perturbation`).",
        default=1,
    )
    perturbation: Annotated[float, Field(gt=0.0, le=1e-3)] = entry(
        "Largest fraction by which the radii of replicas are smaller.", default=1e-12
    )
    at: Name | None = entry(
        "Name of a stage: all runs share the time before it, and varied values must not act earlier. By default "
        "runs share what they can.",
        default=None,
    )
    settings: Annotated[tuple[str, ...], Field(strict=False)] = entry(
        "Changes of the case for all runs, as for `--set`.", default=()
    )
    vary: dict[str, Varied] = entry("Quantities that are varied, by name.", default_factory=dict)
    measures: dict[str, Measure] = entry("Measures of each run, by name.", default_factory=dict)


class SweepPlan(RunsPlan):
    """A sweep: runs of one case at many points of a design, and their measures."""

    file: ClassVar[str] = "sweep.toml"
    design: Literal["grid", "latin-hypercube", "sobol"] = entry(
        '`"grid"` of all combinations, `"latin-hypercube"` or `"sobol"`.', default="grid"
    )
    points: Annotated[int, Field(ge=1, le=MOST_RUNS)] | None = entry(
        'Number of points of `"latin-hypercube"` and `"sobol"`; for Sobol a power of 2.', default=None
    )
    seed: Seed = entry('Seed of `"latin-hypercube"` and `"sobol"`.', default=0)

    @model_validator(mode="after")
    def _design(self) -> SweepPlan:
        if self.design == "grid":
            if self.points is not None:
                raise PydanticCustomError("points", "has points, which a grid does not take: give each range a count")
            for name, one in self.vary.items():
                if one.values is None and one.count is None:
                    text = "vary.{name} is a range without count, which a grid needs; or take another design"
                    raise PydanticCustomError("count", text, {"name": name})
        elif self.points is None:
            raise PydanticCustomError("points", "needs points, the number of the design's")
        elif self.design == "sobol" and self.points & (self.points - 1):
            raise PydanticCustomError("power", "needs points that are a power of 2 for Sobol's design: 8, 16, 32, ...")
        return self


class Target(Section):
    """``[targets.NAME]``: target value of the measure with this name."""

    value: float = entry("Value of the target, in the unit of the measure.")
    uncertainty: Positive = entry("Standard error of this value.")


class CalibrationPlan(RunsPlan):
    """A calibration: values of a case for which measures meet targets."""

    file: ClassVar[str] = "calibration.toml"
    targets: dict[str, Target] = entry(
        "Targets by the names of the measures; at least as many as varied quantities.", default_factory=dict
    )
    runs: Annotated[int, Field(ge=1, le=MOST_RUNS)] | None = entry(
        "Largest number of runs, replicas included; by default those of the scan (a point, and four for each varied "
        "quantity) and 8 for each quantity and one. It ends earlier when chance is small beside the uncertainties "
        "of the targets, or when no values can meet them.",
        default=None,
    )

    @model_validator(mode="after")
    def _determined(self) -> CalibrationPlan:
        for name, one in self.vary.items():
            if one.values is not None:
                text = "vary.{name} has values; a calibration needs min and max"
                raise PydanticCustomError("range", text, {"name": name})
        if not self.vary or len(self.targets) < len(self.vary):
            text = "has {targets} targets for {quantities} quantities in vary; give as many targets, one at least"
            raise PydanticCustomError("few", text, {"targets": len(self.targets), "quantities": len(self.vary)})
        least = scan_size(len(self.vary)) * self.replicas
        if self.runs is not None and self.runs < least:
            text = "has runs = {runs}, but the scan of the ranges alone takes {least}: give as many, and some more"
            raise PydanticCustomError("runs", text, {"runs": self.runs, "least": least})
        return self


def plan_of_document(kind: type[Plan], document: dict[str, Any], source: str) -> Plan:
    """Return a plan from a parsed file.

    Raises
    ------
    CaseError
        If the document is not valid; one line per problem.
    """
    try:
        return kind.model_validate(document)
    except ValidationError as error:
        problems = problems_of(kind, error.errors(include_url=False))
        raise CaseError("\n".join(dict.fromkeys(one.line(source, document) for one in problems))) from None


def read_document(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file.

    Raises
    ------
    CaseError
        If the file cannot be read.
    """
    try:
        text = read_text(path)
    except OSError as error:
        raise CaseError(f"{path}: cannot be read: {error.strerror}") from None
    except TextError as error:
        raise CaseError(f"{path}: {error}; a plan is a text file in UTF-8") from None
    return parsed(text, str(path))


def text_of_plan(plan: RunsPlan) -> str:
    """Return a plan as TOML."""
    return tomli_w.dumps(plan.model_dump(mode="python", exclude_none=True, exclude_defaults=True))
