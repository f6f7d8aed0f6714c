"""The study of contact models finds what the theories say, and tells what is off."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pdem.verification import model_checks, models
from pdem.verification.models import MODELS
from pdem.verification.study import Notebook

STICKY = {"friction": 0.5, "restitution": 1.0, "rolling": {"model": "spring", "friction": 0.2}}
"""With the parts of a law that other tests have compiled."""


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


def test_johnson_kendall_roberts(tmp_path):
    model = entry("jkr")
    findings = findings_of(replace(model, interaction={**model.interaction, **STICKY}), tmp_path)
    assert len(findings) == 10
    assert all(one.passed for one in findings), [one for one in findings if not one.passed]


def test_what_is_off_is_told(tmp_path, monkeypatch):
    """The same contacts beside the theory of a work of adhesion that is 2 % larger."""
    monkeypatch.setattr(model_checks, "WORK", 1.02 * model_checks.WORK)
    model = entry("jkr")
    found = findings_of(
        replace(model, interaction={**model.interaction, **STICKY}, checks=[model_checks.pulling]), tmp_path
    )
    off = [one.name for one in found if not one.passed]
    assert "largest pull [N]" in off
    assert "distance where it ends [m]" in off


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
