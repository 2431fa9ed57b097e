"""Dask workers find together what one process finds alone."""

import pickle

import numpy as np
import pandas as pd
import pytest
from contracts import rows_of
from sklearn.base import clone
from spread import CRITERIA, QUICK, coarse_people, quick_model

import unsway.distributed.dask as home
from unsway import DirectEffect, FairXGBClassifier, Parity, Schedule
from unsway.distributed import NuisanceSettings, Part, fit_here
from unsway.distributed.dask import FairDaskXGBClassifier
from unsway.grouping import Grouping

da = pytest.importorskip("dask.array", reason="dask is not installed")

pytestmark = pytest.mark.xdist_group("cluster")  # one cluster is enough for two cores

#: Cuts of the 4,000 rows, and the worker of each piece.
PLANS = {
    "two": ([2_000], [0, 1]),
    "three, skewed": ([50, 400, 500], [2, 0, 1, 0]),
    "four, one without rows": ([1_000, 1_000, 3_000], [0, 1, 2, 3]),
}
FEW_TREES = NuisanceSettings(n_rounds=8)


def dask_model(criterion, **more):
    return FairDaskXGBClassifier(CRITERIA[criterion], **{**QUICK, "nuisances": FEW_TREES, **more})


def fit_spread(model, people, spread, plan, **more):
    X, y, z = (spread(array, *PLANS[plan]) for array in people)
    return model.fit(X, y, sensitive_features=z, **more)


def alone(criterion, people, **more):
    return fit_here(quick_model(criterion, **more), Part(*people), nuisances=FEW_TREES)


def farthest(model, other, X):
    return abs(model.predict_proba(X) - other.predict_proba(X)).max()


@pytest.mark.parametrize("plan", PLANS)
def test_workers_grow_the_trees_of_one_process(plan, people, spread):
    model = fit_spread(dask_model("direct effect"), people, spread, plan)
    one = alone("direct effect", people)
    assert model.n_workers_ == len(set(PLANS[plan][1]))
    assert model.n_rows_ == len(people[0])
    assert model.n_rounds_ == one.n_rounds_
    assert model.best_iteration_ == one.best_iteration_
    assert farthest(model, one, people[0]) < 1e-6


@pytest.mark.parametrize("criterion", ["parity", "one-sided", "curves", "fair target"])
def test_every_criterion_is_spread_over_three_workers(criterion, people, spread):
    model = fit_spread(dask_model(criterion), people, spread, "three, skewed")
    one = alone(criterion, people)
    assert model.n_rounds_ == one.n_rounds_
    assert farthest(model, one, people[0]) < 1e-6


def test_sorted_rows_make_no_difference(people, spread):
    X, y, z = people
    order = np.lexsort([X[:, 0], y, z])  # each worker sees one group, and hardly both labels
    model = fit_spread(
        dask_model("parity"), (X[order], y[order], z[order]), spread, "four, one without rows"
    )
    assert farthest(model, alone("parity", people), X) < 1e-6


def test_without_the_sums_the_trees_are_others(people, spread):
    settings = {"schedule": Schedule(ramp_steps=0, patience=20, max_steps=20)}
    X, y, z = people
    order = np.argsort(X[:, 1])
    shuffled = X[order], y[order], z[order]
    lonely = fit_spread(dask_model("lonely", **settings), shuffled, spread, "two")
    summed = fit_spread(dask_model("parity", **settings), shuffled, spread, "two")
    one = alone("parity", people, **settings)
    assert farthest(summed, one, X) < 1e-6
    assert farthest(lonely, one, X) > 1e-3


def test_the_model_is_that_of_fair_xgb_classifier(people, spread):
    X, y, z = people
    other = coarse_people(2_000, seed=1)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    fitted = DirectEffect().fit(rows_of(X, y, z, weights))
    single = FairXGBClassifier(fitted, **QUICK)
    single.fit(X, y, sensitive_features=z, sample_weight=weights, eval_set=other)
    beside = tuple(spread(array, [700], [1, 2]) for array in other)
    model = FairDaskXGBClassifier(fitted, **QUICK)
    fit_spread(
        model,
        people,
        spread,
        "two",
        sample_weight=spread(weights, *PLANS["two"]),
        eval_set=beside,
    )
    assert model.n_rounds_ == single.n_rounds_
    assert model.evals_result_.keys() == single.evals_result_.keys()
    assert farthest(model, single, X) < 1e-6


def test_a_stacked_propensity_is_cross_fitted_where_the_rows_are(people, spread):
    settings = NuisanceSettings(n_rounds=5, propensity="stacked")
    model = fit_spread(dask_model("direct effect", nuisances=settings), people, spread, "two")
    one = fit_here(quick_model("direct effect"), Part(*people), nuisances=settings)
    assert farthest(model, one, people[0]) < 1e-6
    assert farthest(model, alone("direct effect", people), people[0]) > 1e-6


def test_what_is_summed_in_a_round_does_not_grow_with_the_rows(spread):
    schedule = Schedule(ramp_steps=0, pretrain_patience=5, patience=10, max_steps=10)
    found = []
    for n_rows in (4_000, 16_000):
        people = coarse_people(n_rows)
        X, y, z = (spread(array, [n_rows // 2], [0, 1]) for array in people)
        model = dask_model("curves", schedule=schedule).fit(X, y, sensitive_features=z)
        found.append(model.communication_)
    assert found[0].n_rounds == found[1].n_rounds == 10
    assert found[0].rounds == found[1].rounds
    assert 0 < found[0].per_round < 1_000


def test_frames_with_words_and_gaps_are_trained_on_where_they_are(client, people):
    dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe is not installed")
    X, y, z = people
    table = pd.DataFrame(X[:, :4], columns=list("abcd"))
    table["town"] = np.array(["north", "south", "east"])[(X[:, 4] // 14).astype(int)]
    table.loc[::11, "town"] = None
    table.loc[::9, "b"] = np.nan
    table["hired"] = np.where(y == 1, "yes", "no")
    table["sex"] = np.where(z == 1, "m", "f")
    frame = dd.from_pandas(table, npartitions=3)
    names = ["a", "b", "c", "d", "town"]
    model = dask_model("direct effect", groups=Grouping(reference="f"))
    model.fit(frame[names], frame["hired"], sensitive_features=frame["sex"])
    part = Part(table[names], table["hired"], table["sex"])
    one = fit_here(quick_model("direct effect", groups=Grouping(reference="f")), part)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.feature_names_in_.tolist() == names
    assert model.booster_.feature_names == names
    lazily = model.predict_proba(frame[names])
    assert lazily.columns.tolist() == ["no", "yes"]
    np.testing.assert_allclose(lazily.compute(), one.predict_proba(table[names]), atol=1e-6)
    expected = one.predict(table[names])
    np.testing.assert_array_equal(model.predict(frame[names]).compute(), expected)
    np.testing.assert_array_equal(model.predict(table[names]), expected)


def test_predictions_of_arrays_are_lazy_and_in_order(people, spread):
    model = fit_spread(dask_model("parity"), people, spread, "two")
    X = spread(people[0], *PLANS["four, one without rows"])
    for method in ("predict_proba", "predict", "decision_function"):
        lazily, at_once = getattr(model, method)(X), getattr(model, method)(people[0])
        assert isinstance(lazily, da.Array)
        assert lazily.shape == at_once.shape
        assert lazily.dtype == at_once.dtype
        np.testing.assert_array_equal(lazily.compute(), at_once)


def test_every_round_is_told_to_the_client_in_order(people, spread, capsys):
    told = []
    model = dask_model("parity", callback=told.append, progress=True)
    fit_spread(model, people, spread, "two")
    assert [step.number for step in told] == list(range(1, model.n_rounds_ + 1))
    assert [step.losses.utility for step in told] == model.evals_result_["validation"]["log_loss"]
    assert f"round {model.n_rounds_}," in capsys.readouterr().err


def test_a_warning_of_the_workers_reaches_the_user(people, spread):
    model = FairDaskXGBClassifier(DirectEffect(1, 1), **QUICK)
    with pytest.warns(UserWarning, match="effect_degree=1 is not below outcome_degree=1"):
        fit_spread(model, people, spread, "two")


def test_a_fitted_model_is_cloned_and_pickled_without_its_client(people, spread, client):
    model = fit_spread(dask_model("parity", client=client), people, spread, "two")
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert again.client is None
    assert farthest(again, model, people[0]) == 0
    assert not hasattr(clone(dask_model("parity")), "booster_")


# --- what is refused -----------------------------------------------------------------------------


def small(client, **changes):
    """Return small collections, some of them changed."""
    X, y, z = coarse_people(400)
    given = {"X": X, "y": y, "z": z} | {
        name: change(z) for name, change in changes.items() if callable(change)
    }
    found = {
        name: da.from_array(array, chunks=(200, *array.shape[1:])) for name, array in given.items()
    }
    return found | {name: value for name, value in changes.items() if not callable(value)}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"X": np.zeros((400, 2))}, "X must be a dask DataFrame"),
        ({"z": None}, "sensitive_features is required"),
        ({"y": lambda z: np.tile(z, 2)}, "X has 2 partitions but y has 4"),
        ({"y": lambda z: z[:350]}, "partition 1 of X has 200 rows but that of y has 150"),
        ({"z": lambda z: np.where(np.arange(400) < 3, np.nan, z)}, "3 missing values"),
        ({"y": lambda z: z * 0}, "single class"),
        ({"X": lambda z: np.column_stack([np.arange(400.0), 5 + z])}, "'column 1' is the same as"),
        ({"X": lambda z: np.where(np.arange(400)[:, None] == 399, np.inf, 1.0)}, "infinity"),
        ({"X": lambda z: z.astype(float)}, "must have rows and columns"),
    ],
)
def test_bad_collections_are_refused_with_a_reason(changes, complaint, client):
    given = small(client, **changes)
    with pytest.raises((ValueError, TypeError), match=complaint):
        dask_model("parity").fit(given["X"], given["y"], sensitive_features=given["z"])


def test_columns_in_pieces_are_refused(client):
    given = small(client)
    with pytest.raises(ValueError, match=r"rechunk it with chunks=\(rows, -1\)"):
        dask_model("parity").fit(
            given["X"].rechunk((200, 3)), given["y"], sensitive_features=given["z"]
        )


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"client": "here"}, "client must be a distributed.Client"),
        ({"strength": 1.0}, "strength must be"),
        ({"params": {"device": "cuda"}}, "CuPy|cupy|device"),
        ({"checkpoint_every": 0}, "checkpoint_every must be"),
        ({"criterion": DirectEffect(propensity="mine")}, "propensity sees the rows of one machine"),
    ],
)
def test_bad_settings_are_refused_with_a_reason(settings, complaint, client):
    given = small(client)
    model = FairDaskXGBClassifier(**{"criterion": Parity(), **QUICK, **settings})
    with pytest.raises((ValueError, TypeError, ImportError), match=complaint):
        model.fit(given["X"], given["y"], sensitive_features=given["z"])


def test_without_a_client_the_way_to_one_is_told(monkeypatch):
    def nobody():
        raise ValueError("No global client found")

    monkeypatch.setattr(home.load("distributed", "dask"), "get_client", nobody)
    with pytest.raises(ValueError, match="there is no Dask client; make one"):
        dask_model("parity").fit(None, None)
