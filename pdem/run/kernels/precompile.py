"""Tiny simulations that call every kernel of a run, so that nothing is compiled during the run.

Kernels of walls take about half of the compile time. A helper process compiles these, if a core is free, while this
process compiles all other kernels. The caller passes the class of simulations, because that class imports this module.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import tomli_w

from pdem.case.deformation import deforms, shear_axes
from pdem.case.groups.initial import initial_particles
from pdem.case.groups.shapes import has_clusters
from pdem.case.laws import breakage_columns, law_of
from pdem.case.model import Case
from pdem.contact.law.parts import LARGEST_FORCE
from pdem.containers.exchange import Alone
from pdem.containers.meshes.mesh import Mesh
from pdem.engine.clusters.steps import contact_parameters
from pdem.engine.phases import Phases
from pdem.engine.ranks import compile_rank_kernels
from pdem.engine.setup import wall_geometry_of
from pdem.engine.start import NewSystem
from pdem.engine.state import gather_groups, initial_groups, load_state, local_groups
from pdem.engine.step import list_facets
from pdem.engine.system import System
from pdem.engine.walls.driven_walls import finish_driven
from pdem.engine.walls.wall_output import bodies_of, summed_loads
from pdem.motion.planned_walls import compile_plan_kernels
from pdem.numerics.cache import is_marked, mark
from pdem.numerics.thread_pool import set_threads
from pdem.preflight.given_particles import CheckedParticles
from pdem.preflight.preflight import preflight
from pdem.run.inputs import alone_on_purpose
from pdem.run.kernels.helper_process import HelperProcess

if TYPE_CHECKING:
    from collections.abc import Callable

    MakeSimulation = Callable[..., Any]

STEPS = 20
"""Number of steps: enough for contacts to begin and end, and for lists to be rebuilt."""

_SIDE = 0.06

_COMMON = """
[time]
step = "auto"
end = 1.0
[materials.grain]
density = 2500.0
youngs_modulus = 1e7
poisson_ratio = 0.3
heat_capacity = 500.0
[materials.steel]
"""

_HEAT = """
[heat]
contact = "none"
from_motion = {}
"""

_BREAKAGE = """
[materials.grain.breakage]
model = "{}"
{}
size = 0.001
spread = 1.0
smallest = 0.001
fines = "keep"
pieces = "members"
fragments = {{t10_largest = 5.0}}
"""

_OUTPUT = ("energies", "contact_ages", "contact_ends")
"""Keys of ``[output]`` on which the contact law depends."""

_USUAL = {"friction": 0.5, "restitution": 0.5}
"""Keys of the interactions if no case is given."""

_FILLING = """
[[particles]]
material = "grain"
radius = {distribution = "power-law", exponent = -3.0, min = 0.001, max = 0.008}
fill = {count = 80}
velocity = {random = 0.5, seed = 1}
"""

_GRAINS = """
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
"""Particles in lasting contact with each other and the floor, and particles that separate from them."""

_CLUSTERS = """
[shapes.dumbbell]
spheres = [[0.0, 0.0, 0.0, 0.002], [0.003, 0.0, 0.0, 0.002]]
[[particles]]
material = "grain"
shape = "dumbbell"
positions = [[0.03, 0.05, 0.00195], [0.03, 0.04, 0.03]]
orientation = "aligned"
velocity = [1.0, 0.0, 0.0]
"""

_DEFORMATION = """
[domain.deformation]
x = {strain_rate = -1.0}
"""

_SHEAR = """
[domain.deformation.shear]
velocity_along = "x"
gradient_along = "y"
rate = 1.0
"""

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


def kernel_tag(case: Case | None = None) -> str:
    """Return a tag for the kernels of a case: cases with equal tags need the same kernels."""
    method = f"{_method(case)}{'-sheared' if case is not None and shear_axes(case) else ''}"
    with_walls = f"run-{method}-{_law_hash(case)}-{_source_hash()}"
    return with_walls if _has_walls(case) or is_marked(with_walls) else f"open-{with_walls}"


def compile_kernels(make: MakeSimulation, case: Case | None = None, threads: int = 1) -> None:
    """Compile every kernel that a run of a case needs, by calls with a few particles.

    Parameters
    ----------
    make : callable
        The class of simulations, or a function with the same arguments.
    case : Case, optional
        The contact law and the detection method to compile for; without walls in the case, kernels of walls are
        omitted. None: all kernels, for elastic spheres with friction and the default detection.
    threads : int
        Number of threads to run the kernels with; the machine code does not depend on it.
    """
    set_threads(threads)
    method, laws = _method(case), _Laws.of(case)
    if not _has_walls(case):
        _run(make, _case(laws, method, walled=False), [], threads)
        compile_rank_kernels()
        return
    # if the kernels of walls are cached, the few other missing kernels are not worth a helper process
    needed = not is_marked(_walls_tag(case))
    with HelperProcess(compile_wall_kernels, laws, needed=needed) as helper:
        _run(make, _case(laws, method, walled=False), [], threads)
        helper.wait()  # otherwise both processes would compile the same kernel
    _run(make, _case(laws, method, walled=True), _meshes(), threads)
    compile_plan_kernels()  # no wall of this run has only a prescribed motion
    compile_rank_kernels()
    mark(_walls_tag(case))


def start_tag() -> str:
    """Return a tag for the kernels with which ranks make their particles."""
    return f"start-{_source_hash()}"


def compile_start_kernels() -> None:
    """Compile the kernels with which several ranks make their particles."""
    compile_rank_kernels()
    initial_particles(_case(_Laws.of(None), "hgrid", walled=False))


def compile_wall_kernels(text: str, directory: str, deformation: str) -> None:
    """Compile the kernels of walls and of ranks, for the laws of a case and the deformation of its box."""
    set_threads(1)
    system = _system_at_rest(_Laws(text, directory, deformation))
    assert system.contacts.walls is not None
    system.lists.measure_reaches(system.constants, system.box, system.progress.step)
    list_facets(system, system.contacts.walls.carry(system.particles))
    _call_wall_kernels(system)
    compile_rank_kernels()


class _Laws(NamedTuple):
    """Text with materials, interactions and the output of energies, and the base folder of files of contact laws.

    `deformation` is the text for a deforming box, empty otherwise. The text contains all contact laws of a case, so
    that the compiled kernels are the same.
    """

    text: str
    directory: str
    deformation: str = ""

    @classmethod
    def of(cls, case: Case | None) -> _Laws:
        """Return the laws of a case, or default laws without a case."""
        tables = [_USUAL] if case is None else [one.model_dump(exclude_none=True) for one in case.interactions.values()]
        tables = tables or [_USUAL]
        different = {tomli_w.dumps(table): table for table in tables}
        document: dict[str, Any] = {"materials": {}, "interactions": {}}
        document["output"] = {} if case is None else case.output.model_dump(include=set(_OUTPUT))
        for number, table in enumerate(different.values()):  # of materials without particles
            document["materials"][f"other{number}"] = {}
            document["interactions"][f"other{number}-other{number}"] = table
        for pair in ("grain-grain", "grain-steel"):
            document["interactions"][pair] = tables[0]
        if case is None:
            return cls(tomli_w.dumps(document), ".")
        text = tomli_w.dumps(document) + (_CLUSTERS if has_clusters(case) else "") + _features_of(case)
        return cls(text, str(case.directory), _deformation_of(case))


def _features_of(case: Case) -> str:
    """Return the text of features that add columns to the histories of contacts; large particles break at once."""
    columns = {one.name for one in breakage_columns(case)}
    text = _HEAT.format(str(case.heat.from_motion).lower()) if case.heat is not None else ""
    if columns:
        by_force = LARGEST_FORCE.name in columns
        keys = "strength = 1e-9" if by_force else "fracture_energy = 1e-9\nexponent = 0.0"
        text += _BREAKAGE.format("stress" if by_force else "tavares", keys)
    return text


def _deformation_of(case: Case) -> str:
    """Return the text that makes the box of a small case deform in the same way as the box of a case."""
    return (_DEFORMATION + (_SHEAR if shear_axes(case) else "")) if deforms(case) else ""


def _call_wall_kernels(system: System) -> None:
    """Call the kernels of wall contacts, except the kernel of the law if no particle has candidate facets."""
    assert system.contacts.walls is not None
    walls = system.contacts.walls
    packed, law = system.contacts.pairs.packed(system.particles.count), contact_parameters(system, at_rest=True)
    walls.evaluate(packed, law, system.contacts.ended_energies)
    summed_loads(system, bodies_of(walls.walls))
    finish_driven(system, system.constants.time_step, Phases())
    walls.loads()


def _system_at_rest(laws: _Laws) -> System:
    """Return particles among walls before the first step; this calls only the kernels that move walls."""
    case, meshes = _case(laws, "hgrid", walled=True, filled=False), _meshes()
    geometry, particles = wall_geometry_of(case, meshes), initial_particles(case, meshes)
    system = NewSystem(case, geometry, Alone()).system
    load_state(system, initial_groups(particles, system.exchange))
    system.lists.renew_levels(system.constants, system.exchange)
    assert system.walls is not None
    system.walls.place(0.0, 0.0)
    compile_plan_kernels()
    return system


def _walls_tag(case: Case | None) -> str:
    return f"walls-{_law_hash(case)}-{_source_hash()}"


def _law_hash(case: Case | None) -> str:
    """Return a short hash of the contact law of a case."""
    version = law_of(_case(_Laws.of(None), "hgrid", walled=False) if case is None else case).version
    return hashlib.blake2b(version.encode(), digest_size=6).hexdigest()


def _source_hash() -> str:
    """Return a short hash of this module, which determines the compiled kernels."""
    return hashlib.blake2b(Path(__file__).read_bytes(), digest_size=4).hexdigest()


def _has_walls(case: Case | None) -> bool:
    return case is None or bool(case.walls)


def _method(case: Case | None) -> str:
    return "hgrid" if case is None else case.detection.method


def _case(laws: _Laws, method: str, *, walled: bool, filled: bool = True) -> Case:
    parts = [_COMMON, laws.text, _FILLING if filled else "", _GRAINS, _BOX]
    parts.append("gravity = [0.0, 0.0, -9.81]" if walled else "periodic = [true, true, true]")
    parts.append("periodic = [true, true, false]" if walled and laws.deformation else "")
    parts.append(laws.deformation)
    parts.append(f'[detection]\nmethod = "{method}"\nlevels = 3\nskin = 0.02')
    return Case.from_text("\n".join([*parts, _WALLS if walled else ""]), laws.directory)


def _run(make: MakeSimulation, case: Case, meshes: list[Mesh], threads: int) -> None:
    """Take some steps, continue from the resulting state, and call all measurements."""
    particles = CheckedParticles(initial_particles(case, meshes))  # skip the checks: two particles overlap on purpose
    preflight(case, particles, meshes)
    with alone_on_purpose():
        first = make(case, threads=threads, particles=particles, meshes=meshes)
    first.system.lists.reorder_next()
    first.advance(STEPS)
    state = gather_groups(first.system, local_groups(first.system))
    with alone_on_purpose():
        second = make(case, threads=threads, state=state, meshes=meshes)
    second.advance(STEPS)
    second.energies()
    second.wall_loads()
    second.nodal_forces()
    second.gather()


def _meshes() -> list[Mesh]:
    """Return the meshes of `_WALLS`."""
    return [_tray(), _blade(), _blade(), _blade()]


def _tray() -> Mesh:
    """Return a box without a lid, from five squares."""
    low, high = -0.001, _SIDE + 0.001
    square = [(low, low), (high, low), (high, high), (low, high)]
    vertices = [(x, y, z) for z in (low, high) for x, y in square]
    sides = [[a, (a + 1) % 4, (a + 1) % 4 + 4, a + 4] for a in range(4)]
    return Mesh(vertices, [[0, 1, 2, 3], *sides])


def _blade() -> Mesh:
    """Return two triangles with a common edge, vertical in the middle of the box."""
    middle = 0.5 * _SIDE
    corners = [[x, middle, z] for x, z in ((0.02, 0.0), (0.04, 0.0), (0.04, 0.02), (0.02, 0.02))]
    return Mesh(corners, [[0, 1, 2], [0, 2, 3]])
