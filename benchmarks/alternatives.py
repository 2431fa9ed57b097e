"""Searches for less discriminatory alternatives where the truth is known, and their cost on Adult.

Three parts: `--stopping`, whether the statement about one more candidate holds; `--coverage`,
whether the interval of the winner's test figure covers the truth; `--cost`, what a search costs in
plain fits of the same settings. Without an option all three are run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy import stats
from sklearn.linear_model import LogisticRegression
from tables import append_table, write_table

from unsway import FairLogisticRegression, FairTarget, FairXGBClassifier
from unsway.datasets import load_adult
from unsway.sweeps import Stopping, search_alternatives
from unsway.sweeps.candidate import Yardstick
from unsway.sweeps.space import DEFAULT_PARAMS
from unsway.sweeps.stopping import anytime_bounds

#: The distribution of the axis among candidates → a draw of it and P(J > j).
AXES: dict[str, tuple[Callable, Callable]] = {
    "uniform": (lambda rng: rng.random(), lambda best: 1 - best),
    "normal": (lambda rng: rng.normal(), stats.norm.sf),
    "half not allowed": (
        lambda rng: rng.random() if rng.random() < 0.5 else -1.0,
        lambda best: 0.5 * (1 - max(0.0, best)),
    ),
    "ten values": (
        lambda rng: rng.integers(10) / 10,
        lambda best: 1 - (round(10 * best) + 1) / 10,
    ),
}
STOPPING = Stopping(chance=0.1, delta=0.05)
MOST = 150


def stop_when_told(bests: list[float], bounds: list[float]) -> int:
    """Return after how many candidates the bound is small enough."""
    return next((m for m, q in enumerate(bounds, start=1) if q <= STOPPING.chance), MOST)


def stop_when_stuck(bests: list[float], bounds: list[float]) -> int:
    """Return after how many candidates the best has not changed for ten."""
    for m in range(11, MOST + 1):
        if bests[m - 1] == bests[m - 11]:
            return m
    return MOST


def stop_when_worst(bests: list[float], bounds: list[float], better: list[float]) -> int:
    """Return where the statement is furthest from holding: nobody could stop at a worse moment."""
    return 1 + int(np.argmax(np.array(better) - np.array(bounds)))


def stopped(name: str, seed: int) -> tuple[bool, bool, bool]:
    """Return whether the statement holds under three ways to stop."""
    draw, beyond = AXES[name]
    rng = np.random.default_rng([seed, 31])
    bests = np.maximum.accumulate([draw(rng) for _ in range(MOST)]).tolist()
    bounds = list(anytime_bounds(MOST, STOPPING.delta))
    better = [float(beyond(best)) for best in bests]
    places = (
        stop_when_told(bests, bounds),
        stop_when_stuck(bests, bounds),
        stop_when_worst(bests, bounds, better),
    )
    return tuple(better[m - 1] <= bounds[m - 1] + 1e-12 for m in places)


def stopping_part(page: Path, n_draws: int) -> None:
    """Write how often the statement held."""
    rows = []
    for name in AXES:
        for draws in (n_draws, 20 * n_draws):
            held = np.array([stopped(name, seed) for seed in range(draws)])
            rows.append((name, f"{draws:,}", *(f"{share:.3f}" for share in held.mean(axis=0))))
    write_table(
        page,
        "Search for less discriminatory alternatives",
        [
            "## The statement about one more candidate",
            "",
            f"Share of simulated searches in which the statement holds; it says at least "
            f"{1 - STOPPING.delta:.2f}. At most {MOST} candidates. Searches stop when the bound "
            f"is at most {STOPPING.chance:g}, when the best has not changed for ten candidates, "
            "or, knowing the truth, at the worst moment there is.",
        ],
        ("axis of a candidate", "searches", "stops when told", "stops when stuck", "worst moment"),
        rows,
        ("numpy", "scipy", "scikit-learn"),
    )


# --- coverage ------------------------------------------------------------------------------------

RATE = 0.3
LOGISTIC = FairTarget(
    outcome_model=LogisticRegression(), propensity_model=LogisticRegression(), smoothing=0.0
)
MEASURES = ("adverse_impact_ratio", "auc")


#: Feature sets of the second case: as many of the columns as are drawn, at random.
N_COLUMNS = 14
SETS = {
    f"set {k}": [
        f"x{each}" for each in sorted({0, 1, *np.random.default_rng([k, 3]).choice(14, 6, False)})
    ]
    for k in range(40)
}


def people(n_rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return covariates, labels and groups with a direct effect and a proxy."""
    rng = np.random.default_rng([seed, 57])
    z = (rng.random(n_rows) < 0.4).astype(int)
    X = rng.normal(size=(n_rows, N_COLUMNS))
    X[:, 0] += 0.4 * z
    X[:, 2] += 0.8 * z
    margin = X[:, 0] + 0.5 * X[:, 1] + 0.1 * X[:, 4:].sum(axis=1) + 0.6 * z - 0.6
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(N_COLUMNS)])
    return frame, (rng.random(n_rows) < 1 / (1 + np.exp(-margin))).astype(int), z


#: Name of a case → feature sets, strengths and the loss of AUC that is allowed.
CASES = {
    "20 strengths": (None, {"uniform": [0.0, 1.0]}, 20),
    "40 feature sets, nothing removed": (SETS, 0.0, 40),
}


def searched(case: str, seed: int, n_rows: int = 3_000) -> dict[str, dict[str, bool]] | None:
    """Return which intervals of the winner cover the truth, None if nothing was chosen."""
    X, y, z = people(n_rows, seed)
    sets, strength, n_candidates = CASES[case]
    found = search_alternatives(
        FairLogisticRegression(LOGISTIC), X, y, sensitive_features=z, n_candidates=n_candidates,
        space={
            "strength": strength,
            "params": {"logistic": {"l2": {"log_uniform": [1e-4, 1.0]}}},
        },
        feature_sets=sets, max_utility_loss=0.03, approval_rate=RATE, effects=False, n_seeds=0,
        n_finalists=1, random_state=seed, stopping=Stopping(chance=0.001),
    )  # fmt: skip
    if found.winner is None:
        return None
    X, y, z = people(100_000, 1_000_000 + seed)
    fresh = replace(found.search.test, X=X, **_columns(found, y, z))
    yardstick = Yardstick(rows=fresh.with_table(None), approval_rate=RATE, approve="high")
    true = yardstick.measure(found.search.scores(found.winner, X))
    judged = found.judged
    tables = {
        "test": judged.test[found.winner.name],
        "validation": judged.validation,
        "corrected": judged.corrected,
    }
    return {
        name: {
            table: each[name].low <= true[name] <= each[name].high for table, each in tables.items()
        }
        for name in MEASURES
    }


def _columns(found: object, y: np.ndarray, z: np.ndarray) -> dict[str, object]:
    rows = found.search.test
    return {
        "outcome": replace(rows.outcome, values=y.astype(float)),
        "groups": replace(rows.groups, codes=z.astype(np.uint8)),
    }


def coverage_part(page: Path, n_draws: int, n_jobs: int) -> None:
    """Write how often the intervals of the winner cover."""
    tables, rows = ("test", "validation", "corrected"), []
    for case in CASES:
        run = Parallel(n_jobs=n_jobs)
        found = run(delayed(searched)(case, seed) for seed in range(n_draws))
        known = [each for each in found if each is not None]
        for name in MEASURES:
            shares = [np.mean([each[name][table] for each in known]) for table in tables]
            cells = (f"{share:.3f}" for share in shares)
            rows.append((case, f"{len(known)}", name.replace("_", " "), *cells))
    append_table(
        page,
        "The winner's figure",
        f"Coverage of the truth by 95 % intervals in those of {n_draws} searches that chose "
        "something: 3,000 rows, half to train on, a quarter each to choose by and to test; the "
        "truth is that of the winning model on 100,000 fresh rows. The naive figure is that of the "
        "validation rows the winner was chosen on; the corrected one has the interval of the best "
        "of all candidates.",
        (
            "candidates", "searches", "measure", "test rows (reported)",
            "validation rows (naive)", "validation, corrected",
        ),
        rows,
    )  # fmt: skip


# --- cost ----------------------------------------------------------------------------------------


def cost_part(page: Path, n_candidates: int) -> None:
    """Write what a search costs on Adult in plain fits of the same settings."""
    data = load_adult()
    model = FairXGBClassifier(n_jobs=1)
    start = time.process_time()
    found = search_alternatives(
        model, data.to_frame(), data.y, sensitive_features=data.z, n_candidates=n_candidates,
        max_utility_loss=0.02, n_jobs=1, stopping=Stopping(chance=0.001),
    )  # fmt: skip
    whole = time.process_time() - start
    bench = found.search.bench
    plain = candidates = 0.0
    for each in found.candidates:
        for strength in (each.draw.strength, 0.0):
            start = time.process_time()
            bench.fit(replace(each.draw, strength=strength))
            used = time.process_time() - start
            plain, candidates = plain + used * (strength == 0), candidates + used * (strength > 0)
    shared = whole - candidates
    n = len(found.candidates)
    many = 200
    append_table(
        page,
        "Cost on Adult",
        f"XGBoost, one thread, sex, top quarter approved, {n} candidates, default distribution "
        f"({', '.join(DEFAULT_PARAMS['xgboost'])}, strength). CPU seconds; each fair fit is "
        "followed "
        "by the plain fit of the same settings. Shared is all the rest: criterion, effects, "
        "measures, test rows, refits with other seeds.",
        ("", "CPU seconds", "in plain fits"),
        [
            ("plain fits", f"{plain:.1f}", "1.00"),
            ("fair fits", f"{candidates:.1f}", f"{candidates / plain:.2f}"),
            ("shared", f"{shared:.1f}", f"{shared / plain:.2f}"),
            (f"search of {n}", f"{whole:.1f}", f"{whole / plain:.2f}"),
            (
                f"search of {many}, at the same cost of a fit",
                "",
                f"{(candidates + shared * n / many) / plain:.2f}",
            ),
        ],
    )
    champion, winner = found.champion, found.winner
    print(found.verdict)
    if winner is not None:
        print(champion.parts, winner.parts, winner.settings)


def main() -> None:
    """Run the parts, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("stopping", "coverage", "cost"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--candidates", type=int, default=25)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_suffix(".md"))
    given = parser.parse_args()
    every = not (given.stopping or given.coverage or given.cost)
    if given.stopping or every:
        stopping_part(given.output, given.draws)
    if given.coverage or every:
        coverage_part(given.output, given.draws, given.jobs)
    if given.cost or every:
        cost_part(given.output, given.candidates)


if __name__ == "__main__":
    main()
