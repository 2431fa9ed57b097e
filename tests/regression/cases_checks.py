"""Cases of the checks: overlap, balance, mean field, verdict and sensitivity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from regression import api_results, data
from regression.cases_effects import by_hand, scores_of
from regression.registry import Case, case

NAMES = ("synthetic", "adult", "german")


def cases() -> Iterator[Case]:
    """Yield the cases."""
    for name in NAMES:
        small = name == "german"
        yield case(f"checks/overlap/{name}", "exact", overlaps, name, fixture=small)
        yield case(f"checks/balance/{name}", "exact", balances, name)
        yield case(f"checks/sensitivity/{name}", "exact", sensitivities, name)
        yield case(f"checks/verdict/{name}", "exact", verdicts, name, fixture=small)
        yield case(f"checks/words/{name}", "words", words, name)
    yield case("checks/balance/small", "exact", small_balance, fixture=True)
    yield case("checks/sensitivity/small", "exact", small_sensitivity, fixture=True)
    yield case("checks/mean_field", "exact", mean_fields, fixture=True)
    yield case("checks/confounding", "exact", confounding, fixture=True)


def _people(name: str) -> Any:
    return {each.name: each for each in data.all_three()}[name]


def _models(people: Any) -> tuple[Any, Any]:
    """Return a propensity and outcome means by formulas of the standardised columns."""
    if people.name == "synthetic":
        return by_hand(people)
    index = people.matrix[:, :5].sum(axis=1)
    b = np.clip(1 / (1 + np.exp(-index / 3 - 0.6)), 0.02, 0.98)
    low = 1 / (1 + np.exp(-people.matrix[:, 3:9].sum(axis=1) / 6))
    return b, np.column_stack([low, np.clip(low + 0.1 * people.matrix[:, 0] / 4, 0, 1)])


def overlaps(name: str) -> Mapping[str, Any]:
    """Record how propensities overlap."""
    people = _people(name)
    b, _ = _models(people)
    return {
        suffix: api_results.overlap(people, b, weighted).to_dict()
        for suffix, weighted in (("plain", False), ("weighted", True))
    }


def _balance(found: Any) -> dict[str, Any]:
    worst = {name: list(found.worst(name)) for name in found.weightings}
    return {**found.to_dict(), "means": found.means.ravel(), "worst_column": worst}


def balances(name: str) -> Mapping[str, Any]:
    """Record the balance of every column under every weighting."""
    people = _people(name)
    b, _ = _models(people)
    own = {"own": 1 + people.codes, "squares": b**2}
    return {
        "raw": _balance(api_results.balance(people)),
        "weighted": _balance(api_results.balance(people, b, weighted=True, weights=own)),
    }


def small_balance() -> Mapping[str, Any]:
    """Record the balance of a few rows and columns of German credit."""
    people = data.german().take(slice(0, 200))
    people = type(people)(**{**vars(people), "X": people.X[["duration", "housing"]]})
    b, _ = _models(people)
    return _balance(api_results.balance(people, b, weighted=True))


def mean_fields() -> Mapping[str, Any]:
    """Record the mean-field check with labels and without."""
    found = {}
    for people in data.all_three():
        b, outcome = _models(people)
        effect = outcome[:, 1] - outcome[:, 0]
        for suffix, mu0, weighted in (
            ("labels", outcome[:, 0], False),
            ("weighted", outcome[:, 0], True),
            ("models", None, False),
        ):
            each = api_results.mean_field(people, effect, b, mu0, weighted)
            found[f"{people.name}/{suffix}"] = {
                **each.to_dict(),
                "scale": each.scale,
                "rows": each.n_rows,
                "bins": [each.bin_scores, each.bin_weights, each.bin_effects, each.bin_spreads],
            }
    return found


def _verdict(people: Any, **thresholds: Any) -> Any:
    b, outcome = _models(people)
    field = api_results.mean_field(people, outcome[:, 1] - outcome[:, 0], b, outcome[:, 0])
    balanced = api_results.balance(people, b)
    return api_results.verdict(api_results.overlap(people, b), balanced, field, **thresholds)


def verdicts(name: str) -> Mapping[str, Any]:
    """Record level, and number, limit and outcome of each check; its words are another case."""
    people = _people(name)
    found = {}
    for label, limits in {
        "usual": {},
        "lenient": {"max_extreme_share": 1.0, "max_standardized_difference": 9.0},
        "severe": {"min_effective_rows": 1e6},
    }.items():
        said = _verdict(people, **limits).to_dict()
        found[label] = {
            "level": said["level"],
            "checks": [
                [each["value"], each["threshold"], each["passed"], each["decisive"]]
                for each in said["findings"]
            ],
        }
    return found


def words(name: str) -> Mapping[str, Any]:
    """Record what the verdict says in words."""
    said = _verdict(_people(name)).to_dict()
    return {
        str(place): f"{each['name']}: {each['sentence']}"
        for place, each in enumerate(said["findings"])
    }


def _sensitivity(found: Any) -> dict[str, Any]:
    adjusted = found.adjusted(0.02, 0.05)
    return {
        **asdict(found),
        "adjusted": adjusted.to_dict(),
        "bounds": list(found.bounds(0.02, 0.05)),
        "bounds_alpha": list(found.bounds(0.02, 0.05, 0.1)),
    }


def sensitivities(name: str) -> Mapping[str, Any]:
    """Record how strong an omitted variable must be, with every column as a benchmark."""
    people = _people(name)
    return {
        "plain": _sensitivity(api_results.sensitivity(people)),
        "weighted": _sensitivity(api_results.sensitivity(people, weighted=True, q=0.5)),
        "scores": _sensitivity(api_results.sensitivity(people, scores_of(people), benchmarks=())),
    }


def small_sensitivity() -> Mapping[str, Any]:
    """Record the same with one group of benchmarks."""
    groups = {"size": ["duration", "credit_amount"], "home": "housing"}
    return _sensitivity(api_results.sensitivity(data.german(), benchmarks=groups))


def confounding() -> Mapping[str, Any]:
    """Record robustness values and E-values of given estimates."""
    found: dict[str, Any] = {}
    for t, dof, q, alpha in ((4.0, 100, 1.0, 1.0), (-2.5, 783, 0.5, 0.05), (12.0, 50, 1.0, 0.1)):
        value = api_results.robustness_value(t, dof, q, alpha)
        found[f"robustness/{t}"] = value
    limits = (0.12, 0.05, 0.19)
    risk = api_results.e_value(*limits, scale="risk_difference", base_risk=0.3)
    found["e_value"] = asdict(risk)
    return found
