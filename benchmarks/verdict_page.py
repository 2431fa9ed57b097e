"""The page of verdict.py, from its records."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy import stats
from verdict_draws import BELOW, COLUMNS, EFFECT, MARGIN, NOT_JUDGED, REFUSED, Floats, Truth
from verdict_selections import COUNTED, PARTS

from unsway.effects.influence import EFFECTS

#: A cell counts as one with b in (.02, .98) if at most this share of people is outside.
MOST_FAR = 0.01

#: Confidence of the intervals of shares of draws.
CONFIDENCE = 0.999

#: What intervals are asked to cover: the effects, and of each score what is left and passed on.
LEFT = tuple(f"{score}.{what}" for score in ("blind", "fair", "over")
             for what in ("left_as_given", "left", "direct"))  # fmt: skip
PASSED = tuple(f"{score}.pass_through" for score in ("blind", "fair", "over"))
COVERED = (*EFFECTS, *LEFT, *PASSED)

#: Why cells may miss; no interval counts that a model is wrong.
READING = (
    "- In `paper`, `poor_overlap`, `imbalanced`, `no_direct_effect`, `opposed_effects`, "
    "`many_noise_features` and `small_group` the linear models are right. In `varying_effect`, "
    "`missing_by_group`, `steps`, `wave` and `deep` those of the outcome are wrong and that of the "
    "propensity is right, so that estimates stay consistent. In `adult` all three are wrong, and "
    "the bias would be the same, about half a point, at any number of rows. Trees find it in the "
    "residuals and correct most of it (`refine=True`, the default): nearly all at 20,000 rows, "
    "little at 4,000 and less, where chance is larger than the bias. What stays too low at 20,000 "
    "rows is the pass-through of a blind score. Models that follow the data from the start, such "
    "as the default, do better there.",
    "- `small_group` has about 30 people with z = 1 in 1,000 rows, and `imbalanced` 100 with few "
    "positive labels. Effects on the reference group, and on everyone, are extrapolated from them, "
    "ridges pull the models towards no effect, and intervals hold the truth less often than they "
    "say. The decision makes no claim there: the smaller group is worth too few rows.",
    "- Where half of all people or more have a propensity outside [.02, .98] intervals are long, "
    "and a fair score is not found to be below the margin at these numbers of rows. The columns "
    "`blind found` and `fair below margin` are the power.",
    "- Intervals of decisions otherwise than by a fair ranking count the rows, within each group, "
    "and neither the errors of the estimated fair ranking nor the sizes of the groups. Those of "
    "`fair` and `net` are therefore much too short: they hold the truth in far less than 95 % of "
    "samples, and `gained` and `lost` are above it even for a fair score. Read `net` as an "
    "estimate without an interval.",
)


class Kind(Protocol):
    """Draws of so many rows with one kind of models."""

    models: str
    n_rows: int
    worlds: tuple[str, ...]


class Records(Protocol):
    """Draws by cell."""

    codes: set[str]

    def of(self, kind: Any, world: str) -> Floats:
        """Return the draws of a cell."""


@dataclass(frozen=True)
class Share:
    """How many of some draws have a property, with the exact binomial interval."""

    count: int
    draws: int

    @classmethod
    def of(cls, found: Iterable[Any]) -> Share:
        """Count."""
        held = np.asarray(list(found), dtype=bool)
        return cls(int(held.sum()), len(held))

    def __add__(self, other: Share) -> Share:
        return Share(self.count + other.count, self.draws + other.draws)

    @property
    def value(self) -> float:
        """The share; NaN without draws."""
        return self.count / self.draws if self.draws else np.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Clopper and Pearson's interval."""
        tail, k, n = (1 - CONFIDENCE) / 2, self.count, self.draws
        low = float(stats.beta.ppf(tail, k, n - k + 1)) if k else 0.0
        high = float(stats.beta.ppf(1 - tail, k + 1, n - k)) if k < n else 1.0
        return low, high

    def __str__(self) -> str:
        return f"{self.value:.3f}" if self.draws else "–"


@dataclass(frozen=True)
class Cell:
    """The draws of one world at one number of rows."""

    world: str
    rows: Floats
    truth: Truth

    def column(self, name: str) -> Floats:
        """Return one column of the draws that were not refused."""
        kept = self.rows[:, COLUMNS.index("fair.state")] != REFUSED  # NaN where not decided
        return self.rows[kept, COLUMNS.index(name)]

    @property
    def refused(self) -> Share:
        """Draws that the library refuses."""
        return Share.of(self.rows[:, COLUMNS.index("fair.state")] == REFUSED)

    def states(self, score: str) -> Floats:
        """Return the decisions on a score; a refused draw makes no claim."""
        return self.rows[:, COLUMNS.index(f"{score}.state")]

    def left(self, score: str) -> float:
        """Return the true direct effect left in a score."""
        return self.truth.shares[score] * self.truth.direct

    @property
    def false_alarms(self) -> Share:
        """Fair scores said to hold a direct effect."""
        return Share.of(self.states("fair") == EFFECT)

    def wrongly_small(self, score: str) -> Share | None:
        """Scores said to be below the margin that are not; None where the score is."""
        left = self.left(score)
        if np.isnan(left) or abs(left) < MARGIN * (1 - 1e-9):
            return None
        return Share.of(self.states(score) == BELOW)

    def coverage(self, what: str) -> Share | None:
        """Intervals that hold the truth; None where there is no truth."""
        true = self._true(what)
        low, high = (self.column(f"{what}.{end}") for end in ("low", "high"))
        known = ~np.isnan(low)
        if true is None or not known.any():
            return None
        return Share.of((low[known] <= true) & (true <= high[known]))

    def _true(self, what: str) -> float | None:
        score, _, measure = what.partition(".")
        if what in self.truth.counts:
            return self.truth.counts[what]
        if not measure:
            return self.truth.effects[what]
        if measure == "pass_through":
            return self.truth.shares[score] if abs(self.truth.direct) > 1e-9 else None
        return self.left(score)

    @property
    def is_near(self) -> bool:
        """Whether nearly everybody has b in (.02, .98)."""
        return self.truth.far <= MOST_FAR


def write_page(
    path: Path,
    kinds: Sequence[Kind],
    records: Records,
    truths: Mapping[str, Truth],
    margin: float,
) -> None:
    """Write and print the page."""
    lines = [
        "# What a verdict rests on, where the truth is known",
        "",
        f"{date.today()}, Python {platform.python_version()}, {_versions()}; code "
        f"{', '.join(sorted(records.codes))}.",
        "",
        _about(margin),
    ]
    cells = {
        kind: [
            Cell(world, rows, truths[world])
            for world in kind.worlds
            if len(rows := records.of(kind, world))
        ]
        for kind in kinds
    }
    cells = {kind: found for kind, found in cells.items() if found}
    counted = {kind: found for kind, found in cells.items() if kind.models == "selections"}
    cells = {kind: found for kind, found in cells.items() if kind not in counted}
    lines += [*_bars(cells), "", "## What to read into it", "", *READING]
    for kind, found in counted.items():
        lines += _selections(kind, found)
    for kind, found in cells.items():
        lines += _decisions(kind, found) + _coverages(kind, found) + _errors(kind, found)
    text = "\n".join(lines) + "\n"
    path.write_text(text, encoding="utf-8")
    print(text)


def _about(margin: float) -> str:
    return (
        "`python benchmarks/verdict.py`. In every world the scores judged are the fair score f, "
        "what a blind model learns in the limit (f + D), the fair score with D removed once more "
        "(f − D), and f + κD with the direct effect left exactly at the margin of "
        f"{100 * margin:g} points. The models of propensity and outcome are logistic regressions "
        "fitted by group (`linear`) or the library's own (`default`), on 5 folds. A false alarm is "
        "a fair score said to hold a direct effect; it is wrong to say that a score whose direct "
        "effect is at or beyond the margin is below it. Intervals of shares are exact binomial "
        f"intervals of {100 * CONFIDENCE:g} %. `far` is the share of people with a propensity "
        f"outside [.02, .98]; cells with at most {100 * MOST_FAR:g} % of them count as cells with "
        "b in (.02, .98). A draw that the library refuses makes no claim."
    )


def _versions() -> str:
    found = []
    for name in ("unsway", "scikit-learn", "numpy"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def _bars(cells: Mapping[Kind, Sequence[Cell]]) -> list[str]:
    rows = []
    for kind, found in cells.items():
        alarms = [(cell.world, cell.false_alarms) for cell in found]
        small = [
            (f"{cell.world}, {score}", share)
            for cell in found
            for score in ("blind", "over", "margin")
            if (share := cell.wrongly_small(score)) is not None
        ]
        near = [
            (f"{cell.world}, {what}", share)
            for cell in found
            if cell.is_near
            for what in COVERED
            if (share := cell.coverage(what)) is not None
        ]
        rows += [
            _bar(kind, "false alarms", alarms, above=0.05, pooled=(0.0, 0.055)),
            _bar(kind, 'wrong "below"', small, above=0.05, pooled=(0.0, 0.055)),
            _bar(kind, "coverage, b in (.02, .98)", near, below=0.95, pooled=(0.94, 0.96)),
        ]
    head = ["models", "rows", "bar", "pooled", "must be", "cells that miss"]
    return ["", "## The bars", "", *_table(head, rows)]


def _bar(
    kind: Kind,
    name: str,
    shares: Sequence[tuple[str, Share]],
    pooled: tuple[float, float],
    above: float = 1.0,
    below: float = 0.0,
) -> list[str]:
    total = sum((share for _, share in shares), Share(0, 0))
    missed = [
        f"{cell} ({share})"
        for cell, share in shares
        if share.interval[0] > above or share.interval[1] < below
    ]
    low, high = pooled
    met = not total.draws or low <= round(total.value, 4) <= high
    return [
        kind.models,
        f"{kind.n_rows:,}",
        name,
        f"{total}{'' if met else ' (missed)'}",
        f"{low:g} to {high:g}",
        "; ".join(missed) if missed else f"none of {len(shares)}",
    ]


def _decisions(kind: Kind, cells: Sequence[Cell]) -> list[str]:
    head = [
        "world", "draws", "far", "D", "false alarms", "wrong: blind", "wrong: removed twice",
        "wrong: at the margin", "blind found", "removed twice found", "fair below margin",
        "fair: cannot tell", "refused",
    ]  # fmt: skip
    rows = []
    for cell in cells:
        fair = cell.states("fair")
        wrong = [cell.wrongly_small(score) for score in ("blind", "over", "margin")]
        found = [Share.of(cell.states(score) == EFFECT) for score in ("blind", "over")]
        if abs(cell.truth.direct) < 1e-9:
            found = [Share(0, 0)] * 2
        low, high = cell.false_alarms.interval
        rows.append([
            cell.world, f"{len(cell.rows):,}", f"{cell.truth.far:.2f}",
            f"{100 * cell.truth.direct:+.1f}", f"{cell.false_alarms} [{low:.3f}, {high:.3f}]",
            *("–" if each is None else str(each) for each in wrong),
            *map(str, found),
            str(Share.of(fair == BELOW)),
            str(Share.of((fair != BELOW) & (fair != EFFECT) & (fair > NOT_JUDGED))),
            str(cell.refused),
        ])  # fmt: skip
    return ["", f"## Decisions: {kind.models} models, {kind.n_rows:,} rows", "",
            *_table(head, rows)]  # fmt: skip


def _coverages(kind: Kind, cells: Sequence[Cell]) -> list[str]:
    head = ["", *(cell.world for cell in cells)]
    rows = [["far", *(f"{cell.truth.far:.3f}" for cell in cells)]]
    for what in COVERED:
        shares = [cell.coverage(what) for cell in cells]
        rows.append([what, *("–" if each is None else str(each) for each in shares)])
    known = [
        Share.of(~np.isnan(cell.column("blind.pass_through.estimate"))) for cell in cells
    ]  # fmt: skip
    rows.append(["a pass-through is given", *map(str, known)])
    return ["", f"## Coverage: {kind.models} models, {kind.n_rows:,} rows", "",
            *_table(head, rows)]  # fmt: skip


def _errors(kind: Kind, cells: Sequence[Cell]) -> list[str]:
    """Return biases, standard deviations and lengths of intervals, in points."""
    head = ["", *(cell.world for cell in cells)]
    rows = []
    for what in (*EFFECTS, "fair.left_as_given", "fair.direct"):
        line = []
        for cell in cells:
            true = cell._true(what)
            found, low, high = (cell.column(f"{what}.{k}") for k in ("estimate", "low", "high"))
            half = np.median(high - low) / 2
            line.append(
                f"{100 * (found.mean() - (true or 0)):+.1f} / {100 * found.std():.1f} / "
                f"{100 * half:.1f}"
            )
        rows.append([what, *line])
    return [
        "",
        f"### Bias / standard deviation / median half interval, in points: {kind.models} models, "
        f"{kind.n_rows:,} rows",
        "",
        *_table(head, rows),
    ]


def _selections(kind: Kind, cells: Sequence[Cell]) -> list[str]:
    """Return the coverage of people selected, with biases and intervals per 1,000."""
    head, rows = ["", *(cell.world for cell in cells)], []
    for what in COUNTED:
        line = []
        for cell in cells:
            found, low, high = (cell.column(f"{what}.{part}") for part in PARTS)
            bias, half = (found - cell.truth.counts[what]).mean(), np.median(high - low) / 2
            line.append(f"{cell.coverage(what)}: {bias:+.1f} / {found.std():.1f} / {half:.1f}")
        rows.append([what, *line])
    return [
        "",
        f"## Decisions otherwise than by a fair ranking: {kind.n_rows:,} rows",
        "",
        f"Of each group's people, per 1,000: coverage of the 95 % interval, then bias / standard "
        f"deviation / median half interval; {len(cells[0].rows):,} draws a world, linear models. "
        "`gained` and `lost` are upper bounds: they also count people whom the estimated fair "
        "ranking places otherwise than the true one.",
        "",
        *_table(head, rows),
    ]  # fmt: skip


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]
