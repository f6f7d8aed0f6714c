"""Sect. 7 of the double hierarchy paper: jumps of the normal force, lost histories of friction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.case.example_meshes.h2_meshes import CREASE_SLOPE, TILE_LENGTH, crease
from pdem.contact.geometry.query import wall_contacts
from pdem.verification.study import FindingTable, StudyFinding, at_most
from validation.h2_runs import METHODS, RADIUS, example, follow

if TYPE_CHECKING:
    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Floats
    from pdem.verification.study import Notebook
    from validation.h2_runs import Track

OVERLAPS = (0.001, 0.01, 0.033, 0.1, 0.25, 0.5, 0.75, 0.98)
"""Overlaps over the radius, gamma, of Fig. 32."""

PRINTED = {"Hertz": 0.41, "linear": 0.55}
"""Jumps at a crease of 170 degrees and an overlap of 3.3 % of the radius."""

RUN_OVERLAPS = (1.0 / 30.0, 0.1)
"""Overlaps over the radius of the spheres of `h2_crease`."""

POWERS = {"linear": 1.0, "Hertz": 1.5}
"""Power of the overlap in the force, by law."""

_DISTANCE = 5e-5
_SLIDE = (1.2, 0.2, 0.22)  # end and start [s], length [m]
_QUICK_STEP, _FULL_STEP = 1e-3, 1e-4
_FIT = 6


def concave(notebook: Notebook) -> FindingTable:
    """Return the jump of the force over concave creases, beside eq. 42; plot it (Fig. 32)."""
    findings = _jumps_of_runs(notebook)
    curves = {method: error_curves(method) for method in METHODS}
    for law, power in POWERS.items():
        wanted = np.array([[error(gamma, angle, power) for angle in _angles()] for gamma in OVERLAPS])
        deviation = np.abs(curves["h2"][law] - wanted).max()
        findings += [
            at_most(f"h2, {law}: largest deviation from eq. 42, all of Fig. 32", deviation, 1e-4),
            at_most(f"signed, {law}: largest jump, all of Fig. 32", curves["signed"][law].max(), 1e-4),
        ]
    _plot_curves(notebook, curves)
    remark = "Eq. 42 is how large the second contact is when it begins, over the first: the jump of the resultant."
    return FindingTable("7.1: normal force in concave transitions", "eq. 42", findings, remark)


def error(gamma: float, angle: float, power: float = 1.5) -> float:
    """Return the error measure of eq. 42.

    Parameters
    ----------
    gamma : float
        Overlap over the radius.
    angle : float
        Change of angle at the crease [rad].
    power : float
        Power of the overlap in the force: 1.5 for Hertz, 1 for a linear spring.
    """
    rest = np.cos(angle) + gamma - 1.0
    return float(max(rest, 0.0) / (gamma * np.cos(angle))) ** power


def jumps_at(mesh: Mesh, gamma: float, angle: float, method: str) -> dict[str, float]:
    """Return the relative jump of the force of `crease` on a unit sphere when the contact with its second side begins.

    Parameters
    ----------
    mesh : Mesh
        Mesh of `pdem.case.example_meshes.h2_meshes.crease`.
    gamma, angle : float
        As for `error`.
    method : {"h2", "signed"}
        Resolution of contacts.

    Returns
    -------
    dict of float
        Jump by law.
    """
    height = 1.0 - gamma
    place = -height * np.tan(angle)
    before, after = (_limits(mesh, place, side * _DISTANCE, height, method) for side in (-1.0, 1.0))
    return {law: float(np.linalg.norm(after[law] - before[law]) / np.linalg.norm(before[law])) for law in POWERS}


def _limits(mesh: Mesh, place: float, distance: float, height: float, method: str) -> dict[str, Floats]:
    """Return the limits of the forces at `place`, extrapolated because h2 treats the crease itself as flat."""
    near = [_forces(mesh, [place + times * distance, 0.3, height], method) for times in (1.0, 2.0, 3.0)]
    return {law: 3.0 * (near[0][law] - near[1][law]) + near[2][law] for law in POWERS}


def _forces(mesh: Mesh, centre: list[float], method: str) -> dict[str, Floats]:
    """Return the elastic forces on a unit sphere of unit stiffness."""
    contacts = wall_contacts(centre, 1.0, mesh, method=method)
    return {
        law: np.asarray((contacts["count"] * contacts["overlap"] ** power) @ contacts["normal"])
        for law, power in POWERS.items()
    }


def error_curves(method: str) -> dict[str, Floats]:
    """Return the jump by law, for all overlaps of Fig. 32 (rows) and changes of angle."""
    meshes = [crease(np.degrees(angle), 20.0, 20.0) for angle in _angles()]
    jumps = [
        [jumps_at(mesh, gamma, angle, method) for mesh, angle in zip(meshes, _angles(), strict=True)]
        for gamma in OVERLAPS
    ]
    return {law: np.array([[one[law] for one in row] for row in jumps]) for law in POWERS}


def _angles() -> Floats:
    return np.radians(np.concatenate([[0.5, 2.5], np.arange(5.0, 86.0, 5.0)]))


def _jumps_of_runs(notebook: Notebook) -> list[StudyFinding]:
    """Return the jumps at 170 degrees, of a run of `h2_crease` and of the contact resolution alone."""
    step, angle = _FULL_STEP if notebook.full else _QUICK_STEP, np.radians(CREASE_SLOPE)
    findings, tracks = [], {}
    for method in METHODS:
        simulation = example("h2_crease", f"time.step={step}", f'detection.walls="{method}"')
        tracks[method] = follow(simulation, simulation.case.time.end)
        mesh = crease(CREASE_SLOPE, 20.0, 20.0)
        for sphere, gamma in enumerate(RUN_OVERLAPS):
            values = {"Hertz, run": jump_of_run(tracks[method], sphere, gamma)}
            values |= jumps_at(mesh, gamma, angle, method)
            for name, value in values.items():
                law = name.removesuffix(", run")
                text = f"{method}, 170 degrees, overlap/R {gamma:.4f}: jump, {name}"
                wanted, printed = error(gamma, angle, POWERS[law]), None if sphere else PRINTED[law]
                findings.append(
                    StudyFinding(text, value, wanted, 1e-3, printed=printed)
                    if method == "h2"
                    else at_most(text, value, 1e-3)
                )
    _plot_run(notebook, tracks)
    return findings


def jump_of_run(track: Track, sphere: int, gamma: float) -> float:
    """Return the jump in a run of `h2_crease`: forces on both sides, extrapolated to the crossing."""
    place = _sphere_positions(track)
    crossing = -(1.0 - gamma) * RADIUS * np.tan(np.radians(CREASE_SLOPE))
    moving = track.time > _SLIDE[1] + 0.01
    sides = []
    for side in (np.flatnonzero(moving & (place < crossing))[-_FIT:], np.flatnonzero(place > crossing)[:_FIT]):
        fit = np.polyfit(place[side] - crossing, track.force[side, sphere], 2)
        sides.append(fit[-1])
    return float(np.linalg.norm(sides[1] - sides[0]) / np.linalg.norm(sides[0]))


def _sphere_positions(track: Track) -> Floats:
    """Return the positions of the spheres relative to the crease, along x [m]."""
    end, start, length = _SLIDE
    return np.asarray(-0.25 + length * np.clip((track.time - start) / (end - start), 0.0, 1.0))


def _plot_run(notebook: Notebook, tracks: dict[str, Track]) -> None:
    with notebook.plot("crease_of_170_degrees", 2) as panels:
        for sphere, (axes, gamma) in enumerate(zip(panels, RUN_OVERLAPS, strict=True)):
            for (method, track), style in zip(tracks.items(), ("-", "--"), strict=True):
                moving = track.time > _SLIDE[1]
                size = np.linalg.norm(track.force[moving, sphere], axis=1)
                axes.plot(_sphere_positions(track)[moving] / RADIUS, size / size[0], style, label=method)
            axes.set(xlabel="place before the crease, x / R", xlim=(-0.4, -0.1))
            axes.set(ylabel="force over that on the level side", title=f"overlap {100.0 * gamma:.3g} % of the radius")
            axes.set_ylim(bottom=0.0)
            axes.legend()


def _plot_curves(notebook: Notebook, curves: dict[str, dict[str, Floats]]) -> None:
    fine = np.radians(np.linspace(0.0, 89.9, 1000))
    with notebook.plot("fig32_error", 2) as panels:
        for axes, method in zip(panels, METHODS, strict=True):
            for row, gamma in enumerate(OVERLAPS):
                for (law, power), style in zip(POWERS.items(), ("--", "-"), strict=True):
                    colour = f"C{row}"
                    if method == "h2":
                        line = [error(gamma, float(angle), power) for angle in fine]
                        axes.plot(np.degrees(fine), line, style, color=colour, linewidth=1.0)
                    label = f"{gamma:g}" if law == "Hertz" else None
                    marker = "o" if law == "Hertz" else "^"
                    axes.plot(
                        np.degrees(_angles()),
                        curves[method][law][row],
                        marker,
                        color=colour,
                        markersize=4.0,
                        label=label,
                    )
            axes.set(xlabel="change of angle [degrees]", ylabel="error measure", xlim=(0.0, 90.0), ylim=(-0.05, 1.05))
        panels[0].plot([], [], "k-", label="eq. 42, Hertz")
        panels[0].plot([], [], "k--", label="eq. 42, linear")
        panels[0].set_title("h2 (circles: Hertz, triangles: linear)")
        panels[1].set_title("signed contact sum: no jumps")
        handles, names = panels[0].get_legend_handles_labels()
        panels[1].legend(handles, names, title="overlap / R", ncols=2, loc="center")


def across_facets(notebook: Notebook) -> FindingTable:
    """Return the work that friction loses if its history is lost at every facet, beside eq. 43; plot it (Fig. 33)."""
    step = 2e-5 if notebook.full else 5e-4
    runs = {method: _slide(method, step) for method in METHODS}
    lost = {
        "h2, facets of one mesh": work_lost(*runs["h2"][0]),
        "signed, facets of one mesh": work_lost(*runs["signed"][0]),
        "h2, each facet a mesh": work_lost(*runs["h2"][1]),
    }
    wanted = missing_work()
    findings = [
        at_most("h2, facets of one mesh: error of the work", abs(lost["h2, facets of one mesh"]), 1e-9),
        at_most("signed, facets of one mesh: error of the work", abs(lost["signed, facets of one mesh"]), 1e-9),
        StudyFinding("h2, each facet a mesh: error of the work", lost["h2, each facet a mesh"], wanted, 2e-3),
        StudyFinding("eq. 43, its approximation", 0.5 * FRICTION * 3.5 * DEPTH / TILE_LENGTH, wanted, printed=0.05),
    ]
    _plot_friction(notebook, runs)
    remark = (
        "Overlap a tenth of the facets' length. Within one mesh both methods continue a history from facet to "
        "facet; between meshes, as here, the published one begins a new history."
    )
    return FindingTable("7.2: tangential force across elements", "eq. 43", findings, remark)


FRICTION, DEPTH, SPEED, START, STIFFNESS = 0.3, 0.02, 1.0, 0.1, 1e4
"""Parameters of `h2_facet_changes`: friction, overlap [m], speed [m/s], first position [m], normal stiffness [N/m]."""


def missing_work() -> float:
    """Return the error of the work of friction by eq. 43, without approximation."""
    slip = FRICTION * DEPTH * 3.5
    return slip / (2.0 * TILE_LENGTH - slip)


def _slide(method: str, step: float) -> list[tuple[Floats, Floats]]:
    """Return position [m] and friction [N] over one mesh, and over a mesh for each facet."""
    settings = [f"time.step={step}", f'detection.walls="{method}"']
    simulation = example("h2_facet_changes", *settings)
    track = follow(simulation, simulation.case.time.end)
    return [(START + SPEED * track.time, -track.force[:, sphere, 0]) for sphere in range(2)]


def work_lost(place: Floats, friction: Floats) -> float:
    """Return the missing work of friction over one facet, relative to its work.

    Between samples, and back to its onset, friction is assumed to grow linearly.
    """
    step, full = float(place[1] - place[0]), FRICTION * STIFFNESS * DEPTH
    samples = friction[(place > TILE_LENGTH - 0.5 * step) & (place < 2.0 * TILE_LENGTH - 0.5 * step)]
    short = np.flatnonzero(full - samples > 1e-9 * full)
    if len(short) == 0:
        return 0.0
    ramp = samples[short[0] :]
    before = ramp[0] / (ramp[1] - ramp[0])
    missing = step * float(np.trapezoid(full - ramp) + before * (full - 0.5 * ramp[0]))
    return missing / (full * TILE_LENGTH - missing)


def _plot_friction(notebook: Notebook, runs: dict[str, list[tuple[Floats, Floats]]]) -> None:
    lines = (
        ("h2", 1, "h2, each facet a mesh", "-"),
        ("h2", 0, "h2, one mesh", "-"),
        ("signed", 0, "signed, one mesh", "--"),
    )
    with notebook.plot("fig33_friction") as axes:
        for method, sphere, label, style in lines:
            place, friction = runs[method][sphere]
            axes.plot(place / TILE_LENGTH, friction / (FRICTION * STIFFNESS * DEPTH), style, label=label)
        axes.set(xlabel="place over the length of a facet, x / L", ylabel="friction over mu N", ylim=(-0.05, 1.2))
        axes.legend(loc="lower right")
