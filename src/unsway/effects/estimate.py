"""An estimate with its uncertainty, from influence functions or from replicates."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

import numpy as np
from joblib import Parallel, delayed
from scipy import special, stats

from .._typing import Floats, Index
from ..checks import check_integer, check_number


@dataclass(frozen=True)
class Estimate:
    """A number, its standard error, and an interval around it.

    Examples
    --------
    >>> Estimate.normal(0.2, 0.01)
    0.2000 ± 0.0100 [0.1804, 0.2196]
    """

    estimate: float
    se: float
    low: float
    high: float

    @classmethod
    def normal(
        cls, estimate: float, se: float, confidence: float = 0.95, *, dof: float | None = None
    ) -> Self:
        """Return the estimate with the interval of a normal, or of a t distribution with `dof`."""
        share = 0.5 + confidence / 2
        half = float(special.ndtri(share) if dof is None else special.stdtrit(dof, share)) * se
        return cls(float(estimate), float(se), float(estimate - half), float(estimate + half))

    def __neg__(self) -> Estimate:
        return Estimate(-self.estimate, self.se, -self.high, -self.low)

    def __repr__(self) -> str:
        return f"{self.estimate:.4f} ± {self.se:.4f} [{self.low:.4f}, {self.high:.4f}]"

    def to_dict(self) -> dict[str, float]:
        """Return the four numbers by name."""
        return {"estimate": self.estimate, "se": self.se, "low": self.low, "high": self.high}


def decimals_of(estimates: Iterable[Estimate]) -> int:
    """Return how many decimals show estimates of this size: four, and fewer from 10 upwards.

    Examples
    --------
    >>> decimals_of([Estimate.normal(0.2, 0.1)]), decimals_of([Estimate.normal(3_200.0, 50.0)])
    (4, 1)
    """
    ends = [abs(end) for each in estimates for end in (each.low, each.high) if np.isfinite(end)]
    size = max(ends, default=0.0)
    return 4 if size < 10 else max(0, 4 - int(np.log10(size)))


def check_confidence(confidence: float) -> None:
    """Raise unless it is a share between 0 and 1."""
    check_number(confidence, "confidence", above=0, below=1)


#: Eigenvalues below this share of the largest are rounding.
_SINGULAR = 1e-12


def simultaneous_factor(
    covariance: Floats, confidence: float = 0.95, *, n_draws: int = 10_000, seed: int = 0
) -> float:
    """Return how many standard errors a band needs to hold all of several estimates at once.

    It is the quantile of max_k |t_k| with t normal, of the estimates' correlation; never less than
    one estimate needs.

    Examples
    --------
    >>> round(simultaneous_factor(np.ones((3, 3))), 1)  # one number three times
    2.0
    """
    se = np.sqrt(np.diag(covariance))
    keep = se > 0
    single = float(stats.norm.ppf(0.5 + confidence / 2))
    if not keep.any():
        return single
    correlation = covariance[np.ix_(keep, keep)] / np.outer(se[keep], se[keep])
    values, vectors = np.linalg.eigh(correlation)
    values[values < _SINGULAR * values[-1]] = 0
    # The symmetric root is the only one: the signs of eigenvectors differ by processor.
    root = (vectors * np.sqrt(values)) @ vectors.T
    draws = np.random.default_rng(seed).standard_normal((n_draws, len(values))) @ root
    return max(single, float(np.quantile(np.abs(draws).max(axis=1), confidence)))


#: Numbers computed from some rows, repeated ones included; it must be picklable.
Statistic = Callable[[Index], Floats]

#: Called with how many replicates are done, and of how many.
Progress = Callable[[int, int], object]


def resample(z: Floats, seed: int, replicate: int, clusters: Index | None = None) -> Index:
    """Return rows drawn with replacement within each level of z, the same for the same numbers.

    With clusters, whole clusters are drawn: within those that are of one level, those of the other,
    and those of both.
    """
    rng = np.random.default_rng([seed, replicate, 0xB007])
    if clusters is not None:
        return _resample_clusters(z, clusters, rng)
    drawn = np.empty(len(z), dtype=np.intp)
    for level in (0.0, 1.0):
        rows = np.flatnonzero(z == level)
        drawn[rows] = rng.choice(rows, len(rows))
    return drawn


def _resample_clusters(z: Floats, clusters: Index, rng: np.random.Generator) -> Index:
    sizes = np.bincount(clusters)
    share = np.bincount(clusters, z) / sizes
    kind = np.where(share == 0, 0, np.where(share == 1, 1, 2))
    drawn = np.concatenate(
        [rng.choice(mine, len(mine)) for k in range(3) if len(mine := np.flatnonzero(kind == k))]
    )
    rows = np.split(np.argsort(clusters, kind="stable"), np.cumsum(sizes)[:-1])
    return np.concatenate([rows[cluster] for cluster in drawn])


def check_replicates(n_replicates: int) -> None:
    """Raise unless there are enough replicates for a standard deviation."""
    check_integer(n_replicates, "n_bootstrap", at_least=2)


def bootstrap(
    statistic: Statistic,
    z: Floats,
    n_replicates: int,
    *,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    clusters: Index | None = None,
) -> Floats:
    """Return the statistic of resampled rows, one line per replicate, whatever the workers."""
    check_replicates(n_replicates)
    run = Parallel(n_jobs=n_jobs, return_as="generator")
    each = (delayed(_replicate)(statistic, z, seed, k, clusters) for k in range(n_replicates))
    results = run(each)
    found = []
    try:
        for done in results:
            found.append(done)
            if progress is not None:
                progress(len(found), n_replicates)
    finally:  # an interrupted run takes its workers along
        with _no_news():
            results.close()
    return np.array(found)


@contextmanager
def _no_news() -> Iterator[None]:
    """Keep quiet that workers ended here had more to do.

    joblib warns of it, and the thread that feeds the workers may fail on a task just withdrawn.
    """
    usual = threading.excepthook

    def hook(failure: threading.ExceptHookArgs) -> None:
        if failure.thread is None or failure.thread.name != "ExecutorManagerThread":
            usual(failure)

    threading.excepthook = hook
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        threading.excepthook = usual


def _replicate(
    statistic: Statistic, z: Floats, seed: int, replicate: int, clusters: Index | None
) -> Floats:
    return statistic(resample(z, seed, replicate, clusters))
