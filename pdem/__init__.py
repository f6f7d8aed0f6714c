"""pdem: granular matter by the discrete element method.

Spheres of very different sizes in rigid meshed machinery, from a laptop to a cluster. See the README.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pdem.foundation.version import VERSION
from pdem.numerics.garbage import no_search_for_garbage

if TYPE_CHECKING:
    from pdem.case.model import Case
    from pdem.contact.geometry.query import wall_contacts
    from pdem.contact.law.models import contact_law
    from pdem.containers.meshes.mesh import Mesh
    from pdem.containers.particles import Particles
    from pdem.continuum.fields import ContinuumFields
    from pdem.detection.cell_sizes import CellSizes, cell_sizes
    from pdem.detection.find_pairs import PairSearch, find_pairs
    from pdem.engine.energy import Measures
    from pdem.engine.ranks import communicator
    from pdem.features.collisions.counted import CollisionEnergies
    from pdem.features.observers.observer import Observer, every
    from pdem.foundation.errors import (
        BlowUpError,
        CaseError,
        CheckpointError,
        FolderInUseError,
        InputError,
        Interrupted,
        LaunchError,
        MeshError,
        ObserverError,
        PdemError,
        PdemWarning,
        WriteError,
    )
    from pdem.laboratory.fracture_fit import FractureFit, fit_drop_weights
    from pdem.replays.attestation import Attestation, attest
    from pdem.replays.attestation_check import Verification, verify_attestation
    from pdem.replays.blow_up import BlowUpReplayed, replay_blow_up
    from pdem.replays.branch import branch
    from pdem.replays.difference_report import FirstDifference
    from pdem.replays.first_difference import first_difference
    from pdem.replays.forgetting import Forgetting, forgetting
    from pdem.replays.replay import Replayed, replay
    from pdem.run.reading.coarse_graining import coarse_grain
    from pdem.run.reading.initial_state import initial_state
    from pdem.run.reading.results import Results
    from pdem.run.simulation import Simulation
    from pdem.sweeps.calibration import calibrate
    from pdem.sweeps.calibration_result import Calibration
    from pdem.sweeps.measure import measure
    from pdem.sweeps.measure_sections import Measured
    from pdem.sweeps.sweep import Sweep, sweep

__version__ = VERSION

_HOMES = {
    "Attestation": "pdem.replays.attestation",
    "BlowUpError": "pdem.foundation.errors",
    "BlowUpReplayed": "pdem.replays.blow_up",
    "Calibration": "pdem.sweeps.calibration_result",
    "Case": "pdem.case.model",
    "CaseError": "pdem.foundation.errors",
    "CellSizes": "pdem.detection.cell_sizes",
    "CheckpointError": "pdem.foundation.errors",
    "CollisionEnergies": "pdem.features.collisions.counted",
    "ContinuumFields": "pdem.continuum.fields",
    "FirstDifference": "pdem.replays.difference_report",
    "FolderInUseError": "pdem.foundation.errors",
    "Forgetting": "pdem.replays.forgetting",
    "FractureFit": "pdem.laboratory.fracture_fit",
    "InputError": "pdem.foundation.errors",
    "Interrupted": "pdem.foundation.errors",
    "LaunchError": "pdem.foundation.errors",
    "Measured": "pdem.sweeps.measure_sections",
    "Measures": "pdem.engine.energy",
    "Mesh": "pdem.containers.meshes.mesh",
    "MeshError": "pdem.foundation.errors",
    "Observer": "pdem.features.observers.observer",
    "ObserverError": "pdem.foundation.errors",
    "PairSearch": "pdem.detection.find_pairs",
    "Particles": "pdem.containers.particles",
    "PdemError": "pdem.foundation.errors",
    "PdemWarning": "pdem.foundation.errors",
    "Replayed": "pdem.replays.replay",
    "Results": "pdem.run.reading.results",
    "Simulation": "pdem.run.simulation",
    "Sweep": "pdem.sweeps.sweep",
    "Verification": "pdem.replays.attestation_check",
    "WriteError": "pdem.foundation.errors",
    "attest": "pdem.replays.attestation",
    "branch": "pdem.replays.branch",
    "calibrate": "pdem.sweeps.calibration",
    "cell_sizes": "pdem.detection.cell_sizes",
    "coarse_grain": "pdem.run.reading.coarse_graining",
    "communicator": "pdem.engine.ranks",
    "contact_law": "pdem.contact.law.models",
    "every": "pdem.features.observers.observer",
    "find_pairs": "pdem.detection.find_pairs",
    "first_difference": "pdem.replays.first_difference",
    "fit_drop_weights": "pdem.laboratory.fracture_fit",
    "forgetting": "pdem.replays.forgetting",
    "initial_state": "pdem.run.reading.initial_state",
    "measure": "pdem.sweeps.measure",
    "replay": "pdem.replays.replay",
    "replay_blow_up": "pdem.replays.blow_up",
    "sweep": "pdem.sweeps.sweep",
    "verify_attestation": "pdem.replays.attestation_check",
    "wall_contacts": "pdem.contact.geometry.query",
}

__all__ = [
    "Attestation",
    "BlowUpError",
    "BlowUpReplayed",
    "Calibration",
    "Case",
    "CaseError",
    "CellSizes",
    "CheckpointError",
    "CollisionEnergies",
    "ContinuumFields",
    "FirstDifference",
    "FolderInUseError",
    "Forgetting",
    "FractureFit",
    "InputError",
    "Interrupted",
    "LaunchError",
    "Measured",
    "Measures",
    "Mesh",
    "MeshError",
    "Observer",
    "ObserverError",
    "PairSearch",
    "Particles",
    "PdemError",
    "PdemWarning",
    "Replayed",
    "Results",
    "Simulation",
    "Sweep",
    "Verification",
    "WriteError",
    "attest",
    "branch",
    "calibrate",
    "cell_sizes",
    "coarse_grain",
    "communicator",
    "contact_law",
    "every",
    "find_pairs",
    "first_difference",
    "fit_drop_weights",
    "forgetting",
    "initial_state",
    "measure",
    "replay",
    "replay_blow_up",
    "sweep",
    "verify_attestation",
    "wall_contacts",
]


def __getattr__(name: str) -> Any:
    """Import public names when they are first used: ``import pdem`` alone stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'pdem' has no attribute {name!r}")
    with no_search_for_garbage():
        value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted([*__all__, "__version__"])
