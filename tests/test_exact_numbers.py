"""Calls with results that depend on the processor or on the version of a library, in the rooms that make a state.

Numbers of a run have the same bits on every machine (`pdem.foundation.exact_math`). Functions of numpy, scipy, BLAS and
the C library round differently by machine: a file may call them as often as its entry below says, since these calls
decide no number of a run. A count may only shrink.

Read from the sources, where sums of whole numbers, which are exact, look like sums of floats.
"""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

FOLDERS = (
    "pdem/particles", "pdem/containers", "pdem/motion", "pdem/contact", "pdem/detection", "pdem/engine",
    "pdem/features", "pdem/continuum", "pdem/case", "pdem/run", "pdem/numerics", "pdem/foundation", "decomposition",
)  # fmt: skip

_NAMES = """
sin cos tan asin acos atan atan2 arcsin arccos arctan arctan2 sinh cosh tanh asinh acosh atanh arcsinh arccosh arctanh
exp exp2 expm1 log log1p log2 log10 pow power float_power cbrt hypot dist erf erfc gamma lgamma sumprod sum nansum mean
nanmean average std var prod nanprod cumprod dot vdot inner outer matmul einsum tensordot kron trace linalg polynomial
polyfit polyval interp convolve correlate cov quantile percentile logspace geomspace trapezoid
"""
FUNCTIONS = frozenset(_NAMES.split())
"""Names in `math` and in numpy. Products of `math.prod` are made in order."""

METHODS = frozenset(("sum", "mean", "std", "var", "prod", "cumprod", "dot", "trace"))

EXACT_MODULES = frozenset(("math", "np", "exact_math"))

SMALL_REDUCTIONS = frozenset(("minimum", "maximum", "logical_and", "logical_or", "bitwise_or"))
"""Functions of numpy with reductions that round nothing."""

WHOLE = "counts, sizes in bytes and other whole numbers"
SPEED = "decides the time that a run takes, or its forecast, and none of its numbers"
REPORT = "text for people, a finding of a check, or a measure of sweeps"
CHOICE = "a choice, a count or a first guess, which rounding does not change"
POWERS = "powers of whole exponents in kernels, which are products; and twins of kernels, for runs without numba"
OWN = "a method of pdem with such a name"

ALLOWED: dict[str, dict[str, dict[str, int]]] = {
    WHOLE: {
        "decomposition/bisection.py": {".sum": 1},
        "decomposition/cluster_ghosts.py": {"sum": 1},
        "decomposition/ghosts.py": {"sum": 1},
        "decomposition/global_order.py": {".sum": 1, "np.prod": 1},
        "decomposition/group.py": {".sum": 1, "np.prod": 1},
        "decomposition/messages.py": {".sum": 2, "np.prod": 1},
        "decomposition/mpi.py": {"sum": 1},
        "pdem/case/explain/key_examples.py": {"sum": 1},
        "pdem/case/groups/fixed_groups.py": {"sum": 1},
        "pdem/case/rules/driven_wall_rules.py": {"sum": 1},
        "pdem/contact/ends.py": {".sum": 1},
        "pdem/contact/geometry/query.py": {"@": 2},
        "pdem/contact/geometry/signed_features.py": {".sum": 1},
        "pdem/contact/law/kinds/liquid_bridge.py": {"sum": 1},
        "pdem/contact/pairs/carried_pairs.py": {"sum": 1},
        "pdem/contact/pairs/contacts.py": {"sum": 1},
        "pdem/contact/pairs/due_candidates.py": {"sum": 1},
        "pdem/contact/pairs/force_storage.py": {".sum": 1},
        "pdem/contact/pairs/history_storage.py": {".sum": 2, "sum": 1},
        "pdem/contact/pairs/schedule.py": {".sum": 1},
        "pdem/contact/walls/contacts.py": {".sum": 1, "sum": 1},
        "pdem/contact/walls/readings.py": {".sum": 1},
        "pdem/contact/walls/step_loads.py": {".sum": 1},
        "pdem/contact/walls/storage.py": {"sum": 1},
        "pdem/containers/mesh_files/gmsh_sections.py": {"sum": 1},
        "pdem/containers/mesh_files/obj.py": {"sum": 1},
        "pdem/containers/mesh_files/stl.py": {".sum": 1},
        "pdem/containers/meshes/closed_surfaces.py": {".sum": 1},
        "pdem/containers/meshes/mesh_joining.py": {"sum": 3},
        "pdem/containers/meshes/mesh_topology.py": {".sum": 1},
        "pdem/containers/meshes/solid.py": {".sum": 1},
        "pdem/containers/particles.py": {"sum": 1},
        "pdem/containers/primitives/round.py": {"sum": 1},
        "pdem/continuum/cells.py": {"np.cumprod": 1},
        "pdem/continuum/grid.py": {".prod": 1},
        "pdem/continuum/layout.py": {".prod": 3},
        "pdem/continuum/sums.py": {".sum": 1},
        "pdem/detection/grid_levels.py": {".sum": 1},
        "pdem/detection/hgrid.py": {".sum": 3, "sum": 1},
        "pdem/detection/neighbours.py": {".sum": 1},
        "pdem/detection/walls/facets.py": {".sum": 1, "sum": 1},
        "pdem/detection/walls/sphere_cells.py": {".sum": 1, "sum": 1},
        "pdem/engine/clusters/rigid_clusters.py": {"sum": 1},
        "pdem/engine/id_pairs/pairs_by_id.py": {"sum": 1},
        "pdem/engine/parts/neighbour_lists.py": {"sum": 1},
        "pdem/engine/population.py": {".sum": 1},
        "pdem/engine/stages/change.py": {".sum": 1},
        "pdem/engine/system.py": {"sum": 1},
        "pdem/engine/views/stress.py": {".sum": 5, "sum": 1},
        "pdem/features/bonds/results/breaks_file.py": {".sum": 1},
        "pdem/features/bonds/rules.py": {"sum": 1},
        "pdem/features/departures/report.py": {".sum": 4},
        "pdem/features/fields/rules.py": {"np.prod": 2},
        "pdem/features/insertions/events.py": {"sum": 1},
        "pdem/features/sensors/events.py": {".sum": 1},
        "pdem/features/sensors/report.py": {".prod": 1, ".sum": 8, "@": 1},
        "pdem/foundation/texts.py": {"sum": 1},
        "pdem/numerics/numba_trial.py": {"sum": 2},
        "pdem/numerics/simd/stable_partition.py": {".sum": 1},
        "pdem/numerics/sums.py": {".sum": 1},
        "pdem/particles/fill_limits.py": {"sum": 1},
        "pdem/particles/filling.py": {".sum": 1},
        "pdem/particles/packings/dense_filling.py": {".sum": 1, "sum": 2},
        "pdem/particles/packings/packing_task.py": {"sum": 1},
        "pdem/particles/random_filling.py": {".sum": 5, "sum": 1},
        "pdem/particles/sphere_table.py": {".sum": 1},
        "pdem/run/kernels/prepare_kernels.py": {"sum": 1},
        "pdem/run/reading/reductions.py": {".prod": 2, ".sum": 1},
    },
    SPEED: {
        "decomposition/exchange.py": {".sum": 5, "@": 1},
        "decomposition/layers.py": {"**": 1, "np.prod": 3},
        "pdem/detection/cell_sizes.py": {
            "**": 2,
            ".sum": 1,
            "import scipy.optimize": 1,
            "math.exp": 3,
            "math.log": 3,
            "np.exp": 2,
            "np.geomspace": 2,
            "np.log": 2,
        },
        "pdem/detection/cost_model.py": {"**": 2, "np.sum": 4},
        "pdem/detection/find_pairs.py": {"**": 1, "np.mean": 1},
        "pdem/detection/moments.py": {
            "**": 4,
            "np.exp": 1,
            "np.expm1": 1,
            "np.geomspace": 1,
            "np.interp": 1,
            "np.log": 4,
        },
        "pdem/detection/occupancy.py": {"**": 1, "np.prod": 1, "np.sum": 1},
        "pdem/detection/overhead.py": {"**": 2, "np.linalg": 1, "np.sum": 1},
        "pdem/detection/radius_bins.py": {"np.log": 2},
        "pdem/detection/rivals/linked_cell.py": {"np.prod": 1},
        "pdem/detection/skins.py": {"np.einsum": 1},
        "pdem/detection/walls/facet_tree.py": {"np.linalg": 2, "np.log2": 1},
        "pdem/engine/phases.py": {"sum": 2},
        "pdem/engine/setup.py": {".sum": 1},
        "pdem/engine/step.py": {".mean": 1},
        "pdem/engine/tuning/skin_tuner.py": {"**": 1, "np.geomspace": 1},
        "pdem/engine/tuning/thread_tuner.py": {"sum": 2},
        "pdem/run/forecast.py": {"math.log": 3, "sum": 5},
        "pdem/run/run.py": {".sum": 2},
    },
    REPORT: {
        "pdem/containers/meshes/mesh_report.py": {".sum": 6, "np.arctan2": 1},
        "pdem/features/bonds/preflight.py": {"**": 2, ".mean": 1, ".sum": 3, "np.prod": 1},
        "pdem/features/collisions/counted.py": {".sum": 3},
        "pdem/features/external_forces/preflight.py": {"**": 1},
        "pdem/features/insertions/preflight.py": {"**": 1, "sum": 1},
        "pdem/particles/drum_surfaces.py": {
            "**": 3,
            ".mean": 1,
            ".sum": 4,
            "@": 2,
            "import scipy": 1,
            "math.atan": 1,
            "math.atan2": 1,
            "math.cos": 2,
            "math.hypot": 1,
            "math.sin": 2,
            "np.polyfit": 1,
        },
        "pdem/particles/heaps.py": {
            "**": 2,
            ".mean": 4,
            ".sum": 3,
            "@": 2,
            "import scipy.optimize": 1,
            "math.atan": 1,
            "math.cos": 1,
            "np.linalg": 5,
            "np.quantile": 1,
        },
        "pdem/particles/top_view.py": {
            "**": 3,
            ".mean": 2,
            ".prod": 1,
            ".sum": 1,
            "import scipy": 1,
            "import scipy.sparse": 1,
            "import scipy.sparse.csgraph": 1,
            "math.hypot": 1,
            "np.linalg": 1,
            "np.quantile": 1,
        },
        "pdem/run/reading/snapshot.py": {".mean": 1, "np.linalg": 1},
    },
    CHOICE: {
        "pdem/containers/meshes/mesh_shapes.py": {"np.add.reduceat": 1, "np.arctan2": 1},
        "pdem/features/bonds/results/fragments.py": {"import scipy.sparse": 1, "import scipy.sparse.csgraph": 1},
        "pdem/foundation/exact_math.py": {"import scipy.special": 1},
        "pdem/particles/clusters/fitted_spheres.py": {"**": 3, "import scipy.spatial": 1},
        "pdem/particles/connected_room.py": {"import scipy": 1},
    },
    POWERS: {
        "pdem/contact/walls/driven_loads.py": {"**": 1},
        "pdem/continuum/lucy.py": {"**": 1},
        "pdem/detection/walls/facet_visits.py": {"**": 1},
        "pdem/motion/placing.py": {"**": 2},
        "pdem/numerics/simd/distance_filter.py": {"**": 1},
        "pdem/numerics/simd/quantised_weights.py": {"**": 2, "np.dot": 1, "np.einsum": 1, "np.polynomial": 1, "sum": 1},
        "pdem/particles/packings/soft_spheres.py": {"**": 1},
    },
    OWN: {"pdem/run/reading/field_series.py": {".mean": 1}},
}


def _is_product(function: ast.Attribute) -> bool:
    return function.attr == "prod" and ast.unparse(function.value) == "math"


def _of_attribute(node: ast.Attribute) -> str:
    """Return the function of `math` or numpy, or nothing."""
    return f"{ast.unparse(node.value)}.{node.attr}" if _is_listed(node) else ""


def _is_listed(node: ast.Attribute) -> bool:
    of_library = isinstance(node.value, ast.Name) and node.value.id in ("math", "np")
    return of_library and node.attr in FUNCTIONS and not _is_product(node)


def _of_call(node: ast.Call) -> str:
    """Return the method or the function that adds up or multiplies, or nothing."""
    function = node.func
    if isinstance(function, ast.Name):
        return function.id if function.id in ("sum", "pow") else ""
    if not isinstance(function, ast.Attribute):
        return ""
    owner = ast.unparse(function.value)
    if function.attr in METHODS and owner not in EXACT_MODULES:
        return f".{function.attr}"
    reduces = function.attr in ("reduce", "reduceat", "accumulate") and owner.startswith("np.")
    return f"{owner}.{function.attr}" if reduces and owner[3:] not in SMALL_REDUCTIONS else ""


def _is_whole(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _is_power(node: ast.AST) -> bool:
    """Return whether a node is a power of a variable, or one with a broken exponent; powers of 2 and 10 are exact."""
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, ast.Pow)
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Pow) or _is_whole(node.left):
        return False
    exponent = node.right.operand if isinstance(node.right, ast.UnaryOp) else node.right
    return not (isinstance(node.left, ast.Constant) and _is_whole(exponent))


def _of_import(node: ast.AST) -> list[str]:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    return [f"import {name}" for name in names if name.split(".")[0] == "scipy" or (names == ["math"] and _takes(node))]


def _takes(node: ast.AST) -> bool:
    return isinstance(node, ast.ImportFrom) and any(alias.name in FUNCTIONS for alias in node.names)


def calls_of(source: str) -> Counter[str]:
    """Return how often a source has each of the calls."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            found.append(_of_attribute(node))
        elif isinstance(node, ast.Call):
            found.append(_of_call(node))
        elif _is_power(node):
            found.append("**")
        elif isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult):
            found.append("@")
        found += _of_import(node)
    return Counter(one for one in found if one)


@cache
def all_calls() -> dict[str, Counter[str]]:
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    return {path.relative_to(ROOT).as_posix(): calls_of(path.read_text(encoding="utf-8")) for path in paths}


@cache
def allowed() -> dict[str, dict[str, int]]:
    files = [one for group in ALLOWED.values() for one in group]
    assert len(files) == len(set(files)), "a file has one reason"
    return {name: calls for group in ALLOWED.values() for name, calls in group.items()}


@pytest.mark.parametrize("folder", FOLDERS)
def test_calls_that_depend_on_the_machine_are_those_that_are_listed(folder):
    inside = [name for name in all_calls() if name.startswith(f"{folder}/")]
    found = {name: dict(all_calls()[name]) for name in inside if all_calls()[name]}
    assert found == {name: calls for name, calls in allowed().items() if name.startswith(f"{folder}/")}


def test_listed_files_exist():
    assert set(allowed()) <= set(all_calls())


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("math.sin(x)", "math.sin"), ("np.linalg.norm(x)", "np.linalg"), ("a @ b", "@"), ("x.sum()", ".sum"),
        ("sum(x)", "sum"), ("x**2", "**"), ("x ** n", "**"), ("2.0 ** 0.5", "**"),
        ("from math import sin", "import math"), ("from scipy import special", "import scipy"),
        ("np.add.reduceat(x, n)", "np.add.reduceat"), ("x **= 2", "**"),
    ],
)  # fmt: skip
def test_a_call_is_seen(line, call):
    assert calls_of(line) == {call: 1}


@pytest.mark.parametrize(
    "line",
    ["exact_math.dot(a, b)", "2**n", "2.0**52", "1e-3**2", "math.sqrt(x)", "np.minimum.reduceat(x, n)", "math.prod(x)"],
)
def test_exact_operations_are_free(line):
    assert not calls_of(line)
