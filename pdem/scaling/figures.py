"""Figures of scaling reports, as PNG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.output.pictures.figure import empty_figure, png_of
from pdem.scaling.comparison import PARTS
from pdem.scaling.results import REPORTED_GROUPS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pdem.scaling.results import ScalingResults

_WIDTH, _HEIGHT = 9.0, 4.0
_DOTS_PER_INCH = 110
_COLOURS = {
    "compute": "#4477aa", "exchange": "#ee6677", "wait": "#bbbbbb", "detect": "#228833", "migrate": "#ccbb44",
    "lists": "#ccbb44", "agree": "#aa3377",
}  # fmt: skip


def measured_figure(results: ScalingResults, plan: Mapping[str, Any] | None) -> bytes:
    """Return a figure of speed-up and efficiency over the cores, with the prediction of a plan as dashed lines."""

    def draw(axes: Any) -> None:
        left, right = axes
        for threads, points in results.series().items():
            cores = [point.cores for point in points]
            label = f"{threads} thread{'' if threads == 1 else 's'} per rank"
            median = [results.speed_up(point) for point in points]
            spread = [
                [point.time / point.seconds[-1] for point in points],
                [point.time / point.seconds[0] for point in points],
            ]
            bars = [
                [value * (1.0 - low) for value, low in zip(median, spread[0], strict=True)],
                [value * (high - 1.0) for value, high in zip(median, spread[1], strict=True)],
            ]
            left.errorbar(cores, median, yerr=bars, marker="o", capsize=3, label=label)
            right.plot(cores, [100.0 * results.efficiency(point) for point in points], marker="o", label=label)
        all_cores = sorted({point.cores for point in results.points})
        base = results.base.cores
        left.plot(all_cores, [cores / base for cores in all_cores], color="black", lw=0.8, label="ideal")
        right.axhline(100.0, color="black", lw=0.8)
        if plan is not None:
            _draw_prediction(plan, all_cores, left, right)
        _format_axes(left, "speed-up", all_cores)
        _format_axes(right, "efficiency [%]", all_cores)

    return _png_of(draw, 2)


def _draw_prediction(plan: Mapping[str, Any], measured: Sequence[int], left: Any, right: Any) -> None:
    """Draw the prediction of a plan up to the largest measured number of cores."""
    threads = plan["threads"]
    rows = [row for row in plan["rows"] if "speed_up" in row and row["ranks"] * threads <= max(measured)]
    cores = [row["ranks"] * threads for row in rows]
    left.plot(cores, [row["speed_up"] for row in rows], "k--", marker=".", label="plan")
    right.plot(cores, [100.0 * row["efficiency"] for row in rows], "k--", marker=".", label="plan")


def _format_axes(axes: Any, quantity: str, ticks: Sequence[float]) -> None:
    axes.set_xscale("log", base=2)
    if quantity == "speed-up":
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    else:
        axes.set_ylim(bottom=0.0)
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xlabel("cores (ranks x threads)")
    axes.set_ylabel(quantity)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


def phase_figure(results: ScalingResults) -> bytes:
    """Return a figure of the phases of a step [ms], mean over the ranks."""
    labels = [f"{point.ranks} x {point.threads}" for point in results.points]
    heights = {group: [1e3 * point.phases[group]["mean"] for point in results.points] for group in REPORTED_GROUPS}
    return _bar_figure(labels, heights, "ranks x threads", "time of a step [ms], mean of ranks")


def plan_figure(plan: Mapping[str, Any]) -> bytes:
    """Return a figure of the predicted speed-up and of the predicted parts of a step."""
    rows = [row for row in plan["rows"] if "parts" in row]

    def draw(axes: Any) -> None:
        ranks = [row["ranks"] for row in rows]
        axes[0].plot(ranks, [row["speed_up"] for row in rows], "k--", marker="o", label="plan")
        axes[0].plot(ranks, ranks, color="black", lw=0.8, label="ideal")
        _format_axes(axes[0], "speed-up", ranks)
        axes[0].set_xlabel("ranks")
        shares = {part: [100.0 * row["parts"][part] / row["seconds_per_step"] for row in rows] for part in PARTS}
        _stacked_bars(axes[1], [str(count) for count in ranks], shares)
        axes[1].set_xlabel("ranks")
        axes[1].set_ylabel("share of a step [%]")

    return _png_of(draw, 2)


def evidence_figure(
    results: ScalingResults | None, plan: Mapping[str, Any] | None, rehearsal: Mapping[str, Any] | None
) -> bytes:
    """Return a figure of all measured, planned and rehearsed efficiencies over the ranks."""

    def draw(axes: Any) -> None:
        ticks: set[int] = set()
        if results is not None:
            ticks |= _draw_measured(results, axes)
        for name, document, marker in (("plan", plan, "."), ("rehearsal", rehearsal, "s")):
            rows = [row for row in document["rows"] if "efficiency" in row] if document is not None else []
            if rows:
                ranks = [row["ranks"] for row in rows]
                values = [100.0 * row["efficiency"] for row in rows]
                kind = "weak" if (document or {}).get("weak") else "strong"
                axes.plot(ranks, values, "--", marker=marker, label=f"predicted: {name}, {kind} scaling")
                ticks |= set(ranks)
        axes.axhline(100.0, color="black", lw=0.8)
        _format_axes(axes, "efficiency [%]", sorted(ticks))
        axes.set_xlabel("ranks")

    return _png_of(draw, 1)


def _draw_measured(results: ScalingResults, axes: Any) -> set[int]:
    """Draw the measured efficiencies; return the numbers of ranks."""
    for threads, points in results.series().items():
        label = f"measured, {threads} thread{'' if threads == 1 else 's'} per rank"
        values = [100.0 * results.efficiency(point) for point in points]
        axes.plot([point.ranks for point in points], values, marker="o", label=label)
    return {point.ranks for point in results.points}


def _bar_figure(labels: Sequence[str], heights: Mapping[str, Sequence[float]], along: str, up: str) -> bytes:
    def draw(axes: Any) -> None:
        _stacked_bars(axes, labels, heights)
        axes.set_xlabel(along)
        axes.set_ylabel(up)

    return _png_of(draw, 1)


def _stacked_bars(axes: Any, labels: Sequence[str], heights: Mapping[str, Sequence[float]]) -> None:
    below = [0.0] * len(labels)
    for name, values in heights.items():
        axes.bar(range(len(labels)), values, bottom=below, label=name, color=_COLOURS[name], width=0.7)
        below = [low + value for low, value in zip(below, values, strict=True)]
    axes.set_xticks(range(len(labels)), labels, rotation=45 if len(labels) > 8 else 0)
    axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _png_of(draw: Callable[[Any], None], columns: int) -> bytes:
    """Draw a figure with subplots, and return it as PNG.

    Raises
    ------
    InputError
        If matplotlib is not installed.
    """
    figure = empty_figure(_WIDTH, _HEIGHT, ", or report with --no-plots")
    draw(figure.subplots(1, columns))
    return png_of(figure, _DOTS_PER_INCH)
