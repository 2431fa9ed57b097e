"""Boosted classifiers refuse bad input before any work, and say what is wrong and what to do."""

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from contracts import ENGINES, each_engine
from scipy import sparse
from sklearn.base import BaseEstimator

from unsway import DirectEffect, EqualOpportunity, Parity, Schedule
from unsway.grouping import Grouping

N = 40
rng = np.random.default_rng(0)
X = rng.standard_normal((N, 3))
Z = np.arange(N) % 2
Y = rng.permutation(Z)
WEIGHTS = np.ones(N)
TINY = Schedule(ramp_steps=1, max_steps=3)


class Untouched(BaseEstimator):
    """A criterion that must not be reached: fitting it is the first work a fit does."""

    default_strength = 0.9
    allows_full_strength = False

    def fit(self, rows, *, fitting=None):
        raise AssertionError("worked")

    def objective(self, rows, row_values, *, reduce=None):
        raise AssertionError("worked")


def fit(engine, X=X, y=Y, z=Z, criterion=None, **settings):
    handed = {
        name: settings.pop(name) for name in ("sample_weight", "eval_set") if name in settings
    }
    settings = {"schedule": TINY, "strength": 0.5, **settings}
    model = engine.classifier(Untouched() if criterion is None else criterion, **settings)
    return model.fit(X, y, sensitive_features=z, **handed)


def nothing_is_done(engine, error, message, **inputs):
    with pytest.raises(error, match=message):
        fit(engine, **inputs)


def replaced(array, row, value, dtype=None):
    array = np.array(array, dtype=dtype)
    array[row] = value
    return array


def frame(**more):
    return pd.DataFrame({"age": X[:, 0], "income": X[:, 1], **more})


@each_engine
def test_good_input_does_reach_the_criterion(engine):
    nothing_is_done(engine, AssertionError, "^worked$", sample_weight=WEIGHTS)
    nothing_is_done(engine, AssertionError, "^worked$", eval_set=(X, Y, Z, WEIGHTS))


# --- y, z, weights -------------------------------------------------------------------------------

ROLES = {
    "y constant": ({"y": np.ones(N)}, ValueError, "y has a single class, 1.0; both classes"),
    "y multiclass": (
        {"y": np.arange(N) % 3, "criterion": Parity()},
        ValueError,
        r"Only binary .* y has 3 classes. Parity is a penalty, .*FairTarget\(\)",
    ),
    "y continuous": ({"y": X[:, 0]}, ValueError, "Unknown label type: continuous"),
    "y short": ({"y": Y[:-1]}, ValueError, "y has 39 rows but X has 40; they must match"),
    "y none": ({"y": None}, ValueError, "requires y to be passed, but the target y is None"),
    "y missing": ({"y": replaced(Y, 3, np.nan, float)}, ValueError, "y has 1 missing values"),
    "y mixed": ({"y": replaced(Y, 0, "yes", object)}, TypeError, "y mixes types"),
    "z none": ({"z": None}, TypeError, "sensitive_features is required"),
    "z constant": ({"z": np.ones(N)}, ValueError, "sensitive_features has a single level, 1.0"),
    "z numbers": ({"z": np.arange(N)}, ValueError, "has 40 distinct numbers"),
    "z short": ({"z": Z[:-1]}, ValueError, "sensitive_features has 39 rows but X has 40"),
    "z missing": ({"z": pl.Series([None, *Z[1:].tolist()])}, ValueError, "has 1 missing values"),
    "z words": ({"z": np.where(Z, "m", "f")}, ValueError, "state the one that the other"),
    "z level": ({"groups": Grouping(reference=2)}, ValueError, "reference=2 is not a level"),
    "weights short": ({"sample_weight": WEIGHTS[:-1]}, ValueError, "sample_weight has 39 rows"),
    "weights nan": ({"sample_weight": WEIGHTS * np.nan}, ValueError, "40 values that are NaN"),
    "weights negative": ({"sample_weight": -WEIGHTS}, ValueError, "40 negative values"),
    "weights zero": ({"sample_weight": 0 * WEIGHTS}, ValueError, "zero for every row"),
    "weights on a class": ({"sample_weight": Y}, ValueError, "y has rows of class 0, but each"),
    "weights on a level": ({"sample_weight": Z}, ValueError, "sensitive level 0, but each has"),
}


@each_engine
@pytest.mark.parametrize(("inputs", "error", "message"), ROLES.values(), ids=ROLES)
def test_a_bad_role_is_refused(engine, inputs, error, message):
    nothing_is_done(engine, error, message, **inputs)


@each_engine
def test_sensitive_features_are_given_by_name_only(engine):
    with pytest.raises(TypeError, match="positional argument"):
        engine.classifier(Untouched()).fit(X, Y, Z)


@each_engine
@pytest.mark.parametrize(
    "library", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"]
)
def test_a_column_of_x_that_equals_z_is_refused(engine, library):
    table = library({"age": X[:, 0], "gender": np.where(Z, "m", "f")})
    message = "X contains the sensitive attribute: 'gender' is the same .* drop that column"
    nothing_is_done(engine, ValueError, message, X=table)


@each_engine
def test_a_column_of_x_with_the_name_of_z_is_refused(engine):
    table = frame(sex=X[::-1, 0])
    message = "X contains the sensitive column 'sex'; drop it"
    nothing_is_done(engine, ValueError, message, X=table, z=pd.Series(Z, name="sex"))


# --- X -------------------------------------------------------------------------------------------


@each_engine
@pytest.mark.parametrize(
    ("table", "message"),
    [
        (replaced(X, (2, 1), np.inf), "X contains infinity .* in 'column 1'; make it finite"),
        (frame(wealth=[-np.inf, *X[1:, 2]]), "X contains infinity .* in 'wealth'"),
        (X[:0], r"Found array with 0 sample\(s\)"),
        (X[:1], r"Found array with 1 sample\(s\) .* minimum of 2"),
        (X[:, :0], r"Found array with 0 feature\(s\)"),
        (X[:, 0], "Expected 2D array, got 1D array"),
    ],
    ids=["infinite", "minus_infinite", "no_row", "one_row", "no_column", "one_dimension"],
)
def test_a_bad_table_is_refused(engine, table, message):
    n = len(table)
    nothing_is_done(engine, ValueError, message, X=table, y=Y[:n], z=Z[:n])


@each_engine
def test_a_sparse_table_is_refused(engine):
    nothing_is_done(engine, TypeError, "[Ss]parse data was passed", X=sparse.csr_array(X))


@each_engine
def test_an_infinite_value_to_predict_at_is_refused_by_its_column(engine):
    model = fit(engine, X=frame(), criterion=Parity())
    with pytest.raises(ValueError, match=r"infinity .* in 'income'"):
        model.predict(frame().assign(income=np.inf))


@each_engine
def test_words_where_numbers_were_are_refused_by_their_column(engine):
    model = fit(engine, X=frame(), criterion=Parity())
    with pytest.raises(ValueError, match="'income' held numbers in fit and holds words now"):
        model.predict(frame().assign(income="much"))


# --- settings ------------------------------------------------------------------------------------


@each_engine
def test_a_strength_that_is_true_is_refused(engine):
    nothing_is_done(engine, TypeError, "strength must be a number; got True", strength=True)


@each_engine
@pytest.mark.parametrize("strength", [-0.1, 1, 1.0, 2.5, np.nan, np.inf])
def test_a_strength_outside_its_range_is_refused(engine, strength):
    message = f"strength must be at least 0 and below 1; got {strength!r}"
    nothing_is_done(engine, ValueError, re.escape(message), strength=strength)


SETTINGS = {
    "strength": ("much", TypeError, "strength must be a number; got 'much'"),
    "curvature": (
        "gauss",
        ValueError,
        "unknown curvature 'gauss'; choose from adaptive, bound, exact",
    ),
    "random_state": (-1, ValueError, "random_state must be an integer of at least 0; got -1"),
    "schedule": (20, TypeError, "schedule must be a Schedule; got 20"),
    "callback": ("print", TypeError, "callback must be callable; got 'print'"),
    "params": ([("eta", 0.1)], TypeError, "params must be a dict"),
}


@each_engine
@pytest.mark.parametrize("name", SETTINGS)
def test_a_bad_setting_is_refused(engine, name):
    value, error, message = SETTINGS[name]
    nothing_is_done(engine, error, message, **{name: value})


@each_engine
@pytest.mark.parametrize("fraction", [0, 1, -0.2, 1.5, np.nan])
def test_a_validation_fraction_out_of_range_is_refused(engine, fraction):
    message = f"validation_fraction must be a finite number above 0 and below 1; got {fraction!r}"
    nothing_is_done(engine, ValueError, message, validation_fraction=fraction)


@each_engine
@pytest.mark.parametrize("criterion", ["parity", 0, [Parity()]], ids=repr)
def test_what_is_no_criterion_is_refused(engine, criterion):
    message = r"criterion must be one such as FairTarget\(\), DirectEffect\(\) or Parity\(\); got"
    nothing_is_done(engine, TypeError, message, criterion=criterion)


REFUSED = {
    "xgboost": (
        ("objective", "binary-logistic"),
        ("base_score", "the margin starts at 0"),
        ("num_class", "the labels say"),
        ("booster", "gbtree"),
        ("scale_pos_weight", "use sample_weight"),
        ("seed", "use random_state"),
        ("random_state", "use random_state"),
        ("nthread", "use n_jobs"),
        ("n_jobs", "use n_jobs"),
        ("n_estimators", "the schedule says when to stop"),
        ("early_stopping_rounds", "the schedule says when to stop"),
    ),
    "lightgbm": (
        ("objective", "binary-logistic"),
        ("application", "binary-logistic"),
        ("boost_from_average", "the margin starts at 0"),
        ("sigmoid", "log-odds"),
        ("num_class", "the labels say"),
        ("is_unbalance", "use sample_weight"),
        ("seed", "use random_state"),
        ("random_state", "use random_state"),
        ("num_threads", "use n_jobs"),
        ("n_jobs", "use n_jobs"),
        ("n_estimators", "the schedule says when to stop"),
        ("early_stopping_round", "the schedule says when to stop"),
        ("categorical_feature", "columns of words"),
    ),
}
each_refused = pytest.mark.parametrize(
    ("name", "param", "why"),
    [(name, *pair) for name, pairs in REFUSED.items() for pair in pairs],
)


@each_refused
def test_a_parameter_that_fights_ours_is_refused_by_name(name, param, why):
    pytest.importorskip(name)
    message = rf"params\['{param}'\] is not yours to set: .*{why}"
    nothing_is_done(ENGINES[name], ValueError, message, params={"max_depth": 2, param: 1})


@pytest.mark.parametrize("name", ["boosting", "boosting_type", "boost"])
@pytest.mark.parametrize("kind", ["dart", "rf"])
def test_boosting_that_changes_its_trees_is_refused(name, kind):
    pytest.importorskip("lightgbm")
    message = rf"params\['{name}'\] must be 'gbdt' or 'goss': .*got '{kind}'"
    nothing_is_done(ENGINES["lightgbm"], ValueError, message, params={name: kind})


@pytest.mark.parametrize("kind", ["gbdt", "goss"])
def test_boosting_that_keeps_its_trees_is_passed_on(kind):
    pytest.importorskip("lightgbm")
    params = {"boosting": kind, "min_data_in_leaf": 5}
    assert fit(ENGINES["lightgbm"], criterion=Parity(), params=params).n_rounds_ == 3


def test_columns_that_lightgbm_cannot_split_are_refused_with_a_way_out():
    pytest.importorskip("lightgbm")
    engine, message = ENGINES["lightgbm"], "no column of X that it could split: .*min_data_in_leaf"
    with pytest.raises(ValueError, match=message):
        fit(engine, criterion=Parity(), params={"min_data_in_leaf": 20})


@each_engine
def test_two_learning_rates_are_refused(engine):
    params = {"eta": 0.1, "learning_rate": 0.2}
    nothing_is_done(engine, ValueError, "params has the learning rate twice, as", params=params)


@each_engine
@pytest.mark.parametrize(
    ("rate", "error"), [(0, ValueError), (-1, ValueError), (np.nan, ValueError), ("x", TypeError)]
)
def test_a_learning_rate_that_cannot_be_is_refused(engine, rate, error):
    nothing_is_done(engine, error, r"params\['eta'\] must be", params={"eta": rate})


# --- validation rows -----------------------------------------------------------------------------


@each_engine
def test_a_hold_out_without_one_of_the_groups_is_refused(engine):
    z = np.zeros(N)
    z[:2] = 1
    message = r"the hold-out has no row of sensitive level 1\.0; both are needed"
    nothing_is_done(engine, ValueError, message, z=z, validation_fraction=0.1)


@each_engine
def test_a_training_part_without_one_of_the_classes_is_refused(engine):
    y = np.zeros(N)
    y[:2] = 1
    message = r"the training part has no row of class 1\.0; both are needed"
    nothing_is_done(engine, ValueError, message, y=y, validation_fraction=0.9)


@each_engine
def test_a_hold_out_without_weight_on_a_group_is_refused(engine):
    held = fit_hold_out(engine)
    weights = np.where(held & (Z == 1), 0.0, 1.0)
    message = "the hold-out has rows of sensitive level 1, but each has a sample_weight of zero"
    nothing_is_done(engine, ValueError, message, sample_weight=weights)


def fit_hold_out(engine):
    from unsway.folds import hold_out

    return hold_out(X, Y + 2.0 * Z, engine.classifier().validation_fraction, 0)


@each_engine
def test_a_hold_out_that_the_criterion_cannot_use_is_refused(engine):
    y = np.where(Z == 1, 0, Y)
    y[1] = 1  # a single row with y = 1 and z = 1
    message = "no row has z = 1 among rows with y = 1; both groups are needed there"
    nothing_is_done(engine, ValueError, message, y=y, criterion=EqualOpportunity())


@each_engine
@pytest.mark.parametrize(
    "eval_set",
    [(X, Y), [X, Y, Z], X, (X, Y, Z, WEIGHTS, 0), [(X, Y, Z)]],
    ids=["no_z", "list", "array", "too_long", "list_of_tuples"],
)
def test_a_malformed_eval_set_is_refused(engine, eval_set):
    message = r"eval_set must be a tuple \(X, y, sensitive_features\)"
    nothing_is_done(engine, TypeError, message, eval_set=eval_set)


EVAL_SETS = {
    "columns": ((X[:, :2], Y, Z), "in eval_set: X has 2 features"),
    "y": ((X, Y[:-1], Z), "in eval_set: y has 39 rows but X has 40"),
    "class": ((X, np.ones(N), Z), "in eval_set: y has a single class"),
    "z": ((X, Y, np.ones(N)), "in eval_set: sensitive_features has a single level"),
    "level": ((X, Y, np.where(Z, "m", "f")), "in eval_set: reference=.* is not a level"),
    "other level": ((X, Y, 2 * Z), "eval_set has a sensitive level that the training rows"),
    "other label": ((X, Y + 1, Z), "eval_set has a label that the training rows have not"),
    "weights": ((X, Y, Z, -WEIGHTS), "in eval_set: sample_weight has 40 negative values"),
    "no weight": ((X, Y, Z, Z), "in eval_set: .*each has a sample_weight of zero"),
    "infinite": ((replaced(X, 0, np.inf), Y, Z), "in eval_set: X contains infinity .*'column 0'"),
}


@each_engine
@pytest.mark.parametrize(("eval_set", "message"), EVAL_SETS.values(), ids=EVAL_SETS)
def test_bad_rows_in_eval_set_are_refused(engine, eval_set, message):
    nothing_is_done(engine, ValueError, message, eval_set=eval_set)


# --- engines that are not there, and what a failure leaves behind --------------------------------


@pytest.mark.parametrize("name", ENGINES)
def test_a_missing_engine_is_an_error_that_ends_with_the_pip_line(name):
    code = (
        f"import sys; sys.modules[{name!r}] = None; import unsway\n"
        f"model = unsway.{ENGINES[name].classifier_name}(unsway.Parity())\n"
        "try: model.fit([[0.0]], [0], sensitive_features=[0])\n"
        "except ImportError as error: print(error)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    extra = {"xgboost": "xgboost-cpu"}.get(name, name)
    assert found.stdout.strip() == f"{name} is not installed; run: pip install 'unsway[{extra}]'"


@each_engine
def test_no_message_shows_the_values_of_a_column_with_many(engine):
    ages = np.repeat(np.arange(1_018, 1_078), 2)
    table = np.random.default_rng(3).standard_normal((120, 2))
    good = (table, np.arange(120) % 2, np.arange(120) // 2 % 2)
    for z in (ages, ages.astype(str), replaced(ages, 0, np.nan, float), ages[:-1]):
        for inputs in ({"z": z}, {"eval_set": (table, good[1], z)}):
            with pytest.raises((ValueError, TypeError)) as caught:
                fit(engine, **{"X": table, "y": good[1], "z": good[2], **inputs})
            assert not re.search(r"10\d\d", str(caught.value))
            assert caught.value.__suppress_context__ or caught.value.__context__ is None


@each_engine
@pytest.mark.parametrize(
    "bad",
    [
        {"X": X[:, :2], "z": np.ones(N)},
        {"X": frame(sex=Z)},
        {"y": np.where(Y, "yes", "no"), "z": Z + 1},
        {"criterion": DirectEffect(outcome_degree=0)},
        {"criterion": Untouched()},
        {"strength": 1.0},
        {"params": {"max_depth": "deep"}},
    ],
    ids=["columns", "names", "labels", "setting", "in_the_criterion", "strength", "engine"],
)
def test_a_refit_that_fails_leaves_the_model_usable_and_as_it_was(engine, bad):
    model = fit(engine, criterion=Parity())
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    probabilities = model.predict_proba(X)
    inputs = {"X": X, "y": Y, "z": Z, **bad}
    names = ("criterion", "strength", "params")
    model.set_params(**{name: inputs.pop(name) for name in names if name in inputs})
    with pytest.raises(Exception):  # noqa: B017, PT011
        model.fit(inputs["X"], inputs["y"], sensitive_features=inputs["z"])
    after = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert before.keys() == after.keys()
    assert all(before[name] is after[name] for name in before)
    np.testing.assert_array_equal(model.predict_proba(X), probabilities)
