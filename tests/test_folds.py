import numpy as np
import polars as pl

from unsway.folds import fold_numbers

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Z = (RNG.random(200) < 0.3).astype(float)


def test_folds_follow_the_rows_when_they_are_shuffled():
    order = np.random.default_rng(1).permutation(200)
    assert np.array_equal(fold_numbers(X, Z, 5)[order], fold_numbers(X[order], Z[order], 5))


def test_folds_do_not_depend_on_units():
    scaled = X * [1e-3, 1.0, 1e6] + [5.0, 0.0, -1e4]
    assert np.array_equal(fold_numbers(X, Z, 5), fold_numbers(scaled, Z, 5))


def test_each_level_is_spread_evenly():
    folds = fold_numbers(X, Z, 5)
    for level in (0, 1):
        counts = np.bincount(folds[level == Z], minlength=5)
        assert counts.max() - counts.min() <= 1


def test_another_seed_gives_other_folds():
    assert not np.array_equal(fold_numbers(X, Z, 5, seed=0), fold_numbers(X, Z, 5, seed=1))


def test_folds_are_unrelated_to_the_columns():
    folds = fold_numbers(X, Z, 2)
    assert abs(X[folds == 0].mean() - X[folds == 1].mean()) < 4 * np.sqrt(2 / 300)


def test_missing_values_and_categories_have_their_part():
    words = np.array(["a", "b", None, "c"] * 50, dtype=object)
    frame = pl.DataFrame({"number": [1.0, None] * 100, "word": words})
    order = np.random.default_rng(1).permutation(200)
    shuffled = frame[order.tolist()]
    assert np.array_equal(
        np.bincount(fold_numbers(frame, Z, 4)), np.bincount(fold_numbers(shuffled, Z[order], 4))
    )


def test_ties_tell_rows_apart_that_are_alike():
    X, z, y = np.zeros((8, 1)), np.zeros(8), np.arange(8) % 4.0
    order = np.random.default_rng(0).permutation(8)
    folds = fold_numbers(X, z, 4, ties=[y])
    shuffled = fold_numbers(X[order], z[order], 4, ties=[y[order]])
    for label in range(4):
        assert sorted(folds[y == label]) == sorted(shuffled[y[order] == label])
