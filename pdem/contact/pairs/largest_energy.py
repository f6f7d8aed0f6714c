"""The strain energy of a contact, and the largest one since it began, which decide whether its bodies break."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.contact.law.coefficients import remembering_reader
from pdem.contact.law.elastic import energy_of
from pdem.contact.law.parts import LARGEST_ENERGY, LARGEST_FORCE, STRAIN_ENERGY
from pdem.contact.pairs.law_stages import H_NORMAL
from pdem.contact.pairs.layout import COEFFICIENTS, RADIUS, history_column, history_place
from pdem.numerics.kernel_factory import inlined_closure
from pdem.numerics.simd.columns import column_reader
from pdem.numerics.simd.unsigned_index import offset

if TYPE_CHECKING:
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.foundation.array_types import Floats


def strain_energy_of(law: ContactLaw, overlap: int) -> Any:
    """Make the last stage of a block of contacts, which writes their strain energies and the largest values so far.

    Its arguments are as those of `pdem.contact.pairs.law_stages.stages_of`, without the step. The elastic energy
    belongs to the overlap in the work column `overlap`.
    """
    if not law.has(LARGEST_ENERGY.name):
        return inlined_closure(lambda at, first, count, work, history: None)
    energy, width, has_force = energy_of(law), law.columns, law.has(LARGEST_FORCE.name)
    remembered = {name: history_place(law.place(name)) for name in law.remembered}
    coefficients_of = remembering_reader(law, COEFFICIENTS, remembered)
    memory = column_reader([history_place(law.place(column.name)) for column in law.normal_history])
    strain, largest, force = (
        history_place(law.place(one.name)) for one in (STRAIN_ENERGY, LARGEST_ENERGY, LARGEST_FORCE)
    )

    @inlined_closure
    def stage(at: int, first: int, count: int, work: Floats, history: Floats) -> None:
        for c in range(count):
            h, w = history_column(first, c, width), offset(at, c)
            k = coefficients_of(work, w, history, h)
            stored = energy(work[w + overlap], work[w + RADIUS], k, memory(history, h))
            history[h + strain], history[h + largest] = stored, max(history[h + largest], stored)
            if has_force:
                history[h + force] = max(history[h + force], history[h + H_NORMAL])

    return stage
