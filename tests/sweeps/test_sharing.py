"""Shared work gives the models of independent fits, to the bit; what cannot be shared is not."""

import numpy as np
import pytest
from contracts import rows_of

from unsway import (
    DirectEffect,
    FairLGBMClassifier,
    FairLogisticRegression,
    FairTarget,
    FairXGBClassifier,
    Parity,
    Schedule,
    make_synthetic,
)
from unsway.models.path import BoostedPath, LinearPath
from unsway.sweeps import frontier

STRENGTHS = [0.0, 0.3, 0.325, 0.9]
QUICK = Schedule(ramp_steps=10, patience=5, max_steps=150)


@pytest.fixture(scope="module")
def people():
    return make_synthetic(1_000, random_state=0)


@pytest.fixture(scope="module")
def criterion(people):
    return DirectEffect(max_extreme_share=1).fit(
        rows_of(people.X, people.y, people.z.astype(float))
    )


def whole_model(model):
    """All that an engine writes of a model."""
    if isinstance(model, FairXGBClassifier):
        return bytes(model.booster_.save_raw(raw_format="json"))
    return model.booster_.model_to_string()


CASES = {
    "xgboost": (FairXGBClassifier, {"max_depth": 2}, True),
    "xgboost, exact splits": (FairXGBClassifier, {"tree_method": "exact"}, True),
    "xgboost, two trees a round": (FairXGBClassifier, {"num_parallel_tree": 2}, True),
    "xgboost, rows drawn": (FairXGBClassifier, {"subsample": 0.5}, False),
    "xgboost, columns drawn": (FairXGBClassifier, {"colsample_bynode": 0.5}, False),
    "lightgbm": (FairLGBMClassifier, {"max_depth": 2}, True),
    "lightgbm, deep": (FairLGBMClassifier, {"learning_rate": 0.3}, True),
    "lightgbm, rows drawn": (
        FairLGBMClassifier,
        {"bagging_fraction": 0.5, "bagging_freq": 1},
        False,
    ),
    "lightgbm, columns drawn": (FairLGBMClassifier, {"feature_fraction": 0.5}, False),
    "lightgbm, goss": (FairLGBMClassifier, {"boosting": "goss"}, False),
}


RARE = ("xgboost, exact splits", "xgboost, two trees a round", "xgboost, columns drawn",
        "lightgbm, deep", "lightgbm, columns drawn", "lightgbm, goss")  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in RARE else []) for name in CASES],
)
def test_every_strength_is_the_model_of_an_independent_fit(name, people, criterion):
    kind, params, shared = CASES[name]
    model = kind(criterion, params=params, schedule=QUICK, n_jobs=1)
    found = frontier(
        model,
        people.X,
        people.y,
        sensitive_features=people.z,
        strengths=STRENGTHS,
        effects=False,
    )
    for strength in STRENGTHS:
        alone = kind(criterion, strength, params=params, schedule=QUICK, n_jobs=1)
        alone.fit(people.X, people.y, sensitive_features=people.z)
        assert whole_model(found.model(strength)) == whole_model(alone)
        assert found.model(strength).evals_result_ == alone.evals_result_
    assert bool(found.notes) != shared
    if not shared:
        assert "pre-training is not shared" in found.notes[0]


@pytest.mark.parametrize("kind", [FairXGBClassifier, FairLGBMClassifier])
def test_pre_training_happens_once(kind, people, criterion):
    steps = []
    model = kind(
        criterion, params={"max_depth": 2}, schedule=QUICK, n_jobs=1, callback=steps.append
    )
    path = BoostedPath(model, people.X, people.y, people.z, None, None)
    rounds = [path.fit(strength).n_rounds_ for strength in (0.5, 0.9)]
    pretraining = [step for step in steps if step.phase == "pretrain"]
    assert pretraining
    assert sum(rounds) == len(steps) + len(pretraining)


@pytest.mark.parametrize("kind", [FairXGBClassifier, FairLGBMClassifier])
def test_a_fork_leaves_its_origin_as_it_is(kind, people, criterion):
    model = kind(criterion, params={"max_depth": 2}, schedule=QUICK, n_jobs=1)
    path = BoostedPath(model, people.X, people.y, people.z, None, None)
    first, _, again = (path.fit(strength) for strength in (0.9, 0.5, 0.9))
    assert whole_model(first) == whole_model(again)


@pytest.mark.parametrize("kind", [FairXGBClassifier, FairLGBMClassifier])
def test_a_path_without_a_ramp_is_exact_too(kind, people, criterion):
    schedule = Schedule(ramp_steps=0, patience=3, max_steps=60)
    settings = {"params": {"max_depth": 2}, "schedule": schedule, "n_jobs": 1}
    models = kind(criterion, **settings).fit_path(
        people.X, people.y, [0.6], sensitive_features=people.z
    )
    alone = kind(criterion, 0.6, **settings).fit(people.X, people.y, sensitive_features=people.z)
    assert whole_model(next(models)) == whole_model(alone)


@pytest.mark.parametrize("kind", [FairXGBClassifier, FairLGBMClassifier])
def test_fair_targets_share_their_nuisances_alone(kind, people):
    target = FairTarget(max_extreme_share=1)
    model = kind(target, params={"max_depth": 2}, schedule=QUICK, n_jobs=1)
    found = frontier(
        model, people.X, people.y, sensitive_features=people.z, strengths=[0, 1], effects=False
    )
    alone = kind(target, 1.0, params={"max_depth": 2}, schedule=QUICK, n_jobs=1)
    alone.fit(people.X, people.y, sensitive_features=people.z)
    assert whole_model(found.model(1)) == whole_model(alone)
    assert found.notes == ()


def test_an_unknown_strength_stops_a_path_before_any_work(people):
    model = FairXGBClassifier(Parity(), n_jobs=1)
    with pytest.raises(ValueError, match="below 1"):
        model.fit_path(people.X, people.y, [0.5, 1.0], sensitive_features=people.z)


def test_a_warm_start_ends_where_a_cold_one_does(people, criterion):
    model = FairLogisticRegression(criterion, tol=1e-9)
    path = LinearPath(model, people.X, people.y, people.z, None)
    for strength in (0.5, 0.6, 0.7):
        warm = path.fit(strength)
    cold = FairLogisticRegression(criterion, 0.7, tol=1e-9)
    cold.fit(people.X, people.y, sensitive_features=people.z)
    assert warm.n_iter_ < cold.n_iter_
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-6)


def test_warm_starts_stay_within_a_quarter(people, criterion):
    path = LinearPath(FairLogisticRegression(criterion), people.X, people.y, people.z, None)
    path.fit(0.4)
    cold = FairLogisticRegression(criterion, 0.5)
    cold.fit(people.X, people.y, sensitive_features=people.z)
    assert np.array_equal(path.fit(0.5).coef_, cold.coef_)
