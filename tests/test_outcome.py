"""Outcomes are read alike from every kind of container, as labels or as numbers."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from columns import TEXTS, each_column_of_numbers, each_column_of_text
from sklearn.exceptions import DataConversionWarning

from unsway.core import Gamma, LogLoss, Poisson, SquaredError, Tweedie
from unsway.outcome import Outcome, number_loss
from unsway.rows import Rows

# --- labels --------------------------------------------------------------------------------------


@each_column_of_numbers
@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_labels_are_read_from_every_container(column):
    outcome = Outcome.labels(column, 3)
    assert outcome.values.tolist() == [1.0, 0.0, 1.0]
    assert outcome.classes.tolist() == [0, 1]


@each_column_of_text
def test_text_labels_are_sorted_as_scikit_learn_sorts_them(column):
    outcome = Outcome.labels(column, 3)
    assert outcome.classes.tolist() == ["F", "M"]
    assert outcome.names == ("F", "M")
    assert outcome.values.tolist() == [1.0, 0.0, 1.0]


def test_labels_may_be_any_two_whole_numbers():
    outcome = Outcome.labels(np.array([-1.0, 1e300, -1.0]), 3)
    assert outcome.values.tolist() == [0.0, 1.0, 0.0]
    assert outcome.classes.tolist() == [-1.0, 1e300]


def test_a_column_vector_of_labels_warns_as_in_scikit_learn():
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        Outcome.labels(np.array([[0], [1]]), 2)


# --- labels or numbers ---------------------------------------------------------------------------


@each_column_of_numbers
def test_zero_and_one_are_a_binary_outcome_in_every_container(column):
    outcome = Outcome.labels_or_numbers(column, 3)
    assert outcome.values.tolist() == [1.0, 0.0, 1.0]
    assert outcome.binary


@each_column_of_text
def test_two_classes_of_text_are_a_binary_outcome(column):
    outcome = Outcome.labels_or_numbers(column, 3)
    assert outcome.values.tolist() == [1.0, 0.0, 1.0]
    assert outcome.binary


@pytest.mark.parametrize(
    "column",
    [
        [1.5, 2.5, 1.5],
        np.array([1.5, 2.5, 1.5], dtype=np.float32),
        np.array([1.5, 2.5, 1.5], dtype=object),
        pd.Series([1.5, 2.5, 1.5], dtype="Float64"),
        pl.Series([1.5, 2.5, 1.5]),
        pa.array([Decimal("1.5"), Decimal("2.5"), Decimal("1.5")]),
    ],
    ids=["list", "float32", "object", "nullable", "polars", "decimal"],
)
def test_two_numbers_other_than_zero_and_one_keep_their_scale(column):
    outcome = Outcome.labels_or_numbers(column, 3)
    assert outcome.values.tolist() == [1.5, 2.5, 1.5]
    assert outcome.values.dtype == np.float64
    assert not outcome.binary


def test_scores_and_counts_are_taken_as_they_are():
    assert Outcome.labels_or_numbers([0.1, 0.5, 0.9], 3).values.tolist() == [0.1, 0.5, 0.9]
    outcome = Outcome.labels_or_numbers([0, 1, 2], 3)
    assert outcome.values.tolist() == [0.0, 1.0, 2.0]
    assert not outcome.binary


def test_true_and_false_are_a_binary_outcome():
    outcome = Outcome.labels_or_numbers([True, False], 2)
    assert outcome.values.tolist() == [1.0, 0.0]
    assert outcome.binary


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 1, 1], "y is the same for every row, so nothing has an effect on it"),
        (["a", "a", "a"], "y is the same for every row"),
        (["a", "b", "c"], "y has 3 classes of text; give numbers or two classes"),
        ([1.0, np.nan, 0.0], "y has 1 missing values"),
        ([1.0, np.inf, 0.0], "y has infinite values"),
        ([1.0, 0.0], "y has 2 rows but X has 3; they must match"),
        (None, "y must be one column"),
    ],
    ids=["constant", "constant text", "three classes", "a hole", "infinite", "short", "none"],
)
def test_an_outcome_that_cannot_serve_is_refused(y, message):
    with pytest.raises(ValueError, match=message):
        Outcome.labels_or_numbers(y, 3)


def test_the_loss_of_labels_is_the_log_loss_and_of_numbers_the_squared_error():
    assert isinstance(Outcome.labels([0, 1], 2).loss, LogLoss)
    assert isinstance(Outcome.labels_or_numbers(["a", "b"], 2).loss, LogLoss)
    assert isinstance(Outcome.labels_or_numbers([0.5, 1], 2).loss, SquaredError)


# --- numbers -------------------------------------------------------------------------------------


@each_column_of_numbers
@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_counts_are_read_from_every_container(column):
    outcome = Outcome.numbers(column, 3, loss=Poisson())
    assert outcome.values.tolist() == [1.0, 0.0, 1.0]
    assert not outcome.binary


def test_totals_are_divided_by_the_exposure():
    outcome = Outcome.numbers([3, 1, 0], 3, loss=Poisson(), exposure=[2, 0.5, 1])
    assert outcome.values.tolist() == [1.5, 2.0, 0.0]


def test_rows_weigh_by_their_exposure_and_their_sample_weight():
    rows = Rows.check(
        np.zeros((4, 1)),
        [3, 1, 0, 0],
        sensitive_features=[0, 1, 0, 1],
        sample_weight=[1, 2, 1, 1],
        read_outcome=lambda y, n: Outcome.numbers(y, n, loss=Poisson(), exposure=[2, 0.5, 1, 1]),
    )
    assert rows.weights.tolist() == [2.0, 1.0, 1.0, 1.0]
    assert rows.outcome.exposure is None
    assert float(rows.weights @ rows.y) == 3 * 1 + 1 * 2


@pytest.mark.parametrize("loss", [Poisson(), Gamma(), Tweedie()])
def test_the_mean_of_the_log_link_is_the_unit(loss):
    outcome = Outcome.numbers([2.0, 4.0], 2, loss=loss).standardised(np.array([1.0, 3.0]))
    assert (outcome.unit, outcome.origin) == (3.5, 0.0)
    assert outcome.as_given().tolist() == [2.0, 4.0]
    assert outcome.offset == pytest.approx(np.log(3.5))


def test_the_mean_of_the_identity_is_the_origin():
    outcome = Outcome.numbers([2.0, 4.0], 2, loss=SquaredError()).standardised(None)
    assert (outcome.unit, outcome.origin, outcome.offset) == (1.0, 3.0, 3.0)
    assert outcome.values.tolist() == [-1.0, 1.0]
    assert outcome.as_given().tolist() == [2.0, 4.0]


def test_labels_are_not_standardised():
    outcome = Outcome.labels([0, 1], 2)
    assert outcome.standardised(None) is outcome


def test_the_spread_is_the_standard_deviation():
    outcome = Outcome.numbers([2.0, 4.0], 2, loss=SquaredError())
    assert outcome.spread(None) == 1.0
    assert outcome.spread(np.array([0.0, 1.0])) == 1.0  # nothing varies


@pytest.mark.parametrize(
    ("y", "loss", "exposure", "message"),
    [
        ([1, -1, 0], Poisson(), None, "y has 1 negative values"),
        ([1, 0, 2], Gamma(), None, "y has 1 amounts of zero"),
        ([1, np.inf, 2], SquaredError(), None, "y has infinite values"),
        ([1, np.nan, 2], SquaredError(), None, "y has 1 missing values"),
        ([1, 2], SquaredError(), None, "y has 2 rows but X has 3"),
        ([1, 0, 2], Poisson(), [1, 0, -1], "exposure has 2 values that are zero or negative"),
        ([1, 0, 2], Poisson(), [1, np.inf, 1], "exposure has infinite values"),
        ([1, 0, 2], Poisson(), [1, np.nan, 1], "exposure has 1 missing values"),
        ([1, 0, 2], Poisson(), [1, 2], "exposure has 2 rows but X has 3"),
        ([0, 0, 0], Tweedie(), None, "y is 0 in every row"),
        (None, SquaredError(), None, "requires y to be passed"),
    ],
)
def test_numbers_that_cannot_serve_are_refused(y, loss, exposure, message):
    with pytest.raises(ValueError, match=message):
        Outcome.numbers(y, 3, loss=loss, exposure=exposure)


def test_text_is_no_number():
    with pytest.raises(TypeError, match="y must hold numbers"):
        Outcome.numbers(TEXTS, 3, loss=SquaredError())


def test_counts_of_which_only_rows_without_weight_are_positive_are_refused():
    outcome = Outcome.numbers([0, 1], 2, loss=Poisson())
    with pytest.raises(ValueError, match="y is 0 in every row that has a weight"):
        outcome.standardised(np.array([1.0, 0.0]))


def test_counts_that_look_like_rates_warn_where_there_is_an_exposure():
    with pytest.warns(UserWarning, match="pass the exposure as sample_weight instead"):
        Outcome.numbers([0.5, 0, 1], 3, loss=Poisson(), exposure=[2, 1, 1])
    Outcome.numbers([0.5, 0, 1], 3, loss=Poisson())
    Outcome.numbers([0.5, 0, 1], 3, loss=Tweedie(), exposure=[2, 1, 1])


def test_losses_go_by_their_names():
    assert number_loss("tweedie", 1.2) == Tweedie(1.2)
    for name in ("squared_error", "poisson", "gamma"):
        assert number_loss(name).name == name
    with pytest.raises(ValueError, match=r"unknown loss 'huber'; choose from squared_error, pois"):
        number_loss("huber")
    with pytest.raises(ValueError, match="loss='log_loss' is that of a label; use a classifier"):
        number_loss("log_loss")


# --- both ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("y", [TEXTS, [7, 3, 7], [True, False, True]], ids=["text", "int", "bool"])
def test_the_class_of_each_row_is_given_back_as_the_user_wrote_it(y):
    assert Outcome.labels(y, 3).as_given().tolist() == y


def test_numbers_are_given_back_as_they_are():
    outcome = Outcome.labels_or_numbers([1.5, 2.5, 4.0], 3)
    assert outcome.as_given().tolist() == [1.5, 2.5, 4.0]
    assert outcome.names == ()


def test_some_rows_keep_the_classes_and_the_loss():
    outcome = Outcome.labels(TEXTS, 3)
    part = outcome.take(np.array([1, 1]))
    assert part.as_given().tolist() == ["F", "F"]
    assert (len(part), part.loss) == (2, outcome.loss)


def test_a_class_without_a_row_is_named():
    with pytest.raises(ValueError, match=r"^the fold has no row of class 'M'; both are needed$"):
        Outcome.labels(TEXTS, 3).take(np.array([1])).check_present(None, "the fold")


def test_a_class_without_weight_is_named():
    with pytest.raises(ValueError, match="rows of class 0, but each has a sample_weight of zero"):
        Outcome.labels([0, 1], 2).check_present(np.array([0.0, 1.0]), "y")


def test_numbers_have_no_class_to_miss():
    Outcome.labels_or_numbers([1.5, 2.5], 2).check_present(np.array([0.0, 1.0]), "y")
