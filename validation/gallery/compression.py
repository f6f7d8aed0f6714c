"""Isotropic compression of a periodic box to a pressure: jamming of spheres with friction and without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.model import Case
from pdem.features.deforming_box.report import box_values
from pdem.run.simulation import Simulation
from pdem.verification.study import FindingTable, Study, StudyFinding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.verification.study import Notebook

MODULUS, PRESSURE = 1e8, 2e3
"""Modulus of the grains and wanted pressure [Pa]: overlaps are a thousandth of the diameter."""

QUICK, FULL = 400, 4000
"""Numbers of spheres."""

STEPS, FULL_STEPS, LOOKS = 400, 800, 90
"""Steps between two observations of a small and of a large packing, and number of observations.

Without friction packings come to rest slowly: after a quarter of these steps 4,000 spheres have 1.93 kPa and are 0.006
looser.
"""

_CASE = """
[time]
end = 1e3
[domain]
lower = [0.0, 0.0, 0.0]
upper = [{edge!r}, {edge!r}, {edge!r}]
periodic = [true, true, true]
[domain.deformation]
mean_stress = {pressure!r}
[materials.grain]
density = 2500.0
youngs_modulus = {modulus!r}
poisson_ratio = 0.25
[interactions.grain-grain]
friction = {friction!r}
restitution = 0.5
[[particles]]
material = "grain"
radius = {{distribution = "uniform", min = 0.0009, max = 0.0011}}
fill = {{arrangement = "packed", count = {count}, seed = 2}}
"""


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield volume fraction and contacts of packings under pressure."""
    count, right, findings = *((FULL, 0.02) if notebook.full else (QUICK, 0.05)), []
    expected = {0.0: (0.64, 0.012, 6.0, 0.35), 0.5: (0.585, 0.025, 4.5, 0.5)}
    with notebook.plot("fraction") as axes:
        for friction, (fraction, near, contacts, about) in expected.items():
            fractions, pressures, coordination = compressed(friction, count, notebook.threads)
            axes.semilogy(fractions, pressures, label=f"friction {friction:g}")
            name = f"friction {friction:g}"
            findings += [
                StudyFinding(f"{name}: pressure [Pa]", pressures[-1], PRESSURE, right),
                StudyFinding(f"{name}: volume fraction", fractions[-1], fraction, 0.0, margin=near),
                StudyFinding(f"{name}: contacts, without rattlers", coordination, contacts, 0.0, margin=about),
            ]
        axes.set(xlabel="volume fraction", ylabel="pressure [Pa]")
        axes.legend()
    yield FindingTable(f"Isotropic compression of {count:,} spheres", "literature", findings, _REMARK)


_REMARK = (
    "Without friction spheres jam at 0.64 with six contacts (a few more under pressure). With friction there are four "
    "to five, at 0.55 to 0.60. From a volume fraction of 0.5 on, with nothing given but the pressure."
)


def compressed(friction: float, count: int, threads: int | None) -> tuple[list[float], list[float], float]:
    """Return volume fractions and pressures [Pa] of all observations, and final contacts without rattlers."""
    edge = (count * 4.189e-9 * 1.01 / 0.5) ** (1.0 / 3.0)
    text = _CASE.format(edge=edge, pressure=PRESSURE, modulus=MODULUS, friction=friction, count=count)
    simulation = Simulation(Case.from_text(text), threads=threads)
    fractions, pressures = [], []
    for _ in range(LOOKS):
        simulation.advance(FULL_STEPS if count == FULL else STEPS)
        stress = simulation.stress()
        fractions.append(box_values(simulation.system)["solid_fraction"])
        pressures.append(stress.pressure)
    return fractions, pressures, stress.coordination_without_rattlers


STUDY = Study(
    "compression", "Isotropic compression to jamming", run, "rheology",
    "O'Hern, Silbert, Liu, Nagel, Phys. Rev. E 68 (2003) 011306; Silbert, Soft Matter 6 (2010) 2918",
    {"spheres": "radii 0.9 to 1.1 mm, 0.1 GPa, restitution 0.5", "pressure": "2 kPa", "friction": "0 and 0.5"},
)  # fmt: skip
