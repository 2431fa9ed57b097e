"""A positive number per row in place of the Hessian, for engines that take no more than that.

A booster weighs a leaf by the sum of its rows' second derivatives. The penalty's true Hessian
is not diagonal, so a choice must be made:

``exact``
    the diagonal of the Hessian, as in the paper. Indefinite, and blind to the part that all rows
    share: boosters overshoot at large λ. Kept for reproduction.
``bound``
    a diagonal that the Hessian, less what bends downwards, cannot exceed along a step shrunk by
    the learning rate η: the quadratic model of such a step always falls.
"""

from __future__ import annotations

from .arrays import Array
from .objective import Expansion, Objective

#: The choices by name.
CURVATURES = ("bound", "exact")


def diagonal(
    objective: Objective, expansion: Expansion, curvature: str = "bound", learning_rate: float = 1.0
) -> Array:
    """Return a curvature per row for W·f.

    Parameters
    ----------
    objective : Objective
        What is minimised.
    expansion : Expansion
        Its expansion at the current margin.
    curvature : {"bound", "exact"}, default="bound"
        Which diagonal.
    learning_rate : float, default=1
        η, the factor by which the engine shrinks its step; ``bound`` alone uses it.

    Returns
    -------
    array of shape (n,)

    Notes
    -----
    With V = diag(p′)·A and c = λ·W·h″::

        exact_i = (1−λ)w_i p′_i + Σ_k c_k V_ik² + bend_i
        bound_i = (1−λ)w_i p′_i + (η/2)·Σ_k c_k |V_ik| Σ_j |V_jk| + max(0, bend_i)

    The bound holds because V_k V_kᵀ is dominated by the diagonal of its absolute row sums, and a
    step shrunk by η descends where the curvature is at least η/2 of the truth. Where the penalty
    knows A·Aᵀ ≤ ρ·diag(w), the middle sum becomes max(c)·ρ·w_i·p′_i², which is tighter.

    Examples
    --------
    >>> import numpy as np
    >>> from unsway.core import Distance, LogLoss, Objective, Penalty
    >>> A = np.array([[0.5], [0.5], [-0.5], [-0.5]])
    >>> parity = Penalty(A, Distance.of(["match"], np.zeros(1)), names=("gap",))
    >>> y = np.array([1.0, 1.0, 0.0, 0.0])
    >>> objective = Objective(LogLoss(), y, penalty=parity, strength=0.5)
    >>> expansion = objective.expand(np.zeros(4))
    >>> diagonal(objective, expansion, "exact").tolist()
    [0.1875, 0.1875, 0.1875, 0.1875]
    >>> diagonal(objective, expansion, "bound").tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    if curvature == "exact":
        shared = (expansion.density**2) * ((objective.penalty.matrix**2) @ expansion.stiffness)
        return expansion.utility_curvature + shared + expansion.bend
    if curvature != "bound":
        raise ValueError(f"unknown curvature {curvature!r}; choose from {', '.join(CURVATURES)}")
    upward = expansion.bend * (expansion.bend > 0)
    return (
        expansion.utility_curvature + learning_rate / 2 * _majorant(objective, expansion) + upward
    )


def _majorant(objective: Objective, expansion: Expansion) -> Array:
    """Return a diagonal D with V·diag(c)·Vᵀ ≤ D."""
    penalty = objective.penalty
    if penalty.spectral is not None:
        largest = penalty.spectral * expansion.stiffness.max()
        rows = largest * expansion.density**2
        return rows if objective.sample_weight is None else rows * objective.sample_weight
    sizes = abs(penalty.matrix)
    column_sums = penalty.reduce(sizes.T @ expansion.density)
    return expansion.density * (sizes @ (expansion.stiffness * column_sums))
