"""Fair targets of sensitive attributes with several levels, in every engine."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.linear_model import LinearRegression, LogisticRegression

from unsway import (
    DirectEffect,
    EqualizedOdds,
    FairLGBMClassifier,
    FairLogisticRegression,
    FairTarget,
    FairTargetClassifier,
    FairTargetRegressor,
    FairXGBClassifier,
    FairXGBRegressor,
    Grouping,
    Parity,
    Rows,
    Schedule,
)
from unsway.effects.conditional import fit_correction
from unsway.effects.level_columns import LevelColumns, LevelInteractions
from unsway.effects.level_correction import fit_level_correction
from unsway.effects.nuisance import Nuisances

EXACT = LogisticRegression(solver="newton-cholesky", tol=1e-12)
NAMES = np.array(["a", "b", "c"])
QUICK = Schedule(max_steps=120)


class World:
    """Three levels with shares of about 55, 30 and 15 %, effects of −.8 and 1 on the log-odds."""

    def __init__(self, n: int, seed: int) -> None:
        rng = np.random.default_rng([seed, 3])
        self.X = rng.normal(size=(n, 3))
        odds = np.log([0.55, 0.3, 0.15]) + self.X[:, :2] @ [[0, 0.9, -0.5], [0, -0.4, 0.9]]
        share = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
        self.codes = (share.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(0, 2)
        self.means = expit((0.7 * self.X[:, [0]] - 0.5 * self.X[:, [2]]) + [[0, -0.8, 1.0]])
        self.fair = self.means.mean(axis=1)
        own = self.means[np.arange(n), self.codes]
        self.y = (rng.random(n) < own).astype(int)
        self.z = NAMES[self.codes]


@pytest.fixture(scope="module")
def world():
    return World(6_000, 0)


@pytest.fixture(scope="module")
def fresh():
    return World(20_000, 1)


def spread(score, world):
    """Return the largest difference between levels of what scores exceed the fair score by."""
    left = [(score - world.fair)[world.codes == level].mean() for level in range(3)]
    return max(left) - min(left)


MODELS = {
    "xgboost": lambda **given: FairXGBClassifier(schedule=QUICK, n_jobs=1, **given),
    "lightgbm": lambda **given: FairLGBMClassifier(schedule=QUICK, n_jobs=1, **given),
    "logistic": lambda **given: FairLogisticRegression(**given),
}


@pytest.mark.parametrize("engine", MODELS)
def test_the_direct_effect_of_three_levels_is_removed(engine, world, fresh):
    blind, fair = MODELS[engine](strength=0), MODELS[engine]()
    for model in (blind, fair):
        model.fit(world.X, world.y, sensitive_features=world.z)
    assert fair.sensitive_levels_ == ("a", "b", "c")
    scores = [model.predict_proba(fresh.X)[:, 1] for model in (blind, fair)]
    before, after = (spread(score, fresh) for score in scores)
    assert before > 0.07
    assert after < 0.3 * before


def test_any_classifier_can_be_wrapped(world, fresh):
    model = FairTargetClassifier(EXACT).fit(world.X, world.y, sensitive_features=world.z)
    assert spread(model.predict_proba(fresh.X)[:, 1], fresh) < 0.04


@pytest.mark.parametrize(
    "model", [FairXGBRegressor(n_jobs=1), FairTargetRegressor(LinearRegression())], ids=str
)
def test_numbers_lose_the_direct_effect_of_three_levels(model, world, fresh):
    rng = np.random.default_rng(5)
    amounts = 3 * world.means[np.arange(6_000), world.codes] + rng.normal(scale=0.3, size=6_000)
    model.fit(world.X, amounts, sensitive_features=world.z)
    assert spread(model.predict(fresh.X) / 3, fresh) < 0.04


# --- the values of a row -------------------------------------------------------------------------


def values(world, **given):
    settings = {"outcome_model": EXACT, "propensity_model": EXACT, "max_extreme_share": 1, **given}
    rows = Rows.check(world.X, world.y, sensitive_features=world.z)
    return rows, FairTarget(**settings).fit(rows)


def test_a_row_has_a_mean_for_each_level(world):
    fitted = values(world)[1]
    assert fitted.row_values.shape == (6_000, 3)
    np.testing.assert_allclose(fitted.row_values, world.means, atol=0.2)
    assert fitted.predict(world.X[:5]).shape == (5, 3)


def test_targets_average_to_the_fair_score_in_each_level(world):
    rows, fitted = values(world)
    target = fitted.criterion.full_target(rows, fitted.row_values)
    for level in range(3):
        inside = world.codes == level
        assert target[inside].mean() == pytest.approx(world.fair[inside].mean(), abs=0.03)


@pytest.mark.parametrize("weights", ["prevalence", {"a": 0.2, "b": 0.2, "c": 0.6}])
def test_levels_have_the_weights_that_are_stated(world, weights):
    rows = Rows.check(
        world.X, world.y, sensitive_features=world.z, groups=Grouping(weights=weights)
    )
    fitted = FairTarget(outcome_model=EXACT, propensity_model=EXACT).fit(rows)
    share = np.bincount(world.codes) / 6_000
    expected = share if weights == "prevalence" else [0.2, 0.2, 0.6]
    found = fitted.criterion.fair_score(fitted.row_values)
    np.testing.assert_allclose(found, fitted.row_values @ expected, atol=1e-12)


def test_volume_weights_are_for_two_levels(world):
    with pytest.raises(ValueError, match="reference_weights='volume' needs a sensitive attribute"):
        values(world, reference_weights="volume")


# --- few rows ------------------------------------------------------------------------------------


def test_levels_of_few_rows_are_refused_with_their_counts(world):
    z = world.z.astype(object)
    z[:30] = "rare"
    with pytest.raises(ValueError, match=r"at least 50 rows .* 'rare' 30\. Merge .*merge_below=50"):
        FairTarget().fit(Rows.check(world.X, world.y, sensitive_features=z))


def test_a_large_weight_of_a_small_level_is_warned_about(world):
    z = world.z.astype(object)
    z[:70] = "rare"
    rows = Rows.check(world.X, world.y, sensitive_features=z)
    with pytest.warns(UserWarning, match="level 'rare' has a weight of 0.25"):
        FairTarget(outcome_model=EXACT, propensity_model=EXACT).fit(rows)


# --- criteria ------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", [Parity(), EqualizedOdds()], ids=str)
def test_the_order_of_the_levels_does_not_matter_to_group_criteria(criterion, world):
    score = world.fair
    found = []
    for names in (["a", "b", "c"], ["z", "m", "a"]):
        z = np.array(names)[world.codes]
        rows = Rows.check(world.X, world.y, sensitive_features=z)
        found.append(criterion.fit(rows).penalty(rows).value(score))
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_parity_is_the_mean_over_pairs_of_the_squared_gap(world):
    rows = Rows.check(world.X, world.y, sensitive_features=world.z)
    means = rows.means_by_level(world.fair)
    pairs = [(means[k] - means[j]) ** 2 for k in range(3) for j in range(k)]
    penalty = Parity().fit(rows).penalty(rows)
    assert float(penalty.value(world.fair)) == pytest.approx(np.mean(pairs), rel=1e-12)
    assert penalty.names == ("gap_a", "gap_b", "gap_c")


def test_the_penalty_of_the_paper_stays_with_two_levels(world):
    with pytest.raises(
        ValueError, match=r"paper.s penalty, needs .* FairTarget\(\), estimate_effects"
    ):
        FairXGBClassifier(DirectEffect()).fit(world.X, world.y, sensitive_features=world.z)


# --- properties ----------------------------------------------------------------------------------


@settings(max_examples=5, deadline=None, derandomize=True)
@given(st.permutations(range(3)))
def test_names_and_order_of_the_levels_change_nothing(order):
    world = World(900, 2)
    first = values(world)[1]
    world.z = np.array(["x", "y", "z"])[order][world.codes]
    other = values(world)[1]
    np.testing.assert_allclose(
        first.criterion.fair_score(first.row_values),
        other.criterion.fair_score(other.row_values),
        atol=1e-9,
    )


def test_merging_levels_is_the_analysis_of_the_merged_column():
    world = World(900, 2)
    merged = np.where(world.codes == 0, "a", "other")
    rows = [
        Rows.check(
            world.X,
            world.y,
            sensitive_features=world.z,
            groups=Grouping(merge_below=400, reference="a"),
        ),
        Rows.check(world.X, world.y, sensitive_features=merged, groups=Grouping(reference="a")),
    ]
    found = [FairTarget(max_extreme_share=1).fit(each).row_values for each in rows]
    np.testing.assert_array_equal(*found)


def test_bands_are_the_analysis_of_the_cut_column():
    world = World(900, 2)
    age = 40 + 10 * np.random.default_rng(0).normal(size=900) + 3 * world.codes
    cut = np.where(age < 35, "<35", np.where(age < 45, "35-45", ">=45"))
    rows = [
        Rows.check(world.X, world.y, sensitive_features=age, groups=Grouping(bands=[35, 45])),
        Rows.check(world.X, world.y, sensitive_features=cut),
    ]
    found = [FairTarget(max_extreme_share=1).fit(each).row_values for each in rows]
    np.testing.assert_allclose(np.sort(found[0], axis=1), np.sort(found[1], axis=1), atol=1e-6)


def test_two_levels_as_several_agree_with_two_levels():
    """The formulas of L levels at L = 2 give those of two: means, residuals and regressors."""
    rng = np.random.default_rng(0)
    b, mu = rng.uniform(0.1, 0.9, 500), rng.uniform(0.2, 0.8, (500, 2))
    two, many = Nuisances(b, mu), Nuisances(np.column_stack([1 - b, b]), mu)
    np.testing.assert_allclose(two.mean, many.mean, atol=1e-15)
    np.testing.assert_allclose(two.propensities, many.propensities, atol=1e-15)
    z = (rng.random(500) < b).astype(int)
    y = (rng.random(500) < mu[np.arange(500), z]).astype(int)
    rows = Rows.check(np.zeros((500, 1)), y, sensitive_features=z)
    first, second = fit_correction(rows, two, 1), fit_level_correction(rows, many, 1)
    # Both correct what the residuals of this sample show; their ridges differ a little.
    np.testing.assert_allclose(first.means(two), second.means(many), atol=0.02)


def test_a_common_error_of_all_levels_drops_out():
    rng = np.random.default_rng(1)
    b = rng.dirichlet([4, 2, 1], 4000)
    truth = rng.uniform(0.3, 0.7, 4000)[:, None] + np.array([0, -0.1, 0.15])
    codes = (b.cumsum(axis=1) < rng.random(4000)[:, None]).sum(axis=1).clip(0, 2)
    y = truth[np.arange(4000), codes] + rng.normal(scale=0.1, size=4000)
    from unsway.outcome import Outcome

    rows = Rows.check(
        np.zeros((4000, 1)), y, sensitive_features=codes, read_outcome=Outcome.labels_or_numbers
    )
    wrong = Nuisances(b, truth.mean(axis=1, keepdims=True) + np.zeros(3))
    means = fit_level_correction(rows, wrong, 1).means(wrong)
    effects = means - means.mean(axis=1, keepdims=True)
    expected = truth - truth.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(effects, expected, atol=0.03)


# --- columns of the levels -----------------------------------------------------------------------


@pytest.mark.parametrize("width", [2, 100], ids=["with products", "too wide"])
def test_the_margin_of_a_level_is_that_of_its_columns(width):
    rng = np.random.default_rng(0)
    table, join = rng.normal(size=(6, width)), LevelInteractions(np.eye(4))
    coefficients = rng.normal(size=join(table, np.zeros(6, int)).shape[1] + 1)
    for level in range(4):
        joined = join(table, np.full(6, level))
        np.testing.assert_allclose(
            join.margin(table, coefficients, level),
            joined @ coefficients[:-1] + coefficients[-1],
            atol=1e-12,
        )


def test_columns_of_the_levels_are_their_indicators():
    joined = LevelColumns(np.eye(3))(np.array([[7.0], [8.0]]), np.array([1, 2]))
    assert joined.tolist() == [[7, 0, 1, 0], [8, 0, 0, 1]]


# --- rows elsewhere ------------------------------------------------------------------------------


def test_files_and_workers_train_on_several_levels(world, fresh, tmp_path):
    from unsway.distributed import Part, fit_here

    names = ["u", "v", "w"]
    table = pd.DataFrame(world.X, columns=names)
    table.assign(y=world.y, race=world.z).to_parquet(tmp_path / "t.parquet")
    one = FairXGBClassifier(schedule=QUICK, n_jobs=1)
    one.fit_parquet(tmp_path / "t.parquet", target="y", sensitive="race")
    other = fit_here(FairXGBClassifier(schedule=QUICK, n_jobs=1), Part(table, world.y, world.z))
    new = pd.DataFrame(fresh.X, columns=names)
    for model in (one, other):
        assert model.sensitive_levels_ == ("a", "b", "c")
        assert spread(model.predict_proba(new)[:, 1], fresh) < 0.04


def test_rows_to_stop_by_may_come_from_the_user(world, fresh):
    model = FairXGBClassifier(schedule=QUICK, n_jobs=1)
    some = (fresh.X[:2000], fresh.y[:2000], fresh.z[:2000])
    model.fit(world.X, world.y, sensitive_features=world.z, eval_set=some)
    assert spread(model.predict_proba(fresh.X)[:, 1], fresh) < 0.04
    strange = (fresh.X[:50], fresh.y[:50], np.full(50, "q"))
    with pytest.raises(ValueError, match=r"in eval_set: .* has a level that the training rows"):
        model.fit(world.X, world.y, sensitive_features=world.z, eval_set=strange)


def test_the_pair_of_levels_with_the_worst_overlap_is_named():
    world = World(2_000, 4)
    noise = np.random.default_rng(0).normal(scale=0.25, size=2_000)
    world.X = np.column_stack([world.X, (world.codes == 2) + noise])
    with pytest.warns(UserWarning, match="between 'b' and 'c', the two levels"):
        values(world, max_extreme_share=0.3)


def test_no_warning_where_levels_overlap(world):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values(world, max_extreme_share=0.6)
