"""Fair targets of counts and amounts, and the weight that each level has in the fair score."""

from __future__ import annotations

import numpy as np
import pytest
from contracts import assert_close
from sklearn.base import clone

from unsway import FairTarget
from unsway.core import Gamma, Poisson, SquaredError, Tweedie
from unsway.criteria import FittedCriterion
from unsway.criteria.reference import weights_of_levels
from unsway.groups import Groups
from unsway.outcome import Outcome
from unsway.rows import Rows

RNG = np.random.default_rng(0)
N = 4_000
Z = RNG.integers(0, 2, N)
X = np.column_stack([RNG.normal(0.4 * Z, 1.0), RNG.normal(size=N)])
#: The true means of both groups.
MEANS = np.exp(0.3 * X[:, :1] + np.array([0.0, 0.5]))
FAIR = MEANS.mean(axis=1)
OWN = MEANS[np.arange(N), Z]

each_loss = pytest.mark.parametrize(
    "loss", [SquaredError(), Poisson(), Gamma(), Tweedie()], ids=lambda loss: loss.name
)


def rows_of_numbers(y, loss, weights=None):
    groups = Groups(codes=Z.astype(np.uint8), levels=(0, 1))
    return Rows(X=X, outcome=Outcome(values=y, loss=loss), groups=groups, weights=weights)


def target(criterion, y, loss):
    fitted = FittedCriterion(criterion, MEANS)
    return fitted.objective(rows_of_numbers(y, loss)).at(1.0).shifted_target()


@each_loss
@pytest.mark.parametrize("multiplicative", [True, False])
def test_targets_of_the_true_means_have_the_fair_score_as_their_mean(loss, multiplicative):
    criterion = FairTarget(multiplicative=multiplicative)
    assert_close(target(criterion, OWN, loss), FAIR, 1e-12)


def test_amounts_are_multiplied_and_others_shifted():
    y = OWN * RNG.gamma(0.5, 2, N)
    assert_close(target(FairTarget(), y, Gamma()), y * FAIR / OWN, 1e-12)
    assert (target(FairTarget(), y, Gamma()) > 0).all()
    for loss in (SquaredError(), Poisson(), Tweedie()):
        assert_close(target(FairTarget(), y, loss), y + FAIR - OWN, 1e-12)


@pytest.mark.parametrize("loss", [Gamma(), Poisson()])
def test_smoothed_targets_lie_between_the_fair_targets_and_the_fair_score(loss):
    y = OWN * RNG.gamma(0.5, 2, N)
    full = target(FairTarget(smoothing=0.0), y, loss)
    assert_close(target(FairTarget(smoothing=0.25), y, loss), 0.75 * full + 0.25 * FAIR, 1e-9)
    assert_close(target(FairTarget(smoothing=1.0), y, loss), FAIR, 1e-9)


@each_loss
def test_half_the_strength_removes_half_the_difference(loss):
    fitted = FittedCriterion(FairTarget(), MEANS)
    objective = fitted.objective(rows_of_numbers(OWN, loss))
    assert_close(objective.at(0.5).shifted_target(), (OWN + FAIR) / 2, 1e-12)


@each_loss
def test_the_default_models_find_the_fair_score(loss):
    rng = np.random.default_rng(1)
    y = {
        "squared_error": lambda: OWN + rng.normal(size=N),
        "poisson": lambda: rng.poisson(OWN).astype(float),
        "gamma": lambda: OWN * rng.gamma(2, 0.5, N),
        "tweedie": lambda: OWN * rng.gamma(2, 1, N) * rng.integers(0, 2, N),
    }[loss.name]()
    fitted = FairTarget().fit(rows_of_numbers(y / y.mean(), loss))
    found = fitted.row_values * y.mean()
    effect = found[:, 1] - found[:, 0]
    true = MEANS[:, 1] - MEANS[:, 0]
    assert abs(effect.mean() - true.mean()) < 0.15 * true.mean()
    if loss.link == "log":
        assert (found > 0).all()


# --- reference weights ---------------------------------------------------------------------------


def weights(stated, means=MEANS, propensity=None, row_weights=None):
    b = np.full(N, 0.5) if propensity is None else propensity
    rows = rows_of_numbers(OWN, Poisson(), row_weights)
    return weights_of_levels(stated, rows, means, b, lambda sums: sums)


def test_weights_may_be_stated_for_each_level():
    assert weights({1: 0.25, 0: 0.75}) == (0.75, 0.25)
    assert weights((0.75, 0.25)) == (0.75, 0.25)
    assert weights("uniform") == "uniform"


def test_prevalence_is_the_share_of_each_level_by_weight():
    assert_close(weights("prevalence")[1], Z.mean(), 1e-12)
    assert_close(weights("prevalence", row_weights=1.0 + Z)[1], 2 * Z.sum() / (N + Z.sum()), 1e-12)


def test_volume_keeps_the_total():
    b = np.where(X[:, 1] > 0, 0.8, 0.3)
    share = weights("volume", propensity=b)
    total = (MEANS[:, 0] * (1 - b) + MEANS[:, 1] * b).mean()
    assert_close((MEANS @ share).mean(), total, 1e-12)


def test_an_effect_of_either_sign_has_no_weights_of_the_volume():
    sign = np.where(X[:, :1] > 0, 1.0, -0.99) * np.array([0.0, 1.0])
    with pytest.raises(ValueError, match="positive for some rows and negative for others"):
        weights("volume", means=1.0 + 0.1 * sign, propensity=np.where(X[:, 0] > 0, 0.9, 0.1))


@pytest.mark.parametrize(
    ("stated", "error", "message"),
    [
        ("even", ValueError, "unknown reference_weights 'even'; choose from uniform"),
        ({0: 1.0}, ValueError, "must have a number for each level of z: '0', '1'"),
        ((0.5, 0.6), ValueError, "must not be negative and must sum to 1"),
        ((1.5, -0.5), ValueError, "must not be negative and must sum to 1"),
        ((1.0,), TypeError, "must be a name, or a number for each level of z"),
        (3, TypeError, "must be a name, or a number for each level of z"),
    ],
)
def test_weights_that_cannot_serve_are_refused_before_any_work(stated, error, message):
    rows = rows_of_numbers(OWN, Poisson())
    with pytest.raises(error, match=message):
        FairTarget(reference_weights=stated, outcome_model="never used").fit(rows)


def test_a_fitted_criterion_knows_its_weights_by_number():
    settings = FairTarget(reference_weights="prevalence")
    fitted = settings.fit(rows_of_numbers(OWN + 0.1 * RNG.normal(size=N), SquaredError()))
    assert_close(fitted.criterion.reference_weights, [1 - Z.mean(), Z.mean()], 1e-12)
    assert clone(settings).reference_weights == "prevalence"
    scores = fitted.criterion.fair_score(MEANS)
    assert_close(scores, MEANS @ [1 - Z.mean(), Z.mean()], 1e-12)


def test_multiplicative_is_a_truth_value():
    with pytest.raises(TypeError, match="multiplicative must be True, False or None; got 'yes'"):
        FairTarget(multiplicative="yes").fit(rows_of_numbers(OWN, Gamma()))
