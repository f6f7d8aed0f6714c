"""The shapes of a case: their spheres, from the case or files, and their mass properties."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.foundation.errors import CaseError, InputError, MeshError

if TYPE_CHECKING:
    from pdem.case.sections.particles import ParticleGroup
    from pdem.case.sections.schema import CaseData
    from pdem.containers.meshes.solid import Solid
    from pdem.features.insertions.section import Insertion
    from pdem.particles.clusters.shapes import ClusterShape


def used_shapes(case: CaseData) -> tuple[str, ...]:
    """Return the names of the shapes that groups and insertions of a case use, each once."""
    groups: list[ParticleGroup | Insertion] = [*case.particles, *case.insertions]
    return tuple(dict.fromkeys(one.shape for one in groups if one.shape is not None))


def is_flexible(case: CaseData, name: str) -> bool:
    """Return whether bonds join the spheres of a shape."""
    return name in case.shapes and case.shapes[name].bonds is not None


def has_flexible(case: CaseData) -> bool:
    """Return whether any particles of a case are flexible."""
    return any(is_flexible(case, name) for name in used_shapes(case))


def has_clusters(case: CaseData) -> bool:
    """Return whether any particles of a case are rigid clusters."""
    return any(not is_flexible(case, name) for name in used_shapes(case))


def is_in_file(case: CaseData, name: str | None) -> bool:
    """Return whether the spheres of a shape are in a file, which rules of the case file do not open."""
    return name is not None and case.shapes[name].file is not None


def shapes_of(case: CaseData) -> dict[str, ClusterShape]:
    """Return the shapes of a case by name; empty if no particles use them.

    Raises
    ------
    CaseError
        If a file cannot be used, or the mass properties are not those of a body.
    """
    return {name: shape_of(case, name) for name in case.shapes} if used_shapes(case) else {}


def shape_of(case: CaseData, name: str) -> ClusterShape:
    """Return one shape of a case.

    Raises
    ------
    CaseError
        See `shapes_of`.
    """
    return _made(case, name)[0]


def member_count(case: CaseData, group: ParticleGroup | Insertion) -> int:
    """Return the number of spheres of each particle of a group."""
    return 1 if group.shape is None else len(shape_of(case, group.shape).radius)


def shape_masses(case: CaseData, name: str) -> dict[str, Solid]:
    """Return the mass properties of a shape by every available rule, first those of its union.

    Raises
    ------
    CaseError
        See `shapes_of`.
    """
    return _made(case, name)[1]


def _made(case: CaseData, name: str) -> tuple[ClusterShape, dict[str, Solid]]:
    from pdem.case.groups.shape_making import made_shape  # needs compiled code, which most cases do without

    section, where = case.shapes[name], f"{case.source}: shapes.{name}"
    path = None if section.file is None else case.file(section.file)
    try:
        made = made_shape(section, path, None if path is None else path.stat().st_mtime_ns)
    except OSError as error:
        raise CaseError(f"{where}.file: {path}: cannot be read: {error.strerror}") from None
    except (InputError, MeshError) as error:
        raise CaseError(f"{where}: {error}") from None
    heights = made[0].centre[:, 2]
    if case.domain.dimension == 2 and heights.max() > heights.min():
        raise CaseError(
            f"{where}: its spheres have z from {heights.min():g} to {heights.max():g} m; in a case of dimension 2, "
            "which lies in the x-y plane, all must have the same: flatten it, or take dimension 3"
        )
    return made
