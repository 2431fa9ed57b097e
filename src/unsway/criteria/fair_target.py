"""The paper's fair target used directly: labels with the direct effect of z taken out."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from .._typing import Floats, Reduce
from ..core import Objective, Penalty
from ..effects import HERE, CrossFit, Fitting
from ..effects.conditional import ConditionalEffect, Correction, fit_correction
from ..rows import Rows
from .criterion import FittedCriterion, in_canonical_order, warn_about_extremes


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
        Models of E[y|z,X], one trained on each level of z, and of P(z=1|X), as in
        `estimate_effects`. By default E[y|z,X] is one model of both levels, boosted trees on (X, z)
        stacked with a logistic regression on X, z and z·X, and P(z=1|X) is gradient boosting
        stacked with logistic regression.
    correction_degree : int or None, default=1
        Degree in b̂ of the residual correction of τ̂ (see Notes); None for none.
    cv : int, default=2
        Folds of the cross-fitting: a row's τ̂ comes from models that have not seen it.
    clip : float, default=0.01
        Propensities are kept within [clip, 1−clip].
    max_extreme_share : float, default=0.6
        Warn when a larger share of propensities lies outside [.05, .95].
    random_state : int, default=0
        Seed of the folds.

    Notes
    -----
    Two models, each trained on one level, differ by noise as well as by the effect of z; where a
    level has few rows the noise dominates. One model of both levels shares what the levels have in
    common. Its stacking weights are those that predict best on average over the levels, whatever
    their sizes.

    With m̂ = b̂μ̂₁ + (1−b̂)μ̂₀ and s = 4m̂(1−m̂), c minimises
    Σ(y − m̂ − (z−b̂)(τ̂ + s·Σ c_k(2b̂−1)ᵏ))² plus a ridge, and τ̂ + s·Σ c_k(2b̂−1)ᵏ replaces τ̂:
    models overstate or understate the effect of z, and this corrects it on average at each b.

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

    @in_canonical_order
    def fit(self, rows: Rows, *, fitting: Fitting = HERE) -> FittedCriterion:
        """Estimate the direct effect τ at each row, which is the value of a row."""
        self.check_settings()
        cross_fit = CrossFit.of(
            rows,
            outcome_model=self.outcome_model,
            propensity_model=self.propensity_model,
            cv=self.cv,
            clip=self.clip,
            pooled=True,
            seed=self.random_state,
            fitting=fitting,
        )
        nuisances, models = cross_fit.fit_models()
        warn_about_extremes(nuisances.propensity, self.max_extreme_share, fitting.reduce)
        correction = Correction(coefficients=np.zeros(0))
        if self.correction_degree is not None:
            correction = fit_correction(
                rows, nuisances, self.correction_degree, reduce=fitting.reduce
            )
        effect = ConditionalEffect(models, correction)
        return FittedCriterion(clone(self), correction.effect(nuisances), effect)

    def objective(
        self, rows: Rows, row_values: Floats | None, *, reduce: Reduce | None = None
    ) -> Objective:
        """Return the loss against y + ½(−1)^z τ of rows with these τ, at strength 0."""
        effect = self._present(row_values)
        return Objective(
            rows.outcome.loss,
            rows.y,
            penalty=Penalty.none(len(rows), reduce),
            shift=(0.5 - rows.z) * effect,
            sample_weight=rows.weights,
        )

    def check_row_values(self, row_values: Floats | None) -> None:
        """Raise unless a user's batch brings the direct effect at each of its rows."""
        if not np.isfinite(self._present(row_values)).all():
            raise ValueError("row_values, the direct effect of z at each row, must be finite")

    def _present(self, row_values: Floats | None) -> Floats:
        if row_values is None:
            raise TypeError("FairTarget needs the direct effect at each row")
        return row_values

    def check_settings(self) -> None:
        """Refuse settings that are unknown."""
        degree = self.correction_degree
        whole = isinstance(degree, (int, np.integer)) and degree >= 0
        if degree is not None and not whole:
            raise ValueError(
                f"correction_degree must be None or an integer of at least 0; got {degree!r}"
            )
