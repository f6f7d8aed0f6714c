"""Contacts that continue while the particles separate (adhesion, liquid bridges): until which gap they last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.contact.law.coefficients import remembering_reader
from pdem.contact.law.elastic import gap_of
from pdem.contact.pairs.history import history_of
from pdem.contact.pairs.layout import BLOCK, row_of
from pdem.contact.pairs.stages import minimum_image
from pdem.foundation.packed_row import MATERIAL, PLACE, SIZE
from pdem.numerics.box_images import images_in
from pdem.numerics.kernel_factory import inlined_exactly
from pdem.numerics.vectors import exact_dot3, square_root

if TYPE_CHECKING:
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.contact.pairs.arguments import Candidates, StepParameters
    from pdem.foundation.array_types import Floats


def lasts_of(law: ContactLaw) -> Any:
    """Make the function that returns whether a contact lasts although its particles do not touch any more.

    Its arguments are the candidate and the history index of the contact, all candidates, histories, `StepParameters`,
    and the packed rows.
    """
    if not law.may_stretch:
        return inlined_exactly(lambda k, index, candidates, history, parameters, packed: False)
    allowed_gap = _allowed_gap_of(law)

    @inlined_exactly
    def lasts(
        k: int, index: int, candidates: Candidates, history: Floats, parameters: StepParameters,
        packed: Floats,
    ) -> bool:  # fmt: skip
        i, j = row_of(candidates.lower[k]), row_of(candidates.higher[k])
        allowed = allowed_gap(i, j, index, history, parameters, packed)
        way = (
            packed[j + PLACE] - packed[i + PLACE], packed[j + PLACE + 1] - packed[i + PLACE + 1],
            packed[j + PLACE + 2] - packed[i + PLACE + 2],
        )  # fmt: skip
        d = minimum_image(way, parameters.period, parameters.frequency, images_in(parameters.images))
        return square_root(exact_dot3(d, d)) <= packed[i + SIZE] + packed[j + SIZE] + allowed

    return lasts


def ruptures_of(law: ContactLaw) -> Any:
    """Make the function that tells whether a contact that ends has been held while it was stretched, as `lasts_of`.

    It takes the candidate and the history index of its contact, all candidates, histories, `StepParameters`, and the
    packed rows. Without a law that tells it, no contact is.
    """
    if not law.tells_ends:
        return inlined_exactly(lambda k, index, candidates, history, parameters, packed: False)
    allowed_gap = _allowed_gap_of(law)

    @inlined_exactly
    def ruptures(
        k: int, index: int, candidates: Candidates, history: Floats, parameters: StepParameters,
        packed: Floats,
    ) -> bool:  # fmt: skip
        i, j = row_of(candidates.lower[k]), row_of(candidates.higher[k])
        return allowed_gap(i, j, index, history, parameters, packed) > 0.0

    return ruptures


def _allowed_gap_of(law: ContactLaw) -> Any:
    """Make the function that returns until which gap a contact lasts [m].

    Its arguments are the packed rows of both particles, by their first index, the history index of the contact,
    histories, `StepParameters`, and all packed rows.
    """
    gap, width, columns = gap_of(law), law.width, law.columns
    memory = {name: BLOCK * law.place(name) for name in law.remembered}
    coefficients_of = remembering_reader(law, range(law.width), memory)

    @inlined_exactly
    def allowed_gap(i: int, j: int, index: int, history: Floats, parameters: StepParameters, packed: Floats) -> float:
        ri, rj = packed[i + SIZE], packed[j + SIZE]
        pair = int(packed[i + MATERIAL] * parameters.materials + packed[j + MATERIAL])
        k_of_contact = coefficients_of(parameters.coefficients, width * pair, history, history_of(index, columns))
        return gap(0.0, ri * rj / (ri + rj), k_of_contact, ())

    return allowed_gap
