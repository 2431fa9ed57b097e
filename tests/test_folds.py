import numpy as np
import polars as pl

from unsway import folds, hashes
from unsway.folds import canonical_order, fold_numbers, hold_out
from unsway.rows import Rows

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


def test_the_canonical_order_is_the_same_content_in_whatever_order_rows_come():
    words = np.array(["a", "b", None, "c"] * 50, dtype=object)
    y = np.arange(200) % 2.0
    frame = pl.DataFrame({"number": [1.0, None, -0.0, 0.0] * 50, "word": words, "y": y})
    order = np.random.default_rng(1).permutation(200)
    shuffled = frame[order.tolist()]
    one, other = (table.drop("y") for table in (frame, shuffled))
    found = frame[canonical_order(one, [y]).tolist()]
    again = shuffled[canonical_order(other, [y[order]]).tolist()]
    assert found.equals(again)


def test_rows_that_are_taken_keep_the_order_they_have_among_all():
    rows = Rows.check(X, Z, sensitive_features=Z[::-1])
    some = np.arange(0, 200, 3)
    among_all = [row for row in rows.order if row in set(some)]
    assert some[rows.take(some).order].tolist() == among_all


def test_rows_that_are_nearly_alike_have_the_same_folds_in_whatever_order_they_come():
    near = np.zeros((40, 1))
    near[0] = 1e6
    near[1:, 0] = 1e-9 * np.arange(39)  # less than a millionth of the spread apart
    order = np.random.default_rng(0).permutation(40)
    z = np.zeros(40)
    assert np.array_equal(fold_numbers(near, z, 4)[order], fold_numbers(near[order], z, 4))
    assert np.array_equal(hold_out(near, z, 0.5)[order], hold_out(near[order], z, 0.5))


def test_weights_decide_which_of_rows_alike_is_held_out():
    alike, weights = np.zeros((8, 1)), np.arange(8.0)
    order = np.random.default_rng(0).permutation(8)
    held = hold_out(alike, np.zeros(8), 0.25, ties=[weights])
    again = hold_out(alike, np.zeros(8), 0.25, ties=[weights[order]])
    assert sorted(weights[held]) == sorted(weights[order][again])
    assert len(weights[held]) == 2


def test_many_rows_have_the_folds_that_they_have_in_one_thread(monkeypatch):
    expected = fold_numbers(X, Z, 5), canonical_order(X)
    monkeypatch.setattr(hashes, "_FEW_ROWS", 0)
    assert np.array_equal(fold_numbers(X, Z, 5), expected[0])
    assert np.array_equal(canonical_order(X), expected[1])


def test_a_table_without_rows_has_an_order():
    empty = np.zeros((0, 3))
    assert canonical_order(empty, [np.zeros(0)]).shape == (0,)
    assert folds.draws(empty, (), 0).shape == (0,)
