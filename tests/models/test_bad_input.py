"""Bad input is refused before any work, with a message that says what is wrong and what to do."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

from unsway import DirectEffect, FairLogisticRegression, Parity
from unsway.grouping import Grouping

N = 40
rng = np.random.default_rng(0)
X = rng.standard_normal((N, 3))
Z = np.arange(N) % 2
Y = rng.permutation(Z)
WEIGHTS = np.ones(N)


class Untouched(BaseEstimator):
    """A criterion that must not be reached: fitting it is the first work a fit does."""

    default_strength = 0.9
    allows_full_strength = False

    def fit(self, rows, *, fitting=None):
        raise AssertionError("worked")

    def objective(self, rows, row_values, *, reduce=None):
        raise AssertionError("worked")


def fit(X=X, y=Y, z=Z, sample_weight=None, criterion=None, **settings):
    model = FairLogisticRegression(Untouched() if criterion is None else criterion, **settings)
    return model.fit(X, y, sensitive_features=z, sample_weight=sample_weight)


def replaced(array, row, value, dtype=None):
    array = np.array(array, dtype=dtype)
    array[row] = value
    return array


def frame(**more):
    return pd.DataFrame({"age": X[:, 0], "income": X[:, 1], **more})


def nothing_is_done(error, message, **inputs):
    with pytest.raises(error, match=message):
        fit(**inputs)


def test_good_input_does_reach_the_criterion():
    nothing_is_done(AssertionError, "^worked$", sample_weight=WEIGHTS)


# --- y -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.ones(N), "y has a single class, 1.0; both classes are needed"),
        (["yes"] * N, "y has a single class, 'yes'; both classes are needed"),
        (rng.standard_normal(N), "Unknown label type: continuous"),
        (Y[:-1], "y has 39 rows but X has 40; they must match"),
        (np.zeros((N, 2)), r"y must be one column; got an array of shape \(40, 2\)"),
        (frame(), "y has 2 columns; give exactly one"),
        (None, "requires y to be passed, but the target y is None"),
        (replaced(Y, 3, np.inf, float), "y has infinite values"),
    ],
    ids=[
        "constant",
        "constant_text",
        "continuous",
        "short",
        "two_columns",
        "frame_of_two",
        "none",
        "infinite",
    ],
)
def test_a_bad_label_is_refused(y, message):
    nothing_is_done(ValueError, message, y=y)


def test_labels_that_cannot_be_compared_are_refused():
    y = replaced(Y, 0, "yes", dtype=object)
    nothing_is_done(TypeError, "y mixes types that cannot be compared", y=y)


# --- missing values in y and z -------------------------------------------------------------------

WITH_A_HOLE = {
    "float_nan": replaced(Z, 3, np.nan, float),
    "object_none": replaced(Z, 3, None, object),
    "list_none": [*Z.tolist()[:-1], None],
    "list_pandas_na": [*Z.tolist()[:-1], pd.NA],
    "pandas_na": pd.Series(Z, dtype="Int64").where(Z.cumsum() != 3),
    "pandas_boolean_na": pd.Series(Z, dtype="boolean").where(Z.cumsum() != 3),
    "pandas_categorical": pd.Series(pd.Categorical([None, *Z[1:]])),
    "polars_null": pl.Series([None, *Z[1:].tolist()]),
    "polars_nan": pl.Series([np.nan, *Z[1:].tolist()], strict=False),
    "pyarrow_null": pa.array([None, *Z[1:].tolist()]),
    "pyarrow_text_null": pa.array([None, *Z[1:].astype(str).tolist()]),
    "pyarrow_chunked_null": pa.chunked_array([[None, *Z[1:].tolist()]]),
    "not_a_time": replaced(Z.astype("datetime64[D]"), 3, "NaT"),
}
every_hole = pytest.mark.parametrize("column", WITH_A_HOLE.values(), ids=WITH_A_HOLE)


@every_hole
def test_a_missing_label_is_refused(column):
    nothing_is_done(ValueError, r"y has \d missing values .* in 40 rows; drop those", y=column)


@every_hole
def test_a_missing_sensitive_value_is_refused(column):
    message = r"sensitive_features has \d missing values .* in 40 rows. Leave those rows out"
    nothing_is_done(ValueError, message, z=column)


def test_the_number_of_missing_values_is_told():
    z = replaced(Z, [1, 5, 6], np.nan, float)
    nothing_is_done(ValueError, "sensitive_features has 3 missing values", z=z)


# --- z -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("z", "message"),
    [
        (np.ones(N), "sensitive_features has a single level, 1.0; at least two are needed"),
        (np.ones(N, dtype=int), "sensitive_features has a single level, 1; at least two"),
        (["Male"] * N, "sensitive_features has a single level, 'Male'; at least two are needed"),
        (np.arange(N), r"has 40 distinct numbers\. Say groups=Grouping\(bands="),
        (Z[:-1], "sensitive_features has 39 rows but X has 40; they must match"),
        (frame(), r"sensitive_features\['age'\] has 40 distinct numbers\. Say groups=Grouping"),
        (np.zeros((N, 2)), "sensitive_features has 2 columns without names; give a data frame"),
        ([[0], [1, 1]] * 20, "sensitive_features must be one column; its rows differ in length"),
        ([], "sensitive_features is empty"),
        (replaced(Z, 3, np.inf, float), "sensitive_features has infinite values"),
        (
            np.where(Z, "Male", "Female"),
            "has the levels 'Female' and 'Male'; state the one that the other is compared with: "
            r"groups=Grouping\(reference='Female'\) or Grouping\(reference='Male'\)",
        ),
        (Z + 1, r"has the levels 1 and 2; .* groups=Grouping\(reference=1\)"),
        ("Male", "sensitive_features must be one column"),
    ],
    ids=[
        "constant",
        "constant_int",
        "constant_text",
        "many_numbers",
        "short",
        "frame_of_two",
        "two_columns",
        "ragged",
        "empty",
        "infinite",
        "text",
        "one_and_two",
        "scalar",
    ],
)
def test_a_bad_sensitive_attribute_is_refused(z, message):
    nothing_is_done(ValueError, message, z=z)


@pytest.mark.parametrize(
    "z",
    [
        replaced(Z, 0, "Male", dtype=object),
        np.array([{"sex": "Male"}, {"sex": "Female"}] * 20, dtype=object),
        pl.Series([[0, 1], [1, 0]] * 20),
    ],
    ids=["mixed_types", "dictionaries", "lists"],
)
def test_a_sensitive_attribute_that_cannot_be_compared_is_refused(z):
    nothing_is_done(TypeError, "sensitive_features mixes types that cannot be compared", z=z)


def test_a_missing_sensitive_attribute_is_refused():
    nothing_is_done(TypeError, "sensitive_features is required: pass sensitive_features=z", z=None)


def test_sensitive_features_are_given_by_name_only():
    with pytest.raises(TypeError, match="positional argument"):
        FairLogisticRegression(Untouched()).fit(X, Y, Z)


@pytest.mark.parametrize(
    ("z", "level", "message"),
    [
        (Z, 2, "reference=2 is not a level of sensitive_features, which has 0 and 1"),
        (np.where(Z, "m", "f"), "M", "reference='M' is not a level .* has 'f' and 'm'"),
    ],
    ids=["number", "text"],
)
def test_a_reference_that_does_not_occur_is_refused(z, level, message):
    nothing_is_done(ValueError, message, z=z, groups=Grouping(reference=level))


def test_a_level_too_rare_for_the_folds_is_refused():
    z = np.zeros(N)
    z[:3] = 1
    message = "a sensitive level has 3 rows, but 5-fold cross-validation .* at least 5 .* lower cv"
    nothing_is_done(ValueError, message, z=z, criterion=DirectEffect())


# --- z left inside X -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "z",
    [
        pd.Series(Z, name="sex"),
        pd.DataFrame({"sex": Z}),
        pl.Series("sex", Z),
        pa.table({"sex": Z}),
    ],
    ids=["pandas", "pandas_frame", "polars", "pyarrow"],
)
def test_a_column_of_x_with_the_name_of_z_is_refused(z):
    table = frame(
        sex=np.random.default_rng(1).standard_normal(N)
    )  # other values: the name alone tells
    nothing_is_done(ValueError, "X contains the sensitive column 'sex'; drop it", X=table, z=z)


@pytest.mark.parametrize(
    "copy",
    [Z, 1 - Z, Z == 1, np.where(Z, 7.5, -2.0)],
    ids=["same", "turned_around", "boolean", "recoded"],
)
@pytest.mark.parametrize(
    "library", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"]
)
def test_a_column_of_x_that_equals_z_is_refused(copy, library):
    table = library({"age": X[:, 0], "income": X[:, 1], "gender": copy})
    message = "X contains the sensitive attribute: 'gender' is the same .* drop that column"
    nothing_is_done(ValueError, message, X=table)


@pytest.mark.parametrize("name", ["sex", None], ids=["by_name", "by_equality"])
@pytest.mark.parametrize("dtype", [object, "category"])
def test_the_text_column_itself_is_refused(name, dtype):
    sex = pd.Series(np.where(Z, "Male", "Female"), name=name, dtype=dtype)
    message = "X contains the sensitive .*'sex'"
    nothing_is_done(
        ValueError, message, X=frame(sex=sex), z=sex, groups=Grouping(reference="Female")
    )


def test_text_recoded_to_numbers_is_refused():
    table = frame(gender=np.where(Z, 2.0, 5.0))
    z = np.where(Z, "Male", "Female")
    message = "'gender' is the same as sensitive_features up to its coding"
    nothing_is_done(ValueError, message, X=table, z=z, groups=Grouping(reference="Female"))


def test_a_copy_in_an_array_is_named_by_its_position():
    nothing_is_done(ValueError, "'column 3' is the same as", X=np.column_stack([X, 1 - Z]))


def test_a_copy_that_differs_in_its_last_row_is_no_copy():
    n = 2_500
    z = np.arange(n) % 2
    almost = replaced(z, -1, 0)
    table = np.column_stack([np.random.default_rng(1).standard_normal(n), almost])
    y = np.random.default_rng(2).permutation(z)
    nothing_is_done(AssertionError, "^worked$", X=table, y=y, z=z)


# --- X -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (replaced(X, (2, 1), np.inf), "Input X contains infinity"),
        (replaced(X, (2, 1), -np.inf), "Input X contains infinity"),
        (X[:0], r"Found array with 0 sample\(s\) .* minimum of 2 is required"),
        (X[:1], r"Found array with 1 sample\(s\) .* minimum of 2 is required"),
        (X[:, :0], r"Found array with 0 feature\(s\)"),
        (X[:, 0], "Expected 2D array, got 1D array"),
        (frame(city="Rome"), "could not convert string to float"),
    ],
    ids=[
        "infinite",
        "minus_infinite",
        "no_row",
        "one_row",
        "no_column",
        "one_dimension",
        "text",
    ],
)
def test_a_bad_table_is_refused(table, message):
    n = len(table)
    nothing_is_done(ValueError, message, X=table, y=Y[:n], z=Z[:n])


def test_a_sparse_table_is_refused():
    nothing_is_done(TypeError, "[Ss]parse data was passed", X=sparse.csr_array(X))


# --- weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (replaced(WEIGHTS, [0, 3], np.nan), "sample_weight has 2 values that are NaN or infinite"),
        (replaced(WEIGHTS, 3, np.inf), "sample_weight has 1 values that are NaN or infinite"),
        (replaced(WEIGHTS, 3, -1), "sample_weight has 1 negative values"),
        (0 * WEIGHTS, "sample_weight is zero for every row"),
        (WEIGHTS[:, None], "Sample weights must be 1D array or scalar"),
        (WEIGHTS[:-1], "sample_weight has 39 rows but X has 40; they must match"),
        (["heavy"] * N, "sample_weight must hold numbers"),
        ([None] * N, "sample_weight has 40 values that are NaN or infinite"),
        (Y, "y has rows of class 0, but each has a sample_weight of zero; both are needed"),
        (Z, "sensitive_features has rows of sensitive level 0, but each has a sample_weight of"),
    ],
    ids=[
        "nan",
        "infinite",
        "negative",
        "all_zero",
        "two_dimensions",
        "short",
        "text",
        "none",
        "no_weight_on_a_class",
        "no_weight_on_a_level",
    ],
)
def test_bad_weights_are_refused(weights, message):
    nothing_is_done(ValueError, message, sample_weight=weights)


# --- settings ------------------------------------------------------------------------------------


def test_a_strength_that_is_true_is_refused():
    nothing_is_done(TypeError, "strength must be a number; got True", strength=True)


@pytest.mark.parametrize("strength", [-0.1, 1, 1.0, 2.5, np.nan, np.inf])
def test_a_strength_outside_its_range_is_refused(strength):
    message = f"strength must be at least 0 and below 1; got {strength!r}"
    nothing_is_done(ValueError, re.escape(message), strength=strength)


@pytest.mark.parametrize("name", ["strength", "l2", "tol"])
def test_a_setting_that_is_no_number_is_refused(name):
    nothing_is_done(TypeError, f"{name} must be a number; got 'much'", **{name: "much"})


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"l2": -0.1}, "l2 must be a finite number of at least 0; got -0.1"),
        ({"l2": np.nan}, "l2 must be a finite number of at least 0; got nan"),
        ({"l2": np.inf}, "l2 must be a finite number of at least 0; got inf"),
        ({"tol": 0.0}, "tol must be a finite number above 0; got 0.0"),
        ({"tol": np.nan}, "tol must be a finite number above 0; got nan"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1; got 0"),
        ({"max_iter": 1.5}, "max_iter must be an integer of at least 1; got 1.5"),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value),
)
def test_a_bad_setting_is_refused(setting, message):
    nothing_is_done(ValueError, message, **setting)


@pytest.mark.parametrize("criterion", ["parity", "", 0, [Parity()]], ids=repr)
def test_what_is_no_criterion_is_refused(criterion):
    message = r"criterion must be one such as FairTarget\(\), DirectEffect\(\) or Parity\(\); got"
    nothing_is_done(TypeError, message, criterion=criterion)


def test_a_warm_start_from_other_columns_is_refused():
    model = fit(criterion=Parity(), l2=1.0, warm_start=True).set_params(criterion=Untouched())
    with pytest.raises(ValueError, match="the previous fit had 3 columns but X has 2"):
        model.fit(X[:, :2], Y, sensitive_features=Z)


# --- privacy, and what a failure leaves behind ---------------------------------------------------


def test_no_message_shows_the_values_of_a_column_with_many():
    ages = np.repeat(np.arange(1_018, 1_078), 2)  # four digits, so that no count looks like one
    table = np.random.default_rng(3).standard_normal((120, 2))
    bad = [
        ages,
        ages.astype(str).astype(object),
        ages.astype(float),
        pd.Series(ages, name="age"),
        pl.Series("age", ages),
        pd.Series(pd.Categorical(ages)),
        replaced(ages, 0, "old", dtype=object),
        replaced(ages, 0, np.nan, float),
        ages[:-1],
    ]
    for z in bad:
        with pytest.raises((ValueError, TypeError)) as caught:
            fit(X=table, y=np.arange(120) % 2, z=z)
        assert not re.search(r"10\d\d", str(caught.value))
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    "bad",
    [
        {"X": X[:, :2], "z": np.ones(N)},
        {"X": frame(sex=Z)},
        {"y": np.where(Y, "yes", "no"), "z": Z + 1},
        {"criterion": DirectEffect(outcome_degree=0)},
        {"criterion": Untouched()},
        {"strength": 1.0},
    ],
    ids=["fewer_columns", "other_names", "other_labels", "setting", "in_the_criterion", "strength"],
)
def test_a_refit_that_fails_leaves_the_model_as_it_was(bad):
    model = fit(criterion=Parity(), l2=1.0)
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    probabilities = model.predict_proba(X)
    inputs = {"X": X, "y": Y, "z": Z, **bad}
    settings = {name: inputs.pop(name) for name in ("criterion", "strength") if name in inputs}
    with pytest.raises((ValueError, AssertionError)):
        model.set_params(**settings).fit(inputs["X"], inputs["y"], sensitive_features=inputs["z"])
    after = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert before.keys() == after.keys()
    assert all(before[name] is after[name] for name in before)
    np.testing.assert_array_equal(model.predict_proba(X), probabilities)


def test_a_path_refuses_its_last_strength_before_its_first_fit():
    model = FairLogisticRegression(Untouched())
    with pytest.raises(ValueError, match=r"strength must be .* below 1; got 1\.5"):
        model.fit_path(X, Y, [0.5, 1.5], sensitive_features=Z)
