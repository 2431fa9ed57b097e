"""A logistic regression as scikit-learn's own, for tools that know only that one."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted


def to_sklearn(self: Any) -> Any:
    """Return the model as a fitted scikit-learn model with the same probabilities.

    Use it to serve the model without unsway, or to convert it to ONNX. skl2onnx 1.20 converts the
    imputer's indicators of missing numbers wrongly: fill those in before ``fit`` for ONNX.

    Returns
    -------
    LogisticRegression or Pipeline
        A pipeline with the imputer if there were missing numbers in ``fit``.

    Examples
    --------
    >>> from unsway import FairLogisticRegression, make_synthetic
    >>> data = make_synthetic(2_000, random_state=0)
    >>> model = FairLogisticRegression().fit(data.X, data.y, sensitive_features=data.z)
    >>> bool(np.allclose(model.to_sklearn().predict_proba(data.X), model.predict_proba(data.X)))
    True
    """
    check_is_fitted(self)
    plain = LogisticRegression()
    plain.classes_ = self.classes_
    plain.coef_, plain.intercept_ = self.coef_.copy(), np.ravel(self.intercept_).copy()
    plain.n_features_in_, plain.n_iter_ = self.coef_.shape[1], self.n_iter_
    imputer = copy(self.imputer_)
    first = plain if imputer is None else imputer
    if hasattr(self, "feature_names_in_"):
        first.feature_names_in_ = self.feature_names_in_
    return plain if imputer is None else make_pipeline(imputer, plain)
