"""Adult is read as UCI published it, and comes as columns, a matrix or anyone's frame."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import importlib.resources
import sys
from collections import Counter

import numpy as np
import pytest
from sklearn.preprocessing import OneHotEncoder

from unsway.datasets import TabularData, load_adult
from unsway.datasets.files import read_shipped, unpack
from unsway.tables import columns as columns_of

PAPER = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "occupation"),
    *("capital-gain", "capital-loss", "hours-per-week"),
)
FRAMES = ("pandas", "polars", "pyarrow")


@pytest.fixture(scope="module")
def train() -> TabularData:
    return load_adult("train", features="all")


@pytest.fixture(scope="module")
def test() -> TabularData:
    return load_adult("test", features="all")


@pytest.fixture(scope="module")
def everyone() -> TabularData:
    return load_adult("all", features="all")


@pytest.fixture
def two_people(test) -> TabularData:
    """Two rows, of which the second has no age."""
    age = np.array([1.0, np.nan])
    return dataclasses.replace(test, columns={"age": age}, levels={}, y=test.y[:2], z=test.z[:2])


def people(data: TabularData) -> list[tuple]:
    """Return each row whole: features, label and sex."""
    return list(zip(*data.columns.values(), data.y, data.z, strict=True))


def gap(data: TabularData, rows: np.ndarray | slice = slice(None)) -> float:
    y, z = data.y[rows], data.z[rows]
    return y[z == 1].mean() - y[z == 0].mean()


# The facts of the file


def test_the_official_split_has_the_published_sizes(train, test, everyone):
    assert [data.y.size for data in (train, test, everyone)] == [32561, 16281, 48842]


def test_all_is_train_followed_by_test(train, test, everyone):
    assert people(everyone) == people(train) + people(test)


def test_the_share_of_high_incomes_is_the_published_one(train, test, everyone):
    shares = [round(data.y.mean(), 4) for data in (train, test, everyone)]
    assert shares == [0.2408, 0.2362, 0.2393]


def test_men_earn_more_by_the_published_gap(train, test, everyone):
    assert [round(gap(data), 4) for data in (train, test, everyone)] == [0.1963, 0.1910, 0.1945]


def test_the_gap_of_the_complete_cases_is_the_published_one(everyone):
    known = np.all([everyone.columns[name] != "?" for name in everyone.levels], axis=0)
    assert round(gap(everyone, known), 4) == 0.1989


def test_missing_values_are_the_level_question_mark(everyone):
    missing = {name: int((everyone.columns[name] == "?").sum()) for name in everyone.levels}
    assert {name: count for name, count in missing.items() if count} == {
        "workclass": 2799,
        "occupation": 2809,
        "native-country": 857,
    }


def test_repeated_rows_are_as_many_as_published(train, test):
    seen, unseen = people(train), people(test)
    assert (len(seen) - len(set(seen)), len(unseen) - len(set(unseen))) == (24, 5)
    assert len(set(seen) & set(unseen)) == 23


def test_the_first_row_of_each_file_is_read_whole(train, test):
    first = {name: values[0] for name, values in test.columns.items()}
    assert first == {
        "age": 25.0,
        "workclass": "Private",
        "fnlwgt": 226802.0,
        "education": "11th",
        "education-num": 7.0,
        "marital-status": "Never-married",
        "occupation": "Machine-op-inspct",
        "relationship": "Own-child",
        "race": "Black",
        "capital-gain": 0.0,
        "capital-loss": 0.0,
        "hours-per-week": 40.0,
        "native-country": "United-States",
    }
    assert (test.y[0], test.z[0]) == (0, 1)
    assert (train.columns["age"][0], train.columns["capital-gain"][0]) == (39.0, 2174.0)


def test_education_and_its_number_are_one_to_one(everyone):
    pairs = set(zip(everyone.columns["education"], everyone.columns["education-num"], strict=True))
    assert len(pairs) == len(everyone.levels["education"]) == 16


# Roles and types


def test_the_paper_uses_nine_features():
    data = load_adult()
    assert data.feature_names == PAPER
    assert data.levels.keys() == {"workclass", "education", "occupation"}


def test_all_features_are_everything_but_sex_and_income(train):
    assert len(train.feature_names) == 13
    assert not {"sex", "income"} & {*train.feature_names}
    assert train.y.dtype == train.z.dtype == np.int64


def test_a_column_holds_floats_or_words(train):
    for name, values in train.columns.items():
        assert values.dtype == (object if name in train.levels else np.float64)
        assert {type(value) for value in values} == {str if name in train.levels else np.float64}


def test_the_roles_have_names(train):
    assert (train.target, train.positive_target) == ("income", ">50K")
    assert (train.sensitive, train.positive_sensitive) == ("sex", "Male")


def test_the_repr_counts_and_shows_no_rows(train):
    shown = "TabularData('adult train', 32561 rows, 13 features, y: income >50K, z: sex Male)"
    assert repr(train) == shown


def test_the_data_cannot_be_reassigned(train):
    with pytest.raises(dataclasses.FrozenInstanceError):
        train.y = train.z


# The matrix


def test_the_papers_features_make_46_columns_in_either_split():
    (X_train, train_names), (X_test, test_names) = (
        load_adult(split).to_matrix() for split in ("train", "test")
    )
    assert X_train.shape == (32561, 46)
    assert X_test.shape == (16281, 46)
    assert train_names == test_names


def test_all_features_make_the_same_columns_in_either_split(train, test):
    (_, train_names), (X_test, test_names) = train.to_matrix(), test.to_matrix()
    assert train_names == test_names
    assert len(test_names) == 106
    in_train_only = test_names.index("native-country=Holand-Netherlands")
    assert X_test[:, in_train_only].sum() == 0


def test_the_matrix_agrees_with_scikit_learns_encoder(everyone):
    X, names = everyone.to_matrix()
    for name, levels in everyone.levels.items():
        encoder = OneHotEncoder(sparse_output=False)
        expected = encoder.fit_transform(everyone.columns[name].reshape(-1, 1))
        assert tuple(encoder.categories_[0]) == levels
        block = [names.index(f"{name}={level}") for level in levels]
        np.testing.assert_array_equal(X[:, block], expected)
    for name in everyone.columns.keys() - everyone.levels.keys():
        np.testing.assert_array_equal(X[:, names.index(name)], everyone.columns[name])


# Frames


@pytest.mark.parametrize("backend", FRAMES)
def test_a_frame_holds_the_columns_as_they_are(test, backend):
    frame = test.to_frame(backend)
    assert type(frame).__module__.partition(".")[0] == backend
    read = {column.name: column for column in columns_of(frame)}
    assert tuple(read) == test.feature_names
    for name, values in test.columns.items():
        np.testing.assert_array_equal(read[name].values, values)
        assert read[name].categorical == (name in test.levels)


def test_a_frames_categories_do_not_depend_on_the_split(train, test):
    pandas, polars, pyarrow = (test.to_frame(backend)["native-country"] for backend in FRAMES)
    levels = list(train.levels["native-country"])
    assert pandas.cat.categories.tolist() == levels
    assert polars.dtype.categories.to_list() == levels
    assert pyarrow.chunk(0).dictionary.to_pylist() == levels


@pytest.mark.parametrize("backend", FRAMES)
def test_a_missing_number_is_missing_in_every_frame(two_people, backend):
    (age,) = columns_of(two_people.to_frame(backend))
    np.testing.assert_array_equal(age.values, [1.0, np.nan])


def test_a_missing_number_is_null_where_the_library_has_null(two_people):
    assert two_people.to_frame("polars")["age"].to_list() == [1.0, None]
    assert two_people.to_frame("pyarrow")["age"].to_pylist() == [1.0, None]


@pytest.mark.parametrize("backend", FRAMES)
def test_a_missing_frame_library_is_named_with_its_pip_line(test, monkeypatch, backend):
    monkeypatch.setitem(sys.modules, backend, None)
    with pytest.raises(ImportError, match=f"not installed; run: pip install {backend}$"):
        test.to_frame(backend)


def test_an_unknown_frame_library_is_refused(test):
    with pytest.raises(ValueError, match="unknown backend 'dask'; choose from pandas, polars"):
        test.to_frame("dask")


# Refusals


def test_an_unknown_split_is_refused():
    with pytest.raises(ValueError, match="unknown split 'valid'; choose from train, test, all"):
        load_adult("valid")


def test_unknown_features_are_refused():
    with pytest.raises(ValueError, match="unknown features 'some'; choose from paper, all"):
        load_adult(features="some")


def test_a_column_of_another_length_is_refused(test):
    with pytest.raises(ValueError, match="column 'age' has 3 rows but y has 16281"):
        dataclasses.replace(test, columns={"age": np.zeros(3)}, levels={})


def test_a_category_outside_its_levels_is_refused(test):
    with pytest.raises(ValueError, match="column 'race' has values that are not among its levels"):
        dataclasses.replace(test, levels={**test.levels, "race": ("Black", "White")})


# The shipped files


def test_the_readme_states_size_and_checksum_of_every_shipped_file():
    folder = importlib.resources.files("unsway.datasets.files")
    readme = (folder / "README.md").read_text("utf-8")
    shipped = [file for file in folder.iterdir() if file.name.endswith(".gz")]
    assert len(shipped) == 3
    for file in shipped:
        content = file.read_bytes()
        stored = hashlib.sha256(content).hexdigest()
        unpacked = hashlib.sha256(gzip.decompress(content)).hexdigest()
        assert f"| {file.name} | {len(content)} | `{stored}` |" in readme
        assert Counter(readme.split())[f"`{unpacked}`"] == 1


def test_a_shipped_file_with_another_checksum_is_refused():
    with pytest.raises(ValueError, match=r"adult\.data\.gz is not the expected .* install unsway"):
        read_shipped("adult.data.gz", "0" * 64)


def test_damaged_gzip_data_is_refused():
    content = bytearray(gzip.compress(b"a,b\n" * 1000))
    content[-6] ^= 1  # in the check sum at the end
    with pytest.raises(ValueError, match="x is damaged gzip data"):
        unpack(bytes(content), "x", None, otherwise="")


def test_a_byte_order_mark_is_not_part_of_the_text():
    assert unpack(b"\xef\xbb\xbfa,b", "x", None, otherwise="") == "a,b"
