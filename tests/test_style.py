"""How code is written: names that docstrings give exist, functions take few arguments, kernels keep what they write."""

from __future__ import annotations

import ast
import re

import pytest
from test_layers import MODULES, is_kernel, tree_of

MOST_ARGUMENTS = 10
_DOTTED = re.compile(r"`((?:pdem|decomposition|benchmarks|validation)(?:\.\w+)+)`")


def functions(module):
    """Return all functions of a module, methods and inner ones included."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return [node for node in ast.walk(tree_of(MODULES[module])) if isinstance(node, kinds)]


def arguments(function):
    """Return how many arguments a function takes, `self` apart."""
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    own = named[:1] and named[0].arg in ("self", "cls")
    return len(named) - bool(own) + (given.vararg is not None) + (given.kwarg is not None)


@pytest.mark.parametrize("module", MODULES)
def test_functions_take_few_arguments(module):
    """What belongs together travels in a tuple with named fields."""
    for function in functions(module):
        name = f"{module}.{function.name}"
        assert arguments(function) <= MOST_ARGUMENTS, f"{name} takes {arguments(function)} arguments"


def public_names(module):
    """Return the names that a module defines at its top, and those of the members of its classes."""
    names = set()
    for node in tree_of(MODULES[module]).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
            names.update(f"{node.name}.{child.name}" for child in node.body if hasattr(child, "name"))
        for child in ast.walk(node) if isinstance(node, ast.Assign | ast.AnnAssign | ast.ImportFrom) else ():
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                names.add(child.id)
            elif isinstance(child, ast.alias):
                names.add(child.asname or child.name)
    return names


def exists(dotted):
    """Tell whether a dotted name is a module, or something that a module defines."""
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        module = ".".join(parts[:end])
        if module in MODULES:
            rest = ".".join(parts[end:])
            return not rest or rest in public_names(module) or module == "pdem"
    return any(name.startswith(f"{dotted}.") for name in MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_names_in_docstrings_exist(module):
    text = MODULES[module].read_text(encoding="utf-8")
    missing = sorted({name for name in _DOTTED.findall(text) if not exists(name)})
    assert not missing


@pytest.mark.parametrize("module", MODULES)
def test_loops_over_threads_write_to_arrays_that_are_arguments(module):
    """Compiling a parallel loop, numba drops what is written to a field of a tuple in the loop itself.

    It takes the field for a copy that nobody reads. What an inlined function writes is kept.
    """
    for function in functions(module):
        if not is_kernel(function):
            continue
        for loop in ast.walk(function):
            if isinstance(loop, ast.For) and ast.unparse(loop.iter).startswith("prange("):
                fields = [ast.unparse(target) for target in written(loop) if is_field(target)]
                assert not fields, f"{module}.{function.name} writes {fields[0]} in a parallel loop"


def written(loop):
    """Return what is assigned to in a loop."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign | ast.AugAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield from target.elts if isinstance(target, ast.Tuple) else [target]


def is_field(target):
    """Tell whether something is an element of an array that is a field of a tuple."""
    return isinstance(target, ast.Subscript) and isinstance(target.value, ast.Attribute)
