"""The training loss of any JAX model, without the direct effect of a sensitive attribute."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any

import numpy as np

from ..core import Distance, LogLoss, Loss, Losses, Objective, check_strength
from ..core.arrays import Array
from ..extras import load
from ..grouping import Grouping
from .objectives import objective_on


def engine() -> Any:
    """Return the jax package, or say how to install it."""
    return load("jax", "jax")


@dataclass(frozen=True)
class LossState:
    """The state of a loss between batches; made by `FairJaxLoss.init`.

    It is a pytree and passes through ``jit``, ``scan`` and ``vmap``. It contains scores of the
    training rows and the penalty's statistics of them, but not z. For fair targets it is empty.

    Parameters
    ----------
    reference : array of shape (n,)
        p°: the score of each row when the reference was last updated.
    latest : array of shape (n,)
        The last score of each row.
    anchor : array of shape (K,)
        ζ° = Aᵀp°.
    previous : array of shape (K,)
        The estimate of ζ from the batch before.
    n_since : integer
        Rows in batches since the reference was updated.
    """

    reference: Array
    latest: Array
    anchor: Array
    previous: Array
    n_since: Array


@dataclass(frozen=True)
class FairJaxLoss:
    """The loss (1−λ)·log-loss + λ·penalty of a batch, as a pure function of logits and a state.

    A penalty is a distance h of statistics ζ = Aᵀp of *all* rows. That of a batch by itself is too
    large by the variance of its ζ̂, and training on it pulls scores together. Here a batch B of m of
    the n rows, with p_i = σ(s_i), gives ::

        ζ̂ = ζ° + (n/m)·Σ_B A_i (p_i − p°_i)
        ζ̃ = (m/n)·ζ̂ + (1 − m/n)·(ζ̂ of the batch before)
        loss = (1−λ)·mean_B w_i ℓ_i + λ·h(ζ̃),   with the gradient λ·h′(ζ̃)·∂ζ̂ of the latter

    where p° are the scores of the epoch before and ζ° their statistics. So h′ is evaluated at the
    present statistics of the full sample, by other rows than those whose slope it multiplies, and
    ζ̂ varies only by the change of the scores within an epoch. A batch of all rows gives the value
    of the core's `Objective`. With fair targets, which are additive, the loss is the log-loss
    against y + λd.

    Made by `fair_loss`. It is a pytree: if it is an argument of a jitted function, the matrix is
    not compiled into that function.

    Parameters
    ----------
    matrix : array of shape (n, K)
        A; without columns for fair targets.
    distance : Distance
        h, one per statistic.
    strength : float
        λ.
    weight : array of shape (n,), optional
        w, the sample weights over their mean.
    shift : array of shape (n,), optional
        d, the shift of the labels by fair targets at full strength.
    loss : Loss, default=LogLoss()
        ℓ, with the mean of a margin.

    Notes
    -----
    After n rows p° is replaced by the last score of each row and ζ° is summed again, so that no
    rounding error accumulates. Before that p° is ½, the score of a logit of 0, unless ``init`` is
    given logits.

    If h is a square and the batches are parts of shuffles of the rows, the mean of the gradient at
    given scores over all shuffles is that of the full sample: the covariance of ζ̂ with its own
    slope, weighted by m/n, cancels the negative covariance of two disjoint batches. Batches drawn
    with replacement have m/n of the bias that a penalty of the batch alone would have.

    Scores that are NaN make the loss NaN and are not kept. For row numbers out of range see
    ``__call__``.

    References
    ----------
    Johnson & Zhang (2013), "Accelerating stochastic gradient descent using predictive variance
    reduction", for sums corrected by the sums of a reference.
    """

    matrix: Array
    distance: Distance
    strength: Any
    weight: Array | None = None
    shift: Array | None = None
    loss: Loss = field(default_factory=LogLoss)

    @classmethod
    def of(cls, objective: Objective) -> FairJaxLoss:
        """Return the loss of an objective, in float64 if JAX is configured for it."""
        _register()
        jnp = engine().numpy
        penalty, weight = objective.penalty.map(jnp.asarray), objective.sample_weight
        if weight is not None:
            weight = jnp.asarray(weight * (len(weight) / objective.total_weight))
        shift = None if objective.shift is None else jnp.asarray(objective.shift)
        return cls(
            penalty.matrix, penalty.distance, objective.strength, weight, shift, objective.loss
        )

    @property
    def n_rows(self) -> int:
        """How many rows there are to train on."""
        return int(self.matrix.shape[0])

    def at(self, strength: float) -> FairJaxLoss:
        """Return the same loss with another λ; a jitted function is not compiled again."""
        check_strength(strength, shifted=self.shift is not None)
        return replace(self, strength=float(strength))

    def init(self, logits: Any = None) -> LossState:
        """Return the state before the first batch.

        Parameters
        ----------
        logits : float array of shape (n,) or (n, 1), optional
            The margins of all rows, if training continues from a model; 0 by default.

        Returns
        -------
        LossState
        """
        jnp, dtype = engine().numpy, self.matrix.dtype
        n_rows = self.n_rows if self.matrix.shape[1] else 0  # nothing to keep for fair targets
        scores = jnp.full(n_rows, 0.5, dtype)
        if logits is not None and n_rows:
            scores = self.loss.mean(self._column(logits, n_rows, "logits"))[0].astype(dtype)
        anchor = self.matrix.T[:, :n_rows] @ scores
        return LossState(scores, scores, anchor, anchor, jnp.zeros((), "int32"))

    def __call__(
        self, state: LossState, logits: Any, y: Any, rows: Any = None
    ) -> tuple[Array, LossState]:
        """Return the loss of a batch, and the state for the next.

        Parameters
        ----------
        state : LossState
            The result of ``init`` or of the call before.
        logits : float array of shape (m,) or (m, 1)
            The model's margins at the rows of the batch, before any sigmoid.
        y : array of shape (m,) or (m, 1)
            Their labels, 0/1.
        rows : integer array of shape (m,)
            Their row numbers among the n rows, from 0. A number out of range raises; under a
            transformation of JAX, which hides the values, it makes the loss NaN. Not needed for all
            rows in order.

        Returns
        -------
        loss : array of shape ()
        state : LossState
        """
        rows = None if rows is None else self._checked_rows(rows)
        n_batch = self.n_rows if rows is None else rows.shape[0]
        logits, y = self._column(logits, n_batch, "logits"), self._column(y, n_batch, "y")
        if rows is not None:  # in a product, so that the gradient is NaN as well
            logits = logits * engine().numpy.where(rows < self.n_rows, 1, np.nan)
        utility = self._mean_loss(logits, y, rows)
        if not self.matrix.shape[1]:
            return utility, state
        scores, _ = self.loss.mean(logits)
        share, stop = n_batch / self.n_rows, engine().lax.stop_gradient
        change = scores - _take(state.reference, rows)
        drawn = state.anchor + _take(self.matrix, rows).T @ change / share
        steady = share * drawn + (1 - share) * state.previous
        penalty = self.distance.value(drawn + stop(steady - drawn))
        loss = Losses(utility, penalty).whole(self.strength)
        return loss, self._kept(state, stop(scores), stop(drawn), rows)

    def statistics(self, state: LossState) -> Array:
        """Return ζ of all rows at the last score of each."""
        return self.matrix.T[:, : len(state.latest)] @ state.latest

    def _mean_loss(self, logits: Array, y: Array, rows: Array | None) -> Array:
        if self.shift is not None:
            y = y + self.strength * _take(self.shift, rows)
        weight = None if self.weight is None else _take(self.weight, rows)
        return self.loss.value(logits, y, weight)

    def _kept(self, state: LossState, scores: Array, drawn: Array, rows: Array | None) -> LossState:
        """Return the state with the scores of a batch, and after n rows a new reference."""
        jax = engine()
        jnp, dtype = jax.numpy, self.matrix.dtype
        scores = jnp.where(jnp.isnan(scores), _take(state.latest, rows), scores).astype(dtype)
        previous = jnp.where(jnp.isnan(drawn), state.anchor, drawn).astype(dtype)
        latest = scores if rows is None else state.latest.at[rows].set(scores, mode="drop")
        n_since = state.n_since + scores.shape[0]
        return jax.lax.cond(
            n_since >= self.n_rows,
            lambda: LossState(latest, latest, self.matrix.T @ latest, previous, n_since * 0),
            lambda: LossState(state.reference, latest, state.anchor, previous, n_since),
        )

    def _checked_rows(self, rows: Any) -> Array:
        """Return row numbers; those out of range raise if they are known, else become n."""
        jnp = engine().numpy
        numbers = jnp.asarray(rows)
        if numbers.ndim != 1 or not jnp.issubdtype(numbers.dtype, jnp.integer):
            raise TypeError(
                f"rows must be row numbers, integers of shape (m,); got {numbers.dtype} of shape "
                f"{numbers.shape}"
            )
        if not numbers.shape[0]:
            raise ValueError("rows is empty: a batch needs at least one row")
        known = _known(rows)
        if known is not None and not 0 <= known.min() <= known.max() < self.n_rows:
            wrong = known.min() if known.min() < 0 else known.max()
            raise ValueError(
                f"rows must lie between 0 and {self.n_rows - 1}, the training rows; got {wrong}"
            )
        numbers = numbers.astype("int32")
        return jnp.where(numbers < 0, self.n_rows, numbers)  # JAX counts −1 from the end

    def _column(self, values: Any, n_batch: int, role: str) -> Array:
        """Return floats of shape (m,), in the precision of the matrix or a higher one."""
        jnp = engine().numpy
        column = jnp.asarray(values)
        if column.shape not in ((n_batch,), (n_batch, 1)):
            raise ValueError(
                f"{role} has shape {column.shape}; expected ({n_batch},) or ({n_batch}, 1), one "
                "number for each row of the batch"
            )
        if role == "logits" and not jnp.issubdtype(column.dtype, jnp.floating):
            raise TypeError(f"logits must be floats; got an array of {column.dtype}")
        known = _known(values) if role == "y" else None
        if known is not None and not (known.min() >= 0 and known.max() <= 1):
            raise ValueError("y must be 0 or 1; it has other values or NaN")
        dtype = jnp.promote_types(column.dtype, self.matrix.dtype)
        return column.reshape(n_batch).astype(dtype)


def fair_loss(
    criterion: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    strength: float | None = None,
    sample_weight: Any = None,
    groups: Grouping | None = None,
) -> FairJaxLoss:
    """Return the loss for training any JAX model, in batches or on all rows.

    It is made for these rows; a batch is identified by its row numbers. It is pure: ``value, state
    = loss(state, logits, y, rows)`` works with ``jax.value_and_grad`` and ``has_aux=True``, and
    under ``jit``, ``vmap`` and ``lax.scan``.

    Parameters
    ----------
    criterion : FairTarget, DirectEffect, Parity, EqualOpportunity, EqualizedOdds, or one fitted
        Fair targets to train on, or a penalty; None means `FairTarget`.
    X : table of shape (n_samples, n_features)
        Covariates, without the sensitive attribute; only the criterion uses them.
    y : column of length n_samples
        Labels of two classes.
    sensitive_features : column of length n_samples
        The sensitive attribute, two levels.
    strength : float, optional
        λ; by default 1 for fair targets and .9 for a penalty. ``loss.at(λ)`` changes it.
    sample_weight : column of length n_samples, optional
        Weights of the rows; batches must not be drawn by them.
    groups : Grouping, optional
        How the sensitive attribute is read, such as its reference level.

    Returns
    -------
    FairJaxLoss

    Examples
    --------
    Two rows of each group have the scores ¾ and ¼: a gap of ½. At half strength the loss is ½·½²
    plus half the log-loss, −½·log ¾.

    >>> import numpy as np
    >>> from unsway import Parity, fair_loss
    >>> X, y, z = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([1, 1, 0, 0]), [1, 1, 0, 0]
    >>> loss = fair_loss(Parity(), X, y, sensitive_features=z, strength=0.5)
    >>> logits = np.log(3) * np.array([1.0, 1.0, -1.0, -1.0])
    >>> value, state = loss(loss.init(), logits, y, np.arange(4))
    >>> round(float(value), 4), round(0.5 * 0.25 - 0.5 * np.log(0.75), 4).item()
    (0.2688, 0.2688)
    """
    engine()
    rows = X, y, sensitive_features, sample_weight, groups
    return FairJaxLoss.of(objective_on(criterion, strength, *rows))


def _take(array: Array, rows: Array | None) -> Array:
    """Return some rows of an array, or all; 0 for a row out of range, where JAX takes the last."""
    return array if rows is None else array.at[rows].get(mode="fill", fill_value=0)


def _known(array: Any) -> Any:
    """Return a NumPy array, or None if a transformation of JAX hides the values."""
    try:
        return np.asarray(array)
    except engine().errors.TracerArrayConversionError:
        return None


@cache
def _register() -> None:
    """Register the classes as pytrees, once JAX is loaded."""
    register = engine().tree_util.register_dataclass
    for cls in (Distance, LossState, FairJaxLoss):
        names = [each.name for each in fields(cls)]
        fixed = ["loss"] if "loss" in names else []
        register(cls, data_fields=[name for name in names if name not in fixed], meta_fields=fixed)
