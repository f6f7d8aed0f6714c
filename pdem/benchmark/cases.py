"""The fixed cases that `pdem bench` measures, with reproducible preparation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tomli_w

from pdem.benchmark import polydisperse
from pdem.benchmark.bladed_drum import bladed_drum
from pdem.benchmark.cluster_cases import SIZES, drum_of_clusters
from pdem.benchmark.wall_cases import hopper, mesh_of_a_million
from pdem.case.groups.initial import initial_particles
from pdem.case.model import Case
from pdem.case.wall_files import read_walls
from pdem.containers.meshes.mesh import Mesh
from pdem.engine.state import gather_groups, local_groups
from pdem.foundation.errors import InputError, PdemError, name_hint
from pdem.preflight.given_particles import CheckedParticles
from pdem.run.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pdem.engine.state import Groups
    from pdem.foundation.array_types import Integers

    Columns = dict[str, NDArray[Any]]

SETTLING_STEPS = 4000
FLOWING_STEPS = 6400
"""Number of steps after which grains leave the hopper and enter again at the top."""
PLATE_STEPS, DRUM_STEPS = 1600, 2400
THROWING_STEPS = 12000
"""Number of steps until the blades of the drum throw grains: a quarter of a turn."""
COARSE_PLATE = 177
"""Squares per side of the coarse plate on which the bed of ``mesh-million`` settles."""
TILES = (4, 3)
"""Copies of the settled bed along x and y in ``dense-bed-100k``."""
MANY_TILES = (12, 10)
"""Copies of the settled bed along x and y in ``dense-bed-1m``."""

_RADIUS = 1e-3
_WIDTH = 32.0 * _RADIUS

_BED = """
[time]
step = 1.5e-5
end = 1.0
[domain]
lower = [0.0, 0.0, -0.01]
upper = [{x!r}, {y!r}, 0.2]
periodic = [true, true, false]
gravity = [0.0, 0.0, -9.81]
[materials.grain]
density = 2500.0
youngs_modulus = 1e7
poisson_ratio = 0.25
[materials.floor]
[interactions.grain-grain]
law = "hertz-mindlin"
friction = 0.5
restitution = 0.3
[interactions.grain-floor]
friction = 0.5
restitution = 0.3
[[particles]]
material = "grain"
radius = {radius!r}
fill = {{arrangement = "hexagonal", count = 8192, gap = 0.08, jitter = 1.0, lower = [0.0, 0.0, 0.0], upper = [{x!r}, {y!r}, 0.2]}}
velocity = {{random = 0.1, seed = 1}}
[[walls]]
mesh = "floor"
material = "floor"
"""  # noqa: E501

BED_RATIO, BED_COUNT, BED_STEPS = 10.0, 20000, 18000
"""For ``polydisperse-bed-10``: ratio of radii, number of particles, and number of steps until they are at rest."""

_GASES = {"polydisperse-10": (10.0, 20000), "polydisperse-50": (50.0, 50000)}
"""Polydisperse cases: ratio of radii and number of particles."""

ENLARGEABLE = ("dense-bed", *_GASES)
"""Cases that can be enlarged by any integer factor."""


class SkipCase(Exception):
    """The reason why a case cannot be measured here."""


@dataclass
class Start:
    """A case with its initial state: either particles, or a complete state with contacts.

    Attributes
    ----------
    case : Case
        The case.
    meshes : list of Mesh
        Meshes of its walls.
    particles : dict of ndarray or None
        Initial particles, on rank 0.
    state : dict or None
        Initial state, on rank 0.
    """

    case: Case
    meshes: list[Mesh]
    particles: Columns | None = None
    state: Groups | None = None

    def __post_init__(self) -> None:
        if self.particles is not None:  # the particles are valid; checks would count as part of the measurement
            self.particles = CheckedParticles(self.particles)


@dataclass(frozen=True)
class BenchCase:
    """A case of the benchmark.

    Attributes
    ----------
    name : str
        Name on the command line.
    prepare : callable
        Returns the start of the case for a communicator and the number of threads of this rank. Collective.
    particle_steps : float
        Default number of measured particle-steps.
    only_named : bool
        Whether the case is measured only on request by name, because it is large.
    warm_up_steps : int or None
        Number of steps before the measurement; None for `pdem.benchmark.measure.WARM_UP_STEPS`.
    """

    name: str
    prepare: Callable[[Any, int], Start]
    particle_steps: float = 1.5e7
    only_named: bool = False
    warm_up_steps: int | None = None


def without_energies(case: BenchCase) -> BenchCase:
    """Return a copy of a case, with a different name, in which contacts do not record energies."""

    def prepare(communicator: Any, threads: int) -> Start:
        start = case.prepare(communicator, threads)
        start.case.override("output.energies=false")
        return start

    return replace(case, name=f"{case.name} without energies", prepare=prepare)


DETECTION = "detection"
"""Name of the measurement of neighbour list builds, see `pdem.benchmark.detection`."""

MODELS = "models"
"""Name of the measurement of contact models, see `pdem.benchmark.contact_models`; run only on request by name."""


def names_of_cases() -> list[str]:
    """Return the names of all cases."""
    return [*(case.name for case in CASES), DETECTION, MODELS]


def default_names() -> list[str]:
    """Return the names of the cases that are measured by default."""
    return [*(case.name for case in CASES if not case.only_named), DETECTION]


def check_names(names: Sequence[str]) -> list[str]:
    """Return the names as a list after a check that all of them exist.

    Raises
    ------
    InputError
        If there is no such case.
    """
    for name in names:
        if name not in (DETECTION, MODELS):
            find_case(name)
    return list(names)


def chosen_case(name: str, *, energies: bool) -> BenchCase:
    """Return the case with this name, with or without energies; see `find_case`."""
    case = find_case(name)
    return case if energies else without_energies(case)


def find_case(name: str) -> BenchCase:
    """Return the case with this name.

    Raises
    ------
    InputError
        If there is no such case.
    """
    for case in CASES:
        if case.name == name:
            return case
    raise InputError(f"{name!r} is no case of the benchmark; {name_hint(name, names_of_cases())}")


def _dense_bed(communicator: Any, threads: int) -> Start:
    return _state_after_steps(_small_bed(), SETTLING_STEPS, communicator, threads)[0]


def _small_bed() -> Start:
    return Start(_bed_case(1, 1), [_floor()])


def _with_mesh(case: Case, mesh: Mesh) -> Start:
    return Start(case, [mesh])


def _large_bed(communicator: Any, threads: int) -> Start:
    return tiled_bed(_dense_bed(communicator, threads), *TILES)


def _largest_bed(communicator: Any, threads: int) -> Start:
    """Return the bed of a million with the tuned skin of the small bed: tuning would take too many steps here."""
    # the small bed settles for as many steps as the other beds until the middle of their measurement
    steps = SETTLING_STEPS + SETTLING_STEPS // 2
    small, simulation = _state_after_steps(_small_bed(), steps, communicator, threads)
    large = tiled_bed(small, *MANY_TILES)
    large.case.override(f"detection.skin={simulation.system.lists.skins.fraction!r}")
    return large


def _state_after_steps(start: Start, steps: int, communicator: Any, threads: int) -> tuple[Start, Simulation]:
    """Return a start after a number of steps, and its simulation. Collective."""
    simulation = Simulation(start.case, communicator, threads=threads, meshes=start.meshes, particles=start.particles)
    simulation.advance(steps)
    system = simulation.system
    state = gather_groups(system, local_groups(system))
    return Start(start.case, start.meshes, state=state), simulation


def _hopper(communicator: Any, threads: int) -> Start:
    return _state_after_steps(_with_mesh(*hopper()), FLOWING_STEPS, communicator, threads)[0]


def _bladed_drum(communicator: Any, threads: int) -> Start:
    return _state_after_steps(_with_mesh(*bladed_drum()), THROWING_STEPS, communicator, threads)[0]


def _mesh_million(communicator: Any, threads: int) -> Start:
    """Return the particles of a bed settled on a coarse plate, without contacts, above a fine plate."""
    coarse = _with_mesh(*mesh_of_a_million(COARSE_PLATE))
    start, _ = _state_after_steps(coarse, PLATE_STEPS, communicator, threads)
    case, mesh = mesh_of_a_million()
    return Start(case, [mesh], None if start.state is None else start.state["particles"])


def _drum(members: int) -> Callable[[Any, int], Start]:
    def prepare(communicator: Any, threads: int) -> Start:
        drum = _with_mesh(*drum_of_clusters(members))
        return _state_after_steps(drum, DRUM_STEPS, communicator, threads)[0]

    return prepare


def tiled_bed(small: Start, across: int, along: int) -> Start:
    """Return `across` times `along` copies of ``dense-bed`` along x and y as a single bed."""
    state = None if small.state is None else _tiled_state(small.state, across, along)
    return Start(_bed_case(across, along), [_floor(max(across, along))], state=state)


def scaled_case(name: str, times: int, small: Start) -> Start:
    """Return an enlarged version of a case with the same density.

    Parameters
    ----------
    name : str
        One of `ENLARGEABLE`: beds are copied side by side, gases get more spheres.
    times : int
        Factor, at least 1.
    small : Start
        The original case, prepared on one rank.
    """
    if times == 1:
        return small
    if name in _GASES:
        ratio, count = _GASES[name]
        return _polydisperse(ratio, count * times)(None, 1)
    along = max(side for side in range(1, math.isqrt(times) + 1) if times % side == 0)
    return tiled_bed(small, times // along, along)


def _bed_case(along_x: int, along_y: int) -> Case:
    return Case.from_text(_BED.format(x=along_x * _WIDTH, y=along_y * _WIDTH, radius=_RADIUS))


def _floor(tiles: int = max(TILES)) -> Mesh:
    """Return a square floor larger than `tiles` tiles, because walls are not periodic."""
    low, high = -_WIDTH, (tiles + 1) * _WIDTH
    return Mesh([[low, low, 0.0], [high, low, 0.0], [high, high, 0.0], [low, high, 0.0]], [[0, 1, 2, 3]])


def _tiled_state(state: Groups, across: int, along: int) -> Groups:
    """Return copies of a periodic bed side by side, with their contacts.

    For any two particles in contact, in the same tile or not, the new ids have the same order as the old ids, because
    histories are oriented from the lower to the higher id.
    """
    count = across * along
    tiles = [(i, j) for i in range(across) for j in range(along)]
    particles, pairs, walls = state["particles"], state["contacts"], state["wall_contacts"]
    place = particles["position"]
    # offset of the partner's tile for contacts across the periodic sides
    images = np.rint((place[pairs["lower"]] - place[pairs["higher"]])[:, :2] / _WIDTH).astype(np.int64)

    def copies(columns: Columns) -> Columns:
        return {name: np.concatenate([column] * count) for name, column in columns.items()}

    def numbered(ids: Integers) -> Integers:
        return np.concatenate([ids * count + tile for tile in range(count)])

    large = {"particles": copies(particles), "contacts": copies(pairs), "wall_contacts": copies(walls)}
    large["particles"]["id"] = numbered(particles["id"])
    corners = [np.array([_WIDTH * i, _WIDTH * j, 0.0]) for i, j in tiles]
    large["particles"]["position"] = np.concatenate([place + corner for corner in corners])
    large["contacts"]["lower"] = numbered(pairs["lower"])
    large["contacts"]["higher"] = np.concatenate(
        [pairs["higher"] * count + (i + images[:, 0]) % across * along + (j + images[:, 1]) % along for i, j in tiles]
    )
    large["wall_contacts"]["id"] = numbered(walls["id"])
    next_id = np.array(count * int(state["counters"]["next_id"]))
    return {**large, "counters": {**state["counters"], "next_id": next_id}}


def _polydisperse(ratio: float, count: int) -> Callable[[Any, int], Start]:
    def prepare(communicator: Any, threads: int) -> Start:
        return Start(*polydisperse.gas(ratio, count, is_first=_is_first(communicator)))

    return prepare


def _polydisperse_bed(communicator: Any, threads: int) -> Start:
    """Return a polydisperse bed at rest on a floor."""
    start = Start(*polydisperse.bed(BED_RATIO, BED_COUNT, is_first=_is_first(communicator)))
    return _state_after_steps(start, BED_STEPS, communicator, threads)[0]


def _is_first(communicator: Any) -> bool:
    return communicator is None or communicator.rank == 0


def _mixing(case: Case) -> Case:
    """Return the case of the mixer with its settled bed, and with the rotor turning from the first step."""
    settled = (case.directory.parent / case.output.folder).resolve() / "stage-settling.h5"
    document = case.model_dump(mode="python", exclude_none=True, exclude={"stages"})
    document["particles"] = [{"material": "grain", "file": str(settled)}]
    del document["walls"][1]["stage"]
    return Case.from_text(tomli_w.dumps(document), case.directory)


def _mixer(communicator: Any, threads: int) -> Start:
    root = Path(__file__).resolve().parents[2]
    paths = [folder / "cases" / "rotary_mixer.toml" for folder in (Path.cwd(), root)]
    found = [path for path in paths if path.is_file()]
    if not found:
        raise SkipCase("there is no cases/rotary_mixer.toml here; start in the folder of the project")
    try:
        case = _mixing(Case.read(found[0]))
        meshes = read_walls(case)
        return Start(case, meshes, initial_particles(case, meshes) if _is_first(communicator) else None)
    except PdemError as error:
        raise SkipCase(f"{error}; bash scripts/run prepares it") from None


CASES = (
    BenchCase("dense-bed", _dense_bed),
    BenchCase("dense-bed-100k", _large_bed),
    BenchCase("polydisperse-10", _polydisperse(*_GASES["polydisperse-10"])),
    BenchCase("polydisperse-50", _polydisperse(*_GASES["polydisperse-50"]), 3e7),
    BenchCase("polydisperse-bed-10", _polydisperse_bed, only_named=True),
    BenchCase("mixer", _mixer),
    BenchCase("hopper", _hopper),
    BenchCase("bladed-drum", _bladed_drum, 4e7, only_named=True),
    BenchCase("dense-bed-1m", _largest_bed, 1e8, only_named=True, warm_up_steps=100),
    *(
        BenchCase(f"clusters-{members}", _drum(members), 6e7 / members, only_named=True, warm_up_steps=200)
        for members in SIZES
    ),
    BenchCase("mesh-million", _mesh_million, 3e6, only_named=True, warm_up_steps=200),
)
"""All cases, in the order of measurement."""
