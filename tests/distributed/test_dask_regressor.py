"""Dask workers find the means of numbers, counts and amounts that one process finds alone."""

import numpy as np
import pandas as pd
import pytest
from spread import QUICK, coarse_people

from unsway import FairXGBRegressor, Parity
from unsway.distributed import NuisanceSettings, Part, fit_here
from unsway.distributed.dask_regressor import FairDaskXGBRegressor

da = pytest.importorskip("dask.array", reason="dask is not installed")

pytestmark = pytest.mark.xdist_group("cluster")  # one cluster is enough for two cores

CUTS, OWNERS = [50, 1_500, 2_500], [2, 0, 1, 0]
FEW_TREES = NuisanceSettings(n_rounds=8)
X, _, Z = coarse_people()
N = len(X)
rng = np.random.default_rng(1)
MEAN = np.exp((X[:, :3] - 20) @ [0.03, 0.02, -0.02] + 0.5 * Z - 1)
EXPOSURE = rng.uniform(0.2, 1, N)
#: Loss → y, and its exposure if it has one.
NUMBERS = {
    "squared_error": (1_000 * MEAN + rng.normal(0, 300, N), None),
    "poisson": (rng.poisson(MEAN * EXPOSURE).astype(float), EXPOSURE),
    "gamma": (MEAN * rng.gamma(2, 0.5, N), None),
    "tweedie": (np.where(rng.random(N) < 0.4, 0, MEAN * rng.gamma(2, 0.5, N)), EXPOSURE),
}
each_loss = pytest.mark.parametrize("loss", NUMBERS)


def dask_model(loss, criterion=None, strength=None, **more):
    options = {**QUICK, "nuisances": FEW_TREES, "loss": loss, **more}
    return FairDaskXGBRegressor(criterion, strength, **options)


def fit_spread(model, spread, y, exposure=None, weights=None, **more):
    columns = [None if each is None else spread(each, CUTS, OWNERS) for each in (weights, exposure)]
    return model.fit(
        spread(X, CUTS, OWNERS),
        spread(y, CUTS, OWNERS),
        sensitive_features=spread(Z, CUTS, OWNERS),
        sample_weight=columns[0],
        exposure=columns[1],
        **more,
    )


def alone(loss, criterion=None, strength=None, **more):
    y, exposure = NUMBERS[loss]
    model = FairXGBRegressor(criterion, strength, loss=loss, **{**QUICK, **more})
    return fit_here(model, Part(X, y, Z, None, exposure), nuisances=FEW_TREES)


def assert_alike(model, one):
    assert model.n_rounds_ == one.n_rounds_
    ours, theirs = model.predict(X), one.predict(X)
    np.testing.assert_allclose(ours, theirs, atol=1e-6 * abs(theirs).mean())


@each_loss
def test_workers_grow_the_trees_of_one_process(loss, spread):
    y, exposure = NUMBERS[loss]
    model, one = fit_spread(dask_model(loss), spread, y, exposure), alone(loss)
    assert_alike(model, one)
    assert (model.balance_ is None) == (loss == "squared_error")
    if loss != "squared_error":
        assert model.balance_ == pytest.approx(one.balance_, rel=1e-6)
        weights = np.ones(N) if exposure is None else exposure
        assert weights @ model.predict(X) == pytest.approx(y.sum(), rel=1e-5)


def test_a_unit_of_y_that_parameters_have_is_that_of_all_rows(spread):
    options = {"params": {"max_depth": 3, "eta": 0.3, "alpha": 20.0, "gamma": 5.0}}
    y, _ = NUMBERS["squared_error"]
    model = fit_spread(dask_model("squared_error", **options), spread, y)
    assert_alike(model, alone("squared_error", **options))


@pytest.mark.parametrize("loss", ["poisson", "squared_error"])
def test_at_strength_0_it_is_xgboosts_own_objective_of_all_rows(loss, spread):
    y, exposure = NUMBERS[loss]
    model = fit_spread(dask_model(loss, strength=0.0), spread, y, exposure)
    assert_alike(model, alone(loss, strength=0.0))
    assert model.balance_ is None


def test_a_penalty_is_summed_over_the_workers(spread):
    y, _ = NUMBERS["squared_error"]
    model = fit_spread(dask_model("squared_error", Parity(), 0.9), spread, y)
    assert_alike(model, alone("squared_error", Parity(), 0.9))


def test_counts_with_exposure_are_rates_with_weights(spread):
    y, exposure = NUMBERS["poisson"]
    one = fit_spread(dask_model("poisson"), spread, y, exposure)
    other = fit_spread(dask_model("poisson"), spread, y / exposure, weights=exposure)
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-5)
    counts = one.model_.predict(X, exposure=exposure)
    np.testing.assert_allclose(counts, exposure * one.predict(X))


def test_rows_to_stop_by_have_an_exposure_of_their_own(spread):
    y, exposure = NUMBERS["poisson"]
    others = tuple(spread(each, CUTS, OWNERS) for each in (X, y, Z, np.ones(N), exposure))
    model = fit_spread(dask_model("poisson"), spread, y, exposure, eval_set=others)
    reached = EXPOSURE @ model.predict(X)
    assert reached == pytest.approx(y.sum(), rel=1e-5)


def test_predictions_of_a_collection_are_lazy(client, spread):
    y, exposure = NUMBERS["poisson"]
    model = fit_spread(dask_model("poisson"), spread, y, exposure)
    lazily = model.predict(spread(X, CUTS, OWNERS))
    np.testing.assert_allclose(lazily.compute(), model.predict(X))


def test_frames_serve_as_well(client):
    dd = pytest.importorskip("dask.dataframe")
    y, exposure = NUMBERS["poisson"]
    columns = {"a": X[:, 0], "b": X[:, 1], "z": Z, "claims": y, "years": exposure}
    frame = dd.from_pandas(pd.DataFrame(columns), npartitions=3)
    model = dask_model("poisson").fit(
        frame[["a", "b"]],
        frame["claims"],
        sensitive_features=frame["z"],
        exposure=frame["years"],
    )
    assert model.predict(frame[["a", "b"]]).compute().name == "predict"
    assert model.feature_names_in_.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": -NUMBERS["poisson"][0]}, "negative values; counts are at least 0"),
        ({"exposure": np.zeros(N)}, "values that are zero or negative"),
        ({"y": np.zeros(N)}, "y is 0 in every row that has a weight"),
        ({"y": np.full(N, np.inf)}, "infinite|finite"),
    ],
    ids=["negative counts", "no exposure", "nothing happens", "infinite"],
)
def test_bad_input_is_refused(changes, message, spread):
    given = {"y": NUMBERS["poisson"][0], "exposure": EXPOSURE, **changes}
    with pytest.raises(ValueError, match=message):
        fit_spread(dask_model("poisson"), spread, **given)


def test_settings_are_refused_before_the_cluster_is_asked():
    with pytest.raises(ValueError, match="use a classifier"):
        dask_model("log_loss").fit(X, Z, sensitive_features=Z)
    with pytest.raises(TypeError, match="rebalance must be True"):
        dask_model("poisson", rebalance="yes").fit(X, Z, sensitive_features=Z)


def test_a_label_has_no_exposure():
    from unsway import FairXGBClassifier

    with pytest.raises(TypeError, match="exposure is for numbers; y is a label"):
        fit_here(FairXGBClassifier(n_jobs=1), Part(X, Z, Z, None, EXPOSURE))
