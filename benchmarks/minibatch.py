"""What a penalty makes of mini-batches: its bias at given scores, and where training ends.

The penalty of a batch by itself is h(ζ̂_B), with ζ̂_B fitted on the rows of the batch. For a squared
distance E h(ζ̂_B) = h(ζ) + var(ζ̂_B), and with e the residual of the scores from their own fit on the
groups (and on the propensity)::

    var(ζ̂_B) = (1/B − 1/n)·n·Σ_i Σ_k A_ik² e_i²

which for parity and two groups of the same size is 4/B times the mean variance within a group.
Training on it shrinks that variance: the scores themselves. `fair_loss` is beside it, and two
others: ζ at the last score of each row, and ζ of all rows computed at every step, the aim.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from tables import write_table

from unsway import DirectEffect, FairLogisticRegression, Parity, make_world
from unsway.models.jax import FairJaxLoss, fair_loss
from unsway.rows import Rows

N_ROWS = 20_480
STRENGTH = 0.9
STEPS = 4_000
N_SHUFFLES = 200
SIZES = (32, 128, 512, 2_048, 8_192)
TRAINED_SIZES = (64, 256, 1_024)
#: World and seed; the estimator of `fair_loss` was chosen, among six, on the first.
DRAWS = (("paper", 0), ("paper", 7), ("imbalanced", 7))

#: What takes loss, state, design Γ, X, y, weights and rows to the loss of a batch and the state.
BatchLoss = Callable[..., tuple[Any, Any]]


def fitted_on(design: Any, scores: Any) -> Any:
    """Return the least-squares coefficients of scores on [1, …], without the constant."""
    products = design.T @ design + 1e-6 * jnp.eye(design.shape[1])  # a batch may lack a group
    return jnp.linalg.solve(products, design.T @ scores)[1:]


def log_loss(logits: Any, y: Any) -> Any:
    """Return the mean log-loss."""
    return (jax.nn.softplus(logits) - y * logits).mean()


def with_statistics(loss: FairJaxLoss, logits: Any, y: Any, zeta: Any) -> Any:
    """Return (1−λ)·log-loss + λ·h(ζ)."""
    return (1 - loss.strength) * log_loss(logits, y) + loss.strength * loss.distance.value(zeta)


def batch_alone(
    loss: FairJaxLoss, state: Any, design: Any, X: Any, y: Any, w: Any, rows: Any
) -> tuple[Any, Any]:
    """Return the loss with the penalty of the batch by itself."""
    logits = X[rows] @ w[1:] + w[0]
    zeta = fitted_on(design[rows], jax.nn.sigmoid(logits))
    return with_statistics(loss, logits, y[rows], zeta), state


def last_scores(
    loss: FairJaxLoss, state: Any, design: Any, X: Any, y: Any, w: Any, rows: Any
) -> tuple[Any, Any]:
    """Return the loss with the slope of the batch, at ζ of the last score of each row."""
    logits = X[rows] @ w[1:] + w[0]
    scores = jax.nn.sigmoid(logits)
    state = state.at[rows].set(jax.lax.stop_gradient(scores))
    drawn = loss.matrix[rows].T @ scores * (loss.n_rows / len(rows))
    zeta = drawn + jax.lax.stop_gradient(loss.matrix.T @ state - drawn)
    return with_statistics(loss, logits, y[rows], zeta), state


def all_rows(
    loss: FairJaxLoss, state: Any, design: Any, X: Any, y: Any, w: Any, rows: Any
) -> tuple[Any, Any]:
    """Return the loss with the slope of the batch, at ζ of all rows: a pass over them per step."""
    logits = X[rows] @ w[1:] + w[0]
    drawn = loss.matrix[rows].T @ jax.nn.sigmoid(logits) * (loss.n_rows / len(rows))
    exact = loss.matrix.T @ jax.nn.sigmoid(X @ w[1:] + w[0])
    zeta = drawn + jax.lax.stop_gradient(exact - drawn)
    return with_statistics(loss, logits, y[rows], zeta), state


def ours(
    loss: FairJaxLoss, state: Any, design: Any, X: Any, y: Any, w: Any, rows: Any
) -> tuple[Any, Any]:
    """Return the loss of this library."""
    return loss(state, X[rows] @ w[1:] + w[0], y[rows], rows)


ESTIMATORS: dict[str, BatchLoss] = {
    "batch alone": batch_alone,
    "last scores": last_scores,
    "`fair_loss`": ours,
    "all rows": all_rows,
}


@partial(jax.jit, static_argnames=("batch_loss", "size", "optimizer"))
def train(
    loss: FairJaxLoss, design: Any, X: Any, y: Any, batch_loss: BatchLoss, size: int, optimizer: str
) -> Any:
    """Return the weights after `STEPS` steps on shuffled batches, the rate falling by half-time."""
    gradient_of = jax.grad(
        lambda w, state, rows: batch_loss(loss, state, design, X, y, w, rows), has_aux=True
    )

    def step(carry: Any, rows: Any) -> tuple[Any, None]:
        w, mean, square, state, t = carry
        gradient, state = gradient_of(w, state, rows)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        rate = jnp.minimum(1, jnp.exp(5 - 10 * t / STEPS))
        move = mean
        if optimizer == "Adam":
            move = 0.01 * mean / (1 - 0.9**t) / (jnp.sqrt(square / (1 - 0.999**t)) + 1e-8)
        return (w - rate * move, mean, square, state, t + 1), None

    n_epochs = -(-STEPS * size // len(X))
    keys = jax.random.split(jax.random.PRNGKey(0), n_epochs)
    shuffles = jax.vmap(lambda key: jax.random.permutation(key, len(X)))(keys)
    zeros = jnp.zeros(X.shape[1] + 1)
    state = jnp.full(len(X), 0.5) if batch_loss is last_scores else loss.init()
    start = (zeros, zeros, zeros, state, 1.0)
    return jax.lax.scan(step, start, shuffles.reshape(-1, size)[:STEPS])[0][0]


def predicted_bias(loss: FairJaxLoss, design: Any, scores: Any, size: int) -> float:
    """Return the variance of the statistics of a batch, by the formula above."""
    G, A = np.asarray(design, dtype=float), np.asarray(loss.matrix, dtype=float)
    p = np.asarray(scores, dtype=float)
    residual = p - G @ np.linalg.lstsq(G, p, rcond=None)[0]
    return float((1 / size - 1 / len(p)) * len(p) * ((A**2).sum(1) @ residual**2))


def pairs_of_batches(n_rows: int, size: int) -> Any:
    """Return pairs of batches that follow each other in a shuffle."""
    keys = jax.random.split(jax.random.PRNGKey(1), N_SHUFFLES)
    shuffles = jax.vmap(lambda key: jax.random.permutation(key, n_rows))(keys)
    n_pairs = n_rows // (2 * size)
    return shuffles[:, : 2 * size * n_pairs].reshape(-1, 2, size)


@partial(jax.jit, static_argnames="size")
def measured_bias(loss: FairJaxLoss, design: Any, X: Any, y: Any, w: Any, size: int) -> Any:
    """Return bias and standard error of the batch's own penalty, and both gradients' shares.

    What has the mean 0 over shuffles, the linear part, is taken out of every term: it is the noise.
    """
    alone = replace(loss, strength=1.0)  # the log-loss is additive: leave it out
    h, A, n_rows = loss.distance, loss.matrix, loss.n_rows

    def zeta(w: Any) -> Any:
        return A.T @ jax.nn.sigmoid(X @ w[1:] + w[0])

    start, scores = alone.init(), jax.nn.sigmoid(X @ w[1:] + w[0])
    exact, slope = jax.value_and_grad(lambda w: h.value(zeta(w)))(w)
    pull = h.slope(zeta(w))
    # A·Γ = [0, 1], so that Aᵀ of the residual is 0
    residual = scores - design @ jnp.linalg.lstsq(design, scores)[0]

    def of_pair(pair: Any) -> tuple[Any, Any]:
        first, rows = pair
        _, state = alone(start, X[first] @ w[1:] + w[0], y[first], first)

        def losses(w: Any) -> Any:
            own = batch_alone(alone, None, design, X, y, w, rows)[0]
            kept = alone(state, X[rows] @ w[1:] + w[0], y[rows], rows)[0]
            drawn = A[rows].T @ jax.nn.sigmoid(X[rows] @ w[1:] + w[0]) * (n_rows / size)
            return jnp.stack([own, kept, pull @ drawn])

        own = losses(w)[0] - exact - pull @ (A[rows].T @ residual[rows]) * (n_rows / size)
        slopes = jax.jacrev(losses)(w)
        return own, slopes[:2] - slopes[2]

    own, off = jax.lax.map(of_pair, pairs_of_batches(n_rows, size))
    sizes = jnp.linalg.norm(off.mean(0), axis=1), jnp.sqrt((off.var(0) / len(off)).sum(1))
    return (
        own.mean(),
        own.std() / jnp.sqrt(len(own)),
        *(each / jnp.linalg.norm(slope) for each in sizes),
    )


def problems(
    world: str, seed: int
) -> Iterator[tuple[str, FairJaxLoss, Any, Any, Any, np.ndarray, np.ndarray]]:
    """Yield name, loss, design, X, y, and the weights of the plain and of the fair optimum."""
    data = make_world(world, N_ROWS, random_state=seed)
    X, y, z = jnp.asarray(data.X), jnp.asarray(data.y), data.z.astype(float)
    ones = np.ones(N_ROWS)
    direct = DirectEffect().fit(Rows.check(data.X, data.y, sensitive_features=data.z))
    for name, criterion, columns in (
        ("parity", Parity(), (ones, z)),
        ("direct effect", direct, (ones, direct.row_values, z)),
    ):
        optima = [
            FairLogisticRegression(criterion, strength).fit(
                data.X, data.y, sensitive_features=data.z
            )
            for strength in (0.0, STRENGTH)
        ]
        plain, fair = (np.append(model.intercept_, model.coef_) for model in optima)
        loss = fair_loss(criterion, data.X, data.y, sensitive_features=data.z, strength=STRENGTH)
        yield name, loss, jnp.asarray(np.column_stack(columns)), X, y, plain, fair


def biases(
    name: str, loss: FairJaxLoss, design: Any, X: Any, y: Any, w: Any
) -> Iterator[tuple[str, ...]]:
    """Yield a row of the first table per size."""
    scores = jax.nn.sigmoid(X @ w[1:] + w[0])
    for size in SIZES:
        value, error, off, noise = measured_bias(loss, design, X, y, w, size)
        shares = (f"{a:.3f} ± {b:.3f}" for a, b in zip(off, noise, strict=True))
        formula = predicted_bias(loss, design, scores, size)
        yield name, str(size), f"{formula:.5f}", f"{value:.5f} ± {error:.5f}", *shares


def ends_of(
    names: tuple[str, str], loss: FairJaxLoss, design: Any, X: Any, y: Any, optimum: np.ndarray
) -> Iterator[tuple[str, ...]]:
    """Yield a row of the second table per optimiser and size."""
    for optimizer in ("Adam", "momentum"):
        for size in TRAINED_SIZES:
            found = (train(loss, design, X, y, f, size, optimizer) for f in ESTIMATORS.values())
            far = (f"{abs(np.asarray(each) - optimum).max():.4f}" for each in found)
            yield *names, optimizer, str(size), *far


def main() -> None:
    """Measure, and write the page beside this script."""
    warnings.simplefilter("ignore")  # of few comparable rows, which the worlds are known for
    bias: list[tuple[str, ...]] = []
    ends: list[tuple[str, ...]] = []
    for draw in DRAWS:
        for name, loss, design, X, y, plain, fair in problems(*draw):
            if draw == DRAWS[0]:
                bias += biases(name, loss, design, X, y, jnp.asarray(plain))
            ends += ends_of((f"{draw[0]}, {draw[1]}", name), loss, design, X, y, fair)
    lines = [
        "| criterion | batch | bias by the formula | measured | gradient off, batch alone "
        "| gradient off, `fair_loss` |",
        "|---|---|---|---|---|---|",
        *("| " + " | ".join(row) + " |" for row in bias),
    ]
    write_table(
        Path(__file__).with_suffix(".md"),
        "Penalties in mini-batches",
        (
            f"Synthetic worlds, n = {N_ROWS:,}, logistic regression. First, in the paper's, the "
            "penalty of a batch by itself at the scores of the plain model: how much larger than "
            "that of all rows it is on average, by the formula (var of its statistics) and "
            "measured; and by which share of the full gradient the mean gradient is off, "
            "beside that of `fair_loss` in its first epoch. ± is the Monte Carlo standard "
            "error; a share is a length, so that about one ± is what chance alone gives. "
            "The formula is the variance for large B: on few rows a fit on the propensity varies "
            "more, and is itself biased where scores are not linear in it.",
            "",
            *lines,
            "",
            f"Then where {STEPS:,} steps end at λ = {STRENGTH}: the largest distance of a weight "
            "to the full-batch optimum. `last scores` takes ζ at the last score of each row (a "
            "table as in SAG), `all rows` computes ζ of all rows at every step. Adam at .01, and "
            "gradient descent at 1 with momentum .9; rates fall over the second half. One run "
            "each; the estimator of `fair_loss` was chosen, among six, on the first draw, the "
            "others are fresh.",
        ),
        ("world, seed", "criterion", "optimizer", "batch", *ESTIMATORS),
        ends,
        ("unsway", "jax", "numpy"),
    )


if __name__ == "__main__":
    main()
