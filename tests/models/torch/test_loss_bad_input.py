"""What FairLoss refuses, and what it says."""

import numpy as np
import pytest
from contracts import make_people, shifted_objective

from unsway import DirectEffect, FairTarget, Parity

torch = pytest.importorskip("torch")

from unsway.models.torch import FairLoss  # noqa: E402

PEOPLE = make_people(40, seed=1)
ROLES = {"X": PEOPLE.X, "y": PEOPLE.y, "sensitive_features": PEOPLE.z}
S, Y, ROWS = torch.as_tensor(PEOPLE.margin[:20]), torch.as_tensor(PEOPLE.y[:20]), torch.arange(20)


def loss(**settings):
    return FairLoss(Parity(), 0.5, **{**ROLES, **settings})


BATCHES = {
    "two columns": ((torch.zeros(20, 2), Y, ROWS), ValueError, "the difference of their logits"),
    "a number": ((torch.tensor(1.0), Y, ROWS), ValueError, r"shape \(m,\) or \(m, 1\)"),
    "integers": ((S.long(), Y, ROWS), TypeError, "logits must be floats"),
    "an array": ((S.numpy(), Y, ROWS), TypeError, "logits must be a tensor; got ndarray"),
    "an empty batch": ((S[:0], Y[:0], ROWS[:0]), ValueError, "logits is empty"),
    "too few labels": ((S, Y[:9], ROWS), ValueError, "y has 9 values for 20 logits"),
    "labels of -1": ((S, 2 * Y - 1, ROWS), ValueError, "y must be 0 or 1"),
    "a missing label": ((S, Y * torch.nan, ROWS), ValueError, "y must be 0 or 1"),
    "too few rows": ((S, Y, ROWS[:9]), ValueError, "rows has 9 values for 20 logits"),
    "no rows": ((S, Y), ValueError, "20 logits for 40 training rows"),
    "a mask": ((S, Y, ROWS > 3), TypeError, "rows must be row numbers"),
    "rows of floats": ((S, Y, ROWS.double()), TypeError, "rows must be row numbers"),
    "a row too far": ((S, Y, ROWS + 21), ValueError, "between 0 and 39, .*; got 40"),
    "a negative row": ((S, Y, ROWS - 1), ValueError, "between 0 and 39, .*; got -1"),
}


@pytest.mark.parametrize(("batch", "error", "message"), BATCHES.values(), ids=BATCHES)
def test_a_bad_batch_is_refused_and_nothing_kept(batch, error, message):
    made = loss()
    with pytest.raises(error, match=message):
        made(*batch)
    assert made.running.table.sum() == 0


def test_good_batches_pass():
    assert torch.isfinite(loss()(S, Y, ROWS))


@pytest.mark.parametrize("given", ["z", "row_values", "sample_weight"])
def test_what_the_rows_tell_already_is_refused(given):
    with pytest.raises(TypeError, match="pass row numbers"):
        loss()(S, Y, ROWS, **{given: Y})


STREAMS = {
    "row numbers": ({"rows": ROWS}, TypeError, "row numbers need the training rows"),
    "no z": ({"row_values": Y}, ValueError, "z must come with each batch, as 0 and 1"),
    "z of other numbers": ({"z": 2 * Y, "row_values": Y}, ValueError, "as 0 and 1"),
    "no propensity": ({"z": Y}, TypeError, "DirectEffect needs the propensity"),
    "a propensity beyond 1": ({"z": Y, "row_values": 2 + Y}, ValueError, "from 0 to 1"),
    "no propensity of one group": ({"z": 0 * Y}, TypeError, "DirectEffect needs the propensity"),
    "a negative weight": (
        {"z": Y, "row_values": Y, "sample_weight": -Y},
        ValueError,
        "not negative",
    ),
}


@pytest.mark.parametrize(("batch", "error", "message"), STREAMS.values(), ids=STREAMS)
def test_a_bad_batch_of_a_stream_is_refused(batch, error, message):
    with pytest.raises(error, match=message):
        FairLoss(DirectEffect())(S, Y, **batch)


def test_a_stream_of_fair_targets_needs_the_effect_at_each_row():
    with pytest.raises(TypeError, match="FairTarget needs the outcome means"):
        FairLoss(FairTarget())(S, Y, z=Y)
    for wrong in (Y, torch.stack([Y, Y * torch.nan], 1), torch.zeros(20, 1)):
        with pytest.raises(ValueError, match="finite numbers, one column for each"):
            FairLoss(FairTarget())(S, Y, z=Y, row_values=wrong)
    with pytest.raises(ValueError, match="row_values has 3 values for 20 logits"):
        FairLoss(FairTarget())(S, Y, z=Y, row_values=torch.zeros(3, 2))


def test_a_batch_without_values_after_one_with_them_is_refused():
    made = FairLoss(DirectEffect())
    made(S, Y, z=Y, row_values=torch.full((20,), 0.5))
    with pytest.raises(TypeError, match="DirectEffect needs the propensity"):
        made(S, Y, z=Y)


SETTINGS = {
    "no criterion": (("parity",), {}, TypeError, "criterion must be one such as"),
    "a penalty at 1": ((Parity(), 1.0), ROLES, ValueError, "below 1"),
    "only X": ((Parity(),), {"X": PEOPLE.X}, TypeError, "y is missing"),
    "weights alone": ((Parity(),), {"sample_weight": PEOPLE.weights}, TypeError, "comes with X"),
    "no memory": ((Parity(),), {"memory": 0}, ValueError, "memory must be an integer"),
    "an objective with rows": ((shifted_objective(PEOPLE),), ROLES, TypeError, "has its rows"),
}


@pytest.mark.parametrize(("roles", "named", "error", "message"), SETTINGS.values(), ids=SETTINGS)
def test_a_bad_setting_is_refused(roles, named, error, message):
    with pytest.raises(error, match=message):
        FairLoss(*roles, **named)


def test_a_strength_out_of_range_cannot_be_set():
    made = loss()
    with pytest.raises(ValueError, match="below 1"):
        made.strength = 1.0
    assert made.strength == 0.5


def test_a_loss_on_another_device_is_told_where_to_go():
    with pytest.raises(ValueError, match=r"on cpu and the loss on meta; .* loss.to\('cpu'\)"):
        loss().to("meta")(S, Y, ROWS)


# --- probabilities in place of logits -------------------------------------------------------------


def train(logits, batches):
    made = loss()
    for _ in range(batches):
        made(logits, Y, ROWS)


def test_probabilities_in_place_of_logits_are_warned_of_once():
    with pytest.warns(UserWarning, match="takes logits, not probabilities") as caught:
        train(torch.sigmoid(S), 60)
    assert len(caught) == 1


def test_a_fresh_model_is_not_judged():
    train(torch.sigmoid(S), 49)  # warnings are errors here


@pytest.mark.parametrize("logits", [torch.zeros(20), torch.linspace(0, 1.01, 20), S], ids=len)
def test_logits_are_not_taken_for_probabilities(logits):
    train(logits, 50)


def test_rows_need_not_be_tensors():
    one, other = loss(), loss()
    assert one(S, Y, np.arange(20)).item() == other(S, Y.numpy(), list(range(20))).item()
