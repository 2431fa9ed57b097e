"""The effects of z on the rows of Parquet files that are larger than memory.

Propensity and outcome models are trained by XGBoost on a sample of the rows and predict the others
a batch at a time. What is kept of every row is its outcome, group, weight and predictions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._typing import Floats, Index
from ..checks import check_integer
from ..effects import CrossFit, Effects, Nuisances
from ..effects.estimation import effects_of_predictions
from ..effects.estimation_input import check_outcome_varies
from ..effects.overlap import MAX_EXTREME_SHARE
from ..effects.study import Study
from ..effects.verdict import verdict
from ..grouping import Grouping
from ..outcome import Outcome, number_loss
from ..rows import Rows
from .engine import BoosterSettings
from .external import draw_rows
from .nuisances import EngineFitting
from .parquet import ParquetRows
from .xgboost import XGBOOST


@dataclass(frozen=True, kw_only=True)
class EffectSettings:
    """How effects on files are estimated; see `estimate_effects_parquet`."""

    cv: int = 5
    clip: float = 0.01
    confidence: float = 0.95
    sample_rows: int = 1_000_000
    max_extreme_share: float = MAX_EXTREME_SHARE
    allow_separation: bool = False
    keep_rows: bool = False
    random_state: int = 0
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        check_integer(self.sample_rows, "sample_rows", at_least=1)

    def effects(self, rows: Rows, nuisances: Nuisances) -> Effects:
        """Return the effects of rows whose nuisances are known."""
        return effects_of_predictions(
            rows,
            nuisances,
            cv=self.cv,
            clip=self.clip,
            confidence=self.confidence,
            max_extreme_share=self.max_extreme_share,
            random_state=self.random_state,
            keep_rows=self.keep_rows,
        )


def estimate_effects_parquet(
    files: Any,
    *,
    target: str,
    sensitive: str,
    sample_weight: str | None = None,
    exposure: str | None = None,
    drop: Sequence[str] = (),
    loss: str | None = None,
    power: float = 1.5,
    groups: Grouping | None = None,
    **settings: Any,
) -> Effects:
    """Estimate the effects of z on the rows of Parquet files that need not fit in memory.

    The estimates are those of `estimate_effects`, doubly robust with intervals by influence
    functions over all rows. Its models are those that XGBoost fits for fair targets: logistic
    regression stacked with boosted trees, cross-fitted on a sample of about ``sample_rows`` rows,
    drawn by what they hold. They predict the other rows, which they have not seen. About 350 bytes
    of memory are needed for a row, whatever the number of columns.

    Parameters
    ----------
    files : path or sequence of paths
        Parquet files of the same columns; a folder stands for those in it.
    target, sensitive, sample_weight, exposure : str
        The columns of the outcome, of the sensitive attribute, of the weights, and of the time
        insured of counts and amounts.
    drop : sequence of str
        Columns to leave out.
    loss : {"squared_error", "poisson", "gamma", "tweedie"}, optional
        What the target is where it is a number; without it the target is a label of two values.
    power : float, default=1.5
        The power of ``loss="tweedie"``, above 1 and below 2.
    groups : Grouping, optional
        How the sensitive attribute is read, such as its reference level.
    **settings
        ``sample_rows`` (1,000,000), ``n_jobs`` (threads of XGBoost; all), and ``cv``, ``clip``,
        ``confidence``, ``max_extreme_share``, ``allow_separation``, ``keep_rows`` and
        ``random_state`` with the meanings and defaults of `estimate_effects`.

    Returns
    -------
    Effects

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import pyarrow, pyarrow.parquet
    >>> from unsway import make_synthetic
    >>> people = make_synthetic(4_000, random_state=0)
    >>> columns = {f"x{k}": people.X[:, k] for k in range(people.X.shape[1])}
    >>> table = pyarrow.table({**columns, "hired": people.y, "sex": people.z})
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "people.parquet"
    ...     pyarrow.parquet.write_table(table, file)
    ...     effects = estimate_effects_parquet(
    ...         file, target="hired", sensitive="sex", max_extreme_share=1, n_jobs=1
    ...     )
    >>> direct = effects.direct_everyone
    >>> direct.low < people.effects.direct_everyone < direct.high
    True
    """
    known = EffectSettings(**settings)
    named = [each for each in (target, sensitive, sample_weight, exposure) if each is not None]
    if len(set(named)) < len(named):
        raise ValueError("target, sensitive, sample_weight and exposure must be different columns")
    drop = [drop] if isinstance(drop, str) else list(drop)
    opened = ParquetRows.of(files, leave_out=[*named, *drop])
    stated = None if loss is None else number_loss(loss, power)
    rows = opened.rows(target, sensitive, sample_weight, groups, loss=stated, exposure=exposure)
    return known.effects(rows, nuisances_of_files(opened, rows, known).everyone)


def study_files(files: ParquetRows, rows: Rows, settings: EffectSettings) -> Study:
    """Return the effects on all rows; what else a study has is computed on the sampled ones."""
    found = nuisances_of_files(files, rows, settings)
    sampled = Study.of(found.rows, settings.effects(found.rows, found.sampled))
    effects = settings.effects(rows, found.everyone)
    return replace(
        sampled,
        effects=effects,
        verdict=verdict(effects.overlap, sampled.balance, sampled.mean_field),
    )


@dataclass(frozen=True)
class FileNuisances:
    """The nuisances of all rows of files, and of those the models were trained on.

    Parameters
    ----------
    everyone : Nuisances
        Of all rows, in their order.
    rows : Rows
        The sampled rows, with their covariates.
    sampled : Nuisances
        Of the sampled rows.
    """

    everyone: Nuisances
    rows: Rows
    sampled: Nuisances


def nuisances_of_files(files: ParquetRows, rows: Rows, settings: EffectSettings) -> FileNuisances:
    """Return the nuisances of all rows, each from models that have not seen it."""
    if not rows.groups.two:
        raise ValueError(
            f"the sensitive attribute has {rows.groups.n_levels} levels; effects on files are "
            "those between two. Take the rows of two levels, or a sample that fits in memory"
        )
    check_outcome_varies(rows)
    share = min(1.0, settings.sample_rows / files.n_rows)
    (chosen,) = draw_rows(files, files.engine_table(), rows, (share,), settings.random_state)
    positions = np.flatnonzero(chosen)
    taught = rows.take(positions).with_table(files.take(chosen))
    positions, taught = positions[taught.order], taught.take(taught.order)
    engine = BoosterSettings({}, "exact", settings.random_state, settings.n_jobs)
    scaled = replace(taught, outcome=_without_unit(taught)).with_order(taught.order)
    cross_fit = CrossFit.of(
        scaled,
        pooled=True,
        cv=settings.cv,
        clip=settings.clip,
        seed=settings.random_state,
        fitting=EngineFitting(XGBOOST, engine),
        allow_separation=settings.allow_separation,
    )
    found, models = cross_fit.fit_models()
    unit, origin = scaled.outcome.unit, scaled.outcome.origin

    def in_units(nuisances: Nuisances) -> Nuisances:
        return replace(nuisances, outcome=origin + unit * nuisances.outcome)

    everyone = _of_everyone(files, models, found, positions)
    return FileNuisances(in_units(everyone), taught, in_units(found))


def _without_unit(rows: Rows) -> Outcome:
    """Return labels as they are, and numbers so that no model depends on their unit."""
    outcome = rows.outcome.standardised(rows.weights)
    if outcome.is_label or outcome.loss.link == "log":
        return outcome
    return rows.outcome.in_units(outcome.origin, rows.outcome.spread(rows.weights))


def _of_everyone(files: ParquetRows, models: Any, sampled: Nuisances, at: Index) -> Nuisances:
    """Return predictions for every row; those of sampled rows come from the other folds."""
    propensity, unclipped = np.empty(files.n_rows), np.empty(files.n_rows)
    outcome: Floats = np.empty((files.n_rows, 2))
    if len(at) < files.n_rows:
        for span, batch in files.batches():
            found = models.predict(batch)
            propensity[span], outcome[span] = found.propensity, found.outcome
            unclipped[span] = found.unclipped
    propensity[at], outcome[at], unclipped[at] = (
        sampled.propensity,
        sampled.outcome,
        sampled.unclipped,
    )
    return Nuisances(
        propensity,
        outcome,
        n_clipped=int((propensity != unclipped).sum()),
        shares=sampled.shares,
        unclipped=unclipped,
    )
