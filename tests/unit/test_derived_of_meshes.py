"""What follows from a mesh, its surface, solid and pieces, is computed once for each mesh."""

from __future__ import annotations

import copy
import pickle
from collections import Counter

import numpy as np
import pytest

from helpers.cases import Grains, box, make_case
from pdem.containers.meshes import mesh_topology
from pdem.containers.meshes.mesh import Mesh, join_meshes
from pdem.containers.meshes.solid import solid_of
from pdem.containers.meshes.surface import surface_of
from pdem.foundation.errors import MeshError
from pdem.run.checked_case import CheckedCase
from pdem.run.simulation import Simulation

LID = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2, 3]])


@pytest.fixture
def computed(monkeypatch):
    """Count what meshes compute, by function and mesh."""
    counts, meshes = Counter(), []
    derived, pieces = Mesh.derived, mesh_topology.pieces_of

    def counted(mesh, make):
        def noted(one):
            meshes.append(one)  # which keeps its address
            counts[make.__name__, id(one)] += 1
            return make(one)

        if make not in mesh._derived:
            mesh._derived[make] = noted(mesh)
        return derived(mesh, make)

    def counted_pieces(parts):
        meshes.append(parts)
        counts["pieces_of", id(parts)] += 1
        return pieces(parts)

    monkeypatch.setattr(Mesh, "derived", counted)
    monkeypatch.setattr(mesh_topology, "pieces_of", counted_pieces)
    return counts


@pytest.mark.parametrize("walls", ["signed", "h2"])
def test_a_run_computes_surface_and_solid_once_for_each_mesh(walls, tmp_path, computed):
    """From its checks to its first forces, for a wall that is a free body and one that has a facet without area."""
    box((0, 0, 0), (1, 1, 1)).write(tmp_path / "block.obj")
    corners = "v 0 0 -1\nv 1 0 -1\nv 1 1 -1\nv 0 1 -1\nv 0.5 0 -1\n"
    (tmp_path / "sheet.obj").write_text(f"{corners}f 1 2 3 4\nf 1 5 2\n")
    case = make_case(
        tmp_path,
        Grains([[0.5, 0.5, 3.0]], 0.1),
        more={
            "walls": [
                {"name": "block", "material": "steel", "mesh": "block.obj", "body": {"density": 2000.0}},
                {"name": "sheet", "material": "steel", "mesh": "sheet.obj"},
            ]
        },
        detection={"walls": walls},
    )
    checked = CheckedCase(None, 1, None)
    checked.prepare(case, progress=False)
    simulation = Simulation(case, particles=checked.particles, meshes=checked.meshes)
    simulation.wall_loads()
    of_body = [solid_of(mesh).volume for mesh in simulation.meshes[:1]]
    assert of_body == [pytest.approx(1.0)]
    assert set(computed.values()) == {1}, computed
    block, sheet = ({name for name, one in computed if one == id(mesh)} for mesh in simulation.meshes)
    assert block == {"_compute_surface", "_compute_solid"}
    assert sheet == {"_compute_surface"}
    of_meshes = {id(mesh.topology) for mesh in simulation.meshes}
    assert len([1 for name, one in computed if name == "pieces_of" and one in of_meshes]) == 2


def test_a_mesh_that_is_scaled_turned_moved_cut_or_joined_has_a_solid_of_its_own(tmp_path):
    block = box((0, 0, 0), (1, 2, 3))
    block.write(tmp_path / "block.ply")
    assert solid_of(block).volume == pytest.approx(6.0)
    assert solid_of(block) is solid_of(block)
    scaled = Mesh.read(tmp_path / "block.ply", 0.1)
    turned = Mesh.read(tmp_path / "block.ply", rotate={"axis": [0, 0, 1], "angle": {"degrees": 90}}, offset=(1, 1, 1))
    assert solid_of(scaled).volume == pytest.approx(6e-3)
    np.testing.assert_allclose(solid_of(turned).centre, [0.0, 1.5, 2.5], atol=1e-12)
    loops = [block.loop(facet).tolist() for facet in range(6)]
    thirds = Mesh(block.vertices, [[a, *pair] for a, b, c, d in loops for pair in ((b, c), (c, d))])
    assert len(surface_of(thirds).facet_origin) == 12 == 2 * len(surface_of(block).facet_origin)
    joined = join_meshes([block, scaled])
    assert joined.pieces[0].max() == 1
    assert len(surface_of(joined).facet_origin) == 12
    assert solid_of(join_meshes([block, turned])).volume == pytest.approx(12.0)


def test_what_is_shared_stays_as_it_was_computed():
    """Pieces that meet in a vertex have no sides in the surface, and are closed pieces of the mesh all the same."""
    one, other = box((0, 0, 0), (1, 1, 1)), box((1, 1, 1), (2, 2, 2))
    both = Mesh(
        np.concatenate((one.vertices, other.vertices)),
        [*(one.loop(f) for f in range(6)), *(other.loop(f) + 8 for f in range(6))],
    )
    before = both.pieces[1].copy()
    assert not surface_of(both).mesh.facet_side.any()
    np.testing.assert_array_equal(both.pieces[1], before)
    assert both.report().closed_pieces == 2


def test_a_mesh_without_a_solid_says_so_each_time():
    for _ in range(2):
        with pytest.raises(MeshError, match="1 of 1 facets close no volume"):
            solid_of(LID)


@pytest.mark.parametrize("repeat", [copy.deepcopy, lambda mesh: pickle.loads(pickle.dumps(mesh))])
def test_a_copy_has_equal_results(repeat):
    block = box((0, 0, 0), (1, 2, 3))
    solid, again = solid_of(block), solid_of(repeat(block))
    assert again.volume == solid.volume
    np.testing.assert_array_equal(again.inertia, solid.inertia)
