"""The parts of a system: who writes them, and what they say."""

import ast
import inspect
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdem.engine.feature import Feature
from pdem.engine.feature_set import Features, Turn
from pdem.engine.parts.run_progress import RunProgress
from pdem.engine.system import System
from pdem.features.liquid.feature import Liquid
from pdem.motion.time_step import TimeStep

ROOT = Path(__file__).resolve().parents[2]
MOST_PARTS = 13


def targets(node):
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AugAssign | ast.AnnAssign) else []


def names_of(target):
    """Return the names of an attribute that is written, from the first on."""
    names = []
    while isinstance(target, ast.Attribute):
        names.append(target.attr)
        target = target.value
    return [target.id, *reversed(names)] if isinstance(target, ast.Name) else []


def writes_to_systems(source):
    """Yield the attributes of a system, or of its parts, that a module writes."""
    for node in ast.walk(ast.parse(source)):
        for target in targets(node):
            for one in target.elts if isinstance(target, ast.Tuple) else [target]:
                names = names_of(one)
                at = next((place for place, name in enumerate(names) if name in ("system", "_system")), None)
                if at is not None and at < len(names) - 1:
                    yield ".".join(names)


def test_a_write_is_seen():
    assert list(writes_to_systems("simulation.system.progress.step += 1")) == ["simulation.system.progress.step"]
    assert list(writes_to_systems("a, self._system.constants = 1, 2")) == ["self._system.constants"]
    assert list(writes_to_systems("self.system = system")) == []


def test_nobody_writes_a_part_from_outside():
    modules = [path for room in ("pdem", "benchmarks", "validation") for path in (ROOT / room).rglob("*.py")]
    found = {str(path.relative_to(ROOT)): list(writes_to_systems(path.read_text())) for path in modules}
    assert not {path: written for path, written in found.items() if written}


def test_a_system_has_few_parts_and_says_who_writes_each():
    source = inspect.getsource(System.__init__)
    written = {node.attr for node in ast.walk(ast.parse(inspect.cleandoc(source))) if isinstance(node, ast.Attribute)
               and isinstance(node.ctx, ast.Store)}  # fmt: skip
    assert len(written) <= MOST_PARTS
    assert all(f"    {name} : " in System.__doc__ for name in written)


@given(st.floats(1e-12, 1.0))
def test_a_time_step_is_twice_its_half(length):
    step = TimeStep.of(length)
    assert step.half + step.half == step.dt == length
    assert step.at_rest() == TimeStep(0.0, step.rate)
    assert step.at_rest().half == 0.0
    assert step.rate == 1.0 / length


def test_progress_counts_from_the_step_of_a_state():
    progress = RunProgress(0.5)
    progress.resume(7, 100)
    progress.advance()
    progress.advance(3)
    assert (progress.step, progress.time, progress.time_of(-1)) == (11, 5.5, 0.0)
    assert [progress.issue_ids(3), progress.issue_ids(0), progress.issue_ids(2)] == [100, 103, 103]
    assert progress.next_id == 105


def test_lines_for_the_log_are_taken_once():
    progress = RunProgress(1.0)
    progress.note("second")
    progress.note_first("first")
    assert progress.take_notices() == ["first", "second"]
    assert progress.take_notices() == []
    assert [progress.is_new("a"), progress.is_new("b"), progress.is_new("a")] == [True, True, False]


@pytest.mark.parametrize(("seconds", "steps"), [(1.0, 5), (1e-3, 5000), (1e6, 1)])
def test_kernels_take_steps_of_a_limited_time(seconds, steps):
    progress = RunProgress(1.0)
    progress.measure_pace(100, seconds, 0.05)
    assert progress.steps_at_a_time == steps


class Kicking(Feature):
    name, turn, on = "kicking", Turn.MEASURE, False

    @property
    def kicks(self):
        return self.on


def test_features_that_kick_are_looked_for_when_they_may_change():
    feature = Kicking()
    features = Features([feature])
    assert features.kicking == ()
    feature.on = True
    assert features.kicking == ()
    features.find_kicking()
    assert features.kicking == (feature,)


def test_limits_of_bridges_follow_the_pair_table(monkeypatch):
    made = []
    monkeypatch.setattr("pdem.features.liquid.feature._limits", lambda constants: made.append(constants.table) or made)
    liquid, one, other = Liquid(), SimpleNamespace(table=object()), SimpleNamespace(table=object())
    for constants in (one, one, other, other, one):
        liquid._limits_of(constants)
    assert made == [one.table, other.table, one.table]
