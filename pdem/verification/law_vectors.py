"""Check whether the compiler vectorises the functions of a user's law, by the machine code of a loop over contacts."""

from __future__ import annotations

import platform
import re
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from pdem.contact.law.adhesion_part import AdhesionPart
from pdem.contact.law.check import STEP
from pdem.contact.law.parts import Contact, Load, NormalPart, tuple_type
from pdem.numerics.function_trials import place_of
from pdem.numerics.simd.columns import column_reader, column_writer
from pdem.numerics.simd.unsigned_index import offset
from pdem.numerics.user_functions import compiled
from pdem.verification.law_proof import Proof, functions_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pdem.contact.law.parts import Part
    from pdem.verification.law_subjects import Subject

MANY = 64
"""Number of contacts in the compiled loop."""

VECTORS = re.compile(r"\bv?(?:add|sub|mul|div|sqrt|fn?m(?:add|sub)\d*)pd\b")
SCALARS = re.compile(r"\bv?(?:add|sub|mul|div|sqrt|fn?m(?:add|sub)\d*)sd\b")
"""Arithmetic instructions of x86 on vectors, and on single numbers."""

MOST_SCALAR = 0.75
"""Largest share of arithmetic on single numbers in a vectorised loop: the compiler adds a scalar copy of the loop for
the remaining contacts."""

CONTACT_NUMBERS, LOAD_NUMBERS = 19, 4


PRESSED = 4
"""Number of arguments of a function of overlap, radius, coefficients and history."""


def vector_proofs(subject: Subject) -> Iterator[Proof]:
    """Yield the proofs of a user's functions; no proofs on processors other than x86-64.

    A test checks that pdem's own functions are vectorised.
    """
    if platform.machine() not in ("x86_64", "AMD64"):
        return
    for use in subject.recipe.uses:
        functions = functions_of(use.part)
        for function in {one for name, one in functions.items() if name != "gap"}:
            yield _proof(function, use.part)


def _proof(function: Callable[..., Any], part: Part) -> Proof:
    code = machine_code(function, part)
    vectors, scalars = len(VECTORS.findall(code)), len(SCALARS.findall(code))
    remedy = (
        f"{place_of(function)}: {scalars} of {scalars + vectors} arithmetic instructions of its loop "
        f"take single numbers, "
        "which is two to eight times slower: write `a if condition else b` in place of branches and "
        "loops, and math.sqrt "
        "in place of other functions of math"
    )
    share = scalars / max(scalars + vectors, 1)
    name = f"arithmetic on single numbers, {part.role}: {function.__name__}"
    return Proof(name, share, MOST_SCALAR, remedy, "warning")


def machine_code(function: Callable[..., Any], part: Part) -> str:
    """Return the machine code of a loop over contacts in columns that calls a function of a part."""
    call = _maker_of(function, part)(function, part)

    @numba.njit(error_model="numpy")
    def loop(numbers: Any, found: Any) -> None:
        for c in range(MANY):
            call(numbers, found, offset(0, c))

    columns = CONTACT_NUMBERS + LOAD_NUMBERS + len(part.history) + len(part.coefficients)
    loop(np.ones(MANY * columns), np.zeros(MANY * columns))
    return str(next(iter(loop.inspect_asm().values())))


def _maker_of(function: Callable[..., Any], part: Part) -> Callable[..., Any]:
    """Return the factory of the call of a function of a part."""
    if not isinstance(part, (AdhesionPart, NormalPart)):
        return _with_memory
    return _pressed if part.history and function.__code__.co_argcount == PRESSED else _of_overlap


def _columns(first: int, count: int) -> list[int]:
    return [MANY * column for column in range(first, first + count)]


def _of_overlap(function: Callable[..., Any], part: Part) -> Any:
    """Make a function that evaluates one contact with a function of overlap, radius and coefficients."""
    inner, Coefficients = compiled(function), tuple_type(part.coefficients)
    read, of_pair = column_reader(_columns(0, 2)), column_reader(_columns(2, len(part.coefficients)))
    results = 2 if functions_of(part)["elastic"] is function else 1
    write = column_writer(_columns(0, results))

    @numba.njit(error_model="numpy")
    def one(numbers: Any, found: Any, at: int) -> None:
        overlap, radius = read(numbers, at)
        write(found, at, (inner(overlap, radius, Coefficients(*of_pair(numbers, at))),))

    @numba.njit(error_model="numpy")
    def two(numbers: Any, found: Any, at: int) -> None:
        overlap, radius = read(numbers, at)
        write(found, at, inner(overlap, radius, Coefficients(*of_pair(numbers, at))))

    return one if results == 1 else two


def _pressed(function: Callable[..., Any], part: Part) -> Any:
    """Make a function that evaluates one contact with a function of overlap, radius, coefficients and history."""
    inner, Coefficients, memory = compiled(function), tuple_type(part.coefficients), len(part.history)
    read, of_history = column_reader(_columns(0, 2)), column_reader(_columns(2, memory))
    of_pair = column_reader(_columns(2 + memory, len(part.coefficients)))
    one, all_of_them = column_writer(_columns(0, 1)), column_writer(_columns(0, 3 + memory))

    @numba.njit(error_model="numpy")
    def energy(numbers: Any, found: Any, at: int) -> None:
        overlap, radius = read(numbers, at)
        one(found, at, (inner(overlap, radius, Coefficients(*of_pair(numbers, at)), of_history(numbers, at)),))

    @numba.njit(error_model="numpy")
    def force(numbers: Any, found: Any, at: int) -> None:
        overlap, radius = read(numbers, at)
        value, stiffness, history, lost = inner(
            overlap, radius, Coefficients(*of_pair(numbers, at)), of_history(numbers, at)
        )
        all_of_them(found, at, (value, stiffness, lost, *history))

    return force if functions_of(part)["elastic"] is function else energy


def _with_memory(function: Callable[..., Any], part: Part) -> Any:
    """Make a function that evaluates one contact with a function of the contact, its load and its history."""
    inner, Coefficients, step = compiled(function), tuple_type(part.coefficients), STEP
    behind, memory = CONTACT_NUMBERS + LOAD_NUMBERS, len(part.history)
    of_contact, of_load = (
        column_reader(_columns(0, CONTACT_NUMBERS)),
        column_reader(_columns(CONTACT_NUMBERS, LOAD_NUMBERS)),
    )
    of_history, of_pair = (
        column_reader(_columns(behind, memory)),
        column_reader(_columns(behind + memory, len(part.coefficients))),
    )
    write = column_writer(_columns(0, 4 + memory))

    @numba.njit(error_model="numpy")
    def call(numbers: Any, found: Any, at: int) -> None:
        x = of_contact(numbers, at)
        contact = Contact(
            x[0], x[1], (x[2], x[3], x[4]), (x[5], x[6], x[7]), (x[8], x[9], x[10]), (x[11], x[12], x[13]), x[14],
            x[15], x[16], x[17], x[18],
        )  # fmt: skip
        load, c = Load(*of_load(numbers, at)), Coefficients(*of_pair(numbers, at))
        value, history, energy = inner(step, contact, c, load, of_history(numbers, at))
        write(found, at, (value[0], value[1], value[2], energy, *history))

    return call
