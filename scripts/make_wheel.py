"""Make the wheel with machine code; see ``scripts/wheel``.

Kernels are compiled by short runs of all examples with a copy of the sources, for each level of x86-64 that this
processor can run. They become files of the package in that copy, of which the wheel is made.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from llvmlite import binding

from pdem.numerics.portable.target import processor_level

PROJECT = Path(__file__).resolve().parents[1]
LEVELS = ("x86-64-v3", "x86-64-v4")
_PACKAGES = ("pdem", "decomposition")
_DESCRIPTION = ("pyproject.toml", "setup.py", "README.md", "LICENSE")
_KERNELS = ("*.nbi", "*.nbc", "complete-*")
"""Names of files of kernels; the folders also have locks and measured speeds of this machine."""

_SIZE_LIMIT = 40e6

_COMPILE = """
import sys
from pathlib import Path
import pdem
from pdem.case.explain.example_cases import example_names, write_example
from pdem.run.kernels.prepare_kernels import prepare_kernels

STEPS, FEW = 100, 500
folder = Path(sys.argv[1])
prepare_kernels(pdem.Simulation, None, None, 1)
for name in example_names():
    path = next(iter(write_example(name, folder / name)))
    case = pdem.Case.read(path)
    for number, group in enumerate(case.particles):
        if (getattr(group.fill, "count", None) or 0) > FEW:
            case.override(f"particles[{number}].fill.count={FEW}")
    simulation = pdem.Simulation(case, threads=1)
    simulation.advance(STEPS)
    end = simulation.time
    try:
        for key, share in (("time.end", 1.0), ("output.snapshots_every", 0.5), ("output.series_every", 0.1)):
            case.override(f"{key}={share * end!r}")
        pdem.Simulation(case, threads=1).run()
    except pdem.CaseError as error:  # averages over a time that is too long for a few steps
        print(error)
    print(name, flush=True)
"""


def main() -> None:
    """Make the wheel in the folder that is the only argument."""
    with tempfile.TemporaryDirectory() as temporary:
        sources = Path(temporary) / "sources"
        for name in _PACKAGES:
            shutil.copytree(PROJECT / name, sources / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in _DESCRIPTION:
            shutil.copyfile(PROJECT / name, sources / name)
        best = processor_level(binding.get_host_cpu_features())
        if best is None:
            sys.exit("kernels that are shared need a processor with AVX2 and fused multiply-adds")
        for level in LEVELS[: LEVELS.index(best) + 1]:
            _compile(level, sources, Path(temporary) / level)
        _build(sources, Path(sys.argv[1]))


def _compile(level: str, sources: Path, folder: Path) -> None:
    """Compile the kernels for a level, and make them files of the package."""
    print(f"compiling kernels for {level}", flush=True)
    environment = os.environ | {
        "PYTHONPATH": str(sources), "PDEM_CACHE_DIR": str(folder / "cache"), "NUMBA_CPU_NAME": level,
    }  # fmt: skip
    runs = folder / "runs"
    runs.mkdir(parents=True)
    subprocess.run([sys.executable, "-c", _COMPILE, str(runs)], env=environment, cwd=runs, check=True)
    for kept in (folder / "cache").iterdir():
        for path in (one for pattern in _KERNELS for one in kept.rglob(pattern)):
            target = sources / "pdem" / "kernels" / kept.name / path.relative_to(kept)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def _build(sources: Path, into: Path) -> None:
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    options = (f"--python-tag={python}", "--plat-name=manylinux_2_17_x86_64")
    settings = [f"--config-setting=--build-option={one}" for one in options]
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        *settings,
        "--outdir",
        str(into),
        str(sources),
    ]
    subprocess.run(command, check=True)
    for path in into.glob(f"*-{python}-*.whl"):
        size = path.stat().st_size
        print(f"{path}: {size / 1e6:.1f} MB")
        if size > _SIZE_LIMIT:
            sys.exit(f"{path} is larger than {_SIZE_LIMIT / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
