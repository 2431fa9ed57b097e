"""Training of numbers from Parquet files: the model of the same table in memory."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from unsway import FairTarget, FairXGBRegressor, Parity, Schedule
from unsway.models.external import predict_rows
from unsway.models.parquet import ParquetRows

xgboost = pytest.importorskip("xgboost")

N = 1_600
SHORT = Schedule(ramp_steps=4, max_steps=10)
rng = np.random.default_rng(0)
Z = rng.integers(0, 2, N)
X = np.round(rng.normal(size=(N, 4)) + np.outer(Z, [1.0, 0, 0, 0]), 1)
MEAN = np.exp(0.3 * X[:, 0] - 0.2 * X[:, 1] + 0.4 * Z)
EXPOSURE = rng.uniform(0.3, 1, N)
#: Loss → y, and whether it is the total of an exposure.
NUMBERS = {
    "squared_error": (100 * MEAN + rng.normal(0, 30, N), False),
    "poisson": (rng.poisson(MEAN * EXPOSURE).astype(float), True),
    "gamma": (100 * MEAN * rng.gamma(2, 0.5, N), False),
    "tweedie": (rng.poisson(MEAN * EXPOSURE) * rng.gamma(2, 50, N), True),
}
each_loss = pytest.mark.parametrize("loss", NUMBERS)
ROLES = {"target": "cost", "sensitive": "sex"}


def table_of(loss, **changes):
    columns = {f"x{k}": X[:, k] for k in range(X.shape[1])}
    columns["region"] = np.where(X[:, 2] > 0, "north", "south")
    more = {"cost": NUMBERS[loss][0], "sex": Z, "years": EXPOSURE, "weight": 1.0 + Z}
    return pa.table({**columns, **more, **changes})


def written(folder, table, files=3):
    step = -(-len(table) // files)
    for number in range(files):
        part = table.slice(number * step, step)
        parquet.write_table(part, folder / f"{number}.parquet", row_group_size=300)
    return folder


def regressor(loss, criterion=None, strength=None, **settings):
    options = {"params": {"max_depth": 3, "eta": 0.3}, "schedule": SHORT, "n_jobs": 1, **settings}
    return FairXGBRegressor(criterion, strength, loss=loss, **options)


def fit_files(folder, loss, *given, table=None, **settings):
    exposed = {"exposure": "years"} if NUMBERS[loss][1] else {"drop": ["years"]}
    exposed["drop"] = [*exposed.get("drop", []), "weight"]
    files = written(folder, table_of(loss) if table is None else table)
    return regressor(loss, *given, **settings).fit_parquet(files, **ROLES, **exposed)


def fit_memory(loss, *given, **settings):
    y, exposed = NUMBERS[loss]
    return regressor(loss, *given, **settings).fit(
        features(loss), y, sensitive_features=Z, exposure=EXPOSURE if exposed else None
    )


def features(loss):
    return table_of(loss).drop_columns(["cost", "sex", "years", "weight"])


def assert_alike(ours, plain, loss):
    expected = plain.predict(features(loss))
    found = ours.predict(features(loss))
    np.testing.assert_allclose(found, expected, atol=1e-5 * abs(expected).mean())
    assert ours.best_iteration_ == plain.best_iteration_


@each_loss
@pytest.mark.parametrize("strength", [0.0, 1.0])
def test_the_model_is_that_of_the_table_in_memory(loss, strength, tmp_path):
    ours = fit_files(tmp_path, loss, FairTarget(), strength)
    plain = fit_memory(loss, FairTarget(), strength)
    assert_alike(ours, plain, loss)
    if plain.balance_ is None:
        assert ours.balance_ is None
    else:
        assert ours.balance_ == pytest.approx(plain.balance_, rel=1e-5)
    assert ours.per_exposure_ == NUMBERS[loss][1]


def test_a_penalty_and_parameters_with_a_unit_are_those_in_memory(tmp_path):
    options = {"params": {"max_depth": 3, "eta": 0.3, "alpha": 5.0}}
    ours = fit_files(tmp_path, "squared_error", Parity(), 0.9, **options)
    assert_alike(ours, fit_memory("squared_error", Parity(), 0.9, **options), "squared_error")


def test_the_total_is_that_of_all_rows_where_the_criterion_sees_a_sample(tmp_path):
    files = written(tmp_path, table_of("poisson"))
    model = regressor("poisson").fit_parquet(
        files, **ROLES, exposure="years", drop=["weight"], criterion_rows=900
    )
    rates = predict_rows(model, ParquetRows.of(files, ["cost", "sex", "years", "weight"]))
    assert EXPOSURE @ rates == pytest.approx(NUMBERS["poisson"][0].sum(), rel=1e-5)


def test_weights_multiply_the_exposure(tmp_path):
    files = written(tmp_path, table_of("poisson"))
    ours = regressor("poisson").fit_parquet(
        files, **ROLES, exposure="years", sample_weight="weight"
    )
    plain = regressor("poisson").fit(
        features("poisson"), NUMBERS["poisson"][0], sensitive_features=Z, exposure=EXPOSURE,
        sample_weight=1.0 + Z,
    )  # fmt: skip
    assert_alike(ours, plain, "poisson")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cost": -NUMBERS["poisson"][0]}, "negative values; counts are at least 0"),
        ({"years": np.zeros(N)}, "values that are zero or negative"),
        ({"cost": np.where(Z == 1, np.nan, 1.0)}, "missing|NaN"),
        ({"years": np.full(N, np.inf)}, "infinity"),
    ],
    ids=["negative counts", "no exposure", "missing counts", "infinite exposure"],
)
def test_bad_columns_are_refused(changes, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        fit_files(tmp_path, "poisson", table=table_of("poisson", **changes))


def test_roles_are_different_columns_that_are_there(tmp_path):
    files = written(tmp_path, table_of("poisson"))
    with pytest.raises(ValueError, match="must be different columns"):
        regressor("poisson").fit_parquet(files, **ROLES, exposure="cost")
    with pytest.raises(ValueError, match="there is no column 'time'"):
        regressor("poisson").fit_parquet(files, **ROLES, exposure="time")
    with pytest.raises(ValueError, match="use a classifier"):
        regressor("log_loss").fit_parquet(files, **ROLES)
