"""ROC and calibration curves by group: against scikit-learn, and that bands hold the truth."""

import json

import numpy as np
import pytest
from scipy import stats
from sklearn.calibration import calibration_curve
from sklearn.metrics import roc_curve

from unsway.auditing import calibration_by_group, roc_by_group


def draw(n, seed):
    rng = np.random.default_rng([seed, 17])
    z = rng.choice(["a", "b", "c"], n)
    y = rng.integers(0, 2, n)
    return y, rng.normal(size=n) + y, z


def test_the_curves_are_scikit_learns():
    y, scores, z = draw(600, 0)
    found = roc_by_group(y, np.round(scores, 1), sensitive_features=z, n_bootstrap=2)
    for level, inside in (("overall", z == z), ("b", z == "b")):
        rates = roc_curve(y[inside], np.round(scores, 1)[inside], drop_intermediate=False)
        expected = np.interp(found.curves[level]["x"], rates[0], rates[1])
        assert found.curves[level]["y"] == pytest.approx(expected)


def test_a_band_holds_the_whole_true_curve_about_as_often_as_it_says():
    x = np.arange(1, 100) / 100
    true = stats.norm.sf(stats.norm.isf(x) - 1)
    held = []
    for seed in range(40):
        y, scores, z = draw(1_500, seed)
        found = roc_by_group(y, scores, sensitive_features=z, n_bootstrap=100, random_state=seed)
        curve = found.curves["a"]
        inside = (curve["band_low"][1:-1] <= true) & (true <= curve["band_high"][1:-1])
        held.append(inside[4:].all())  # the first few points are steps of single rows
    assert np.mean(held) >= 0.8


def test_a_group_without_a_class_has_no_curve():
    found = roc_by_group(
        [0, 1, 1, 1], [0.1, 0.2, 0.3, 0.4], sensitive_features=[0, 0, 1, 1], n_bootstrap=2
    )
    assert found.missing == ("1",)
    assert "1" not in found.curves


def test_calibration_bins_are_those_of_scikit_learn():
    y, scores, z = draw(900, 1)
    p = 1 / (1 + np.exp(-scores))
    found = calibration_by_group(y, p, sensitive_features=z, n_bins=6)
    for level in "abc":
        shares, means = calibration_curve(
            y[z == level], p[z == level], n_bins=6, strategy="quantile"
        )
        assert found.curves[level]["y"] == pytest.approx(shares)
        assert found.curves[level]["x"] == pytest.approx(means)


def test_intervals_of_calibration_are_wilsons():
    found = calibration_by_group(
        [1, 0, 0, 0] * 2, [0.5] * 8, sensitive_features=[0] * 4 + [1] * 4, n_bins=3
    )
    interval = stats.binomtest(1, 4).proportion_ci(method="wilson")
    curve = found.curves["0"]
    assert (curve["low"][0], curve["high"][0]) == pytest.approx(tuple(interval))
    assert curve["band_low"][0] == pytest.approx(curve["low"][0])  # a single bin


def test_curves_become_tables_json_and_figures():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    y, scores, z = draw(300, 2)
    for found in (
        roc_by_group(y, scores, sensitive_features=z, n_bootstrap=5),
        calibration_by_group(y, 1 / (1 + np.exp(-scores)), sensitive_features=z),
    ):
        assert {"group", "x", "y", "band_low"} <= set(found.to_frame().columns)
        json.dumps(found.to_dict(), allow_nan=False)
        ax = found.plot()
        assert len(ax.get_legend().get_texts()) == 4
        pyplot.close(ax.figure)


def test_curves_without_labels_are_refused():
    with pytest.raises(TypeError, match="need labels"):
        roc_by_group(None, [0.1, 0.2], sensitive_features=[0, 1])
