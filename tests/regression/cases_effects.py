"""Cases of the effects: every method and interval, curves, surrogates, what scores still hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from regression import api, api_results, data
from regression.registry import Case, case, digest

SKLEARN = ("scikit-learn",)
CURVES = ("doubly_robust", "spline", "polynomial", "bins")


def cases() -> Iterator[Case]:
    """Yield the cases."""
    methods = api_results.methods()
    for method in methods:
        yield case(f"effects/known/{method}", "exact", known, method, fixture=True)
        for interval in ("influence", "bootstrap"):
            both = (method, interval)
            yield case(
                f"effects/linear/{method}/{interval}", "iterative", linear, *both, engines=SKLEARN,
                fixture=method == "doubly_robust",
            )  # fmt: skip
        for name in ("synthetic", "adult", "german"):
            for weighted in (False, True):
                suffix = f"{name}/{method}/{'weighted' if weighted else 'plain'}"
                given = (name, method, weighted)
                yield case(f"effects/{suffix}", "iterative", estimated, *given, engines=SKLEARN)
    for method in CURVES:
        # Not "exact": the band is simulated by an eigendecomposition, which differs by processor.
        yield case(f"effects/curve/known/{method}", "iterative", known_curve, method, fixture=True)
        for name in ("synthetic", "adult", "german"):
            yield case(
                f"effects/curve/{name}/{method}", "iterative", curve, name, method, engines=SKLEARN
            )
    yield case("effects/numbers", "iterative", numbers, engines=SKLEARN)
    yield case("effects/left", "iterative", left, engines=SKLEARN)
    yield case("effects/surrogate", "exact", surrogate, fixture=True)
    yield case("effects/propensity", "iterative", propensity, engines=SKLEARN)


def _people(name: str) -> Any:
    return {each.name: each for each in data.all_three()}[name]


def by_hand(people: Any) -> tuple[Any, Any]:
    """Return a propensity and two outcome means that a formula gives, for 0/1 columns of X."""
    b = np.clip(1 / (1 + np.exp(-people.matrix[:, 14] + 0.4)), 0.03, 0.97)
    low = 1 / (1 + np.exp(-people.matrix[:, :4].sum(axis=1) / 4))
    high = 1 / (1 + np.exp(-people.matrix[:, :4].sum(axis=1) / 5 - 0.8))
    return b, np.column_stack([low, high])


def scores_of(people: Any) -> Any:
    """Return some model's scores of the rows, by a formula."""
    return 1 / (1 + np.exp(-people.matrix[:, :8].sum(axis=1) / 4 + 0.2 * people.matrix[:, -1]))


def _nuisances(found: Any) -> dict[str, Any]:
    values = api_results.nuisances_of(found)
    plain = ("n_clipped", "shares")
    return {
        name: each if name in plain else digest(each, 4)
        for name, each in values.items()
        if name in plain or not np.isnan(each).any()
    }


def known(method: str) -> Mapping[str, Any]:
    """Record effects from nuisances that are handed in, which are arithmetic alone."""
    people = data.synthetic(500)
    nuisances = api_results.known_nuisances(*by_hand(people))
    found = {}
    for weighted in (False, True):
        effects = api_results.effects(people, weighted=weighted, method=method, nuisances=nuisances)
        found["weighted" if weighted else "plain"] = {
            **api_results.effect_values(effects),
            "left": api_results.left(effects, scores_of(people)),
        }
    return found


def linear(method: str, interval: str) -> Mapping[str, Any]:
    """Record effects with linear nuisance models, in few replicates where it is a bootstrap."""
    people = data.synthetic(500)
    models = {"outcome_model": api.linear_model(), "propensity_model": api.linear_model()}
    effects = api_results.effects(people, weighted=True, method=method, interval=interval, **models)
    return {
        **api_results.effect_values(effects),
        "overlap": effects.overlap.to_dict(),
        "left": api_results.left(effects, scores_of(people)),
        "nuisances": _nuisances(effects),
    }


def estimated(name: str, method: str, weighted: bool) -> Mapping[str, Any]:
    """Record effects with the library's own nuisance models."""
    people = _people(name)
    effects = api_results.effects(people, weighted=weighted, method=method)
    return {
        **api_results.effect_values(effects),
        "overlap": effects.overlap.to_dict(),
        "left": api_results.left(effects, scores_of(people)),
        "nuisances": _nuisances(effects),
    }


def numbers() -> Mapping[str, Any]:
    """Record effects on an outcome of numbers: a model's scores."""
    found = {}
    for people in data.all_three():
        effects = api_results.effects(people, scores_of(people), max_extreme_share=1.0)
        found[people.name] = {
            **api_results.effect_values(effects),
            "nuisances": _nuisances(effects),
        }
    return found


def left() -> Mapping[str, Any]:
    """Record the direct effect left by the function of that name."""
    return {
        people.name: api_results.direct_effect_left(people, scores_of(people))
        for people in data.all_three()
    }


def known_curve(method: str) -> Mapping[str, Any]:
    """Record a curve from nuisances that are handed in."""
    people = data.synthetic(500)
    nuisances = api_results.known_nuisances(*by_hand(people))
    return {
        suffix: api_results.effect_curve(people, weighted, method=method, nuisances=nuisances)
        for suffix, weighted in (("plain", False), ("weighted", True))
    }


def curve(name: str, method: str) -> Mapping[str, Any]:
    """Record a curve with the library's own nuisance models."""
    return api_results.effect_curve(_people(name), True, method=method)


def surrogate() -> Mapping[str, Any]:
    """Record regressions on z and b, of every basis, with and without weights."""
    people = data.synthetic(500)
    b, _ = by_hand(people)
    at = np.linspace(0.05, 0.95, 5)
    found = {}
    for basis, degrees in {
        "polynomial": (1, 0), "quadratic": (2, 1), "spline": (6, 4)
    }.items():  # fmt: skip
        settings = {
            "outcome_degree": degrees[0],
            "effect_degree": degrees[1],
            "basis": "spline" if basis == "spline" else "polynomial",
        }
        for suffix, weights in (("plain", None), ("weighted", people.weights)):
            each = api_results.surrogate(people.labels, b, people.codes, weights, **settings)
            values = {
                "alpha": each.outcome_coefficients,
                "beta": each.effect_coefficients,
                "effect": each.effect(at),
                "fair": each.fair(at),
                "target": digest(each.fair_target(people.labels, people.codes, b), 3),
            }
            if basis != "spline":
                values["gamma"] = each.fair_coefficients
            found[f"{basis}/{suffix}"] = values
    return found


def propensity() -> Mapping[str, Any]:
    """Record propensity scores by the default model, by accuracy, cross-fitted, and by another."""
    found = {}
    for people in data.all_three():
        for label, model in {
            "default": api.propensity(),
            "accuracy": api.propensity(scoring="accuracy", Cs=(0.05, 0.5), cv=3),
            "one_C": api.propensity(Cs=(0.1,)),
            "cross_fit": api.propensity(cross_fit=True, cv=3, clip=0.05),
        }.items():
            for suffix, weights in (("plain", None), ("weighted", people.weights)):
                scores = model.fit_predict(people.X, people.codes, weights)
                found[f"{people.name}/{label}/{suffix}"] = {
                    "fitted": digest(scores, 5),
                    "predicted": digest(model.predict(people.X), 5),
                }
        bare = api.propensity(api.linear_model()).fit(people.matrix, people.codes)
        found[f"{people.name}/bare"] = digest(bare.predict(people.matrix), 5)
    return found
