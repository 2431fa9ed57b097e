"""Cases of the data sets: synthetic worlds with their truth, and the tables that are shipped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from regression import api
from regression.registry import Case, case, digest

#: The worlds of the fixture; a full recording has them all.
IN_FIXTURE = (
    "paper",
    "varying_effect",
    "poor_overlap",
    "imbalanced",
    "no_direct_effect",
    "opposed_effects",
    "many_noise_features",
)


def cases() -> Iterator[Case]:
    """Yield the cases."""
    for name in api.world_names():
        yield case(f"data/world/{name}", "exact", world, name, fixture=name in IN_FIXTURE)
    yield case("data/synthetic", "exact", synthetic, fixture=True)
    for features in ("paper", "all"):
        yield case(f"data/adult/{features}", "exact", adult, features)
    yield case("data/german/age", "exact", german, "age", 25)
    yield case("data/german/age_30", "exact", german, "age", 30)
    yield case("data/german/sex", "exact", german, "sex", 25)
    yield case("data/berkeley", "exact", table, api.berkeley_table, fixture=True)


def _drawn(found: Any) -> dict[str, Any]:
    rows = ("X", "y", "z", "coefficients", "propensity", "fair_score")
    return {
        "effects": asdict(found.effects),
        "names": list(found.feature_names),
        **{name: digest(np.nan_to_num(getattr(found, name)), 4) for name in rows},
    }


def world(name: str) -> Mapping[str, Any]:
    """Record rows and truth of a world."""
    return _drawn(api.synthetic_world(name, 200, seed=7))


def synthetic() -> Mapping[str, Any]:
    """Record the paper's world under its own name."""
    return _drawn(api.paper_world(100, seed=1))


def adult(features: str) -> Mapping[str, Any]:
    """Record the test rows of Adult."""
    return table(lambda: api.adult_table("test", features))


def german(sensitive: str, age_threshold: float) -> Mapping[str, Any]:
    """Record German credit."""
    return table(lambda: api.german_table(sensitive, age_threshold))


def table(load: Any) -> Mapping[str, Any]:
    """Record a table as one-hot columns, with labels, z and weights."""
    found = load()
    matrix, names = found.to_matrix()
    weights = found.sample_weight
    return {
        "names": list(names),
        "matrix": digest(matrix),
        "y": digest(found.y, 4),
        "z": digest(found.z, 4),
        "weights": None if weights is None else digest(weights, 4),
    }
