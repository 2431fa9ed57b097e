"""How several models of one nuisance are mixed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize, nnls

from .._typing import Floats, Reduce
from ..core import Loss
from ..core.penalty import identity


def stacking_shares(
    predictions: Floats,
    target: Floats,
    weights: Floats | None = None,
    *,
    loss: Loss | None = None,
    reduce: Reduce | None = None,
) -> Floats:
    """Return the non-negative weights, adding up to one, with which predictions fit best.

    Probabilities of a 0/1 target are mixed for the highest likelihood, positive predictions under a
    loss of counts or amounts for the least loss, others for the least squared error. Where the rows
    are spread over workers, ``reduce`` sums over all of them, and all workers find the same
    weights.

    References
    ----------
    Ahrens, Hansen, Schaffer & Wiemann (2024), "Model averaging and double machine learning",
    arXiv:2401.01645.

    Examples
    --------
    >>> right, wrong = np.array([0.9, 0.1, 0.9]), np.array([0.5, 0.5, 0.5])
    >>> stacking_shares(np.column_stack([right, wrong]), np.array([1.0, 0.0, 1.0])).round(2)
    array([1., 0.])
    """
    count, total = predictions.shape[1], reduce or identity
    if count == 1:
        return np.ones(1)
    weights = np.ones(len(target)) if weights is None else weights
    if loss is not None and loss.link == "log":
        if not total(np.array([float((predictions <= 0).sum())]))[0]:
            return likeliest_mixture(predictions, target, weights, loss, total)
        return _least_squares_shares(predictions, target, weights, total)
    odd = ((predictions < 0) | (predictions > 1)).any(axis=1) | ~np.isin(target, (0.0, 1.0))
    if total(np.array([float(odd.sum())]))[0]:
        return _least_squares_shares(predictions, target, weights, total)
    likelihood = np.where(target[:, None] == 1, predictions, 1 - predictions).clip(1e-9)
    return _likeliest_shares(likelihood, weights / total(np.array([weights.sum()]))[0], total)


def _likeliest_shares(likelihood: Floats, weights: Floats, reduce: Reduce) -> Floats:
    """Maximise Σ w_i log(likelihood_i · shares) on the simplex, a concave problem."""

    def loss(shares: Floats) -> tuple[float, Floats]:
        mixture = likelihood @ shares
        value, slope = weights @ np.log(mixture), (weights / mixture) @ likelihood
        sums = reduce(np.append(slope, value))
        return -float(sums[-1]), -sums[:-1]

    return _minimize_shares(loss, likelihood.shape[1])


def likeliest_mixture(
    predictions: Floats, target: Floats, weights: Floats, loss: Loss, reduce: Reduce
) -> Floats:
    """Return the weights of positive predictions with the least mean loss, summing to one.

    Where the rows are spread over workers, ``reduce`` sums over all of them.

    Examples
    --------
    >>> from unsway.core import Poisson
    >>> means, counts = np.array([[1.0, 3.0], [4.0, 3.0]]), np.array([1.0, 4.0])
    >>> likeliest_mixture(means, counts, np.ones(2), Poisson(), lambda sums: sums).round(2).tolist()
    [1.0, 0.0]
    """
    scale = float(reduce(np.array([weights.sum()]))[0])

    def mean_loss(shares: Floats) -> tuple[float, Floats]:
        mixture = predictions @ shares
        value = weights @ loss.rows(loss.margin_of(mixture), target)
        slope = weights * loss.gradient(mixture, target) / mixture  # of a log link
        sums = reduce(np.append(slope @ predictions, value)) / scale
        return float(sums[-1]), sums[:-1]

    return _minimize_shares(mean_loss, predictions.shape[1])


def _minimize_shares(loss: Callable[[Floats], tuple[float, Floats]], count: int) -> Floats:
    """Minimise a convex loss of so many shares, which returns its value and gradient."""
    found = minimize(
        loss,
        np.full(count, 1 / count),
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * count,
        constraints={"type": "eq", "fun": lambda s: s.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-12},
    )
    shares = found.x.clip(0)
    return np.asarray(shares / shares.sum())


def _least_squares_shares(
    predictions: Floats, target: Floats, weights: Floats, reduce: Reduce
) -> Floats:
    """Solve the least-squares problem on the simplex, its sum held by a heavy extra row.

    The triangular factor of the summed Gram matrix stands for the rows of all workers.
    """
    root = np.sqrt(weights)[:, None]
    rows = np.column_stack([predictions * root, target * root.ravel()])
    if reduce is not identity:
        gram = reduce(rows.T @ rows)
        size = np.finfo(float).eps * np.trace(gram)
        rows = np.linalg.cholesky(gram + size * np.eye(len(gram))).T
    matrix, values = rows[:, :-1], rows[:, -1]
    heavy = 1e4 * np.sqrt(float((matrix**2).sum()) + 1)
    shares, _ = nnls(np.vstack([matrix, np.full(matrix.shape[1], heavy)]), np.r_[values, heavy])
    return np.asarray(shares / shares.sum())
