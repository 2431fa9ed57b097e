"""FairLoss has the value and the gradient of the core objective, in every precision."""

import numpy as np
import pytest
from contracts import (
    CRITERIA,
    assert_close,
    each_criterion,
    make_people,
    objective_of,
    penalty_of,
    shifted_objective,
)

from unsway import DirectEffect, FairLogisticRegression, Parity, make_world

torch = pytest.importorskip("torch")

from unsway.models.torch import FairLoss  # noqa: E402

PEOPLE = make_people(80, seed=3)
PRECISIONS = {torch.float32: 1e-6, torch.float64: 1e-10}

each_precision = pytest.mark.parametrize(
    ("dtype", "relative"), PRECISIONS.items(), ids=lambda value: str(value)
)


def objective_at(criterion, strength=0.9, weights=None):
    return objective_of(penalty_of(criterion, PEOPLE, weights), PEOPLE.y, strength, weights)


def value_and_gradient(loss, margin, dtype=torch.float64, **batch):
    logits = torch.tensor(margin, dtype=dtype, requires_grad=True)
    value = loss(logits, torch.as_tensor(PEOPLE.y), **batch)
    value.backward()
    return value.item(), logits.grad.double().numpy()


def assert_is_the_objective(objective, dtype, relative, **batch):
    expansion = objective.expand(PEOPLE.margin.copy())
    value, gradient = value_and_gradient(FairLoss(objective), PEOPLE.margin, dtype, **batch)
    assert_close(value, objective.value(PEOPLE.margin), relative)
    assert_close(gradient, expansion.gradient / objective.total_weight, relative)


@each_criterion
@each_precision
def test_a_batch_of_all_rows_gives_the_core_objective(criterion, dtype, relative):
    assert_is_the_objective(objective_at(criterion), dtype, relative)


@each_precision
def test_row_numbers_in_any_order_give_the_core_objective(dtype, relative):
    order = np.random.default_rng(0).permutation(len(PEOPLE.y))
    objective = objective_at(CRITERIA["direct effect (2,1)"])
    logits = torch.tensor(PEOPLE.margin[order], dtype=dtype, requires_grad=True)
    FairLoss(objective)(logits, torch.as_tensor(PEOPLE.y[order]), order).backward()
    expected = objective.expand(PEOPLE.margin.copy()).gradient / len(order)
    assert_close(logits.grad.double().numpy(), expected[order], relative)


@each_precision
def test_sample_weights_count_as_in_the_core(dtype, relative):
    assert_is_the_objective(objective_at(Parity(), weights=PEOPLE.weights), dtype, relative)


@pytest.mark.parametrize("weights", [None, PEOPLE.weights], ids=["equal", "weighted"])
@each_precision
def test_fair_targets_are_the_log_loss_against_shifted_labels(dtype, relative, weights):
    assert_is_the_objective(shifted_objective(PEOPLE, 0.7, weights), dtype, relative)


@each_criterion
def test_autograd_agrees_with_differences(criterion):
    loss, y = FairLoss(objective_at(criterion)), torch.as_tensor(PEOPLE.y)
    logits = torch.tensor(PEOPLE.margin, requires_grad=True)
    assert torch.autograd.gradcheck(lambda s: loss(s, y), (logits,))


@each_criterion
def test_the_penalty_is_the_same_number_in_numpy_and_torch(criterion):
    objective = objective_at(criterion)
    loss = FairLoss(objective)
    penalty = loss.running(torch.as_tensor(PEOPLE.scores), None)
    assert_close(penalty.item(), objective.penalty.value(PEOPLE.scores), 1e-12)
    found = objective.penalty.statistics(PEOPLE.scores)
    assert_close(list(loss.statistics.values()), found, 1e-12)
    assert tuple(loss.statistics) == objective.penalty.names


def test_no_strength_is_the_log_loss_alone():
    logits = torch.tensor(PEOPLE.margin)
    y = torch.as_tensor(PEOPLE.y)
    expected = torch.nn.functional.binary_cross_entropy_with_logits(logits, y)
    assert FairLoss(objective_at(Parity(), 0.0))(logits, y).item() == expected.item()


def test_a_column_of_logits_is_as_good_as_a_vector():
    objective, y = objective_at(Parity()), torch.as_tensor(PEOPLE.y)
    vector = torch.tensor(PEOPLE.margin)
    one, other = (FairLoss(objective)(s, y) for s in (vector, vector[:, None]))
    assert one.item() == other.item()
    assert FairLoss(objective)(vector[:, None], y[:, None]).item() == one.item()


def test_the_strength_may_change_between_steps():
    loss = FairLoss(objective_at(Parity(), 0.5))
    loss.strength = 0.25
    expected = objective_at(Parity(), 0.25).value(PEOPLE.margin)
    assert_close(value_and_gradient(loss, PEOPLE.margin)[0], expected, 1e-12)
    assert loss.strength == 0.25


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_logits_of_half_precision_are_raised_to_float32(dtype):
    half = torch.tensor(PEOPLE.margin, dtype=dtype)
    objective, y = objective_at(Parity()), torch.as_tensor(PEOPLE.y)
    value = FairLoss(objective)(half, y)
    assert value.dtype == torch.float32
    assert value.item() == FairLoss(objective)(half.float(), y).item()


def test_a_model_under_autocast_trains():
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    X = torch.as_tensor(PEOPLE.X, dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(X)
        value = FairLoss(objective_at(Parity()))(logits, torch.as_tensor(PEOPLE.y))
    value.backward()
    assert (logits.dtype, value.dtype) == (torch.bfloat16, torch.float32)
    assert model.weight.grad.abs().sum() > 0


def test_casting_the_loss_leaves_its_statistics_in_float64():
    loss = FairLoss(objective_at(Parity(), weights=PEOPLE.weights)).to(torch.bfloat16)
    assert {buffer.dtype for buffer in loss.buffers()} == {torch.float64, torch.int64}
    expected = objective_at(Parity(), weights=PEOPLE.weights).value(PEOPLE.margin)
    assert_close(value_and_gradient(loss, PEOPLE.margin)[0], expected, 1e-12)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "objective",
    [objective_at(Parity(), weights=PEOPLE.weights), shifted_objective(PEOPLE)],
    ids=["penalty", "target"],
)
def test_the_loss_compiles_as_one_graph(backend, objective):
    plain, other = FairLoss(objective), FairLoss(objective)
    compiled = torch.compile(other, backend=backend, fullgraph=True)
    y = torch.as_tensor(PEOPLE.y)
    for step, strength in enumerate((0.2, 0.4, 0.6)):
        rows = torch.randperm(80, generator=torch.Generator().manual_seed(step))[:32]
        gradients = []
        for loss in (plain, compiled):
            (plain if loss is plain else other).strength = strength
            logits = torch.tensor(PEOPLE.margin)[rows].requires_grad_()
            loss(logits, y[rows], rows).backward()
            gradients.append(logits.grad.numpy())
        assert_close(gradients[1], gradients[0], 1e-12)
    assert plain.statistics == pytest.approx(other.statistics)


def test_nothing_of_the_rows_is_in_the_state_of_a_model():
    model = torch.nn.ModuleDict(
        {"net": torch.nn.Linear(2, 1), "loss": FairLoss(objective_at(Parity()))}
    )
    assert list(model.state_dict()) == ["net.weight", "net.bias"]


# --- the optimum ---------------------------------------------------------------------------------


def torch_logistic(loss, data, steps=400):
    """Return the coefficients at which L-BFGS on all rows ends."""
    X, y = torch.as_tensor(data.X), torch.as_tensor(data.y)
    model = torch.nn.Linear(X.shape[1], 1, dtype=torch.float64)
    torch.nn.init.zeros_(model.weight)
    torch.nn.init.zeros_(model.bias)
    optimizer = torch.optim.LBFGS(
        model.parameters(), max_iter=steps, tolerance_grad=1e-9, tolerance_change=1e-14,
        line_search_fn="strong_wolfe",
    )  # fmt: skip

    def closure():
        optimizer.zero_grad()
        value = loss(model(X), y)
        value.backward()
        return value

    optimizer.step(closure)
    return np.append(model.weight.detach().numpy()[0], model.bias.item())


@pytest.mark.parametrize("kind", ["direct effect", "fair target"])
def test_logistic_regression_in_torch_reaches_the_optimum_of_ours(kind):
    from contracts import fair_target

    data = make_world("paper", 600, random_state=0)
    criterion = DirectEffect(max_extreme_share=1) if kind == "direct effect" else fair_target()
    exact = FairLogisticRegression(criterion, tol=1e-9).fit(
        data.X, data.y, sensitive_features=data.z
    )
    loss = FairLoss(criterion, X=data.X, y=data.y, sensitive_features=data.z)
    found = torch_logistic(loss, data)
    np.testing.assert_allclose(found, [*exact.coef_[0], *exact.intercept_], atol=1e-3)


# --- a GPU ---------------------------------------------------------------------------------------


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_a_gpu_gives_the_gradients_of_the_cpu(dtype):
    gradients = []
    for device in ("cpu", "cuda"):
        loss = FairLoss(objective_at(CRITERIA["direct effect (2,1)"])).to(device)
        for step in range(5):
            rows = torch.randperm(80, generator=torch.Generator().manual_seed(step))[:32]
            logits = torch.tensor(PEOPLE.margin, dtype=dtype, device=device, requires_grad=True)
            y = torch.as_tensor(PEOPLE.y, device=device)
            loss(logits[rows], y[rows], rows).backward()
        gradients.append(logits.grad.cpu().double().numpy())
    assert_close(gradients[1], gradients[0], PRECISIONS[dtype])
