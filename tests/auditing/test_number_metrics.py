"""Metrics of predictions of numbers: by hand on four rows, and against scikit-learn."""

from functools import partial

import numpy as np
import pytest
from amounts import POWERS, each_log_link, each_loss, people
from sklearn import metrics as sk

from unsway.auditing import (
    actual_over_expected,
    actual_over_expected_difference,
    deviance_explained,
    double_lift,
    gini,
    mean_deviance,
)
from unsway.auditing.metrics import BETWEEN, Key
from unsway.auditing.number_tables import lorenz_curve
from unsway.auditing.number_tally import (
    NUMBER_MEANINGS,
    NumberSample,
    measure_numbers,
    weighted_bins,
)
from unsway.outcome import number_loss

#: Four rows: rates, predictions, exposures and groups.
Y, P = np.array([0.0, 1.0, 2.0, 4.0]), np.array([1.0, 1.0, 2.0, 3.0])
W, Z = np.array([1.0, 1.0, 2.0, 1.0]), np.array([0, 1, 0, 1])


def rated(loss, n=900, seed=0):
    """Return rates, predictions of them, groups and exposures."""
    X, y, z, exposure = people(loss, n, seed)
    p = np.exp(X @ [0.4, -0.3] + 0.1).round(1)  # with ties
    return y / exposure, p, z, exposure


def measured(y, p, z, weights=None, loss="poisson", **options):
    sample = NumberSample.of(y, p, z, loss=number_loss(loss), weights=weights, **options)
    return measure_numbers(sample.tally())


# --- four rows by hand ----------------------------------------------------------------------------


def test_the_poisson_deviance_of_four_rows():
    rows = [2 * 1.0, 0.0, 0.0, 2 * (4 * np.log(4 / 3) - 4 + 3)]
    by_hand = (rows[0] + rows[1] + 2 * rows[2] + rows[3]) / 5
    assert mean_deviance(Y, P, loss="poisson", sample_weight=W) == pytest.approx(by_hand)


def test_actual_over_expected_of_four_rows():
    assert actual_over_expected(Y, P, sample_weight=W) == pytest.approx(9 / 9)
    found = measured(Y, P, Z, W)
    assert found[Key("actual_over_expected", "z=0")] == pytest.approx(4 / 5)
    assert found[Key("actual_over_expected", "z=1")] == pytest.approx(5 / 4)
    assert found[Key("actual_over_expected_difference", BETWEEN)] == pytest.approx(5 / 4 - 4 / 5)
    assert found[Key("actual_over_expected_ratio", BETWEEN)] == pytest.approx(25 / 16)


def test_the_gini_coefficient_of_four_rows():
    # F = 2/5, 4/5, 1 and L = 1/9, 5/9, 1 at the predictions 1, 2, 3
    areas = 2 / 5 * (0 + 1 / 9) + 2 / 5 * (1 / 9 + 5 / 9) + 1 / 5 * (5 / 9 + 1)
    assert gini(Y, P, sample_weight=W) == pytest.approx(1 - areas)
    curve = lorenz_curve(Y, P, sample_weight=W, n_points=6).columns["share_of_total"]
    assert curve == pytest.approx([0, 1 / 18, 1 / 9, 1 / 3, 5 / 9, 1])


def test_means_and_gaps_of_four_rows():
    found = measured(Y, P, Z, W)
    assert found[Key("exposure", "overall")] == 5
    assert found[Key("mean_outcome", "z=0")] == pytest.approx(4 / 3)
    assert found[Key("mean_outcome", "z=1")] == pytest.approx(5 / 2)
    assert found[Key("outcome_gap", BETWEEN)] == pytest.approx(5 / 2 - 4 / 3)
    assert found[Key("score_gap", BETWEEN)] == pytest.approx(4 / 2 - 5 / 3)
    assert found[Key("score_ratio", BETWEEN)] == pytest.approx(2 / (5 / 3))
    assert found[Key("rmse", "overall")] == pytest.approx(np.sqrt((1 + 0 + 0 + 1) / 5))


def test_the_calibration_error_of_four_rows():
    # two bins: predictions of 1 (y 0 and 1), and of 2 and 3 (y 2, 2 and 4)
    found = measured(Y, P, Z, W, n_bins=2)
    assert weighted_bins(P, W, 2).tolist() == [0, 0, 1, 1]
    by_hand = (abs(0 + 1 - 2) + abs(2 * 2 + 4 - 2 * 2 - 3)) / 5
    assert found[Key("calibration_error", "overall")] == pytest.approx(by_hand)


def test_the_double_lift_of_four_rows():
    models = {"a": [1.0, 2.0, 1.0, 2.0], "b": [1.0, 1.0, 2.0, 4.0]}
    found = double_lift(Y, models, sample_weight=[1, 1, 1, 1], n_bins=2, n_bootstrap=0)
    # b/a is 1, ½, 2, 2: the first two rows are one bin
    assert found.mean_outcome.tolist() == [0.5, 3.0]
    assert found.first.tolist() == [1.5, 1.5]
    assert found.second.tolist() == [1.0, 3.0]
    assert found.ratio.tolist() == [pytest.approx(2 / 3), 2.0]


# --- scikit-learn ---------------------------------------------------------------------------------


@each_loss
@pytest.mark.parametrize("weighted", [False, True])
def test_deviances_are_scikit_learns_overall_and_by_group(loss, weighted):
    y, p, z, exposure = rated(loss)
    weights = exposure if weighted else np.ones(len(y))
    found = measured(y, p, z, weights if weighted else None, loss)
    oracles = {
        "deviance": partial(sk.mean_tweedie_deviance, power=POWERS[loss]),
        "deviance_explained": partial(sk.d2_tweedie_score, power=POWERS[loss]),
        "rmse": lambda *a, **k: np.sqrt(sk.mean_squared_error(*a, **k)),
        "mean_outcome": lambda y, p, sample_weight: np.average(y, weights=sample_weight),
    }
    for name, oracle in oracles.items():
        for place, rows in (("overall", z >= 0), ("z=0", z == 0), ("z=1", z == 1)):
            wanted = oracle(y[rows], p[rows], sample_weight=weights[rows])
            assert found[Key(name, place)] == pytest.approx(wanted, rel=1e-9), (name, place)
    options = {"loss": loss, "sample_weight": weights}
    assert mean_deviance(y, p, **options) == pytest.approx(found[Key("deviance", "overall")])
    explained = deviance_explained(y, p, **options)
    assert explained == pytest.approx(found[Key("deviance_explained", "overall")])


def test_the_mean_absolute_error_is_scikit_learns_and_of_squared_error_alone():
    y, p, z, exposure = rated("squared_error")
    found = measured(y, p, z, exposure, "squared_error")
    wanted = sk.mean_absolute_error(y, p, sample_weight=exposure)
    assert found[Key("mae", "overall")] == pytest.approx(wanted)
    assert Key("mae", "overall") not in measured(*rated("gamma")[:3], loss="gamma")


def test_the_normalized_gini_coefficient_of_labels_is_that_of_the_auc():
    rng = np.random.default_rng(0)
    p, weights = rng.random(300).round(2), rng.random(300)
    y = (rng.random(300) < p).astype(float)
    auc = sk.roc_auc_score(y, p, sample_weight=weights)
    found = gini(y, p, sample_weight=weights, normalized=True)
    assert found == pytest.approx(2 * auc - 1)


# --- properties -----------------------------------------------------------------------------------


@each_loss
def test_a_weight_of_two_is_the_row_twice(loss):
    y, p, z, _ = rated(loss, 200)
    weights = np.arange(200) % 3
    twice = np.repeat(np.arange(200), weights)
    ours = measured(y, p, z, weights.astype(float), loss)
    theirs = measured(y[twice], p[twice], z[twice], None, loss)
    assert ours == pytest.approx(theirs)


@each_log_link
def test_a_resample_is_measured_as_those_rows_are(loss):
    y, p, z, exposure = rated(loss, 300)
    drawn = np.random.default_rng(1).integers(0, 300, 300)
    sample = NumberSample.of(y, p, z, loss=number_loss(loss), weights=exposure)
    ours = measure_numbers(sample.tally(drawn))
    theirs = measured(y[drawn], p[drawn], z[drawn], exposure[drawn], loss)
    for key, value in theirs.items():
        if not key.metric.startswith("calibration_error"):  # bins are those of all rows
            assert ours[key] == pytest.approx(value), key


@each_loss
def test_metrics_do_not_depend_on_the_order_of_the_rows(loss):
    columns = rated(loss, 200)
    turned = [column[::-1] for column in columns]
    assert measured(*columns, loss) == pytest.approx(measured(*turned, loss))


def test_every_metric_has_a_meaning_and_the_loss_says_which_there_are():
    known = {key.metric for loss in POWERS for key in measured(*rated(loss)[:3], loss=loss)}
    assert known == set(NUMBER_MEANINGS)
    negative = measured(Y - 2, P, Z, loss="squared_error")
    assert Key("gini", "overall") not in negative


def test_a_difference_between_groups_is_that_of_its_function():
    y, p, z, exposure = rated("poisson")
    wanted = actual_over_expected_difference(y, p, sensitive_features=z, sample_weight=exposure)
    found = measured(y, p, z, exposure)
    assert found[Key("actual_over_expected_difference", BETWEEN)] == pytest.approx(wanted)


def test_the_functions_serve_a_metric_frame():
    fairlearn = pytest.importorskip("fairlearn.metrics")
    y, p, z, exposure = rated("poisson")
    metrics = {"deviance": partial(mean_deviance, loss="poisson"), "ae": actual_over_expected}
    metrics["gini"] = gini
    weights = {name: {"sample_weight": exposure} for name in metrics}
    frame = fairlearn.MetricFrame(
        metrics=metrics, y_true=y, y_pred=p, sensitive_features=z, sample_params=weights
    )
    found = measured(y, p, z, exposure)
    for name, ours in (("deviance", "deviance"), ("ae", "actual_over_expected"), ("gini", "gini")):
        assert frame.overall[name] == pytest.approx(found[Key(ours, "overall")])
        for level in (0, 1):
            wanted = found[Key(ours, f"z={level}")]
            assert frame.by_group[name][level] == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mean_deviance([1, 2], [0, 1], loss="poisson"), "1 predictions of zero or less"),
        (lambda: mean_deviance([-1, 2], [1, 1], loss="poisson"), "negative"),
        (lambda: mean_deviance([0, 2], [1, 1], loss="gamma"), "above 0|zero|positive"),
        (lambda: mean_deviance([0, 2], [1, 1], loss="log_loss"), "use a classifier"),
        (lambda: gini([-1, 2], [1, 1]), "1 negative numbers"),
        (lambda: gini([1, 2], [1]), "y_pred has 1 rows"),
        (lambda: actual_over_expected([1, 2], [1, np.nan]), "missing"),
        (lambda: double_lift([1, 2], {"a": [1, 1]}), "two models"),
        (lambda: double_lift([1, 2], {"a": [1, 0], "b": [1, 1]}), "'a' must be above 0"),
        (lambda: double_lift([1], {"a": [1], "b": [1]}, n_bins=0), "n_bins"),
    ],
)
def test_what_cannot_be_measured_is_refused(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call()


def test_the_interval_of_a_double_lift_holds_the_means():
    y, p, _, exposure = rated("poisson", 2_000)
    models = {"flat": np.ones(len(y)), "own": p}
    found = double_lift(y, models, sample_weight=exposure, n_bootstrap=50)
    seen = found.weight > 0
    assert (found.low[seen] <= found.mean_outcome[seen]).all()
    assert (found.mean_outcome[seen] <= found.high[seen]).all()
    frame = found.to_frame()
    assert list(frame.columns)[-2:] == ["flat", "own"]
    assert found.to_dict()["names"] == ["flat", "own"]
