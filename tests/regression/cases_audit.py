"""Cases of audits, comparisons and group metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from regression import api, api_results, data
from regression.cases_effects import scores_of
from regression.registry import Case, case

SKLEARN = ("scikit-learn",)
NAMES = ("synthetic", "adult", "german")


def cases() -> Iterator[Case]:
    """Yield the cases."""
    for name in NAMES:
        for weighted in (False, True):
            suffix = f"{name}/{'weighted' if weighted else 'plain'}"
            small = name == "german" and weighted
            yield case(f"audit/{suffix}", "iterative", audited, name, weighted, engines=SKLEARN)
            yield case(
                f"audit/metrics/{suffix}", "exact", metrics_alone, name, weighted, fixture=small
            )
            yield case(f"compare/{suffix}", "iterative", compared, name, weighted, engines=SKLEARN)
            yield case(f"metrics/{suffix}", "exact", group_metrics, name, weighted, fixture=small)
        yield case(f"audit/verdict/{name}", "iterative", verdict, name, engines=SKLEARN)
        yield case(f"audit/words/{name}", "words", words, name)
    yield case("audit/linear", "iterative", linear, engines=SKLEARN, fixture=True)
    yield case("audit/part", "iterative", part_of_rows, engines=SKLEARN)
    yield case("compare/alone", "exact", compared_alone, fixture=True)


def _people(name: str) -> Any:
    return {each.name: each for each in data.all_three()}[name]


def _other(people: Any) -> Any:
    """Return another model's scores, by a formula."""
    return 1 / (1 + np.exp(-people.matrix[:, 2:6].sum(axis=1) / 3))


def _numbers(found: Any) -> dict[str, Any]:
    """Return an audit without its verdicts, whose limits and words are other cases."""
    values = found.to_dict()
    del values["verdict"]
    if values["causal"] is not None:
        del values["causal"]["verdict"]
    return values


def audited(name: str, weighted: bool) -> Mapping[str, Any]:
    """Record an audit beside a baseline, causal part and all."""
    people = _people(name)
    found = api_results.audit(people, scores_of(people), weighted, baseline=_other(people))
    return _numbers(found)


def metrics_alone(name: str, weighted: bool) -> Mapping[str, Any]:
    """Record an audit without covariates."""
    people = _people(name)
    found = api_results.audit(
        people, scores_of(people), weighted, with_X=False, calibration_strategy="quantile",
        n_bootstrap=5, calibration_bins=3, threshold=0.4,
    )  # fmt: skip
    return _numbers(found)


def linear() -> Mapping[str, Any]:
    """Record an audit with linear models and effects by bootstrap; balance and curves aside."""
    people = data.synthetic(500)
    models = {"outcome_model": api.linear_model(), "propensity_model": api.linear_model()}
    found = api_results.audit(
        people, scores_of(people), effect_interval="bootstrap", n_bootstrap=4, outcome_degree=2,
        effect_degree=1, calibration_bins=2, threshold=0.5, **models,
    )  # fmt: skip
    values = _numbers(found)["causal"]
    return {
        key: values[key] for key in ("direct_effect_left", "labels", "scores", "surrogate", "rows")
    }


def part_of_rows() -> Mapping[str, Any]:
    """Record an audit whose effects are estimated on a part of the rows."""
    people = data.adult()
    found = api_results.audit(
        people, scores_of(people), max_rows_for_effects=600, n_bootstrap=0, threshold=0.5
    )
    return _numbers(found)


def verdict(name: str) -> Mapping[str, Any]:
    """Record the level of an audit's verdict, and number, limit and outcome of each check."""
    people = _people(name)
    said = api_results.audit(people, scores_of(people), n_bootstrap=0).to_dict()["causal"]
    return {
        "level": said["verdict"]["level"],
        "checks": [
            [each["value"], each["threshold"], each["passed"], each["decisive"]]
            for each in said["verdict"]["findings"]
        ],
    }


def words(name: str) -> Mapping[str, Any]:
    """Record an audit in words."""
    people = _people(name)
    found = api_results.audit(people, scores_of(people), n_bootstrap=0)
    return {"verdict": found.verdict, "text": found.to_text()}


def compared(name: str, weighted: bool) -> Mapping[str, Any]:
    """Record two models beside a reference."""
    people = _people(name)
    scores = {"labels": people.labels, "other": _other(people), "model": scores_of(people)}
    return api_results.compare(people, scores, weighted).to_dict()


def compared_alone() -> Mapping[str, Any]:
    """Record a comparison without covariates."""
    people = data.german()
    scores = {"other": _other(people), "model": scores_of(people)}
    found = api_results.compare(people, scores, with_X=False, n_bootstrap=5, threshold=0.5)
    return found.to_dict()


def group_metrics(name: str, weighted: bool) -> Mapping[str, Any]:
    """Record every metric of decisions and of scores."""
    people = _people(name)
    scores = scores_of(people)
    decisions = (scores > 0.55).astype(int)
    found: dict[str, Any] = {}
    for metric in api_results.DECISION_METRICS:
        for method in ("between_groups", "to_overall"):
            how = {"method": method}
            value = api_results.decision_metric(metric, people, decisions, weighted, **how)
            found[f"{metric}/{method}"] = value
            if metric.startswith("equalized_odds"):
                how["agg"] = "mean"
                value = api_results.decision_metric(metric, people, decisions, weighted, **how)
                found[f"{metric}/{method}/mean"] = value
    found["score_gap"] = api_results.score_metric("score_gap", people, scores, weighted)
    for threshold in (0.3, 0.5):
        found[f"selection_rate_difference/{threshold}"] = api_results.score_metric(
            "selection_rate_difference", people, scores, weighted, threshold=threshold
        )
    return found
