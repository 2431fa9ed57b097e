"""FairLinearRegressor equals scikit-learn's models at strength 0, and averages over z at 1."""

from __future__ import annotations

import numpy as np
import pytest
from amounts import POWERS, each_log_link, each_loss, people
from scikit_learn_contract import CHECKED_NUMBERS, MakesUpSensitive, checks_of
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from sklearn.metrics import d2_tweedie_score, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from unsway import DirectEffect, EqualOpportunity, FairLinearRegressor, FairTarget, Parity
from unsway.effects import nuisance


class WithSensitive(MakesUpSensitive, FairLinearRegressor):
    pass


class TestCheck:
    """scikit-learn's own checks."""

    @pytest.mark.parametrize(
        ("estimator", "check"),
        [
            *checks_of(WithSensitive(CHECKED_NUMBERS, strength=0.5, l2=0.01), "fair target-"),
            *checks_of(WithSensitive(Parity(), strength=0.5, l2=0.01), "parity-"),
            *checks_of(WithSensitive(CHECKED_NUMBERS, loss="poisson", l2=0.01), "counts-"),
        ],
    )
    def test_the_estimator_passes_scikit_learns_check(self, estimator, check, monkeypatch):
        monkeypatch.setattr(nuisance, "MIN_LEVEL_ROWS", 1)  # the checks hand in fewer
        check(estimator)


def scikit_learns(loss, alpha=0.0):
    options = {"alpha": alpha, "solver": "newton-cholesky", "tol": 1e-10, "max_iter": 1_000}
    return {
        "squared_error": lambda: LinearRegression(),
        "poisson": lambda: PoissonRegressor(**options),
        "gamma": lambda: GammaRegressor(**options),
        "tweedie": lambda: TweedieRegressor(power=1.5, link="log", **options),
    }[loss]()


@each_loss
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e6])
@pytest.mark.filterwarnings("ignore:y has .* counts that are not whole")
def test_at_strength_0_it_is_scikit_learns_model(loss, unit):
    X, y, z, exposure = people(loss, unit=unit)
    ours = FairLinearRegressor(strength=0, loss=loss, tol=1e-10)
    ours.fit(X, y, sensitive_features=z, exposure=exposure)
    theirs = scikit_learns(loss).fit(X, y / exposure, sample_weight=exposure)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)


@each_log_link
def test_l2_is_the_ridge_of_scikit_learn_beside_y_in_units_of_its_mean(loss):
    X, y, z, _ = people(loss)
    ours = FairLinearRegressor(strength=0, loss=loss, l2=0.1, tol=1e-10)
    ours.fit(X, y, sensitive_features=z)
    alpha = 0.1 * y.mean() ** (2 - POWERS[loss])
    theirs = scikit_learns(loss, alpha).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6)


def test_l2_is_the_ridge_of_scikit_learn():
    X, y, z, _ = people("squared_error")
    ours = FairLinearRegressor(strength=0, l2=0.1).fit(X, y, sensitive_features=z)
    theirs = Ridge(alpha=0.1 * len(y)).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)


@each_loss
def test_without_an_intercept_it_is_scikit_learns_model(loss):
    X, y, z, _ = people(loss)
    ours = FairLinearRegressor(strength=0, loss=loss, tol=1e-10, fit_intercept=False)
    ours.fit(X, y, sensitive_features=z)
    theirs = scikit_learns(loss).set_params(fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6)
    assert ours.intercept_ == 0


@each_loss
@pytest.mark.parametrize("strength", [0.0, 1.0])
def test_an_exposure_is_a_weight_of_rates(loss, strength):
    X, y, z, exposure = people(loss, n=2_000)
    ours, other = (FairLinearRegressor(strength=strength, loss=loss) for _ in range(2))
    ours.fit(X, y, sensitive_features=z, exposure=exposure)
    other.fit(X, y / exposure, sensitive_features=z, sample_weight=exposure)
    np.testing.assert_allclose(ours.predict(X), other.predict(X), rtol=1e-12)
    np.testing.assert_allclose(
        ours.predict(X, exposure=exposure), ours.predict(X) * exposure, rtol=1e-12
    )
    assert ours.score(X, y, exposure=exposure) == pytest.approx(
        other.score(X, y / exposure, sample_weight=exposure)
    )


@each_loss
def test_the_unit_of_y_changes_the_unit_of_the_predictions_and_nothing_else(loss):
    X, y, z, exposure = people(loss)
    one, thousand = (
        FairLinearRegressor(loss=loss, l2=0.01, tol=1e-9).fit(
            X, unit * y, sensitive_features=z, exposure=exposure
        )
        for unit in (1.0, 1e3)
    )
    np.testing.assert_allclose(thousand.predict(X), 1e3 * one.predict(X), rtol=1e-6)


@each_log_link
def test_the_unit_of_the_exposure_does_not_matter(loss):
    X, y, z, exposure = people(loss, n=12_000)  # many: the correction takes weights for evidence
    years, days = (
        FairLinearRegressor(loss=loss).fit(X, y, sensitive_features=z, exposure=unit * exposure)
        for unit in (1.0, 365.0)
    )
    np.testing.assert_allclose(years.predict(X), 365 * days.predict(X), rtol=1e-2)


@each_log_link
def test_the_unit_of_the_exposure_does_not_matter_at_all_at_strength_0(loss):
    X, y, z, exposure = people(loss)
    years, days = (
        FairLinearRegressor(strength=0, loss=loss).fit(
            X, y, sensitive_features=z, exposure=unit * exposure
        )
        for unit in (1.0, 365.0)
    )
    np.testing.assert_allclose(years.predict(X), 365 * days.predict(X), rtol=1e-6)


@each_loss
def test_it_comes_closer_to_the_fair_score_than_the_plain_model(loss):
    X, y, z, exposure = people(loss, n=20_000)
    fair = np.exp(X @ [0.4, -0.3]) * (1 + np.exp(0.4)) / 2
    errors = []
    for strength in (0.0, 1.0):
        model = FairLinearRegressor(strength=strength, loss=loss, rebalance=False)
        model.fit(X, y, sensitive_features=z, exposure=exposure)
        errors.append(np.sqrt(np.mean((model.predict(X) - fair) ** 2)))
    if loss == "squared_error":  # y is a total there, whose mean grows with the exposure
        return
    assert errors[1] < 0.5 * errors[0]


@each_log_link
def test_the_total_is_kept_by_default(loss):
    X, y, z, exposure = people(loss)
    model = FairLinearRegressor(loss=loss).fit(X, y, sensitive_features=z, exposure=exposure)
    assert model.predict(X, exposure=exposure).sum() == pytest.approx(y.sum(), rel=1e-9)
    assert 0.5 < model.balance_ < 2
    free = FairLinearRegressor(loss=loss, rebalance=False)
    free.fit(X, y, sensitive_features=z, exposure=exposure)
    assert free.balance_ is None
    np.testing.assert_allclose(model.predict(X), model.balance_ * free.predict(X), rtol=1e-9)


def test_the_mean_of_numbers_is_kept_where_it_is_asked_for():
    X, y, z, _ = people("squared_error")
    y = y + 3 * z * (X[:, 0] > 0.5)
    model = FairLinearRegressor().fit(X, y, sensitive_features=z)
    assert model.balance_ is None
    kept = FairLinearRegressor(rebalance=True).fit(X, y, sensitive_features=z)
    assert kept.predict(X).mean() == pytest.approx(y.mean())
    np.testing.assert_allclose(kept.predict(X), model.predict(X) + kept.balance_)


def test_nothing_is_rebalanced_at_strength_0():
    X, y, z, _ = people("gamma")
    model = FairLinearRegressor(strength=0, loss="gamma").fit(X, y, sensitive_features=z)
    assert model.balance_ is None


@each_loss
def test_the_score_is_scikit_learns(loss):
    X, y, z, _ = people(loss)
    weights = np.random.default_rng(0).uniform(size=len(y))
    model = FairLinearRegressor(loss=loss).fit(X, y, sensitive_features=z)
    expected = d2_tweedie_score(y, model.predict(X), sample_weight=weights, power=POWERS[loss])
    assert model.score(X, y, sample_weight=weights) == pytest.approx(expected)
    if loss == "squared_error":
        assert model.score(X, y) == pytest.approx(r2_score(y, model.predict(X)))


@each_log_link
@pytest.mark.parametrize("criterion", [Parity(), DirectEffect()], ids=["parity", "direct effect"])
def test_penalties_need_scores_without_a_log_link(loss, criterion):
    X, y, z, _ = people(loss, n=200)
    with pytest.raises(ValueError, match=r"is a penalty, .*; use criterion=FairTarget\(\)"):
        FairLinearRegressor(criterion, loss=loss).fit(X, y, sensitive_features=z)


def test_a_criterion_within_labels_needs_labels():
    X, y, z, _ = people("squared_error", n=200)
    with pytest.raises(ValueError, match="compares rows of one label, and y holds numbers"):
        FairLinearRegressor(EqualOpportunity()).fit(X, y, sensitive_features=z)


@pytest.mark.parametrize("criterion", [Parity(), DirectEffect()], ids=["parity", "direct effect"])
def test_a_penalty_on_numbers_brings_the_groups_closer(criterion):
    X, y, z, _ = people("squared_error")
    gaps = []
    for strength in (0.0, 0.95):
        model = FairLinearRegressor(criterion, strength=strength)
        scores = model.fit(X, y, sensitive_features=z).predict(X)
        gaps.append(scores[z == 1].mean() - scores[z == 0].mean())
    assert gaps[1] < 0.8 * gaps[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "absolute_error"}, "unknown loss 'absolute_error'; choose from squared_error"),
        ({"loss": "log_loss"}, "loss='log_loss' is that of a label; use a classifier"),
        ({"loss": "tweedie", "power": 2.0}, "power must be above 1 and below 2; got 2.0"),
        ({"l2": -1}, "l2 must be a finite number of at least 0"),
    ],
)
def test_settings_that_cannot_serve_are_refused(options, message):
    X, y, z, _ = people("gamma", n=100)
    with pytest.raises(ValueError, match=message):
        FairLinearRegressor(**options).fit(X, y, sensitive_features=z)


def test_rebalance_is_a_truth_value():
    X, y, z, _ = people("gamma", n=100)
    with pytest.raises(TypeError, match="rebalance must be True, False or None; got 'yes'"):
        FairLinearRegressor(rebalance="yes").fit(X, y, sensitive_features=z)


def test_a_rare_column_whose_counts_average_below_0_gets_a_little_l2():
    X, y, z, _ = people("poisson")
    rare = np.zeros((len(y), 1))
    rows = np.flatnonzero((z == 1) & (y == 0))[:4]
    rare[rows] = 1
    X = np.hstack([X, rare])
    blind_to_it = make_pipeline(FunctionTransformer(lambda table: table[:, :2]), LinearRegression())
    known = FairTarget(correction_degree=None, outcome_model=blind_to_it)
    with pytest.warns(ConvergenceWarning, match="targets average below 0"):
        model = FairLinearRegressor(known, loss="poisson").fit(X, y, sensitive_features=z)
    assert np.isfinite(model.predict(X)).all()
