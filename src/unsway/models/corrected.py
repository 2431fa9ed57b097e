"""The fair score in closed form: any classifier's score, corrected along the propensity."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import Floats
from ..checks import check_number
from ..criteria import DirectEffect, fit_criterion
from ..grouping import Grouping
from .labels import criterion_of
from .training import read_rows, read_table
from .wrapping import (
    WrappedClassifier,
    fit_inner,
    inner_classifier,
    positive_probability,
    refuse_adjusting,
)


class DirectEffectCorrector(WrappedClassifier):
    """Take the direct effect of z out of any classifier's score, after it was fitted.

    A model blind to z scores E[y | X], in which X stands in for z: E[y | b] = E[y | z=0, b] +
    b·MFCDE(b), b the propensity score. The fair score has ½ in the place of b::

        f*(X) = E[y | X] + s·(½ − b(X))·MFCDE(b(X))

    At s = 1 its gap between the groups is the explained one, which goes through X. No loss is
    changed and nothing is trained twice, which makes it a baseline for the penalised models and a
    way to correct a classifier that takes no loss of ours. z is needed in ``fit`` alone.

    Parameters
    ----------
    estimator : scikit-learn classifier with ``predict_proba``, optional
        The model of E[y | X]. Gradient boosting by default, which takes missing values and text.
    criterion : DirectEffect, optional
        Its propensity, degrees and basis give MFCDE(b); norm and form play no part. By default
        ``DirectEffect(5, 2, norm="function", basis="spline")``: splines for the outcome, a
        quadratic for the effect.
    strength : float, default=1
        s, from 0 (the estimator's own score) to 1 (the whole correction).
    calibrate : bool, default=True
        Whether E[y − p | b], what the estimator's score p misses along b, is added as well. The gap
        is explained only if nothing is missed there.
    max_clipped_share : float, default=0.02
        Warn when a larger share of the training rows has a score outside [0, 1].
    groups : Grouping, optional
        How the sensitive attribute is read, such as its reference level.

    Attributes
    ----------
    estimator_ : classifier
        The fitted model of E[y | X].
    propensity_ : Propensity
        The fitted model of b.
    surrogate_, score_surrogate_ : Surrogate
        Of the labels and of the estimator's scores, given z and b.
    strength_ : float
        s.
    clipped_share_ : float
        Share of the training rows, by weight, with a score outside [0, 1].
    classes_ : array of shape (2,)
    sensitive_levels_ : tuple
        What z = 0 and z = 1 stand for.

    Notes
    -----
    With α̃, β̃ the surrogate of the scores p and γ = E[y | z=0, b] + ½·MFCDE(b) the fair curve of
    the labels, the calibrated score is f = p + s·(γ(b) − α̃(b) − b·β̃(b)). It averages to γ(b)
    among rows of one b, whatever the estimator.

    The sum of a probability and a correction can leave [0, 1]. `fair_score` returns it as it is;
    ``predict_proba`` clips it, and ``fit`` warns when that concerns many rows, because a clipped
    score no longer has the gap of f.

    The correction is a function of b: where the direct effect differs between people of one b,
    each gets their average.

    References
    ----------
    Di Stefano, Hickey & Vasileiou (2020), arXiv:2002.10774.

    Examples
    --------
    At x = 0 a quarter is of z = 1, at x = 1 three quarters, and z adds .2 to P(y=1) everywhere. The
    blind scores .25 and .75 become .25 + (½ − ¼)·.2 and .75 + (½ − ¾)·.2:

    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from unsway import DirectEffect
    >>> X, z = np.repeat([[0.0], [1.0]], 20, axis=0), np.repeat([0, 1, 0, 1], [15, 5, 5, 15])
    >>> y = np.repeat([1, 0, 1, 0, 1, 0, 1, 0], [3, 12, 2, 3, 3, 2, 12, 3])
    >>> tree = DecisionTreeClassifier()
    >>> model = DirectEffectCorrector(tree, criterion=DirectEffect(propensity=tree))
    >>> model.fit(X, y, sensitive_features=z).fair_score([[0.0], [1.0]]).round(6).tolist()
    [0.3, 0.7]
    """

    several_classes = False

    def __init__(
        self,
        estimator: Any = None,
        *,
        criterion: Any = None,
        strength: float = 1.0,
        calibrate: bool = True,
        max_clipped_share: float = 0.02,
        groups: Grouping | None = None,
    ) -> None:
        self.estimator = estimator
        self.criterion = criterion
        self.strength = strength
        self.calibrate = calibrate
        self.max_clipped_share = max_clipped_share
        self.groups = groups

    @staticmethod
    def default_criterion() -> DirectEffect:
        """Return the criterion that is used where none is given."""
        return DirectEffect(5, 2, norm="function", basis="spline")

    def _fit(self, X: Any, y: Any, *roles: Any, adjust_for: Any = None) -> None:
        refuse_adjusting(self, adjust_for)
        criterion = corrector_criterion(self)
        model = inner_classifier(self.estimator, roles[1])
        X = read_table(self, X, reset=True)
        rows = read_rows(self, X, y, *roles)
        self.strength_ = float(self.strength)
        self.estimator_ = fit_inner(model, X, rows.outcome.as_given(), rows.weights)
        scores = positive_probability(self.estimator_, X)
        fitted = fit_criterion(criterion, rows)
        self.propensity_: Any = fitted.model
        b = np.asarray(fitted.row_values)
        design = fitted.criterion.design(rows, b)
        self.surrogate_, self.score_surrogate_ = design.fit(rows.y), design.fit(scores)
        self._count_clipped(scores + self.strength_ * self._correction(b), rows.weights)

    def correction(self, X: Any) -> Floats:
        """Return what full strength adds to the estimator's score of each row."""
        check_is_fitted(self)
        X = read_table(self, X, reset=False)
        return self._correction(self.propensity_.predict(X))

    def fair_score(self, X: Any) -> Floats:
        """Return f of each row as it is: it may lie below 0 or above 1."""
        check_is_fitted(self)
        X = read_table(self, X, reset=False)
        scores = positive_probability(self.estimator_, X)
        return scores + self.strength_ * self._correction(self.propensity_.predict(X))

    def _correction(self, b: Floats) -> Floats:
        added = (0.5 - b) * self.surrogate_.effect(b)
        if self.calibrate:  # E[y − p | b]: the mean of a surrogate over z is its value at z = b
            added += self.surrogate_.outcome(b, b) - self.score_surrogate_.outcome(b, b)
        return added

    def _count_clipped(self, scores: Floats, weights: Floats | None) -> None:
        outside = (scores < 0) | (scores > 1)
        self.clipped_share_ = float(np.average(outside, weights=weights))
        if self.clipped_share_ > self.max_clipped_share:
            warnings.warn(
                f"{self.clipped_share_:.1%} of the corrected scores lie outside [0, 1] (more than "
                f"{self.max_clipped_share:.1%}) and predict_proba clips them, which changes the "
                "gap between the groups; lower the criterion's effect_degree or the strength",
                UserWarning,
                stacklevel=4,
            )


def corrector_criterion(model: DirectEffectCorrector) -> Any:
    """Check the settings of a corrector, and return the criterion it will use."""
    for name in ("strength", "max_clipped_share"):
        check_number(getattr(model, name), name, at_least=0, at_most=1)
    if not isinstance(model.calibrate, bool | np.bool_):
        raise TypeError(f"calibrate must be True or False; got {model.calibrate!r}")
    criterion = criterion_of(model)
    if not isinstance(getattr(criterion, "criterion", criterion), DirectEffect):
        raise TypeError(
            f"criterion must be a DirectEffect, which has an effect to correct for; got "
            f"{criterion!r}"
        )
    return criterion
