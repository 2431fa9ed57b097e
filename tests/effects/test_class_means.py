"""Shares of several classes in each group: they sum to 1, and their correction sums to 0."""

import numpy as np
import pytest
from contracts import EXACT, assert_close

from unsway import FairTarget
from unsway.effects import CrossFit
from unsway.effects.class_means import fit_class_correction
from unsway.effects.conditional import fit_correction
from unsway.effects.nuisance import Nuisances
from unsway.outcome import Outcome
from unsway.rows import Rows

N = 2_000
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 2))
Z = (rng.random(N) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
WEIGHTS = rng.integers(1, 4, N).astype(float)


def shares(X, z):
    powers = np.exp(np.column_stack([0 * X[:, 0], X[:, 0] - z, 0.5 * X[:, 1] + z - 1]))
    return powers / powers.sum(axis=1, keepdims=True)


Y = (rng.random(N)[:, None] > shares(X, Z).cumsum(axis=1)).sum(axis=1)


def several(y, n_rows):
    return Outcome.labels(y, n_rows, several=True)


def rows_of(y=Y, weights=None):
    return Rows.check(X, y, sensitive_features=Z, sample_weight=weights, read_outcome=several)


def nuisances_of(bias=0.0):
    means = np.stack([shares(X, 0), shares(X, 1) + bias * np.array([1, -1, 0])], axis=1)
    return Nuisances(1 / (1 + np.exp(-X[:, 0])), means)


def as_two_classes(nuisances):
    """Return the nuisances of the label "not the first class", as one mean and as two."""
    rest = 1 - nuisances.outcome[:, :, 0]
    one = Nuisances(nuisances.propensity, rest)
    return one, Nuisances(nuisances.propensity, np.stack([1 - rest, rest], axis=2))


def test_the_correction_sums_to_0_over_the_classes():
    correction = fit_class_correction(rows_of(), nuisances_of(0.1), 1)
    assert abs(correction.coefficients).max() > 0.01
    means = correction.means(nuisances_of(0.1))
    np.testing.assert_allclose(means.sum(axis=2), 1, atol=1e-12)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["alike", "weighted"])
def test_of_two_classes_it_is_the_correction_of_a_label(weights):
    one, two = as_two_classes(nuisances_of(0.1))
    rows = rows_of((Y > 0).astype(int), weights)
    expected = fit_correction(rows, one, 1).effect(one)

    class Two(Outcome):
        n_classes = 2

    outcome = Two(values=rows.y, loss=rows.outcome.loss, classes=rows.outcome.classes)
    both = Rows(X=X, outcome=outcome, groups=rows.groups, weights=rows.weights)
    effect = fit_class_correction(both, two, 1).effect(two)
    assert_close(effect[:, 1], expected, 1e-9)
    assert_close(effect[:, 0], -expected, 1e-9)


def test_a_bias_is_found_and_its_absence_too():
    def left(bias):
        nuisances = nuisances_of(bias)
        corrected = fit_class_correction(rows_of(), nuisances, 1).effect(nuisances)
        return np.mean(corrected - (shares(X, 1) - shares(X, 0)), axis=0)

    assert abs(left(0.1)).max() < 0.05
    assert abs(left(0.0)).max() < 0.03


def test_the_shares_of_models_sum_to_1_and_are_near_the_truth():
    rows = rows_of()
    found, models = CrossFit.of(rows, pooled=True, cv=2).fit_models()
    assert found.outcome.shape == (N, 2, 3)
    np.testing.assert_allclose(found.outcome.sum(axis=2), 1, atol=1e-12)
    truth = np.stack([shares(X, 0), shares(X, 1)], axis=1)
    assert np.sqrt(np.mean((found.outcome - truth) ** 2)) < 0.05
    assert_close(models.predict(X[:5]).outcome.sum(axis=2), np.ones((5, 2)), 1e-12)


def test_fair_targets_sum_to_1_and_have_the_fair_shares_as_their_mean():
    criterion = FairTarget(outcome_model=EXACT, propensity_model=EXACT)
    rows = rows_of()
    fitted = criterion.fit(rows)
    assert fitted.row_values.shape == (N, 2, 3)
    targets = fitted.objective(rows).at(1.0).shifted_target()
    np.testing.assert_allclose(targets.sum(axis=1), 1, atol=1e-12)
    fair = (shares(X, 0) + shares(X, 1)) / 2
    np.testing.assert_allclose(targets.mean(axis=0), fair.mean(axis=0), atol=0.03)


def test_the_names_of_the_classes_are_without_effect():
    names = np.array(["c", "a", "b"])
    criterion = FairTarget(outcome_model=EXACT, propensity_model=EXACT)
    ours = criterion.fit(rows_of()).row_values
    theirs = criterion.fit(rows_of(names[Y])).row_values
    assert_close(theirs[:, :, [2, 0, 1]], ours, 1e-6)


def test_a_rare_class_is_refused_with_its_name_and_its_level():
    y = np.where((Y == 2) & (Z == 1), 0, Y)
    with pytest.raises(ValueError, match=r"class '2' has 0 rows in the sensitive level '1'; at"):
        FairTarget().fit(rows_of(y))


def test_rows_without_weight_do_not_count():
    weights = np.where((Y == 2) & (Z == 1), 0.0, 1.0)
    with pytest.raises(ValueError, match=r"class '2' has 0 rows in the sensitive level '1'; at"):
        FairTarget().fit(rows_of(weights=weights))


@pytest.mark.parametrize("options", [{"multiplicative": True}, {"reference_weights": "volume"}])
def test_settings_of_numbers_are_refused(options):
    with pytest.raises(ValueError, match="y has 3 classes"):
        FairTarget(**options).fit(rows_of())
