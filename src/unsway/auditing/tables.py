"""Tables of an audit: rows of numbers with what they are about, as frames, dicts and CSV."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from .._typing import Floats
from ..effects import Estimate
from ..effects.estimate import Progress, bootstrap
from ..frames import Tabular, csv_text, make_frame, plain
from ..rows import Rows
from .group_metrics import share
from .inputs import Settings
from .metrics import (
    BETWEEN,
    MEANINGS,
    PLACES,
    Key,
    Sample,
    Tally,
    bin_edges,
    estimates,
    measure,
    percentiles,
    resampled,
)
from .number_tally import NUMBER_MEANINGS

_MEANINGS = {**NUMBER_MEANINGS, **MEANINGS}


@dataclass(frozen=True, repr=False, eq=False)
class Table:
    """Named columns of equal length.

    Examples
    --------
    Text that a spreadsheet would run comes out of `to_csv` as text:

    >>> print(Table({"group": ["=cmd", "b"], "rate": [0.5, -1.0]}).to_csv(), end="")
    group,rate
    '=cmd,0.5
    b,-1.0
    """

    columns: Mapping[str, Sequence[Any]]

    @classmethod
    def of(cls, records: Iterable[Mapping[str, Any]]) -> Table:
        """Return a table of rows that all have the same names."""
        rows = list(records)
        return cls({name: [row[name] for row in rows] for name in rows[0]} if rows else {})

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a frame of pandas, polars or pyarrow."""
        return make_frame({name: list(values) for name, values in self.columns.items()}, backend)

    def to_records(self) -> list[dict[str, Any]]:
        """Return one mapping per row, ready for JSON; None where a number is unknown."""
        return [
            dict(zip(self.columns, map(plain, row), strict=True))
            for row in zip(*self.columns.values(), strict=True)
        ]

    def to_csv(self) -> str:
        """Return CSV text; text that looks like a formula gets an apostrophe before it."""
        return csv_text(self.columns)

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(self.columns)})"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MetricTable(Tabular):
    """Every metric with its interval, by group and threshold.

    Parameters
    ----------
    entries : mapping of Key to Estimate
    levels : tuple of str
        What z = 0 and z = 1 stand for.
    """

    entries: Mapping[Key, Estimate] = field(repr=False)
    levels: tuple[str, ...]

    def __getitem__(self, key: tuple[Any, ...] | str) -> Estimate:
        """Return an estimate by metric, group ("overall", "z=0", "z=1") and threshold.

        A metric that compares the groups needs no group, one of several thresholds its threshold.
        """
        name, *rest = (key,) if isinstance(key, str) else key
        group = next((each for each in rest if isinstance(each, str)), None)
        threshold = next((float(each) for each in rest if not isinstance(each, str)), None)
        groups = ("overall", BETWEEN) if group is None else (group,)
        found = [
            value
            for entry, value in self.entries.items()
            if entry.metric == name
            and entry.group in groups
            and threshold in (None, entry.threshold)
        ]
        if len(found) != 1:
            why = "there is none" if not found else f"there are {len(found)}; give the threshold"
            raise KeyError(f"{key!r}: {why}")
        return found[0]

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        return self.table.columns

    @property
    def table(self) -> Table:
        """The same as columns: metric, group, level, threshold, the four numbers, meaning."""
        return Table.of(
            {**self.about(key), **each.to_dict(), "meaning": _MEANINGS[key.metric]}
            for key, each in self.entries.items()
        )

    def about(self, key: Key) -> dict[str, Any]:
        """Return what an entry is about, for its row of a table."""
        level = dict(zip(PLACES[1:], self.levels, strict=True)).get(key.group, "")
        threshold = math.nan if key.threshold is None else key.threshold
        return {"metric": key.metric, "group": key.group, "level": level, "threshold": threshold}

    def to_records(self) -> list[dict[str, Any]]:
        """Return the rows ready for JSON."""
        return self.table.to_records()

    def __repr__(self) -> str:
        return f"MetricTable({len(self.entries)} metrics)"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Calibration(Tabular):
    """Mean scores and shares of positive labels in bins of the score.

    Arrays are [overall, z=0, z=1] by bin.

    Parameters
    ----------
    edges : array of shape (B+1,)
        The bins, those of scikit-learn's `calibration_curve`.
    weight : array of shape (3, B)
        Rows of each bin, or their weight.
    mean_score, positive_share : array of shape (3, B)
        NaN in a bin without rows.
    low, high : array of shape (3, B)
        Interval of the share of positive labels; NaN without a bootstrap.
    levels : tuple of str
        What z = 0 and z = 1 stand for.

    Examples
    --------
    >>> from unsway.auditing.metrics import Sample, bin_edges
    >>> y, z = np.array([0.0, 1.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0, 1.0])
    >>> tally = Sample.of(y, np.array([0.2, 0.2, 0.9, 0.7]), z).tally()
    >>> found = Calibration.of(tally, bin_edges(tally.sample.scores, 2, "uniform"), ("a", "b"))
    >>> found.mean_score[0].round(6).tolist(), found.positive_share[0].tolist()
    ([0.2, 0.8], [0.5, 1.0])
    """

    edges: Floats
    weight: Floats
    mean_score: Floats
    positive_share: Floats
    low: Floats
    high: Floats
    levels: tuple[str, ...]

    @classmethod
    def of(
        cls,
        tally: Tally,
        edges: Floats,
        levels: tuple[str, ...],
        replicates: Floats | None = None,
        confidence: float = 0.95,
    ) -> Calibration:
        """Return the curves, with intervals from replicates of the shares by [place, bin]."""
        weight, score, label = tally.binned(edges)
        replicates = np.empty((0, weight.size)) if replicates is None else replicates
        ends = [percentiles(column, confidence) for column in replicates.T]
        low, high = np.reshape(np.transpose(ends), (2, *weight.shape))
        return cls(
            edges=edges,
            weight=weight,
            mean_score=share(score, weight),
            positive_share=share(label, weight),
            low=low,
            high=high,
            levels=levels,
        )

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        return self.table.columns

    @property
    def table(self) -> Table:
        """One row per group and bin that has rows."""
        arrays = ("weight", "mean_score", "positive_share", "low", "high")
        return Table.of(
            {
                "group": PLACES[place],
                "level": ("", *self.levels)[place],
                "bin_low": float(self.edges[k]),
                "bin_high": float(self.edges[k + 1]),
                **{name: float(getattr(self, name)[place, k]) for name in arrays},
            }
            for place, k in np.argwhere(self.weight > 0)
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the curves of both groups; return the Axes."""
        from .plots import plot_calibration

        return plot_calibration(self, ax)

    def __repr__(self) -> str:
        return f"Calibration({len(self.edges) - 1} bins, overall and by group)"


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """The metrics of one model's scores.

    `replicates` has a line per resample. The resamples of one seed and one z are the same for any
    scores, so lines of two models are pairs.
    """

    scores: Floats = field(repr=False)
    metrics: MetricTable
    calibration: Calibration
    replicates: Floats = field(repr=False)


def measure_model(
    p: Floats, rows: Rows, settings: Settings, progress: Progress | None = None
) -> Measured:
    """Measure scores on all rows, and again on each resample within the groups."""
    sample = Sample.of(rows.y, p, rows.z, rows.weights)
    edges = bin_edges(p, settings.calibration_bins, settings.calibration_strategy)
    values = measure(sample.tally(), settings.thresholds, edges)
    replicates = np.empty((0, len(values) + len(PLACES) * (len(edges) - 1)))
    if settings.n_bootstrap:
        replicates = bootstrap(
            partial(resampled, sample, settings.thresholds, edges),
            rows.z,
            settings.n_bootstrap,
            seed=settings.random_state,
            n_jobs=settings.n_jobs,
            progress=progress,
            clusters=rows.clusters,
        )
    shares, level = replicates[:, len(values) :], settings.confidence
    return Measured(
        scores=p,
        metrics=MetricTable(entries=estimates(values, replicates, level), levels=rows.groups.names),
        calibration=Calibration.of(sample.tally(), edges, rows.groups.names, shares, level),
        replicates=replicates,
    )


def short(text: Any, longest: int = 32) -> str:
    """Return text for one line of a terminal: no control characters, long ones cut in the middle.

    Examples
    --------
    >>> short("a" * 20 + "b" * 20, 11)
    'aaaaa…bbbbb'
    """
    line = "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(text)
    )
    if len(line) <= longest:
        return line
    half = (longest - 1) // 2
    return f"{line[:half]}…{line[-half:]}"


def show(each: Estimate, form: str = ".4f") -> str:
    """Return an estimate, with its interval where there is one, for a terminal; NaN is a dash.

    Examples
    --------
    >>> show(Estimate(0.2, 0.05, 0.1, 0.3), "+.1f")
    '+0.2 [+0.1, +0.3]'
    """
    if math.isnan(each.low):
        return "–" if math.isnan(each.estimate) else f"{each.estimate:{form}}"
    return f"{each.estimate:{form}} [{each.low:{form}}, {each.high:{form}}]"


def text_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return aligned lines: the first column to the left, the others to the right."""
    cells = [list(header), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
