"""Checks that all ranks run the same program: same sources, same case, same settings of the compiler."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any, TypeVar

from pdem.case.differences import differences
from pdem.engine.ranks import largest_on_ranks
from pdem.foundation.errors import LaunchError, PdemError
from pdem.output.provenance import changes_since, provenance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pdem.case.model import Case

Result = TypeVar("Result")


def on_all(communicator: Any, function: Callable[[], Result]) -> Result:
    """Call `function` on all ranks; return its result, or raise an error on all ranks if it fails on any. Collective.

    Raises
    ------
    PdemError
        On all ranks, if all ranks raised it.
    LaunchError
        On all ranks, if only some ranks raised an error.
    """
    if communicator is None:
        return function()
    results: list[Result] = []
    problem: PdemError | None = None
    try:
        results.append(function())
    except PdemError as error:
        problem = error
    failed = _first_of(communicator, None if problem is None else (platform.node(), problem))
    if failed is None:
        return results[0]
    number, rank, (host, first) = failed
    if number == communicator.size:
        raise first
    raise LaunchError(
        f"{number} of {communicator.size} ranks fail where others do not, rank {rank} on {host} by: {first}; "
        "let all ranks see the same files, in a folder that the nodes share"
    )


def _first_of(communicator: Any, value: Any) -> tuple[int, int, Any] | None:
    """Return the number of ranks with a value, the first of them, and its value; None without a value. Collective."""
    has = value is not None
    number = communicator.allreduce(int(has))
    if not number:
        return None
    first = -largest_on_ranks(communicator, -communicator.rank if has else -communicator.size)
    return number, first, communicator.bcast(value, first)


def check_same(communicator: Any, case: Case, now: Mapping[str, str] | None = None) -> str:
    """Check that the sources of pdem and the case are the same on all ranks. Collective.

    Parameters
    ----------
    communicator, case
        Communicator and case of the run.
    now : mapping, optional
        Replaces `pdem.output.provenance.provenance` in tests.

    Returns
    -------
    str
        On rank 0 a warning, if ranks differ in settings that change bits; otherwise empty.

    Raises
    ------
    LaunchError
        On all ranks, if sources or cases differ.
    """
    if communicator is None or communicator.size == 1:
        return ""
    mine, own = provenance() if now is None else now, case.to_toml()
    first, text = communicator.bcast((dict(mine), own))
    error = warning = None
    if mine["pdem"] != first["pdem"] or mine["sources"] != first["sources"]:
        versions = [f"pdem {one['pdem']} (sources {one['sources']})" for one in (mine, first)]
        error = f"{versions[0]}, and rank 0 {versions[1]}: load the same environment on all nodes"
    elif own != text:
        key, then, here = (differences(case.from_text(text), case) or [("the case", "another", "this")])[0]
        error = f"{key} = {here}, and rank 0 {then}: let all ranks read the same case file"
    else:
        warning = changes_since(first, mine, "there") or None
    refused = _first_of(communicator, error and (platform.node(), error))
    if refused is not None:
        number, rank, of_rank = refused
        which = _named(communicator, rank, of_rank)
        raise LaunchError(f"{number} of {communicator.size} ranks would not run what rank 0 runs; {which}")
    mixed = _first_of(communicator, warning and (platform.node(), warning))
    if mixed is None:
        return ""
    number, rank, of_rank = mixed
    which = _named(communicator, rank, of_rank, "in")
    text = (
        f"{number} of {communicator.size} ranks differ from rank 0, {which}: the results are valid, but their bits "
        "depend on how particles are divided; give all ranks the same settings"
    )
    return "" if communicator.rank else text


def _named(communicator: Any, rank: int, of_rank: tuple[str, str], verb: str = "has") -> str:
    """Return text on the property of a rank, with its host if that is not the host of rank 0. Collective."""
    host, what = of_rank
    other = host != communicator.bcast(platform.node())
    return f"rank {rank}{f' on {host}' * other} {verb} {what}"
