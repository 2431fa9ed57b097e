"""Networks of numbers, counts and amounts: known fair means, units, totals and refusals."""

import numpy as np
import pytest
from contracts import fair_target
from scikit_learn_contract import CHECKED_NUMBERS, MakesUpSensitive, checks_of

from unsway import DirectEffect, FairTorchRegressor, Parity, Schedule

torch = pytest.importorskip("torch")

N = 6_000
rng = np.random.default_rng(0)
Z = rng.integers(0, 2, N)
X = rng.normal(size=(N, 2)) + np.outer(Z, [0.0, 1.2])
RATE = np.exp(0.4 * X[:, 0] + 0.3 * X[:, 1] - 1)
FAIR = RATE * (1 + np.exp(0.7)) / 2
MEAN = RATE * np.exp(0.7 * Z)
QUICK = Schedule(patience=3, max_steps=15)
#: Loss → numbers with these means.
NUMBERS = {
    "squared_error": MEAN + rng.normal(0, 0.3, N),
    "poisson": rng.poisson(MEAN).astype(float),
    "gamma": MEAN * rng.gamma(2, 0.5, N),
    "tweedie": np.where(rng.random(N) < 0.5, 0, 2 * MEAN * rng.gamma(2, 0.5, N)),
}
each_loss = pytest.mark.parametrize("loss", NUMBERS)


def model_of(loss="poisson", criterion=None, strength=None, **settings):
    options = {"schedule": QUICK, "learning_rate": 0.003, "weight_decay": 0.01, **settings}
    return FairTorchRegressor(criterion, strength, loss=loss, **options)


def fit(loss="poisson", y=None, exposure=None, sample_weight=None, **settings):
    y = NUMBERS[loss] if y is None else y
    return model_of(loss, **settings).fit(
        X, y, sensitive_features=Z, exposure=exposure, sample_weight=sample_weight
    )


def left(p):
    error = p - FAIR
    return float(error[Z == 1].mean() - error[Z == 0].mean()) / FAIR.mean()


@each_loss
def test_fair_means_are_closer_to_the_truth_than_a_blind_models(loss):
    criterion = fair_target(outcome_model=None)
    fair = fit(loss, criterion=criterion, rebalance=False).predict(X)
    blind = fit(loss, strength=0.0).predict(X)
    assert left(blind) > 0.05
    assert abs(left(fair)) < 0.6 * left(blind)


@each_loss
def test_the_module_predicts_in_the_users_units(loss):
    model = fit(loss, y=1_000 * NUMBERS[loss], strength=0.0)
    with torch.no_grad():
        margin = model.module_(torch.as_tensor(model.encode(X))).double().numpy().ravel()
    served = margin if loss == "squared_error" else np.exp(margin)
    np.testing.assert_allclose(served, model.predict(X), rtol=1e-12)
    assert 0.8 < served.mean() / (1_000 * NUMBERS[loss].mean()) < 1.2


@each_loss
def test_the_units_of_y_are_without_effect(loss):
    ours, theirs = fit(loss), fit(loss, y=64.0 * NUMBERS[loss])
    np.testing.assert_allclose(theirs.predict(X), 64 * ours.predict(X), rtol=2e-3, atol=2e-3)


def test_the_total_is_kept_where_something_is_taken_out():
    model = fit("poisson")
    assert model.balance_ is not None
    assert model.predict(X).sum() == pytest.approx(NUMBERS["poisson"].sum(), rel=1e-5)
    assert fit("poisson", strength=0.0).balance_ is None
    shifted = fit("squared_error", rebalance=True)
    assert shifted.predict(X).mean() == pytest.approx(NUMBERS["squared_error"].mean(), rel=1e-4)


def test_counts_of_an_exposure_are_rates_with_weights():
    exposure = rng.uniform(0.2, 1, N)
    counts = rng.poisson(MEAN * exposure)
    criterion = fair_target(outcome_model=None)
    ours = fit(y=counts, exposure=exposure, criterion=criterion)
    theirs = fit(y=counts / exposure, sample_weight=exposure, criterion=criterion)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5)
    doubled = ours.predict(X, exposure=np.full(N, 2.0))
    np.testing.assert_allclose(doubled, 2 * ours.predict(X))
    with pytest.raises(ValueError, match="zero or negative"):
        ours.predict(X, exposure=np.zeros(N))


def test_a_module_with_flat_outputs_is_served_as_well():
    class Flat(torch.nn.Module):
        def __init__(self, width):
            super().__init__()
            self.linear = torch.nn.Linear(width, 1)

        def forward(self, inputs):
            return self.linear(inputs)[:, 0]

    model = fit(strength=0.0, module=Flat)
    assert model.module_(torch.as_tensor(model.encode(X[:3]))).shape == (3, 1)
    assert model.predict(X[:3]).shape == (3,)


@pytest.mark.parametrize("criterion", [Parity(), DirectEffect()], ids=["parity", "direct effect"])
def test_a_penalty_pulls_means_of_an_identity_link_together(criterion):
    def gap(model):
        p = model.predict(X)
        return abs(p[Z == 1].mean() - p[Z == 0].mean())

    blind = fit("squared_error", strength=0.0, criterion=criterion)
    held = fit("squared_error", strength=0.9, criterion=criterion)
    assert gap(held) < gap(blind)
    assert held.history_["train"]["penalty"][-1] < held.history_["validation"]["penalty"][0]


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie"])
def test_a_penalty_on_a_log_link_is_refused_and_the_fair_target_is_named(loss):
    with pytest.raises(ValueError, match=rf"Parity is a penalty, .*loss='{loss}'; .*FairTarget"):
        fit(loss, criterion=Parity(), strength=0.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y": -NUMBERS["poisson"]}, "negative values; counts are at least 0"),
        ({"loss": "gamma", "y": np.zeros(N)}, "zero|0"),
        ({"y": np.full(N, np.inf)}, "infinite|finite"),
        ({"exposure": np.zeros(N)}, "exposure has 6000 values that are zero or negative"),
        ({"loss": "log_loss", "y": Z}, "use a classifier"),
        ({"loss": "tweedie", "power": 2.5}, "power"),
    ],
    ids=["negative", "zero amounts", "infinite", "no exposure", "a label's loss", "power"],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        fit(**options)


def test_a_score_is_the_share_of_the_deviance():
    model = fit("squared_error", strength=0.0)
    residual = NUMBERS["squared_error"] - model.predict(X)
    expected = 1 - (residual**2).mean() / NUMBERS["squared_error"].var()
    assert model.score(X, NUMBERS["squared_error"]) == pytest.approx(expected)


class WithSensitive(MakesUpSensitive, FairTorchRegressor):
    pass


EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": (
        "batches are drawn by rows: one of weight 0 still takes its place"
    ),
    "check_methods_subset_invariance": "a float32 product is rounded by the number of its rows",
}
CHECKED = WithSensitive(
    CHECKED_NUMBERS, strength=0.3, schedule=Schedule(max_steps=3, patience=3), learning_rate=0.01
)


@pytest.mark.parametrize(
    ("estimator", "check"), checks_of(CHECKED, failures=EXPECTED_FAILURES, strict=False)
)
def test_the_estimator_passes_scikit_learns_check(estimator, check, monkeypatch):
    from unsway.effects import nuisance

    monkeypatch.setattr(nuisance, "MIN_LEVEL_ROWS", 1)  # the checks hand in fewer
    check(estimator)
