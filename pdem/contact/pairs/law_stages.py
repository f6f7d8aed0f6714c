"""The stages of the contact law over a block of contacts, made for the parts of a law.

Each stage is one short loop: it reads numbers of a contact from columns (`pdem.contact.pairs.layout`), calls a scalar
function of a part of the law (`pdem.contact.law`), and writes numbers to columns. `at` is the index of the first column
of a worker, `first` the history index of the first contact of the block, ``h + place`` a number of a history.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.contact.law.coefficients import part_reader, remembering_reader
from pdem.contact.law.contact_law import AGE, OVERLAP, UNKNOWN
from pdem.contact.law.elastic import account_of, either_history
from pdem.contact.law.kinds.spring_force import spring_force
from pdem.contact.law.kinds.viscoelastic import Before, normal_force_of
from pdem.contact.law.limits import limited_force, limited_force_and_resistance, rolling_resistance
from pdem.contact.law.parts import REFERENCE_OVERLAP, Contact, Load
from pdem.contact.pairs.layout import (
    COEFFICIENTS,
    CONTACT_X,
    DAMPING,
    FORCE_J_X,
    FORCE_LIMIT,
    FORCE_X,
    INERTIA,
    INVERSE_MASS,
    LOAD,
    MASS,
    NORMAL_STIFFNESS,
    NORMAL_X,
    OVERLAP_BEGIN,
    OVERLAP_END,
    RADIUS,
    RESISTANCE_X,
    ROLLING_X,
    SHRINK,
    SLIP_TIME,
    SLIP_X,
    SPIN,
    STIFFNESS,
    STRIDE,
    TANGENTIAL_X,
    TORQUE_PER_ARM_X,
    history_column,
    history_place,
)
from pdem.motion.time_step import TimeStep
from pdem.numerics.kernel_factory import inlined_closure
from pdem.numerics.kernels import inlined
from pdem.numerics.simd.columns import column_reader, column_writer
from pdem.numerics.simd.unsigned_index import offset
from pdem.numerics.user_functions import compiled
from pdem.numerics.vectors import cross3, dot3, get3, put3, scale3

if TYPE_CHECKING:
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.contact.law.parts import ResistancePart, TangentialPart
    from pdem.foundation.array_types import Floats
    from pdem.numerics.vectors import Vector

H_OVERLAP, H_NORMAL, H_VELOCITY_X = history_place(OVERLAP), history_place(1), history_place(2)


@inlined
def contact_at(work: Floats, w: int, velocity: Vector) -> Contact:
    """Return geometry and motion of a contact from its columns; the compiler drops columns that are not used."""
    return Contact(
        work[w + OVERLAP_END], work[w + OVERLAP_BEGIN], get3(work, w + NORMAL_X, STRIDE), velocity,
        get3(work, w + SLIP_X, STRIDE), get3(work, w + ROLLING_X, STRIDE), work[w + SPIN], work[w + RADIUS],
        work[w + MASS], work[w + INVERSE_MASS], work[w + INERTIA],
    )  # fmt: skip


def stages_of(law: ContactLaw) -> Any:
    """Make the function that evaluates the law of a block of contacts, from normal forces to resultants.

    Its arguments are `at`, `first`, the number of contacts, `TimeStep`, the columns, and the histories.
    """
    normal, resistances, tangential, resultant = (
        _normal_stage(law), _resistance_stages(law), _tangential_stage(law), _resultant_stage(law)
    )  # fmt: skip

    @inlined_closure
    def stages(at: int, first: int, count: int, step: TimeStep, work: Floats, history: Floats) -> None:
        normal(at, first, count, step, work, history)
        resistances(at, first, count, step, work, history)
        tangential(at, first, count, step, work, history)
        resultant(at, first, count, step, work, history)

    return stages


def _nothing() -> Any:
    @inlined_closure
    def nothing(at: int, first: int, count: int, step: TimeStep, work: Floats, history: Floats) -> None:
        """Do nothing: no pair of the case has this part."""

    return nothing


def _normal_stage(law: ContactLaw) -> Any:
    normal_force, width = normal_force_of(law), law.columns
    remembers = {name: history_place(law.place(name)) for name in law.remembered}
    coefficients_of = remembering_reader(law, COEFFICIENTS, remembers)
    pulls, has_spring, has_ledger = law.may_pull, law.is_spring, law.has_ledger
    loads = bool(law.remembering) or (law.tangential is not None and not has_spring)
    damped, lost = (history_place(law.place(name)) for name in ("normal_damping", "plastic"))
    memory = [history_place(law.place(column.name)) for column in law.normal_history]
    remembered, remember, is_plastic = column_reader(memory), column_writer(memory), bool(memory)
    write_account = account_of(law)
    has_age, age = law.has(AGE.name), history_place(law.place(AGE.name))
    has_reference, reference = law.has(REFERENCE_OVERLAP.name), history_place(law.place(REFERENCE_OVERLAP.name))

    @inlined_closure
    def normal_stage(at: int, first: int, count: int, step: TimeStep, work: Floats, history: Floats) -> None:
        for c in range(count):
            h, w = history_column(first, c, width), offset(at, c)
            if has_reference:
                rest = max(min(history[h + reference], work[w + OVERLAP_END]), 0.0)
                history[h + reference] = rest
                work[w + OVERLAP_END] -= rest
                work[w + OVERLAP_BEGIN] -= rest
            contact = contact_at(work, w, get3(work, w + CONTACT_X, STRIDE))
            k = coefficients_of(work, w, history, h)
            before = Before(
                history[h + H_OVERLAP] > UNKNOWN,
                history[h + H_NORMAL],
                get3(history, h + H_VELOCITY_X, STRIDE),
                remembered(history, h),
            )
            found = normal_force(step, contact, k, before)
            history[h + H_NORMAL] = found.force
            put3(history, h + H_VELOCITY_X, STRIDE, contact.velocity)
            history[h + H_OVERLAP] = contact.overlap
            if is_plastic:
                remember(history, h, found.history)
            if has_age:
                history[h + age] += 1.0 if before.known & (step.dt > 0.0) else 0.0
            if has_ledger:
                history[h + damped] += found.lost
                if is_plastic:
                    history[h + lost] += found.plastic
                write_account(history, h, contact, k, found.history, 0.5 * step.dt * found.force)
                put3(work, w + TANGENTIAL_X, STRIDE, found.velocity)
            if has_spring:
                work[w + STIFFNESS] = k.ratio * found.stiffness
                work[w + DAMPING] = found.damping * k.ratio_root
            if loads:
                work[w + NORMAL_STIFFNESS] = found.stiffness
            if pulls:
                work[w + LOAD] = found.force + found.held
            work[w + SHRINK], work[w + SLIP_TIME] = found.shrink, found.time

    return normal_stage


def _load_of(law: ContactLaw, stiffness: Any) -> Any:
    """Make the function that returns the load of a contact, with the stiffness from its column."""
    pulls = law.may_pull

    @inlined_closure
    def load_of(work: Floats, w: int, history: Floats, h: int) -> Load:
        force = work[w + LOAD] if pulls else history[h + H_NORMAL]
        return Load(force, work[w + stiffness], work[w + SHRINK], work[w + SLIP_TIME])

    return load_of


def _tangential_stage(law: ContactLaw) -> Any:
    if law.tangential is None:
        return _nothing()
    if not law.is_spring:
        return _own_tangential_stage(law)
    width, has_ledger, load_of = law.columns, law.has_ledger, _load_of(law, STIFFNESS)
    coefficients_of = part_reader(law, law.tangential, COEFFICIENTS)
    force, stored, slid, slips = (
        history_place(law.place(name)) for name in ("tangential_force", "tangential", "sliding", "slips")
    )
    has_two = law.has("slips")

    @inlined_closure
    def tangential_stage(at: int, first: int, count: int, step: TimeStep, work: Floats, history: Floats) -> None:
        for c in range(count):
            h, w = history_column(first, c, width), offset(at, c)
            contact = contact_at(work, w, get3(history, h + H_VELOCITY_X, STRIDE))
            k = coefficients_of(work, w)
            static = dynamic = k.friction
            if has_two:
                dynamic = k.friction * (1.0 - k.drop)
                static = dynamic if history[h + slips] > 0.5 else k.friction
            found = spring_force(
                step, contact, (static, dynamic), load_of(work, w, history, h), work[w + DAMPING],
                get3(history, h + force, STRIDE),
            )  # fmt: skip
            put3(history, h + force, STRIDE, found.elastic)
            if has_two:
                history[h + slips] = 0.0 if found.sticks else 1.0
            if has_ledger:
                history[h + slid] += history[h + stored] - found.stored
                history[h + stored] = found.stored
            put3(work, w + FORCE_X, STRIDE, found.force)
            work[w + FORCE_LIMIT] = found.limit

    return tangential_stage


def _own_tangential_stage(law: ContactLaw) -> Any:
    """Make the stage of a tangential force that has its own function and its own limit."""
    part = law.tangential
    assert part is not None
    evaluate, width, has_ledger = _evaluation_of(law, part, part.force), law.columns, law.has_ledger
    slid = history_place(law.place("sliding"))

    @inlined_closure
    def tangential_stage(at: int, first: int, count: int, step: TimeStep, work: Floats, history: Floats) -> None:
        for c in range(count):
            h, w = history_column(first, c, width), offset(at, c)
            contact = contact_at(work, w, get3(history, h + H_VELOCITY_X, STRIDE))
            force, released = evaluate(step, contact, work, w, history, h)
            if has_ledger:
                history[h + slid] += released
            put3(work, w + FORCE_X, STRIDE, force)

    return tangential_stage


def _evaluation_of(law: ContactLaw, part: TangentialPart | ResistancePart, function: Any) -> Any:
    """Make the function that evaluates a part with a memory of its own, for one contact.

    It returns the force or torque, zeros for pairs without this part, and the stored energy that is released [J].
    """
    compute, has_ledger = compiled(function), law.has_ledger
    coefficients_of, load_of = part_reader(law, part, COEFFICIENTS), _load_of(law, NORMAL_STIFFNESS)
    memory = [history_place(place) for place in law.places_of(part)]
    remembered, remember = column_reader(memory), column_writer(memory)
    stored = history_place(law.place(part.energies[0].name))
    column = law.column_of_use(part)
    may_lack, used = column is not None, COEFFICIENTS[column or 0]
    either = either_history(len(memory))

    @inlined_closure
    def evaluate(
        step: TimeStep, contact: Contact, work: Floats, w: int, history: Floats, h: int
    ) -> tuple[Vector, float]:
        before = remembered(history, h)
        value, memory_now, energy = compute(
            step, contact, coefficients_of(work, w), load_of(work, w, history, h), before
        )
        released = 0.0
        if may_lack:
            has = work[w + used] > 0.0
            value = value[0] if has else 0.0, value[1] if has else 0.0, value[2] if has else 0.0
            # the column may hold the memory of a second model with this role
            memory_now = either(has, memory_now, before)
            energy = energy if has else history[h + stored]
        remember(history, h, memory_now)
        if has_ledger:
            released = history[h + stored] - energy
            history[h + stored] = energy
        return value, released

    return evaluate


def _resistance_stages(law: ContactLaw) -> Any:
    """Make the stage of all resistances with a memory; each adds to columns."""
    stages = [_resistance_stage(law, part, number == 0) for number, part in enumerate(law.remembering)]
    if not stages:
        return _nothing()
    while len(stages) > 1:
        stages[:2] = [_both(stages[0], stages[1])]
    return stages[0]


def _both(one: Any, other: Any) -> Any:
    @inlined_closure
    def both(at: int, first: int, count: int, step: TimeStep, work: Floats, history: Floats) -> None:
        one(at, first, count, step, work, history)
        other(at, first, count, step, work, history)

    return both


def _resistance_stage(law: ContactLaw, part: ResistancePart, is_first: bool) -> Any:
    evaluate, width, has_ledger = _evaluation_of(law, part, part.torque), law.columns, law.has_ledger
    lost = history_place(law.place(part.energies[1].name))

    @inlined_closure
    def resistance_stage(at: int, first: int, count: int, step: TimeStep, work: Floats, history: Floats) -> None:
        for c in range(count):
            h, w = history_column(first, c, width), offset(at, c)
            contact = contact_at(work, w, get3(history, h + H_VELOCITY_X, STRIDE))
            torque, released = evaluate(step, contact, work, w, history, h)
            if has_ledger:
                history[h + lost] += released - dot3(torque, contact.rolling) * step.dt
            if not is_first:
                others = get3(work, w + RESISTANCE_X, STRIDE)
                torque = torque[0] + others[0], torque[1] + others[1], torque[2] + others[2]
            put3(work, w + RESISTANCE_X, STRIDE, torque)

    return resistance_stage


def _resultant_stage(law: ContactLaw) -> Any:
    """Make the stage of Coulomb's limit, constant rolling resistance, and the forces and torques on particles."""
    width, has_ledger, pulls, has_force = (law.columns, law.has_ledger, law.may_pull, law.tangential is not None)
    has_spring, part = law.is_spring, law.constant_torque
    has_constant, has_memory, resists = part is not None, bool(law.remembering), law.has_resistance
    friction = COEFFICIENTS[0 if part is None else law.places_of_coefficients(part)[0]]
    slid, rolled = (history_place(law.place(name)) for name in ("sliding", "rolling"))

    @inlined_closure
    def resultant_stage(at: int, first: int, count: int, step: TimeStep, work: Floats, history: Floats) -> None:
        for c in range(count):
            h, w = history_column(first, c, width), offset(at, c)
            n, r = get3(work, w + NORMAL_X, STRIDE), get3(work, w + ROLLING_X, STRIDE)
            normal = history[h + H_NORMAL]
            load = work[w + LOAD] if pulls else normal
            f = get3(work, w + FORCE_X, STRIDE)
            a = 0.0, 0.0, 0.0
            if has_constant:
                reach, inertia = work[w + friction] * work[w + RADIUS] * load, work[w + INERTIA]
                if has_spring:
                    f, resistance, turns = limited_force_and_resistance(
                        f, work[w + FORCE_LIMIT], r, reach, inertia, step.rate
                    )
                else:
                    resistance, turns = rolling_resistance(r, reach, inertia, step.rate)
                a = scale3(resistance, r)
                if has_ledger:
                    history[h + rolled] -= resistance * turns * step.dt
            elif has_spring:
                f = limited_force(f, work[w + FORCE_LIMIT])
            if has_force and has_ledger:
                t = get3(work, w + TANGENTIAL_X, STRIDE)
                history[h + slid] -= (f[0] * t[0] + f[1] * t[1] + f[2] * t[2]) * step.dt
            if has_memory:
                b = get3(work, w + RESISTANCE_X, STRIDE)
                a = a[0] + b[0], a[1] + b[1], a[2] + b[2]
            if resists:
                put3(work, w + RESISTANCE_X, STRIDE, a)
            if not has_force:
                f = 0.0, 0.0, 0.0
            force = normal * n[0] + f[0], normal * n[1] + f[1], normal * n[2] + f[2]
            put3(work, w + FORCE_J_X, STRIDE, force)
            put3(work, w + TORQUE_PER_ARM_X, STRIDE, cross3(f, n))

    return resultant_stage
