"""Sect. 6.1.4 of the double hierarchy paper: a sphere slides until it rolls, independent of the mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.verification.study import FindingTable, StudyFinding, at_most
from validation.h2_runs import GRAVITY, MASS, METHODS, RADIUS, example, follow, hertz_factor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pdem.foundation.array_types import Floats
    from pdem.verification.study import Notebook
    from validation.h2_runs import Track

SPEED, FRICTION, END = 5.0, 0.3, 1.0
"""Initial speed [m/s], coefficient of friction and time of the comparison [s]."""

PRINTED = {"one quad": (3.9021, 3.5410, 11.9788), "80 triangles": (3.9022, 3.5410, 11.9788)}
"""Table 8: displacement [m], velocity [m/s] and angular velocity [rad/s] after one second."""

NAMES = ("x [m]", "v [m/s]", "omega [rad/s]")

CONVENTIONS = (3.902404, 3.541097, 11.979284)
"""Results of the published implementation, with a wall as soft as the sphere and lever arm R - overlap."""

_MODULUS = 1e6
_QUICK_STEP, _FULL_STEP = 2e-4, 1e-5
_SOFT_WALL = "materials.boundary={youngs_modulus=1e6, poisson_ratio=0.2}"


def sliding(notebook: Notebook) -> FindingTable:
    """Return position and velocities of spheres after a second, beside eqs. 33-39; plot them (Fig. 25)."""
    step = _FULL_STEP if notebook.full else _QUICK_STEP
    findings, tracks = [], {}
    for method in METHODS:
        tracks[method] = slide(step, method)
        findings += sliding_findings(method, tracks[method], rolling("radius")[0], 5e-4)
    _plot(notebook, tracks["h2"])
    remark = (
        f"Step {step:g} s, rigid wall, lever arm R: as a sphere of the theory, which does not sink in. In x it stays "
        f"{1e3 * elastic_delay():.3f} mm behind: the tangential spring relaxes when rolling begins."
    )
    return FindingTable("6.1.4: sliding to rolling, Table 8", "eqs. 37-39", findings, remark, 7)


def sliding_as_published(notebook: Notebook) -> FindingTable:
    """Return the results with the paper's conventions: lever arm R - overlap and a wall as soft as the sphere."""
    step = _FULL_STEP if notebook.full else _QUICK_STEP
    findings = []
    for method in METHODS:
        track = slide(step, method, published=True)
        findings += sliding_findings(method, track, CONVENTIONS, 1e-5, PRINTED)
    for name, ours, theirs, printed in zip(
        NAMES, CONVENTIONS, rolling("radius")[0], (0.4071, 0.8528, 0.0062), strict=True
    ):
        error = abs(ours / theirs - 1.0) * 100.0
        findings.append(StudyFinding(f"error of the conventions, {name} [%]", error, printed=printed))
    remark = (
        f'Step {step:g} s; [detection] wall_lever_arm = "contact", static overlap {1e3 * overlap(_MODULUS):.3f} mm. '
        "The published deviation is the lever arm, not the mesh; its error of omega is 0.62 %, not 0.0062 %."
    )
    return FindingTable("6.1.4 with the paper's conventions", "conventions", findings, remark, 7)


def slide(step: float, method: str, *, published: bool = False) -> Track:
    """Return a run of `h2_sliding`, with the paper's conventions or unchanged."""
    settings = [f"time.step={step}", f'detection.walls="{method}"']
    if published:
        height = RADIUS - overlap(_MODULUS)
        settings += [
            _SOFT_WALL, 'detection.wall_lever_arm="contact"',
            f"particles[0].positions=[[0.0, 0.0, {height!r}], [0.0, 3.0, {height!r}]]",
        ]  # fmt: skip
    return follow(example("h2_sliding", *settings), END, round(2e-3 / step))


def sliding_findings(
    method: str,
    track: Track,
    expected: Sequence[float] | Floats,
    tolerance: float,
    printed: Mapping[str, Sequence[float]] | None = None,
) -> list[StudyFinding]:
    """Return final position and velocities of both spheres, and their difference."""
    reached = [np.array([one[-1, n, axis] for one, axis in _columns(track)]) for n in range(2)]
    findings = []
    for mesh, values in zip(PRINTED, reached, strict=True):
        for number, quantity in enumerate(NAMES):
            published = None if printed is None else printed[mesh][number]
            text, wanted = f"{method}, {mesh}: {quantity}", float(expected[number])
            findings.append(StudyFinding(text, float(values[number]), wanted, tolerance, printed=published))
    differ = np.abs(reached[1] / reached[0] - 1.0).max()
    return [*findings, at_most(f"{method}: relative difference of the meshes", differ, 1e-10)]


def _columns(track: Track) -> tuple[tuple[Floats, int], ...]:
    return (track.position, 0), (track.velocity, 0), (track.angular_velocity, 1)


def overlap(wall: float) -> float:
    """Return the overlap under the sphere's own weight on a wall of some modulus [m]."""
    return float((MASS * GRAVITY / hertz_factor(_MODULUS, wall)) ** (2.0 / 3.0))


def elastic_delay() -> float:
    """Return the distance by which a sphere lags because the tangential spring relaxes when rolling begins [m].

    The extension of the spring is friction over tangential stiffness, and 1/3.5 of it is displacement of the sphere.
    """
    stiffness_ratio = 2.0 * (1.0 - 0.2) / (2.0 - 0.2)
    return FRICTION * overlap(np.inf) / 1.5 / stiffness_ratio / 3.5


def rolling(arm: str, wall: float = np.inf, time: float = END) -> tuple[Floats, float]:
    """Return x [m], v [m/s] and omega [rad/s] at a time [s] (eqs. 33-39), and the time at which rolling begins [s].

    Parameters
    ----------
    arm : {"radius", "contact"}
        Lever arm of friction: R as in the paper's equations, or R - overlap.
    wall : float
        Modulus of the wall [Pa].
    time : float
        Time in s.
    """
    lever = RADIUS - overlap(wall) if arm == "contact" else RADIUS
    final = SPEED / (1.0 + 0.4 * (RADIUS / lever) ** 2)
    rolling_start = (SPEED - final) / (FRICTION * GRAVITY)
    sliding_time = min(time, rolling_start)
    v = SPEED - FRICTION * GRAVITY * sliding_time
    x = SPEED * sliding_time - 0.5 * FRICTION * GRAVITY * sliding_time**2 + v * (time - sliding_time)
    omega = 2.5 * FRICTION * GRAVITY * lever / RADIUS**2 * sliding_time
    return np.array([x, v, omega]), rolling_start


def _plot(notebook: Notebook, track: Track) -> None:
    theory = np.array([rolling("radius", time=float(time))[0] for time in track.time])
    with notebook.plot("fig25_sliding") as axes:
        twin = axes.twinx()
        labels = ("displacement [m]", "velocity [m/s]", "angular velocity [rad/s]")
        for number, ((column, axis), colour) in enumerate(zip(_columns(track), ("C0", "C1", "C2"), strict=True)):
            side = twin if number == 2 else axes
            side.plot(track.time, theory[:, number], color="0.75", linewidth=5.0, label="_")
            for mesh, style in ((0, "-"), (1, "o")):
                name = f"{labels[number]}, {list(PRINTED)[mesh]}"
                side.plot(
                    track.time, column[:, mesh, axis], style, color=colour, markevery=50, markersize=6.0,
                    markerfacecolor="none", label=name,
                )  # fmt: skip
        axes.plot([], [], color="0.75", linewidth=5.0, label="eqs. 33-39")
        axes.set(xlabel="time [s]", ylabel="displacement [m], velocity [m/s]", ylim=(0.0, 8.5))
        twin.set(ylabel="angular velocity [rad/s]", ylim=(0.0, 21.0))
        both = zip(axes.get_legend_handles_labels(), twin.get_legend_handles_labels(), strict=True)
        axes.legend(*(one + other for one, other in both), ncols=2, fontsize="small", loc="upper center")
