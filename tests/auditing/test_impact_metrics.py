"""The measures as functions: against `adverse_impact`, scikit-learn, scipy and in MetricFrame."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from unsway import auditing
from unsway.auditing import adverse_impact

COMPARING = (
    auditing.adverse_impact_ratio,
    auditing.scoring_rate_ratio,
    auditing.selection_shortfall,
    auditing.standardised_mean_difference,
)
OF_ROWS = (auditing.approval_rate, auditing.ks_statistic, auditing.somers_d)


@pytest.fixture
def people():
    rng = np.random.default_rng(5)
    z = rng.choice(["A", "B", "C"], 900, p=[0.5, 0.3, 0.2])
    p = rng.beta(2, 3, 900) ** np.where(z == "B", 1.5, 1.0)
    return (rng.random(900) < p).astype(int), p, z


def test_the_functions_return_what_the_table_has(people):
    y, p, z = people
    table = adverse_impact(y, p, sensitive_features=z, approval_rate=0.4)
    ratios = [table[level, "adverse_impact_ratio"].estimate for level in "BC"]
    given = {"sensitive_features": z}
    assert auditing.adverse_impact_ratio(y, p, approval_rate=0.4, **given) == min(ratios)
    ratios = [table[level, "scoring_rate_ratio"].estimate for level in "BC"]
    assert auditing.scoring_rate_ratio(y, p, **given) == min(ratios)
    differences = [table[level, "standardised_mean_difference"].estimate for level in "BC"]
    found = auditing.standardised_mean_difference(y, p, **given)
    assert found == max(differences, key=abs)
    short = sum(max(0.0, table[level, "shortfall"].estimate) for level in "BC")
    found = auditing.selection_shortfall(y, p, approval_rate=0.4, **given)
    assert found == pytest.approx(short)


def test_ks_and_gini_are_those_of_scipy_and_scikit_learn(people):
    y, p, _ = people
    assert auditing.somers_d(y, p) == pytest.approx(2 * roc_auc_score(y, p) - 1)
    expected = stats.ks_2samp(p[y == 1], p[y == 0]).statistic
    assert auditing.ks_statistic(y, p) == pytest.approx(expected)


def test_without_a_reference_two_levels_are_compared_as_fairlearn_does(people):
    y, p, z = people
    two = np.where(z == "C", "C", "other")
    ours = auditing.adverse_impact_ratio(y, p, sensitive_features=two)
    theirs = auditing.demographic_parity_ratio(y, p > 0.5, sensitive_features=two)
    assert ours == pytest.approx(theirs)


@pytest.mark.parametrize("metric", COMPARING, ids=lambda metric: metric.__name__)
def test_a_comparison_goes_into_metric_frame_by_segment(metric, people):
    fairlearn = pytest.importorskip("fairlearn.metrics")
    y, p, z = people
    segment = np.where(np.arange(900) < 400, "north", "south")
    frame = fairlearn.MetricFrame(
        metrics=metric,
        y_true=y,
        y_pred=p,
        sensitive_features=segment,
        sample_params={"sensitive_features": z},
    )
    north = segment == "north"
    expected = metric(y[north], p[north], sensitive_features=z[north])
    assert frame.by_group["north"] == pytest.approx(expected)


@pytest.mark.parametrize("metric", OF_ROWS, ids=lambda metric: metric.__name__)
def test_a_measure_of_rows_goes_into_metric_frame_by_group(metric, people):
    fairlearn = pytest.importorskip("fairlearn.metrics")
    y, p, z = people
    frame = fairlearn.MetricFrame(metrics=metric, y_true=y, y_pred=p, sensitive_features=z)
    assert frame.by_group["B"] == pytest.approx(metric(y[z == "B"], p[z == "B"]))


def test_the_approval_rate_is_fairlearns_selection_rate(people):
    fairlearn = pytest.importorskip("fairlearn.metrics")
    y, p, _ = people
    weights = np.linspace(1, 2, 900)
    expected = fairlearn.selection_rate(y, p > 0.4, sample_weight=weights)
    found = auditing.approval_rate(y, p, threshold=0.4, sample_weight=weights)
    assert found == pytest.approx(expected)


def test_a_class_that_is_absent_has_no_ks_and_no_gini():
    assert np.isnan(auditing.ks_statistic([1, 1], [0.2, 0.3]))
    assert np.isnan(auditing.somers_d([0, 0], [0.2, 0.3]))


def test_labels_that_are_not_0_and_1_are_refused():
    with pytest.raises(ValueError, match="0 and 1 only"):
        auditing.somers_d([1, 2], [0.2, 0.3])
