"""Reports on results and plans: tables and figures, as text, HTML or Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.output.saving import save_file
from pdem.report.section import ReportSection, html_page, markdown_page
from pdem.scaling import figures
from pdem.scaling.comparison import PARTS, comparison, is_plan_of
from pdem.scaling.results import REPORTED_GROUPS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pdem.scaling.results import ScalingPoint, ScalingResults

_OTHER_SIZE = 0.1  # relative difference from the requested number of particles that a report mentions


def measured_sections(results: ScalingResults, plan: Mapping[str, Any] | None, *, plots: bool) -> list[ReportSection]:
    """Return the sections on measured runs: speed, phases, communication between ranks, comparison with a plan."""
    kind = "weak scaling: the case grows with the ranks" if results.weak else "strong scaling"
    base, found = results.base, results.environment
    versions = ", ".join(f"{name} {found[name]}" for name in ("pdem", "python", "numpy", "numba") if name in found)
    repeats = max(len(point.seconds) for point in results.points)
    text = (
        f"{results.case}, {kind}; {results.steps} steps timed after warm-up. {found.get('cpu', '')}; {versions}. "
        f"Medians of {repeats} repeats; speed-up over {base.ranks} x {base.threads} "
        "(ranks x threads) in particle-steps per second."
    )
    head = ("ranks", "threads", "particles", "ms/step", "spread %", "speed-up", "efficiency %", "million p-steps/s")
    speed = ReportSection("Speed", text, head, [_speed_row(results, point) for point in results.points])
    phases = ReportSection(
        "Phases",
        "ms per step: smallest / mean / largest over the ranks. wait: until the busiest rank has come; some waiting is "
        "in exchange as well. Imbalance: largest over mean compute. Output, in s: one measurement and one gathering of "
        "all particles.",
        ("ranks x threads", *REPORTED_GROUPS, "imbalance", "output s"),
        [_phase_row(point) for point in results.points],
    )
    if plots:
        speed.picture = figures.measured_figure(results, plan if is_plan_of(plan, results) else None)
        phases.picture = figures.phase_figure(results)
    comparison_lines = comparison(results, plan)
    return [speed, phases, _traffic(results), *([] if comparison_lines is None else [comparison_lines])]


def _speed_row(results: ScalingResults, point: ScalingPoint) -> list[str]:
    spread = 100.0 * (point.seconds[-1] - point.seconds[0]) / point.time
    return [
        str(point.ranks), str(point.threads), str(point.particles), f"{1e3 * point.time:.4g}", f"{spread:.0f}",
        f"{results.speed_up(point):.2f}", f"{100.0 * results.efficiency(point):.1f}", f"{point.rate / 1e6:.3g}",
    ]  # fmt: skip


def _phase_row(point: ScalingPoint) -> list[str]:
    cells = [
        " / ".join(f"{1e3 * point.phases[group][key]:.3g}" for key in ("min", "mean", "max"))
        for group in REPORTED_GROUPS
    ]
    output = " / ".join(f"{point.output[key]:.3g}" for key in ("min", "mean", "max"))
    return [f"{point.ranks} x {point.threads}", *cells, f"{point.imbalance:.3f}", output]


def _traffic(results: ScalingResults) -> ReportSection:
    rows = [
        [
            str(point.ranks), str(point.threads), f"{point.contacts:.3g}", f"{point.detections:.3g}",
            f"{sum(point.ghosts):.3g}", _by_size(point.ghosts, point.radii),
            " / ".join(f"{value:.3g}" for value in point.neighbours),
            " / ".join(f"{value:.4g}" for value in point.sent),
        ]
        for point in results.points
    ]  # fmt: skip
    head = (
        "ranks", "threads", "contacts per particle", "detections per 1000 steps", "ghosts per particle", "by size",
        "messages per step and rank mean / most", "bytes mean / most",
    )  # fmt: skip
    return ReportSection("What crosses ranks", "At the end of the median run.", head, rows)


def _by_size(shares: Sequence[float], radii: Sequence[float]) -> str:
    return ", ".join(f"{share:.3g} up to {radius:.3g} m" for share, radius in zip(shares, radii, strict=True))


def plan_sections(plan: Mapping[str, Any], *, plots: bool) -> list[ReportSection]:
    """Return the sections on a plan: owned particles and ghosts per rank, predicted time of a step."""
    weak, walls = bool(plan.get("weak")), "facets" in plan["rows"][0]
    counted = ReportSection(
        "Plan, counted",
        f"{plan['case']}: {plan['particles']} particles{' on one rank, and more with the ranks' * weak}, divided at "
        "the beginning of a run. Smallest / mean / largest over the ranks, at the begin of a run on these ranks."
        + " Facets: facets of walls within reach of a rank's particles."
        * walls,
        (
            "ranks",
            *["particles"] * weak,
            "owned",
            "ghosts per particle",
            "ghosts by size",
            "neighbours",
            "bytes per step and rank",
            *["facets"] * walls,
        ),
        [_counted_row(plan, row) for row in plan["rows"]],
    )
    if plan["costs"] is None:
        return [counted]
    network, costs = plan["network"], plan["costs"]
    predicted = ReportSection(
        "Plan, predicted",
        f"Measured on one rank of {costs['threads']} thread{'s' * (costs['threads'] > 1)} over {costs['steps']} steps: "
        f"{_nanoseconds(plan)}. {_network(network)} lists: what a detection does for every neighbour. exchange: "
        "packing, the overhead of messages, and what contacts among owned particles do not hide of their way. wait: "
        "for the slowest. "
        + "Speed-up: particle-steps per second relative to one rank. " * weak
        + "Not in it: shared networks and memory, noise, output, imbalance that grows later."
        + (
            ""
            if costs["detections"]
            else " No lists were made while measuring, so they cost nothing here: take more steps."
        ),
        ("ranks", "us/step", *(f"{part} us" for part in PARTS), "imbalance", "speed-up", "efficiency %"),
        [_predicted_row(row) for row in plan["rows"]],
        figures.plan_figure(plan) if plots else b"",
    )
    return [counted, predicted]


def _nanoseconds(plan: Mapping[str, Any]) -> str:
    costs, particles, pairs = plan["costs"], plan["particles"], max(plan["candidate_pairs"], 1)
    return (
        f"{1e9 * costs['particle'] / particles:.3g} ns per particle, {1e9 * costs['pair'] / pairs:.3g} ns per "
        f"candidate pair, {1e9 * costs['wall'] / particles:.3g} ns per particle for walls, "
        f"{1e9 * costs['detect'] / particles:.3g} ns per particle for lists "
        f"({1000.0 * costs['detections']:.3g} detections in 1000 steps), "
        f"{1e9 * costs['copy']:.3g} ns per copy, {1e6 * costs.get('neighbour', 0.0):.3g} us per neighbour "
        "and detection"
    )


def _counted_row(plan: Mapping[str, Any], row: Mapping[str, Any]) -> list[str]:
    return [
        str(row["ranks"]), *([str(row["particles"])] if plan.get("weak") else []), _spread(row["owned"]),
        f"{row['ghosts_per_particle']:.3g}", _by_size(row["ghosts_by_size"], plan["radii"]),
        _spread(row["neighbours"]), _spread(row["bytes_per_step"]),
        *([_spread(row["facets"])] if "facets" in row else []),
    ]  # fmt: skip


def _predicted_row(row: Mapping[str, Any]) -> list[str]:
    return [
        str(row["ranks"]), f"{1e6 * row['seconds_per_step']:.4g}",
        *(f"{1e6 * row['parts'][part]:.3g}" for part in PARTS), f"{row['imbalance']:.3f}",
        f"{row['speed_up']:.4g}", f"{100.0 * row['efficiency']:.3g}",
    ]  # fmt: skip


def _spread(values: Mapping[str, float]) -> str:
    return " / ".join(f"{values[key]:.5g}" for key in ("min", "mean", "max"))


def _company(document: Mapping[str, Any]) -> str:
    """Return a sentence about other processes that ran during the timing."""
    beside = document.get("beside", 0)
    return f"{beside} processes took the same steps beside. " if beside else "Each had the machine to itself. "


def _network(network: Mapping[str, float]) -> str:
    """Return a sentence with the assumed network parameters of a prediction."""
    overhead = f", {1e6 * network['overhead']:g} us of a processor" if "overhead" in network else ""
    return (
        f"Network: {1e6 * network['latency']:g} us for a message{overhead}, {network['bandwidth'] / 1e9:g} GB/s for "
        "each rank."
    )


def rehearsal_section(document: Mapping[str, Any]) -> ReportSection:
    """Return the section on a rehearsal: counts and times of the slowest simulated rank."""
    network = document["network"]
    kind, alone = "weak" if document["weak"] else "strong", document["particles_alone"]
    text = (
        f"{document['case']}, {kind} scaling: copies side by side; of each run the slowest of the ranks that were made "
        f"and timed here, on {document['threads']} thread(s). One rank alone with {alone} particles: "
        f"{1e9 * document['seconds_per_particle']:.4g} ns per particle and step, "
        f"{1000.0 * document['detections']:.3g} detections in 1000 steps. {_network(network)} An all-reduce takes "
        "log2(ranks) latencies one after the other. Messages travel while contacts among owned particles are "
        "evaluated: what is not hidden by that counts, their overhead counts in full. "
        f"{_company(document)}Not in it: a network shared with others, noise, output.{_other_sizes(document)}"
    )
    head = (
        "ranks", "particles", "owned", "ghosts", "neighbours", "bytes/step", "work us/step", "of it before ghosts",
        "messages us", "not hidden", "ms/detection", "all-reduce us", "us/step", "MB", "efficiency %",
    )  # fmt: skip
    rows = [
        [
            str(row["ranks"]), f"{row['particles']:.4g}", str(row["owned"]), str(row["ghosts"]),
            str(row["neighbours"]), str(row["bytes_per_step"]), f"{1e6 * row['work']:.4g}",
            *(f"{1e6 * row[key]:.4g}" if key in row else "" for key in ("early", "messages", "delay")),
            f"{1e3 * row['detection']:.4g}", f"{1e6 * row['agree']:.3g}", f"{1e6 * row['seconds_per_step']:.4g}",
            f"{row['memory'] / 1e6:.4g}", f"{100.0 * row['efficiency']:.3g}",
        ]
        for row in document["rows"]
    ]  # fmt: skip
    return ReportSection("Rehearsal", text, head, rows)


def _other_sizes(document: Mapping[str, Any]) -> str:
    """Return a sentence about runs with a size far from the request, because a run consists of whole copies."""
    rows = [row for row in document["rows"] if "asked" in row]
    other = [row for row in rows if abs(row["particles"] / row["asked"] - 1.0) > _OTHER_SIZE]
    if not other:
        return ""
    each = other[0]["particles"] // other[0]["copies"]
    runs = ", ".join(f"{row['particles']:.4g} in place of {row['asked']:.4g} on {row['ranks']}" for row in other)
    return f" Runs consist of whole copies of the case, of {each} particles each. Particles on ranks: {runs}."


def write_report(folder: Path, stem: str, title: str, sections: Sequence[ReportSection]) -> list[Path]:
    """Write ``STEM.html``, ``STEM.md`` and the pictures of the Markdown page into a folder; return their paths.

    Raises
    ------
    InputError
        If a file cannot be written.
    """
    paths = [folder / f"{stem}.html", folder / f"{stem}.md"]
    save_file(paths[0], html_page(title, sections))
    save_file(paths[1], markdown_page(title, sections))
    for section in sections:
        if section.picture:
            paths.append(folder / f"{section.name}.png")
            save_file(paths[-1], section.picture)
    return paths
