"""Fair targets for any scikit-learn classifier that takes sample weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import Floats
from ..criteria import FairTarget, choose_strength
from ..grouping import Grouping
from ..tables import take
from .labels import criterion_of
from .training import fit_for, read_rows, read_table
from .wrapping import (
    WrappedClassifier,
    class_scores,
    fit_inner,
    inner_classifier,
)


class FairTargetClassifier(WrappedClassifier):
    """Train any classifier on labels from which the direct effect of z is taken out.

    A classifier takes no real-valued target, but a weighted copy of a row for each class carries
    them: weight t with label 1 and weight 1−t with label 0 have the log-loss of the target t.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        Its ``fit`` must take ``sample_weight``; CatBoost's classifier will do. Gradient boosting by
        default.
    criterion : FairTarget, optional
        How the direct effect at each row is estimated: by default with scikit-learn's models. One
        classifier is trained: ``smoothing="auto"`` is 0 here.
    strength : float
        Share of the direct effect that is taken out, from 0 to 1.
    groups : Grouping, optional
        How the sensitive attribute is read, such as its reference level.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    stretch_ : float
        a, see Notes.
    classes_, strength_, sensitive_levels_
        As in the other estimators.

    Notes
    -----
    Fair targets t reach below 0 and above 1, weights must not. With a the largest excess below 0
    in any of C classes, the classifier is trained on (t+a)/(1+Ca), which lies within [0, 1], and
    its probability q is read back as q(1+Ca) − a: no target is clipped, and E[t|X] is what q tends
    to. ``fair_score`` may leave [0, 1] by a little; ``predict_proba`` clips it.

    References
    ----------
    Di Stefano, Hickey & Vasileiou (2020), arXiv:2002.10774.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from unsway import make_synthetic, score_gap
    >>> data = make_synthetic(2_000, random_state=0)
    >>> model = FairTargetClassifier(LogisticRegression())
    >>> p = model.fit(data.X, data.y, sensitive_features=data.z).predict_proba(data.X)[:, 1]
    >>> abs(score_gap(data.y, p, sensitive_features=data.z) - data.effects.explained) < 0.03
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        criterion: Any = None,
        strength: float = 1.0,
        groups: Grouping | None = None,
    ) -> None:
        self.estimator = estimator
        self.criterion = criterion
        self.strength = strength
        self.groups = groups

    def _fit(self, X: Any, y: Any, *roles: Any, adjust_for: Any = None) -> None:
        criterion = fair_target_of(self)
        model = inner_classifier(self.estimator, sample_weight=1)
        X = read_table(self, X, reset=True)
        rows = read_rows(self, X, y, *roles, adjust_for=adjust_for)
        fitted = fit_for(criterion, self.strength_, rows)
        targets = fitted.objective(rows).at(self.strength_).shifted_target()
        if targets.ndim == 1:
            targets = np.column_stack([1 - targets, targets])
        self.stretch_ = _largest_excess(targets, rows.weights)
        inside = (targets + self.stretch_) / (1 + targets.shape[1] * self.stretch_)
        copies, labels, weights = _copies(inside, rows.weights)
        # a forest, for one, draws other rows once there are weights, even if each is 1
        plain = rows.weights is None and bool((weights == 1).all())
        self.estimator_ = fit_inner(
            model, take(X, copies), self.classes_[labels], None if plain else weights
        )

    def fair_score(self, X: Any) -> Floats:
        """Return the score of each row as it is: it may lie below 0 or above 1.

        Of more than two classes there is a column for each.
        """
        check_is_fitted(self)
        X = read_table(self, X, reset=False)
        scores = class_scores(self.estimator_, X)
        return scores * (1 + len(self.classes_) * self.stretch_) - self.stretch_


def fair_target_of(model: Any) -> Any:
    """Return the fair target of an estimator that takes no other criterion; note its strength."""
    criterion = criterion_of(model)
    settings = getattr(criterion, "criterion", criterion)  # those of a fitted one
    if not isinstance(settings, FairTarget):
        raise TypeError(f"criterion must be a FairTarget; got {model.criterion!r}")
    model.strength_ = choose_strength(criterion, model.strength)
    return criterion


def _largest_excess(targets: Floats, weights: Floats | None) -> float:
    """Return by how much a target of some weight, of any class, is below 0.

    Examples
    --------
    >>> _largest_excess(np.array([[-0.25, 1.25], [-1.0, 2.0]]), np.array([1.0, 0.0]))
    0.25
    """
    counted = targets if weights is None else targets[weights > 0]
    return float(max(0.0, -counted.min()))


def _copies(targets: Floats, weights: Floats | None) -> tuple[Any, Any, Floats]:
    """Return rows, labels and weights that carry the targets; copies without weight stay out.

    Examples
    --------
    >>> rows, labels, weights = _copies(np.array([[0.0, 1.0], [0.75, 0.25]]), None)
    >>> rows.tolist(), labels.tolist(), weights.tolist()
    ([0, 1, 1], [1, 0, 1], [1.0, 0.75, 0.25])
    """
    n_rows, n_classes = targets.shape
    rows = np.repeat(np.arange(n_rows), n_classes)
    labels = np.tile(np.arange(n_classes), n_rows)
    shares = targets.ravel()
    if weights is not None:
        shares = shares * weights[rows]
    kept = shares > 0
    return rows[kept], labels[kept], shares[kept]
