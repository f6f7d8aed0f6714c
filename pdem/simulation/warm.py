"""Tiny simulations that call every kernel of a run, so that none is compiled while one is under way."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pdem.case.initial import initial_particles
from pdem.case.model import Case
from pdem.case.preflight import preflight
from pdem.containers.mesh import Mesh
from pdem.foundation.cache import is_marked
from pdem.simulation.distributed import rehearse
from pdem.simulation.simulation import Simulation
from pdem.simulation.state import gather_groups, local_groups
from pdem.simulation.step import SORT_EVERY

STEPS = 20
"""Enough for contacts to begin and end and for lists to be made anew."""

_SIDE = 0.06

_COMMON = """
[time]
step = 1e-5
end = 1.0
[materials.grain]
density = 2500.0
youngs_modulus = 1e7
poisson_ratio = 0.3
[materials.steel]
[interactions.grain-grain]
friction = 0.5
restitution = 0.5
rolling_friction = 0.1
[interactions.grain-steel]
friction = 0.5
restitution = 0.5
rolling_friction = 0.1
"""

_GRAINS = """
[[particles]]
material = "grain"
radius = {distribution = "power-law", exponent = -3.0, min = 0.001, max = 0.008}
fill = {count = 80}
velocity = {random = 0.5, seed = 1}
[[particles]]
material = "grain"
radius = 0.002
positions = [[0.01, 0.01, 0.00095], [0.0139, 0.01, 0.00095]]
[[particles]]
material = "grain"
radius = 0.002
positions = [[0.01, 0.02, 0.00095], [0.0139, 0.03, 0.00095]]
velocity = [-1.0, 0.0, 2.0]
[[particles]]
material = "grain"
radius = 0.002
positions = [[0.0139, 0.02, 0.00095]]
velocity = [1.0, 0.0, 2.0]
"""
"""Some anywhere, two that stay in contact with each other and the floor, and some that leave them."""

_BOX = f"""
[domain]
lower = [0.0, 0.0, 0.0]
upper = [{_SIDE}, {_SIDE}, {_SIDE}]
"""

_WALLS = """
[[walls]]
mesh = "tray"
material = "steel"
[[walls]]
mesh = "blade"
material = "steel"
rotation = {rate = 30.0, axis = [0.0, 0.0, 1.0], centre = [0.03, 0.03, 0.03]}
translation = {velocity = [1.0, 0.0, 0.0]}
[[walls]]
name = "flap"
mesh = "blade"
material = "steel"
body = {mass = 0.1, centre = [0.03, 0.03, 0.01], inertia = [1e-5, 1e-5, 1e-5]}
[[walls]]
name = "press"
mesh = "blade"
material = "steel"
servo = {axis = [0.0, 1.0, 0.0], force = -1.0, largest_rate = 0.1}
"""


def tag(case: Case | None = None) -> str:
    """Return what `exercise` covers, as a name: cases with the same one need the same kernels."""
    with_walls = f"run-{_method(case)}-{_covers()}"
    return with_walls if _has_walls(case) or is_marked(with_walls) else f"open-{with_walls}"


def exercise(case: Case | None = None, threads: int = 1) -> None:
    """Call every kernel that a run of a case needs, on a few particles in memory.

    Parameters
    ----------
    case : Case, optional
        Its way of detection is used, and kernels of walls are left out if it has none; all are called, with the default
        detection, if None.
    threads : int
        Threads to run the kernels on. Their machine code does not depend on it.
    """
    method = _method(case)
    if _has_walls(case):
        _run(_case(method, walled=True), [_tray(), _blade(), _blade(), _blade()], threads)
    _run(_case(method, walled=False), [], threads)
    rehearse()


def _covers() -> str:
    return hashlib.blake2b(Path(__file__).read_bytes(), digest_size=4).hexdigest()


def _has_walls(case: Case | None) -> bool:
    return case is None or bool(case.walls)


def _method(case: Case | None) -> str:
    return "hgrid" if case is None else case.detection.method


def _case(method: str, *, walled: bool) -> Case:
    parts = [_COMMON, _GRAINS, _BOX]
    parts.append("gravity = [0.0, 0.0, -9.81]" if walled else "periodic = [true, true, true]")
    parts.append(f'[detection]\nmethod = "{method}"\nlevels = 3\nskin = 0.02')
    return Case.from_text("\n".join([*parts, _WALLS if walled else ""]))


def _run(case: Case, meshes: list[Mesh], threads: int) -> None:
    """Take some steps, continue from the state they lead to, and ask for everything there is to ask."""
    particles = initial_particles(case, meshes)
    preflight(case, particles, meshes)
    first = Simulation(case, threads=threads, particles=particles, meshes=meshes)
    first.system.detections = SORT_EVERY  # at the next one particles are put in another order
    first.advance(STEPS)
    state = gather_groups(first.system, local_groups(first.system))
    second = Simulation(case, threads=threads, state=state, meshes=meshes)
    second.advance(STEPS)
    second.energies()
    second.wall_loads()
    second.nodal_forces()
    second.gather()


def _tray() -> Mesh:
    """Return a box without a lid: five squares."""
    low, high = -0.001, _SIDE + 0.001
    square = [(low, low), (high, low), (high, high), (low, high)]
    vertices = [(x, y, z) for z in (low, high) for x, y in square]
    sides = [[a, (a + 1) % 4, (a + 1) % 4 + 4, a + 4] for a in range(4)]
    return Mesh(vertices, [[0, 1, 2, 3], *sides])


def _blade() -> Mesh:
    """Return two triangles that share an edge, upright in the middle of the box."""
    middle = 0.5 * _SIDE
    corners = [[x, middle, z] for x, z in ((0.02, 0.0), (0.04, 0.0), (0.04, 0.02), (0.02, 0.02))]
    return Mesh(corners, [[0, 1, 2], [0, 2, 3]])
