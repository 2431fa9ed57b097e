"""scikit-learn's checks for estimators that need a z, and what several contract tests ask alike.

`checks_of` hands out the checks of a model whose class begins with `MakesUpSensitive`; the
assertions take a model that is not fitted, and data with X, y and z.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from contracts import EXACT
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import check_array, get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.fixes import parse_version

from unsway import DirectEffect, FairTarget, Parity

#: Before 1.7 this check codes the labels of an estimator of two classes by whichever comes first,
#: and shuffles one of its two sets.
BROKEN_FOR_TWO_CLASSES = "check_sample_weight_equivalence_on_dense_data"


def sum_of_columns(X: Any) -> Any:
    """Return one number per row, missing ones left out.

    A model that sees no more cannot tell the groups apart even where columns outnumber rows.
    """
    table = check_array(X, ensure_all_finite="allow-nan")
    return np.nansum(table, axis=1, keepdims=True, dtype=np.float64)


_simple = make_pipeline(FunctionTransformer(sum_of_columns), EXACT)

_simple_mean = make_pipeline(FunctionTransformer(sum_of_columns), LinearRegression())

#: Fair targets of numbers that can be fitted on the few rows of a check.
CHECKED_NUMBERS = FairTarget(
    outcome_model=_simple_mean, propensity_model=_simple, cv=1, max_extreme_share=1
)

#: Criteria that can be fitted on the few rows of a check, by their class.
CHECKED = {
    "Parity": Parity(),
    "DirectEffect": DirectEffect(propensity=_simple),
    "FairTarget": FairTarget(
        outcome_model=_simple, propensity_model=_simple, cv=1, max_extreme_share=1
    ),
}


def made_up_sensitive(X: Any) -> Any:
    """Return a z that depends on a row's own values, so that a repeated row keeps its z.

    It swings with their sum, so that the groups overlap in everything that grows with it.
    """
    table = X if hasattr(X, "shape") else np.asarray(X)
    alternating = np.arange(table.shape[0]) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an infinite or complex X is for fit to refuse
        try:
            z = np.sin(10 * np.asarray(X, dtype=float).sum(axis=1)) > 0
        except (TypeError, ValueError):  # so is a sparse one, or text
            return alternating
    return z if 0 < z.sum() < len(z) else alternating


class MakesUpSensitive:
    """Makes up a z where none is given: scikit-learn's checks know of no such argument."""

    def fit(self, X, y, *, sensitive_features=None, sample_weight=None):
        z = made_up_sensitive(X) if sensitive_features is None else sensitive_features
        return super().fit(X, y, sensitive_features=z, sample_weight=sample_weight)


class StopsOnTrainingRows:
    """Stops early on the training rows: scikit-learn's checks hand in too few for a hold-out."""

    def fit(self, X, y, *, sensitive_features, sample_weight=None):
        eval_set = (X, y, sensitive_features)
        if sample_weight is not None:
            eval_set += (sample_weight,)
        return super().fit(
            X,
            y,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            eval_set=eval_set,
        )


def checks_of(
    model: Any,
    label: str = "",
    *,
    failures: Mapping[str, str] | None = None,
    strict: bool = True,
) -> list[Any]:
    """Return model and check as parameters, by the label and the check's name.

    ``failures`` gives the reason why a check must fail; where not ``strict``, why it may. By
    default those of the installed scikit-learn.
    """
    failures = failures_of_old_versions(model) if failures is None else failures
    found = []
    for estimator, check in estimator_checks_generator(model):
        name = check.func.__name__
        reason = failures.get(name)
        marks = [pytest.mark.xfail(reason=reason, strict=strict)] if reason else []
        found.append(pytest.param(estimator, check, marks=marks, id=label + name))
    return found


def failures_of_old_versions(model: Any) -> dict[str, str]:
    """Return the checks of the installed scikit-learn that no such model can pass, and why."""
    labels = get_tags(model).classifier_tags
    old = parse_version(sklearn.__version__) < parse_version("1.7")
    if not old or labels is None or labels.multi_class:
        return {}
    return {BROKEN_FOR_TWO_CLASSES: "the check itself fits two different labels"}


def frame_of(data: Any) -> pd.DataFrame:
    """Return X under the names of its columns."""
    return pd.DataFrame(data.X, columns=list(data.feature_names))


def assert_renamed_columns_are_refused(model: Any, data: Any) -> None:
    """Check it where predicting."""
    frame = frame_of(data)
    model.fit(frame, data.y, sensitive_features=data.z)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"safe_0": "unheard_of"}))


def assert_reordered_columns_are_refused(model: Any, data: Any) -> None:
    """Check it where predicting."""
    frame = frame_of(data)
    model.fit(frame, data.y, sensitive_features=data.z)
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict_proba(frame[frame.columns[::-1]])


def assert_a_pipeline_routes_roles(model: Any, data: Any) -> None:
    """Check that a model that asks for z and weights gets them behind a scaler."""
    weights = np.random.default_rng(0).uniform(0.5, 1.5, len(data.y))
    roles = {"sensitive_features": data.z, "sample_weight": weights}
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
    pipeline.fit(data.X, data.y, **roles)
    scaled = StandardScaler().fit_transform(data.X)
    alone = clone(model).fit(scaled, data.y, **roles)
    np.testing.assert_allclose(
        pipeline.predict_proba(data.X), alone.predict_proba(scaled), rtol=1e-12
    )


def assert_cross_validate_cuts_roles(model: Any, data: Any, **roles: Any) -> None:
    """Check that the roles a model asks for are cut with the rows of X."""
    train, test = np.split(np.arange(len(data.y)), [2 * len(data.y) // 3])
    result = cross_validate(
        model,
        data.X,
        data.y,
        params=roles,
        cv=[(train, test)],
        return_estimator=True,
        error_score="raise",
    )
    cut = {name: role[train] for name, role in roles.items()}
    by_hand = clone(model).fit(data.X[train], data.y[train], **cut)
    np.testing.assert_array_equal(
        result["estimator"][0].predict_proba(data.X), by_hand.predict_proba(data.X)
    )
