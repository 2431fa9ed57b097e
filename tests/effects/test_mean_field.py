"""The check of the mean-field assumption."""

from __future__ import annotations

import json

import numpy as np
import pytest
from contracts import assert_close
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from unsway.datasets import make_world
from unsway.effects.mean_field import mean_field
from unsway.folds import fold_numbers


def cross_fitted(data, n_folds=3):
    """Return τ̂ and the other arguments of mean_field, from logistic regressions out of fold."""
    folds = fold_numbers(data.X, data.z.astype(float), n_folds)
    b, mu0, mu1 = np.empty((3, len(data.y)))
    for fold in range(n_folds):
        train, test = folds != fold, folds == fold
        for answer, rows, target in (
            (b, train, data.z),
            (mu0, train & (data.z == 0), data.y),
            (mu1, train & (data.z == 1), data.y),
        ):
            model = LogisticRegression(C=10).fit(data.X[rows], target[rows])
            answer[test] = model.predict_proba(data.X[test])[:, 1]
    return mu1 - mu0, {"propensity": b, "y": data.y, "sensitive_features": data.z, "mu0": mu0}


def small_study(n=1500, seed=0):
    """Return rows whose effect depends on a covariate that b does not see."""
    rng = np.random.default_rng(seed)
    seen, unseen = rng.normal(size=(2, n))
    b = expit(seen)
    z = (rng.random(n) < b).astype(float)
    tau = 0.5 + 0.3 * seen + 0.4 * unseen
    y = seen + z * tau + 0.5 * rng.normal(size=n)
    return tau, {"propensity": b, "y": y, "sensitive_features": z, "mu0": seen}


# --- known worlds ---------------------------------------------------------------------------------


def test_the_varying_world_varies_within_bins():
    effect, others = cross_fitted(make_world("varying_effect", 6_000, random_state=1))
    found = mean_field(effect, **others)
    assert found.calibration.p_value < 0.001
    assert 0.08 < found.within < 0.16  # the truth is .146, of which linear models see a part
    assert found.between < found.within
    assert "by at least about" in found.sentence


def test_a_world_without_a_direct_effect_does_not_vary_though_the_models_do():
    effect, others = cross_fitted(make_world("no_direct_effect", 6_000, random_state=1))
    found = mean_field(effect, **others)
    assert found.calibration.p_value > 0.05
    assert found.within < 0.02 < found.model_within
    assert abs(found.effect) < 0.05
    assert "confirm none" in found.sentence


def test_the_papers_world_varies_less_than_the_models_say():
    effect, others = cross_fitted(make_world("paper", 6_000, random_state=3))
    found = mean_field(effect, **others)
    assert found.within < min(0.09, found.model_within)  # the truth is .068
    assert found.effect == pytest.approx(0.215, abs=0.06)


def test_the_true_effect_is_confirmed_in_full():
    effect, others = small_study(8_000)
    found = mean_field(effect, **others, n_bins=20)
    slope = found.calibration.slope
    assert abs(slope.estimate - 1) < 3 * slope.se
    assert found.within == pytest.approx(0.4, abs=0.05)
    weights = others["propensity"] * (1 - others["propensity"])
    assert found.effect == pytest.approx(np.average(effect, weights=weights), abs=0.05)


def test_noise_in_the_models_effect_does_not_count():
    effect, others = small_study(8_000)
    noise = np.random.default_rng(1).normal(size=len(effect))
    noisy = mean_field(effect + noise, **others)
    only_noise = mean_field(noise, **others)
    assert noisy.model_within > 1
    assert noisy.within < 0.4  # a noisy view finds a part of the true spread
    assert only_noise.within < 0.05 < only_noise.model_within
    assert only_noise.calibration.p_value > 0.05


@pytest.mark.slow
def test_the_test_of_no_variation_keeps_its_size():
    rejected = 0
    for seed in range(40):
        effect, others = cross_fitted(make_world("no_direct_effect", 3_000, random_state=seed))
        rejected += mean_field(effect, **others).calibration.p_value < 0.05
    assert rejected <= 6  # 2 expected


# --- the numbers ----------------------------------------------------------------------------------


def test_slope_and_error_are_those_of_one_large_regression():
    effect, others = small_study()
    found = mean_field(effect, **others, n_bins=4)
    b, y, z, mu0 = others["propensity"], others["y"], others["sensitive_features"], others["mu0"]
    weights = b * (1 - b)
    order = np.argsort(b)
    middle = (np.cumsum(weights[order]) - weights[order] / 2) / weights.sum()
    bins = np.empty(len(b), dtype=int)
    bins[order] = (4 * middle).astype(int)
    lines = np.zeros((len(b), 8))
    lines[np.arange(len(b)), 2 * bins] = 1
    lines[np.arange(len(b)), 2 * bins + 1] = b
    root = np.sqrt(weights)[:, None]
    rest = effect - lines @ np.linalg.lstsq(lines * root, effect * root[:, 0], rcond=None)[0]
    design = (z - b)[:, None] * np.column_stack([rest, lines])
    answer = y - mu0 - b * effect
    coefficients = np.linalg.lstsq(design, answer, rcond=None)[0]
    inverse = np.linalg.inv(design.T @ design)
    scores = design * (answer - design @ coefficients)[:, None]
    se = np.sqrt((inverse @ scores.T @ scores @ inverse)[0, 0])
    assert found.calibration.slope.estimate == pytest.approx(coefficients[0])
    assert found.calibration.slope.se == pytest.approx(se)
    assert found.model_within == pytest.approx(np.sqrt(np.average(rest**2, weights=weights)))
    assert_close(found.bin_weights, [0.25] * 4, 0.01)


def test_weights_count_as_repeated_rows():
    effect, others = small_study()
    weights = np.random.default_rng(2).integers(1, 4, len(effect))
    rows = np.repeat(np.arange(len(effect)), weights)
    weighted = mean_field(effect, **others, sample_weight=weights)
    longer = mean_field(effect[rows], **{name: values[rows] for name, values in others.items()})
    assert weighted.within == pytest.approx(longer.within)
    assert weighted.effect == pytest.approx(longer.effect)
    assert weighted.scale == pytest.approx(longer.scale)
    assert_close(weighted.calibration.effects, longer.calibration.effects, 1e-9)


def test_row_order_does_not_matter():
    effect, others = small_study()
    order = np.random.default_rng(4).permutation(len(effect))
    found = mean_field(effect, **others)
    again = mean_field(effect[order], **{name: values[order] for name, values in others.items()})
    assert found.within == pytest.approx(again.within)
    assert found.between == pytest.approx(again.between)


def test_the_unit_of_y_is_the_unit_of_every_spread():
    effect, others = small_study()
    large = {**others, "y": 10 * others["y"], "mu0": 10 * others["mu0"]}
    found, scaled = mean_field(effect, **others), mean_field(10 * effect, **large)
    assert scaled.within == pytest.approx(10 * found.within)
    assert scaled.between == pytest.approx(10 * found.between)
    assert scaled.within / scaled.scale == pytest.approx(found.within / found.scale)


def test_an_effect_along_b_alone_is_between_bins_not_within():
    _, others = small_study(8_000)
    b = others["propensity"]
    rng = np.random.default_rng(5)
    others["y"] = others["mu0"] + others["sensitive_features"] * b + 0.2 * rng.normal(size=len(b))
    found = mean_field(b, **others, n_bins=20)
    assert found.model_within < 1e-6
    assert found.within < 0.001
    spread = np.sqrt(np.cov(b, aweights=b * (1 - b)))
    assert found.between == pytest.approx(spread, abs=0.02)


def test_a_constant_effect_has_no_spread():
    _, others = small_study()
    found = mean_field(np.full(1500, 0.3), **others)
    assert found.within == 0
    assert found.calibration.p_value == 1
    assert found.calibration.slope.se == 0


def test_without_labels_the_models_speak_alone():
    effect, others = small_study()
    found = mean_field(effect, others["propensity"])
    assert found.calibration is None
    assert found.within == found.model_within == pytest.approx(0.4, abs=0.05)
    assert "give y, sensitive_features and mu0" in found.sentence


def test_a_propensity_of_few_values_has_few_bins():
    effect, others = small_study()
    others["propensity"] = np.where(others["propensity"] > 0.5, 0.65, 0.35)
    assert mean_field(effect, **others).bin_scores.tolist() == pytest.approx([0.35, 0.65])


def test_rows_with_an_exact_propensity_have_no_say():
    effect, others = small_study()
    others["propensity"] = np.where(others["propensity"] > 0.5, 0.65, 0.35)
    found = mean_field(effect, **others)
    longer = {name: np.r_[values, values[:9]] for name, values in others.items()}
    longer["propensity"][-9:] = 0.0
    again = mean_field(np.r_[effect, np.full(9, 50.0)], **longer)
    assert again.to_dict() == found.to_dict()
    assert again.n_rows == 1500


def test_bins_are_merged_until_each_holds_both_groups():
    effect, others = small_study(120)
    found = mean_field(effect, **others, n_bins=50)
    assert 1 <= len(found.bin_scores) <= 6
    assert np.isfinite(found.calibration.standard_errors).all()


# --- the result -----------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_the_frame_has_a_row_per_bin(backend):
    pytest.importorskip(backend)
    effect, others = small_study()
    assert mean_field(effect, **others).to_frame(backend).shape == (10, 6)
    assert mean_field(effect, others["propensity"]).to_frame(backend).shape == (10, 6)


def test_the_dict_survives_json():
    effect, others = small_study()
    found = mean_field(effect, **others)
    assert json.loads(json.dumps(found.to_dict()))["within"] == found.calibration.within.to_dict()
    assert mean_field(effect, others["propensity"]).to_dict()["p_value"] is None
    assert found.sentence in repr(found)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sensitive_features": None}, "sensitive_features missing: give all of y, sensitive_f"),
        ({"y": None, "mu0": None}, "y and mu0 missing"),
        ({"y": np.zeros(3)}, "y has 3 rows but effect has 1500"),
        ({"mu0": np.full(1500, np.nan)}, "mu0 has 1500 missing values"),
        ({"propensity": np.full(1500, 1.0)}, "every propensity is exactly 0 or 1"),
        ({"propensity": np.full(1500, 2.0)}, r"outside \[0, 1\]"),
        ({"sensitive_features": np.eye(1, 1500)[0]}, "fewer than 10 rows"),
        ({"n_bins": 0}, "n_bins must be an integer of at least 1"),
        ({"confidence": 95}, "confidence must be a finite number above 0 and below 1"),
        ({"sample_weight": -np.ones(1500)}, "1500 negative values"),
    ],
)
def test_bad_input_is_refused(changed, message):
    effect, others = small_study()
    with pytest.raises(ValueError, match=message):
        mean_field(effect, **{**others, **changed})


def test_text_is_refused():
    with pytest.raises(TypeError, match="effect must hold numbers"):
        mean_field(["a", "b"], [0.5, 0.5])


# --- with the folds ------------------------------------------------------------------------------


def null_slope(seed, *, known_folds):
    """Return the slope where nothing varies, of linear models fitted on the other folds."""
    rng = np.random.default_rng([seed, 17])
    n, folds = 600, np.arange(600) % 5
    X = rng.normal(size=(n, 4))
    b = np.full(n, 0.5)
    z, y = (rng.random(n) < b).astype(float), rng.normal(size=n)
    design = np.column_stack([np.ones(n), X])
    means = np.empty((n, 2))
    for fold in range(5):
        for level in (0, 1):
            inside = (folds != fold) & (z == level)
            means[folds == fold, level] = (
                design[folds == fold] @ np.linalg.lstsq(design[inside], y[inside], rcond=None)[0]
            )
    found = mean_field(
        means[:, 1] - means[:, 0],
        b,
        y=y,
        sensitive_features=z,
        mu0=means[:, 0],
        n_bins=1,
        folds=folds if known_folds else None,
    )
    return found.calibration


def test_with_the_folds_the_slope_has_no_bias_where_nothing_varies():
    slopes = {
        known: [null_slope(seed, known_folds=known).slope.estimate for seed in range(150)]
        for known in (False, True)
    }
    error = {known: np.std(values) / np.sqrt(150) for known, values in slopes.items()}
    assert np.mean(slopes[False]) < -3 * error[False]
    assert abs(np.mean(slopes[True])) < 3 * error[True]


def test_with_the_folds_the_test_keeps_its_size():
    wrong = sum(null_slope(seed, known_folds=True).p_value < 0.05 for seed in range(150))
    assert wrong <= 15  # of 150; more than 15 have a chance of .007 at .05


def test_folds_with_too_few_rows_are_left_aside():
    b, z = np.full(40, 0.5), np.tile([0.0, 1.0], 20)
    tau = np.tile([0.2, 0.2, 0.4, 0.4], 10)
    given = {"y": z * tau, "sensitive_features": z, "mu0": np.zeros(40), "n_bins": 1}
    found = mean_field(tau, b, folds=np.arange(40) % 5, **given)
    plain = mean_field(tau, b, **given)
    assert found.calibration.slope == plain.calibration.slope
