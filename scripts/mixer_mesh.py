"""Write the meshes of the rotary mixer: ``python scripts/mixer_mesh.py [FOLDER]``."""

from __future__ import annotations

import sys
from pathlib import Path

from pdem.case.example_meshes.mixer import drum, rotor

FOLDER = Path(__file__).resolve().parent.parent / "cases" / "mixer"


def main(folder: Path) -> None:
    """Write ``drum.vtk`` and ``rotor.vtk`` into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    drum().write(folder / "drum.vtk")
    rotor().write(folder / "rotor.vtk")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
