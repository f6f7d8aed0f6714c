"""Evaluation of a measure of sweeps for a single run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.foundation.errors import InputError
from pdem.run.reading.results import Results
from pdem.sweeps.measure_checks import check_measures
from pdem.sweeps.measures import measured
from pdem.sweeps.sections import RunsPlan, plan_of_document

if TYPE_CHECKING:
    from pathlib import Path

    from pdem.sweeps.measure_sections import Measured


def measure(results: Results | str | Path, kind: str, **keys: Any) -> Measured:
    """Evaluate a measure of sweeps for the results of a single run.

    Parameters
    ----------
    results : Results or path
        Results of the run, or its output folder.
    kind : str
        Kind as in ``[measures.NAME]``: ``"angle-of-repose"``, ``"discharge-rate"``, ``"column"``, ...
    **keys
        Further keys of the measure.

    Returns
    -------
    Measured
        ``value``, ``unit``, and ``remarks`` with the reason for a missing or doubtful value.

    Raises
    ------
    CaseError, InputError
        If there is no such measure, or the run lacks the data for it.

    Examples
    --------
    >>> measure("results/repose", "angle-of-repose").value  # doctest: +SKIP
    """
    document = {"case": "case", "folder": "folder", "measures": {"measure": {"kind": kind, **keys}}}
    section = plan_of_document(RunsPlan, document, "measure").measures["measure"]
    run = results if isinstance(results, Results) else Results(results)
    check_measures({"measure": section}, run.case)
    found = measured("measure", section, run)
    if "measure" not in found:
        raise InputError(f"{kind} returns several numbers ({', '.join(found)}): call the function itself")
    return found["measure"]
