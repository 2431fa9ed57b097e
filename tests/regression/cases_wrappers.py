"""Cases of the classifiers that wrap others: fair targets, marginalised and corrected scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from regression import api, data
from regression.registry import Case, case, digest

SKLEARN = ("scikit-learn",)


def cases() -> Iterator[Case]:
    """Yield the cases."""
    for name in ("synthetic", "adult", "german"):
        for weighted in (False, True):
            suffix = f"{name}/{'weighted' if weighted else 'plain'}"
            both = (name, weighted)
            small = name == "synthetic" and weighted
            for what, function in {
                "fair_target_classifier": fair_targets,
                "marginalized": marginalized,
                "corrector": corrected,
            }.items():
                yield case(
                    f"{what}/{suffix}",
                    "iterative",
                    function,
                    *both,
                    engines=SKLEARN,
                    fixture=small,
                )


def _people(name: str) -> Any:
    return {each.name: each for each in data.all_three()}[name]


def _models(people: Any) -> dict[str, tuple[Any, Any]]:
    """Return classifiers to wrap, each with the table it reads."""
    linear = api.linear_model()
    trees = HistGradientBoostingClassifier(
        max_iter=15, max_leaf_nodes=7, categorical_features="from_dtype", random_state=0
    )
    found = {"linear": (linear, people.matrix), "trees": (trees, people.X)}
    return found if people.name != "synthetic" else {"linear": (linear, people.matrix)}


def outcome(model: Any, X: Any) -> dict[str, Any]:
    """Return scores of a wrapped classifier."""
    return {
        "score": digest(model.fair_score(X), 8),
        "proba": digest(model.predict_proba(X)[:, 1], 4),
        "positives": int((model.predict(X) == model.classes_[1]).sum()),
        "levels": [str(level) for level in model.sensitive_levels_],
    }


def fair_targets(name: str, weighted: bool) -> Mapping[str, Any]:
    """Record a classifier on weighted copies of the rows."""
    people, found = _people(name), {}
    for kind, (inner, X) in _models(people).items():
        criterion = api.CRITERIA["fair_target_linear" if kind == "linear" else "fair_target"]
        for strength in (0.0, 0.5, 1.0):
            model = api.fair_target_classifier(inner, criterion(), strength, people)
            model = api.fit(model, people, weighted, X)
            found[f"{kind}/{strength}"] = outcome(model, X)
            if strength:
                found[f"{kind}/{strength}"]["stretch"] = model.stretch_
    return found


def marginalized(name: str, weighted: bool) -> Mapping[str, Any]:
    """Record scores averaged over z."""
    people, found = _people(name), {}
    shares = {"halves": (0.5, 0.5), "uneven": (0.3, 0.7), "prevalence": "prevalence"}
    for kind, (inner, X) in _models(people).items():
        for learner in ("single", "separate"):
            for label, weights in shares.items():
                model = api.marginalized(inner, weights, learner, people)
                model = api.fit(model, people, weighted, X)
                values = {**outcome(model, X), "weights": list(model.weights_)}
                found[f"{kind}/{learner}/{label}"] = values
    return found


def corrected(name: str, weighted: bool) -> Mapping[str, Any]:
    """Record scores corrected along the propensity."""
    people, found = _people(name), {}
    scaled = make_pipeline(StandardScaler(), api.linear_model())
    criteria = {
        "spline": api.direct_effect(5, 2, norm="function", basis="spline"),
        "line": api.direct_effect(propensity=scaled),
    }
    for label, criterion in criteria.items():
        for strength, calibrate in ((1.0, True), (0.5, False)):
            model = api.corrector(api.linear_model(), criterion, strength, calibrate, people)
            if weighted and label == "line":
                continue  # a pipeline takes weights by the name of its step
            model = api.fit(model, people, weighted, people.matrix)
            found[f"{label}/{strength}"] = {
                **outcome(model, people.matrix),
                "correction": digest(model.correction(people.matrix), 6),
                "clipped": model.clipped_share_,
            }
    return found
