"""Covariate balance, raw and weighted."""

from __future__ import annotations

import json

import numpy as np
import pytest
from contracts import CONTAINERS, as_pandas, assert_close, mixed_columns
from scipy.stats import ks_2samp
from sklearn.linear_model import LogisticRegression

from unsway.effects.balance import balance
from unsway.effects.encoding import TableEncoder
from unsway.effects.overlap import propensity_weights
from unsway.grouping import Grouping

RNG = np.random.default_rng(3)
Z = (RNG.random(300) < 0.4).astype(float)
X = np.column_stack(
    [
        RNG.normal(size=300) + Z,
        RNG.integers(0, 4, 300) + Z,
        RNG.exponential(1 + Z),
        RNG.random(300) < 0.3 + 0.4 * Z,
    ]
)
B = RNG.uniform(0.1, 0.9, 300)


def by_maximum_likelihood(matrix, z):
    model = LogisticRegression(C=1e9, solver="newton-cholesky", tol=1e-12, max_iter=200)
    return model.fit(matrix, z).predict_proba(matrix)[:, 1]


def column_of(found, name, weighting="raw"):
    return found.differences[found.names.index(name), found.position(weighting)]


# --- by hand, and against others ------------------------------------------------------------------


def test_four_rows_are_compared_as_by_hand():
    found = balance(np.array([[1.0], [3.0], [4.0], [10.0]]), sensitive_features=[0, 0, 1, 1])
    assert_close(found.means, [[[2.0, 7.0]]], 1e-12)
    assert_close(found.differences, [[5 / np.sqrt((2 + 18) / 2)]], 1e-12)
    assert_close(found.variance_ratios, [[9.0]], 1e-12)
    assert found.distances.tolist() == [[1.0]]
    assert_close(found.effective_sizes, [[2.0, 2.0]], 1e-12)


def test_weights_enter_means_but_not_the_standardiser():
    found = balance(
        np.array([[0.0], [2.0], [2.0], [4.0]]),
        sensitive_features=[0, 0, 1, 1],
        weights=[1, 3, 3, 1],
    )
    assert_close(found.means[0, 1], [1.5, 2.5], 1e-12)
    assert_close(found.differences, [[2 / np.sqrt(2), 1 / np.sqrt(2)]], 1e-12)
    assert_close(found.effective_sizes[1], [1.6, 1.6], 1e-12)
    assert_close(found.distances, [[0.5, 0.25]], 1e-12)


def test_raw_statistics_agree_with_numpy_and_scipy():
    found = balance(X, sensitive_features=Z)
    low, high = X[Z == 0], X[Z == 1]
    pooled = np.sqrt((low.var(axis=0, ddof=1) + high.var(axis=0, ddof=1)) / 2)
    assert_close(found.differences[:, 0], (high.mean(axis=0) - low.mean(axis=0)) / pooled, 1e-12)
    ratios = high.var(axis=0, ddof=1) / low.var(axis=0, ddof=1)
    assert_close(found.variance_ratios[:3, 0], ratios[:3], 1e-12)
    distances = [ks_2samp(low[:, k], high[:, k]).statistic for k in range(4)]
    assert_close(found.distances[:, 0], distances, 1e-12)


def test_a_weight_of_two_moves_means_and_distances_as_a_repeated_row_does():
    weights = np.random.default_rng(1).integers(1, 4, 300)
    repeated = np.repeat(np.arange(300), weights)
    weighted, longer = (
        balance(X, sensitive_features=Z, sample_weight=weights),
        balance(X[repeated], sensitive_features=Z[repeated]),
    )
    assert_close(weighted.means, longer.means, 1e-12)
    assert_close(weighted.distances, longer.distances, 1e-12)


def test_weights_of_a_propensity_are_those_of_the_formulas():
    found = propensity_weights(B, Z)
    assert_close(found["ATE"], Z / B + (1 - Z) / (1 - B), 1e-12)
    assert_close(found["ATT"], Z + (1 - Z) * B / (1 - B), 1e-12)
    assert_close(found["ATC"], Z * (1 - B) / B + (1 - Z), 1e-12)
    assert_close(found["overlap"], Z * (1 - B) + (1 - Z) * B, 1e-12)
    derived, given = (
        balance(X, sensitive_features=Z, propensity=B),
        balance(X, sensitive_features=Z, weights={"own": found["ATT"]}),
    )
    assert_close(derived.differences[:, derived.position("ATT")], given.differences[:, 1], 1e-12)
    assert derived.weightings == ("raw", "ATE", "ATT", "ATC", "overlap")


def test_overlap_weights_of_a_logistic_regression_balance_its_columns_exactly():
    found = balance(X, sensitive_features=Z, propensity=by_maximum_likelihood(X, Z))
    assert abs(found.worst("raw")[1]) > 0.5
    assert abs(found.worst("overlap")[1]) < 1e-6


def test_overlap_weights_balance_levels_exactly_too_where_categories_are_missing():
    columns, z = mixed_columns()
    table = as_pandas({name: columns[name] for name in ("hours", "job", "town")})
    matrix = TableEncoder().fit_transform(table).toarray()[:, 1:]
    found = balance(table, sensitive_features=z, propensity=by_maximum_likelihood(matrix, z))
    levels = [line for line, name in enumerate(found.names) if name != "hours"]
    assert "job missing" in found.names
    assert np.abs(found.differences[levels, 0]).max() > 0.1
    assert np.abs(found.differences[levels, found.position("overlap")]).max() < 1e-6


# --- lines ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_gives_the_same_lines_and_numbers(container):
    columns, z = mixed_columns()
    found = balance(
        CONTAINERS[container](columns), sensitive_features=z, propensity=np.full(len(z), 0.4)
    )
    expected = balance(as_pandas(columns), sensitive_features=z, propensity=np.full(len(z), 0.4))
    assert len(found.names) == len(expected.names)
    np.testing.assert_allclose(found.differences, expected.differences, atol=1e-12)


def test_levels_and_missing_values_have_lines_of_their_own():
    columns, z = mixed_columns()
    found = balance(as_pandas(columns), sensitive_features=z)
    jobs = ["job=clerk", "job=nurse", "job=pilot", "job missing"]
    assert list(found.names[:7]) == ["age", "age missing", "hours", *jobs]
    age, missing = (
        np.array(columns["age"], dtype=float),
        np.array([v is None for v in columns["age"]]),
    )
    known = balance(age[~missing, None], sensitive_features=z[~missing])
    assert column_of(found, "age") == pytest.approx(known.differences[0, 0])
    flags = balance(missing[:, None], sensitive_features=z)
    assert column_of(found, "age missing") == pytest.approx(flags.differences[0, 0])


def test_indicators_have_no_variance_ratio_and_their_distance_is_the_gap():
    found = balance(X[:, 3:], sensitive_features=Z)
    assert np.isnan(found.variance_ratios).all()
    assert_close(found.distances[0, 0], abs(np.diff(found.means[0, 0])[0]), 1e-12)


def test_a_constant_column_differs_by_nothing():
    found = balance(
        np.full((7, 1), 0.1), sensitive_features=[0, 0, 0, 1, 1, 1, 1], weights=np.arange(1, 8)
    )
    assert found.differences.tolist() == [[0.0, 0.0]]
    assert found.distances.max() < 1e-12


def test_a_column_that_is_constant_within_groups_differs_infinitely():
    found = balance(
        np.array([[0.1], [0.1], [0.1], [0.7], [0.7], [0.7]]), sensitive_features=[0, 0, 0, 1, 1, 1]
    )
    assert found.worst("raw") == ("column 0", np.inf)
    assert json.loads(json.dumps(found.to_dict()))["raw"]["columns"]["column 0"] == {
        "standardized_difference": None,
        "variance_ratio": None,
        "ks_distance": 1.0,
    }


def test_a_column_known_in_one_group_only_has_unknown_statistics():
    column = np.array([1.0, 2.0, 4.0, np.nan, np.nan])
    found = balance(column[:, None], sensitive_features=[0, 0, 0, 1, 1])
    assert found.names == ("column 0", "column 0 missing")
    assert np.isnan([found.differences[0, 0], found.distances[0, 0], found.means[0, 0, 1]]).all()
    assert found.worst("raw")[0] == "column 0 missing"


def test_units_do_not_matter_even_far_from_zero():
    shifted = X[:, :1] * 1e-3 + 1e6
    assert_close(
        balance(shifted, sensitive_features=Z).differences,
        balance(X[:, :1], sensitive_features=Z).differences,
        1e-6,
    )


def test_row_order_does_not_matter():
    order = np.random.default_rng(1).permutation(300)
    found, again = (
        balance(X, sensitive_features=Z, propensity=B),
        balance(X[order], sensitive_features=Z[order], propensity=B[order]),
    )
    np.testing.assert_allclose(found.differences, again.differences, atol=1e-12)
    np.testing.assert_allclose(found.distances, again.distances, atol=1e-12)


def test_swapping_the_groups_flips_differences_and_swaps_att_and_atc():
    found, other = (
        balance(X, sensitive_features=Z, propensity=B),
        balance(X, sensitive_features=1 - Z, propensity=1 - B),
    )
    swapped = other.differences[:, [0, 1, 3, 2, 4]]
    np.testing.assert_allclose(found.differences, -swapped, atol=1e-12)


# --- the result -----------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_the_frame_has_a_row_per_line_and_weighting(backend):
    pytest.importorskip(backend)
    frame = balance(X, sensitive_features=Z, propensity=B).to_frame(backend)
    assert frame.shape == (4 * 5, 7)


def test_the_repr_names_the_worst_column_of_each_weighting():
    found = balance(
        X,
        sensitive_features=np.where(Z == 1, "m", "f"),
        propensity=B,
        groups=Grouping(reference="f"),
    )
    text = repr(found)
    assert "z=1 (m) minus z=0 (f)" in text
    assert all(found.worst(name)[0] in text and name in text for name in found.weightings)


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"propensity": np.r_[1.2, B[1:]]}, r"1 values outside \[0, 1\]"),
        ({"propensity": B[1:]}, "propensity has 299 rows but X has 300"),
        ({"propensity": np.where(Z == 1, 0.0, 0.5)}, "against the group of"),
        ({"weights": -B}, "weights 'weights' has 300 negative"),
        ({"weights": {"raw": B}}, "may not be named 'raw'"),
        ({"weights": {"own": None}}, "weights 'own' is None"),
        ({"weights": 1.0 * (Z == 1)}, "'weights' has rows of sensitive level 0.0, but each has"),
        ({"sample_weight": np.full(300, np.nan)}, "sample_weight has 300 values that are NaN"),
    ],
)
def test_bad_weights_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        balance(X, sensitive_features=Z, **options)


def test_other_bad_input_is_refused():
    with pytest.raises(ValueError, match="infinity in 'column 0'"):
        balance(np.array([[np.inf], [1.0], [1.0], [2.0]]), sensitive_features=[0, 0, 1, 1])
    with pytest.raises(ValueError, match="level 1 has a single row"):
        balance(np.arange(3.0)[:, None], sensitive_features=[0, 0, 1])
    with pytest.raises(ValueError, match="no columns"):
        balance(np.empty((4, 0)), sensitive_features=[0, 0, 1, 1])
    with pytest.raises(ValueError, match="unknown weighting 'ATX'; choose from raw"):
        balance(X, sensitive_features=Z).worst("ATX")
    with pytest.raises(TypeError, match="propensity must hold numbers"):
        balance(X, sensitive_features=Z, propensity=["a"] * 300)
