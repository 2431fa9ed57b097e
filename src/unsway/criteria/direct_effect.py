"""The controlled direct effect of z on the scores, as a penalty."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from .._typing import Floats, Reduce
from ..core import FORMS, Distance, Objective, Penalty
from ..core.penalty import identity
from ..effects import BASES, HERE, Fitting, Surrogate, SurrogateDesign
from ..rows import Rows
from .criterion import (
    FittedCriterion,
    check_penalised,
    in_canonical_order,
    penalised,
    warn_about_extremes,
)

#: How the distance between the scores' surrogate and the fair one is measured.
NORMS = ("coefficient", "function")
#: What becomes of the mean score.
BASE_RATES = ("free", "fair")


class DirectEffect(BaseEstimator):
    """Remove the direct effect of z, keep what goes through the covariates.

    The scores p are regressed on the propensity score b and on z, as the labels were::

        E[p | z, b] = Σ_k α̃_k b^k + z Σ_k β̃_k b^k

    A model blind to z absorbs its direct effect through proxies: its slope in b is too steep. The
    penalty holds α̃ to γ_k = α_k + ½β_k, the labels' own slope with the direct effect evened out,
    and β̃ to 0. Unlike parity, it leaves the groups as different as their fair covariates make them.

    Parameters
    ----------
    outcome_degree, effect_degree : int
        N1 and N2, the degrees of α and β in b. N1 ≥ N2 + 1 is recommended: with fewer, a non-zero β̃
        can be mere misfit of the outcome curve.
    norm : {"coefficient", "function"}
        ``"coefficient"`` (the paper's) sums squared differences of coefficients. ``"function"``
        measures the mean squared difference of the two curves over the rows, in units of the spread
        of b; it is two-sided, and neither b's origin nor the choice of functions that span the
        curve matters to it.
    basis : {"polynomial", "spline"}
        Powers of b, or cubic B-splines (function norm only).
    form : {"match", "interval", "paper"}
        How α̃ is held to γ in the coefficient norm. ``"match"`` is the plain difference. The others
        are one-sided and do nothing where the direct effect opposes the indirect one:
        ``"interval"`` is the distance to the interval between 0 and γ, ``"paper"`` the indicator
        form as printed.
    base_rate : {"free", "fair"}
        Whether the mean of the scores is left free, as in the paper, or held to that of the fair
        target, which differs where the groups are of different size.
    propensity : Propensity or scikit-learn classifier, optional
        Model of b. A bare classifier is wrapped in `Propensity`.
    max_extreme_share : float
        Warn when a larger share of b lies outside [.05, .95].
    allow_separation : bool, default=False
        Whether training goes on, with a warning, where X predicts z nearly exactly. Where no
        propensity of one level is as large as any of the other, no penalty exists, and an error is
        raised in any case.

    Notes
    -----
    Coefficient norm: A = Γ(ΓᵀΓ)⁻¹ without the column of α̃₀, computed by QR. Function norm:
    A = Q/(√n·sd(b)) with Q an orthonormal basis of Γ's columns beside the constant. Holding the
    base rate adds the column w/W with the mean of γ(b) as its target.

    References
    ----------
    Di Stefano, Hickey & Vasileiou (2020), arXiv:2002.10774.

    Examples
    --------
    >>> DirectEffect(outcome_degree=2, effect_degree=1)
    DirectEffect(effect_degree=1, outcome_degree=2)
    """

    default_strength = 0.9
    allows_full_strength = False

    def __init__(
        self,
        outcome_degree: int = 1,
        effect_degree: int = 0,
        *,
        norm: str = "coefficient",
        basis: str = "polynomial",
        form: str = "match",
        base_rate: str = "free",
        propensity: Any = None,
        max_extreme_share: float = 0.6,
        allow_separation: bool = False,
    ) -> None:
        self.outcome_degree = outcome_degree
        self.effect_degree = effect_degree
        self.norm = norm
        self.basis = basis
        self.form = form
        self.base_rate = base_rate
        self.propensity = propensity
        self.max_extreme_share = max_extreme_share
        self.allow_separation = allow_separation

    @in_canonical_order
    def fit(self, rows: Rows, *, fitting: Fitting = HERE) -> FittedCriterion:
        """Fit the propensity score, which is the value of a row."""
        self.check_settings()
        rows.groups.require_two("DirectEffect, the paper's penalty,")
        check_penalised(self, rows.outcome)
        model, scores = fitting.propensity(
            rows, self.propensity, allow_separation=self.allow_separation
        )
        warn_about_extremes(
            scores, self.max_extreme_share, fitting.reduce, extrapolated_by="the surrogate"
        )
        return FittedCriterion(clone(self), scores, model)

    def objective(
        self, rows: Rows, row_values: Floats | None, *, reduce: Reduce | None = None
    ) -> Objective:
        """Return (1−λ)·loss + λ·penalty of rows with these propensities, at strength 0."""
        scores = self._present(row_values)
        design = self.design(rows, scores, reduce=reduce)
        labels = design.fit(rows.y)
        if self.norm == "coefficient":
            penalty = _coefficient_penalty(design, labels, self.form)
        else:
            penalty = _function_penalty(design, labels, scores, rows.weights)
        if self.base_rate == "fair":
            penalty = _with_base_rate(penalty, labels.fair(scores), rows.weights)
        return penalised(rows, penalty)

    def design(
        self, rows: Rows, scores: Floats, *, reduce: Reduce | None = None
    ) -> SurrogateDesign:
        """Return the regressors of the surrogate at rows with these propensities."""
        return SurrogateDesign.of(
            scores,
            rows.z,
            outcome_degree=self.outcome_degree,
            effect_degree=self.effect_degree,
            basis=self.basis,
            sample_weight=rows.weights,
            reduce=reduce,
        )

    def check_row_values(self, row_values: Floats | None) -> None:
        """Raise unless a user's batch brings the propensity of each of its rows."""
        scores = self._present(row_values)
        if not ((scores >= 0) & (scores <= 1)).all():
            raise ValueError("row_values, the propensity P(z=1|X) of each row, must be from 0 to 1")

    def _present(self, row_values: Floats | None) -> Floats:
        if row_values is None:
            raise TypeError("DirectEffect needs the propensity score of each row")
        return row_values

    def check_settings(self) -> None:
        """Refuse settings that are unknown or do not go together."""
        for name, choices in (
            ("norm", NORMS),
            ("basis", BASES),
            ("form", FORMS),
            ("base_rate", BASE_RATES),
        ):
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"unknown {name} {getattr(self, name)!r}; choose from {', '.join(choices)}"
                )
        for name, smallest in (("outcome_degree", 1), ("effect_degree", 0)):
            degree = getattr(self, name)
            if not isinstance(degree, (int, np.integer)) or degree < smallest:
                raise ValueError(
                    f"{name} must be an integer of at least {smallest}; got {degree!r}"
                )
        if self.basis == "spline" and self.norm == "coefficient":
            raise ValueError(
                "basis='spline' has no coefficients to compare; use norm='function' with it"
            )
        if self.effect_degree >= self.outcome_degree:
            warnings.warn(
                f"effect_degree={self.effect_degree} is not below outcome_degree="
                f"{self.outcome_degree}: part of the effect's coefficients may be misfit of the "
                f"outcome curve; outcome_degree={self.effect_degree + 1} avoids that",
                UserWarning,
                stacklevel=3,
            )


def _coefficient_penalty(design: SurrogateDesign, labels: Surrogate, form: str) -> Penalty:
    n_alpha, n_beta = design.outcome_basis.degree, design.effect_basis.degree + 1
    return Penalty(
        design.coefficient_rows(first=1),
        Distance.of(
            [form] * n_alpha + ["match"] * n_beta,
            np.r_[labels.fair_coefficients[1:], np.zeros(n_beta)],
        ),
        names=(
            *(f"alpha_{k + 1}" for k in range(n_alpha)),
            *(f"beta_{k}" for k in range(n_beta)),
        ),
        reduce=design.reduce or identity,
    )


def _function_penalty(
    design: SurrogateDesign, labels: Surrogate, scores: Floats, sample_weight: Floats | None
) -> Penalty:
    weights = np.ones_like(scores) if sample_weight is None else sample_weight
    reduce = design.reduce or identity
    total, first = reduce(np.array([weights.sum(), weights @ scores]))
    squares = float(reduce(np.array([weights @ (scores - first / total) ** 2]))[0])
    matrix = design.orthonormal_rows()[:, 1:] / np.sqrt(squares)
    return Penalty(
        matrix,
        Distance.of(["match"] * matrix.shape[1], reduce(matrix.T @ labels.fair(scores))),
        names=tuple(f"direction_{k + 1}" for k in range(matrix.shape[1])),
        reduce=reduce,
        spectral=1 / squares,
    )


def _with_base_rate(penalty: Penalty, fair: Floats, sample_weight: Floats | None) -> Penalty:
    """Return the penalty with the mean score held to that of the fair target."""
    weights = np.ones_like(fair) if sample_weight is None else sample_weight
    column = weights / penalty.reduce(np.array([weights.sum()]))[0]
    target = float(penalty.reduce(np.array([column @ fair]))[0])
    distance = penalty.distance
    ends = {
        name: np.append(getattr(distance, name), target)
        for name in ("low", "high", "below", "above")
    }
    # What bounds the other columns bounds this one too: it is orthogonal to them, and var b < 1.
    return replace(
        penalty,
        matrix=np.column_stack([penalty.matrix, column]),
        distance=Distance(**ends),
        names=(*penalty.names, "base_rate"),
    )
