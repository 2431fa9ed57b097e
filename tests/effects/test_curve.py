"""The direct effect as a curve over the propensity score."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from contracts import KnownScore, assert_close, make_people
from scipy.special import expit
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from unsway.datasets import synthetic
from unsway.effects import fit_surrogate
from unsway.effects.curve import CURVES, MIN_BIN_ROWS, effect_curve
from unsway.effects.influence import augmented_effect
from unsway.effects.nuisance import Nuisances
from unsway.effects.surrogate import IllPosedSurrogateError
from unsway.grouping import Grouping

PEOPLE = make_people(500)
OPTIONS = {"propensity_model": KnownScore(), "outcome_model": LogisticRegression(), "cv": 2}

each_curve = pytest.mark.parametrize("method", CURVES)


def curve(people=PEOPLE, **options):
    chosen = {**OPTIONS, **options}
    X, y, z = (chosen.pop(name, getattr(people, name)) for name in ("X", "y", "z"))
    return effect_curve(X, y, sensitive_features=z, **chosen)


# --- values --------------------------------------------------------------------------------------


def test_bins_are_differences_of_means_worked_out_by_hand():
    # two bins; in the lower one the groups' means are 1/5 and 3/5, in the upper one 2/5 and 1
    b = np.repeat([0.3, 0.6], 10)
    z = np.tile(np.repeat([0.0, 1.0], 5), 2)
    y = np.r_[[1, 0, 0, 0, 0], [1, 1, 1, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 1, 1]].astype(float)
    order = np.repeat(np.arange(20), 4)
    X = np.column_stack([b, np.arange(20)])[order]
    found = curve(X=X, y=y[order], z=z[order], method="bins", n_bins=2, n_points=2, cv=1)
    assert_close(found.b, [0.3, 0.6], 1e-12)
    assert_close(found.estimate, [0.4, 0.6], 1e-12)
    # a mean p of 20 has the variance p(1−p)/20
    assert_close(found.se, np.sqrt([(0.16 + 0.24) / 20, 0.24 / 20]), 1e-12)


def test_a_bin_that_lacks_a_group_is_missing():
    b = np.repeat([0.2, 0.5, 0.8], 100)
    z = np.r_[np.tile([0.0, 1.0], 50), np.ones(100), np.tile([0.0, 1.0], 50)]
    z[100 : 100 + MIN_BIN_ROWS - 1] = 0
    y = np.tile([0.0, 0.0, 1.0], 100)
    found = curve(X=np.column_stack([b, np.arange(300)]), y=y, z=z, method="bins", n_bins=3)
    lacking = np.abs(found.b - 0.5) < 0.02
    assert np.isnan(found.estimate[lacking]).all()
    assert np.isfinite(found.estimate[~lacking & ((found.b < 0.4) | (found.b > 0.81))]).all()
    assert "nan" not in repr(found)


@pytest.mark.parametrize("method", ["polynomial", "spline"])
@pytest.mark.parametrize("degree", [0, 1, 4])
def test_a_surrogates_curve_is_its_effect(method, degree):
    found = curve(method=method, degree=degree, sample_weight=PEOPLE.weights)
    fitted = fit_surrogate(
        PEOPLE.y, PEOPLE.b, PEOPLE.z, outcome_degree=degree + 1, effect_degree=degree,
        basis=method, sample_weight=PEOPLE.weights,
    )  # fmt: skip
    assert_close(found.estimate, fitted.effect(found.b), 1e-8)


def test_a_constant_surrogate_has_the_robust_error_of_its_coefficient():
    design = np.column_stack([np.ones(500), PEOPLE.b, PEOPLE.z])
    inverse = np.linalg.inv(design.T @ design)
    residual = PEOPLE.y - design @ (inverse @ design.T @ PEOPLE.y)
    hc0 = inverse @ (design.T * residual**2) @ design @ inverse
    assert_close(curve(method="polynomial", degree=0).se, np.sqrt(hc0[2, 2]), 1e-10)


def test_the_doubly_robust_curve_is_a_weighted_regression_of_the_augmented_effect():
    rng = np.random.default_rng(0)
    nuisances = Nuisances(PEOPLE.b, rng.uniform(0.2, 0.8, (500, 2)))
    found = curve(nuisances=nuisances, degree=2)
    score = augmented_effect(PEOPLE.y, PEOPLE.z, nuisances)
    b = PEOPLE.b
    design = np.column_stack([np.ones(500), b, b**2])
    weight = (b * (1 - b))[:, None]
    inverse = np.linalg.inv(design.T @ (weight * design))
    beta = inverse @ design.T @ (weight.ravel() * score)
    moved = (weight * design) * (score - design @ beta)[:, None] @ inverse
    grid = np.column_stack([np.ones(101), found.b, found.b**2])
    assert_close(found.estimate, grid @ beta, 1e-9)
    assert_close(found.se, np.sqrt(np.diag(grid @ moved.T @ moved @ grid.T)), 1e-9)


def test_a_flat_doubly_robust_curve_is_the_overlap_weighted_mean():
    nuisances = Nuisances(PEOPLE.b, np.full((500, 2), 0.5))
    found = curve(nuisances=nuisances, degree=0)
    score = augmented_effect(PEOPLE.y, PEOPLE.z, nuisances)
    expected = np.average(score, weights=PEOPLE.b * (1 - PEOPLE.b))
    assert_close(found.estimate, expected, 1e-10)


@pytest.mark.parametrize("method", CURVES)
def test_the_curve_of_a_world_covers_its_truth(method):
    world = replace(
        synthetic._find_world("varying_effect"), indirect_shift=0.5, proxy_shift=0.5
    )  # fmt: skip
    people = synthetic._draw(world, 20_000, np.random.default_rng(0))
    model = LogisticRegression(C=100, max_iter=1000)
    found = effect_curve(
        people.X, people.y, sensitive_features=people.z, method=method, propensity_model=model,
        outcome_model=model, cv=2, n_points=15,
    )  # fmt: skip
    truth = true_curve(world, found.b)
    # within three quarters of a band more: bins and polynomials have a bias of their own
    slack = 0.75 * (found.band_high - found.estimate) * (method != "doubly_robust")
    assert (found.band_low - slack < truth).all()
    assert (truth < found.band_high + slack).all()
    assert (found.band_high - found.band_low).min() < 0.2 < np.ptp(truth) + 0.2


def true_curve(world, grid):
    """Return E[CDE(X) | b] on a grid, from rows drawn afresh around each point."""
    drawn = synthetic._draw(world, 400_000, np.random.default_rng(1))
    indices = drawn.X @ world.index_directions().T
    effect = world.outcome_probability(indices, 1) - world.outcome_probability(indices, 0)
    inner = np.linspace(0, 1, 201)
    bins = np.searchsorted(inner, drawn.propensity)
    total = np.bincount(bins, minlength=202)
    centre = np.bincount(bins, drawn.propensity, 202) / np.maximum(total, 1)
    mean = np.bincount(bins, effect, 202) / np.maximum(total, 1)
    known = total > 50
    return np.interp(grid, centre[known], mean[known])


# --- bands ---------------------------------------------------------------------------------------


@each_curve
def test_a_band_is_wider_than_intervals_at_single_points(method):
    found = curve(method=method, degree=3)
    assert found.factor > 1.96
    assert_close(found.band_high - found.estimate, found.factor * found.se, 1e-12)
    assert_close(found.high - found.estimate, 1.959964 * found.se, 1e-6)
    assert (found.band_low < found.low).all()
    assert (found.high < found.band_high).all()


def test_a_curve_that_cannot_bend_needs_no_wider_band():
    assert curve(method="polynomial", degree=0).factor == pytest.approx(1.96, abs=0.05)


def test_more_confidence_makes_a_wider_band():
    wide, narrow = curve(confidence=0.99), curve(confidence=0.8)
    assert (wide.band_high > narrow.band_high).all()
    assert_close(wide.estimate, narrow.estimate, 1e-12)


# --- invariances ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["doubly_robust", "spline", "polynomial"])
def test_turning_z_around_mirrors_the_curve(method):
    outcome = np.random.default_rng(0).uniform(0.2, 0.8, (500, 2))
    found = curve(method=method, nuisances=Nuisances(PEOPLE.b, outcome))
    turned = Nuisances(1 - PEOPLE.b, outcome[:, ::-1])
    other = curve(method=method, nuisances=turned, groups=Grouping(reference=1))
    assert_close(other.b[::-1], 1 - found.b, 1e-9)
    assert_close(other.estimate[::-1], -found.estimate, 1e-6)
    assert_close(other.se[::-1], found.se, 1e-6)


@each_curve
def test_effects_are_in_the_units_of_y(method):
    nuisances = Nuisances(PEOPLE.b, np.full((500, 2), 0.5))
    moved = Nuisances(PEOPLE.b, 2 - 5 * nuisances.outcome)
    found = curve(method=method, nuisances=nuisances)
    other = curve(method=method, y=2 - 5 * PEOPLE.y, nuisances=moved, outcome_model=None)
    assert_close(other.estimate, -5 * found.estimate, 1e-6)
    assert_close(other.se, 5 * found.se, 1e-6)


@each_curve
def test_a_weight_of_zero_takes_a_row_out_of_the_fit(method):
    nuisances = Nuisances(PEOPLE.b, np.full((500, 2), 0.5))
    weights = (np.arange(500) % 4 > 0).astype(float)
    y = np.where(weights == 0, 1 - PEOPLE.y, PEOPLE.y)
    found = curve(method=method, nuisances=nuisances, sample_weight=weights)
    other = curve(method=method, nuisances=nuisances, sample_weight=weights, y=y)
    np.testing.assert_allclose(other.estimate, found.estimate, atol=1e-9)
    np.testing.assert_allclose(other.se, found.se, atol=1e-9)
    assert np.isfinite(found.se).any()


# --- results and bad input -----------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_curve_becomes_a_frame_with_a_row_per_point(backend):
    pytest.importorskip(backend)
    frame = curve(n_points=7).to_frame(backend)
    assert frame.shape == (7, 7)
    assert type(frame).__module__.split(".")[0] == backend


def test_a_printed_curve_tells_its_method_and_range():
    found = curve(method="spline", n_points=11)
    assert repr(found).startswith("EffectCurve(spline, 11 points in [")
    assert f"{found.estimate.max():.4f}" in repr(found)


def test_a_curve_is_drawn_on_the_axes_given():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    _, ax = pyplot.subplots()
    assert curve().plot(ax) is ax
    assert ax.lines
    pyplot.close("all")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "loess"}, ValueError, "unknown method 'loess'; choose from doubly_robust, spl"),
        ({"degree": -1}, ValueError, "degree must be an integer of at least 0; got -1"),
        ({"degree": 2.0}, ValueError, r"degree must be an integer of at least 0; got 2\.0"),
        ({"n_bins": 1}, ValueError, "n_bins must be an integer of at least 2; got 1"),
        ({"n_points": 1}, ValueError, "n_points must be an integer of at least 2; got 1"),
        (
            {"confidence": 1},
            ValueError,
            "confidence must be a finite number above 0 and below 1; got 1",
        ),
        ({"clip": 0}, ValueError, "clip must be a finite number above 0"),
        ({"y": np.ones(500)}, ValueError, "y is the same for every row"),
        ({"y": PEOPLE.scores}, TypeError, "is a classifier, but y is not 0/1"),
        (
            {"nuisances": Nuisances(np.full(500, 0.5), np.full((500, 2), np.nan))},
            ValueError,
            "nuisances lack outcome means",
        ),
        (
            {"nuisances": Nuisances(np.ones(500), np.zeros((500, 2)))},
            ValueError,
            "500 propensities of nuisances are NaN, 0, 1 or beyond",
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_bad_input_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        curve(**options)


@pytest.mark.parametrize("method", ["doubly_robust", "spline", "polynomial"])
def test_a_propensity_that_says_nothing_has_no_curve(method):
    constant = {"propensity_model": DummyClassifier(), "cv": 1, "method": method}
    message = "lower degree" if method == "doubly_robust" else "the propensity score is"
    with pytest.raises(ValueError, match=message):
        curve(**constant)
    if method == "doubly_robust":
        flat = curve(**constant, degree=0)
        assert np.ptp(flat.estimate) == 0


def test_more_functions_than_a_sample_can_tell_apart_are_refused():
    X = np.column_stack([np.where(PEOPLE.b > 0.5, 0.7, 0.3), PEOPLE.X[:, 1]])
    with pytest.raises(ValueError, match="2 distinct propensity scores cannot determine 6"):
        curve(X=X)
    near = np.column_stack([X[:, 0] + 1e-9 * np.arange(500), PEOPLE.X[:, 1]])
    with pytest.raises(ValueError, match="cannot tell 4 functions of it apart; lower degree"):
        curve(X=near, degree=3)


def test_groups_that_share_no_bin_are_told():
    b = np.where(PEOPLE.z == 1, 0.8, 0.2)
    with pytest.raises(ValueError, match="no bin of the propensity score holds 5 rows of both"):
        curve(nuisances=Nuisances(b, np.full((500, 2), 0.5)), method="bins")


# --- where both groups are -----------------------------------------------------------------------


def test_the_curve_ends_where_a_group_runs_out_of_rows():
    n = 1_000
    b = np.linspace(0.02, 0.98, n)
    rng = np.random.default_rng(0)
    z = (rng.random(n) < b).astype(float)
    known = Nuisances(b, np.full((n, 2), 0.5))
    found = effect_curve(b[:, None], rng.random(n), sensitive_features=z, nuisances=known, degree=2)
    low, high = np.sort(b[z == 1]), np.sort(b[z == 0])
    assert found.b[0] == low[19]  # twenty people of z=1 have a lower propensity
    assert found.b[-1] == high[-20]


def test_a_small_group_needs_a_tenth_of_its_rows_beyond_the_ends():
    b = np.r_[np.linspace(0.1, 0.9, 400), np.linspace(0.2, 0.8, 50)]
    z = np.r_[np.zeros(400), np.ones(50)]
    known = Nuisances(b, np.full((450, 2), 0.5))
    y = np.arange(450) % 7 / 7
    found = effect_curve(b[:, None], y, sensitive_features=z, nuisances=known, degree=1)
    assert found.b[0] == np.sort(b[z == 1])[4]


def test_groups_with_no_propensity_in_common_have_no_curve():
    b = np.r_[np.linspace(0.05, 0.4, 100), np.linspace(0.6, 0.95, 100)]
    z = np.repeat([0.0, 1.0], 100)
    known = Nuisances(b, np.full((200, 2), 0.5))
    with pytest.raises(IllPosedSurrogateError, match="no range of propensity scores in common"):
        effect_curve(b[:, None], np.arange(200.0), sensitive_features=z, nuisances=known)


def test_the_band_holds_the_whole_curve_where_overlap_is_poor():
    held = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 4])
        x = rng.normal(size=1_500) + 2.4 * (z := (rng.random(1_500) < 0.5).astype(float))
        b = expit(2.4 * x - 2.4**2 / 2)  # known, AUC .955
        means = np.column_stack([expit(0.3 * x - 1), expit(0.3 * x)])
        y = (rng.random(1_500) < np.where(z == 1, means[:, 1], means[:, 0])).astype(float)
        model = Nuisances(np.clip(b, 0.01, 0.99), np.full((1_500, 2), 0.5))
        found = effect_curve(x[:, None], y, sensitive_features=z, nuisances=model, degree=3)
        at = np.interp(found.b, np.sort(b), np.sort(x))
        true = expit(0.3 * at) - expit(0.3 * at - 1)
        held += bool(np.all((found.band_low < true) & (true < found.band_high)))
    assert held >= 34  # of 40; fewer have a chance of .003 at .95
