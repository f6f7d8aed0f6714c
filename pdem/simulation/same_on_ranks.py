"""Whether all ranks run the same: the same sources, the same case, on processors of one type."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any, TypeVar

from pdem.case.differences import differences
from pdem.foundation.errors import LaunchError, PdemError
from pdem.output.provenance import changes_since, provenance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pdem.case.model import Case

Result = TypeVar("Result")


def on_all(communicator: Any, function: Callable[[], Result]) -> Result:
    """Call `function` on all ranks and return the result of each; if it fails on any, all say so alike. Collective.

    Raises
    ------
    PdemError
        On all ranks, if it was raised on all.
    LaunchError
        On all ranks, if it was raised on some.
    """
    if communicator is None:
        return function()
    results: list[Result] = []
    problem: PdemError | None = None
    try:
        results.append(function())
    except PdemError as error:
        problem = error
    found = communicator.allgather(None if problem is None else (platform.node(), problem))
    failed = [(rank, *one) for rank, one in enumerate(found) if one is not None]
    if len(failed) == communicator.size:
        raise failed[0][2]
    if failed:
        rank, host, first = failed[0]
        raise LaunchError(
            f"{len(failed)} of {communicator.size} ranks fail where others do not, rank {rank} on {host} by: {first}; "
            "let all ranks see the same files, in a folder that the nodes share"
        )
    return results[0]


def check_same(communicator: Any, case: Case, now: Mapping[str, str] | None = None) -> str:
    """Refuse ranks whose sources of pdem or whose case differ from those of rank 0. Collective.

    Parameters
    ----------
    communicator, case
        Of the run.
    now : mapping, optional
        In place of `pdem.output.provenance.provenance`.

    Returns
    -------
    str
        On rank 0 a warning, if ranks differ in something else that changes bits; else empty.

    Raises
    ------
    LaunchError
        On all ranks.
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
    found = communicator.allgather((platform.node(), error, warning))
    names = [
        f"rank {rank}{'' if one[0] == found[0][0] else f' on {one[0]}'}" for rank, one in enumerate(found)
    ]
    others = [(name, one) for name, (_, one, _) in zip(names, found, strict=True) if one is not None]
    if others:
        name, what = others[0]
        raise LaunchError(
            f"{len(others)} of {communicator.size} ranks would not run what rank 0 runs; {name} has {what}"
        )
    mixed = [(name, one) for name, (_, _, one) in zip(names, found, strict=True) if one is not None]
    if communicator.rank or not mixed:
        return ""
    name, what = mixed[0]
    return (
        f"{len(mixed)} of {communicator.size} ranks differ from rank 0, {name} in {what}: the results are valid, "
        "but their bits depend on how particles are divided; where bits matter, use nodes of one type"
    )
