"""Reader of the meshes of a case's walls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.messages import shown_key, shown_value
from pdem.case.missing_file import missing_file_error
from pdem.containers.mesh import Mesh
from pdem.foundation.errors import MeshError

if TYPE_CHECKING:
    from pdem.case.model import Case


def read_walls(case: Case) -> list[Mesh]:
    """Read the mesh of every wall, in the order of the case, in m and at time 0.

    Raises
    ------
    CaseError
        If there is no such file.
    MeshError
        If a mesh cannot be used; both name the wall.
    """
    meshes = []
    for index, wall in enumerate(case.walls):
        path = case.file(wall.mesh)
        key = f"{case.source}: {shown_key(['walls', index, 'mesh'])} = {shown_value(wall.mesh)}"
        if not path.is_file():
            raise missing_file_error(case, key, path)
        try:
            meshes.append(Mesh.read(path, wall.scale, group=wall.group, split_facets=wall.split_facets))
        except MeshError as error:
            raise MeshError(f"{key}: {error}") from None
    return meshes
