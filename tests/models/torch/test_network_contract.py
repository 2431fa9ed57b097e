"""FairTorchClassifier keeps scikit-learn's contract and refuses bad settings."""

import pickle

import numpy as np
import pytest
from contracts import fair_target, size_of
from scikit_learn_contract import (
    MakesUpSensitive,
    StopsOnTrainingRows,
    assert_renamed_columns_are_refused,
    checks_of,
)
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unsway import DirectEffect, FairTarget, Parity, Schedule, make_synthetic

torch = pytest.importorskip("torch")

from unsway.models.torch import FairTorchClassifier  # noqa: E402

TINY = Schedule(ramp_steps=2, max_steps=10)
# An epoch of these few rows is one step, so that some are needed to learn anything.
LEARNING = Schedule(pretrain_patience=100, patience=100, ramp_steps=2, max_steps=80)
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": (
        "batches are drawn by rows: one of weight 0 still takes its place, and one of weight 2 is "
        "not drawn twice"
    ),
    "check_methods_subset_invariance": (
        "a float32 product is rounded by the number of its rows: 2e-7 where the check asks for 1e-7"
    ),
}


class WithSensitive(MakesUpSensitive, StopsOnTrainingRows, FairTorchClassifier):
    pass


checked = WithSensitive(Parity(), 0.3, schedule=LEARNING, learning_rate=0.05, device="cpu")


@pytest.mark.parametrize(
    ("estimator", "check"), checks_of(checked, failures=EXPECTED_FAILURES, strict=False)
)
def test_the_estimator_passes_scikit_learns_check(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    return make_synthetic(400, random_state=0)


def classifier(criterion=None, strength=0.5, **settings):
    settings = {"schedule": TINY, "learning_rate": 0.01, "device": "cpu", **settings}
    return FairTorchClassifier(criterion or Parity(), strength, **settings)


def fitted(data, **settings):
    return classifier(**settings).fit(data.X, data.y, sensitive_features=data.z)


def test_a_clone_has_the_same_parameters_and_no_fitted_attribute(data):
    net = torch.nn.Linear(16, 1)
    copy = clone(fitted(data, module=net, batch_size=32))
    assert not hasattr(copy, "module_")
    assert (copy.strength, copy.batch_size, copy.schedule) == (0.5, 32, TINY)
    assert torch.equal(copy.module.weight, net.weight)


def test_fitting_changes_no_parameter(data):
    criterion = DirectEffect(propensity=LogisticRegression(), max_extreme_share=1)
    model = classifier(criterion)
    before = model.get_params(deep=False)
    model.fit(data.X, data.y, sensitive_features=data.z)
    assert model.get_params(deep=False) == before
    assert not hasattr(criterion.propensity, "coef_")


def test_a_model_that_is_not_fitted_says_so(data):
    for use in ("predict", "predict_proba", "decision_function", "encode"):
        with pytest.raises(NotFittedError):
            getattr(classifier(), use)(data.X)


def test_a_pickled_model_gives_the_same_probabilities(data):
    model = fitted(data)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    np.testing.assert_array_equal(again.predict_proba(data.X), model.predict_proba(data.X))


@pytest.mark.parametrize(
    "criterion", [Parity(), fair_target(max_extreme_share=1)], ids=["penalty", "target"]
)
def test_a_fitted_model_holds_nothing_as_long_as_the_data(criterion):
    sizes = []
    for n in (500, 4_000):
        data = make_synthetic(n, random_state=2)
        sizes.append(size_of(fitted(data, criterion=criterion)))
    assert sizes[1] - sizes[0] < 3_500  # less than a byte a row


def test_a_pipeline_and_a_search_route_sensitive_features(data, routing):
    model = classifier().set_fit_request(sensitive_features=True, sample_weight=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), model),
        {"fairtorchclassifier__strength": [0.0, 0.9]},
        cv=2,
        error_score="raise",
    )
    search.fit(data.X, data.y, sensitive_features=data.z)
    assert hasattr(search.best_estimator_[-1], "module_")


def test_the_default_criterion_is_the_fair_target_at_full_strength(data):
    default = FairTorchClassifier(schedule=TINY, device="cpu")
    stated = FairTorchClassifier(FairTarget(), 1.0, schedule=TINY, device="cpu")
    for model in (default, stated):
        model.fit(data.X, data.y, sensitive_features=data.z)
    assert (default.criterion, default.strength, default.strength_) == (None, None, 1.0)
    np.testing.assert_array_equal(default.predict_proba(data.X), stated.predict_proba(data.X))


def test_probabilities_and_classes_follow_the_margin(data):
    model = fitted(data)
    margin, both = model.decision_function(data.X), model.predict_proba(data.X)
    np.testing.assert_allclose(both[:, 1], 1 / (1 + np.exp(-margin)))
    np.testing.assert_array_equal(model.predict(data.X), margin > 0)


def test_renamed_columns_are_refused(data):
    assert_renamed_columns_are_refused(classifier(), data)


def test_a_refit_that_fails_leaves_the_model(data):
    model = fitted(data)
    before = model.predict_proba(data.X)
    with pytest.raises(ValueError, match="single level"):
        model.fit(data.X, data.y, sensitive_features=np.ones(400))
    np.testing.assert_array_equal(model.predict_proba(data.X), before)


SETTINGS = {
    "strength": (1.0, ValueError, "below 1"),
    "criterion": ("parity", TypeError, "criterion must be"),
    "module": (3, TypeError, "module must be a torch.nn.Module or a callable"),
    "batch_size": (0, ValueError, "batch_size must be an integer of at least 1"),
    "learning_rate": (-1.0, ValueError, "learning_rate must be positive"),
    "weight_decay": (-1.0, ValueError, "weight_decay must be a finite number of at least 0"),
    "schedule": ("fast", TypeError, "schedule must be a Schedule"),
    "validation_fraction": (1.0, ValueError, "above 0 and below 1"),
    "device": ("toaster", ValueError, "device must be 'auto', 'cpu' or 'cuda'"),
    "checkpoint": (3, TypeError, "checkpoint must be the path of a folder"),
    "callback": (3, TypeError, "callback must be callable"),
    "random_state": (-1, ValueError, "random_state must be an integer of at least 0"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_bad_setting_is_refused(name, data):
    value, error, message = SETTINGS[name]
    with pytest.raises(error, match=message):
        fitted(data, **{name: value})


MODULES = {
    "of two logits": (lambda n: torch.nn.Linear(n, 2), ValueError, "one logit per row"),
    "for other inputs": (torch.nn.Linear(3, 1), ValueError, r"shape \(2, 16\)"),
    "without parameters": (torch.nn.ReLU(), ValueError, "no parameter to train"),
    "that makes no module": (lambda n: n, TypeError, r"module\(16\) must return"),
}


@pytest.mark.parametrize(("module", "error", "message"), MODULES.values(), ids=MODULES)
def test_a_module_that_does_not_fit_is_refused(module, error, message, data):
    with pytest.raises(error, match=message):
        fitted(data, module=module)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_missed_by_name(data):
    with pytest.raises(ValueError, match="PyTorch finds no GPU here"):
        fitted(data, device="cuda")


def test_a_hold_out_without_one_of_the_groups_is_refused(data):
    z = np.zeros(400)
    z[0] = 1
    with pytest.raises(ValueError, match="no row of sensitive level"):
        classifier().fit(data.X, data.y, sensitive_features=z)
