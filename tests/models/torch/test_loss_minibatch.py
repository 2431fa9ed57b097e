"""In mini-batches FairLoss still minimises the objective of all rows."""

import numpy as np
import pytest
from contracts import (
    assert_close,
    direct_effect,
    make_people,
    objective_of,
    penalty_of,
    rows_of,
    shifted_objective,
)
from scipy.special import expit

from unsway import (
    DirectEffect,
    EqualizedOdds,
    FairLogisticRegression,
    FairTarget,
    Parity,
    make_world,
)

torch = pytest.importorskip("torch")

from unsway.models.torch import FairLoss  # noqa: E402

PEOPLE = make_people(120, seed=5)
Y, S = torch.as_tensor(PEOPLE.y), torch.as_tensor(PEOPLE.margin)


def objective_at(criterion=None, strength=0.9):
    return objective_of(penalty_of(criterion or direct_effect(2, 1), PEOPLE), PEOPLE.y, strength)


def batches(size, seed=0):
    return torch.randperm(120, generator=torch.Generator().manual_seed(seed)).split(size)


def seen(objective, rows=None):
    """Return a loss that knows the present score of these rows, by default of all."""
    loss = FairLoss(objective)
    rows = torch.arange(120) if rows is None else rows
    loss(S[rows], Y[rows], rows)
    return loss


def gradient_of(loss, rows):
    logits = S[rows].clone().requires_grad_()
    loss(logits, Y[rows], rows).backward()
    return logits.grad.numpy()


def random_gradients(loss, size, draws=800):
    """Return the gradients of random batches, at scores that stay as they are."""
    found, rng = np.zeros((draws, 120)), np.random.default_rng(0)
    for gradient in found:
        rows = rng.permutation(120)[:size]
        gradient[rows] = gradient_of(loss, torch.as_tensor(rows))
    return found


# --- statistics of all rows ----------------------------------------------------------------------


def test_an_epoch_leaves_the_statistics_of_all_rows():
    objective = objective_at()
    loss = FairLoss(objective)
    for rows in batches(32):
        loss(S[rows], Y[rows], rows)
    expected = objective.penalty.statistics(PEOPLE.scores)
    assert_close(list(loss.statistics.values()), expected, 1e-12)


def test_the_last_score_of_a_row_is_the_one_that_counts():
    objective = objective_at()
    loss = FairLoss(objective)
    for scale in (0.3, -2.0, 1.0):
        for rows in batches(50):
            loss(scale * S[rows], Y[rows], rows)
    expected = objective.penalty.statistics(PEOPLE.scores)
    assert_close(list(loss.statistics.values()), expected, 1e-12)


def test_the_value_of_a_batch_holds_the_penalty_of_all_rows():
    objective = objective_at(strength=0.9)
    loss, rows = seen(objective), torch.arange(16)
    own = torch.nn.functional.binary_cross_entropy_with_logits(S[rows], Y[rows])
    expected = 0.1 * own.item() + 0.9 * objective.penalty.value(PEOPLE.scores)
    assert_close(loss(S[rows], Y[rows], rows).item(), expected, 1e-12)


@pytest.mark.parametrize("size", [1, 2, 16])
def test_the_mean_gradient_of_random_batches_is_that_of_the_objective(size):
    objective = objective_at(strength=0.9)
    found = random_gradients(seen(objective), size)
    expected = objective.expand(PEOPLE.margin.copy()).gradient / 120
    error = np.sqrt(found.var(axis=0).sum() / len(found))
    assert np.linalg.norm(found.mean(axis=0) - expected) < 1.5 * error
    assert error < {1: 0.5, 2: 0.5, 16: 0.15}[size] * np.linalg.norm(expected)


def test_rows_not_seen_yet_are_expected_to_be_like_those_seen():
    objective = objective_at(Parity())
    truth = objective.penalty.statistics(PEOPLE.scores)[0]
    guesses = [
        next(iter(seen(objective, batches(60, seed)[0]).statistics.values())) for seed in range(400)
    ]
    assert np.mean(guesses) == pytest.approx(truth, abs=4 * np.std(guesses) / 20)
    half = [
        PEOPLE.scores[rows] @ objective.penalty.matrix[rows, 0]
        for rows in (batches(60, seed)[0].numpy() for seed in range(400))
    ]
    assert abs(np.mean(half)) < 0.6 * abs(truth)  # what a sum over the rows seen would say
    assert np.std(guesses) < 1.2 * np.std(half)


def test_a_constant_score_has_no_gap_however_few_rows_were_seen():
    loss = FairLoss(objective_at(Parity()))
    loss(torch.ones(3), Y[:3], torch.arange(3))
    assert loss.statistics["gap"] == pytest.approx(0, abs=1e-12)


def test_a_row_twice_in_a_batch_counts_once_in_the_statistics():
    objective = objective_at()
    loss = FairLoss(objective)
    for rows in batches(30):
        twice = torch.cat([rows, rows[:7]])
        loss(S[twice], Y[twice], twice)
    expected = objective.penalty.statistics(PEOPLE.scores)
    assert_close(list(loss.statistics.values()), expected, 1e-12)


def test_a_row_twice_in_a_batch_counts_twice_in_the_slope():
    loss, rows = seen(objective_at()), torch.tensor([4, 9, 9])
    slope = gradient_of(loss, rows)
    assert slope[1] == slope[2]
    assert slope[1] != 0


@pytest.mark.parametrize("criterion", [Parity(), EqualizedOdds(), direct_effect()], ids=repr)
def test_a_batch_of_one_group_is_like_any_other(criterion):
    loss = seen(objective_at(criterion))
    rows = torch.as_tensor(np.flatnonzero(PEOPLE.z == 1)[:20])
    before = loss.statistics
    assert np.isfinite(gradient_of(loss, rows)).all()
    assert loss.statistics == pytest.approx(before)


def test_a_first_batch_of_one_group_is_finite():
    rows = torch.as_tensor(np.flatnonzero(PEOPLE.z == 1)[:20])
    assert np.isfinite(gradient_of(FairLoss(objective_at()), rows)).all()


def test_nothing_is_kept_in_eval_mode():
    loss = seen(objective_at())
    before, table = loss.statistics, loss.running.table.clone()
    loss.eval()
    loss(-S[:50], Y[:50], torch.arange(50))
    assert loss.statistics == before
    assert torch.equal(loss.running.table, table)


def test_nan_logits_give_a_nan_loss_and_leave_the_statistics():
    loss = seen(objective_at())
    before = loss.statistics
    logits = S[:8].clone()
    logits[3] = torch.nan
    logits[:3] += 1e-13  # the others are as they were
    assert torch.isnan(loss(logits, Y[:8], torch.arange(8)))
    assert loss.statistics == pytest.approx(before)


# --- a stream, without row numbers ---------------------------------------------------------------


@pytest.mark.parametrize("criterion", [direct_effect(2, 1), EqualizedOdds()], ids=repr)
@pytest.mark.parametrize("weights", [None, PEOPLE.weights], ids=["equal", "weighted"])
def test_a_stream_of_one_batch_is_the_objective_of_its_rows(criterion, weights):
    fitted = criterion.fit(rows_of(PEOPLE.X, PEOPLE.y, PEOPLE.z))
    penalty = fitted.penalty(rows_of(None, PEOPLE.y, PEOPLE.z, weights))
    objective = objective_of(penalty, PEOPLE.y, 0.9, weights)
    logits = S.clone().requires_grad_()
    value = FairLoss(criterion, 0.9)(
        logits, Y, z=PEOPLE.z, row_values=torch.as_tensor(PEOPLE.b), sample_weight=weights
    )
    value.backward()
    assert_close(value.item(), objective.value(PEOPLE.margin), 1e-10)
    expected = objective.expand(PEOPLE.margin.copy()).gradient / objective.total_weight
    assert_close(logits.grad.numpy(), expected, 1e-10)


def test_a_stream_remembers_the_last_rows():
    loss = FairLoss(Parity(), 0.9, memory=120)
    for rows in (*batches(40), *batches(40, 1)):  # the first three are forgotten again
        value = loss(S[rows], Y[rows], z=PEOPLE.z[rows])
    own = torch.nn.functional.binary_cross_entropy_with_logits(S[rows], Y[rows])
    rest = objective_at(Parity()).penalty.value(PEOPLE.scores)
    assert len(loss._recent.batches) == 3
    assert 0.9 * rest > 1e-4
    again = loss.eval()(S[rows], Y[rows], z=PEOPLE.z[rows])
    assert len(loss._recent.batches) == 3
    assert value.item() == pytest.approx(again.item(), abs=0.02)
    assert value.item() == pytest.approx(0.1 * own.item() + 0.9 * rest, abs=0.02)


STREAMED = {
    "parity": Parity(),
    "equalized odds": EqualizedOdds(),
    "direct effect": DirectEffect(),
    "direct effect (5,3), spline": DirectEffect(5, 3, norm="function", basis="spline"),
}


@pytest.mark.parametrize("criterion", STREAMED.values(), ids=STREAMED)
def test_a_stream_that_has_seen_one_group_only_is_the_log_loss(criterion):
    rows = np.flatnonzero(PEOPLE.z == 1)[:10]
    value = FairLoss(criterion, 0.9)(S[rows], Y[rows], z=PEOPLE.z[rows], row_values=PEOPLE.b[rows])
    own = torch.nn.functional.binary_cross_entropy_with_logits(S[rows], Y[rows])
    assert value.item() == pytest.approx(0.1 * own.item())


#: Outcome means of both groups, whose difference is the effect of `shifted_objective`.
MEANS = np.column_stack([0.3 - 0.4 * PEOPLE.b, 0.1 + 0.5 * PEOPLE.b])


@pytest.mark.parametrize("chosen", [slice(None), PEOPLE.z == 1], ids=["both groups", "one group"])
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
def test_a_stream_of_fair_targets_is_the_log_loss_against_them(chosen, weighted):
    people, means = PEOPLE.rows(np.arange(120)[chosen]), MEANS[chosen]
    weights = people.weights if weighted else None
    objective = shifted_objective(people, 0.7, weights)
    logits = torch.tensor(people.margin, requires_grad=True)
    y, z = torch.as_tensor(people.y), people.z
    value = FairLoss(FairTarget(), 0.7)(logits, y, z=z, row_values=means, sample_weight=weights)
    value.backward()
    assert_close(value.item(), objective.value(people.margin), 1e-10)
    expected = objective.expand(people.margin.copy()).gradient / objective.total_weight
    assert_close(logits.grad.numpy(), expected, 1e-10)


def test_batches_of_a_stream_of_fair_targets_do_not_depend_on_those_before():
    loss = FairLoss(FairTarget(), memory=50)
    for rows in (*batches(40), *batches(40, 1)):
        handed = {"z": PEOPLE.z[rows], "row_values": MEANS[rows]}
        alone = FairLoss(FairTarget())(S[rows], Y[rows], **handed)
        assert loss(S[rows], Y[rows], **handed).item() == alone.item()


# --- the optimum, in batches of 256 --------------------------------------------------------------


class Naive:
    """What the penalty becomes if a batch's own statistics stand for those of all rows."""

    def __init__(self, objective):
        self.matrix = torch.as_tensor(objective.penalty.matrix)
        self.distance = objective.penalty.distance.map(torch.as_tensor)
        self.strength = objective.strength

    def __call__(self, logits, y, rows):
        statistics = self.matrix[rows].T @ torch.sigmoid(logits) * (len(self.matrix) / len(rows))
        utility = torch.nn.functional.binary_cross_entropy_with_logits(logits, y)
        penalty = self.distance.value(statistics)
        return (1 - self.strength) * utility + self.strength * penalty


def descend(loss, data, epochs=80, rate=0.02):
    """Return logistic coefficients after Adam in batches of 256, averaged over the last half."""
    torch.manual_seed(0)
    X, y = torch.as_tensor(data.X), torch.as_tensor(data.y, dtype=torch.float64)
    weights = torch.zeros(X.shape[1] + 1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([weights], lr=rate)
    mean = torch.zeros_like(weights)
    for epoch in range(epochs):
        optimizer.param_groups[0]["lr"] = rate * (1 - epoch / epochs)
        for rows in torch.randperm(len(y)).split(256):
            optimizer.zero_grad()
            loss(X[rows] @ weights[:-1] + weights[-1], y[rows], rows).backward()
            optimizer.step()
            if 2 * epoch >= epochs:
                mean += weights.detach()
    return (mean / (-(-len(y) // 256) * (epochs - epochs // 2))).numpy()


def test_batches_of_256_reach_the_optimum_that_the_naive_penalty_misses():
    data = make_world("paper", 4_000, random_state=0)
    rows = rows_of(data.X, data.y, data.z)
    fitted = DirectEffect(max_extreme_share=1).fit(rows)
    objective = fitted.objective(rows).at(0.9)
    exact = FairLogisticRegression(fitted, 0.9).fit(data.X, data.y, sensitive_features=data.z)
    best = np.append(exact.coef_[0], exact.intercept_)

    def off(weights):
        scores = [expit(data.X @ w[:-1] + w[-1]) for w in (weights, best)]
        return max(np.abs(weights - best).max(), np.abs(scores[0] - scores[1]).max())

    assert off(descend(FairLoss(objective), data)) < 0.01  # seen: .003
    naive = descend(Naive(objective), data, epochs=30)
    assert off(naive) > 0.3  # seen: 1.1; it lowers every score to make batches vary less
    assert expit(data.X @ naive[:-1] + naive[-1]).mean() < data.y.mean() - 0.1
