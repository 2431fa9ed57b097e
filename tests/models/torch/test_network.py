"""What FairTorchClassifier finds, and how its training goes."""

import numpy as np
import pandas as pd
import pytest
from contracts import (
    direct_effect,
    each_container,
    fair_target,
    make_people,
    mixed_columns,
    rows_of,
)
from scipy.special import expit

from unsway import DirectEffect, Parity, Schedule, make_synthetic, score_gap
from unsway.core import Step
from unsway.grouping import Grouping

torch = pytest.importorskip("torch")

from unsway.models.torch import FairTorchClassifier  # noqa: E402
from unsway.models.torch.network import NetworkInputs  # noqa: E402

SHORT = Schedule(ramp_steps=2, patience=2, pretrain_patience=2, max_steps=6)
LONG = Schedule(ramp_steps=10, patience=10, max_steps=60)


@pytest.fixture(scope="module")
def data():
    return make_synthetic(900, random_state=0)


def small(n_inputs):
    return torch.nn.Sequential(
        torch.nn.Linear(n_inputs, 8), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(8, 1)
    )


def fit(data, criterion=None, strength=None, X=None, fit_options=None, **settings):
    settings = {"schedule": SHORT, "learning_rate": 0.01, "device": "cpu", **settings}
    model = FairTorchClassifier(criterion or Parity(), strength, **settings)
    X = data.X if X is None else X
    return model.fit(X, data.y, sensitive_features=data.z, **(fit_options or {}))


def scores(model, X):
    return model.predict_proba(X)[:, 1]


def test_more_strength_leaves_less_of_the_gap(data):
    gaps = [
        score_gap(
            data.y,
            scores(fit(data, strength=strength, schedule=LONG), data.X),
            sensitive_features=data.z,
        )
        for strength in (0, 0.5, 0.95)
    ]
    assert gaps[0] > 1.1 * gaps[1] > 2 * gaps[2]


def test_fair_targets_remove_the_direct_effect():
    train, test = make_synthetic(4_000, random_state=0), make_synthetic(10_000, random_state=1)
    blind, fair = (
        scores(fit(train, fair_target(), strength, schedule=LONG), test.X) for strength in (0, 1)
    )
    left = [score_gap(None, p - test.fair_score, sensitive_features=test.z) for p in (blind, fair)]
    assert left[0] > 0.1
    assert abs(left[1]) < 0.04


def test_no_strength_is_plain_training_with_the_log_loss(data):
    """The same loop written out: AdamW, batches of a shuffle, the log-loss of torch."""
    model = fit(data, strength=0.0, module=small, schedule=Schedule(max_steps=3), batch_size=64,
                fit_options={"eval_set": (data.X, data.y, data.z)})  # fmt: skip
    X = (data.X - data.X.mean(0)) / data.X.std(0)
    from unsway.models.torch.training import canonical_order

    order = canonical_order(X.astype(np.float32), data.y.astype(float), data.z.astype(float), 0)
    X = torch.tensor(X[order], dtype=torch.float32)
    y = torch.tensor(data.y[order], dtype=torch.float32)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        plain = small(16)
        optimizer = torch.optim.AdamW(plain.parameters(), lr=0.01, weight_decay=1.0)
        for _ in range(3):
            for rows in torch.randperm(900).tensor_split(15):
                optimizer.zero_grad()
                logits = plain(X[rows])[:, 0]
                torch.nn.functional.binary_cross_entropy_with_logits(logits, y[rows]).backward()
                optimizer.step()
    assert model.best_epoch_ == 3
    for name, tensor in plain.state_dict().items():
        np.testing.assert_allclose(model.module_.state_dict()[name], tensor, atol=1e-6)


def test_one_seed_gives_one_model_and_another_another(data):
    one, same, other = (
        scores(fit(data, module=small, random_state=seed), data.X) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 1e-3


def test_generators_outside_are_left_as_they_are(data):
    before = torch.random.get_rng_state()
    fit(data, module=small)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("criterion", [Parity(), fair_target()], ids=["penalty", "target"])
def test_the_order_of_the_rows_does_not_matter(data, criterion):
    order = np.random.default_rng(0).permutation(900)
    model = FairTorchClassifier(criterion, 0.9, schedule=SHORT, device="cpu")
    shuffled = model.fit(data.X[order], data.y[order], sensitive_features=data.z[order])
    expected = fit(data, criterion, 0.9, learning_rate=1e-3)
    np.testing.assert_allclose(scores(shuffled, data.X), scores(expected, data.X), atol=1e-3)


def test_weights_count(data):
    weights = np.where(data.y == 1, 3.0, 1.0)
    plain = scores(fit(data, strength=0.0), data.X)
    weighted = scores(fit(data, strength=0.0, fit_options={"sample_weight": weights}), data.X)
    assert weighted.mean() > plain.mean() + 0.1


def test_a_module_of_ones_own_is_copied_and_trained(data):
    mine = torch.nn.Linear(16, 1)
    start = mine.weight.detach().clone()
    model = fit(data, module=mine)
    assert type(model.module_) is torch.nn.Linear
    assert model.module_ is not mine
    assert torch.equal(mine.weight, start)
    assert not torch.equal(model.module_.weight, start)


def test_the_module_is_plain_torch_on_encoded_inputs(data, tmp_path):
    model = fit(data, module=small)
    torch.save(model.module_.state_dict(), tmp_path / "module.pt")
    served = small(16)
    served.load_state_dict(torch.load(tmp_path / "module.pt", weights_only=True))
    with torch.no_grad():
        logits = served.eval()(torch.as_tensor(model.encode(data.X)))[:, 0]
    np.testing.assert_allclose(expit(logits.double().numpy()), scores(model, data.X))


def test_a_module_of_float64_is_trained_in_float64(data):
    model = fit(data, module=lambda n: torch.nn.Linear(n, 1, dtype=torch.float64))
    assert model.module_.weight.dtype == torch.float64
    assert np.isfinite(scores(model, data.X)).all()


def test_batch_normalisation_meets_no_batch_of_one_row():
    people = make_people(100, seed=2)
    net = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))
    model = FairTorchClassifier(Parity(), module=net, schedule=SHORT, batch_size=33, device="cpu")
    model.fit(
        people.X, people.y, sensitive_features=people.z, eval_set=(people.X, people.y, people.z)
    )
    assert model.n_epochs_ > 0


def test_the_best_epoch_is_kept_and_not_the_last(data):
    schedule = Schedule(patience=3, max_steps=40)
    model = fit(data, strength=0.2, schedule=schedule, learning_rate=0.05, weight_decay=0.0)
    history = model.history_["validation"]
    whole = 0.8 * np.array(history["log_loss"]) + 0.2 * np.array(history["penalty"])
    assert model.best_epoch_ == np.argmin(whole) + 1 < model.n_epochs_


def test_the_history_has_every_epoch_once(data):
    model = fit(data, DirectEffect(max_extreme_share=1), 0.5)
    assert set(model.history_["validation"]) == {"log_loss", "penalty", "alpha_1", "beta_0"}
    assert set(model.history_["train"]) == {"penalty", "alpha_1", "beta_0"}
    for rows in model.history_.values():
        assert {len(series) for series in rows.values()} == {model.n_epochs_}


def test_the_history_of_fair_targets_has_both_log_losses(data):
    history = fit(data, fair_target()).history_
    assert set(history) == {"validation"}
    assert set(history["validation"]) == {"log_loss", "fair_log_loss"}


def test_the_callback_sees_every_epoch(data):
    steps = []
    model = fit(data, callback=steps.append)
    assert all(isinstance(step, Step) for step in steps)
    assert [step.number for step in steps] == list(range(1, model.n_epochs_ + 1))


def test_progress_goes_to_standard_error(data, capfd):
    fit(data, progress=True)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "log-loss" in shown.err
    fit(data)
    assert capfd.readouterr().err == ""


def test_a_training_that_diverges_says_so(data):
    with pytest.raises(ValueError, match=r"training diverged.*lower learning_rate"):
        fit(data, module=Exploding, strength=0.3)


class Exploding(torch.nn.Linear):
    def __init__(self, n_inputs):
        super().__init__(n_inputs, 1)

    def forward(self, inputs):
        return super().forward(inputs) / (0.0 if len(inputs) > 2 else 1.0) * 0.0


# --- tables --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mixed():
    columns, z = mixed_columns(300)
    del columns["empty"]  # in an array of objects nothing tells what it is empty of
    nurse = np.array([job == "nurse" for job in columns["job"]])
    y = (np.random.default_rng(1).random(300) < expit(3.0 * nurse - 1)).astype(int)
    return columns, y, z


@each_container
def test_every_container_gives_the_same_model(container, mixed):
    columns, y, z = mixed
    from contracts import as_pandas

    found = []
    for make in (container, as_pandas):
        X = make(columns)
        model = FairTorchClassifier(Parity(), schedule=SHORT, device="cpu")
        found.append(scores(model.fit(X, y, sensitive_features=z), X))
    np.testing.assert_allclose(*found, atol=1e-6)


def test_a_level_tells_rows_apart_and_an_unseen_one_is_no_level(mixed):
    columns, y, z = mixed
    X = pd.DataFrame({"job": columns["job"], "age": columns["age"]})
    model = FairTorchClassifier(Parity(), 0.0, schedule=LONG, device="cpu", learning_rate=0.01)
    model.fit(X, y, sensitive_features=z)
    new = pd.DataFrame({"job": ["nurse", "pilot", "astronaut", None], "age": [40.0] * 4})
    nurse, pilot, unseen, missing = scores(model, new)
    assert nurse > pilot + 0.2
    assert unseen == missing
    assert model.encode(new)[2, 2:].tolist() == [0, 0, 0]


def test_inputs_are_standardised_by_weight():
    from unsway.tables import EngineTable

    X = np.array([[1.0], [3.0], [100.0]])
    inputs = NetworkInputs.of(EngineTable.of(X).code(X), np.array([1.0, 1.0, 0.0]))
    assert inputs(X)[:2].ravel().tolist() == [-1, 1]


def test_string_labels_and_levels_are_fine(data):
    named = FairTorchClassifier(
        Parity(), groups=Grouping(reference="f"), schedule=SHORT, learning_rate=0.01, device="cpu"
    )
    y, z = np.where(data.y == 1, "yes", "no"), np.where(data.z == 1, "m", "f")
    named.fit(data.X, y, sensitive_features=z)
    assert named.classes_.tolist() == ["no", "yes"]
    assert named.sensitive_levels_ == ("f", "m")
    np.testing.assert_array_equal(scores(named, data.X), scores(fit(data), data.X))
    assert set(named.predict(data.X)) <= {"no", "yes"}


def test_a_fitted_criterion_gives_the_same_model_as_the_criterion(data):
    criterion = direct_effect().set_params(propensity=None, max_extreme_share=1)
    fitted = criterion.fit(rows_of(data.X, data.y, data.z))
    judges = (data.X[:200], data.y[:200], data.z[:200])
    one, other = (
        scores(fit(data, each, 0.9, fit_options={"eval_set": judges}), data.X)
        for each in (criterion, fitted)
    )
    np.testing.assert_array_equal(one, other)
