"""The surrogate: what z and the propensity score b alone say about a label or a score.

It regresses a target on Γ = [1, b, …, b^M, z, zb, …, zb^N2] by least squares. The coefficients of z
are the mean-field controlled direct effect (MFCDE): what z still does once b is held.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import linalg
from scipy.interpolate import BSpline

from .._typing import Floats, Reduce
from ..checks import check_choice

#: Families of functions of b.
BASES = ("polynomial", "spline")

#: A scaled Γ with a larger condition number than this is refused.
MAX_CONDITION = 1e7


#: Bins of [0, 1] in which workers count their propensities.
_BINS = 10_000


class IllPosedSurrogateError(ValueError):
    """The propensity score and z do not identify the surrogate's coefficients."""


@dataclass(frozen=True)
class ScoreBasis:
    """A constant and ``degree`` further functions of b: powers, or cubic B-splines.

    A cubic spline needs three functions before it has a knot, so splines of degree up to 3 are the
    powers; each further degree adds one knot, at quantiles of b.

    Examples
    --------
    >>> import numpy as np
    >>> ScoreBasis.of("polynomial", 2, np.array([0.1, 0.9]))(np.array([0.5])).tolist()
    [[1.0, 0.5, 0.25]]
    """

    degree: int
    knots: Floats | None = None

    @classmethod
    def of(
        cls,
        kind: str,
        degree: int,
        scores: Floats,
        sample_weight: Floats | None = None,
        reduce: Reduce | None = None,
    ) -> Self:
        """Build the basis; spline knots follow the (weighted) quantiles of these scores."""
        check_choice(kind, "basis", BASES)
        if kind == "polynomial" or degree <= 3:
            return cls(degree)
        if reduce is not None:
            values, mass = _histogram(scores, sample_weight, reduce)
        else:
            values, owner = np.unique(scores, return_inverse=True)
            mass = np.asarray(np.bincount(owner, sample_weight), dtype=np.float64)
            values, mass = values[mass > 0], mass[mass > 0]
        middle = (np.cumsum(mass) - mass / 2) / mass.sum()
        inner = np.interp(np.linspace(0, 1, degree - 1)[1:-1], middle, values)
        low, high = values[0], values[-1]
        inner = np.unique(inner[(inner > low) & (inner < high)])
        return cls(len(inner) + 3, np.r_[[low] * 4, inner, [high] * 4])

    def containing(self, other: ScoreBasis) -> ScoreBasis:
        """Return the basis with the other's knots as well, so that it spans both."""
        if other.knots is None or self.knots is None:
            return self
        inner = np.union1d(self.knots[4:-4], other.knots[4:-4])
        return ScoreBasis(len(inner) + 3, np.r_[self.knots[:4], inner, self.knots[-4:]])

    def __call__(self, scores: Floats) -> Floats:
        """Return the (n, degree+1) matrix of the functions, the constant first."""
        if self.knots is None:
            return np.vander(scores, self.degree + 1, increasing=True)
        if not len(scores):  # a worker without rows; SciPy would ask for their range
            return np.empty((0, self.degree + 1))
        inside = np.clip(scores, self.knots[0], self.knots[-1])
        splines = BSpline.design_matrix(inside, self.knots, 3).toarray()
        splines[:, 0] = 1  # they sum to one, so the constant may stand for the first of them
        return splines


@dataclass(frozen=True)
class Surrogate:
    """A fitted surrogate E[target | z, b] = α(b) + z·β(b).

    Examples
    --------
    Among rows with one propensity, the direct effect is the difference of means:

    >>> import numpy as np
    >>> b, z = np.array([0.2, 0.2, 0.8, 0.8]), np.array([0.0, 1.0, 0.0, 1.0])
    >>> fitted = fit_surrogate(np.array([0.1, 0.3, 0.5, 0.7]), b, z)
    >>> round(float(fitted.effect(np.array([0.5]))[0]), 6)
    0.2
    >>> round(float(fitted.fair(np.array([0.5]))[0]), 6)
    0.4
    """

    outcome_basis: ScoreBasis
    effect_basis: ScoreBasis
    outcome_coefficients: Floats
    effect_coefficients: Floats

    def effect(self, scores: Floats) -> Floats:
        """Return MFCDE(b) = E[y|1,b] − E[y|0,b] = Σ_k β_k b^k."""
        return self.effect_basis(scores) @ self.effect_coefficients

    def outcome(self, z: Floats, scores: Floats) -> Floats:
        """Return E[y | z, b]."""
        return self.outcome_basis(scores) @ self.outcome_coefficients + z * self.effect(scores)

    def fair(self, scores: Floats) -> Floats:
        """Return γ(b) = E[y|0,b] + ½ MFCDE(b), what a fair score should average to at b."""
        return self.outcome(np.full_like(scores, 0.5), scores)

    def fair_target(self, y: Floats, z: Floats, scores: Floats) -> Floats:
        """Return y_f = y + ½(−1)^z MFCDE(b): plus half the effect for z=0, minus half for z=1."""
        return y + (0.5 - z) * self.effect(scores)

    @property
    def fair_coefficients(self) -> Floats:
        """γ_k = α_k + ½β_k, for powers of b."""
        if self.outcome_basis.knots is not None or self.effect_basis.knots is not None:
            raise ValueError("fair_coefficients exist for polynomials only; use fair(b)")
        gamma = self.outcome_coefficients.copy()
        gamma[: len(self.effect_coefficients)] += self.effect_coefficients / 2
        return gamma


@dataclass(frozen=True)
class SurrogateDesign:
    """Γ, decomposed once: √w·Γ = QR, for as many targets as wanted.

    Parameters
    ----------
    outcome_basis, effect_basis : ScoreBasis
        α's and β's functions of b.
    q, r : array
        The decomposition; q has one row per person.
    root_weight : array or None
        √w.
    reduce : callable, optional
        Sums a small array over the workers that the rows are spread over.
    """

    outcome_basis: ScoreBasis
    effect_basis: ScoreBasis
    q: Floats
    r: Floats
    root_weight: Floats | None
    reduce: Reduce | None = None

    @classmethod
    def of(
        cls,
        scores: Floats,
        z: Floats,
        *,
        outcome_degree: int = 1,
        effect_degree: int = 0,
        basis: str = "polynomial",
        sample_weight: Floats | None = None,
        reduce: Reduce | None = None,
    ) -> Self:
        """Decompose Γ for these rows and those of other workers, or explain why it cannot be."""
        most = max(outcome_degree, effect_degree)
        effect = ScoreBasis.of(basis, effect_degree, scores, sample_weight, reduce)
        outcome = ScoreBasis.of(basis, most, scores, sample_weight, reduce).containing(effect)
        cut = outcome.degree + 1
        gamma = np.empty((len(scores), cut + effect.degree + 1), order="F")
        gamma[:, :cut] = outcome(scores)
        gamma[:, cut:] = effect(scores)
        gamma[:, cut:] *= z[:, None]
        root = None if sample_weight is None else np.sqrt(sample_weight)
        if root is not None:
            gamma *= root[:, None]
        n_rows = len(scores) if reduce is None else int(reduce(np.array([float(len(scores))]))[0])
        if n_rows < gamma.shape[1]:
            raise IllPosedSurrogateError(
                f"{n_rows} rows cannot determine {gamma.shape[1]} surrogate coefficients"
            )
        if reduce is None:
            q, r = linalg.qr(gamma, mode="economic", overwrite_a=True, check_finite=False)
            _check_condition(r, scores, z)
        else:
            q, r = _cholesky_qr(gamma, reduce)
            _check_condition(r, *_two_histograms(scores, z, reduce))
            q, again = _cholesky_qr(q, reduce)  # what the first time lost to rounding
            r = again @ r
        return cls(outcome, effect, q, r, root, reduce)

    def fit(self, target: Floats) -> Surrogate:
        """Return the surrogate of a label or a score."""
        weighted = target if self.root_weight is None else target * self.root_weight
        sums = self.q.T @ weighted
        zeta = linalg.solve_triangular(self.r, sums if self.reduce is None else self.reduce(sums))
        cut = self.outcome_basis.degree + 1
        return Surrogate(self.outcome_basis, self.effect_basis, zeta[:cut], zeta[cut:])

    def orthonormal_rows(self) -> Floats:
        """Return √w·Q, whose columns span Γ's and whose first is the constant direction."""
        return self.q if self.root_weight is None else self.q * self.root_weight[:, None]

    def coefficient_rows(self, first: int = 0) -> Floats:
        """Return A with Aᵀ·target = the coefficients from the `first` on: √w·Q·R⁻ᵀ."""
        inverse = linalg.solve_triangular(self.r, np.eye(len(self.r)))
        return self.orthonormal_rows() @ inverse[first:].T


def fit_surrogate(
    target: Floats,
    scores: Floats,
    z: Floats,
    *,
    outcome_degree: int = 1,
    effect_degree: int = 0,
    basis: str = "polynomial",
    sample_weight: Floats | None = None,
) -> Surrogate:
    """Regress a label or a score on z and the propensity score b.

    Parameters
    ----------
    target : array of shape (n,)
        y, or any model's scores.
    scores, z : array of shape (n,)
        b, and the sensitive attribute as 0/1.
    outcome_degree : int, default=1
    effect_degree : int, default=0
        N1 and N2, the numbers of functions of b in α and in β, the constant not counted. α has at
        least as many as β.
    basis : {"polynomial", "spline"}, default="polynomial"
        Powers of b, or cubic B-splines.
    sample_weight : array of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    Surrogate
    """
    design = SurrogateDesign.of(
        scores,
        z,
        outcome_degree=outcome_degree,
        effect_degree=effect_degree,
        basis=basis,
        sample_weight=sample_weight,
    )
    return design.fit(target)


def _cholesky_qr(gamma: Floats, reduce: Reduce) -> tuple[Floats, Floats]:
    """Decompose rows spread over workers by their Gram matrix; Q is NaN where Γ is singular.

    Done twice it is as accurate as Householder's QR up to condition numbers of about 1e8
    (Yamamoto et al. 2015, "Roundoff error analysis of the CholeskyQR2 algorithm").
    """
    gram = reduce(gamma.T @ gamma)
    lengths = np.sqrt(np.diag(gram))
    scale = np.where(lengths > 0, lengths, 1)
    try:
        r = linalg.cholesky(gram / np.outer(scale, scale)) * scale
    except linalg.LinAlgError:
        return np.full_like(gamma, np.nan), np.diag(scale) * 0
    return linalg.solve_triangular(r, gamma.T, trans="T").T, r


def _histogram(
    scores: Floats, sample_weight: Floats | None, reduce: Reduce
) -> tuple[Floats, Floats]:
    """Return where the propensities of all workers lie, in steps of 1/_BINS, and their weight."""
    counts, _ = np.histogram(scores, _BINS, (0.0, 1.0), weights=sample_weight)
    mass = reduce(counts.astype(np.float64))
    filled = np.flatnonzero(mass)
    return (filled + 0.5) / _BINS, mass[filled]


def _two_histograms(scores: Floats, z: Floats, reduce: Reduce) -> tuple[Floats, Floats]:
    """Return where either group's propensities lie, as few rows of b and z."""
    found = [_histogram(scores[z == level], None, reduce)[0] for level in (0, 1)]
    return np.concatenate(found), np.repeat([0.0, 1.0], [len(each) for each in found])


def condition_number(r: Floats) -> float:
    """Return the condition number of the columns, each scaled to length 1.

    Examples
    --------
    >>> condition_number(np.diag([1.0, 1000.0]))
    1.0
    """
    lengths = np.linalg.norm(r, axis=0)
    return float(np.linalg.cond(r / np.where(lengths > 0, lengths, 1)))


def _check_condition(r: Floats, scores: Floats, z: Floats) -> None:
    if z.min() == z.max():
        raise IllPosedSurrogateError(f"z is {z[0]:g} for every row; both groups are needed")
    condition = condition_number(r)
    low, high = scores[z == 0], scores[z == 1]
    separated = low.max() < high.min() or high.max() < low.min()
    if condition <= MAX_CONDITION and not separated:
        return
    if np.ptp(scores) < 1e-8:
        reason = (
            f"the propensity score is {scores[0]:.3g} for every row: X says nothing about z, so "
            "there is no proxy to correct. Use Parity, or a propensity model that can see more"
        )
    elif separated:
        reason = (
            "the groups do not overlap: every propensity score of one group lies above all of the "
            "other's, so no two comparable rows exist. Drop the columns of X that reveal z"
        )
    else:
        reason = (
            f"the surrogate has a condition number of {condition:.1e} (at most {MAX_CONDITION:.0e} "
            f"is allowed) with {len(np.unique(scores))} distinct propensity scores. Lower "
            "outcome_degree and effect_degree"
        )
    raise IllPosedSurrogateError(reason)
