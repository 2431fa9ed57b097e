"""A fit that was killed goes on to the same model."""

import numpy as np
import pytest
from contracts import fair_target

from unsway import Parity, Schedule, make_synthetic

torch = pytest.importorskip("torch")

from unsway.models.torch import FairTorchClassifier  # noqa: E402

SCHEDULE = Schedule(ramp_steps=3, patience=3, pretrain_patience=2, max_steps=20)
DATA = make_synthetic(500, random_state=0)


class KilledError(Exception):
    pass


def network(n_inputs):
    return torch.nn.Sequential(
        torch.nn.Linear(n_inputs, 8), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1)
    )


def model(criterion=None, **settings):
    settings = {"schedule": SCHEDULE, "learning_rate": 0.01, "module": network, **settings}
    return FairTorchClassifier(criterion or Parity(), device="cpu", batch_size=64, **settings)


def fit(estimator):
    return estimator.fit(DATA.X, DATA.y, sensitive_features=DATA.z)


def kill_at(epoch):
    def callback(step):
        if step.number == epoch:
            raise KilledError

    return callback


@pytest.mark.parametrize("criterion", [Parity(), fair_target()], ids=["penalty", "target"])
@pytest.mark.parametrize("epochs", [(1,), (2, 5)], ids=str)
def test_a_killed_fit_goes_on_to_the_same_model(criterion, epochs, tmp_path):
    whole = fit(model(criterion))
    for epoch in epochs:
        with pytest.raises(KilledError):
            fit(model(criterion, checkpoint=tmp_path, callback=kill_at(epoch)))
    seen = []
    resumed = fit(model(criterion, checkpoint=tmp_path, callback=seen.append))
    assert whole.n_epochs_ > epochs[-1]
    assert [step.number for step in seen] == list(range(epochs[-1] + 1, whole.n_epochs_ + 1))
    assert (resumed.best_epoch_, resumed.n_epochs_) == (whole.best_epoch_, whole.n_epochs_)
    assert resumed.history_ == whole.history_
    np.testing.assert_array_equal(resumed.predict_proba(DATA.X), whole.predict_proba(DATA.X))


def test_a_finished_fit_is_read_and_not_trained_again(tmp_path):
    whole = fit(model(checkpoint=tmp_path))
    again = fit(model(checkpoint=tmp_path, callback=kill_at(1)))
    np.testing.assert_array_equal(again.predict_proba(DATA.X), whole.predict_proba(DATA.X))


def test_a_checkpoint_of_other_settings_is_refused(tmp_path):
    fit(model(checkpoint=tmp_path))
    with pytest.raises(ValueError, match="the checkpoint of other rows or settings"):
        fit(model(checkpoint=tmp_path, strength=0.5))


def test_a_checkpoint_of_other_rows_is_refused(tmp_path):
    fit(model(checkpoint=tmp_path))
    other = model(checkpoint=tmp_path)
    with pytest.raises(ValueError, match="the checkpoint of other rows or settings"):
        other.fit(DATA.X, 1 - DATA.y, sensitive_features=DATA.z)


def test_a_file_that_is_no_checkpoint_is_refused(tmp_path):
    (tmp_path / "training.pt").write_bytes(b"not a checkpoint")
    with pytest.raises(ValueError, match="is no checkpoint of a fit"):
        fit(model(checkpoint=tmp_path))


def test_a_checkpoint_holds_tensors_and_numbers_and_nothing_of_z(tmp_path):
    fitted = fit(model(checkpoint=tmp_path))
    state = torch.load(tmp_path / "training.pt", weights_only=True)["training"]
    assert state["epochs"] == fitted.n_epochs_
    table, sums = state["scores"]
    assert table.shape == (334, 2)  # scores, and that each was seen
    assert set(table[:, 1].tolist()) == {1.0}
    assert sums.shape == (2, 2)
