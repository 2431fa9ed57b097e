"""What a fair logistic regression costs beside scikit-learn's newton-cholesky solver.

Both fit the same rows in turn. The propensity score is fitted beforehand and timed on its own: it
is needed once for any number of strengths.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from tables import interleave, median_ratio, peak_bytes, write_table
from threadpoolctl import threadpool_limits

from unsway import DirectEffect, FairLogisticRegression, make_synthetic
from unsway.datasets import load_adult
from unsway.rows import Rows

THREADS = (1, 2)
STRENGTHS = (0.0, 0.9, 0.975)


def problems() -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray, DirectEffect]]:
    """Yield name, X, y, z and criterion of each problem."""
    adult = load_adult("train")
    X = StandardScaler().fit_transform(adult.to_matrix()[0])
    yield "Adult", X, adult.y, adult.z, DirectEffect(1, 0)
    yield "Adult, degrees (1,1)", X, adult.y, adult.z, DirectEffect(1, 1)
    people = make_synthetic(1_000_000, random_state=0)
    noise = np.random.default_rng(0).standard_normal((len(people.y), 4))
    yield "synthetic", np.hstack([people.X, noise]), people.y, people.z, DirectEffect(1, 0)


def measure(
    name: str, X: np.ndarray, y: np.ndarray, z: np.ndarray, criterion: DirectEffect
) -> Iterator[tuple[str, ...]]:
    """Yield a row of the table per strength."""
    start = time.perf_counter()
    fitted = criterion.fit(Rows.check(X, y, sensitive_features=z))
    propensity_seconds = time.perf_counter() - start
    for strength in STRENGTHS:
        fair = FairLogisticRegression(fitted, strength)
        plain = LogisticRegression(solver="newton-cholesky", C=np.inf)
        tasks = {
            "plain": lambda plain=plain: plain.fit(X, y),
            "fair": lambda fair=fair: fair.fit(X, y, sensitive_features=z),
        }
        ratios, times = [], []
        for threads in THREADS:
            with threadpool_limits(threads):
                seconds = interleave(tasks, repeats=5)
            ratios.append(f"{median_ratio(seconds['fair'], seconds['plain']):.2f}")
            times.append(f"{np.median(seconds['plain']):.2f} / {np.median(seconds['fair']):.2f}")
        columns = peak_bytes(tasks["fair"]) / (8 * len(X))
        yield (
            name,
            f"{len(X):,}",
            str(X.shape[1]),
            f"{strength:g}",
            *ratios,
            *times,
            f"{plain.n_iter_[0]} / {fair.n_iter_[0]}",
            f"{columns:.1f}",
            f"{propensity_seconds:.1f}",
        )


def main() -> None:
    """Measure, and write the table beside this script."""
    warnings.simplefilter("ignore")  # one-hot columns are collinear: scikit-learn says so each time
    rows = [row for problem in problems() for row in measure(*problem)]
    write_table(
        Path(__file__).with_suffix(".md"),
        "Logistic regression: time and memory",
        (
            "Five interleaved repeats with one and with two BLAS threads. `time` is the median "
            'ratio of a fair fit to `LogisticRegression(solver="newton-cholesky", C=inf)` on the '
            "same rows; `memory` the fair fit's peak beyond X, in float64 columns of length n. The "
            "propensity score is fitted once beforehand (last column, the default 5-fold search "
            "for C).",
        ),
        (
            "data", "n", "p", "λ", "time, 1 thread", "time, 2 threads", "s plain / fair, 1 thread",
            "s plain / fair, 2 threads", "steps plain / fair",
            "memory, columns", "propensity, s",
        ),
        rows,
        ("unsway", "scikit-learn", "numpy", "scipy"),
    )  # fmt: skip


if __name__ == "__main__":
    main()
