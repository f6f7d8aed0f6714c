"""Triaxial compression of a loose and a dense packing: both reach the same critical state."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.case.model import Case
from pdem.features.deforming_box.report import box_values
from pdem.run.simulation import Simulation
from pdem.verification.study import FindingTable, Study, StudyFinding, at_most

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pdem.foundation.array_types import Floats
    from pdem.verification.study import Notebook

DIAMETER, DENSITY, MODULUS, PRESSURE, FRICTION = 2e-3, 2500.0, 1e7, 2e3, 0.5
"""Mean diameter of the grains [m], their density and modulus, and the lateral pressure [Pa]."""

PACKED_WITH = {"loose": FRICTION, "dense": 0.0}
"""Friction during the preparation of a sample under pressure."""

QUICK, FULL = 800, 6000
"""Numbers of grains."""

INERTIAL_NUMBER, STRAIN, CRITICAL = 5e-3, 0.7, 0.4
"""Inertial number of the compression, its final axial strain, and the strain from which states are averaged."""

SLENDER = 1.8
"""Initial height of the box over its width."""

_LOOKS, _STEPS = 140, 200

_CASE = """
[time]
end = 1e3
[domain]
lower = [0.0, 0.0, 0.0]
upper = [{width!r}, {width!r}, {height!r}]
periodic = [true, true, true]
[materials.grain]
density = {density!r}
youngs_modulus = {modulus!r}
poisson_ratio = 0.25
[interactions.grain-grain]
friction = {packed_with!r}
restitution = 0.3
[[particles]]
material = "grain"
radius = {{distribution = "uniform", min = 0.0008, max = 0.0012}}
fill = {{arrangement = "packed", count = {count}, seed = 5}}
[[stages]]
name = "press"
deformation = {{mean_stress = {pressure!r}, largest_rate = {pressing!r}}}
until = {{quantity = "pressure", above = {reached!r}}}
[[stages]]
name = "compress"
interactions = {{grain-grain = {{friction = {friction!r}}}}}
[stages.deformation]
x = {{stress = {pressure!r}}}
y = {{stress = {pressure!r}}}
z = {{strain_rate = {rate!r}}}
"""


class Path(NamedTuple):
    """Observations of a sample: axial strain, sine of the friction angle, void ratio, lateral pressure [Pa]."""

    strain: Floats
    sine: Floats
    void_ratio: Floats
    side: Floats

    def critical(self, values: Floats) -> float:
        """Return the mean of values at large strains."""
        return float(values[self.strain > CRITICAL].mean())


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield initial and final states of a loose and a dense sample."""
    count = FULL if notebook.full else QUICK
    paths = {name: compressed(friction, count, notebook.threads) for name, friction in PACKED_WITH.items()}
    with notebook.plot("paths", 2) as axes:
        for name, path in paths.items():
            axes[0].plot(path.strain, path.sine, label=name)
            axes[1].plot(path.strain, path.void_ratio, label=name)
        axes[0].set(xlabel="axial strain", ylabel="sine of the friction angle")
        axes[1].set(xlabel="axial strain", ylabel="void ratio")
        axes[0].legend()
    yield FindingTable(f"Triaxial compression of {count:,} grains", "expected", _findings(paths), _REMARK)


_REMARK = (
    "The sine is (s1 - s3) / (s1 + s3) of the pressures along and across. Critical states are means over axial strains "
    f"from {CRITICAL:g} to {STRAIN:g}; the expected value of the loose sample is the value of "
    "the dense one. The sides give way all the time, at half the rate of the compression, and the box holds their "
    "pressure: the tolerance is three times the difference of single states."
)


def _findings(paths: Mapping[str, Path]) -> list[StudyFinding]:
    """Return the critical states of both samples, their initial states, and the lateral pressure."""
    loose, dense = paths["loose"], paths["dense"]
    sine, void_ratio = dense.critical(dense.sine), dense.critical(dense.void_ratio)
    apart = loose.void_ratio[0] - dense.void_ratio[0]
    return [
        StudyFinding("loose: void ratio at first", float(loose.void_ratio[0])),
        StudyFinding("dense: void ratio at first", float(dense.void_ratio[0])),
        StudyFinding("loose: critical sine, beside that of the dense one", loose.critical(loose.sine), sine, 0.05),
        StudyFinding("loose: critical void ratio, beside that of the dense one",
                loose.critical(loose.void_ratio), void_ratio, 0.015),
        at_most("difference of void ratios at the end over that at first",
                abs(loose.critical(loose.void_ratio) - void_ratio) / apart, 0.1),
        at_most("dense: critical sine over the largest", sine / float(dense.sine.max()), 0.8),
        at_most("dense: void ratio at first over the critical one", float(dense.void_ratio[0]) / void_ratio, 0.9),
        *(StudyFinding(f"{name}: critical pressure at the sides [Pa]", path.critical(path.side), PRESSURE, 0.05)
          for name, path in paths.items()),
    ]  # fmt: skip


def compressed(packed_with: float, count: int, threads: int) -> Path:
    """Return the path of a sample that was prepared under pressure with some friction."""
    simulation = Simulation(_case(packed_with, count), threads=threads)
    while simulation.system.stages.present == 0:
        simulation.advance(_STEPS)
    begin, rows = box_values(simulation.system)["strain_zz"], []
    steps = math.ceil(STRAIN / _rate(INERTIAL_NUMBER) / simulation.system.constants.time_step.dt / _LOOKS)
    for look in range(_LOOKS + 1):
        stress, box = simulation.stress().total, box_values(simulation.system)
        side = 0.5 * (stress[0, 0] + stress[1, 1])
        sine = (stress[2, 2] - side) / (stress[2, 2] + side)
        rows.append((begin - box["strain_zz"], sine, 1.0 / box["solid_fraction"] - 1.0, side))
        simulation.advance(steps if look < _LOOKS else 0)
    return Path(*np.array(rows).T)


def _rate(inertial_number: float) -> float:
    """Return the rate of strain of an inertial number [1/s]."""
    return inertial_number * math.sqrt(PRESSURE / DENSITY) / DIAMETER


def _case(packed_with: float, count: int) -> Case:
    """Return the case of a sample: pressed from a volume fraction of 0.5, then compressed along z."""
    solid = count * math.pi / 6.0 * DIAMETER**3 * 1.04  # mean of the cubes over the cube of the mean
    width = (solid / 0.5 / SLENDER) ** (1.0 / 3.0)
    text = _CASE.format(
        width=width, height=SLENDER * width, density=DENSITY, modulus=MODULUS, packed_with=packed_with, count=count,
        pressure=PRESSURE, pressing=_rate(0.01), reached=0.95 * PRESSURE,
        friction=FRICTION, rate=-_rate(INERTIAL_NUMBER),
    )  # fmt: skip
    return Case.from_text(text)


STUDY = Study(
    "triaxial", "Triaxial compression to a critical state", run, "rheology",
    "Schofield, Wroth, Critical State Soil Mechanics (1968): the state does not depend on the first porosity",
    {
        "grains": "800 (--full: 6,000), radii 0.8 to 1.2 mm, 10 MPa, friction 0.5, restitution 0.3",
        "samples": "pressed to 2 kPa with friction 0.5 (loose) and without (dense), in a periodic box",
        "compression": f"2 kPa across, to an axial strain of {STRAIN:g} at an inertial number of {INERTIAL_NUMBER:g}",
    },
)  # fmt: skip
