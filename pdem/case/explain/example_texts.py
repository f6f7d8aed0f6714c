"""Texts of the example cases of ``pdem new``."""

from __future__ import annotations

import re
import tomllib
from importlib import resources

from pdem.case.messages import nearest_key_hint
from pdem.foundation.errors import CaseError

_GROUPS = {
    "start": ("silo", "hopper", "pouring", "bouncing_sphere", "sliding_sphere", "two_spheres"),
    "machines": ("drum", "ball_mill", "conveyor", "screw", "sieve", "die_filling", "rotor", "winnowing"),
    "laboratory": (
        "repose", "clusters", "wet_sand", "shear_box", "plane_shear", "rough_incline", "piston",
        "three_point_bending",
    ),
    "papers": (
        "h2_impacts", "h2_continuity", "h2_holes", "h2_sliding", "h2_crease", "h2_facet_changes", "h2_mixer",
        "disc_jet", "dosta_silo", "dosta_drum", "dosta_impact",
    ),
}  # fmt: skip


def example_groups() -> dict[str, tuple[str, ...]]:
    """Return the names of the examples of each group, in a good order for reading."""
    return dict(_GROUPS)


def example_names() -> list[str]:
    """Return the names of all examples, in alphabetical order."""
    files = (resources.files("pdem.case") / "examples").iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


def example_text(name: str) -> str:
    """Return the case file of an example.

    Raises
    ------
    CaseError
        If there is no such example.
    """
    names = example_names()
    if name not in names:
        raise CaseError(f"{name!r} is not an example; {nearest_key_hint(name, names)}")
    return (resources.files("pdem.case") / "examples" / f"{name}.toml").read_text(encoding="utf-8")


def example_title(name: str) -> str:
    """Return the title of an example; see `title_of`."""
    return title_of(example_text(name))


def title_of(text: str) -> str:
    """Return the opening comment of a file up to its first colon or the end of its first sentence.

    A colon between numbers, as in sizes of 1 : 10, does not count.
    """
    comment = [line.removeprefix("#").strip() for line in text.splitlines() if line.startswith("#")]
    return re.split(r"(?<!\s):\s|(?<!\d)(?<! al)\.(?:\s|$)", " ".join(comment))[0]


def example_results(name: str) -> str:
    """Return the output folder of an example, relative to the folder in which it is started."""
    return str(tomllib.loads(example_text(name))["output"]["folder"])
