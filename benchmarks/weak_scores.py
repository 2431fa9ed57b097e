"""A fair score that is merely weak: how often it is said to hold a direct effect.

The true fair score of a world, and the same with noise added to its margin, are judged with
logistic nuisance models. Neither holds a direct effect. ``left`` is the gap of the
recoded score less what is explained, ``direct`` the same without what the score lacks in sharpness,
on which the decision rests::

    python benchmarks/weak_scores.py > benchmarks/weak_scores.md
    python benchmarks/weak_scores.py --rows 20000 --draws 50 --worlds imbalanced varying_effect
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from unsway import estimate_effects, make_world

WORLDS = ("paper", "varying_effect", "no_direct_effect", "opposed_effects", "imbalanced")
MEASURES = ("left", "direct")


def draw_once(world: str, n_rows: int, draw: int) -> np.ndarray:
    """Return estimates and false alarms of both measures, for the fair and for the weak score."""
    people = make_world(world, n_rows, random_state=draw)
    logistic = LogisticRegression(max_iter=500)
    effects = estimate_effects(
        people.X,
        people.y,
        sensitive_features=people.z,
        max_extreme_share=1,
        propensity_model=logistic,
        outcome_model=logistic,
    )
    noise = np.random.default_rng([draw, 0x3E4]).normal(size=n_rows)
    found = []
    for score in (people.fair_score, expit(logit(people.fair_score) + noise)):
        parts = effects.gap_parts(score)
        for measure in MEASURES:
            each = getattr(parts, measure)
            found.append((each.estimate, not each.low <= 0 <= each.high))
    return np.array(found, dtype=float)


def page(worlds: Sequence[str], n_rows: int, n_draws: int) -> str:
    """Return the results as a page of Markdown."""
    lines = [
        "# A fair score that is weak",
        "",
        "`python benchmarks/weak_scores.py`: the true fair score, and the same with standard "
        f"normal noise on its margin, judged on {n_rows:,} rows with logistic nuisance models; "
        f"{n_draws} draws a world. Neither holds a direct effect. `left` is the gap of the recoded "
        "score less what is explained; `direct`, on which the decision rests, leaves out what the "
        "score lacks in sharpness. Shares of 95% intervals that exclude 0, and mean estimates in "
        "points.",
        "",
        "| world | fair score: left | direct | weak score: left | direct |",
        "|---|---|---|---|---|",
    ]
    for world in worlds:
        found = np.mean([draw_once(world, n_rows, draw) for draw in range(n_draws)], axis=0)
        cells = " | ".join(f"{share:.3f} ({100 * mean:+.1f})" for mean, share in found)
        lines.append(f"| `{world}` | {cells} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--worlds", nargs="+", default=WORLDS)
    warnings.simplefilter("ignore")
    given = parser.parse_args()
    print(page(given.worlds, given.rows, given.draws), end="")
