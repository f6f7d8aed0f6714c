"""Cost of contact models: time per contact compared with elastic spheres with friction, in the same bed.

Both are timed alternately, in rounds of some steps: on a machine with varying speed, only ratios are meaningful.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import tomli_w

from pdem.benchmark.cases import BenchCase, Start, find_case
from pdem.case.model import Case
from pdem.contact.law.models import LAWS
from pdem.run.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_SOFT = {"normal_stiffness": 200.0, "restitution": 1.0}

MODEL_KEYS: dict[str, dict[str, Any]] = {
    "constant-torque": {"rolling": {"model": "constant-torque", "friction": 0.1}},
    "rolling spring": {"rolling": {"model": "spring", "friction": 0.1}},
    "rolling sds": {"rolling": {"model": "sds", "friction": 0.1, "stiffness": 50.0, "damping": 1e-3}},
    "twisting marshall": {"twisting": {"model": "marshall"}},
    "rolling sds, twisting marshall": {
        "rolling": {"model": "sds", "friction": 0.1, "stiffness": 50.0, "damping": 1e-3},
        "twisting": {"model": "marshall"},
    },
    "jkr": {"adhesion": {"model": "jkr", "work_of_adhesion": 1e-3}},
    "dmt": {"adhesion": {"model": "dmt", "work_of_adhesion": 1e-3}},
    "linear adhesion": {"adhesion": {"model": "linear", "cohesion_energy_density": 1e3}},
    "liquid-bridge": {
        "adhesion": {
            "model": "liquid-bridge", "surface_tension": 1e-3, "contact_angle": 0.0, "relative_volume": 1e-4,
        }
    },
    "viscoelastic": {"law": "viscoelastic", "dissipative_time": 1e-4},
    "luding": {"law": "luding", "unloading_stiffness": 800.0, "adhesion_stiffness": 50.0, **_SOFT},
    "walton-braun": {"law": "walton-braun", **_SOFT, "restitution": 0.5},
    "eepa": {"law": "eepa", "plasticity": 0.5, "work_of_adhesion": 1e-3},
}  # fmt: skip
"""Additional keys of the interactions of the bed, by displayed name."""

PEER_MODELS = ("rolling sds", "rolling sds, twisting marshall", "jkr")
"""Models that LAMMPS has as well; its contacts with JKR end at the largest pull."""

ROUNDS, STEPS, SETTLING = 7, 150, 1200


@dataclass(frozen=True)
class ModelResult:
    """Cost of a contact model.

    Attributes
    ----------
    model : str
        One of `MODEL_KEYS`.
    contacts : float
        Mean number of contacts per particle.
    nanoseconds, plain : float
        Time per contact and step in the loops over pairs [ns], with the model, and with elastic spheres and friction.
    share : float
        Relative increase of the time, as the median over the rounds.
    """

    model: str
    contacts: float
    nanoseconds: float
    plain: float
    share: float

    def as_dict(self) -> dict[str, Any]:
        """Return all values as a dictionary for a file."""
        return {"name": "models", **asdict(self)}

    def __str__(self) -> str:
        """Return the result as a line for users."""
        return (
            f"{self.model}: {self.nanoseconds:.1f} ns per contact, {self.plain:.1f} without, "
            f"{100.0 * self.share:+.0f} %; {self.contacts:.2f} contacts per particle"
        )


def measure_models(communicator: Any, threads: int, steps: int | None) -> Iterator[ModelResult]:
    """Time the loops over pairs in a settled bed with each model, and yield the results. Collective.

    Parameters
    ----------
    communicator, threads
        Communicator, and number of threads per rank.
    steps : int or None
        Number of steps per round; None for `STEPS`.
    """
    bed = find_case("dense-bed").prepare(communicator, threads)
    plain = _settled(bed, {}, communicator, threads)
    for model, keys in MODEL_KEYS.items():
        simulation = _settled(bed, keys, communicator, threads)
        rounds = [
            (_per_contact(plain, steps or STEPS), _per_contact(simulation, steps or STEPS)) for _ in range(ROUNDS)
        ]
        yield ModelResult(
            model, 2.0 * simulation.measures().pair_contacts / simulation.measures().particles,
            median(found for _, found in rounds), median(usual for usual, _ in rounds),
            median(found / usual for usual, found in rounds) - 1.0,
        )  # fmt: skip


def _settled(bed: Start, keys: Mapping[str, Any], communicator: Any, threads: int) -> Simulation:
    """Return the bed with additional keys of its interactions, at rest under the new law."""
    particles = None if bed.state is None else bed.state["particles"]
    start = Start(with_keys(bed.case, keys), bed.meshes, particles)
    simulation = Simulation(start.case, communicator, threads=threads, particles=start.particles, meshes=start.meshes)
    simulation.advance(SETTLING)
    return simulation


def peer_models() -> list[BenchCase]:
    """Return the dense bed with the plain law, then with each model that LAMMPS has as well, as cases."""

    def prepared(keys: Mapping[str, Any]) -> Callable[[Any, int], Start]:
        def prepare(communicator: Any, threads: int) -> Start:
            run = _settled(find_case("dense-bed").prepare(communicator, threads), keys, communicator, threads)
            return Start(run.case, run.meshes, run.gather())

        return prepare

    models: dict[str, dict[str, Any]] = {"plain": {}} | {name: MODEL_KEYS[name] for name in PEER_MODELS}
    models["jkr"] = {"adhesion": {**models["jkr"]["adhesion"], "detach": "force"}}
    return [BenchCase(f"dense-bed, {name}", prepared(keys)) for name, keys in models.items()]


def with_keys(case: Case, keys: Mapping[str, Any]) -> Case:
    """Return a case with additional keys in all interactions, without a restitution that their law does not use."""
    document = case.model_dump(mode="python", exclude_none=True)
    for table in document["interactions"].values():
        table.update(keys)
        if not LAWS[table["law"]].normal.has_restitution:
            table.pop("restitution", None)
    return Case.from_text(tomli_w.dumps(document), case.directory)


def _per_contact(simulation: Simulation, steps: int) -> float:
    """Run some steps; return the time of the loops over pairs, per contact and step, on this rank [ns]."""
    before = simulation.phases.seconds["pairs"]
    simulation.advance(steps)
    contacts = max(simulation.system.contacts.pairs.count, 1)
    return 1e9 * (simulation.phases.seconds["pairs"] - before) / (steps * contacts)
