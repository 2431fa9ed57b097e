"""The synthetic worlds know their own truth."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from worlds_again import outcome_probability, probability

from unsway.datasets import WORLDS, SyntheticData, make_synthetic, make_world

N_LARGE = 400_000


def true_cde(data: SyntheticData) -> np.ndarray:
    return outcome_probability(data, 1) - outcome_probability(data, 0)


def assert_means(values: np.ndarray, truth: float) -> None:
    """Check that the mean of the values is the truth within four standard errors."""
    standard_error = values.std() / np.sqrt(values.size)
    assert abs(values.mean() - truth) <= 4 * standard_error + 1e-12


def assert_gap(values: np.ndarray, z: np.ndarray, truth: float) -> None:
    """Check that the gap between the groups is the truth within four standard errors."""
    one, zero = values[z == 1], values[z == 0]
    standard_error = np.sqrt(one.var() / one.size + zero.var() / zero.size)
    assert abs(one.mean() - zero.mean() - truth) <= 4 * standard_error


def observed(data: SyntheticData) -> np.ndarray:
    """Return X with 0 for NaN, and columns that say where a value is missing."""
    missing = np.isnan(data.X)
    columns = missing.any(axis=0)
    return np.column_stack([np.where(missing, 0, data.X), missing[:, columns]])


def share_without_overlap(data: SyntheticData) -> float:
    return float(np.mean((data.propensity < 0.05) | (data.propensity > 0.95)))


@pytest.fixture(scope="module", params=WORLDS)
def large(request: pytest.FixtureRequest) -> SyntheticData:
    return make_world(request.param, N_LARGE, random_state=20200210)


@pytest.fixture(scope="module")
def paper() -> SyntheticData:
    return make_synthetic(200_000, random_state=1)


# The truths


def test_the_papers_truths_are_reproduced_to_six_digits():
    effects = make_synthetic(1, random_state=0).effects
    assert {name: round(value, 6) for name, value in dataclasses.asdict(effects).items()} == {
        "total": 0.375364,
        "direct_reference": 0.243331,
        "direct_group": 0.175246,
        "indirect_reference": 0.200118,
        "indirect_group": 0.132033,
        "explained": 0.166075,
        "direct_everyone": 0.209289,
    }


@pytest.mark.parametrize("name", WORLDS)
def test_the_gap_splits_into_a_direct_and_an_indirect_effect_both_ways(name):
    effects = make_world(name, 1, random_state=0).effects
    assert effects.direct_reference + effects.indirect_group == pytest.approx(
        effects.total, abs=1e-12
    )
    assert effects.direct_group + effects.indirect_reference == pytest.approx(
        effects.total, abs=1e-12
    )


@pytest.mark.parametrize("name", WORLDS)
def test_the_symmetric_indirect_effect_is_the_mean_of_the_two(name):
    effects = make_world(name, 1, random_state=0).effects
    assert effects.explained == pytest.approx(
        (effects.indirect_reference + effects.indirect_group) / 2, abs=1e-12
    )


def test_a_trapezoid_grid_finds_the_truths_of_the_varying_effect_too():
    grid = np.linspace(-9, 9, 121)
    weights = np.exp(-(grid**2) / 2) / np.exp(-(grid**2) / 2).sum()
    first, rest, indirect = np.meshgrid(grid, 3 * grid, 2 * grid, indexing="ij", sparse=True)

    def mean(z: int, population: int) -> float:
        shifted = indirect + 4 * population
        values = probability("varying_effect", first + rest, shifted, first, z)
        return float(np.einsum("ijk,i,j,k->", values, weights, weights, weights))

    effects = make_world("varying_effect", 1, random_state=0).effects
    assert (effects.direct_reference, effects.indirect_reference, effects.total) == pytest.approx(
        (mean(1, 0) - mean(0, 0), mean(0, 1) - mean(0, 0), mean(1, 1) - mean(0, 0)), abs=1e-11
    )


# The rows agree with the truths, in every world


def test_the_gap_of_the_labels_is_the_true_one(large):
    assert_gap(large.y, large.z, large.effects.total)


def test_the_direct_effect_on_the_zero_group_is_the_true_one(large):
    assert_means(true_cde(large)[large.z == 0], large.effects.direct_reference)


def test_the_direct_effect_on_the_one_group_is_the_true_one(large):
    assert_means(true_cde(large)[large.z == 1], large.effects.direct_group)


def test_the_mean_controlled_direct_effect_is_the_true_one(large):
    assert_means(true_cde(large), large.effects.direct_everyone)


def test_the_indirect_effects_are_the_true_ones(large):
    assert_gap(outcome_probability(large, 0), large.z, large.effects.indirect_reference)
    assert_gap(outcome_probability(large, 1), large.z, large.effects.indirect_group)


def test_the_gap_of_the_fair_score_is_the_symmetric_indirect_effect(large):
    assert_gap(large.fair_score, large.z, large.effects.explained)


def test_the_fair_score_is_the_mean_of_the_two_outcome_probabilities(large):
    mean = (outcome_probability(large, 0) + outcome_probability(large, 1)) / 2
    np.testing.assert_allclose(large.fair_score, mean, rtol=1e-12)


def test_the_labels_follow_the_outcome_probability(large):
    p, X = outcome_probability(large, large.z), observed(large)
    spread = np.sqrt((p * (1 - p)) @ X**2)
    assert np.abs((large.y - p) @ X / spread).max() < 5


def test_the_propensity_is_calibrated(large):
    for rows in np.array_split(np.argsort(large.propensity), 20):
        propensity, z = large.propensity[rows], large.z[rows]
        standard_error = np.sqrt((propensity * (1 - propensity)).sum()) / rows.size
        assert abs(z.mean() - propensity.mean()) <= 4 * standard_error


def test_the_propensity_balances_every_column(large):
    b, X = large.propensity, observed(large)
    spread = np.sqrt((b * (1 - b)) @ X**2)
    assert np.abs((large.z - b) @ X / spread).max() < 5


# What each world is for


def test_the_papers_propensity_has_an_area_under_the_curve_of_958(paper):
    assert roc_auc_score(paper.z, paper.propensity) == pytest.approx(0.958, abs=0.001)


def test_half_the_rows_of_the_papers_world_lack_overlap(paper):
    assert share_without_overlap(paper) == pytest.approx(0.5, abs=0.03)


def test_poor_overlap_leaves_far_fewer_rows_to_compare(paper):
    poor = make_world("poor_overlap", 50_000, random_state=1)
    assert share_without_overlap(poor) > share_without_overlap(paper) + 0.25


def test_poor_overlap_has_the_papers_truths():
    poor, paper = (make_world(name, 1, random_state=0) for name in ("poor_overlap", "paper"))
    assert poor.effects == paper.effects


def test_no_direct_effect_means_none_for_anybody():
    effects = make_world("no_direct_effect", 1, random_state=0).effects
    assert (effects.direct_reference, effects.direct_group, effects.direct_everyone) == (
        0.0,
        0.0,
        0.0,
    )


def test_opposed_effects_differ_in_sign_and_cancel():
    effects = make_world("opposed_effects", 1, random_state=0).effects
    assert (
        max(effects.direct_reference, effects.direct_group)
        < -0.1
        < 0.1
        < min(effects.indirect_reference, effects.indirect_group)
    )
    assert abs(effects.total) < 1e-12


def test_the_imbalanced_world_has_a_small_group_and_a_rare_label():
    data = make_world("imbalanced", 200_000, random_state=3)
    assert data.z.mean() == pytest.approx(0.1, abs=0.003)
    assert data.y.mean() == pytest.approx(0.05, abs=0.002)


def test_the_varying_effect_takes_both_signs():
    cde = true_cde(make_world("varying_effect", 50_000, random_state=4))
    assert np.mean(cde < 0) > 0.1
    assert np.mean(cde > 0) > 0.8


def test_the_varying_effect_varies_among_rows_of_like_propensity(paper):
    varying = make_world("varying_effect", 200_000, random_state=4)
    spread, usual = (
        true_cde(data)[np.abs(data.propensity - 0.5) < 0.1].std() for data in (varying, paper)
    )
    assert spread > 2 * usual


def test_many_noise_features_is_the_papers_world_and_fifty_columns():
    noisy, paper = (
        make_world(name, 100, random_state=5) for name in ("many_noise_features", "paper")
    )
    assert noisy.X.shape == (100, 66)
    np.testing.assert_array_equal(noisy.X[:, :16], paper.X)
    np.testing.assert_array_equal(noisy.y, paper.y)


# The object


def test_the_papers_columns_are_named_by_their_role():
    data = make_synthetic(3, random_state=0)
    assert data.feature_names[0] == "safe_0"
    assert data.feature_names[13] == "indirect_3"
    assert data.feature_names[15] == "proxy_1"
    assert data.roles == ("safe",) * 10 + ("indirect",) * 4 + ("proxy",) * 2


def test_the_coefficients_are_a_quarter_for_the_causes_of_y_and_zero_elsewhere():
    data = make_world("many_noise_features", 3, random_state=0)
    np.testing.assert_array_equal(data.coefficients, [0.25] * 14 + [0.0] * 52)


def test_columns_gives_the_positions_of_a_role():
    data = make_world("many_noise_features", 3, random_state=0)
    np.testing.assert_array_equal(data.columns("indirect"), [10, 11, 12, 13])
    np.testing.assert_array_equal(data.columns("noise"), np.arange(16, 66))


def test_a_role_nobody_plays_has_no_columns():
    assert make_synthetic(3, random_state=0).columns("noise").size == 0


def test_the_arrays_have_the_promised_types_and_shapes(large):
    n, p = N_LARGE, len(large.feature_names)
    assert (large.X.shape, large.X.dtype) == ((n, p), np.float64)
    for labels in (large.y, large.z):
        assert (labels.shape, labels.dtype) == ((n,), np.int64)
        assert set(np.unique(labels)) == {0, 1}
    for scores in (large.propensity, large.fair_score):
        assert (scores.shape, scores.dtype) == ((n,), np.float64)
        assert 0 <= scores.min() < scores.max() <= 1


def test_the_repr_is_one_short_line_without_row_values():
    assert repr(make_world("many_noise_features", 2, random_state=0)) == (
        "SyntheticData(world='many_noise_features', 2 rows, "
        "10 safe + 4 indirect + 2 proxy + 50 noise columns)"
    )


def test_the_data_cannot_be_reassigned():
    data = make_synthetic(3, random_state=0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.world = "other"


# Seeds


@pytest.mark.parametrize("name", WORLDS)
def test_the_same_seed_gives_the_same_data(name):
    first, second = (make_world(name, 50, random_state=7) for _ in range(2))
    for field in ("X", "y", "z", "propensity", "fair_score"):
        np.testing.assert_array_equal(getattr(first, field), getattr(second, field))


def test_another_seed_gives_other_data():
    assert not np.array_equal(
        make_synthetic(5, random_state=1).X, make_synthetic(5, random_state=2).X
    )


def test_a_generator_gives_what_its_seed_gives_and_moves_on():
    rng = np.random.default_rng(7)
    first, second = make_synthetic(5, random_state=rng), make_synthetic(5, random_state=rng)
    np.testing.assert_array_equal(first.X, make_synthetic(5, random_state=7).X)
    assert not np.array_equal(first.X, second.X)


def test_a_numpy_integer_is_a_seed_and_a_row_count():
    data = make_synthetic(np.int64(5), random_state=np.int32(7))
    np.testing.assert_array_equal(data.X, make_synthetic(5, random_state=7).X)


def test_without_a_seed_two_draws_differ():
    assert not np.array_equal(make_synthetic(5).X, make_synthetic(5).X)


# Bad inputs


@pytest.mark.parametrize("name", ["papers", "", None])
def test_an_unknown_world_is_refused_with_the_known_names(name):
    with pytest.raises(ValueError, match=r"unknown world .*choose from paper, .*adult"):
        make_world(name, 5)


@pytest.mark.parametrize("n_samples", [0, -3])
def test_fewer_than_one_row_is_refused(n_samples):
    with pytest.raises(ValueError, match=f"n_samples must be .* at least 1; got {n_samples}"):
        make_synthetic(n_samples)


@pytest.mark.parametrize("n_samples", [10.0, "10", True, None])
def test_a_row_count_that_is_no_integer_is_refused(n_samples):
    with pytest.raises(TypeError, match=f"n_samples must be .* at least 1; got {n_samples!r}"):
        make_synthetic(n_samples)


@pytest.mark.parametrize("random_state", [1.5, "0", True, [1, 2]])
def test_a_seed_of_another_type_is_refused(random_state):
    with pytest.raises(TypeError, match=r"random_state must be None, a non-negative int or"):
        make_synthetic(5, random_state=random_state)


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match=r"random_state must be None, a non-negative int .*got -1"):
        make_synthetic(5, random_state=-1)


def test_an_unknown_role_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown role 'unsafe'.*safe, indirect, proxy, noise"):
        make_synthetic(3, random_state=0).columns("unsafe")
