"""The loss for JAX models: the core's objective on all rows, and right on average in batches."""

import sys
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from contracts import (
    EXACT,
    assert_close,
    each_criterion,
    jax_float64,
    make_people,
    objective_of,
    penalty_of,
    shifted_objective,
)
from scipy.optimize import minimize
from scipy.special import expit

from unsway import DirectEffect, FairLogisticRegression, FairTarget, Parity, make_synthetic
from unsway.core import Penalty
from unsway.extras import MissingExtraError
from unsway.grouping import Grouping
from unsway.models.jax import FairJaxLoss, fair_loss

jax = pytest.importorskip("jax")
jnp = jax.numpy


def objective_at(criterion, people, strength=0.8, weights=None):
    return objective_of(penalty_of(criterion, people, weights), people.y, strength, weights)


def parity_loss(n=60, strength=0.8):
    people = make_people(n)
    return people, FairJaxLoss.of(objective_at(Parity(), people, strength))


def value_and_gradient(loss, state, logits, y, rows=None):
    """Return the loss of a batch, its gradient in the logits and the next state."""
    (value, state), gradient = derivative(jnp.asarray(logits), loss, state, y, rows)
    return value, gradient, state


@jax.jit
@partial(jax.value_and_grad, has_aux=True)
def derivative(logits, loss, state, y, rows):
    return loss(state, logits, y, rows)


@jax.jit
def evaluate(loss, state, logits, y, rows):
    return loss(state, logits, y, rows)


def through_batches(loss, y, batches):
    """Return the loss and the gradient of each batch of (logits, rows), one after the other."""
    state, found = loss.init(), []
    for logits, rows in batches:
        value, gradient, state = value_and_gradient(loss, state, logits, y[rows], rows)
        found.append((float(value), np.asarray(gradient)))
    return found, state


def some_batches(people, size=12, n=7):
    rng = np.random.default_rng(3)
    rows = [rng.permutation(len(people.y))[:size] for _ in range(n)]
    return [(people.margin[each] + rng.normal(size=size), each) for each in rows]


# --- all rows: the core's objective --------------------------------------------------------------


def assert_equals_the_core(objective, margin, precision):
    loss = FairJaxLoss.of(objective)
    value, gradient, _ = value_and_gradient(loss, loss.init(), margin, objective.target)
    expected = objective.expand(margin).gradient / objective.total_weight
    assert_close(value, objective.value(margin), precision)
    assert_close(gradient, expected, precision)


@each_criterion
def test_all_rows_are_the_core_objective_in_double_precision(criterion):
    people = make_people()
    objective = objective_at(criterion, people, 0.8, people.weights)
    with jax_float64(jax):
        assert_equals_the_core(objective, people.margin, 1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_all_rows_are_the_core_objective_in_single_precision(weighted):
    people = make_people()
    weights = people.weights if weighted else None
    assert_equals_the_core(objective_at(Parity(), people, 0.8, weights), people.margin, 1e-6)
    assert_equals_the_core(shifted_objective(people, 0.7, weights), people.margin, 1e-6)


def test_shifted_labels_are_the_core_objective_in_double_precision():
    people = make_people()
    with jax_float64(jax):
        assert_equals_the_core(shifted_objective(people, 1.0), people.margin, 1e-10)


def test_the_penalty_is_the_same_on_numpy_torch_and_jax():
    pytest.importorskip("torch")
    import torch

    from unsway.models.torch import FairLoss

    people = make_people()
    objective = objective_at(DirectEffect(propensity=EXACT), people)
    margin, y = torch.as_tensor(people.margin), torch.as_tensor(people.y)
    with jax_float64(jax):
        loss = FairJaxLoss.of(objective)
        in_jax = float(loss(loss.init(), people.margin, people.y)[0])
    assert_close(in_jax, objective.value(people.margin), 1e-12)
    assert_close(FairLoss(objective)(margin, y).item(), in_jax, 1e-12)


def test_the_hessian_of_all_rows_is_the_true_one():
    people = make_people(20)
    objective = objective_at(Parity(), people)
    with jax_float64(jax):
        loss = FairJaxLoss.of(objective)
        found = jax.jit(jax.hessian(lambda s: loss(loss.init(), s, people.y)[0]))(people.margin)
        mapped = replace(objective, penalty=objective.penalty.map(jnp.asarray))
        expected = jax.jit(jax.hessian(mapped.value))(jnp.asarray(people.margin))
    assert_close(found, expected, 1e-10)


@pytest.mark.parametrize(
    "criterion",
    [
        DirectEffect(propensity=EXACT),
        FairTarget(outcome_model=EXACT, propensity_model=EXACT),
    ],
)
def test_logistic_regression_on_all_rows_finds_the_known_coefficients(criterion):
    data = make_synthetic(4_000, random_state=0)
    known = FairLogisticRegression(criterion).fit(data.X, data.y, sensitive_features=data.z)
    with jax_float64(jax):
        loss = fair_loss(criterion, data.X, data.y, sensitive_features=data.z)
        start, X = loss.init(), jnp.asarray(data.X)

        @jax.jit
        def value(loss, w):
            return loss(start, X @ w[1:] + w[0], jnp.asarray(data.y))[0]

        gradient = jax.jit(jax.grad(value, argnums=1))
        found = minimize(
            lambda w: float(value(loss, w)),
            np.zeros(17),
            jac=lambda w: np.asarray(gradient(loss, w)),
            tol=1e-7,
        ).x
    np.testing.assert_allclose(found[1:], known.coef_[0], atol=1e-3)
    np.testing.assert_allclose(found[0], known.intercept_[0], atol=1e-3)


# --- batches -------------------------------------------------------------------------------------


def own_penalty(loss, state, logits, y, rows):
    """Return the loss with the penalty of the batch's rows of A alone, which is a naive one."""
    scores = jax.nn.sigmoid(logits)
    zeta = loss.matrix[rows].T @ scores * (loss.n_rows / len(rows))
    rows_lost = jax.nn.softplus(logits) - y * logits
    return 0.1 * rows_lost.mean() + 0.9 * loss.distance.value(zeta), state


def kept_loss(loss, state, logits, y, rows):
    return loss(state, logits, y, rows)


@partial(jax.jit, static_argnames=("batch_loss", "epochs", "size"))
def trained(loss, X, y, batch_loss, epochs, size=256):
    """Train logistic regression by Adam, its rate falling in the second half."""
    n_batches = len(X) // size
    grad = jax.grad(
        lambda w, state, rows: batch_loss(loss, state, X[rows] @ w[1:] + w[0], y[rows], rows),
        has_aux=True,
    )

    def step(carry, batch):
        w, mean, square, state, t = carry
        gradient, state = grad(w, state, batch)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        rate = 0.02 * jnp.minimum(1, jnp.exp(5 - 10 * t / (n_batches * epochs)))
        unbiased = mean / (1 - 0.9**t), square / (1 - 0.999**t)
        w = w - rate * unbiased[0] / (jnp.sqrt(unbiased[1]) + 1e-8)
        return (w, mean, square, state, t + 1), None

    keys = jax.random.split(jax.random.PRNGKey(0), epochs)
    shuffles = jax.vmap(lambda key: jax.random.permutation(key, n_batches * size))(keys)
    zeros = jnp.zeros(X.shape[1] + 1)
    start = (zeros, zeros, zeros, loss.init(), 1.0)
    return jax.lax.scan(step, start, shuffles.reshape(-1, size))[0][0]


@pytest.mark.parametrize("criterion", [DirectEffect(propensity=EXACT), Parity()])
def test_batches_of_256_find_the_full_batch_optimum_and_the_penalty_of_a_batch_misses(criterion):
    data = make_synthetic(8_192, random_state=0)
    known = FairLogisticRegression(criterion, 0.9).fit(data.X, data.y, sensitive_features=data.z)
    loss = fair_loss(criterion, data.X, data.y, sensitive_features=data.z, strength=0.9)
    X, y = jnp.asarray(data.X), jnp.asarray(data.y)
    ours, naive = (np.asarray(trained(loss, X, y, each, 40)) for each in (kept_loss, own_penalty))
    optimum = np.append(known.intercept_, known.coef_)
    assert abs(ours - optimum).max() < 0.01
    assert abs(naive - optimum).max() > 0.1


def test_the_gradient_is_that_of_all_rows_on_average_over_every_shuffle():
    people, size = make_people(8), 2
    objective, rng = objective_at(Parity(), people, 0.9), np.random.default_rng(0)
    with jax_float64(jax):
        loss = FairJaxLoss.of(objective)
        pairs = np.array(
            [
                (first, second)
                for first in combinations(range(8), size)
                for second in combinations(sorted(set(range(8)) - set(first)), size)
            ]
        )
        start = loss.init(rng.normal(size=8))  # any reference will do
        y, logits = jnp.asarray(people.y), jnp.asarray(people.margin)

        def of_second(margin, pair):
            _, state = evaluate(loss, start, logits[pair[0]], y[pair[0]], pair[0])
            return loss(state, margin[pair[1]], y[pair[1]], pair[1])[0]

        each_pair = jax.jit(jax.vmap(jax.grad(of_second), (None, 0)))
        gradients = each_pair(logits, jnp.asarray(pairs))
    expected = objective.expand(people.margin).gradient / 8
    assert_close(np.asarray(gradients).mean(0), expected, 1e-12)


def test_the_value_is_the_distance_of_both_batches_together():
    people, loss = parity_loss(strength=0.5)
    first, second = np.arange(12), np.arange(12, 24)
    start = loss.init()
    _, state = evaluate(loss, start, people.margin[first], people.y[first], first)
    value, _ = evaluate(loss, state, people.margin[second], people.y[second], second)
    matrix = np.asarray(loss.matrix)
    gaps = [60 / 12 * matrix[rows].T @ (people.scores[rows] - 0.5) for rows in (first, second)]
    margin, y = people.margin[second], people.y[second]
    log_loss = (np.logaddexp(0, margin) - y * margin).mean()
    expected = 0.5 * log_loss + 0.5 * ((0.8 * gaps[0] + 0.2 * gaps[1]) ** 2).sum()
    assert_close(value, expected, 1e-6)


def test_a_batch_of_one_group_has_the_slope_of_its_rows_in_the_whole():
    people, loss = parity_loss(strength=0.9)
    rows = np.flatnonzero(people.z == 1)[:10]
    state = loss.init(people.margin)
    value, gradient, _ = value_and_gradient(loss, state, people.margin[rows], people.y[rows], rows)
    gap = np.asarray(loss.matrix)[:, 0] @ people.scores
    p, y = people.scores[rows], people.y[rows]
    slope = 2 * gap * 60 / 10 * np.asarray(loss.matrix)[rows, 0] * p * (1 - p)
    assert np.isfinite(value)
    assert_close(gradient, 0.1 * (p - y) / 10 + 0.9 * slope, 1e-5)


def test_a_row_twice_in_a_batch_counts_twice():
    people, loss = parity_loss()
    state = loss.init(people.margin)

    def gradient(rows):
        batch = people.margin[rows], people.y[rows], rows
        return np.asarray(value_and_gradient(loss, state, *batch)[1])

    twice, once = gradient(np.array([0, 0, 1])), gradient(np.array([0, 1]))
    assert_close(twice[:2].sum() / twice[2], 2 * once[0] / once[1], 1e-4)


def test_fair_targets_are_the_log_loss_against_shifted_labels_and_need_no_state():
    people = make_people()
    objective, rows = shifted_objective(people, 0.7), np.arange(5, 20)
    loss = FairJaxLoss.of(objective)
    state = loss.init(people.margin)
    value, after = loss(state, people.margin[rows], people.y[rows], rows)
    margin, target = people.margin[rows], (people.y + 0.7 * objective.shift)[rows]
    assert_close(value, (np.logaddexp(0, margin) - target * margin).mean(), 1e-6)
    assert after is state
    assert [leaf.size for leaf in jax.tree_util.tree_leaves(state)] == [0, 0, 0, 0, 1]
    assert loss.statistics(state).shape == (0,)


def test_weights_count_by_their_mean_over_all_rows():
    people, rows = make_people(), np.arange(10)
    objective = objective_at(Parity(), people, 0.0, people.weights)
    loss = FairJaxLoss.of(objective)
    value, _ = evaluate(loss, loss.init(), people.margin[rows], people.y[rows], rows)
    losses = (np.logaddexp(0, people.margin) - people.y * people.margin)[rows]
    assert_close(value, (people.weights[rows] / people.weights.mean() * losses).mean(), 1e-6)


# --- the state -----------------------------------------------------------------------------------


def test_the_reference_is_renewed_once_all_rows_have_passed():
    people, loss = parity_loss()
    state, anchors = loss.init(), []
    for rows in np.arange(60).reshape(4, 15):
        _, state = evaluate(loss, state, people.margin[rows], people.y[rows], rows)
        anchors.append(np.asarray(state.anchor))
    assert_close(state.reference, people.scores, 1e-6)
    assert_close(loss.statistics(state), np.asarray(loss.matrix).T @ people.scores, 1e-6)
    assert_close(anchors, [loss.init().anchor] * 3 + [loss.statistics(state)], 1e-6)


def test_rounding_does_not_add_up():
    people, loss = parity_loss()
    rng, y, matrix = np.random.default_rng(0), jnp.asarray(people.y), np.asarray(loss.matrix)
    rows = np.array([rng.permutation(60)[:7] for _ in range(20_000)])
    logits = rng.normal(size=rows.shape)

    def step(state, batch):
        return loss(state, batch[0], y[batch[1]], batch[1])[1], None

    state, _ = jax.lax.scan(step, loss.init(), (jnp.asarray(logits), jnp.asarray(rows)))
    reference = np.asarray(state.reference, dtype=float)
    assert_close(state.anchor, matrix.astype(float).T @ reference, 1e-5)


def test_logits_that_are_nan_are_not_kept():
    people, loss = parity_loss()
    rows, state = np.arange(4), loss.init(people.margin)
    broken = np.array([np.nan, 0.0, 0.0, 0.0])
    value, after = evaluate(loss, state, broken, people.y[rows], rows)
    assert np.isnan(value)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree_util.tree_leaves(after))
    assert_close(after.latest[:4], [people.scores[0], 0.5, 0.5, 0.5], 1e-6)


# --- transformations -----------------------------------------------------------------------------


def test_jit_and_scan_give_what_plain_calls_give():
    people, loss = parity_loss()
    y, batches = jnp.asarray(people.y), some_batches(people)
    with jax.disable_jit():
        plain, last = through_batches(loss, people.y, batches)
    jitted, _ = through_batches(loss, people.y, batches)

    @jax.jit
    def step(loss, state, batch):
        (value, state), gradient = derivative(batch[0], loss, state, y[batch[1]], batch[1])
        return state, (value, gradient)

    stacked = tuple(jnp.asarray(np.array(part)) for part in zip(*batches, strict=True))
    state, (values, gradients) = jax.lax.scan(partial(step, loss), loss.init(), stacked)
    for found in (plain, jitted):
        assert_close(values, [value for value, _ in found], 1e-6)
        assert_close(gradients, [gradient for _, gradient in found], 1e-6)
    assert_close(state.latest, last.latest, 1e-6)


def test_vmap_trains_several_models_each_with_its_state():
    people, loss = parity_loss()
    rows, y = jnp.arange(20), jnp.asarray(people.y[:20])
    margins = jnp.asarray(np.stack([people.margin, -people.margin]))
    states = jax.jit(jax.vmap(loss.init))(margins)
    values, after = jax.vmap(lambda state, s: evaluate(loss, state, s, y, rows))(
        states, margins[:, :20]
    )
    for k in range(2):
        value, state = evaluate(loss, loss.init(margins[k]), margins[k, :20], y, rows)
        assert_close(values[k], value, 1e-6)
        assert_close(after.previous[k], state.previous, 1e-6)


def test_another_strength_needs_no_compilation():
    people, loss = parity_loss()
    traces = []

    @jax.jit
    def value(loss, logits):
        traces.append(1)
        return loss(loss.init(), logits, people.y)[0]

    found = [value(loss.at(strength), people.margin) for strength in (0.0, 0.5, 0.9)]
    whole = [objective_at(Parity(), people, s).value(people.margin) for s in (0.0, 0.5, 0.9)]
    assert_close(found, whole, 1e-6)
    assert len(traces) == 1


def test_half_precision_is_raised_to_single():
    people, loss = parity_loss()
    rows, logits = np.arange(8), jnp.asarray(people.margin[:8], dtype="bfloat16")
    value, gradient, state = value_and_gradient(loss, loss.init(), logits, people.y[:8], rows)
    exact, _ = evaluate(loss, loss.init(), logits.astype("float32"), people.y[:8], rows)
    assert value.dtype == state.latest.dtype == "float32"
    assert gradient.dtype == "bfloat16"
    assert_close(value, exact, 1e-6)


def test_columns_of_one_are_taken_as_they_are():
    people, loss = parity_loss()
    rows, logits, y = np.arange(8), people.margin[:8], people.y[:8]
    flat, _ = evaluate(loss, loss.init(), logits, y, rows)
    column, _ = evaluate(loss, loss.init(), logits[:, None], y[:, None].astype(int), rows)
    assert float(flat) == float(column)


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"logits": np.zeros((4, 2))}, ValueError, r"logits has shape \(4, 2\); expected \(4,\)"),
        ({"logits": np.zeros(5)}, ValueError, r"logits has shape \(5,\)"),
        ({"logits": np.zeros(4, dtype=int)}, TypeError, "logits must be floats; got an array of"),
        ({"y": np.zeros(3)}, ValueError, r"y has shape \(3,\)"),
        ({"y": np.array([0, 1, 2, 1])}, ValueError, "y must be 0 or 1"),
        ({"y": np.array([0, 1, np.nan, 1])}, ValueError, "y must be 0 or 1"),
        ({"rows": np.array([0, 1, 2, 60])}, ValueError, "between 0 and 59.*got 60"),
        ({"rows": np.array([0, 1, 2, -1])}, ValueError, "between 0 and 59.*got -1"),
        ({"rows": np.zeros(4)}, TypeError, "rows must be row numbers, integers of shape"),
        ({"rows": np.ones(4, dtype=bool)}, TypeError, "rows must be row numbers"),
        ({"rows": np.zeros((4, 1), dtype=int)}, TypeError, r"of shape \(4, 1\)"),
        ({"rows": None}, ValueError, r"logits has shape \(4,\); expected \(60,\)"),
        (
            {name: np.zeros(0, dtype) for name, dtype in
             (("logits", float), ("y", float), ("rows", int))},
            ValueError,
            "rows is empty",
        ),
    ],
)  # fmt: skip
def test_a_bad_batch_is_refused(change, error, message):
    _, loss = parity_loss()
    batch = {"logits": np.zeros(4), "y": np.array([0, 1, 0, 1]), "rows": np.arange(4), **change}
    with pytest.raises(error, match=message):
        loss(loss.init(), **batch)


@pytest.mark.parametrize("row", [60, -1])
@pytest.mark.parametrize("shifted", [False, True])
def test_a_row_out_of_range_that_jit_hides_makes_the_loss_nan(row, shifted):
    people, loss = parity_loss()
    loss = FairJaxLoss.of(shifted_objective(people)) if shifted else loss
    y, start = np.zeros(3), loss.init()
    inside, outside = (
        derivative(np.zeros(3), loss, start, y, np.array([0, 1, last])) for last in (59, row)
    )
    assert np.isfinite([inside[0][0], *inside[1]]).all()
    assert np.isnan(outside[0][0])
    assert np.isnan(outside[1]).any()


def test_a_strength_out_of_range_is_refused():
    people, loss = parity_loss()
    with pytest.raises(ValueError, match="below 1; got 1"):
        loss.at(1)
    with pytest.raises(ValueError, match=r"below 1; got 1\.5"):
        fair_loss(Parity(), people.X, people.y, sensitive_features=people.z, strength=1.5)


def test_bad_roles_are_refused_before_the_criterion_is_fitted():
    people = make_people()
    with pytest.raises(ValueError, match="sensitive"):
        fair_loss(None, people.X, people.y, sensitive_features=np.zeros(60))


def test_without_jax_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'unsway\[jax\]'$"):
        fair_loss(Parity(), None, None, sensitive_features=None)


def test_the_loss_comes_from_tables_labels_and_weights_as_for_any_estimator():
    people = make_people()
    words = np.where(people.z == 1, "m", "f")
    loss = fair_loss(
        Parity(),
        people.X,
        np.where(people.y == 1, "yes", "no"),
        sensitive_features=words,
        sample_weight=people.weights,
        groups=Grouping(reference="f"),
    )
    expected = objective_at(Parity(), people, 0.9, people.weights)
    assert_close(loss(loss.init(), people.margin, people.y)[0], expected.value(people.margin), 1e-6)


def test_scores_of_a_half_are_the_reference_of_a_fresh_state():
    penalty = Penalty(np.ones((3, 1)), penalty_of(Parity(), make_people()).distance, ("sum",))
    loss = FairJaxLoss.of(objective_of(penalty, np.zeros(3), 0.5))
    assert float(loss.init().anchor[0]) == 1.5
    assert_close(loss.init(np.zeros(3)).reference, expit(np.zeros(3)), 1e-7)
