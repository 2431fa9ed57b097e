"""Cases of XGBoost and LightGBM: every criterion, curvature and data set, paths and objectives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from regression import api, data
from regression.registry import Case, case, digest, histories

ENGINES = ("xgboost", "lightgbm")
CURVATURES = ("adaptive", "bound", "exact")


def cases() -> Iterator[Case]:
    """Yield the cases."""
    for engine in ENGINES:
        yield from _fits(engine)
        for criterion in ("parity", "direct_effect", "direct_effect_spline"):
            for curvature in CURVATURES:
                yield case(
                    f"{engine}/curvature/{criterion}/{curvature}",
                    "float32",
                    curved,
                    *(engine, criterion, curvature),
                    engines=(engine, "scikit-learn"),
                )
        for criterion in ("parity", "fair_target_linear", "direct_effect"):
            both = (engine, criterion)
            needs = (engine, "scikit-learn")
            yield case(f"{engine}/path/{criterion}", "float32", path, *both, engines=needs)
            yield case(f"{engine}/settings/{criterion}", "float32", settings, *both, engines=needs)
        for criterion in api.exact_criteria():
            yield case(
                f"{engine}/objective/{criterion}",
                "float32",
                objective,
                *(engine, criterion),
                fixture=criterion == "equalized_odds",
            )
        yield case(f"{engine}/own_loop", "float32", own_loop, engine, engines=(engine,))
        yield case(f"{engine}/folder", "float32", folder, engine, engines=(engine, "scikit-learn"))
    yield case("logistic/folder", "iterative", linear_folder)


def _fits(engine: str) -> Iterator[Case]:
    for name in ("synthetic", "adult", "german"):
        yield case(f"{engine}/{name}/strength_0", "float32", plain, engine, name, engines=(engine,))
        for criterion in api.CRITERIA:
            for weighted in (False, True):
                yield case(
                    f"{engine}/{name}/{criterion}/{'weighted' if weighted else 'plain'}",
                    "float32",
                    fits,
                    *(engine, name, criterion, weighted),
                    engines=(engine, "scikit-learn"),
                    fixture=name == "adult" and weighted and criterion in ("parity", "fair_target"),
                )


def outcome(model: Any, X: Any, *, at_zero: bool = False) -> dict[str, Any]:
    """Return what a fitted booster says; at strength 0 its history is that of the log-loss."""
    history = model.evals_result_
    if at_zero:
        history = {"validation": {"log_loss": history["validation"]["log_loss"]}}
    return {
        "proba": digest(model.predict_proba(X)[:, 1]),
        "margin": digest(model.decision_function(X), 4),
        "positives": int((model.predict(X) == model.classes_[1]).sum()),
        "importances": model.feature_importances_,
        "trees": model.best_iteration_,
        "rounds": model.n_rounds_,
        "strength": model.strength_,
        "levels": [str(level) for level in model.sensitive_levels_],
        "history": histories(history),
    }


def _people(name: str) -> Any:
    return {each.name: each for each in data.all_three()}[name]


def plain(engine: str, name: str) -> Mapping[str, Any]:
    """Record strength 0."""
    people = _people(name)
    found = {}
    for criterion in ("parity", "fair_target_linear"):
        if criterion != "parity" and name != "synthetic":
            continue  # its linear models take no words
        for weighted in (False, True):
            model = api.booster(engine, api.CRITERIA[criterion](), 0.0, people)
            suffix = "weighted" if weighted else "plain"
            model = api.fit(model, people, weighted)
            found[f"{criterion}/{suffix}"] = outcome(model, people.X, at_zero=True)
    return found


def _table(people: Any, criterion: str) -> Any:
    """Return the table a criterion can read: a bare linear model takes numbers alone."""
    return people.matrix if criterion.endswith("_linear") else people.X


def fits(engine: str, name: str, criterion: str, weighted: bool) -> Mapping[str, Any]:
    """Record the strengths above 0."""
    people = _people(name)
    X = _table(people, criterion)
    found = {}
    for strength in api.strengths_of(criterion):
        model = api.booster(engine, api.CRITERIA[criterion](), strength, people)
        found[str(strength)] = outcome(api.fit(model, people, weighted, X), X)
    return found


def curved(engine: str, criterion: str, curvature: str) -> Mapping[str, Any]:
    """Record a curvature at a middle and a large strength."""
    people = data.synthetic()
    found = {}
    for strength in (0.5, 0.9):
        made = api.CRITERIA[criterion]()
        model = api.booster(engine, made, strength, people, curvature=curvature)
        found[str(strength)] = outcome(api.fit(model, people, True), people.X)
    return found


def path(engine: str, criterion: str) -> Mapping[str, Any]:
    """Record a path of strengths."""
    people = data.german()
    X = _table(people, criterion)
    strengths = [0.0, *api.strengths_of(criterion)]
    model = api.booster(engine, api.CRITERIA[criterion](), strengths[0], people)
    models = api.fit_path(model, people, strengths, weighted=True, X=X)
    return {
        str(strength): outcome(each, X, at_zero=strength == 0)
        for strength, each in zip(strengths, models, strict=True)
    }


def settings(engine: str, criterion: str) -> Mapping[str, Any]:
    """Record rows to stop by, a drawn share of rows and columns, a fitted criterion."""
    people = data.synthetic()
    train, other = people.take(slice(0, 1_000)), people.take(slice(1_000, None))
    made, strength = api.CRITERIA[criterion], api.strengths_of(criterion)[-1]
    beside = api.fit(
        api.booster(engine, made(), strength, train),
        train,
        True,
        eval_set=api.eval_set(other, True),
    )
    drawn = {"max_depth": 2, "learning_rate": 0.3, "subsample": 0.7, "colsample_bytree": 0.6}
    drawn |= {"bagging_freq": 1} if engine == "lightgbm" else {}
    random = api.booster(
        engine, made(), strength, people, params=drawn, random_state=11, validation_fraction=0.25
    )
    known = api.fitted(made(), people, False, people.X)
    return {
        "eval_set": outcome(beside, people.X),
        "drawn": outcome(api.fit(random, people), people.X),
        "fitted": outcome(api.fit(api.booster(engine, known, strength, people), people), people.X),
    }


def objective(engine: str, criterion: str) -> Mapping[str, Any]:
    """Record gradient and curvature that a loop of one's own is given, on known nuisances."""
    people = data.synthetic()
    margin = people.X[:, :6].sum(axis=1).astype(np.float32) / 3
    found = {}
    for weighted in (False, True):
        for strength in api.strengths_of(criterion):
            for kind in ("bound", "exact"):
                made = api.exact_criteria()[criterion]
                of = api.engine_objective(engine, made, people, weighted, strength, kind)
                gradient, hessian = of(margin)
                suffix = "weighted" if weighted else "plain"
                found[f"{suffix}/{strength}/{kind}"] = {
                    "gradient": digest(gradient, 5),
                    "hessian": digest(hessian, 5),
                }
    return found


def own_loop(engine: str) -> Mapping[str, Any]:
    """Record a model that the engine's own ``train`` makes of our objective."""
    people = data.synthetic()
    of = api.engine_objective(engine, api.CRITERIA["parity"](), people, False, 0.5, "bound")
    package = import_module(engine)
    if engine == "xgboost":
        params = {"objective": "binary:logistic", "base_score": 0.5, "nthread": 1, "eta": 0.2}
        rows = package.DMatrix(people.X, nthread=1)
        scores = package.train(params, rows, 8, obj=of).predict(rows)
    else:
        params = {"objective": of, "verbosity": -1, "num_threads": 1, "learning_rate": 0.2}
        model = package.train(params, package.Dataset(people.X, people.labels), 8)
        scores = model.predict(people.X)
    return {"scores": digest(scores)}


def folder(engine: str) -> Mapping[str, Any]:
    """Record what a model says before it is saved and after it is read again."""
    people = data.adult()
    model = api.fit(api.booster(engine, api.CRITERIA["direct_effect"](), 0.9, people), people)
    return _saved(model, people.X)


def linear_folder() -> Mapping[str, Any]:
    """Record the same of a logistic regression."""
    people = data.synthetic()
    model = api.fit(api.logistic(api.CRITERIA["parity"](), 0.9, people), people)
    return _saved(model, people.X)


def _saved(model: Any, X: Any) -> dict[str, Any]:
    with TemporaryDirectory() as place:
        api.save_model(model, f"{place}/model")
        read = api.load_model(f"{place}/model")
        return {
            "before": digest(model.predict_proba(X)[:, 1]),
            "after": digest(read.predict_proba(X)[:, 1]),
            "margin": digest(read.decision_function(X)),
            "features": [each.name for each in read.features],
        }
