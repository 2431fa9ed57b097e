"""Whether choosing a strength leaves less of the direct effect than always taking the default.

Each draw trains logistic regressions on fair targets at eleven strengths, chooses one on held-out
rows, and measures the chosen model against the truth of the world: the gap of its scores on fresh
rows less the gap of the fair scores there. Draws are kept as they are done, a line each, so that a
run can stop and another one goes on::

    python benchmarks/choice.py --jobs 16 --minutes 8 --records choice.csv
    python benchmarks/choice.py --page --records choice.csv > benchmarks/choice.md
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression

from unsway import FairLogisticRegression, FairTarget, frontier, make_world

WORLDS = ("paper", "varying_effect", "no_direct_effect")
N_ROWS, N_FRESH, DRAWS = 2_000, 20_000, 200
STRENGTHS = [k / 10 for k in range(11)]
#: How a strength is chosen; "always" takes the default of the criterion, 1.
RULES = ("always", "default", "knee")
FIELDS = ("world", "draw", *(f"{rule}_{what}" for rule in RULES for what in ("strength", "left")))


def draw_once(world: str, draw: int) -> dict[str, object]:
    """Return the strength of each rule, and what its model leaves of the direct effect."""
    people = make_world(world, N_ROWS, random_state=2 * draw)
    fresh = make_world(world, N_FRESH, random_state=2 * draw + 1)
    logistic = LogisticRegression(max_iter=500)
    criterion = FairTarget(propensity_model=logistic, outcome_model=logistic, max_extreme_share=1)
    found = frontier(
        FairLogisticRegression(criterion),
        people.X,
        people.y,
        sensitive_features=people.z,
        strengths=STRENGTHS,
        random_state=draw,
        effects={
            "max_extreme_share": 1,
            "propensity_model": logistic,
            "outcome_model": logistic,
        },
    )
    chosen = {"always": 1.0, "default": found.select().strength}
    chosen["knee"] = found.select("knee").strength
    row: dict[str, object] = {"world": world, "draw": draw}
    for rule, strength in chosen.items():
        p = found.model(strength).predict_proba(fresh.X)[:, 1]
        difference = p - fresh.fair_score
        left = difference[fresh.z == 1].mean() - difference[fresh.z == 0].mean()
        row |= {f"{rule}_strength": strength, f"{rule}_left": f"{left:.6f}"}
    return row


def read(path: Path) -> list[dict[str, str]]:
    """Return the draws that are done."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def draw_until(end: float, world: str, draw: int) -> dict[str, object] | None:
    """Return the row of a draw; None where the time is over."""
    warnings.simplefilter("ignore")
    return None if time.time() > end else draw_once(world, draw)


def run(path: Path, minutes: float, jobs: int) -> None:
    """Draw until all is done or the time is over."""
    end = time.time() + 60 * minutes
    done = {(row["world"], int(row["draw"])) for row in read(path)}
    waiting = [(w, draw) for draw in range(DRAWS) for w in WORLDS if (w, draw) not in done]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not done:
            writer.writeheader()
        each = (delayed(draw_until)(end, world, draw) for world, draw in waiting)
        for row in Parallel(n_jobs=jobs, return_as="generator_unordered")(each):
            if row is not None:
                writer.writerow(row)
                file.flush()


def page(rows: list[dict[str, str]]) -> str:
    """Return the results as a page of Markdown."""
    lines = [
        "# Choosing a strength",
        "",
        f"`python benchmarks/choice.py`: logistic regression on fair targets at {len(STRENGTHS)} "
        f"strengths from 0 to 1, {N_ROWS:,} rows of which a third serve to choose, logistic "
        "nuisance models. The direct effect left is the gap of the scores on "
        f"{N_FRESH:,} fresh rows less that of the true fair scores. *always* takes the default "
        "strength 1 without a look; *default* is `select()`, *knee* is `select('knee')`. ± is one "
        "standard error of the mean over draws; the last column is the paired difference to "
        "*always*.",
        "",
        "| world | draws | rule | mean strength | other than 1 | mean abs(left), points | minus "
        "always |",
        "|---|---|---|---|---|---|---|",
    ]
    for world in WORLDS:
        own = [row for row in rows if row["world"] == world]
        if not own:
            continue
        left = {rule: abs(np.array([float(row[f"{rule}_left"]) for row in own])) for rule in RULES}
        for rule in RULES:
            strengths = np.array([float(row[f"{rule}_strength"]) for row in own])
            lines.append(
                f"| `{world}` | {len(own)} | {rule} | {strengths.mean():.2f} | "
                f"{np.mean(strengths != 1):.0%} | {_mean(left[rule])} | "
                f"{_mean(left[rule] - left['always'], '+.2f')} |"
            )
    return "\n".join(lines) + "\n"


def _mean(values: np.ndarray, form: str = ".2f") -> str:
    se = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{100 * values.mean():{form}} ± {100 * se:.2f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    if given.page:
        print(page(read(given.records)), end="")
    else:
        run(given.records, given.minutes, given.jobs)
