"""A sensitive attribute that is known for some rows only."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from contracts import EXACT

from unsway import (
    DirectEffect,
    EqualizedOdds,
    FairLGBMClassifier,
    FairLogisticRegression,
    FairTarget,
    FairTargetClassifier,
    FairXGBClassifier,
    Grouping,
    Parity,
    estimate_effects,
    make_synthetic,
)
from unsway.criteria import fit_criterion
from unsway.groups import Groups
from unsway.outcome import Outcome
from unsway.rows import Rows

USE, DROP = Grouping(missing="use"), Grouping(missing="drop")


@pytest.fixture(scope="module")
def people():
    return make_synthetic(3_000, random_state=0)


@pytest.fixture(scope="module")
def known(people):
    """Which rows have a level: more of them where the first column is large."""
    chance = 0.8 / (1 + np.exp(-people.X[:, 0]))
    return np.random.default_rng(1).random(len(people.y)) < chance


@pytest.fixture(scope="module")
def z(people, known):
    return np.where(known, people.z, np.nan)


def probabilities(model, people, z, **more):
    return model.fit(people.X, people.y, sensitive_features=z, **more).predict_proba(people.X)[:, 1]


# --- refused, or left out ------------------------------------------------------------------------


def test_missing_levels_are_refused_with_their_number_and_both_options(people, z, known):
    missing = int((~known).sum())
    with pytest.raises(ValueError, match=rf"{missing} missing values.*'drop'.*missing='use'"):
        FairXGBClassifier().fit(people.X, people.y, sensitive_features=z)


def test_an_unknown_way_is_refused():
    with pytest.raises(ValueError, match=r"missing.*'ignore'"):
        Grouping(missing="ignore")


def test_rows_left_out_are_as_if_they_had_not_been_given(people, z, known):
    left_out = probabilities(FairLogisticRegression(groups=DROP), people, z)
    model = FairLogisticRegression()
    model.fit(people.X[known], people.y[known], sensitive_features=people.z[known])
    np.testing.assert_array_equal(left_out, model.predict_proba(people.X)[:, 1])


@pytest.mark.parametrize("criterion", [Parity(), EqualizedOdds(), DirectEffect()], ids=str)
def test_a_penalty_is_refused_on_rows_without_a_level(people, z, criterion):
    with pytest.raises(ValueError, match=r"compares rows by their sensitive level.*'drop'"):
        FairLogisticRegression(criterion, groups=USE).fit(people.X, people.y, sensitive_features=z)


def test_effects_are_refused_on_rows_without_a_level(people, z):
    with pytest.raises(ValueError, match=r"level of every row, and \d+ of 3000 have none"):
        estimate_effects(people.X, people.y, sensitive_features=z, groups=USE)


def test_labels_of_several_classes_are_refused_on_rows_without_a_level(people, z):
    y = people.y + (people.X[:, 0] > 1)
    with pytest.raises(ValueError, match="labels of two classes"):
        FairLogisticRegression(groups=USE).fit(people.X, y, sensitive_features=z)


def test_a_column_without_any_value_is_refused(people):
    with pytest.raises(ValueError, match="sensitive_features is empty"):
        FairXGBClassifier(groups=USE).fit(
            people.X, people.y, sensitive_features=np.full(len(people.y), np.nan)
        )


def test_a_column_of_one_known_level_is_refused(people, known):
    with pytest.raises(ValueError, match="single level"):
        FairXGBClassifier(groups=USE).fit(
            people.X, people.y, sensitive_features=np.where(known, 1.0, np.nan)
        )


def test_a_linear_model_fills_missing_numbers_from_the_rows_it_keeps(people, z, known):
    X = people.X.copy()
    X[::7, 2] = np.nan
    X[~known, 2] = 100.0
    model = FairLogisticRegression(groups=DROP).fit(X, people.y, sensitive_features=z)
    assert abs(model.imputer_.statistics_[2]) < 1


# --- the rows without a level --------------------------------------------------------------------


def test_the_target_of_a_row_without_a_level_is_the_label_moved_from_the_mixture_to_the_fair_mean():
    groups = Groups.check([0.0, 1.0, None], 3, groups=USE)
    rows = Rows(X=None, outcome=Outcome.labels([0, 1, 1], 3), groups=groups)
    values = np.array([[0.2, 0.6, 0.3]] * 3)  # both means, and their mixture at b = 1/4
    objective = FairTarget().objective(rows, values)
    np.testing.assert_allclose(objective.target + objective.shift, [0.2, 0.8, 1.1])


def test_rows_with_a_level_alone_teach_the_criterion(people, z, known):
    rows = Rows.check(people.X, people.y, sensitive_features=z, groups=USE)
    labelled = rows.take(np.flatnonzero(known))
    values = fit_criterion(FairTarget(), labelled).row_values
    assert values.shape == (known.sum(), 3)
    assert (
        (values.min(axis=1) - 1e-9 <= values[:, 2]) & (values[:, 2] <= values.max(axis=1))
    ).all()


@pytest.mark.parametrize("estimator", [FairXGBClassifier, FairLGBMClassifier])
def test_nothing_missing_is_the_usual_model(people, estimator):
    plain, used = (
        probabilities(estimator(groups=groups, n_jobs=1), people, people.z)
        for groups in (None, USE)
    )
    np.testing.assert_array_equal(plain, used)


@pytest.mark.parametrize(
    "make",
    [
        FairLogisticRegression,
        FairXGBClassifier,
        lambda **more: FairTargetClassifier(EXACT, **more),
    ],
    ids=["logistic", "xgboost", "wrapped"],
)
def test_rows_without_a_level_bring_the_model_closer_to_the_fair_score(people, z, make):
    fresh = make_synthetic(5_000, random_state=1)

    def error(groups):
        model = make(groups=groups).fit(people.X, people.y, sensitive_features=z)
        return float(np.mean((model.predict_proba(fresh.X)[:, 1] - fresh.fair_score) ** 2))

    assert error(USE) < error(DROP)


def test_three_levels_and_their_names_do_not_matter(people, known):
    race = np.where(people.X[:, 1] + np.random.default_rng(2).normal(size=3_000) > 1, 2.0, people.z)
    names = np.array(["b", "c", "a"], dtype=object)[race.astype(int)]
    as_numbers, as_names = np.where(known, race, np.nan), np.where(known, names, None)
    first = probabilities(
        FairLogisticRegression(groups=Grouping(missing="use", reference=0)), people, as_numbers
    )
    second = probabilities(
        FairLogisticRegression(groups=Grouping(missing="use", reference="b")), people, as_names
    )
    np.testing.assert_allclose(first, second, atol=1e-6)


@pytest.mark.parametrize(
    "column",
    [
        lambda z: pd.Series(z).map({0.0: "no", 1.0: "yes"}),
        lambda z: pl.Series([None if each != each else ("no", "yes")[int(each)] for each in z]),
        lambda z: [None if each != each else ("no", "yes")[int(each)] for each in z],
    ],
    ids=["pandas", "polars", "list"],
)
def test_any_container_may_have_missing_levels(people, z, column):
    expected = probabilities(FairLogisticRegression(groups=USE), people, z)
    groups = Grouping(reference="no", missing="use")
    found = probabilities(FairLogisticRegression(groups=groups), people, column(z))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_rows_to_stop_by_may_lack_levels_too(people, z):
    fresh = make_synthetic(1_000, random_state=1)
    some = np.where(fresh.X[:, 0] > 0, fresh.z, np.nan)
    model = FairXGBClassifier(groups=USE, n_jobs=1)
    p = probabilities(model, people, z, eval_set=(fresh.X, fresh.y, some))
    assert np.isfinite(p).all()


def test_the_order_of_the_rows_does_not_matter(people, z):
    order = np.random.default_rng(3).permutation(len(z))
    straight = FairXGBClassifier(groups=USE, n_jobs=1)
    straight.fit(people.X, people.y, sensitive_features=z)
    mixed = FairXGBClassifier(groups=USE, n_jobs=1)
    mixed.fit(people.X[order], people.y[order], sensitive_features=z[order])
    np.testing.assert_array_equal(
        straight.decision_function(people.X), mixed.decision_function(people.X)
    )
