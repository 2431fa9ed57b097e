"""The log-loss of scores against the fair score, which no row shows, estimated from labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from .._typing import Floats, Index
from ..checks import check_integer, read_column
from ..effects import CrossFit, Estimate, Nuisances, overlap
from ..effects.estimate import check_confidence
from ..effects.estimation_input import check_clusters, check_nuisances
from ..effects.influence import Mean
from ..effects.overlap import MAX_EXTREME_SHARE
from ..effects.separation import warn_of_extremes
from ..grouping import Grouping
from ..rows import Rows
from .causal import why_no_effects
from .inputs import check_rows, check_scores

#: Scores of 0 and 1 count as these, for the loss to be finite.
LEAST = float(np.finfo(np.float64).eps)


def fair_log_loss(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, X: Any, **options: Any
) -> Estimate:
    """Estimate the log-loss of scores against the fair score: the smaller, the closer to it.

    Labels hold the direct effect of z, so that the log-loss against them is smallest at the blind
    score E[y|X]. With μ_z(X) = E[y|X,z] the fair score is f(X) = ½(μ₀(X) + μ₁(X)), and ::

        L = E[ −f log p − (1−f) log(1−p) ]

    is smallest at p = f. f is not known, but it is the mean given X of a doubly robust target, with
    π_z = P(z|X)::

        t = ½(μ̂₀ + μ̂₁) + (y − μ̂_z) / (2 π̂_z)

    if either the outcome models or the propensity are right. L is linear in f, so that the mean of
    −t log p − (1−t) log(1−p) estimates it. The models of μ and π are cross-fitted on these rows,
    whatever the model that is judged was trained with.

    Parameters
    ----------
    y_true : column of length n
        Labels of two classes, best of rows that the model was not trained on.
    y_pred : column of length n
        The model's probabilities of the positive class. 0 and 1 count as 2e-16 and 1 − 2e-16.
    sensitive_features : column of length n
        z, with two levels.
    X : frame or array
        The covariates.
    **options
        Passed to `FairLogLoss.fit`: ``cv=5``, ``repeats=3``, ``clip=0.01``, ``random_state=0``, the
        models and more.

    Returns
    -------
    Estimate
        The loss with its standard error. That of the fair score itself is not 0 but its entropy. To
        compare models on the same rows use `FairLogLoss`: a difference is much more precise.

    References
    ----------
    Robins, Rotnitzky & Zhao (1994), "Estimation of regression coefficients when some regressors are
    not always observed", JASA 89(427). Foster & Syrgkanis (2023), "Orthogonal statistical
    learning", Annals of Statistics 51(3).

    Examples
    --------
    Four rows with known nuisances: t is ½ + ½/(2·½) = 1 where y = 1, and 0 where y = 0, so that a
    score of .8 has the loss −½(log .8 + log .2):

    >>> known = Nuisances(np.full(4, 0.5), np.full((4, 2), 0.5))
    >>> people = {"sensitive_features": [0, 0, 1, 1], "X": np.ones((4, 1)), "nuisances": known}
    >>> round(fair_log_loss([0, 1, 0, 1], [0.8] * 4, **people).estimate, 4)
    0.9163
    """
    labels, _ = read_column(y_true, "y_true")
    scores = check_scores(y_pred, len(labels), "y_pred")
    options = {"sensitive_features": sensitive_features, "X": X, **options}
    return FairLogLoss.fit(y_true, **options).of(scores)


@dataclass(frozen=True, kw_only=True, eq=False)
class FairLogLoss:
    """The fair log-loss of any scores of the same rows, and differences between models.

    The models behind it are fitted once, by `FairLogLoss.fit`; `fair_log_loss` has the formula.

    Parameters
    ----------
    target : array of shape (n,)
        t, whose mean given X is the fair score. It may lie outside [0, 1].
    weights : array of shape (n,)
        Weights of the rows, of mean 1.
    clusters : array of int of shape (n,), default=None
        The cluster of each row, from 0 on; None where rows are independent.
    confidence : float, default=0.95
        Share of intervals that should hold the truth.

    Examples
    --------
    >>> judge = FairLogLoss(target=np.array([1.0, 0.0]), weights=np.ones(2))
    >>> round(judge.of([0.8, 0.2]).estimate, 4)  # −log .8
    0.2231
    >>> round(judge.difference([0.8, 0.2], [0.5, 0.5]).estimate, 4)  # −log .8 + log .5
    -0.47
    """

    target: Floats = field(repr=False)
    weights: Floats = field(repr=False)
    clusters: Index | None = field(default=None, repr=False)
    confidence: float = 0.95

    @classmethod
    def fit(
        cls,
        y_true: Any,
        *,
        sensitive_features: Any,
        X: Any,
        sample_weight: Any = None,
        cluster: Any = None,
        groups: Grouping | None = None,
        outcome_model: Any = None,
        propensity_model: Any = None,
        nuisances: Nuisances | None = None,
        cv: int = 5,
        repeats: int = 3,
        clip: float = 0.01,
        confidence: float = 0.95,
        max_extreme_share: float = MAX_EXTREME_SHARE,
        random_state: int = 0,
    ) -> Self:
        """Cross-fit the outcome models and the propensity on the rows.

        Parameters
        ----------
        y_true, sensitive_features, X
            As in `fair_log_loss`.
        sample_weight : column of length n, default=None
            Weights of the rows; None weighs all rows equally.
        cluster : column of length n, default=None
            What several rows belong to, as in `estimate_effects`.
        groups : Grouping, optional
            How the sensitive attribute is read, such as its reference level.
        outcome_model, propensity_model : scikit-learn model or list of them, default=None
            As in `estimate_effects`.
        nuisances : Nuisances, default=None
            Predictions made before, in place of fitting.
        cv : int, default=5
            Folds of the cross-fitting.
        repeats : int, default=3
            How often the models are cross-fitted, with other folds each time; the target is the
            mean, which depends less on how the folds happen to fall.
        clip : float, default=0.01
            Propensities are kept within [clip, 1−clip].
        confidence : float, default=0.95
            Share of intervals that should hold the truth.
        max_extreme_share : float, default=0.25
            Warn when a larger share of propensities lies outside [.05, .95].
        random_state : int, default=0
            Seed of the first folds; each repeat takes the next one.

        Returns
        -------
        FairLogLoss
        """
        check_confidence(confidence)
        check_integer(repeats, "repeats", at_least=1)
        check_integer(random_state, "random_state", at_least=0)
        rows, _ = check_rows(y_true, {}, sensitive_features, X, sample_weight, groups, cluster)
        check_clusters(rows, cv)
        if nuisances is None:
            models = {"outcome_model": outcome_model, "propensity_model": propensity_model}
            seeds = range(random_state, random_state + repeats)
            found = _cross_fitted(rows, seeds, **models, cv=cv, clip=clip)
        else:
            check_nuisances(nuisances, rows.z, needs_outcome=True)
            found = [nuisances]
        _warn_about_overlap(rows, found, max_extreme_share)
        target = np.mean([fair_score_target(rows.y, rows.z, each) for each in found], axis=0)
        weights = rows.mean_one_weights
        return cls(target=target, weights=weights, clusters=rows.clusters, confidence=confidence)

    def __len__(self) -> int:
        return len(self.target)

    def of(self, y_pred: Any) -> Estimate:
        """Return the fair log-loss of a model's scores.

        Parameters
        ----------
        y_pred : column of length n
            Probabilities of the positive class, of the rows that the models were fitted on.

        Returns
        -------
        Estimate
        """
        return self._mean(self._losses(y_pred, "y_pred"))

    def difference(self, first: Any, second: Any) -> Estimate:
        """Return the loss of one model's scores minus that of another's, on the same rows.

        Parameters
        ----------
        first, second : columns of length n
            Probabilities of the positive class.

        Returns
        -------
        Estimate
            Below 0 the first scores are closer to the fair score. The standard error is that of the
            paired differences.
        """
        return self._mean(self._losses(first, "first") - self._losses(second, "second"))

    def _losses(self, y_pred: Any, role: str) -> Floats:
        """Return −t log p − (1−t) log(1−p) of each row."""
        p = check_scores(y_pred, len(self), role).clip(LEAST, 1 - LEAST)
        return np.asarray(-self.target * np.log(p) - (1 - self.target) * np.log1p(-p))

    def _mean(self, losses: Floats) -> Estimate:
        mean = Mean.average(losses, self.weights, self.clusters)
        return Estimate.normal(mean.value, mean.se, self.confidence)


def fair_score_target(y: Floats, z: Floats, nuisances: Nuisances) -> Floats:
    """Return ½(μ₀ + μ₁) + (y − μ_z)/(2π_z), whose mean given X is the fair score.

    Parameters
    ----------
    y, z : arrays of shape (n,)
        Labels and sensitive attribute, 0 or 1.
    nuisances : Nuisances
        Of the rows.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> known = Nuisances(np.array([0.25, 0.25]), np.array([[0.2, 0.6], [0.2, 0.6]]))
    >>> fair_score_target(np.array([1.0, 1.0]), np.array([0.0, 1.0]), known).round(4).tolist()
    [0.9333, 1.2]
    """
    chance = np.where(z == 1, nuisances.propensity, 1 - nuisances.propensity)
    own = np.where(z == 1, nuisances.outcome[:, 1], nuisances.outcome[:, 0])
    return np.asarray(nuisances.outcome.mean(axis=1) + (y - own) / (2 * chance))


def _cross_fitted(rows: Rows, seeds: range, *, cv: int, **options: Any) -> list[Nuisances]:
    """Return the nuisances of the rows, once for each seed of the folds."""
    reason = why_no_effects(rows, check_integer(cv, "cv", at_least=1))
    if reason is not None:
        raise ValueError(f"the fair log-loss cannot be estimated: {reason}")
    fits = [CrossFit.of(rows, cv=cv, seed=seed, **options) for seed in seeds]
    return [each.fit() for each in fits]


def _warn_about_overlap(rows: Rows, found: list[Nuisances], max_share: float) -> None:
    """Warn, with the number, where few rows say what the labels of the other group would be."""
    b = np.mean([each.propensity for each in found], axis=0)
    seen = overlap(b, sensitive_features=rows.z, sample_weight=rows.weights)
    warn_of_extremes(
        seen.share_outside,
        (seen.low, seen.high),
        max_share,
        "the fair log-loss rests on the outcome models there, and its standard error is too small",
    )
