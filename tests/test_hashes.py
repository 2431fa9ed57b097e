import numpy as np
import polars as pl

from unsway import hashes
from unsway.hashes import column_ends, content_keys, table_keys

X = np.random.default_rng(0).normal(size=(200, 3))


def test_a_table_has_the_keys_of_its_numbers_as_an_array():
    holes = np.where(X > 1.5, np.nan, X)
    frame = pl.DataFrame(holes.astype(np.float32), schema=["a", "b", "c"])
    assert np.array_equal(table_keys(frame), table_keys(holes.astype(np.float32)))


def test_hardly_any_two_rows_share_a_key():
    many = np.random.default_rng(0).normal(size=(20_000, 1))
    assert len(np.unique(table_keys(many))) > 19_990


def test_the_ends_of_columns_are_those_of_all_rows(monkeypatch):
    monkeypatch.setattr(hashes, "_SMALL_BLOCK", 7)  # 200 rows: blocks of odd and even sizes
    holes = X.copy()
    holes[5, 1], holes[9, 2] = np.nan, np.inf
    known = [holes[:, 0], np.delete(holes[:, 1], 5), np.delete(holes[:, 2], 9)]
    assert column_ends(holes) == [(each.min(), each.max()) for each in known]


def test_rows_of_an_array_and_of_a_frame_have_the_same_content_in_single_precision():
    counts = np.arange(2**24, 2**24 + 200)[:, None]  # beyond what single precision tells apart
    frame = pl.DataFrame(counts.astype(np.float32), schema=["count"])
    keys = content_keys(counts, seed=3)
    assert np.array_equal(keys, content_keys(frame, seed=3))
    assert len(np.unique(keys)) == len(np.unique(counts.astype(np.float32)))
