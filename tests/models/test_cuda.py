"""Boosting on a device: the kernels' derivatives, the margins of its own, the model that results.

Each test runs on a stand-in for CuPy whose kernels the C++ compiler makes for the host, and on a
CUDA device where there is one.
"""

import pickle
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from contracts import (
    CRITERIA,
    assert_close,
    each_criterion,
    make_people,
    objective_of,
    penalty_of,
    rows_of,
)
from contracts import shifted_objective as shifted
from cuda_on_host import HostDevice, compiler, cupy_on_host
from sklearn.linear_model import LogisticRegression

from unsway import (
    DirectEffect,
    FairTarget,
    FairXGBClassifier,
    FairXGBRegressor,
    Parity,
    Schedule,
    make_synthetic,
)
from unsway import rows as rows_module
from unsway.core import Gamma, Objective, Penalty, Poisson, SquaredError, Tweedie
from unsway.core.derivatives import BOOSTING_CURVATURES, BoostingDerivatives
from unsway.extras import MissingExtraError
from unsway.models import cuda_device
from unsway.models import xgboost as xgboost_engine
from unsway.models.cuda import CudaDerivatives, CudaLosses, DeviceGrower
from unsway.models.labels import check_classes_here
from unsway.models.xgboost import engine_params, nuisance_params
from unsway.outcome import Outcome, number_loss
from unsway.rows import Rows
from unsway.tables import EngineTable

xgboost = pytest.importorskip("xgboost")

#: How far a score trained on the device may lie from the CPU's, on features of few values. A GPU
#: adds up gradients in fixed-point numbers, so that leaves differ in their last digits.
SCORE_TOLERANCE = {"host": 1e-5, "cuda": 1e-3}
SHORT = Schedule(ramp_steps=10, max_steps=25)


def without_cuda():
    """Return why nothing can run on a CUDA device here, or None."""
    try:
        import cupy

        cupy.cuda.runtime.getDeviceCount()
    except ImportError:
        return "CuPy is not installed"
    except Exception:
        return "there is no CUDA device"
    if not xgboost.build_info().get("USE_CUDA", False):
        return "this XGBoost was built without CUDA"
    return None


WITHOUT_CUDA = without_cuda()
on_cuda = pytest.mark.skipif(WITHOUT_CUDA is not None, reason=f"needs CUDA: {WITHOUT_CUDA}")
with_compiler = pytest.mark.skipif(compiler() is None, reason="needs a C++ compiler")
each_curvature = pytest.mark.parametrize("curvature", BOOSTING_CURVATURES)
each_weighting = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


@pytest.fixture(scope="session")
def kernels(tmp_path_factory):
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture(
    params=[pytest.param("host", marks=with_compiler), pytest.param("cuda", marks=on_cuda)]
)
def device(request, kernels, monkeypatch):
    """Make the stand-in or CuPy itself what ``import cupy`` finds; return which."""
    if request.param == "host":
        stand_in = cupy_on_host(kernels)
        monkeypatch.setitem(sys.modules, "cupy", stand_in)
        monkeypatch.setattr(cuda_device, "require_cuda", lambda: stand_in)
        for params in (engine_params, nuisance_params):
            monkeypatch.setattr(xgboost_engine, params.__name__, on_the_cpu(params))
    return request.param


def on_the_cpu(params):
    """Return what gives XGBoost's parameters without the device, which is the stand-in's alone."""

    def without_device(settings):
        return {name: value for name, value in params(settings).items() if name != "device"}

    return without_device


def arrays():
    return sys.modules["cupy"]


def on_host(array):
    return np.asarray(array.get())


def objective_at(criterion, people, weights):
    return objective_of(penalty_of(criterion, people, weights), people.y, 0.0, weights)


def assert_same_derivatives(objective, margins, curvature, strength):
    """The device's derivatives are those of the host, call by call, to single precision."""
    expected = BoostingDerivatives(objective, curvature, 0.3)
    found = CudaDerivatives(objective, curvature, 0.3)
    for margin in margins:
        ours = found(arrays().asarray(margin), strength)
        for one, other in zip(ours, expected(margin, strength), strict=True):
            assert_close(on_host(one), other, 5e-6)
        assert_close(found.statistics, expected.statistics, 1e-6)
        assert found.damping == expected.damping


# --- the kernels ---------------------------------------------------------------------------------


@each_weighting
@each_curvature
@each_criterion
def test_derivatives_are_the_hosts_for_every_criterion(device, criterion, curvature, weighted):
    people = make_people(3_000, seed=1)
    objective = objective_at(criterion, people, people.weights / 2 if weighted else None)
    margin = people.margin.astype(np.float32)
    assert_same_derivatives(objective, [margin, margin / 2, 2 * margin, margin], curvature, 0.9)


@each_weighting
@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
def test_derivatives_against_shifted_labels_are_the_hosts(device, strength, weighted):
    people = make_people(3_000, seed=2)
    objective = shifted(people, 0.0, people.weights if weighted else None)
    assert_same_derivatives(objective, [people.margin.astype(np.float32)], "adaptive", strength)


@each_weighting
@pytest.mark.parametrize(
    "loss", [SquaredError(), Poisson(), Gamma(), Tweedie(1.3)], ids=lambda loss: loss.name
)
def test_derivatives_and_losses_of_numbers_are_the_hosts(device, loss, weighted):
    people = make_people(2_000, seed=3)
    shift, weights = people.b - people.z, people.weights if weighted else None
    objective = Objective(loss, people.y + 0.1, shift=shift, sample_weight=weights)
    margin = people.margin.astype(np.float32)
    assert_same_derivatives(objective, [margin], "adaptive", 0.7)
    losses, _ = CudaLosses(objective, HostDevice())(arrays().asarray(margin))
    expected = objective.losses(margin.astype(float))
    assert_close([losses.utility, losses.penalty], [expected.utility, expected.penalty], 1e-5)


def test_losses_against_another_objective_are_those_of_it_at_a_margin_of_the_host(device):
    people = make_people(2_000, seed=3)
    first, other = (shifted(people, 0.0, weights) for weights in (None, people.weights))
    losses, _ = CudaLosses(first, HostDevice()).against(other)(people.margin)
    expected = other.losses(people.margin)
    assert_close([losses.utility, losses.penalty], [expected.utility, expected.penalty], 1e-5)
    assert abs(losses.utility - first.losses(people.margin).utility) > 1e-3


@each_curvature
def test_derivatives_are_finite_in_the_far_tails(device, curvature):
    people = make_people(60, seed=5)
    margin = arrays().asarray(np.linspace(-500, 500, 60, dtype=np.float32))
    objective = objective_at(CRITERIA["direct effect (2,1)"], people, None)
    for part in CudaDerivatives(objective, curvature)(margin, 0.975):
        assert np.isfinite(on_host(part)).all()


@pytest.mark.parametrize("rows", [1, 255, 257, 300_001])
def test_any_number_of_rows_is_summed_once(device, rows):
    ones = np.ones((rows, 1)) / rows
    penalty = Penalty(ones, objective_at(Parity(), make_people(), None).penalty.distance, ("mean",))
    derivatives = CudaDerivatives(objective_of(penalty, np.zeros(rows), 0.0))
    derivatives(arrays().zeros(rows, dtype=np.float32), 0.5)
    assert_close(derivatives.statistics, [0.5], 1e-6)


@each_weighting
@pytest.mark.parametrize("kind", ["penalty", "shift"])
def test_losses_and_statistics_are_those_of_the_objective(device, kind, weighted):
    people = make_people(2_000, seed=3)
    weights = people.weights if weighted else None
    criterion = CRITERIA["direct effect (2,1)"]
    objective = (
        shifted(people, 0.0, weights)
        if kind == "shift"
        else objective_at(criterion, people, weights)
    )
    margin = np.append(people.margin[:-2], [-400, 400]).astype(np.float32)
    losses, statistics = CudaLosses(objective, HostDevice())(arrays().asarray(margin))
    expected = objective.losses(margin.astype(float))
    assert_close(losses.utility, expected.utility, 1e-6)
    assert_close(losses.penalty, expected.penalty, 1e-5)
    scores = 1 / (1 + np.exp(-margin.astype(float)))
    assert_close(statistics, objective.penalty.statistics(scores), 1e-6)


def test_sums_pass_through_the_reduction_over_workers(device):
    people = make_people(500, seed=4)
    alone = objective_at(Parity(), people, None)
    seen = []

    def twice(sums):
        seen.append(np.size(sums))
        return 2 * np.asarray(sums)

    penalty = Penalty(
        alone.penalty.matrix, alone.penalty.distance, alone.penalty.names, reduce=twice
    )
    shared = objective_of(penalty, people.y, 0.0)
    margin = people.margin.astype(np.float32)
    assert_same_derivatives(shared, [margin], "bound", 0.9)
    assert max(seen) == 2  # two sums for each of K = 1 statistics, whatever the rows


# --- the grower ----------------------------------------------------------------------------------


def coarse_people(n=4_000):
    data = make_synthetic(n, random_state=0)
    return np.round(data.X, 1), data.y, data.z


def grower_of(X, device):
    params = {"objective": "binary:logistic", "base_score": 0.5, "max_depth": 3, "nthread": 1}
    params["device"] = "cuda" if device == "cuda" else "cpu"
    layout = EngineTable.of(X)
    return DeviceGrower(params, layout.code(X[500:]), layout.code(X[:500]), arrays=arrays())


@pytest.mark.parametrize("holes", [False, True])
def test_margins_of_its_own_are_those_the_booster_predicts(device, holes):
    X, y, _ = coarse_people()
    if holes:
        X[::3, 2] = X[1::5, 10] = np.nan
    grower = grower_of(X, device)
    derivatives = CudaDerivatives(objective_of(Penalty.none(len(y) - 500), y[500:], 0.0))
    for _ in range(4):
        grower.boost(lambda margin: derivatives(margin, 0.0))
    expected = grower.booster.predict(xgboost.DMatrix(X[:500], nthread=1), output_margin=True)
    assert_close(on_host(grower.validation_margin()), expected, 1e-5)


def test_a_fork_shares_the_rows_and_goes_its_own_way(device):
    X, y, _ = coarse_people()
    grower = grower_of(X, device)
    derivatives = CudaDerivatives(objective_of(Penalty.none(len(y) - 500), y[500:], 0.0))
    grower.boost(lambda margin: derivatives(margin, 0.0))
    before = on_host(grower.validation_margin())
    twin = grower.fork()
    twin.boost(lambda margin: derivatives(margin, 0.0))
    assert np.abs(on_host(twin.validation_margin()) - before).max() > 0.01
    np.testing.assert_array_equal(on_host(grower.validation_margin()), before)
    assert twin._matrix is grower._matrix
    assert twin._rows is grower._rows
    assert (grower.n_trees, twin.n_trees) == (1, 2)


# --- the classifier ------------------------------------------------------------------------------


def fit(device, X, y, z, criterion, strength=None, weights=None):
    params = {"max_depth": 3, "eta": 0.3, "device": device}
    model = FairXGBClassifier(criterion, strength, params=params, schedule=SHORT, n_jobs=1)
    return model.fit(X, y, sensitive_features=z, sample_weight=weights)


@each_weighting
@pytest.mark.parametrize(
    "criterion",
    [Parity(), DirectEffect(2, 1, norm="function"), DirectEffect(), FairTarget()],
    ids=["parity", "function norm", "coefficient norm", "fair target"],
)
def test_the_model_is_the_cpus(device, criterion, weighted):
    X, y, z = coarse_people()
    weights = 1.0 + (np.arange(len(y)) % 3) if weighted else None
    fitted = criterion.fit(rows_of(X, y, z, weights))
    ours, plain = (fit(kind, X, y, z, fitted, weights=weights) for kind in ("cuda", "cpu"))
    difference = np.abs(ours.predict_proba(X) - plain.predict_proba(X)).max()
    print(f"largest difference in score: {difference:.1e}")
    assert ours.n_rounds_ == plain.n_rounds_
    assert ours.evals_result_["validation"].keys() == plain.evals_result_["validation"].keys()
    assert difference < SCORE_TOLERANCE[device]


def test_the_table_reaches_the_device_once_and_the_host_copies_it_for_nobody(device, monkeypatch):
    X, y, z = coarse_people()
    asarray, moved, taken = arrays().asarray, [], []

    def watched(values, *given, **options):
        if type(values) is np.ndarray and values.ndim == 2 and values.shape[1] == X.shape[1]:
            moved.append(len(values))
        return asarray(values, *given, **options)

    monkeypatch.setattr(arrays(), "asarray", watched)
    monkeypatch.setattr(rows_module, "take", lambda table, rows: taken.append(len(rows)))
    fit("cuda", X, y, z, FairTarget())
    assert (moved, taken) == ([len(X)], [])


@pytest.mark.parametrize("criterion", [FairTarget(smoothing=0), DirectEffect()], ids=type)
def test_a_whole_fit_there_is_nearly_the_cpus(device, criterion):
    X, y, z = coarse_people()
    ours, plain = (fit(kind, X, y, z, criterion).predict_proba(X)[:, 1] for kind in ("cuda", "cpu"))
    assert np.abs(ours - plain).mean() < 0.02


def test_a_users_own_models_read_the_table_as_it_was_given(device):
    pandas = pytest.importorskip("pandas")
    X, y, z = coarse_people()
    seen = []

    class Named(LogisticRegression):
        def fit(self, table, *given, **options):
            seen.append(list(table.columns))
            return super().fit(table, *given, **options)

        def predict_proba(self, table):
            seen.append(list(table.columns))
            return super().predict_proba(table)

    table = pandas.DataFrame(X).add_prefix("x")
    fit("cuda", table, y, z, FairTarget(outcome_model=Named(), propensity_model=Named()))
    assert seen
    assert all(names == list(table.columns) for names in seen)


def test_missing_values_and_categories_reach_the_device(device):
    pandas = pytest.importorskip("pandas")
    X, y, z = coarse_people()
    table = pandas.DataFrame(X).add_prefix("x")
    table.loc[::7, "x0"] = np.nan
    table["kind"] = np.where(X[:, 1] > 0, "north", "south")
    ours, plain = (fit(kind, table, y, z, Parity()) for kind in ("cuda", "cpu"))
    difference = np.abs(ours.predict_proba(table) - plain.predict_proba(table)).max()
    assert difference < SCORE_TOLERANCE[device]


def test_a_path_of_strengths_gives_the_models_of_separate_fits(device):
    X, y, z = coarse_people()
    params = {"max_depth": 3, "device": "cuda"}
    model = FairXGBClassifier(Parity(), params=params, schedule=SHORT, n_jobs=1)
    for found in model.fit_path(X, y, [0.2, 0.6, 0.9], sensitive_features=z):
        alone = fit("cuda", X, y, z, Parity(), found.strength_)
        np.testing.assert_array_equal(found.predict_proba(X), alone.predict_proba(X))


def test_the_booster_is_an_ordinary_one_that_serves_without_a_device(device):
    X, y, z = coarse_people()
    model = fit("cuda", X, y, z, Parity())
    again = pickle.loads(pickle.dumps(model.booster_))  # noqa: S301
    assert '"device":"cpu"' in again.save_config().replace(" ", "")
    scores = again.predict(xgboost.DMatrix(X, nthread=1))
    assert_close(scores, model.predict_proba(X)[:, 1], 1e-6)


# --- where memory comes from ---------------------------------------------------------------------


def test_memory_comes_from_the_drivers_pool_and_settings_are_put_back(monkeypatch, tmp_path):
    told = {"use_cuda_async_pool": False}
    monkeypatch.setattr(xgboost, "build_info", lambda: {"USE_CUDA": True, "USE_RMM": False})
    monkeypatch.setattr(xgboost, "get_config", lambda: dict(told))
    monkeypatch.setattr(xgboost, "set_config", lambda **given: told.update(given))
    cupy = cupy_on_host(tmp_path)
    runtime = cupy.cuda.runtime
    place = cuda_device.Place(cupy, cupy.cuda.Device())
    with place, place:  # nested, as where a grower is made
        assert told["use_cuda_async_pool"]
        assert runtime.memPoolGetAttribute("pool", 4) > 10**15
    assert told == {"use_cuda_async_pool": False}
    assert runtime.memPoolGetAttribute("pool", 4) == 0


@pytest.mark.parametrize("built", [{"USE_CUDA": True, "USE_RMM": True}, {"USE_CUDA": False}])
def test_an_xgboost_without_the_pool_takes_memory_as_ever(built, monkeypatch, tmp_path):
    monkeypatch.setattr(xgboost, "build_info", lambda: built)
    monkeypatch.setattr(xgboost, "get_config", lambda: {"use_cuda_async_pool": False})
    monkeypatch.setattr(xgboost, "set_config", pytest.fail)
    cupy = cupy_on_host(tmp_path)
    with cuda_device.Place(cupy, cupy.cuda.Device()):
        assert cupy.cuda.runtime.memPoolGetAttribute("pool", 4) == 0


# --- what is missing -----------------------------------------------------------------------------


def ask_for(device):
    X, y, z = coarse_people(200)
    FairXGBClassifier(Parity(), params={"device": device}).fit(X, y, sensitive_features=z)


def stand_in(monkeypatch, devices, built_for_cuda=True):
    runtime = SimpleNamespace(getDeviceCount=lambda: devices, CUDARuntimeError=RuntimeError)
    found = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime, Device=lambda *_: HostDevice()))
    monkeypatch.setitem(sys.modules, "cupy", found)
    monkeypatch.setattr(xgboost, "build_info", lambda: {"USE_CUDA": built_for_cuda})


def test_without_cupy_the_error_ends_with_the_pip_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(MissingExtraError, match=r"run: pip install 'unsway\[cuda\]'$"):
        ask_for("cuda")


def test_without_a_device_the_error_says_so(monkeypatch):
    stand_in(monkeypatch, devices=0)
    with pytest.raises(ValueError, match="there is no device; use 'cpu'"):
        ask_for("cuda")


def test_an_xgboost_without_cuda_is_refused_with_the_pip_line(monkeypatch):
    stand_in(monkeypatch, devices=1, built_for_cuda=False)
    with pytest.raises(MissingExtraError, match=r"built without CUDA; run: pip .*unsway\[cuda\]'$"):
        ask_for("cuda")


@pytest.mark.parametrize("device", ["cuda:3", "cuda:first"])
def test_a_device_that_is_not_there_is_refused(monkeypatch, device):
    stand_in(monkeypatch, devices=2)
    with pytest.raises(ValueError, match=f"is '{device}', but there are 2 CUDA devices"):
        ask_for(device)


# --- the regressor -------------------------------------------------------------------------------

LOSSES_OF_NUMBERS = ("squared_error", "poisson", "gamma", "tweedie")


def numbers_of(loss, n=3_000):
    """Return coarse covariates, z, numbers with a known mean, and an exposure."""
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, n)
    X = np.round(rng.normal(size=(n, 4)) + np.outer(z, [1.0, 0, 0, 0]), 1)
    mean, exposure = np.exp(0.3 * X[:, 0] - 0.2 * X[:, 1] + 0.4 * z), rng.uniform(0.3, 1, n)
    draws = {
        "squared_error": lambda: 100 * mean + rng.normal(0, 30, n),
        "poisson": lambda: rng.poisson(mean * exposure).astype(float),
        "gamma": lambda: 100 * mean * rng.gamma(2, 0.5, n),
        "tweedie": lambda: rng.poisson(mean * exposure) * rng.gamma(2, 50, n),
    }
    exposed = loss in ("poisson", "tweedie")
    return X, draws[loss](), z, exposure if exposed else None


def fit_numbers(device, loss, criterion=None, strength=None, **params):
    X, y, z, exposure = numbers_of(loss)
    params = {"max_depth": 3, "eta": 0.3, "device": device, **params}
    model = FairXGBRegressor(
        criterion, strength, loss=loss, params=params, schedule=SHORT, n_jobs=1
    )
    return model.fit(X, y, sensitive_features=z, exposure=exposure)


def assert_same_numbers(device, ours, plain, loss):
    X, *_ = numbers_of(loss)
    expected = plain.predict(X)
    difference = np.abs(ours.predict(X) - expected).max() / expected.mean()
    print(f"largest difference: {difference:.1e} of the mean")
    assert ours.n_rounds_ == plain.n_rounds_
    assert ours.evals_result_["validation"].keys() == plain.evals_result_["validation"].keys()
    assert difference < 20 * SCORE_TOLERANCE[device]


@pytest.mark.parametrize("loss", LOSSES_OF_NUMBERS)
def test_the_model_of_numbers_is_the_cpus(device, loss):
    criterion = FairTarget(smoothing=0.0)
    X, y, z, exposure = numbers_of(loss)
    rows = Rows.check(
        X, y, sensitive_features=z,
        read_outcome=lambda y, n: Outcome.numbers(
            y, n, loss=number_loss(loss), exposure=exposure
        ),
    )  # fmt: skip
    rows = replace(rows, outcome=rows.outcome.standardised(rows.weights))
    fitted = criterion.fit(rows)
    ours, plain = (fit_numbers(kind, loss, fitted) for kind in ("cuda", "cpu"))
    assert_same_numbers(device, ours, plain, loss)
    assert (ours.balance_ is None) == (plain.balance_ is None)


@pytest.mark.parametrize("loss", LOSSES_OF_NUMBERS)
def test_at_strength_0_it_is_xgboosts_own_objective_there_as_well(device, loss):
    ours, plain = (fit_numbers(kind, loss, strength=0.0) for kind in ("cuda", "cpu"))
    assert_same_numbers(device, ours, plain, loss)
    found, expected = (
        model.evals_result_["validation"][plain_name(loss)] for model in (ours, plain)
    )
    assert_close(found, expected, 1e-4)


def plain_name(loss):
    return number_loss(loss).name


@pytest.mark.parametrize("loss", LOSSES_OF_NUMBERS)
def test_outcome_models_of_numbers_are_trained_there_too(device, loss):
    X, y, _, exposure = numbers_of(loss)
    model = fit_numbers("cuda", loss)
    weights = np.ones(len(y)) if exposure is None else exposure
    if model.balance_ is not None:
        assert weights @ model.predict(X) == pytest.approx(y.sum(), rel=1e-4)
    assert "fair_" + plain_name(loss) in model.evals_result_["validation"]


def test_a_penalty_on_numbers_is_the_cpus(device):
    ours, plain = (fit_numbers(kind, "squared_error", Parity(), 0.9) for kind in ("cuda", "cpu"))
    assert_same_numbers(device, ours, plain, "squared_error")


def test_several_classes_are_refused_there():
    with pytest.raises(ValueError, match="several classes are trained on the CPU alone"):
        check_classes_here(FairXGBClassifier(params={"device": "cuda"}))
