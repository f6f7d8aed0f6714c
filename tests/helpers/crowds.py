"""Crowds of spheres that overlap, with all pairs that are near, for tests of the contacts between particles."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from pdem.contact.law.contact_law import ContactLaw, PartUse, Recipe
from pdem.contact.law.kinds.constant_torque import CONSTANT_TORQUE
from pdem.contact.law.kinds.friction import MINDLIN
from pdem.contact.law.kinds.hertz import HERTZ
from pdem.contact.law.pair_table import ContactParameters
from pdem.contact.pairs.contacts import PairContacts
from pdem.containers.particles import Particles
from pdem.detection.neighbours import NearPairs
from pdem.motion.integration import FixedColumns, Motion, write_inverse_inertia
from pdem.motion.time_step import TimeStep

OPEN = np.zeros(3), np.zeros(3)
LAW = ContactLaw(
    [
        Recipe(
            PartUse(HERTZ),
            tangential=PartUse(MINDLIN),
            rolling=PartUse(CONSTANT_TORQUE, {"friction": 0.01}),
            keys={"friction": 0.5},
        )
    ]
)
_COEFFICIENTS = {
    "damping": 0.2, "modulus": 1e5, "tangential.ratio": 0.8, "tangential.ratio_root": 0.8**0.5,
    "tangential.friction": 0.5, "constant-torque.friction": 0.01,
}  # fmt: skip
TABLE = np.array([[_COEFFICIENTS[name] for name in LAW.coefficients]])
PARAMETERS = ContactParameters(np.array([2500.0]), TABLE, LAW.powers(TABLE), TimeStep.of(1e-4), 10.0)
SIDES = np.array([[0.0] * 3, [0.0] * 3, [0.0] * 3])
MOTION = Motion(np.array([0.0, 0.0, -9.81]), np.ones(6), SIDES)


def crowd(seed: int, rows: int, ghosts: int) -> Particles:
    """Return spheres that overlap in all directions, with velocities."""
    rng = np.random.default_rng(seed)
    particles = Particles(
        {
            "id": rng.permutation(rows),
            "radius": rng.uniform(0.5, 1.5, rows),
            "position": rng.uniform(0.0, (0.6 * rows) ** (1 / 3) * 1.5, (rows, 3)),
            "velocity": rng.normal(size=(rows, 3)),
            "angular_velocity": rng.normal(size=(rows, 3)),
        }
    )
    particles.count, particles.ghosts = rows - ghosts, ghosts
    return particles


def near_pairs(particles: Particles, seed: int | None = None) -> NearPairs:
    """Return all pairs within one and a half times their reach, by the row of the first or in any order."""
    rows = particles.count + particles.ghosts
    place, radius = particles.column("position")[:rows], particles.column("radius")[:rows]
    first, second = np.triu_indices(rows, 1)
    apart = np.linalg.norm(place[first] - place[second], axis=1)
    near = np.flatnonzero(apart < 1.5 * (radius[first] + radius[second]))
    if seed is not None:
        near = np.random.default_rng(seed).permutation(near)
    return NearPairs.of(first[near].astype(np.int32), second[near].astype(np.int32))


def fixed_of(particles: Particles, skin: np.ndarray | None = None) -> FixedColumns:
    """Return the fixed columns of owned particles; without skins these may go anywhere."""
    owned, column = particles.count, particles.column
    fixed = FixedColumns(
        column("position")[:owned].copy(), np.full(owned, np.inf) if skin is None else skin, np.zeros(owned)
    )
    write_inverse_inertia(owned, column("radius"), column("material"), PARAMETERS.density, fixed.inverse_inertia)
    return fixed


def partners(lists: PairContacts, ids: np.ndarray, owned: int) -> np.ndarray:
    """Return the id of the partner of every entry."""
    entry = lists._entry[: lists._start[owned]]
    return ids[np.where(entry & 1, lists.lower[entry >> 1], lists.higher[entry >> 1])]


def in_rows(lists: PairContacts, ids: np.ndarray, owned: int) -> list[list[tuple[int, list[float]]]]:
    """Return the partner in every candidate of each owned particle, and the history of their contact."""
    start, partner = lists._start[: owned + 1].tolist(), partners(lists, ids, owned).tolist()
    slot_of = np.zeros(lists.candidates, np.int32)
    slot_of[lists.touching] = lists.storage.indices
    slot = slot_of[lists._entry[: start[-1]] >> 1]
    history = (lists.storage.at(slot) * (slot > 0)).T.tolist()
    return [sorted(zip(partner[a:b], history[a:b], strict=True)) for a, b in pairwise(start)]


def pairs_of_candidates(lists: PairContacts) -> NearPairs:
    """Return the candidates once more, in another order."""
    turn = np.arange(lists.candidates)[::-1]
    return NearPairs.of(lists.higher[turn].copy(), lists.lower[turn].copy())
