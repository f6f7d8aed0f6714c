"""Which way imports run, how large things are, and that everything public says what it is.

Read from the sources, not from imported modules: imports inside functions and for type checkers count as well.
"""

from __future__ import annotations

import ast
import math
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = (
    "foundation",
    "report",
    "numerics",
    "containers",
    "motion",
    "detection",
    "particles",
    "contact",
    "output",
    "continuum",
    "case",
    "preflight",
    "engine",
    "features",
    "run",
    "replays",
    "benchmark",
    "verification",
    "scaling",
    "sweeps",
    "laboratory",
    "watch",
    "cli",
)
# Run from the sources alone, and above all rooms: they may import what they like, and only these commands import them.
NOT_INSTALLED = ("benchmarks", "validation")
NEED_SOURCES = ("pdem.cli.bench", "pdem.cli.scaling", "pdem.cli.scaling_options", "pdem.cli.verify")
# The one door from the engine to the ranks; both agree on the protocol in pdem.containers.exchange.
DOOR = "pdem.engine.ranks"
OPEN_TO_DECOMPOSITION = ("pdem.foundation", "pdem.numerics", "pdem.containers")
REGISTRIES = ("pdem.features.registry", "pdem.features.rules", "pdem.features.preflight")
# What the case file and its checks have of a feature: on the floor of the rooms that name these modules.
FLOORS = dict.fromkeys(("kernels", "parameters", "section", "rules", "columns"), "case") | {"preflight": "preflight"}
# Of bonds also the pairs that a case joins, and their stiffness, since limits of the step follow from them.
OF_BONDS = "bond_limits", "bond_steps", "bond_stiffness", "kernel", "pair_lists", "potential", "reference", "selection"
FLOORS |= dict.fromkeys((*OF_BONDS, "shape_bonds", "strengths"), "case")
# Of heat the conductances, from which checks compute the Biot numbers.
FLOORS |= dict.fromkeys(("conductance", "surroundings", "intervals", "heat_materials"), "case")
# Of breakage the sizes of fragments, from which sections check tables and checks compute numbers of fragments.
OF_BREAKAGE = (
    "size_tables",
    "size_model",
    "fragment_curve",
    "fragment_population",
    "fragment_sizes",
    "model_keys",
    "loading_time",
)
FLOORS |= dict.fromkeys((*OF_BREAKAGE, "strength_models", "loading_time"), "case")
ONLY_MPI = "decomposition.mpi"
# The second one names machines by llvmlite's public functions, before anything else of numba is there.
NUMBA_DOORS = "pdem.numerics.numba_private", "pdem.numerics.cache", "pdem.numerics.portable.target"

LONGEST_FILE = 400
LONGEST_FUNCTION = 60
LONGEST_GOALS = 15
KERNEL_DECORATORS = {
    "kernel",
    "threaded_kernel",
    "uncounted_kernel",
    "inlined",
    "geometry_kernel",
    "inlined_geometry",
    "inlined_closure",
    "inlined_exactly",
    "versioned_kernel",
}


IMPORTERS = {"import_module", "__import__", "run_module"}


def sources(*folders):
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sources("pdem", "decomposition", *NOT_INSTALLED)}


PACKAGES = {name for name, path in MODULES.items() if path.stem == "__init__"}


@cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path):
    """Return the full names of what a file imports; of `from a import b`, a.b if that is a module, else a.

    Imports for type checkers alone and those inside functions count as well.
    """
    found = set()
    pending = [tree_of(path)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = absolute(node, path)
            names = {f"{base}.{alias.name}" for alias in node.names}
            found.update(name if name in MODULES else base for name in names)
        else:
            pending.extend(ast.iter_child_nodes(node))
    return found


def absolute(node, path):
    if not node.level:
        return node.module
    package = path.relative_to(ROOT).parts[: -node.level]
    return ".".join([*package, node.module] if node.module else package)


def height(module):
    """Return the position of a module's room, above all rooms for `pdem` itself."""
    parts = module.split(".")
    if len(parts) == 1 or module in {"pdem.__main__"}:
        return len(ROOMS)
    assert parts[1] in ROOMS, f"{module} is in no room: {', '.join(ROOMS)}"
    if parts[1] == "features":
        return ROOMS.index("case" if module in PACKAGES else FLOORS.get(parts[-1], "features"))
    return ROOMS.index(parts[1])


def is_in(module, *packages):
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def of(package):
    return [name for name in MODULES if is_in(name, package)]


@pytest.mark.parametrize("module", of("pdem"))
def test_imports_run_upward(module):
    for imported in imports(MODULES[module]):
        if is_in(imported, "pdem"):
            assert height(imported) <= height(module), f"{module} imports {imported} from a room above"


@pytest.mark.parametrize("module", of("pdem.features"))
def test_no_feature_imports_another(module):
    """What several need is in the engine; the registries alone name all."""
    own = module.split(".")[:3]
    for imported in imports(MODULES[module]):
        others = is_in(imported, "pdem.features") and imported.split(".")[:3] != own
        assert not others or module in REGISTRIES, f"{module} imports {imported}, another feature"


@pytest.mark.parametrize("module", [*of("pdem"), *of("decomposition")])
def test_only_commands_import_what_is_not_installed(module):
    """They do so when they run, after they have looked whether it is there."""
    seen = {name for name in imports(MODULES[module]) if is_in(name, *NOT_INSTALLED)}
    assert not seen or module in NEED_SOURCES, f"{module} imports {seen}, which an installed package lacks"
    at_once = [node for node in tree_of(MODULES[module]).body if is_import(node) and of_sources(node)]
    assert not at_once, f"{module} imports {ast.unparse(at_once[0])} before it can run"


@pytest.mark.parametrize("module", NEED_SOURCES)
def test_commands_that_need_the_sources_say_so(module):
    """A function that imports what is not installed calls `require_sources` before."""
    for function in ast.walk(tree_of(MODULES[module])):
        if isinstance(function, ast.FunctionDef):
            inside = list(ast.walk(function))
            needed = [node.lineno for node in inside if is_import(node) and of_sources(node)]
            calls = [node.lineno for node in inside if isinstance(node, ast.Call) and is_look(node)]
            assert not needed or min(calls, default=math.inf) < min(needed), f"{module}.{function.name}"


@pytest.mark.parametrize("module", of("pdem"))
def test_physics_never_sees_a_rank(module):
    seen = {name for name in imports(MODULES[module]) if is_in(name, "decomposition", "mpi4py")}
    if module == DOOR:
        assert not any(is_in(name, "mpi4py") for name in seen)
    else:
        assert not seen, f"{module} imports {seen}: only {DOOR} may import decomposition"


@pytest.mark.parametrize("package", NOT_INSTALLED)
def test_mpi_has_one_door(package):
    for module in of(package):
        assert not [name for name in imports(MODULES[module]) if is_in(name, "mpi4py")], module


@pytest.mark.parametrize("module", of("decomposition"))
def test_decomposition_never_sees_physics(module):
    for imported in imports(MODULES[module]):
        assert not is_in(imported, "mpi4py") or module == ONLY_MPI, f"{module} imports mpi4py, not {ONLY_MPI}"
        if is_in(imported, "pdem"):
            assert is_in(imported, *OPEN_TO_DECOMPOSITION), f"{module} imports {imported}"


@pytest.mark.parametrize("module", MODULES)
def test_own_modules_are_imported_by_statements(module):
    """An import by a string is missing from the graph of imports below. `pdem` itself is above all rooms."""
    if module in {"pdem", NUMBA_DOORS[0]}:
        return
    for call in (node for node in ast.walk(tree_of(MODULES[module])) if isinstance(node, ast.Call)):
        if ast.unparse(call.func).rpartition(".")[2] in IMPORTERS:
            first = call.args[0]
            assert isinstance(first, ast.Constant), f"{module} imports {ast.unparse(first)}, a computed name"
            assert not is_in(first.value, "pdem", "decomposition"), f"{module} imports {first.value} by a string"


@pytest.mark.parametrize("module", MODULES)
def test_private_parts_of_numba_have_one_door(module):
    private = {one for one in imports(MODULES[module]) if is_in(one, "llvmlite") or one.startswith("numba.")}
    assert module in NUMBA_DOORS or not private, f"{module} imports {private}, not from {NUMBA_DOORS[0]}"


PAGES = [ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs" / "developers").rglob("*.md"))]
"""The map of the sources and the pages for developers."""

NAMED = re.compile(r"`((?:[\w-]+/)+[\w-]+\.(?:py|md|toml)|(?:pdem|decomposition|validation|tests)/[\w/]*)`")
"""Files and folders in backticks."""

EXAMPLES = re.compile(r"^```python\n# (pdem/\S+\.py)$", re.MULTILINE)
"""Files that a worked example adds, by the first line of its text."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_for_developers_name_what_there_is(page):
    """Paths in backticks are those of files and folders, from the top of the project, but for files to be added."""
    text = page.read_text(encoding="utf-8")
    added = set(EXAMPLES.findall(text))
    named = set(NAMED.findall(text)) - added
    assert not [name for name in named if not (ROOT / name).exists()]
    assert not [name for name in added if (ROOT / name).exists()]


def test_pages_for_developers_name_many_files():
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    assert sum(len(re.findall(r"`[\w/]+/\w+\.py`", text)) for text in texts) > 150


@pytest.mark.parametrize("room", [*(f"pdem/{name}" for name in ROOMS), "decomposition", *NOT_INSTALLED])
def test_each_room_states_its_goal_and_what_does_not_belong_there(room):
    text = ast.get_docstring(tree_of(ROOT / room / "__init__.py")) or ""
    assert re.search(r"^Goal: ", text, re.MULTILINE), f"{room} states no goal"
    assert re.search(r"^Not here: ", text, re.MULTILINE), f"{room} does not say what belongs elsewhere"
    stated = text[: re.search(r"^Not here: .*?(\n\n|\Z)", text, re.MULTILINE | re.DOTALL).end()]
    assert len(stated.strip().splitlines()) <= LONGEST_GOALS, f"{room} takes more than {LONGEST_GOALS} lines"


def test_the_map_names_all_rooms():
    named = re.findall(r"^\| `pdem/(\w+)` \|", (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"), re.M)
    assert named == list(ROOMS)


def test_there_are_no_cycles():
    graph = {name: imports(path) & set(MODULES) - {name} for name, path in MODULES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize("path", sources("pdem", "decomposition", *NOT_INSTALLED, "scripts", "tests"), ids=module_name)
def test_files_are_small(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LONGEST_FILE, f"{path.relative_to(ROOT)} has {lines} lines"


@pytest.mark.parametrize("module", MODULES)
def test_functions_are_small(module):
    for node in ast.walk(tree_of(MODULES[module])):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_kernel(node):
            lines = length(node)
            assert lines <= LONGEST_FUNCTION, f"{module}.{node.name} has {lines} lines"


@pytest.mark.parametrize("module", MODULES)
def test_everything_public_has_a_docstring(module):
    missing = [name for name, node in public(tree_of(MODULES[module])) if not ast.get_docstring(node)]
    assert not missing


def is_import(node):
    return isinstance(node, ast.Import | ast.ImportFrom)


def of_sources(node):
    """Tell whether an import is of something that is not installed."""
    return is_in(ast.unparse(node).split()[1], *NOT_INSTALLED)


def is_look(call):
    """Tell whether a call looks for the sources."""
    return ast.unparse(call.func) == "require_sources"


def is_kernel(node):
    names = {ast.unparse(decorator).partition("(")[0].rpartition(".")[2] for decorator in node.decorator_list}
    return bool(names & KERNEL_DECORATORS)


def length(node):
    """Return the number of lines of a function's body, its docstring apart."""
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def public(node, prefix=""):
    yield prefix or "module", node
    for child in node.body:
        is_definition = isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if is_definition and not child.name.startswith("_") and not is_overload(child):
            name = f"{prefix}.{child.name}".lstrip(".")
            if isinstance(child, ast.ClassDef):
                yield from public(child, name)
            else:
                yield name, child


def is_overload(node):
    return any(ast.unparse(decorator).endswith(("overload", ".setter")) for decorator in node.decorator_list)
