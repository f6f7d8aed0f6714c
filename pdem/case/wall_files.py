"""The meshes of a case's walls: read from files, or generated from shape and dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.messages import shown_key, shown_value
from pdem.case.missing_file import missing_file_error
from pdem.case.sections.walls import MeshWall
from pdem.containers.meshes.mesh import Mesh
from pdem.containers.primitives.frames import loops_of
from pdem.foundation.errors import MeshError

if TYPE_CHECKING:
    from pdem.case.sections.schema import CaseData


def read_walls(case: CaseData) -> list[Mesh]:
    """Read or make the mesh of every wall, in the order of the case, in m and at time 0.

    Raises
    ------
    CaseError
        If there is no such file.
    MeshError
        If a mesh cannot be used; both name the wall.
    """
    return [mesh_of_wall(case, index) for index in range(len(case.walls))]


def mesh_of_wall(case: CaseData, index: int) -> Mesh:
    """Read or make the mesh of one wall; errors as for `read_walls`."""
    wall = case.walls[index]
    if isinstance(wall, MeshWall):
        return _read(case, wall, index)
    try:
        return Mesh.from_loops(*loops_of(wall.parts(case.domain)))
    except MeshError as error:
        key = f"{case.source}: {shown_key(['walls', index, 'shape'])} = {shown_value(wall.shape)}"
        raise MeshError(f"{key}: {error}; are its measures of one order?") from None


def _read(case: CaseData, wall: MeshWall, index: int) -> Mesh:
    path = case.file(wall.mesh)
    key = f"{case.source}: {shown_key(['walls', index, 'mesh'])} = {shown_value(wall.mesh)}"
    if not path.is_file():
        raise missing_file_error(case, key, path)
    try:
        return Mesh.read(
            path, wall.scale, rotate=wall.rotations(), offset=wall.offset, group=wall.group,
            split_facets=wall.split_facets,
        )  # fmt: skip
    except MeshError as error:
        raise MeshError(f"{key}: {error}") from None
