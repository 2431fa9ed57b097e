"""Labels without the direct effect: the formula, its truth, its cross-fitting and its refusals."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from contracts import (
    CONTAINERS,
    EXACT,
    FAIR_TARGETS,
    assert_close,
    each_container,
    each_fair_target,
    fair_target,
    make_people,
    mixed_columns,
    rows_of,
    targets_of,
)
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from spread import in_threads

from unsway.criteria import (
    Criterion,
    DirectEffect,
    FairTarget,
    FittedCriterion,
    Parity,
    choose_strength,
    fit_criterion,
)
from unsway.criteria.fair_target import teacher_share
from unsway.datasets import make_synthetic, make_world
from unsway.effects import OverlapWarning
from unsway.folds import fold_numbers


def with_means(means, **options):
    """Return a fitted fair target whose outcome means in both groups are known."""
    return FittedCriterion(FairTarget(**options), np.asarray(means, dtype=float))


def effect_of(values):
    """Return the direct effect at each row: the difference of the outcome means."""
    return values[:, 1] - values[:, 0]


def truth_of(data, world_effect=1.25):
    """Return P(y=1|X,z) at both levels of z in the paper's world."""
    margin = data.X @ data.coefficients
    return 1 / (1 + np.exp(-margin[:, None] - np.array([0.0, world_effect])))


@pytest.fixture(scope="module")
def people():
    return make_people(400, seed=3)


@pytest.fixture(scope="module")
def data():
    return make_synthetic(2_000, random_state=0)


def fit(criterion, people, weights=None):
    return criterion.fit(rows_of(people.X, people.y, people.z, weights))


# --- the formula ---------------------------------------------------------------------------------


def test_targets_are_as_by_hand():
    fitted = with_means([[0.1, 0.5], [0.3, 0.7], [0.6, 0.4], [0.2, 0.0]])
    y, z = np.array([1.0, 0.0, 1.0, 0.0]), np.array([1.0, 0.0, 1.0, 0.0])
    assert_close(targets_of(fitted, y, z), [0.8, 0.2, 1.1, -0.1], 1e-14)
    assert_close(targets_of(fitted, y, z, 0.5), [0.9, 0.1, 1.05, -0.05], 1e-14)


@pytest.mark.parametrize(
    ("smoothing", "expected"), [(0.0, [0.8, 0.2]), (0.5, [0.55, 0.35]), (1.0, [0.3, 0.5])]
)
def test_smoothed_targets_are_as_by_hand(smoothing, expected):
    fitted = with_means([[0.1, 0.5], [0.3, 0.7]], smoothing=smoothing)
    y, z = np.array([1.0, 0.0]), np.array([1.0, 0.0])
    assert_close(targets_of(fitted, y, z), expected, 1e-14)


def test_smoothing_changes_no_target_on_average_where_the_means_are_true():
    data = make_synthetic(20_000, random_state=3)
    means = truth_of(data)
    plain, smooth = (
        targets_of(with_means(means, smoothing=share), data.y.astype(float), data.z.astype(float))
        for share in (0.0, 0.7)
    )
    assert abs((smooth - plain).mean()) < 4 * (smooth - plain).std() / np.sqrt(20_000)
    noise = [target - means.mean(axis=1) for target in (plain, smooth)]
    assert_close(noise[1], 0.3 * noise[0], 1e-12)


def test_the_objective_is_the_log_loss_against_the_targets(people):
    fitted = fit(fair_target(), people, people.weights)
    objective = fitted.objective(rows_of(None, people.y, people.z, people.weights))
    assert objective.strength == 0.0
    np.testing.assert_array_equal(objective.sample_weight, people.weights)
    for strength in (0.0, 0.5, 1.0):
        targets = targets_of(fitted, people.y, people.z, strength)
        assert_close(objective.at(strength).shifted_target(), targets, 1e-14)


def test_targets_average_to_the_fair_score_at_each_x_where_the_effect_is_true():
    data = make_synthetic(40, random_state=1)
    outcome, rng, draws = truth_of(data), np.random.default_rng(0), 20_000
    fitted = with_means(outcome)
    total = np.zeros(40)
    for _ in range(draws):
        z = (rng.random(40) < data.propensity).astype(int)
        y = (rng.random(40) < outcome[np.arange(40), z]).astype(float)
        total += targets_of(fitted, y, z.astype(float))
    assert abs(total / draws - data.fair_score).max() < 4 * 0.5 / np.sqrt(draws)


@pytest.mark.parametrize("world", ["paper", "no_direct_effect", "opposed_effects"])
def test_the_gap_of_the_targets_is_symnie(world):
    data = make_world(world, 8_000, random_state=2)
    z, y = data.z.astype(float), data.y.astype(float)
    targets = targets_of(fair_target().fit(rows_of(data.X, y, z)), y, z)
    one, zero = targets[z == 1], targets[z == 0]
    standard_error = np.sqrt(one.var() / len(one) + zero.var() / len(zero))
    assert abs(one.mean() - zero.mean() - data.effects.explained) < 3 * standard_error


def test_targets_outside_zero_and_one_are_kept(people):
    fitted = fit(fair_target(), people)
    targets = targets_of(fitted, people.y, people.z)
    assert targets.min() < -0.01
    assert targets.max() > 1.01
    assert_close(targets - people.y, (0.5 - people.z) * effect_of(fitted.row_values), 1e-12)


def test_swapping_the_groups_changes_no_target(people):
    # but for the folds, which do not depend on what the levels are called
    swapped = fair_target().fit(rows_of(people.X, people.y, 1 - people.z))
    assert_close(
        targets_of(swapped, people.y, 1 - people.z),
        targets_of(fit(fair_target(), people), people.y, people.z),
        1e-8,
    )


def test_swapping_the_labels_mirrors_every_target(people):
    swapped = fair_target().fit(rows_of(people.X, 1 - people.y, people.z))
    assert_close(
        targets_of(swapped, 1 - people.y, people.z),
        1 - targets_of(fit(fair_target(), people), people.y, people.z),
        1e-8,
    )


# --- cross-fitting and correction ----------------------------------------------------------------


def outcome_means(people, folds):
    """Return the out-of-fold means of each group's own model, by a loop over two folds."""
    means = np.empty((400, 2))
    for fold in range(2):
        train, test = folds != fold, folds == fold
        for level in (0, 1):
            inside = train & (people.z == level)
            model = clone(EXACT).fit(people.X[inside], people.y[inside])
            means[test, level] = model.predict_proba(people.X[test])[:, 1]
    return means


def test_the_effect_is_what_a_loop_over_the_folds_gives(people):
    fitted = fit(fair_target(correction_degree=None), people)
    folds = fold_numbers(people.X, people.z, 2, 0, ties=[people.y])
    assert_close(fitted.row_values, outcome_means(people, folds), 1e-12)
    assert fitted.model.correction.coefficients.size == 0


def test_the_correction_is_a_line_in_the_propensity_times_the_variance_of_a_label(people):
    plain = fit(fair_target(correction_degree=None), people)
    corrected = fit(fair_target(correction_degree=1), people)
    added = effect_of(corrected.row_values) - effect_of(plain.row_values)
    folds, b = fold_numbers(people.X, people.z, 2, 0, ties=[people.y]), np.empty(400)
    for fold in range(2):
        model = clone(EXACT).fit(people.X[folds != fold], people.z[folds != fold])
        b[folds == fold] = model.predict_proba(people.X[folds == fold])[:, 1]
    constant, slope = corrected.model.correction.coefficients
    b = np.clip(b, 0.01, 0.99)
    mean = outcome_means(people, folds)
    mean = (1 - b) * mean[:, 0] + b * mean[:, 1]
    assert_close(added, 4 * mean * (1 - mean) * (constant + slope * (2 * b - 1)), 1e-9)
    assert abs(added).max() > 1e-3
    kept = (1 - b) * corrected.row_values[:, 0] + b * corrected.row_values[:, 1]
    assert_close(kept, mean, 1e-12)  # the mean outcome at each X stays what it was


def test_the_correction_is_one_number_by_default(people):
    assert fit(fair_target(), people).model.correction.coefficients.shape == (1,)


def test_a_higher_degree_has_as_many_numbers_more(people):
    fitted = fit(fair_target(correction_degree=3), people)
    assert fitted.model.correction.coefficients.shape == (4,)


def test_no_effect_comes_from_a_model_that_saw_the_row():
    # labels by the toss of a coin: a memoriser knows those it saw, and half of the others
    rng = np.random.default_rng(0)
    X, z = rng.normal(size=(600, 2)), rng.integers(0, 2, 600).astype(float)
    y = rng.integers(0, 2, 600).astype(float)
    memory = KNeighborsClassifier(1)
    options = {"outcome_model": memory, "propensity_model": EXACT, "correction_degree": None}
    own = np.empty((2, 600))
    for position, cv in enumerate((1, 2)):
        means = FairTarget(cv=cv, **options).fit(rows_of(X, y, z)).row_values
        own[position] = means[np.arange(600), z.astype(int)] == y
    assert own[0].all()
    assert 0.4 < own[1].mean() < 0.6


def test_another_seed_gives_other_folds(people):
    one, other = (fit(fair_target(random_state=seed), people).row_values for seed in (0, 1))
    assert abs(one - other).max() > 1e-4


@each_fair_target
def test_row_order_does_not_matter(criterion, people):
    order = np.random.default_rng(1).permutation(400)
    shuffled = people.rows(order)
    one = fit(criterion, people, people.weights)
    other = fit(criterion, shuffled, shuffled.weights)
    assert_close(other.row_values, one.row_values[order], 1e-9)
    assert_close(other.model.predict(people.X), one.model.predict(people.X), 1e-9)


@each_fair_target
def test_row_order_does_not_matter_where_many_rows_are_alike(criterion, data):
    X, z, y = np.round(data.X[:, [0, 10, 14]]), data.z.astype(float), data.y.astype(float)
    order = np.random.default_rng(1).permutation(len(y))
    one = criterion.fit(rows_of(X, y, z))
    other = criterion.fit(rows_of(X[order], y[order], z[order]))
    assert len(np.unique(X, axis=0)) < len(X) / 4
    assert_close(other.model.predict(X), one.model.predict(X), 1e-9)


def test_row_order_does_not_matter_to_the_default_models():
    people = make_people(300, seed=5)
    order = np.random.default_rng(1).permutation(300)
    one, other = fit(FairTarget(), people), fit(FairTarget(), people.rows(order))
    assert_close(other.row_values, one.row_values[order], 1e-6)


@pytest.mark.parametrize("degree", [None, 1])
def test_with_one_fold_weights_equal_repeated_rows(people, degree):
    # with more, the copies of a row are spread over the folds as other rows are
    criterion = fair_target(cv=1, correction_degree=degree)
    weighted, copied = fit(criterion, people, people.weights), fit(criterion, people.repeated())
    owner = np.repeat(np.arange(400), people.weights.astype(int))
    assert_close(copied.row_values, weighted.row_values[owner], 1e-8)


def test_equal_weights_are_as_good_as_none(people):
    # but for what is regularised, which is why nothing is here
    free = clone(EXACT).set_params(C=np.inf)
    criterion = fair_target(outcome_model=free, propensity_model=free, correction_degree=None)
    assert_close(
        fit(criterion, people, np.full(400, 2.5)).row_values,
        fit(criterion, people).row_values,
        1e-7,
    )


def test_rows_without_weight_have_no_say(people):
    weights = np.where(np.arange(400) < 350, 1.0, 0.0)
    changed = people.y.copy()
    changed[350:] = 1 - changed[350:]
    one = fair_target().fit(rows_of(people.X, people.y, people.z, weights))
    other = fair_target().fit(rows_of(people.X, changed, people.z, weights))
    assert_close(other.row_values, one.row_values, 1e-8)


def test_the_correction_mends_outcome_models_that_hardly_see_anything():
    data = make_synthetic(8_000, random_state=4)
    z, y = data.z.astype(float), data.y.astype(float)
    outcome = truth_of(data)
    truth = (outcome[:, 1] - outcome[:, 0]).mean()
    deaf = LogisticRegression(C=1e-5)
    raw, mended = (
        effect_of(
            fair_target(outcome_model=deaf, correction_degree=degree)
            .fit(rows_of(data.X, y, z))
            .row_values
        ).mean()
        for degree in (None, 1)
    )
    assert raw > truth + 0.1
    assert abs(mended - truth) < 0.25 * (raw - truth)


# --- at other rows -------------------------------------------------------------------------------


def test_some_rows_keep_their_effect(people):
    fitted = fit(fair_target(), people)
    rows = np.arange(0, 400, 3)
    np.testing.assert_array_equal(fitted.take(rows).row_values, fitted.row_values[rows])
    assert fitted.take(rows).n_rows == len(rows)


def test_other_rows_get_the_mean_of_the_folds_models(people):
    fitted = fit(fair_target(), people)
    others = make_people(50, seed=9)
    found = fitted.at(others.X)
    assert found.n_rows == 50
    np.testing.assert_array_equal(found.row_values, fitted.model.predict(others.X))
    assert (
        abs(fitted.at(people.X).row_values - fitted.row_values).max() > 1e-4
    )  # not those out of fold


def test_with_one_fold_the_same_rows_have_the_same_effect(people):
    fitted = fit(fair_target(cv=1), people)
    assert_close(fitted.at(people.X).row_values, fitted.row_values, 1e-12)


@each_container
def test_every_container_gives_the_same_effect(container):
    columns, z = mixed_columns()
    del columns["empty"]  # words to some containers, numbers to others
    y = np.random.default_rng(1).integers(0, 2, len(z)).astype(float)
    criterion = FairTarget(max_extreme_share=1.0)
    found = criterion.fit(rows_of(container(columns), y, z))
    expected = criterion.fit(rows_of(CONTAINERS["pandas"](columns), y, z))
    assert_close(found.row_values, expected.row_values, 1e-9)
    assert_close(
        found.at(container(columns)).row_values,
        expected.at(CONTAINERS["pandas"](columns)).row_values,
        1e-9,
    )


# --- contract ------------------------------------------------------------------------------------


@each_fair_target
def test_it_keeps_the_protocol_of_criteria(criterion, people):
    assert isinstance(criterion, Criterion)
    assert not isinstance(criterion, FittedCriterion)
    fitted = fit(criterion, people)
    assert isinstance(fitted, FittedCriterion)
    assert not isinstance(fitted, Criterion)


@each_fair_target
def test_fitting_by_hand_is_the_same_as_letting_it_be_fitted(criterion, people):
    by_hand = fit(criterion, people, people.weights)
    let = fit_criterion(criterion, rows_of(people.X, people.y, people.z, people.weights))
    np.testing.assert_array_equal(let.row_values, by_hand.row_values)
    assert fit_criterion(let, rows_of(people.X, people.y, people.z)) is let


@each_fair_target
def test_fitting_leaves_the_criterion_as_it_was(criterion, people):
    before = clone(criterion).get_params(deep=False)
    fit(criterion, people)
    assert repr(criterion.get_params(deep=False)) == repr(before)
    assert not hasattr(EXACT, "coef_")


@each_fair_target
def test_a_fitted_fair_target_can_be_pickled(criterion, people):
    fitted = fit(criterion, people)
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    np.testing.assert_array_equal(again.row_values, fitted.row_values)
    np.testing.assert_array_equal(again.at(people.X).row_values, fitted.at(people.X).row_values)


def test_parameters_reach_into_the_models():
    criterion = fair_target()
    assert criterion.get_params()["outcome_model__solver"] == "newton-cholesky"
    copy = clone(criterion).set_params(cv=5, propensity_model__C=0.5)
    assert (copy.cv, copy.propensity_model.C) == (5, 0.5)
    assert (criterion.cv, criterion.propensity_model.C) == (2, 1.0)


def test_it_prints_its_settings_and_no_row(people):
    assert repr(FairTarget(correction_degree=2)) == "FairTarget(correction_degree=2)"
    assert "array" not in repr(fit(fair_target(), people))


@pytest.mark.parametrize(
    "criterion", [FairTarget(), FAIR_TARGETS["fair target"]], ids=["default", "exact"]
)
def test_a_fitted_fair_target_holds_no_sensitive_value(criterion, data):
    fitted = criterion.fit(rows_of(data.X, data.y.astype(float), data.z.astype(float)))
    kept = pickle.dumps(fitted)
    assert fitted.row_values.tobytes() in kept  # what is kept would be found
    folds = fold_numbers(data.X, data.z.astype(float), 2, 0, ties=[data.y])
    for values in (data.z, data.z[folds == 0], data.z[folds == 1]):
        for kind in (np.float64, np.float32, np.int64, np.int32, np.uint8, bool):
            assert values.astype(kind)[:100].tobytes() not in kept


def test_the_default_models_serve_numbers_words_and_holes():
    columns, z = mixed_columns()
    y = np.random.default_rng(1).integers(0, 2, len(z)).astype(float)
    fitted = FairTarget(max_extreme_share=1.0).fit(rows_of(CONTAINERS["pandas"](columns), y, z))
    assert abs(effect_of(fitted.row_values)).max() <= 1
    assert effect_of(fitted.row_values).std() > 0


def test_any_classifier_may_model_the_outcome(people):
    trees = HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=4)
    fitted = fit(fair_target(outcome_model=[trees, EXACT]), people)
    assert fitted.row_values.std() > 0


# --- strength ------------------------------------------------------------------------------------


def test_fair_targets_are_at_full_strength_by_default_and_penalties_at_nine_tenths(people):
    assert choose_strength(FairTarget(), None) == 1.0
    assert choose_strength(fit(fair_target(), people), None) == 1.0
    assert choose_strength(DirectEffect(), None) == choose_strength(Parity(), None) == 0.9


def test_a_stated_strength_is_taken():
    assert choose_strength(FairTarget(), 0) == 0.0
    assert choose_strength(FairTarget(), 1) == 1.0
    assert choose_strength(Parity(), np.float32(0.5)) == 0.5


@pytest.mark.parametrize(
    ("criterion", "strength", "error", "message"),
    [
        (FairTarget(), 1.1, ValueError, "at least 0 and at most 1; got 1.1"),
        (FairTarget(), -0.1, ValueError, "at least 0 and at most 1; got -0.1"),
        (FairTarget(), float("nan"), ValueError, r"at least 0 and at most 1; got nan"),
        (FairTarget(), "all", TypeError, r"strength must be a number; got 'all'"),
        (DirectEffect(), 1, ValueError, r"at least 0 and below 1; got 1"),
        (DirectEffect(), 1.1, ValueError, "at least 0 and below 1; got 1.1"),
        (FairTarget, 0.5, TypeError, "criterion must be one such as FairTarget[(]"),
        ("fair", 0.5, TypeError, r"criterion must be one such as .*; got 'fair'"),
    ],
)
def test_a_strength_the_criterion_has_not_is_refused(criterion, strength, error, message):
    with pytest.raises(error, match=message):
        choose_strength(criterion, strength)


# --- refusals ------------------------------------------------------------------------------------


def test_an_objective_needs_the_effect_at_each_row(people):
    with pytest.raises(TypeError, match="FairTarget needs the outcome means at each row"):
        FairTarget().objective(people.checked(), None)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"correction_degree": -1}, ValueError, "correction_degree must be None or an integer"),
        ({"correction_degree": 1.5}, ValueError, "correction_degree .* got 1.5"),
        ({"correction_degree": "two"}, ValueError, "correction_degree .* got 'two'"),
        ({"smoothing": 1.5}, ValueError, "smoothing must be a finite number of at least 0 and at"),
        ({"smoothing": "much"}, ValueError, "smoothing must be 'auto' or a number from 0 to 1"),
        ({"smoothing": None}, TypeError, "smoothing must be a number"),
        ({"cv": 0}, ValueError, "cv must be an integer of at least 1; got 0"),
        ({"cv": 2.0}, ValueError, "cv must be an integer of at least 1; got 2.0"),
        ({"clip": 0.5}, ValueError, "clip must be a finite number above 0 and below 0.5"),
        ({"random_state": -1}, ValueError, "random_state must be an integer of at least 0"),
        ({"outcome_model": []}, ValueError, "outcome_model is an empty list"),
        ({"outcome_model": "trees"}, TypeError, "outcome_model must be a scikit-learn model"),
        ({"propensity_model": 3}, TypeError, "propensity_model must be a scikit-learn model"),
        ({"cv": 1, "outcome_model": None}, ValueError, "cv=1 predicts the rows"),
        ({"cv": 300}, ValueError, "at least 600 are needed"),
    ],
    ids=str,
)
def test_bad_settings_are_refused(options, error, message, people):
    with pytest.raises(error, match=message):
        fit(fair_target(**options), people)


def test_a_level_with_too_few_rows_is_refused_by_its_number(people):
    z = np.zeros(400)
    z[:19] = 1
    with pytest.raises(ValueError, match="a sensitive level has 19 rows; at least 20 are needed"):
        fair_target().fit(rows_of(people.X, people.y, z))


def test_another_number_of_rows_is_refused_with_both_numbers(people):
    fitted, part = fit(fair_target(), people), people.rows(np.arange(100))
    message = "the criterion was fitted on 400 rows but there are 100"
    with pytest.raises(ValueError, match=message):
        targets_of(fitted, part.y, part.z)
    with pytest.raises(ValueError, match=message):
        fitted.objective(rows_of(None, part.y, part.z))


@pytest.mark.parametrize(
    "criterion",
    [fair_target(), DirectEffect(propensity=EXACT)],
    ids=["fair target", "direct effect"],
)
def test_a_criterion_fitted_on_other_rows_is_not_passed_on(criterion, people):
    fitted, part = fit(criterion, people), people.rows(np.arange(100))
    with pytest.raises(ValueError, match="fitted on 400 rows but there are 100 to train on"):
        fit_criterion(fitted, rows_of(part.X, part.y, part.z))


def test_groups_that_hardly_overlap_are_warned_about():
    people = make_people(400, seed=3, separation=8.0)
    with pytest.warns(OverlapWarning, match="outside"):
        fit(fair_target(propensity_model=clone(EXACT).set_params(C=100)), people)


# --- the second model ----------------------------------------------------------------------------


def held_out(n_rows=4_000, seed=7):
    data = make_synthetic(n_rows, random_state=seed)
    return data, rows_of(None, data.y.astype(float), data.z.astype(float))


def margin_of(scores):
    scores = np.clip(scores, 1e-4, 1 - 1e-4)
    return np.log(scores / (1 - scores))


def test_a_perfect_model_needs_no_second_one():
    data, rows = held_out()
    noisy = np.clip(truth_of(data) + 0.2 * np.random.default_rng(0).normal(size=(4_000, 2)), 0, 1)
    assert FairTarget().revise(rows, noisy, margin_of(data.fair_score)) is None


def test_a_noisy_model_gets_a_second_one_that_leans_on_good_outcome_models():
    data, rows = held_out()
    noise = 0.15 * np.random.default_rng(0).normal(size=4_000)
    revised = FairTarget(cv=3).revise(rows, truth_of(data), margin_of(data.fair_score + noise))
    assert revised.cv == 3
    assert revised.smoothing > 0.8


def test_the_share_of_the_outcome_models_is_that_of_the_best_mixture():
    data, rows = held_out(20_000)
    rng = np.random.default_rng(0)
    fair = np.clip(data.fair_score, 0.1, 0.9)
    means = np.repeat((fair + 0.05 * rng.normal(size=20_000))[:, None], 2, axis=1)
    labels = (rng.random(20_000) < fair).astype(float)
    rows = rows_of(None, labels, data.z.astype(float))
    share = teacher_share(rows, means, margin_of(fair + 0.05 * rng.normal(size=20_000)))
    assert abs(share - 0.5) < 0.12  # both errors are alike and independent


def test_the_share_is_that_of_all_workers():
    data, rows = held_out(2_000)
    means, margin = truth_of(data), margin_of(data.fair_score + 0.1)
    whole = teacher_share(rows, means, margin)
    halves = [np.arange(2_000) % 2 == k for k in (0, 1)]

    def work(rank, reduce):
        chosen = np.flatnonzero(halves[rank])
        return teacher_share(rows.take(chosen), means[chosen], margin[chosen], reduce=reduce)

    assert_close(in_threads(2, work), [whole, whole], 1e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.5, 1.0])
def test_a_stated_smoothing_asks_for_one_model(smoothing):
    data, rows = held_out()
    criterion = FairTarget(smoothing=smoothing)
    assert criterion.revise(rows, truth_of(data), np.zeros(4_000)) is None


def test_only_criteria_that_revise_ask_for_a_second_model(people):
    fitted = Parity().fit(people.checked())
    assert fitted.revised(people.checked(), np.zeros(400)) is None
