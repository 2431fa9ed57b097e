"""The paper's fair target used directly: labels with the direct effect of z taken out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from ..core import Objective, Penalty
from ..core.penalty import identity
from ..effects import CrossFit, Nuisances
from ..effects.conditional import ConditionalEffect, corrected_effect, fit_correction
from ..effects.surrogate import Reduce
from ..roles import Floats
from .criterion import warn_about_extremes


class FairTarget(BaseEstimator):
    """Train on labels from which the direct effect of z is taken out.

    ::

        y_f = y + ½(−1)^z τ(X),   τ(X) = E[y|1,X] − E[y|0,X]

    E[y_f|X] = ½(E[y|1,X] + E[y|0,X]) is exactly the fair score, so a model trained on y_f with the
    log-loss (gradient p − y_f) tends to it, in any engine and in mini-batches: there is no penalty.
    ``strength`` scales the shift; at 0 the model is the plain one, at 1 the whole effect is gone.

    The targets are real numbers, some of them below 0 or above 1. They are used as they are: their
    mean at X is a probability, and clipping them would bias it.

    Parameters
    ----------
    outcome_model, propensity_model : scikit-learn classifier or list of them, optional
        Models of E[y|z,X], one per level of z, and of P(z=1|X), as in `estimate_effects`; by
        default gradient boosting stacked with logistic regression.
    correction_degree : int or None
        Degree in b̂ of the residual correction of τ̂ (see Notes); None for none.
    cv : int
        Folds of the cross-fitting: a row's τ̂ comes from models that have not seen it.
    clip : float
        Propensities are kept within [clip, 1−clip].
    max_extreme_share : float
        Warn when a larger share of propensities lies outside [.05, .95].
    random_state : int
        Seed of the folds.

    Notes
    -----
    With m̂ = b̂μ̂₁ + (1−b̂)μ̂₀, c minimises Σ(y − m̂ − (z−b̂)(τ̂ + Σ c_k b̂ᵏ))², and τ̂ + Σ c_k b̂ᵏ
    takes the place of τ̂: models overstate or understate what z does, and this mends it on average
    at each b.

    References
    ----------
    Di Stefano, Hickey & Vasileiou (2020), arXiv:2002.10774. Nie & Wager (2021), Biometrika 108(2).

    Examples
    --------
    >>> FairTarget(cv=5)
    FairTarget(cv=5)
    """

    #: λ at which the whole direct effect is removed.
    default_strength = 1.0
    allows_full_strength = True

    def __init__(
        self,
        *,
        outcome_model: Any = None,
        propensity_model: Any = None,
        correction_degree: int | None = 1,
        cv: int = 2,
        clip: float = 0.01,
        max_extreme_share: float = 0.6,
        random_state: int = 0,
    ) -> None:
        self.outcome_model = outcome_model
        self.propensity_model = propensity_model
        self.correction_degree = correction_degree
        self.cv = cv
        self.clip = clip
        self.max_extreme_share = max_extreme_share
        self.random_state = random_state

    def fit(
        self, X: Any, z: Floats, sample_weight: Floats | None = None, *, y: Floats | None = None
    ) -> FittedFairTarget:
        """Estimate the direct effect at each row; z and y are 0/1."""
        if y is None:
            raise TypeError("FairTarget needs the labels: fit(X, z, y=y)")
        self.check_settings()
        cross_fit = CrossFit.of(
            X,
            z,
            binary=True,
            outcome_model=self.outcome_model,
            propensity_model=self.propensity_model,
            cv=self.cv,
            clip=self.clip,
            seed=self.random_state,
            y=y,
            weights=sample_weight,
        )
        nuisances, models = cross_fit.fit_models(y, z, sample_weight)
        return self.with_nuisances(models, nuisances, z, sample_weight, y=y)

    def with_nuisances(
        self,
        models: Any,
        nuisances: Nuisances,
        z: Floats,
        sample_weight: Floats | None = None,
        *,
        y: Floats,
        reduce: Reduce | None = None,
    ) -> FittedFairTarget:
        """Return the fair target on nuisances that are there already.

        ``models.predict(X)`` gives those of other rows.
        Where the rows are spread over workers, ``reduce`` sums a small array over all of them.
        """
        self.check_settings()
        warn_about_extremes(nuisances.propensity, self.max_extreme_share, reduce)
        correction = np.zeros(0)
        if self.correction_degree is not None:
            solve = fit_correction if reduce is None else partial(_summed_correction, reduce)
            correction = solve(y, z, sample_weight, nuisances, self.correction_degree)
        return FittedFairTarget(
            clone(self),
            ConditionalEffect(models, correction),
            corrected_effect(nuisances, correction),
        )

    def check_settings(self) -> None:
        """Refuse settings that are unknown."""
        degree = self.correction_degree
        whole = isinstance(degree, (int, np.integer)) and degree >= 0
        if degree is not None and not whole:
            raise ValueError(
                f"correction_degree must be None or an integer of at least 0; got {degree!r}"
            )


@dataclass(frozen=True)
class FittedFairTarget:
    """A fair target with its estimate of the direct effect, at certain rows.

    An estimator takes it in place of the criterion, so that many strengths share the nuisances.

    Parameters
    ----------
    criterion : FairTarget
        The settings.
    conditional_effect : ConditionalEffect
        The fitted models of τ(X).
    effect : array of shape (n,)
        τ at the rows, from models that have not seen them.
    """

    default_strength: ClassVar[float] = FairTarget.default_strength
    allows_full_strength: ClassVar[bool] = True

    criterion: FairTarget
    conditional_effect: ConditionalEffect = field(repr=False)
    effect: Floats = field(repr=False)

    @property
    def n_rows(self) -> int:
        """How many rows it knows."""
        return len(self.effect)

    def at(self, X: Any) -> FittedFairTarget:
        """Return the same at other rows, their effect predicted."""
        return replace(self, effect=self.conditional_effect(X))

    def take(self, rows: NDArray[np.intp]) -> FittedFairTarget:
        """Return the same at some of its rows, their effect as it is."""
        return replace(self, effect=self.effect[rows])

    def targets(self, y: Floats, z: Floats, strength: float = 1.0) -> Floats:
        """Return y + λ·½(−1)^z τ(X), also where that lies outside [0, 1]."""
        return y + strength * self._shift(z)

    def objective(
        self,
        y: Floats,
        z: Floats,
        sample_weight: Floats | None = None,
        *,
        reduce: Reduce | None = None,
    ) -> Objective:
        """Return the log-loss against the shifted labels, at strength 0 until told another."""
        nothing = replace(Penalty.none(len(y)), reduce=reduce or identity)
        return Objective(nothing, y, 0.0, sample_weight, self._shift(z))

    def _shift(self, z: Floats) -> Floats:
        if len(z) != len(self.effect):
            raise ValueError(
                f"the fair target was fitted on {len(self.effect)} rows but z has {len(z)}; use "
                "at(X) for other rows"
            )
        return (0.5 - z) * self.effect


def _summed_correction(
    reduce: Reduce,
    y: Floats,
    z: Floats,
    weights: Floats | None,
    nuisances: Nuisances,
    degree: int,
) -> Floats:
    """Return what `fit_correction` does, by normal equations summed over workers.

    Nothing is corrected along directions in which all rows' b̂ are alike.
    """
    residual = z - nuisances.propensity
    rows = np.vander(nuisances.propensity, degree + 1, increasing=True) * residual[:, None]
    unexplained = y - nuisances.mean - residual * nuisances.effect
    weighted = rows if weights is None else rows * weights[:, None]
    sums = reduce(weighted.T @ np.column_stack([rows, unexplained]))
    found, *_ = np.linalg.lstsq(sums[:, :-1], sums[:, -1], rcond=None)
    return np.asarray(found)
