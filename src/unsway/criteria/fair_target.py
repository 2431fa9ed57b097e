"""The paper's fair target used directly: labels with the direct effect of z taken out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.base import BaseEstimator, clone

from .._typing import Floats, Reduce
from ..checks import check_number
from ..core import Objective, Penalty
from ..core.penalty import identity
from ..effects import HERE, CrossFit, Fitting
from ..effects.class_means import ClassCorrection, ConditionalShares, fit_class_correction
from ..effects.conditional import ConditionalMeans, correction_of
from ..effects.nuisance_models import NuisanceModels, Nuisances
from ..rows import Rows
from .criterion import (
    FittedCriterion,
    RowModel,
    in_canonical_order,
    warn_about_extremes,
    warn_about_worst_pair,
)
from .reference import check_weights_of_levels, weights_of_levels

#: Smaller shares of the outcome models are not worth a second model.
SMALLEST_SHARE = 0.1

#: The share is chosen on so many held-out rows of one process at most.
MOST_SHARE_ROWS = 250_000

#: Scores are compared with targets within [CLIP, 1−CLIP].
CLIP = 1e-4


class FairTarget(BaseEstimator):
    """Train on labels from which the direct effect of z is taken out.

    ::

        y_f = y + ½(−1)^z τ(X),   τ(X) = E[y|1,X] − E[y|0,X]

    E[y_f|X] = ½(E[y|1,X] + E[y|0,X]) is exactly the fair score, so a model trained on y_f with the
    log-loss (gradient p − y_f) tends to it, in any engine and in mini-batches: there is no penalty.
    The losses of numbers are linear in their target too, and so it is with counts and amounts.
    ``strength`` scales the shift; at 0 the model is the plain one, at 1 the whole effect is gone.
    The values of a row are the estimated outcome means of both groups at its X, two columns.
    Of a label of several classes each class has a target, a fair score and a mean in each group.

    The targets are real numbers, some of them below 0 or above 1. They are used as they are: their
    mean at X is a probability, and clipping them would bias it.

    Parameters
    ----------
    outcome_model, propensity_model : scikit-learn classifier or list of them, optional
        Models of E[y|z,X], one trained on each level of z, and of P(z=1|X), as in
        `estimate_effects`. By default E[y|z,X] is one model of both levels, boosted trees stacked
        with a logistic regression on X, z and z·X, and P(z=1|X) is boosted trees stacked with a
        logistic regression. `FairXGBClassifier`, `FairLGBMClassifier` and training on workers grow
        these trees by their own library, from the margin of the regression (XGBoost on its device);
        all others take scikit-learn's. Models are stacked by their out-of-fold likelihood.
    correction_degree : int or None, default=0
        Degree in b̂ of the residual correction of τ̂ (see Notes); None for none.
    reference_weights : {"uniform", "prevalence", "volume"} or mapping, optional
        w, the weight of each level of z in the fair score Σ_l w_l·E[y|X, z=l]: all alike; the
        level's share of the rows; those of two levels that leave the total of y as it is,
        w₁ = E[bτ]/E[τ]; or a number for each level as z has it, which sum to 1. By default those of
        ``groups``, where all are alike unless it says otherwise.
    multiplicative : bool, optional
        Whether targets are y·f/E[y|z,X], where f is the fair score, in place of y + f − E[y|z,X].
        Both have the mean f. By default only amounts, of the gamma loss, are multiplied: they stay
        positive.
    smoothing : float or "auto", default="auto"
        Share of the difference between a label and its estimated mean that is removed from the
        target: 0 trains on the labels less the direct effect, 1 on the fair score of the outcome
        models. With "auto", boosters train at 0 first, and train a second model if the outcome
        models help on held-out rows (see Notes). That holds in memory, from Parquet files and on
        workers; logistic regression, networks, wrappers and training loops of your own take "auto"
        as 0.
    cv : int, default=2
        Folds of the cross-fitting: the values of a row come from models that have not seen it.
        Rows held out for early stopping get theirs from models of the rows trained on.
    clip : float, default=0.01
        Propensities are kept within [clip, 1−clip].
    max_extreme_share : float, default=0.6
        Warn when a larger share of propensities lies outside [.05, .95].
    allow_separation : bool, default=False
        Whether training goes on, with a warning, where X predicts z nearly exactly.
    random_state : int, default=0
        Seed of the folds.

    Notes
    -----
    Two models, each trained on one level, differ by noise as well as by the effect of z; where a
    level has few rows the noise dominates. One model of both levels shares what the levels have in
    common. Its stacking weights are those that predict best on average over the levels, whatever
    their sizes.

    With m̂ = b̂μ̂₁ + (1−b̂)μ̂₀ and v = 4m̂(1−m̂), c minimises
    Σ(y − m̂ − (z−b̂)(τ̂ + v·Σ c_k(2b̂−1)ᵏ))² plus a ridge, and τ̃ = τ̂ + v·Σ c_k(2b̂−1)ᵏ replaces τ̂:
    models overstate or understate the effect of z, and this corrects it on average at each b. The
    residuals weigh several ridges, one of which allows no correction, by their likelihood. The
    values of a row are μ̃₀ = m̂ − b̂τ̃ and μ̃₁ = m̂ + (1−b̂)τ̃. Of several classes τ̂ is a vector, v the
    matrix 4(diag(m̂) − m̂m̂ᵀ), and c a vector for each k, so that the corrections sum to 0.

    Labels are noisy, and the fair score f̃ = ½(μ̃₀+μ̃₁) of the outcome models is not: a model trained
    on f̃ + (1−s)·(y − μ̃_z) has less noise and takes over a share s of the error of f̃, where s is
    ``smoothing``. "auto" takes the share that f̃ has in its best mixture with the first model, on
    rows held out from both. Below a share of .1 there is no second model. Each model stops by its
    own targets, those of the second having less noise. The one with the lower log-loss against the
    targets of s = 0 on the held-out rows is kept. The second has at most as many rounds as the
    first took, or 5 million divided by the number of training rows if that is more.

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
    #: Rows without a level have a fair target too.
    takes_missing_levels = True

    def __init__(
        self,
        *,
        outcome_model: Any = None,
        propensity_model: Any = None,
        correction_degree: int | None = 0,
        reference_weights: Any = None,
        multiplicative: bool | None = None,
        smoothing: float | str = "auto",
        cv: int = 2,
        clip: float = 0.01,
        max_extreme_share: float = 0.6,
        allow_separation: bool = False,
        random_state: int = 0,
    ) -> None:
        self.outcome_model = outcome_model
        self.propensity_model = propensity_model
        self.correction_degree = correction_degree
        self.reference_weights = reference_weights
        self.multiplicative = multiplicative
        self.smoothing = smoothing
        self.cv = cv
        self.clip = clip
        self.max_extreme_share = max_extreme_share
        self.allow_separation = allow_separation
        self.random_state = random_state

    @in_canonical_order
    def fit(self, rows: Rows, *, fitting: Fitting = HERE) -> FittedCriterion:
        """Estimate the mean outcome in both groups at each row, which are the values of a row."""
        self.check_settings()
        if rows.outcome.n_classes:
            rows.groups.require_two("a label of several classes")
            _refuse_missing_levels(rows)
        check_weights_of_levels(self.reference_weights, rows.groups)
        self._check_classes(rows)
        cross_fit = CrossFit.of(
            rows,
            outcome_model=self.outcome_model,
            propensity_model=self.propensity_model,
            cv=self.cv,
            clip=self.clip,
            pooled=True,
            seed=self.random_state,
            fitting=fitting,
            allow_separation=self.allow_separation,
        )
        nuisances, models = cross_fit.fit_models()
        b, reduce = nuisances.propensity, fitting.reduce
        if rows.groups.two:
            warn_about_extremes(b, self.max_extreme_share, reduce)
        else:
            warn_about_worst_pair(rows, b, self.max_extreme_share, reduce)
        means, model = corrected_means(rows, nuisances, models, self.correction_degree, fitting)
        weights = weights_of_levels(self.reference_weights, rows, means, b, reduce or identity)
        return FittedCriterion(clone(self).set_params(reference_weights=weights), means, model)

    def objective(
        self, rows: Rows, row_values: Floats | None, *, reduce: Reduce | None = None
    ) -> Objective:
        """Return the loss against the fair targets of rows with these means, at strength 0."""
        fair, own = self._fair_and_own(rows, self._present(row_values))
        removed = 0.0 if self.smoothing == "auto" else float(self.smoothing)
        if self._multiplies(rows):
            shift = (1 - removed) * (rows.y * fair / own - fair) + fair - rows.y
        else:
            shift = fair - own - removed * (rows.target - own)
        return Objective(
            rows.outcome.loss,
            rows.target,
            penalty=Penalty.none(len(rows), reduce),
            shift=shift,
            sample_weight=rows.weights,
        )

    def fair_score(self, means: Floats) -> Floats:
        """Return f of rows with these outcome means of each level."""
        if isinstance(self.reference_weights, str | None):  # uniform, or not resolved yet
            return np.asarray(means.mean(axis=1))
        weights = np.array(self.reference_weights)
        return np.asarray(means @ weights if means.ndim == 2 else weights @ means)

    def full_target(self, rows: Rows, means: Floats) -> Floats:
        """Return the fair targets at full strength, without smoothing."""
        fair, own = self._fair_and_own(rows, means)
        return rows.y * fair / own if self._multiplies(rows) else rows.target + fair - own

    def _fair_and_own(self, rows: Rows, values: Floats) -> tuple[Floats, Floats]:
        """Return f of each row, and the mean outcome of its own level, or of all if it has none."""
        means, mixture = split_mixture(rows, values)
        own = means[np.arange(len(rows)), np.minimum(rows.groups.codes, rows.groups.n_levels - 1)]
        if mixture is not None:
            own = np.where(rows.groups.known, own, mixture)
        return self.fair_score(means), own

    def _multiplies(self, rows: Rows) -> bool:
        if self.multiplicative is None:
            return rows.outcome.loss.name == "gamma"
        return self.multiplicative

    def revise(
        self,
        rows: Rows,
        row_values: Floats | None,
        margin: Floats,
        *,
        reduce: Reduce | None = None,
    ) -> Self | None:
        """Return the settings of a second model, given the first one's margin at rows held out.

        There is none unless ``smoothing`` is "auto" and the fair score of the outcome models comes
        closer to the fair targets than the first model does.
        """
        if self.smoothing != "auto":
            return None
        means = self._present(row_values)
        share = teacher_share(rows, means, margin, criterion=self, reduce=reduce)
        if share < SMALLEST_SHARE:
            return None
        revised: Self = clone(self).set_params(smoothing=round(share, 3))
        return revised

    def check_row_values(self, row_values: Floats | None) -> None:
        """Raise unless a user's batch brings the outcome means in both groups at each row."""
        means = self._present(row_values)
        if means.ndim != 2 or means.shape[1] < 2 or not np.isfinite(means).all():
            raise ValueError(
                "row_values must hold the mean outcome of each row in each group: finite numbers, "
                "one column for each level"
            )

    def _present(self, row_values: Floats | None) -> Floats:
        if row_values is None:
            raise TypeError("FairTarget needs the outcome means at each row")
        return row_values

    def _check_classes(self, rows: Rows) -> None:
        """Refuse settings that have no meaning for labels of several classes."""
        if not rows.outcome.n_classes:
            return
        for name, value in (("multiplicative", True), ("reference_weights", "volume")):
            stated = getattr(self, name)
            if isinstance(stated, type(value)) and stated == value:
                raise ValueError(
                    f"{name}={value!r} is for numbers and labels of two classes; y has "
                    f"{rows.outcome.n_classes} classes"
                )

    def check_settings(self) -> None:
        """Refuse settings that are unknown."""
        degree = self.correction_degree
        whole = isinstance(degree, (int, np.integer)) and degree >= 0
        if degree is not None and not whole:
            raise ValueError(
                f"correction_degree must be None or an integer of at least 0; got {degree!r}"
            )
        if isinstance(self.smoothing, str) and self.smoothing != "auto":
            raise ValueError(
                f"smoothing must be 'auto' or a number from 0 to 1; got {self.smoothing!r}"
            )
        if not (self.multiplicative is None or isinstance(self.multiplicative, bool)):
            raise TypeError(
                f"multiplicative must be True, False or None; got {self.multiplicative!r}"
            )
        if self.smoothing != "auto":
            check_number(self.smoothing, "smoothing", at_least=0, at_most=1)


def teacher_share(
    rows: Rows,
    means: Floats,
    margin: Floats,
    *,
    criterion: FairTarget | None = None,
    reduce: Reduce | None = None,
) -> float:
    """Return the weight of the outcome models' fair score in the best mixture with a model's.

    The mixture (1−w)·p + w·f̃ is compared with the fair targets of rows that neither was trained
    on, the first of them where there are many: held-out rows come in an arbitrary order.
    """
    if len(rows) > MOST_SHARE_ROWS:
        first = np.arange(MOST_SHARE_ROWS)
        rows, means, margin = rows.with_table(None).take(first), means[first], margin[first]
    settings = FairTarget() if criterion is None else criterion
    loss, fair = rows.outcome.loss, settings.fair_score(split_mixture(rows, means)[0])
    target = settings.full_target(rows, means)
    own, teacher = loss.mean(margin)[0], fair
    if rows.outcome.is_label:
        own, teacher = (np.clip(each, CLIP, 1 - CLIP) for each in (own, teacher))
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights

    def mean_loss(share: float) -> float:
        mixture = (1 - share) * own + share * teacher
        total = float(loss.rows(loss.margin_of(mixture), target) @ weights)
        return total if reduce is None else float(reduce(np.array([total]))[0])

    best = minimize_scalar(mean_loss, bounds=(0, 1), method="bounded", options={"xatol": 1e-3})
    return float(best.x)


def _refuse_missing_levels(rows: Rows) -> None:
    if rows.groups.partial:
        raise ValueError(
            "groups=Grouping(missing='use') is for numbers and labels of two classes; leave rows "
            "without a sensitive level out with missing='drop'"
        )


def corrected_means(
    rows: Rows,
    nuisances: Nuisances,
    models: NuisanceModels,
    degree: int | None,
    fitting: Fitting,
) -> tuple[Floats, RowModel]:
    """Return the corrected outcome means of each group at the rows, and what predicts others'."""
    if rows.outcome.n_classes:
        classes = ClassCorrection(coefficients=np.zeros((0, rows.outcome.n_classes)))
        if degree is not None:
            classes = fit_class_correction(rows, nuisances, degree, reduce=fitting.reduce)
        return classes.means(nuisances), ConditionalShares(models, classes)
    correction = correction_of(rows, nuisances, degree, reduce=fitting.reduce)
    model = ConditionalMeans(models, correction, mixture=rows.groups.partial)
    return model.values(nuisances), model


def split_mixture(rows: Rows, values: Floats) -> tuple[Floats, Floats | None]:
    """Return the mean of each level, and their mixture where the level of some rows is missing."""
    if not rows.groups.partial:
        return values, None
    return values[:, :-1], values[:, -1]
