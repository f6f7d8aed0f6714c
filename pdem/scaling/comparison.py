"""Comparison of the times predicted by a plan with measured times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.report.section import ReportSection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pdem.scaling.results import ScalingPoint, ScalingResults

PARTS = ("compute", "detect", "exchange", "lists", "agree", "wait")
"""Parts of a step that a plan predicts as means over the ranks."""

COMPARED_PARTS = {
    "compute": (("compute",), ("compute",)),
    "detect": (("detect",), ("detect",)),
    "exchange, wait and the rest": (("exchange", "wait", "migrate"), ("exchange", "lists", "agree", "wait")),
}
"""Name in the table: measured phases, and the corresponding parts of a predicted step."""


def is_plan_of(plan: Mapping[str, Any] | None, results: ScalingResults) -> bool:
    """Return whether a plan is for the measured case, with the same kind of scaling (weak or strong)."""
    return plan is not None and (plan["case"], plan.get("weak", False)) == (results.case, results.weak)


def comparison(results: ScalingResults, plan: Mapping[str, Any] | None) -> ReportSection | None:
    """Return a section that compares predicted and measured times, None without a plan.

    Parameters
    ----------
    results : ScalingResults
        Measured runs.
    plan : dict, optional
        A plan, possibly of a different case.
    """
    if plan is None:
        return None
    title = "Predicted and measured"
    kind = " --weak" if results.weak else ""
    advice = f"pdem scaling plan {results.case}{kind} with this folder as --output plans what was measured."
    if not is_plan_of(plan, results):
        other = f"{plan['case']}{' --weak' if plan.get('weak') else ''}"
        return ReportSection(title, f"The plan in this folder is of {other}: nothing to compare. {advice}")
    rows = {row["ranks"]: row for row in plan["rows"] if "parts" in row}
    points = [one for one in results.points if one.ranks in rows and one.threads == plan["threads"]]
    if not points:
        return ReportSection(title, f"No measured ranks and threads are among the planned ones. {advice}")
    head = (
        "ranks", "threads", "measured ms/step", "predicted ms/step", "predicted / measured",
        *(f"{name}: measured, predicted" for name in COMPARED_PARTS), "ghosts per particle: at the end, planned",
    )  # fmt: skip
    text = (
        "ms per step, parts as means over the ranks. The plan knows the beginning of a run, costs measured on one rank "
        "and the network that it was given, but not that ranks share cores, caches and memory."
    )
    return ReportSection(title, text, head, [_row(point, rows[point.ranks]) for point in points])


def _row(point: ScalingPoint, row: Mapping[str, Any]) -> list[str]:
    predicted = row["seconds_per_step"]
    parts = [
        (sum(point.phases[name]["mean"] for name in measured), sum(row["parts"][name] for name in planned))
        for measured, planned in COMPARED_PARTS.values()
    ]
    return [
        str(point.ranks), str(point.threads), f"{1e3 * point.time:.4g}", f"{1e3 * predicted:.4g}",
        f"{predicted / point.time:.2f}", *(f"{1e3 * one:.3g}, {1e3 * other:.3g}" for one, other in parts),
        f"{sum(point.ghosts):.3g}, {row['ghosts_per_particle']:.3g}",
    ]  # fmt: skip
