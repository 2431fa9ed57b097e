"""Cases of the logistic regression: every criterion on every data set, with and without weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from regression import api, data
from regression.registry import Case, case, digest

SKLEARN = ("scikit-learn",)
GROUPS = ("parity", "equal_opportunity", "equalized_odds")


def cases() -> Iterator[Case]:
    """Yield the cases."""
    for name in ("synthetic", "adult", "german"):
        yield case(f"logistic/{name}/strength_0", "iterative", plain, name)
        for criterion in api.CRITERIA:
            engines = () if criterion in GROUPS else SKLEARN
            for weighted in (False, True):
                yield case(
                    f"logistic/{name}/{criterion}/{'weighted' if weighted else 'plain'}",
                    "iterative",
                    penalised,
                    *(name, criterion, weighted),
                    engines=engines,
                    fixture=name == "synthetic" and criterion in ("parity", "direct_effect"),
                )
    for criterion in ("parity", "fair_target_linear", "direct_effect_linear"):
        yield case(f"logistic/path/{criterion}", "iterative", path, criterion)
        yield case(f"logistic/fitted/{criterion}", "iterative", fitted, criterion)
    yield case("logistic/settings", "iterative", settings)


def outcome(model: Any, X: Any, *, at_zero: bool = False) -> dict[str, Any]:
    """Return what a fitted logistic regression says."""
    found = {
        "coef": model.coef_[0],
        "intercept": model.intercept_[0],
        "log_loss": model.log_loss_,
        "strength": model.strength_,
        "levels": [str(level) for level in model.sensitive_levels_],
        "proba": digest(model.predict_proba(X)[:, 1], 6),
        "margin": digest(model.decision_function(X), 6),
        "classes": [str(level) for level in model.classes_],
        "positives": int((model.predict(X) == model.classes_[1]).sum()),
    }
    if not at_zero:
        found |= {"penalty": model.penalty_, "statistics": model.statistics_}
    return found


def _people(name: str) -> Any:
    return {each.name: each for each in data.all_three()}[name]


def plain(name: str) -> Mapping[str, Any]:
    """Record strength 0, which needs no criterion; what it would say of one is left out."""
    people = _people(name)
    found = {}
    for criterion in ("parity", "fair_target_linear"):
        for weighted in (False, True):
            model = api.logistic(api.CRITERIA[criterion](), 0.0, people)
            model = api.fit(model, people, weighted, people.matrix)
            suffix = "weighted" if weighted else "plain"
            found[f"{criterion}/{suffix}"] = outcome(model, people.matrix, at_zero=True)
    return found


def penalised(name: str, criterion: str, weighted: bool) -> Mapping[str, Any]:
    """Record the strengths above 0."""
    people = _people(name)
    found = {}
    for strength in api.strengths_of(criterion):
        model = api.logistic(api.CRITERIA[criterion](), strength, people)
        model = api.fit(model, people, weighted, people.matrix)
        found[str(strength)] = outcome(model, people.matrix)
    return found


def path(criterion: str) -> Mapping[str, Any]:
    """Record a path of strengths."""
    people = data.german()
    strengths = [0.0, *api.strengths_of(criterion)]
    model = api.logistic(api.CRITERIA[criterion](), strengths[0], people)
    models = api.fit_path(model, people, strengths, weighted=True, X=people.matrix)
    return {
        str(strength): outcome(each, people.matrix, at_zero=strength == 0)
        for strength, each in zip(strengths, models, strict=True)
    }


def fitted(criterion: str) -> Mapping[str, Any]:
    """Record a fit with a criterion that was fitted before, and its objective at other rows."""
    people = data.synthetic()
    known = api.fitted(api.CRITERIA[criterion](), people, True, people.matrix)
    strength = api.strengths_of(criterion)[-1]
    model = api.fit(api.logistic(known, strength, people), people, True, people.matrix)
    return outcome(model, people.matrix)


def settings() -> Mapping[str, Any]:
    """Record settings beside the criterion: no intercept, a strong l2, a warm start."""
    people = data.synthetic()
    criterion = api.CRITERIA["parity"]
    found = {}
    for name, more in {
        "no_intercept": {"fit_intercept": False},
        "strong_l2": {"l2": 0.5},
        "no_l2": {"l2": 0.0},
    }.items():
        model = api.fit(api.logistic(criterion(), 0.9, people, **more), people)
        found[name] = outcome(model, people.X)
    warm = api.fit(api.logistic(criterion(), 0.3, people, warm_start=True), people)
    warm.strength = 0.9
    found["warm"] = outcome(api.fit(warm, people), people.X)
    found["wide"] = _wide(people)
    return found


def _wide(people: Any) -> dict[str, Any]:
    """Return a fit with more columns than a Hessian is formed for."""
    rng = np.random.default_rng(0)
    rows = people.take(slice(0, 300))
    X = np.hstack([rows.X, rng.standard_normal((300, 2_100))])
    model = api.fit(api.logistic(api.CRITERIA["parity"](), 0.9, rows, l2=0.1), rows, X=X)
    found = outcome(model, X)
    return {**found, "coef": digest(found["coef"])}
