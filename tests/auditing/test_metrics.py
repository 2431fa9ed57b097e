"""Performance and calibration against scikit-learn, and intervals from resamples."""

import numpy as np
import pytest
from sklearn import metrics as sk
from sklearn.calibration import calibration_curve

from unsway.auditing import audit
from unsway.auditing.metrics import BETWEEN, MEANINGS, Key, Sample, bin_edges, estimates, measure

N = 400


def people(seed=0, digits=2):
    """Return labels, tied scores, groups and weights."""
    rng = np.random.default_rng(seed)
    z = (rng.random(N) < 0.4).astype(float)
    p = np.round(rng.beta(2, 2, N), digits)
    y = (rng.random(N) < np.clip(p + 0.1 * z, 0, 1)).astype(float)
    return y, p, z, rng.integers(1, 4, N).astype(float)


def measured(y, p, z, weights=None, thresholds=(0.5,), n_bins=10):
    return measure(Sample.of(y, p, z, weights).tally(), thresholds, bin_edges(p, n_bins, "uniform"))


ORACLES = {
    "auc": lambda y, p, w: sk.roc_auc_score(y, p, sample_weight=w),
    "log_loss": lambda y, p, w: sk.log_loss(y, p, sample_weight=w),
    "brier": lambda y, p, w: sk.brier_score_loss(y, p, sample_weight=w),
    "accuracy": lambda y, p, w: sk.accuracy_score(y, p > 0.5, sample_weight=w),
    "precision": lambda y, p, w: sk.precision_score(y, p > 0.5, sample_weight=w),
    "recall": lambda y, p, w: sk.recall_score(y, p > 0.5, sample_weight=w),
    "base_rate": lambda y, p, w: np.average(y, weights=w),
    "mean_score": lambda y, p, w: np.average(p, weights=w),
    "selection_rate": lambda y, p, w: np.average(p > 0.5, weights=w),
    "false_positive_rate": lambda y, p, w: np.average((p > 0.5)[y == 0], weights=w[y == 0]),
}


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_metric_is_scikit_learns_overall_and_in_each_group(name, weighted):
    y, p, z, weights = people()
    weights = weights if weighted else np.ones(N)
    found = measured(y, p, z, weights if weighted else None)
    threshold = 0.5 if (name, "overall", 0.5) in found else None
    for place, rows in (("overall", z >= 0), ("z=0", z == 0), ("z=1", z == 1)):
        wanted = ORACLES[name](y[rows], p[rows], weights[rows])
        assert found[Key(name, place, threshold)] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("digits", [1, 2, 8])
def test_calibration_is_scikit_learns(strategy, digits):
    y, p, z, _ = people(digits=digits)
    found = audit(
        y, p, sensitive_features=z, n_bootstrap=0, calibration_strategy=strategy
    ).calibration
    share, score = calibration_curve(y, p, n_bins=10, strategy=strategy)
    keep = found.weight[0] > 0
    np.testing.assert_allclose(found.positive_share[0, keep], share, atol=1e-12)
    np.testing.assert_allclose(found.mean_score[0, keep], score, atol=1e-12)
    assert found.weight[0].sum() == N


def test_calibration_of_a_group_is_scikit_learns_of_its_rows():
    y, p, z, _ = people()
    found = audit(y, p, sensitive_features=z, n_bootstrap=0, calibration_bins=5).calibration
    share, score = calibration_curve(y[z == 1], p[z == 1], n_bins=5)
    frame = found.to_frame()
    frame = frame[frame["group"] == "z=1"]
    np.testing.assert_allclose(frame["positive_share"], share, atol=1e-12)
    np.testing.assert_allclose(frame["mean_score"], score, atol=1e-12)


def test_the_calibration_error_is_the_mean_distance_of_the_bins():
    y, p, z, _ = people()
    share, score = calibration_curve(y, p, n_bins=10)
    rows = np.histogram(np.searchsorted(np.linspace(0, 1, 11)[1:-1], p), np.arange(11))[0]
    wanted = np.abs(share - score) @ rows[rows > 0] / N
    found = measured(y, p, z)[Key("calibration_error", "overall")]
    assert found == pytest.approx(wanted, abs=1e-12)


def test_whole_weights_count_as_repeated_rows():
    y, p, z, weights = people()
    again = [np.repeat(each, weights.astype(int)) for each in (y, p, z)]
    once, often = measured(y, p, z, weights), measured(*again)
    assert list(once) == list(often)
    np.testing.assert_allclose(list(once.values()), list(often.values()), atol=1e-12)


def test_a_score_at_the_threshold_is_not_selected():
    found = measured(*people()[:1], np.full(N, 0.5), people()[2])
    assert found[Key("selection_rate", "overall", 0.5)] == 0
    assert np.isnan(found[Key("precision", "overall", 0.5)])


def test_certain_scores_have_a_finite_log_loss():
    y, _, z, _ = people()
    found = measured(y, 1 - y, z)[Key("log_loss", "overall")]
    assert found == pytest.approx(sk.log_loss(y, 1 - y), rel=1e-9)


def test_a_group_of_one_class_has_no_auc_and_the_others_keep_theirs():
    y, p, z, _ = people()
    y = np.where(z == 1, 1.0, y)
    found = measured(y, p, z)
    assert np.isnan(found[Key("auc", "z=1")])
    assert found[Key("auc", "z=0")] == pytest.approx(sk.roc_auc_score(y[z == 0], p[z == 0]))


def test_every_metric_has_a_meaning():
    assert {key.metric for key in measured(*people()[:3])} == set(MEANINGS)


def test_resampled_rows_are_measured_as_if_given():
    y, p, z, weights = people()
    rows = np.random.default_rng(1).integers(0, N, N)
    sample, bins = Sample.of(y, p, z, weights), bin_edges(p, 10, "uniform")
    direct = measured(y[rows], p[rows], z[rows], weights[rows])
    again = measure(sample.tally(rows), (0.5,), bins)
    np.testing.assert_allclose(list(direct.values()), list(again.values()), atol=1e-12)


@pytest.mark.slow
def test_intervals_hold_the_truth_about_as_often_as_they_say():
    inside, names = [], ("selection_rate_difference", "demographic_parity_difference")
    for seed in range(60):
        rng = np.random.default_rng(seed)
        z = np.repeat([0.0, 1.0], 150)
        p = np.where(rng.random(300) < 0.4 + 0.2 * z, 0.9, 0.1)
        y = (rng.random(300) < p).astype(int)
        found = audit(y, p, sensitive_features=z, n_bootstrap=120, random_state=seed).metrics
        inside.append([found[name].low <= 0.2 <= found[name].high for name in names])
    assert np.all(np.mean(inside, axis=0) > 0.85)
    assert np.mean(inside) < 1


def test_a_difference_that_may_be_none_has_an_interval_that_begins_at_none():
    y, p, z, _ = people()
    found = audit(y, np.roll(p, 7), sensitive_features=z, n_bootstrap=100).metrics
    signed = found["selection_rate_difference"]
    assert signed.low < 0 < signed.high
    assert found["demographic_parity_difference"].low == 0
    assert found["demographic_parity_ratio"].high == 1
    folded = max(-signed.low, signed.high)
    assert found["demographic_parity_difference"].high == pytest.approx(folded)


def test_a_ratio_of_nothing_to_something_has_an_interval():
    y, _, z, _ = people()
    p = np.where((z == 1) & (np.arange(N) % 2 == 0), 0.9, 0.1)
    found = audit(y, p, sensitive_features=z, n_bootstrap=30).metrics["demographic_parity_ratio"]
    assert (found.estimate, found.low, found.high) == (0, 0, 0)


def test_ratio_intervals_are_those_of_the_ratio_where_groups_clearly_differ():
    y, p, z, _ = people()
    p = p * (0.8 + 0.2 * z)
    found = audit(y, p, sensitive_features=z, n_bootstrap=50)
    rates = [found.metrics["selection_rate", place].estimate for place in ("z=0", "z=1")]
    ratio = found.metrics["demographic_parity_ratio"]
    assert ratio.estimate == pytest.approx(rates[0] / rates[1])
    assert 0 < ratio.low < ratio.estimate < ratio.high < 1


def test_without_resamples_intervals_are_unknown():
    found = estimates({Key("auc", "overall"): 0.7}, np.empty((0, 1)))[Key("auc", "overall")]
    assert (found.estimate, np.isnan([found.se, found.low, found.high]).all()) == (0.7, True)


def test_the_seed_makes_the_intervals():
    y, p, z, weights = people()
    one, two, other = (
        audit(
            y, p, sensitive_features=z, sample_weight=weights, n_bootstrap=10, random_state=seed
        ).to_dict()
        for seed in (0, 0, 1)
    )
    assert one == two
    assert one["metrics"] != other["metrics"]


@pytest.mark.slow
def test_the_number_of_workers_does_not_matter():
    y, p, z, _ = people()
    one, two = (
        audit(y, p, sensitive_features=z, n_bootstrap=10, n_jobs=jobs).to_dict()
        for jobs in (None, 2)
    )
    assert one == two


def test_the_standard_error_of_a_rate_is_the_binomial_one():
    y, p, z, _ = people()
    found = audit(y, p, sensitive_features=z, n_bootstrap=400).metrics["base_rate", "z=1"]
    rows = (z == 1).sum()
    wanted = np.sqrt(found.estimate * (1 - found.estimate) / rows)
    assert found.se == pytest.approx(wanted, rel=0.15)


def test_between_stands_for_both_groups():
    found = measured(*people()[:3])
    gap = found[Key("mean_score", "z=1")] - found[Key("mean_score", "z=0")]
    assert found[Key("score_gap", BETWEEN)] == gap
