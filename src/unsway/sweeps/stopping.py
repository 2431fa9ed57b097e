"""When a random search may stop: a bound on the chance that one more candidate would do better.

Candidates are independent draws from one distribution, and J is the number they are chosen by.
After m of them, p_m = P(a further one has J above the best of the m). At any m fixed beforehand

    E[p_m] ≤ 1/(m+1),   P(p_m > 1 − δ^{1/m}) ≤ δ,

the first by exchangeability, the second because p_m > q needs all m to be below the (1−q)-quantile.
Whoever looks after every candidate and stops at will needs a bound that holds for all m at once.
With U_i = P(J > J_i), uniform where J has no ties and smaller than uniform where it has, p_m is
min_{i≤m} U_i. A decreasing sequence q_1 ≥ q_2 ≥ … is crossed first at m with probability

    κ_m = (1−q_m)^m − Σ_{j<m} κ_j (1−q_m)^{m−j},

which says: all U_i above q_m, less the cases that had crossed before. Choosing q_m so that
κ_m = δ·s_m with Σ s_m = 1 gives P(p_m > q_m for some m) ≤ δ whatever the distribution of J and
whatever the reason to stop. s_m = m^{-1/2} − (m+1)^{-1/2} is good between 20 and some hundreds. The
bound holds for any ε ≥ 0 in "better by more than ε", since that is rarer.

A published relative is "Statistical guarantees in the search for less discriminatory algorithms",
arXiv:2512.23943.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq

from ..checks import check_integer, check_number

#: As accurately as the bounds are solved for, rounded up.
_ACCURACY = 1e-10


@lru_cache(maxsize=32)
def anytime_bounds(n_most: int, delta: float) -> tuple[float, ...]:
    """Return q_1, …, q_n: with probability 1−δ the chance p_m is at most q_m for all m at once.

    Examples
    --------
    >>> bounds = anytime_bounds(100, 0.05)
    >>> [round(bounds[m - 1], 3) for m in (1, 10, 100)]
    [0.985, 0.459, 0.074]
    """
    spent: list[float] = []
    found: list[float] = []
    for m in range(1, n_most + 1):
        wanted = delta * (m**-0.5 - (m + 1) ** -0.5)
        earlier, powers = np.array(spent), m - np.arange(1, m)

        def crossing(q: float, m: int = m, earlier: Any = earlier, powers: Any = powers) -> float:
            kept = np.log1p(-q)
            return float(np.exp(m * kept) - earlier @ np.exp(powers * kept))

        top = found[-1] if found else 1 - 1e-12
        q = top
        if crossing(top) < wanted:
            root = brentq(lambda q, w=wanted: crossing(q) - w, 0.0, top, xtol=_ACCURACY / 10)
            q = min(top, float(root) + _ACCURACY)
        found.append(q)
        spent.append(max(0.0, crossing(q)))
    return tuple(found)


def fixed_bound(m: int, delta: float) -> float:
    """Return 1 − δ^{1/m}, the bound for an m that was fixed before the search.

    Examples
    --------
    >>> round(fixed_bound(59, 0.05), 3)
    0.05
    """
    return float(-np.expm1(np.log(delta) / m))


@dataclass(frozen=True, kw_only=True)
class Stopping:
    """When a search stops, and what is said then.

    Parameters
    ----------
    chance : float, default=0.1
        Stop when the bound on the chance that one more candidate is better is at most this.
    delta : float, default=0.05
        The share of searches in which the bound may be wrong.
    epsilon : float, default=0.0
        Better by more than this is better.
    """

    chance: float = 0.1
    delta: float = 0.05
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        check_number(self.chance, "chance", above=0, below=1)
        check_number(self.delta, "delta", above=0, below=1)
        check_number(self.epsilon, "epsilon", at_least=0)

    def bound(self, m: int, n_most: int) -> float:
        """Return the bound after m candidates of at most n; 1 before the first."""
        check_integer(m, "m", at_least=0)
        return 1.0 if m == 0 else anytime_bounds(max(m, n_most), self.delta)[m - 1]

    def holds(self, m: int, n_most: int) -> bool:
        """Return whether the search may stop after m candidates."""
        return self.bound(m, n_most) <= self.chance

    def enough(self, n_most: int) -> int | None:
        """Return after how many candidates it stops; None if not before the last."""
        bounds = anytime_bounds(n_most, self.delta)
        return next((m for m, q in enumerate(bounds, start=1) if q <= self.chance), None)

    def statement(self, m: int, n_most: int, axis: str) -> str:
        """Return what may be said after m candidates, as a sentence."""
        beyond = f" by more than {self.epsilon:g}" if self.epsilon else ""
        return (
            f"{m} candidates were drawn at random. On the validation rows, one more draw from the "
            f"same distribution beats the best {axis}{beyond} with a chance of at most "
            f"{self.bound(m, n_most):.3f}; statements made this way, at whatever moment a search "
            f"is stopped, are right in at least {1 - self.delta:.0%} of searches. With m fixed "
            f"beforehand the chance is {1 / (m + 1):.3f} on average over searches, at most."
        )
