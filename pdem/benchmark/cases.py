"""The fixed cases whose speed `pdem bench` measures: each is made anew, and comes out the same every time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.benchmark.wall_cases import hopper, mesh_of_a_million
from pdem.case.given_particles import CheckedParticles
from pdem.case.initial import initial_particles
from pdem.case.model import Case
from pdem.case.wall_files import read_walls
from pdem.containers.mesh import Mesh
from pdem.foundation.errors import InputError, PdemError, name_hint
from pdem.particles.packing import relax_overlaps
from pdem.simulation.simulation import Simulation
from pdem.simulation.state import gather_groups, local_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pdem.simulation.state import Groups

    Columns = dict[str, NDArray[Any]]

SETTLING_STEPS = 4000
FLOWING_STEPS = 6400
"""Until grains run out of the hopper, and what has run out has come back from above."""
PLATE_STEPS = 1600
COARSE_PLATE = 177
"""Squares along a side of the plate on which the bed of ``mesh-million`` settles, before the fine one comes."""
TILES = (4, 3)
"""Copies of the settled bed along x and y that make the large one."""
MANY_TILES = (12, 10)
"""And the one of a million."""

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

_GAS = """
[time]
step = "auto"
end = 1.0
[domain]
lower = [0.0, 0.0, 0.0]
upper = [{width!r}, {width!r}, {width!r}]
periodic = [true, true, true]
[materials.grain]
density = 2500.0
youngs_modulus = 2e7
poisson_ratio = 0.25
[interactions.grain-grain]
friction = 0.5
restitution = 0.8
[[particles]]
material = "grain"
radius = {{distribution = "power-law", exponent = -3.0, min = {smallest!r}, max = {largest!r}}}
fill = {{volume_fraction = {fraction!r}, seed = 7}}
velocity = {{random = 0.1, seed = 7}}
"""

_GASES = {"polydisperse-10": (10.0, 20000), "polydisperse-50": (50.0, 50000)}
"""Ratio of radii and number of particles."""

ENLARGEABLE = ("dense-bed", *_GASES)
"""Cases that can be made as many times as large as one likes."""

_GAS_FRACTION = 0.55
_PLACED_FRACTION = 0.4
"""Up to which spheres find places at random; from there they grow and push each other apart."""


class Skipped(Exception):
    """A case that cannot be measured here, and why."""


@dataclass
class Prepared:
    """A case ready to be measured.

    Attributes
    ----------
    case : Case
        The case.
    meshes : list of Mesh
        Its walls.
    particles : dict of ndarray or None
        Where it begins, on rank 0, or
    state : dict or None
        the whole state in which it begins, on rank 0.
    """

    case: Case
    meshes: list[Mesh]
    particles: Columns | None = None
    state: Groups | None = None

    def __post_init__(self) -> None:
        if (
            self.particles is not None
        ):  # made with the case: looking at them would be part of what is measured
            self.particles = CheckedParticles(self.particles)


@dataclass(frozen=True)
class BenchCase:
    """One case of the benchmark.

    Attributes
    ----------
    name : str
        By which users ask for it.
    prepare : callable
        Makes it, from the communicator and the threads of this rank. Collective.
    particle_steps : float
        How many are measured unless the user says so.
    only_named : bool
        Whether it is too large to be measured unless it is asked for.
    warm_up_steps : int or None
        Taken before; None for `pdem.benchmark.measure.WARM_UP_STEPS`.
    """

    name: str
    prepare: Callable[[Any, int], Prepared]
    particle_steps: float = 1.5e7
    only_named: bool = False
    warm_up_steps: int | None = None


DETECTION = "detection"
"""Name of what measures the making of lists alone, see `pdem.benchmark.detection`."""


def names_of_cases() -> list[str]:
    """Return the names of all cases."""
    return [*(case.name for case in CASES), DETECTION]


def default_names() -> list[str]:
    """Return the names of the cases that are measured when none is named."""
    return [*(case.name for case in CASES if not case.only_named), DETECTION]


def check_names(names: Sequence[str]) -> list[str]:
    """Return the names, all of them known.

    Raises
    ------
    InputError
        If there is no such case.
    """
    for name in names:
        if name != DETECTION:
            find_case(name)
    return list(names)


def find_case(name: str) -> BenchCase:
    """Return the case of this name.

    Raises
    ------
    InputError
        If there is none.
    """
    for case in CASES:
        if case.name == name:
            return case
    raise InputError(f"{name!r} is no case of the benchmark; {name_hint(name, names_of_cases())}")


def _dense_bed(communicator: Any, threads: int) -> Prepared:
    return _settled(_bed_case(1, 1), _floor(), SETTLING_STEPS, communicator, threads)[0]


def _large_bed(communicator: Any, threads: int) -> Prepared:
    return tiled_bed(_dense_bed(communicator, threads), *TILES)


def _largest_bed(communicator: Any, threads: int) -> Prepared:
    """Return the bed of a million; its skin is what the small one has tuned, which would take too many steps here."""
    # as long as the other beds have settled in the middle of theirs
    steps = SETTLING_STEPS + SETTLING_STEPS // 2
    small, simulation = _settled(_bed_case(1, 1), _floor(), steps, communicator, threads)
    large = tiled_bed(small, *MANY_TILES)
    large.case.override(f"detection.skin={simulation.system.skins.fraction!r}")
    return large


def _settled(
    case: Case, mesh: Mesh, steps: int, communicator: Any, threads: int
) -> tuple[Prepared, Simulation]:
    """Return what a case has become after some steps. Collective."""
    simulation = Simulation(case, communicator, threads=threads, meshes=[mesh])
    simulation.advance(steps)
    system = simulation.system
    return Prepared(case, [mesh], state=gather_groups(system, local_groups(system))), simulation


def _hopper(communicator: Any, threads: int) -> Prepared:
    return _settled(*hopper(), FLOWING_STEPS, communicator, threads)[0]


def _mesh_million(communicator: Any, threads: int) -> Prepared:
    """Return a bed on a fine plate, without the contacts that it had with the coarse one."""
    start, _ = _settled(*mesh_of_a_million(COARSE_PLATE), PLATE_STEPS, communicator, threads)
    case, mesh = mesh_of_a_million()
    return Prepared(case, [mesh], None if start.state is None else start.state["particles"])


def tiled_bed(small: Prepared, across: int, along: int) -> Prepared:
    """Return so many copies of ``dense-bed`` along x and y as one bed."""
    state = None if small.state is None else _tiled(small.state, across, along)
    return Prepared(_bed_case(across, along), [_floor(max(across, along))], state=state)


def scaled_case(name: str, times: int, small: Prepared) -> Prepared:
    """Return a case that is `times` as large as that of this name and has the same density.

    Parameters
    ----------
    name : str
        One of `ENLARGEABLE`: beds are laid side by side, gases made with more spheres.
    times : int
        At least 1.
    small : Prepared
        The case itself, prepared by one rank.
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
    """Return a square that is larger than so many tiles, because walls do not repeat."""
    low, high = -_WIDTH, (tiles + 1) * _WIDTH
    return Mesh([[low, low, 0.0], [high, low, 0.0], [high, high, 0.0], [low, high, 0.0]], [[0, 1, 2, 3]])


def _tiled(state: Groups, across: int, along: int) -> Groups:
    """Return copies of a periodic bed side by side, with their contacts.

    Ids are dealt out so that of two particles in contact the one with the lower id stays the lower one, in
    whatever tiles the two are: histories keep their direction.
    """
    count = across * along
    tiles = [(i, j) for i in range(across) for j in range(along)]
    particles, pairs, walls = state["particles"], state["contacts"], state["wall_contacts"]
    place = particles["position"]
    # how many tiles the partner is away, where the contact is one through the periodic sides
    images = np.rint((place[pairs["lower"]] - place[pairs["higher"]])[:, :2] / _WIDTH).astype(np.int64)

    def copies(columns: Columns) -> Columns:
        return {name: np.concatenate([column] * count) for name, column in columns.items()}

    def numbered(ids: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate([ids * count + tile for tile in range(count)])

    large = {"particles": copies(particles), "contacts": copies(pairs), "wall_contacts": copies(walls)}
    large["particles"]["id"] = numbered(particles["id"])
    corners = [np.array([_WIDTH * i, _WIDTH * j, 0.0]) for i, j in tiles]
    large["particles"]["position"] = np.concatenate([place + corner for corner in corners])
    large["contacts"]["lower"] = numbered(pairs["lower"])
    large["contacts"]["higher"] = np.concatenate(
        [
            pairs["higher"] * count + (i + images[:, 0]) % across * along + (j + images[:, 1]) % along
            for i, j in tiles
        ]
    )
    large["wall_contacts"]["id"] = numbered(walls["id"])
    next_id = np.array(count * int(state["counters"]["next_id"]))
    return {**large, "counters": {**state["counters"], "next_id": next_id}}


def _polydisperse(ratio: float, count: int) -> Callable[[Any, int], Prepared]:
    def prepare(communicator: Any, threads: int) -> Prepared:
        case = _gas_case(ratio, count, 1.0)
        is_first = communicator is None or communicator.rank == 0
        return Prepared(case, [], _gas_particles(case, ratio, count) if is_first else None)

    return prepare


def _gas_case(ratio: float, count: int, scale: float) -> Case:
    """Return a gas of about `count` spheres whose radii are scaled, in the box made for full radii."""
    # mean of r^3 with the density ~ r^-3 on [1, ratio]
    cube = 2.0 * (ratio - 1.0) / (1.0 - ratio**-2.0)
    width = float((count * 4.0 / 3.0 * np.pi * cube / _GAS_FRACTION) ** (1.0 / 3.0) * _RADIUS)
    return Case.from_text(
        _GAS.format(
            width=width,
            smallest=scale * _RADIUS,
            largest=scale * ratio * _RADIUS,
            fraction=scale**3 * _GAS_FRACTION,
        )
    )


def _gas_particles(case: Case, ratio: float, count: int) -> Columns:
    """Return the spheres of a gas: placed with smaller radii, then moved until no two overlap."""
    scale = (_PLACED_FRACTION / _GAS_FRACTION) ** (1.0 / 3.0)
    particles = initial_particles(_gas_case(ratio, count, scale), [])
    particles["radius"] = particles["radius"] / scale
    corners = np.array(case.domain.lower), np.array(case.domain.upper)
    particles["position"] = relax_overlaps(particles["position"], particles["radius"], *corners)
    return particles


def _mixer(communicator: Any, threads: int) -> Prepared:
    root = Path(__file__).resolve().parents[2]
    paths = [folder / "cases" / "rotary_mixer.toml" for folder in (Path.cwd(), root)]
    found = [path for path in paths if path.is_file()]
    if not found:
        raise Skipped("there is no cases/rotary_mixer.toml here; start in the folder of the project")
    try:
        case = Case.read(found[0])
        meshes = read_walls(case)
        is_first = communicator is None or communicator.rank == 0
        return Prepared(case, meshes, initial_particles(case, meshes) if is_first else None)
    except PdemError as error:
        raise Skipped(f"{error}; bash scripts/run prepares it") from None


CASES = (
    BenchCase("dense-bed", _dense_bed),
    BenchCase("dense-bed-100k", _large_bed),
    BenchCase("polydisperse-10", _polydisperse(*_GASES["polydisperse-10"])),
    BenchCase("polydisperse-50", _polydisperse(*_GASES["polydisperse-50"]), 3e7),
    BenchCase("mixer", _mixer),
    BenchCase("hopper", _hopper),
    BenchCase("dense-bed-1m", _largest_bed, 1e8, only_named=True, warm_up_steps=100),
    BenchCase("mesh-million", _mesh_million, 3e6, only_named=True, warm_up_steps=200),
)
"""All cases, in the order in which they are measured."""
