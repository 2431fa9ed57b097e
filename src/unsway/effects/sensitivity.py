"""How strong something unmeasured would have to be to change what is said about the effect of z.

The direct effect of z on y is what is left once X is held fixed. Two kinds of omitted variable U
pass for a part of it: a confounder, an unmeasured cause of y that goes with z, and a mediator, a
step from z to y that X does not hold. The first makes the estimate wrong; the second makes it mean
"direct as far as X can tell". Nothing here says whether such a U exists, only how strong it must
be. Strength is a partial R²: `r2_z` is the share U explains of what X leaves of z, `r2_y` of what
z and X leave of y. The effect is the coefficient of z in a linear regression of y on z and X, which
weighs people by overlap; it is neither direct_reference nor direct_group.

References
----------
Cinelli & Hazlett (2020), Making sense of sensitivity: extending omitted variable bias, JRSS B
82(1), 39-67. VanderWeele & Ding (2017), Sensitivity analysis in observational research:
introducing the E-value, Annals of Internal Medicine 167(4), 268-274.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from .._typing import Floats
from ..checks import check_number
from ..frames import frame_of
from ..grouping import Grouping
from ..outcome import Outcome
from ..rows import Rows
from ..tables import columns
from .confounding import (
    EValue,
    ImpossibleConfounderError,
    adjusted_effect,
    benchmark_strength,
    check_aim,
    e_value,
    effect_bounds,
    extreme_robustness_value,
    partial_r2,
    robustness_value,
)
from .encoding import TableEncoder
from .estimate import Estimate

#: Rows of the design made dense at a time.
CHUNK = 16_384

#: A column that others explain but for this share of its length counts as explained.
TOLERANCE = 1e-9


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """What a confounder some times as strong as a measured covariate would leave of the effect.

    NaN where no confounder can be as strong.
    """

    benchmark: str
    strength: float
    r2_z: float
    r2_y: float
    estimate: float
    se: float
    low: float
    high: float

    def __repr__(self) -> str:
        label = f"{self.strength:g} x {self.benchmark}"
        if np.isnan(self.r2_z):
            return f"{label}: no confounder can be as strong"
        interval = f"{self.estimate:.4f} [{self.low:.4f}, {self.high:.4f}]"
        return f"{label}: {self.r2_z:.2%} of z, {self.r2_y:.2%} of y, effect {interval}"


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """The effect of z and what it would take to change it; made by `sensitivity`.

    `robustness_value` and `extreme_robustness_value` are about the estimate,
    `robustness_value_alpha` about its significance at level `alpha`; `e_value` is there for a 0/1 y
    whose two risks, P(y=1) at z = 0 and with the effect added, are risks.
    """

    effect: Estimate
    dof: int
    q: float
    alpha: float
    partial_r2: float
    robustness_value: float
    robustness_value_alpha: float
    extreme_robustness_value: float
    benchmarks: tuple[Benchmark, ...]
    e_value: EValue | None

    def adjusted(self, r2_z: float, r2_y: float) -> Estimate:
        """Return the effect, brought towards zero by a confounder of exactly this strength."""
        effect = self.effect
        estimate, se = adjusted_effect(effect.estimate, effect.se, self.dof, r2_z, r2_y)
        return Estimate.normal(estimate, se, 1 - self.alpha, dof=self.dof - 1)

    def bounds(self, r2_z: float, r2_y: float, alpha: float = 1.0) -> tuple[float, float]:
        """Return the range that confounders at most this strong allow; see `effect_bounds`."""
        return effect_bounds(self.effect.estimate, self.effect.se, self.dof, r2_z, r2_y, alpha)

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row for the effect as measured, and one for each benchmark."""
        nothing = {"strength": 0.0, "r2_z": 0.0, "r2_y": 0.0}
        none = Benchmark(benchmark="(none)", **nothing, **self.effect.to_dict())
        return frame_of([asdict(row) for row in (none, *self.benchmarks)], backend)

    def __repr__(self) -> str:
        aim = "bring the effect to zero" if self.q == 1 else f"take {self.q:.0%} off the effect"
        lines = [
            f"Effect of z, X held fixed: {self.effect}, {self.dof} degrees of freedom",
            f"To {aim}, an unmeasured confounder or mediator would have to explain",
            f"  {self.robustness_value:.2%} of what is left of both z and y;",
            f"  {self.robustness_value_alpha:.2%} of both for a test at level {self.alpha:g} to no "
            "longer tell it from that;",
            f"  {self.extreme_robustness_value:.2%} of z if it explained all that is left of y.",
        ]
        if self.e_value is not None:
            lines.append(repr(self.e_value))
        if self.benchmarks:
            lines.append("One so many times as strong as a measured column would leave:")
            lines += [f"  {row!r}" for row in self.benchmarks]
        return "\n".join(lines)


def sensitivity(
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    benchmarks: Sequence[Any] | Mapping[str, Any] | None = None,
    strengths: Sequence[float] = (1.0, 2.0, 3.0),
    q: float = 1.0,
    alpha: float = 0.05,
    sample_weight: Any = None,
    groups: Grouping | None = None,
) -> Sensitivity:
    """Regress y on z and X, and say how strong an omitted variable must be to change the effect.

    Parameters
    ----------
    X, y : table, column
        Covariates (categories are one-hot, missing values marked) and a numeric or two-class y.
    sensitive_features, groups : column, Grouping
        z, with two levels, and how it is read.
    benchmarks : sequence of names, or mapping from a label to a name or names, optional
        Columns to compare with, alone or as a group; every column of X by default, ``()`` for none.
        A category counts with all its levels. Columns of an array are named by position.
    strengths : sequence of float, default=(1.0, 2.0, 3.0)
        How many times as strong as each benchmark.
    q : float, default=1.0
    alpha : float, default=0.05
        As in `robustness_value`; the intervals are 1−alpha ones.
    sample_weight : array, optional
        Weights of the squares. They are not counts: repeat rows for those.

    Returns
    -------
    Sensitivity

    Notes
    -----
    Errors count as independent and of one variance. Collinear columns are left out of the degrees
    of freedom. A benchmark counts for what it adds to the other columns: group columns that contain
    the same information. The confounder is one that the measured covariates do not explain.

    Examples
    --------
    >>> X = np.tile([[0.0], [1.0]], (8, 1))
    >>> z, y = np.repeat([0, 1], 8), np.r_[np.tile([1.0, 2, 3, 4], 2), np.tile([2.0, 4, 4, 6], 2)]
    >>> found = sensitivity(X, y, sensitive_features=z, strengths=[1])
    >>> print(f"{found.effect.estimate:.2f} {found.dof} {found.partial_r2:.4f}")  # 9/(9 + 17)
    1.50 13 0.3462
    """
    check_aim(q, alpha)
    for strength in strengths:
        check_number(strength, "strength", at_least=0)
    X = X.toarray() if sparse.issparse(X) else X
    rows = Rows.check(
        X,
        y,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        groups=groups,
        read_outcome=Outcome.labels_or_numbers,
    )
    columns_of = _groups(benchmarks, [column.name for column in columns(X)])
    fitted = _Regression.of(rows)
    effect = fitted.effect(alpha)
    t = effect.estimate / effect.se
    base = np.average(rows.y - effect.estimate * rows.z, weights=rows.weights)
    possible = rows.outcome.binary and 0 < base < 1 and 0 < base + effect.estimate <= 1
    limits = (effect.estimate, effect.low, effect.high)
    found = Sensitivity(
        effect=effect,
        dof=fitted.dof,
        q=q,
        alpha=alpha,
        partial_r2=partial_r2(t, fitted.dof),
        robustness_value=robustness_value(t, fitted.dof, q),
        robustness_value_alpha=robustness_value(t, fitted.dof, q, alpha),
        extreme_robustness_value=extreme_robustness_value(t, fitted.dof, q),
        benchmarks=(),
        e_value=e_value(*limits, scale="risk_difference", base_risk=base) if possible else None,
    )
    lines = [
        _benchmark(found, label, strength, explained)
        for label, explained in zip(
            columns_of, map(fitted.explained_by, columns_of.values()), strict=True
        )
        for strength in strengths
    ]
    return replace(found, benchmarks=tuple(lines))


def _benchmark(
    found: Sensitivity, label: str, strength: float, explained: tuple[float, float]
) -> Benchmark:
    (r2_z, r2_y), adjusted = (np.nan, np.nan), Estimate(*[np.nan] * 4)
    with suppress(ImpossibleConfounderError):
        r2_z, r2_y = benchmark_strength(*explained, strength)
        adjusted = found.adjusted(r2_z, r2_y)
    numbers = {"strength": float(strength), "r2_z": r2_z, "r2_y": r2_y, **adjusted.to_dict()}
    return Benchmark(benchmark=label, **numbers)


@dataclass(frozen=True)
class _Regression:
    """√w·[1, X, z, y] as the triangle of its QR, and the column of X behind each of its columns.

    `left` is the same triangle, of 2 by 2, of what X leaves of z and y.
    """

    triangle: Floats
    owners: NDArray[Any]
    dof: int
    left: Floats

    @classmethod
    def of(cls, rows: Rows) -> _Regression:
        weights = rows.mean_one_weights
        encoder = TableEncoder().fit(rows.X)
        matrix, targets = encoder.transform(rows.X), np.column_stack([rows.z, rows.y])
        triangle = np.empty((0, matrix.shape[1] + 3))
        for start in range(0, len(rows), CHUNK):
            some = slice(start, start + CHUNK)
            block = matrix[some].toarray() if sparse.issparse(matrix) else matrix[some]
            block = np.column_stack([np.ones(len(block)), block, targets[some]])
            stacked = np.vstack([triangle, block * np.sqrt(weights[some, None])])
            triangle = np.asarray(np.linalg.qr(stacked, mode="r"))
        owners = np.array(["", *encoder.owners()], dtype=object)
        left, rank = _residuals(triangle, np.full(len(owners), True))
        dof = int((weights > 0).sum()) - rank - 1
        _check_fit(left, triangle, dof)
        return cls(triangle, owners, dof, left)

    def explained_by(self, names: Sequence[str]) -> tuple[float, float]:
        """Return the share of z these columns explain given the others, and of y given z too."""
        keep = ~np.isin(self.owners, names)
        left, _ = _residuals(self.triangle, keep)
        r2_z, r2_y = np.clip(1 - np.diag(self.left) ** 2 / np.diag(left) ** 2, 0, 1)
        return float(r2_z), float(r2_y)

    def effect(self, alpha: float) -> Estimate:
        """Return the coefficient of z with its t interval."""
        (of_z, shared), (_, of_y) = self.left
        se = abs(of_y / of_z) / np.sqrt(self.dof)
        return Estimate.normal(shared / of_z, se, 1 - alpha, dof=self.dof)


def _residuals(triangle: Floats, keep: NDArray[np.bool_]) -> tuple[Floats, int]:
    """Return what the columns kept leave of z and of y, and the rank of the columns.

    With R the triangle of what is left, R₁₁² is left of z, R₂₂² of y once z is in the regression
    too, and R₁₂/R₁₁ is the coefficient of z.
    """
    design, targets = triangle[:, :-2][:, keep], triangle[:, -2:]
    lengths = np.linalg.norm(design, axis=0)
    design = design / np.where(lengths > 0, lengths, 1)
    q, r, _ = linalg.qr(design, mode="economic", pivoting=True)
    rank = int((np.abs(np.diag(r)) > TOLERANCE).sum())
    q = q[:, :rank]
    return np.asarray(np.linalg.qr(targets - q @ (q.T @ targets), mode="r")), rank


def _check_fit(left: Floats, triangle: Floats, dof: int) -> None:
    whole = np.linalg.norm(triangle[:, -2:], axis=0)
    if dof < 2:
        raise ValueError(
            f"the regression of y on z and X leaves {max(dof, 0)} degrees of freedom; at least 2 "
            "are needed. Give more rows, or fewer columns and levels"
        )
    if abs(left[0, 0]) <= 1e-6 * whole[0]:
        raise ValueError(
            "X determines sensitive_features: nothing of z is left once X is held fixed. Drop the "
            "columns that reveal z"
        )
    if abs(left[1, 1]) <= 1e-9 * whole[1]:
        raise ValueError("z and X determine y; there is nothing left for a confounder to explain")


def _groups(benchmarks: Any, known: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns of each benchmark, by its label."""

    def name(column: Any) -> str:
        for spelled in (str(column), f"column {column}"):
            if spelled in known:
                return spelled
        raise ValueError(f"the benchmark {column!r} is no column of X: {', '.join(known)}")

    def names(entry: Any) -> list[str]:
        return [name(x) for x in ([entry] if isinstance(entry, str | int | np.integer) else entry)]

    if not isinstance(benchmarks, Mapping):
        return {each: [each] for each in names(known if benchmarks is None else benchmarks)}
    groups = {str(label): names(entry) for label, entry in benchmarks.items()}
    for label, chosen in groups.items():
        if not chosen:
            raise ValueError(f"the benchmark {label!r} has no columns")
    return groups
