"""Coverage of the intervals of `adverse_impact` where the true numbers are known.

Three groups with shares of 60, 30 and 10 %, normal scores, labels from a logistic model. The true
numbers are those of a draw of eight million rows.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy import stats
from tables import write_table

from unsway import Grouping
from unsway.auditing import adverse_impact

SHARES, SHIFTS, SPREADS = (0.6, 0.3, 0.1), (0.0, -0.4, -0.2), (1.0, 1.1, 0.9)
NAMES = np.array(["A", "B", "C"])
RULES = {"threshold": (0.5,), "approval_rate": (0.25,)}
CASES = (
    ("1,000 rows", 1_000, False),
    ("4,000 rows", 4_000, False),
    ("4,000 weighted", 4_000, True),
)

Key = tuple[str, str, str]
Found = dict[Key, tuple[float, float, float]]


def draw(n_rows: int, seed: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return labels, scores and groups."""
    rng = np.random.default_rng(list(seed))
    z = rng.choice(3, n_rows, p=SHARES)
    scores = rng.normal(np.array(SHIFTS)[z], np.array(SPREADS)[z])
    y = (rng.random(n_rows) < 1 / (1 + np.exp(-1.5 * scores))).astype(int)
    return y, scores, z


def measure(n_rows: int, seed: Sequence[int], *, weighted: bool = False) -> Found:
    """Return every estimate with its interval; a shortfall per row of the level."""
    y, scores, z = draw(n_rows, seed)
    weights = np.random.default_rng([*seed, 9]).lognormal(0, 0.5, n_rows) if weighted else None
    found = adverse_impact(
        y,
        scores,
        sensitive_features=NAMES[z],
        groups=Grouping(reference="A"),
        sample_weight=weights,
        **RULES,
    )
    sizes = np.bincount(z, weights, 3)
    scale = dict(zip(NAMES.tolist(), sizes, strict=True))
    return {
        (each.rule.partition(" ")[0], each.level, each.measure): tuple(
            np.array([each.value.estimate, each.value.low, each.value.high])
            / (scale[each.level] if each.measure == "shortfall" else 1)
        )
        for each in found.findings
    }


def truth() -> dict[Key, float]:
    """Return the true numbers: the mean over eight draws of a million rows."""
    draws = [measure(1_000_000, (k, 77)) for k in range(8)]
    return {key: float(np.mean([each[key][0] for each in draws])) for key in draws[0]}


def excludes(hits: int, draws: int) -> bool:
    """Return whether the 99.9 % binomial interval of a coverage leaves .95 out."""
    interval = stats.binomtest(hits, draws).proportion_ci(confidence_level=0.999)
    return not interval.low <= 0.95 <= interval.high


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_suffix(".md"))
    given = parser.parse_args()
    true, rows = truth(), defaultdict(list)
    out = []
    for name, n_rows, weighted in CASES:
        tasks = (
            delayed(measure)(n_rows, (seed, n_rows), weighted=weighted)
            for seed in range(given.draws)
        )
        draws = Parallel(n_jobs=given.jobs)(tasks)
        for key, value in true.items():
            ends = np.array([each[key][1:] for each in draws if key in each])
            hits = int(np.sum((ends[:, 0] <= value) & (value <= ends[:, 1])))
            flag = excludes(hits, len(ends))
            out += [(name, key)] if flag else []
            rows[key].append(f"{hits / len(ends):.3f}{' *' if flag else ''}")
    write_table(
        given.output,
        "Intervals of adverse impact",
        [
            f"Coverage of 95 % intervals over {given.draws:,} draws. Shares of the groups: A 60 %, "
            "B 30 %, C 10 %; A is the reference. A star marks a coverage whose 99.9 % binomial "
            f"interval leaves .95 out: {len(out)} of {len(CASES) * len(rows)}.",
        ],
        ("rule", "level", "measure", "true", *(name for name, *_ in CASES)),
        [
            (rule or "–", level, name, f"{true[rule, level, name]:.3f}", *cells)
            for (rule, level, name), cells in sorted(rows.items())
        ],
        ("numpy", "scipy"),
    )


if __name__ == "__main__":
    main()
