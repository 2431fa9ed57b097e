"""What an omitted variable can do to an effect: formulas on a few numbers, no data.

An omitted variable U is as strong as the two partial R² it has: `r2_z`, the share it explains of
what X leaves of z, and `r2_y`, of what z and X leave of y. `sensitivity` computes them from data.

References
----------
Cinelli & Hazlett (2020), Making sense of sensitivity: extending omitted variable bias, JRSS B
82(1), 39-67. VanderWeele & Ding (2017), Sensitivity analysis in observational research:
introducing the E-value, Annals of Internal Medicine 167(4), 268-274.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from ..checks import check_choice, check_number

#: What a number given to `e_value` may be.
SCALES = ("risk_ratio", "odds_ratio", "risk_difference")


class ImpossibleConfounderError(ValueError):
    """No confounder can be as strong as asked: it would explain more of z than there is."""


def partial_r2(t_statistic: float, dof: float) -> float:
    """Return the share of what is left of y that z explains: t²/(t² + dof).

    A confounder that explains all that is left of y must explain as much of z to undo the effect.

    Examples
    --------
    >>> partial_r2(3.0, 27)
    0.25
    """
    return extreme_robustness_value(t_statistic, dof)


def robustness_value(t_statistic: float, dof: float, q: float = 1.0, alpha: float = 1.0) -> float:
    """Return how much of both z and y a confounder must explain to take the share q off the effect.

    With f = q·|t|/√dof − t*/√(dof−1), t* the critical value of a test at level alpha, it is
    ½(√(f⁴ + 4f²) − f²), or `extreme_robustness_value` where a weaker link with y does more harm.

    Parameters
    ----------
    t_statistic, dof : float
        The effect over its standard error, and the residual degrees of freedom.
    q : float, default=1.0
        Share of the effect taken off; 1 brings it to zero.
    alpha : float, default=1.0
        Below 1, it is enough that a test at this level no longer tells the effect from 1−q times
        what was measured; 1 looks at the estimate alone.

    Returns
    -------
    float

    Examples
    --------
    >>> robustness_value(3.0, 4)  # f = 1.5: ½(√(5.0625 + 9) − 2.25)
    0.75
    """
    f, critical = _cohen_f(t_statistic, dof, q, alpha)
    if f * critical > 1:
        return extreme_robustness_value(t_statistic, dof, q, alpha)
    square = max(0.0, f - critical) ** 2
    return float((np.sqrt(square**2 + 4 * square) - square) / 2)


def extreme_robustness_value(
    t_statistic: float, dof: float, q: float = 1.0, alpha: float = 1.0
) -> float:
    """Return how much of z a confounder must explain, its link with y being whatever harms most.

    (f² − f*²)/(1 + f²) with f = q·|t|/√dof and f* = t*/√(dof−1), or 0 where f ≤ f*.

    Examples
    --------
    >>> extreme_robustness_value(3.0, 27)
    0.25
    """
    f, critical = _cohen_f(t_statistic, dof, q, alpha)
    return float(max(0.0, (f**2 - critical**2) / (1 + f**2)))


def adjusted_effect(
    estimate: float, se: float, dof: float, r2_z: float, r2_y: float, *, reduce: bool = True
) -> tuple[float, float]:
    """Return the effect that a regression with the confounder in it finds, and its standard error.

    ::

        sign(τ)·(|τ| ∓ se·√(dof·r2_y·r2_z/(1−r2_z)))      se·√((1−r2_y)/(1−r2_z)·dof/(dof−1))

    minus where the confounder inflated the effect (`reduce`), plus where it hid some.

    Examples
    --------
    >>> estimate, se = adjusted_effect(0.1, 0.02, 100, 0.2, 0.04)
    >>> print(f"{estimate:.2f} {se:.4f}")  # 0.1 − 0.2·√0.01, .02·√(1.2·100/99)
    0.08 0.0220
    """
    check_number(se, "se", above=0)
    _check_dof(dof)
    _check_strengths(r2_z, r2_y)
    bias = se * np.sqrt(dof * r2_y * r2_z / (1 - r2_z))
    adjusted = np.copysign(1.0, estimate) * (abs(estimate) + (-bias if reduce else bias))
    return float(adjusted), float(se * np.sqrt((1 - r2_y) / (1 - r2_z) * dof / (dof - 1)))


def effect_bounds(
    estimate: float, se: float, dof: float, r2_z: float, r2_y: float, alpha: float = 1.0
) -> tuple[float, float]:
    """Return the least and the greatest effect that confounders at most this strong allow.

    With alpha below 1, the ends of their 1−alpha intervals: explaining more of y shifts the effect
    but shortens its interval, so the worst link with y may lie below `r2_y`.

    Examples
    --------
    >>> print("{:.2f} {:.2f}".format(*effect_bounds(0.1, 0.02, 100, 0.2, 0.04)))
    0.08 0.12
    """
    _check_strengths(r2_z, r2_y)
    _, critical = _cohen_f(0.0, dof, 1.0, alpha)
    if r2_z > 0:
        r2_y = min(r2_y, r2_z / (r2_z + critical**2))
    half, adjusted_se = adjusted_effect(0.0, se, dof, r2_z, r2_y, reduce=False)
    half += critical * np.sqrt(dof - 1) * adjusted_se
    return float(estimate - half), float(estimate + half)


def benchmark_strength(r2_z: float, r2_y: float, strength: float = 1.0) -> tuple[float, float]:
    """Return the partial R² of a confounder `strength` times as strong as a measured covariate.

    `r2_z` is what that covariate explains of z given the others, `r2_y` of y given those and z.
    An `ImpossibleConfounderError` says so where no confounder can be as strong.

    Examples
    --------
    >>> print("{:.4f} {:.4f}".format(*benchmark_strength(1 / 3, 0.2)))
    0.5000 0.7500
    """
    _check_strengths(r2_z, r2_y)
    check_number(strength, "strength", at_least=0)
    of_z, shared = strength * r2_z / (1 - r2_z), 1.0
    if of_z < 1:
        shared = strength * r2_z**2 / ((1 - strength * r2_z) * (1 - r2_z))
    if not shared < 1:
        raise ImpossibleConfounderError(
            f"no confounder is {strength:g} times as strong as a covariate that explains "
            f"{r2_z:.1%} of z: it would explain more than all of z; lower strength"
        )
    growth = (np.sqrt(strength) + np.sqrt(shared)) ** 2 / (1 - shared)
    of_y = growth * r2_y / (1 - r2_y) if r2_y < 1 else 1.0
    return float(of_z), float(min(1.0, of_y))


@dataclass(frozen=True, kw_only=True)
class EValue:
    """The E-value of a risk ratio, and of the limit of its interval nearest to 1."""

    ratio: float
    estimate: float
    limit: float | None = None

    def __repr__(self) -> str:
        limit = "" if self.limit is None else f", {self.limit:.4g} to move the interval to 1"
        return f"E-value {self.estimate:.4g} for a risk ratio of {self.ratio:.4g}{limit}"


def e_value(
    estimate: float,
    low: float | None = None,
    high: float | None = None,
    *,
    scale: str = "risk_ratio",
    rare: bool = False,
    base_risk: float | None = None,
) -> EValue:
    """Return the risk ratio a confounder needs with both z and y to explain an effect on a 0/1 y.

    RR + √(RR·(RR−1)), of 1/RR where RR < 1; and the same for the interval's limit nearest to 1,
    which gives 1 if the interval holds 1.

    Parameters
    ----------
    estimate, low, high : float
        The effect and its interval, either limit of which may be left out.
    scale : {"risk_ratio", "odds_ratio", "risk_difference"}, default="risk_ratio"
        An odds ratio stands for a risk ratio if y is rare, else its square root does. A
        difference d is the risk ratio 1 + d/base_risk.
    rare : bool, default=False
        Whether at most about 15 % have y = 1.
    base_risk : float, optional
        P(y=1) at z = 0, needed for a difference; the interval takes it as known.

    Returns
    -------
    EValue

    Examples
    --------
    >>> e_value(10.73, 8.02, 14.36)  # smoking and lung cancer
    E-value 20.95 for a risk ratio of 10.73, 15.52 to move the interval to 1
    >>> e_value(0.2, scale="risk_difference", base_risk=0.2)  # 2 + √2
    E-value 3.414 for a risk ratio of 2
    """
    given = [x for x in (low, estimate, high) if x is not None]
    if not np.isfinite(given).all() or given != sorted(given):
        raise ValueError(f"need numbers low ≤ estimate ≤ high; got {low}, {estimate}, {high}")
    ratio = _risk_ratio(estimate, scale, rare, base_risk)
    near = low if ratio >= 1 else high
    if near is not None:
        near = _risk_ratio(near, scale, rare, base_risk, limit=True)
        near = _e_value(max(1.0, near if ratio >= 1 else 1 / near))
    return EValue(ratio=ratio, estimate=_e_value(max(ratio, 1 / ratio)), limit=near)


def _e_value(ratio: float) -> float:
    return float(ratio + np.sqrt(ratio * (ratio - 1)))


def _risk_ratio(
    value: float, scale: str, rare: bool, base_risk: float | None, limit: bool = False
) -> float:
    check_choice(scale, "scale", SCALES)
    if scale != "risk_difference":
        if value <= 0:
            raise ValueError(f"a ratio is positive; got {value!r} (scale={scale!r})")
        return float(value**0.5 if scale == "odds_ratio" and not rare else value)
    if base_risk is None or not 0 < base_risk < 1:
        raise ValueError(f"a risk_difference needs a base_risk in (0, 1); got {base_risk!r}")
    if not limit and not 0 < base_risk + value <= 1:
        raise ValueError(f"base_risk {base_risk:g} with the difference {value:g} is no risk")
    return float(1 + value / base_risk)


def _cohen_f(t_statistic: float, dof: float, q: float, alpha: float) -> tuple[float, float]:
    """Return q·|t|/√dof and the critical f* = t*/√(dof−1)."""
    _check_dof(dof)
    check_aim(q, alpha)
    check_number(t_statistic, "t_statistic")
    critical = -stats.t.ppf(alpha / 2, dof - 1) / np.sqrt(dof - 1)
    return float(q * abs(t_statistic) / np.sqrt(dof)), float(max(0.0, critical))


def check_aim(q: float, alpha: float) -> None:
    """Raise unless q is a share to take off and alpha a level of significance."""
    check_number(q, "q", above=0)
    check_number(alpha, "alpha", above=0, at_most=1)


def _check_dof(dof: float) -> None:
    check_number(dof, "dof", above=1)  # so that a confounder can be added


def _check_strengths(r2_z: float, r2_y: float) -> None:
    check_number(r2_z, "r2_z", at_least=0, below=1)
    check_number(r2_y, "r2_y", at_least=0, at_most=1)
