"""What estimators around scikit-learn's models share: checks, fitting, tables with z."""

from __future__ import annotations

from abc import ABC, abstractmethod
from inspect import Parameter, signature
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from .._typing import Floats
from ..core import LogLoss, Loss
from ..effects.families import trees_of
from ..tables import EngineTable, check_table, row_count
from .row_fingerprint import share_trained_on
from .summary import summary
from .training import refit

#: Levels a categorical column of scikit-learn's boosting may have; beyond, its codes are numbers.
MOST_LEVELS = 255


class TableBoosting(ClassifierMixin, BaseEstimator):
    """scikit-learn's histogram gradient boosting on any table, with missing values and text.

    Small trees and no hold-out, so that what comes out does not depend on a seed.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([["a", 1.0], ["b", None]] * 40, dtype=object)
    >>> TableBoosting().fit(X, [0, 1] * 40).predict(X[:2]).tolist()
    [0, 1]
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the table's levels and grow the trees."""
        fit_trees(self, LogLoss(), X, y, sample_weight)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for each row."""
        check_is_fitted(self)
        return np.asarray(self.model_.predict_proba(known_columns(self, X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most likely class of each row."""
        return np.asarray(self.classes_[np.argmax(self.predict_proba(X), axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = True
        return tags


def fit_trees(model: Any, loss: Loss, X: Any, y: Any, sample_weight: Any) -> None:
    """Grow scikit-learn's trees of a loss on any table, and keep on a model how it was read."""
    X = check_table(X)
    model.table_ = EngineTable.of(X)
    matrix = model.table_.matrix(X)
    model.known_ = ~np.isnan(matrix).all(axis=0)  # scikit-learn cannot bin an empty column
    levels = np.array([len(model.table_.levels.get(name, ())) for name in model.table_.names])
    model.model_ = trees_of(
        loss,
        max_leaf_nodes=8,
        early_stopping=False,
        categorical_features=((levels > 0) & (levels <= MOST_LEVELS))[model.known_],
        random_state=0,
    ).fit(matrix[:, model.known_], y, sample_weight)


def known_columns(model: Any, X: Any) -> Floats:
    """Return a table as the trees of a model read it."""
    return np.asarray(model.table_.matrix(check_table(X, smallest=1))[:, model.known_])


class WrappedClassifier(ClassifierMixin, BaseEstimator, ABC):
    """A fair score around a scikit-learn classifier, `estimator`, of which there may be none."""

    #: Whether labels may have more than two classes.
    several_classes: ClassVar[bool] = True

    estimator: Any
    classes_: NDArray[Any]

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        adjust_for: Any = None,
    ) -> Self:
        """Fit on covariates X, labels y and the sensitive attribute.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Covariates, without the sensitive attribute.
        y : column of length n_samples
            Labels of two classes, or of more where the estimator takes them.
        sensitive_features : column of length n_samples
            The sensitive attribute, two levels. Not needed after ``fit``.
        sample_weight : column of length n_samples, optional
            Weights of the rows.
        adjust_for : table of shape (n_samples, n_columns), optional
            Columns from before the sensitive attribute that the model may not use: the models of
            propensity and outcome see them beside X. Not needed after ``fit``.

        Returns
        -------
        self
            The fitted classifier.
        """
        given = X, y, sensitive_features, sample_weight
        return refit(self, lambda fresh: fresh._fit(*given, adjust_for=adjust_for))

    @abstractmethod
    def _fit(self, X: Any, y: Any, *roles: Any, adjust_for: Any = None) -> None:
        """Check and fit."""

    share_trained_on = share_trained_on
    summary = summary

    @abstractmethod
    def fair_score(self, X: Any) -> Floats:
        """Return the score of each row as it is: it may lie below 0 or above 1.

        Of more than two classes there is a column for each.
        """

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for each row, clipped to [0, 1]."""
        scores = np.clip(self.fair_score(X), 0, 1)
        if scores.ndim == 1:
            return np.column_stack([1 - scores, scores])
        return scores / scores.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most likely class of each row."""
        likeliest = np.argmax(self.predict_proba(X), axis=1)
        return np.asarray(self.classes_[likeliest])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.several_classes
        tags.input_tags.allow_nan = allows_missing(self.estimator)
        return tags


def inner_classifier(estimator: Any, sample_weight: Any = None) -> Any:
    """Return a fresh copy of the user's classifier, or of the default; refuse what cannot serve."""
    if estimator is None:
        return TableBoosting()
    check_inner(estimator, "classifier, such as LogisticRegression()", sample_weight)
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"{type(estimator).__name__} has no predict_proba, which the score is made of; use a "
            "classifier that has it, or wrap this one in CalibratedClassifierCV"
        )
    return clone(estimator)


def check_inner(estimator: Any, kind: str, sample_weight: Any = None) -> None:
    """Raise unless this is an estimator, of this kind, that takes weights if there are some."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"estimator must be a scikit-learn {kind}; got {estimator!r}")
    if sample_weight is not None and not _takes_weights(estimator):
        raise TypeError(
            f"{type(_last_step(estimator)).__name__}.fit takes no sample_weight; leave the "
            "weights out or use another estimator"
        )


def fit_inner(model: Any, X: Any, y: NDArray[Any], sample_weight: Floats | None) -> Any:
    """Fit an estimator, passing the weights to the last step of a pipeline."""
    last = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
    weights = {} if sample_weight is None else {f"{last}sample_weight": sample_weight}
    with sklearn.config_context(enable_metadata_routing=False):  # nothing inside can request them
        return model.fit(X, y, **weights)


def class_scores(model: Any, X: Any) -> Floats:
    """Return a fitted classifier's P(second class | X), or of several classes a column for each."""
    found = np.asarray(model.predict_proba(X), dtype=np.float64)
    return found[:, 1] if found.shape[1] == 2 else found


def positive_probability(model: Any, X: Any) -> Floats:
    """Return a fitted binary classifier's P(second class | X)."""
    return np.asarray(model.predict_proba(X)[:, 1], dtype=np.float64)


def allows_missing(estimator: Any) -> bool:
    """Return whether the estimator inside says that it takes NaN."""
    return estimator is None or bool(get_tags(estimator).input_tags.allow_nan)


def with_sensitive_column(X: Any, z: Floats) -> Any:
    """Return a table with z as its last column, under a name that no other column has.

    Examples
    --------
    >>> import numpy as np
    >>> with_sensitive_column(np.array([[5.0], [6.0]]), np.array([0.0, 1.0])).tolist()
    [[5.0, 0.0], [6.0, 1.0]]
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        backend = nw.get_native_namespace(frame)
        series = nw.from_dict({"z": z}, backend=backend)["z"]
        return frame.with_columns(series.alias(_free_name(list(frame.columns)))).to_native()
    array = np.asarray(X)
    if array.dtype.kind == "f":
        z = z.astype(array.dtype)
    elif array.dtype.kind in "US":  # text and numbers keep their types
        array = array.astype(object)
    return np.column_stack([array, z])


def all_rows(X: Any, level: int) -> Any:
    """Return the table as if every row were of this level of z."""
    return with_sensitive_column(X, np.full(row_count(X), float(level)))


def _free_name(names: list[Any]) -> Any:
    if names and not any(isinstance(name, str) for name in names):
        return max(names) + 1  # pandas numbers columns that have no names
    name = "sensitive_features"
    while name in names:
        name += "_"
    return name


def _last_step(estimator: Any) -> Any:
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def _takes_weights(estimator: Any) -> bool:
    parameters = signature(_last_step(estimator).fit).parameters
    passes_on = any(each.kind is Parameter.VAR_KEYWORD for each in parameters.values())
    return passes_on or "sample_weight" in parameters


def refuse_adjusting(model: Any, adjust_for: Any) -> None:
    """Raise if an estimator without models of propensity and outcome is to adjust for columns."""
    if adjust_for is not None:
        raise ValueError(
            f"{type(model).__name__} has no models that adjust_for would inform; use "
            "FairTargetClassifier or FairTargetRegressor"
        )
