"""Cases of frontiers: sweeps of every engine, choices, searches, folders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from tempfile import TemporaryDirectory
from typing import Any

from regression import api, api_results, data
from regression.registry import Case, case, digest

STRENGTHS = {"fair_target": [0.0, 0.5, 1.0], "parity": [0.0, 0.3, 0.6, 0.9]}


def cases() -> Iterator[Case]:
    """Yield the cases."""
    for engine, kind in {
        "logistic": "iterative", "xgboost": "float32", "lightgbm": "float32"
    }.items():  # fmt: skip
        needs = ("scikit-learn",) if engine == "logistic" else (engine, "scikit-learn")
        for criterion in STRENGTHS:
            both = (engine, criterion)
            yield case(f"frontier/{engine}/{criterion}", kind, swept, *both, engines=needs)
        yield case(f"frontier/seek/{engine}", kind, sought, engine, engines=needs)
    yield case("frontier/words", "float32", of_words, engines=("xgboost", "scikit-learn"))
    yield case("frontier/folds", "iterative", folds, engines=("scikit-learn",))
    yield case("frontier/without_effects", "iterative", without_effects, fixture=True)


def _model(engine: str, criterion: str, people: Any) -> Any:
    made = api.CRITERIA[criterion]()
    if engine == "logistic":
        return api.logistic(made, 0.0, people)
    return api.booster(engine, made, 0.0, people)


def points(found: Any, *, at_zero: bool = False) -> dict[str, Any]:
    """Return the figures of each strength; what a penalty is at strength 0 is left out."""
    values = found.to_dict()
    for point in values["points"]:
        if point["strength"] == 0 and not at_zero:
            for figures in point["parts"].values():
                for name in ("penalty", "fair_log_loss"):
                    figures.pop(name, None)
    return values


def _choices(found: Any) -> dict[str, Any]:
    """Return the strengths that rules choose, and those no other beats."""
    return {
        "knee": found.select("knee").strength,
        "loss": found.select(max_accuracy_loss=0.02).strength,
        "gap": found.select("knee", utility="auc", fairness="score_gap").strength,
        "pareto": list(found.pareto().strengths),
        "pareto_gap": list(found.pareto("log_loss", "score_gap", "train").strengths),
    }


def swept(engine: str, criterion: str) -> Mapping[str, Any]:
    """Record a sweep with test rows, what is chosen, and the same from its folder."""
    people = data.synthetic()
    train, test = people.take(slice(0, 1_000)), people.take(slice(1_000, None))
    model, strengths = _model(engine, criterion, people), STRENGTHS[criterion]
    with TemporaryDirectory() as place:
        found = api_results.frontier(
            model, train, strengths, weighted=True, test_set=api.eval_set(test, True),
            store=f"{place}/store",
        )  # fmt: skip
        read = api_results.load_frontier(f"{place}/store")
        scores = read.model(strengths[-1]).predict_proba(test.X)[:, 1]
        return {
            **points(found),
            "choices": _choices(found),
            "read": _choices(read),
            "scores": digest(scores),
        }


def of_words() -> Mapping[str, Any]:
    """Record a sweep on a table with categories and missing values."""
    people = data.adult()
    found = api_results.frontier(_model("xgboost", "parity", people), people, [0.0, 0.9])
    return {**points(found), "choices": _choices(found)}


def folds() -> Mapping[str, Any]:
    """Record a sweep that chooses by out-of-fold scores."""
    people = data.german()
    model = _model("logistic", "fair_target_linear", people)
    found = api_results.frontier(model, people, [0.0, 1.0], cv=3, X=people.matrix)
    return {**points(found), "choices": _choices(found)}


def without_effects() -> Mapping[str, Any]:
    """Record a sweep of nothing but fits and metrics."""
    people = data.synthetic(500)
    model = _model("logistic", "parity", people)
    return points(api_results.frontier(model, people, [0.0, 0.5, 0.9], effects=False))


def sought(engine: str) -> Mapping[str, Any]:
    """Record where a search for the smallest strength ends."""
    people = data.synthetic()
    model = _model(engine, "parity", people)
    found = api_results.seek_strength(model, people)
    return {
        "strength": found.strength,
        "reached": found.reached,
        "tried": list(found.frontier.strengths),
        "figures": dict(found.choice.figures),
        "scores": digest(found.model.predict_proba(people.X)[:, 1]),
    }
