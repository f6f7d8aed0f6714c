"""The energy that contacts lose, as an amount that their bodies receive in whole quanta.

A contact remembers the part of its loss that its bodies have received (`pdem.contact.law.parts.PASSED_LOSS`). A
feature passes on the remaining loss of present contacts from time to time. The memory of a contact ends with it:
therefore kernels list the remaining losses of contacts that end, and this module gives them to the particles. Every
rank gives to its own particles, in whole numbers of quanta, so that neither the order nor the number of ranks matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.contact.law.parts import LARGEST_ENERGY, PASSED_LOSS
from pdem.contact.pairs.runs import ENDED_IN_ALL
from pdem.contact.walls.arguments import NearFacets, WallRecord, WallWork
from pdem.numerics.kernel_factory import inlined_closure
from pdem.numerics.kernels import inlined, kernel
from pdem.numerics.sums import add_exactly
from pdem.numerics.workers import share_of

if TYPE_CHECKING:
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.foundation.array_types import Booleans, Floats, Int32s, Integers


LOSS_TERMS = ("normal_damping", "sliding", "rolling", "adhesion", "twisting", "plastic")
"""Terms of the energy balance with energy that contacts have lost."""


def lossy_columns(law: ContactLaw, *, ended: bool) -> list[int]:
    """Return the columns of histories whose sum a contact has lost so far, or has lost once it has `ended` [J]."""
    terms = [one.ended if ended else one.lasting for one in law.energies]
    return [law.first_energy + place for place, term in enumerate(terms) if term in LOSS_TERMS]


class LossSink(NamedTuple):
    """Arrays that receive losses.

    Attributes
    ----------
    amount : (n,) array
        Amounts of owned particles [J], whole numbers of quanta.
    quantum : float
        A power of two [J].
    given : (LIMBS,) int64 array
        Exact sum of all that particles have received [J].
    material : int32 array
        Materials of owned particles and ghosts.
    share : (M, M) array
        Share of a body with the first material in the loss of a contact with the second material.
    wall_material : (W,) int32 array
        Materials of walls.
    receives : (W,) bool array
        Whether each wall receives a share; else the particle receives all.
    into_walls : (W, LIMBS) int64 array
        Exact sums of the amounts that walls have received [J].
    facet_wall : int32 array
        Wall of each facet.
    lossy : int64 array
        Columns of histories whose sum a contact that ends has lost.
    passed : int
        Column with the part of it that has been passed on.
    """

    amount: Floats
    quantum: float
    given: Integers
    material: Int32s
    share: Floats
    wall_material: Int32s
    receives: Booleans
    into_walls: Integers
    facet_wall: Int32s
    lossy: Integers
    passed: int


def leaves_at_end(law: ContactLaw) -> bool:
    """Return whether bodies receive a part of the memory of a contact that ends: its loss, or its largest energy."""
    return law.passes_losses or law.has(LARGEST_ENERGY.name)


def left_loss_of(law: ContactLaw, stride: int) -> Any:
    """Make the function that returns the loss of an ending contact that its bodies have not received [J].

    Its arguments are the histories and the index of the first number of this history; the numbers of a history are
    `stride` apart.
    """
    if not law.passes_losses:
        return inlined_closure(lambda history, at: 0.0)
    columns = tuple(stride * column for column in lossy_columns(law, ended=True))
    passed = stride * law.place(PASSED_LOSS.name)

    @inlined_closure
    def left_loss(history: Floats, at: int) -> float:
        loss = 0.0
        for column in columns:
            loss += history[at + column]
        return loss - history[at + passed]

    return left_loss


def left_losses(law: ContactLaw, histories: Floats) -> Floats:
    """Return these losses for histories (columns, n) of contacts that end (n,) [J]."""
    loss = np.zeros(histories.shape[1])
    for column in lossy_columns(law, ended=True):
        loss += histories[column]
    left: Floats = loss - histories[law.place(PASSED_LOSS.name)]
    return left


@inlined
def quanta_of_two(loss: float, share: float, quantum: float) -> tuple[float, float]:
    """Return the whole numbers of quanta that two bodies receive of a loss [J], by the share of the first one."""
    quanta = np.rint(loss / quantum)
    first = np.rint(share * quanta)
    return first, quanta - first


@inlined
def pass_at_pairs(
    runs: Integers, left: Floats, lower: Int32s, higher: Int32s, sink: tuple[Any, ...] | None
) -> None:  # fmt: skip
    """Give the losses of the contacts between particles that workers have ended to the owned particles.

    Parameters
    ----------
    runs : (workers, RUN) int64 array
        Runs with their results.
    left : (2, workers * n) array
        Candidates and losses [J], see `pdem.contact.pairs.arguments.Contacts`.
    lower, higher : int32 arrays
        Rows of the particles of each candidate.
    sink : tuple or None
        Fields of `LossSink`, to which losses go; None if they go nowhere.
    """
    if sink is not None:
        s = LossSink(*sink)
        room = left.shape[1] // len(runs)
        for worker in range(len(runs)):
            for place in range(room * worker, room * worker + runs[worker, ENDED_IN_ALL]):
                k = np.int64(left[0, place])
                pass_at_pair(lower[k], higher[k], left[1, place], s)


@inlined
def pass_at_pair(i: int, j: int, loss: float, sink: LossSink) -> None:
    """Give the loss of a contact [J] to its particles, as far as they are owned."""
    owned = len(sink.amount)
    first, second = quanta_of_two(loss, sink.share[sink.material[i], sink.material[j]], sink.quantum)
    if i < owned:
        sink.amount[i] += first * sink.quantum
        add_exactly(sink.given, first * sink.quantum)
    if j < owned:
        sink.amount[j] += second * sink.quantum
        add_exactly(sink.given, second * sink.quantum)


@inlined
def pass_at_wall(particle: int, wall: int, loss: float, sink: LossSink) -> None:
    """Give the loss of a contact with a wall to the particle and the wall."""
    material, other = sink.material[particle], sink.wall_material[wall]
    share = sink.share[material, other] if sink.receives[wall] else 1.0
    first, second = quanta_of_two(loss, share, sink.quantum)
    sink.amount[particle] += first * sink.quantum
    add_exactly(sink.given, first * sink.quantum)
    add_exactly(sink.into_walls[wall], second * sink.quantum)


@inlined
def particle_of_row(row: int, low: int, high: int, start: Integers) -> int:
    """Return the particle near a wall, from `low` to `high` - 1, to which a row of contacts belongs."""
    while high - low > 1:
        middle = (low + high) // 2
        if start[middle] <= row:
            low = middle
        else:
            high = middle
    return low


@inlined
def pass_at_walls(
    near: tuple[Any, ...], work: tuple[Any, ...], before: tuple[Any, ...], sink: tuple[Any, ...] | None
) -> None:
    """Give the losses of the contacts with walls that the last evaluation has ended to particles and walls.

    Arguments besides the sink are those of `pdem.contact.walls.facet_lists.add_ended`; the sink as in `pass_at_pairs`.
    """
    if sink is not None:
        facets, done, old, s = NearFacets(*near), WallWork(*work), WallRecord(*before), LossSink(*sink)
        workers = done.seen.shape[1]
        for worker in range(workers):
            low, high = share_of(worker, workers, len(facets.near))
            for place in range(facets.start[low], facets.start[low] + done.seen[0, worker]):
                row = done.ended[place]
                at, loss = old.width * (row + 1), 0.0
                for column in s.lossy:
                    loss += old.history[at + column]
                particle = facets.near[particle_of_row(row, low, high, facets.start)]
                pass_at_wall(particle, s.facet_wall[old.facet[row]], loss - old.history[at + s.passed], s)


@kernel
def pass_listed_at_pairs(first: Integers, second: Integers, losses: Floats, sink: tuple[Any, ...]) -> None:
    """Give the losses of pairs (n,) [J] to their particles, by rows of owned particles and ghosts; see `LossSink`."""
    for n in range(len(losses)):
        pass_at_pair(first[n], second[n], losses[n], LossSink(*sink))


@kernel
def pass_listed_at_walls(particle: Integers, wall: Integers, losses: Floats, sink: tuple[Any, ...]) -> None:
    """Give the losses of contacts with walls (n,) [J] to owned particles by row, and to walls; see `LossSink`."""
    for n in range(len(losses)):
        pass_at_wall(particle[n], wall[n], losses[n], LossSink(*sink))
