"""Rules of the case file on breakage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.groups.group_sizes import sphere_limits
from pdem.case.groups.shapes import is_flexible
from pdem.case.laws import has_breakage
from pdem.case.messages import Problem, nearest_key_hint
from pdem.case.python_files import FROM_FILE, is_python_name
from pdem.case.sections.materials import split_pair
from pdem.features.breakage.fragment_curve import LEAST_SIZE
from pdem.features.breakage.model_keys import KEYS_OF_MODELS, SMALLEST_PARENT
from pdem.features.breakage.size_model import SizeModel
from pdem.features.breakage.size_tables import SIZE_TABLES, size_rows
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from pdem.case.groups.group_sizes import Group
    from pdem.case.sections.breakage import BreakageSection
    from pdem.case.sections.schema import CaseData

    Location: TypeAlias = tuple[str | int, ...]

_OF_MODELS = tuple(
    dict.fromkeys(key for required, optional in KEYS_OF_MODELS.values() for key in (*required, *optional))
)


def breakage_problems(case: CaseData) -> Iterator[Problem]:
    """Yield the problems of breakage that need no further files."""
    if case.breakage is not None and not has_breakage(case):
        yield Problem(("breakage",), "has no use: no material breaks; give one [materials.NAME.breakage]")
    for name, material in case.materials.items():
        if (section := material.breakage) is None:
            continue
        where: Location = ("materials", name, "breakage")
        yield from _model(section, where)
        yield from _fragments(section, where)
        yield from _groups(case, name, section, where)
        yield from _rest_of_case(case, name, where)


def _model(section: BreakageSection, where: Location) -> Iterator[Problem]:
    """Yield the problems of the model and of its keys."""
    kind = FROM_FILE if section.model.startswith(FROM_FILE) else section.model
    if kind not in KEYS_OF_MODELS:
        names = [*KEYS_OF_MODELS][:-1]
        hint = nearest_key_hint(section.model, [*names, "python:FILE.py:NAME"])
        yield Problem((*where, "model"), f"is no model of breakage; {hint}")
        return
    if kind == FROM_FILE and not is_python_name(section.model):
        yield Problem((*where, "model"), 'must be "python:FILE.py:NAME", a file and a function in it')
    required, optional = KEYS_OF_MODELS[kind]
    for key in required:
        if getattr(section, key) is None:
            yield Problem((*where, key), f'is missing; model = "{section.model}" needs it')
    for key in _OF_MODELS:
        if key not in (*required, *optional) and getattr(section, key) is not None:
            yield Problem((*where, key), f'has no influence on model = "{section.model}"; remove it')


def _fragments(section: BreakageSection, where: Location) -> Iterator[Problem]:
    """Yield the problems of the table of sizes."""
    table = section.fragments.table
    if isinstance(table, str) and table not in SIZE_TABLES:
        allowed = ", ".join(f'"{name}"' for name in SIZE_TABLES)
        yield Problem((*where, "fragments", "table"), f"must be {allowed}, or rows [n, alpha, beta]")
        return
    try:
        SizeModel(size_rows(table), section.smallest)
    except InputError as error:
        yield Problem((*where, "fragments", "table"), f"cannot be used: {error}")


def _groups(case: CaseData, name: str, section: BreakageSection, where: Location) -> Iterator[Problem]:
    """Yield the problems of the particles of a material that breaks."""
    sizes, has_clusters = [], False
    groups: list[tuple[str, int, Group]] = [
        *(("particles", index, one) for index, one in enumerate(case.particles)),
        *(("insertions", index, one) for index, one in enumerate(case.insertions)),
    ]
    for index, group in enumerate(case.particles):
        if group.fixed and group.material == name:
            text = f"does not break, and {name} has a table breakage; give fixed particles another material"
            yield Problem(("particles", index, "fixed"), text)
    for key, index, one in groups:
        if one.material != name:
            continue
        if one.shape is not None and is_flexible(case, one.shape):
            text = f"makes flexible particles, which do not break like {name}; take a material without breakage"
            yield Problem((key, index, "shape"), text)
        elif one.shape is not None and section.pieces is None:
            text = f'makes clusters, which break into their spheres with materials.{name}.breakage.pieces = "members"'
            yield Problem((key, index, "shape"), f"{text}; give that, or take another material")
        elif one.shape is not None:
            has_clusters = True
        elif (limits := sphere_limits(case, one)) is not None:
            sizes.append(limits[1])
    if sizes and not has_clusters and max(sizes) < SMALLEST_PARENT * section.smallest:
        text = (
            f"must be at most {max(sizes) / SMALLEST_PARENT:.4g} m, half of the largest radius of {name}: smaller "
            "spheres have no room for two fragments, and none breaks"
        )
        yield Problem((*where, "smallest"), text)
    if sizes and section.smallest <= LEAST_SIZE * max(sizes):
        text = f"must be more than {LEAST_SIZE:g} of the largest radius of {name}, {max(sizes):g} m"
        yield Problem((*where, "smallest"), text)


def _rest_of_case(case: CaseData, name: str, where: Location) -> Iterator[Problem]:
    """Yield the problems of parts of the case that cannot be combined with breakage of a material."""
    for key, interaction in case.interactions.items():
        pairs = split_pair(key, case.materials)
        touched = key == "default" or any(name in pair for pair in pairs)
        if touched and interaction.adhesion is not None:
            text = f"cannot act on {name}, which breaks: remove it, or the table breakage of {name}"
            yield Problem(("interactions", key, "adhesion"), text)
    for bond, bonds in case.bonds.items():
        if bonds.between is None or any(name in pair for pair in split_pair(bonds.between, case.materials)):
            text = f"join spheres of {name}, which break: give bonded spheres another material"
            yield Problem(("bonds", bond), text)
