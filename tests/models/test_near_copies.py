"""Tables where X nearly predicts z: training stops with an error, or returns a sane model."""

import importlib.util

import numpy as np
import pandas as pd
import pytest

from unsway import (
    FairLGBMClassifier,
    FairLogisticRegression,
    FairTarget,
    FairXGBClassifier,
    OverlapWarning,
    make_world,
    score_gap,
)

N_ROWS, MOST_ROUNDS = 1_500, 1_000
#: How far the gap of sane scores may lie beyond 0 and the gap of the labels: two standard errors of
#: the effect of z on 1,000 rows that a linear model gives a residual variance of z of .055, as
#: little as a column with a noise of .26 leaves. With less noise training is refused.
TOLERANCE = 2 * 0.45 / np.sqrt(1_000 * 0.055)
#: The gap that age makes, which is the gap of fair scores.
FAIR_GAP = 0.085
#: The noise of a column that is z and noise: where overlap begins there are more of them.
SIZES = np.r_[np.geomspace(1e-9, 0.1, 9, endpoint=False), np.geomspace(0.1, 1, 14)]

ENGINES = {
    "logistic": lambda criterion: FairLogisticRegression(criterion),
    "xgboost": lambda criterion: FairXGBClassifier(criterion, n_jobs=1),
    "lightgbm": lambda criterion: FairLGBMClassifier(criterion, params={"verbosity": -1}, n_jobs=1),
}
each_engine = pytest.mark.parametrize(
    "engine", [each for each in ENGINES if each == "logistic" or importlib.util.find_spec(each)]
)


def people(seed=0, n_rows=N_ROWS):
    """Return covariates, labels and z; half of the gap of the labels is direct."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, n_rows)
    X = pd.DataFrame({"age": rng.normal(size=n_rows) + 0.5 * z, "pay": rng.normal(size=n_rows)})
    margin = 0.8 * X["age"] + 0.6 * X["pay"] + 0.8 * z - 0.6
    y = (rng.random(n_rows) < 1 / (1 + np.exp(-margin))).astype(int).to_numpy()
    return X, y, z


def one_column(X, z, size, rng):
    return X.assign(code=z + size * rng.normal(size=len(z)))


def a_sum(X, z, size, rng):
    parts = rng.normal(size=(3, len(z)))
    last = z - parts.sum(axis=0) + size * rng.normal(size=len(z))
    return X.assign(first=parts[0], second=parts[1], third=parts[2], last=last)


def categories(X, z, size, rng):
    """Return ten levels of which five are of one group, but for a few rows."""
    group = np.where(rng.random(len(z)) < size / 20, 1 - z, z)
    names = np.array(list("abcdefghij"))[rng.integers(0, 5, len(z)) + 5 * group]
    return X.assign(job=names)


TABLES = {"one column": one_column, "a sum": a_sum, "categories": categories}
REFUSED = None


def gap_of_fit(engine, table, size, seed):
    """Return the gap of a model's scores, or that it was refused, after checking either."""
    X, y, z = people(seed)
    X = TABLES[table](X, z, size, np.random.default_rng(seed + 1_000))
    if engine == "logistic":
        X = pd.get_dummies(X, dtype=float)
    model, error = ENGINES[engine](FairTarget(max_extreme_share=1)), None
    try:
        model.fit(X, y, sensitive_features=z)
    except ValueError as refusal:
        error = str(refusal)
    if error is not None:
        assert error.startswith("X predicts the sensitive attribute nearly exactly")
        assert "allow_separation=True goes on" in error
        assert any(repr(name) in error for name in X.columns[2:])
        return REFUSED
    scores = model.predict_proba(X)[:, 1]
    gap, of_labels = (score_gap(y, each, sensitive_features=z) for each in (scores, y))
    assert getattr(model, "n_rounds_", 0) < MOST_ROUNDS
    assert np.isfinite(scores).all()
    assert -TOLERANCE < gap < of_labels + TOLERANCE, (engine, table, size, seed)
    return gap


@each_engine
@pytest.mark.parametrize(
    ("table", "size"), [("one column", 1e-9), *[(table, 0.4) for table in TABLES]]
)
def test_a_near_copy_of_z_is_refused_or_the_model_is_sane(table, size, engine):
    assert (gap_of_fit(engine, table, size, seed=0) is REFUSED) == (size < 0.1)


@pytest.mark.slow  # 207 fits
@each_engine
@pytest.mark.parametrize("table", TABLES)
def test_fits_end_in_the_stated_error_or_in_a_sane_model_at_every_size(table, engine):
    found = [gap_of_fit(engine, table, size, seed) for seed, size in enumerate(SIZES)]
    assert found[:9] == [REFUSED] * 9
    gaps = [gap for gap in found if gap is not REFUSED]
    assert len(gaps) >= 6
    assert np.mean(gaps) == pytest.approx(FAIR_GAP, abs=TOLERANCE / 2)


# --- the option that goes on ---------------------------------------------------------------------


@each_engine
@pytest.mark.parametrize("size", [1e-9, 0.1])
def test_the_option_trains_all_the_same_within_its_patience_and_warns(size, engine):
    X, y, z = people()
    X = one_column(X, z, size, np.random.default_rng(1))
    criterion = FairTarget(max_extreme_share=1, allow_separation=True)
    with pytest.warns(OverlapWarning, match="'code' predicts it almost alone.*extrapolated"):
        model = ENGINES[engine](criterion).fit(X, y, sensitive_features=z)
    assert getattr(model, "n_rounds_", 0) < MOST_ROUNDS
    gap, of_labels = (
        score_gap(y, each, sensitive_features=z) for each in (model.predict_proba(X)[:, 1], y)
    )
    assert -TOLERANCE < gap < of_labels + 0.03  # at most what a blind model shows


# --- a small group -------------------------------------------------------------------------------


BOOSTERS = [each for each in ENGINES if each != "logistic" and importlib.util.find_spec(each)]


@pytest.mark.parametrize("engine", BOOSTERS)
@pytest.mark.parametrize(
    ("n_rows", "advice"),
    [(800, "merge the level with another; a smaller validation_fraction"), (600, "another$")],
)
def test_too_few_rows_after_the_hold_out_are_an_error_that_says_so(n_rows, advice, engine):
    world = make_world("small_group", n_rows, random_state=0)
    message = (
        r"too few rows are left to train on after 33% are held out: a sensitive level has \d+ "
        rf"rows; at least 20 are needed .*cv=2. Give more rows, or .*{advice}"
    )
    with pytest.raises(ValueError, match=message):
        ENGINES[engine](None).fit(world.X, world.y, sensitive_features=world.z)
