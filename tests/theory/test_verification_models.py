"""The study of contact models finds what the theories say, and tells what is off."""

from __future__ import annotations

import pytest

from pdem.verification.study import Notebook
from validation import model_checks, models
from validation.models import MODELS


def entry(name):
    (found,) = (one for one in MODELS if one.name == name)
    return found


def findings_of(model, folder):
    notebook, found = Notebook(folder), []
    with notebook.plot(model.name, len(model.checks)) as panels:
        for check, axes in zip(model.checks, panels if len(model.checks) > 1 else [panels], strict=True):
            found += check(model, axes)
    assert (folder / f"{model.name}.png").stat().st_size > 1000
    return found


def test_a_model_passes_and_what_is_off_is_told(tmp_path, monkeypatch):
    """The same sphere rolls out beside the theory of a rolling friction that is 2 % larger."""
    model = entry("constant-torque")
    assert all(one.passed for one in findings_of(model, tmp_path))
    monkeypatch.setattr(model_checks, "ROLLING_FRICTION", 1.02 * model_checks.ROLLING_FRICTION)
    assert [one.passed for one in findings_of(model, tmp_path)] == [False, False]


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=lambda one: one.name)
def test_all_models(tmp_path, model):
    findings = findings_of(model, tmp_path)
    assert findings
    assert all(one.passed for one in findings), [one for one in findings if not one.passed]


def test_cases_over_ranks_have_all_models():
    texts = " ".join(text for example in models.ON_RANKS for text in example.settings)
    for model in ("jkr", "spring", "linear", "rolling_friction", "eepa", "sds", "marshall", "liquid-bridge"):
        assert model in texts
    assert len({variant.ranks for variant in models.VARIANTS}) == 4
    assert any(variant.before for variant in models.VARIANTS)
