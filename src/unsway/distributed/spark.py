"""Spark data frames as training rows: a barrier stage in which every task trains."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sklearn.base import clone

from ..checks import check_integer
from ..extras import load
from ..models.boosting import check_booster
from ..models.xgboost import FairXGBClassifier
from .nuisances import NuisanceSettings
from .rows import Part
from .tracker import start_tracker
from .worker import Faults, fit_here


def fit_on_spark(
    model: FairXGBClassifier,
    frame: Any,
    *,
    label: str,
    sensitive: str,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    n_workers: int | None = None,
    nuisances: NuisanceSettings | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 10,
) -> FairXGBClassifier:
    """Fit a model on a Spark data frame, each partition in the executor that reads it.

    A barrier stage starts one task per partition, all at the same time: the cluster needs a free
    slot for each partition. The rows are counted first; cache a frame that is expensive to compute.
    If a task fails, Spark starts the stage again; with a checkpoint it resumes from the last state.

    Parameters
    ----------
    model : FairXGBClassifier
        The settings; it is not changed. ``callback`` and ``progress`` are ignored.
    frame : pyspark.sql.DataFrame
        The rows.
    label, sensitive : str
        The columns of labels and of the sensitive attribute.
    features : sequence of str, optional
        The covariates; by default all other columns.
    weight : str, optional
        The column of weights.
    n_workers : int, optional
        Number of tasks, between which the rows are shuffled; by default one per partition.
    nuisances : NuisanceSettings, optional
        How propensity and outcome means are fitted.
    checkpoint : path, optional
        A folder that all executors can access.
    checkpoint_every : int, default=10
        Rounds between two writes.

    Returns
    -------
    FairXGBClassifier
        The fitted model, for tables in memory; ``booster_`` is XGBoost's own.
    """
    load("pyspark", "spark")
    fresh = clone(model).set_params(callback=None, progress=False)
    check_booster(fresh)
    roles = [label, sensitive, *([weight] if weight is not None else [])]
    chosen = _features(frame.columns, roles, features)
    rows = frame.select(*chosen, *roles)
    if n_workers is not None:
        rows = rows.repartition(check_integer(n_workers, "n_workers", at_least=1))
    n_rows = rows.count()
    if n_rows == 0:
        raise ValueError("the data frame has no rows")
    faults = Faults(checkpoint, checkpoint_every, n_rows)
    fit = partial(fit_here, fresh, nuisances=nuisances, faults=faults)
    task = partial(_fit_partition, fit, chosen, roles)
    [row] = rows.mapInPandas(task, "model binary", barrier=True).collect()
    fitted: FairXGBClassifier = pickle.loads(bytes(row["model"]))  # noqa: S301  # our own task's
    return fitted


def _fit_partition(
    fit: Callable[..., Any], features: list[str], roles: list[str], batches: Iterator[Any]
) -> Iterator[Any]:
    """Do the work of one task of the barrier stage; the first task yields the model."""
    context = load("pyspark", "spark").BarrierTaskContext.get()
    parts = [Part(batch[features], *(batch[name] for name in roles)) for batch in batches]
    communicator = load("xgboost.collective", "xgboost").CommunicatorContext
    with communicator(**_tracker_arguments(context)):
        fitted = fit(parts)
    if context.partitionId() == 0:
        yield load("pandas", "spark").DataFrame({"model": [pickle.dumps(fitted)]})


def _tracker_arguments(context: Any) -> dict[str, Any]:
    """Start the tracker in the first task, and send its address to the others."""
    tasks, rank = context.getTaskInfos(), context.partitionId()
    mine = {}
    if rank == 0:
        host = tasks[0].address.rpartition(":")[0] or tasks[0].address
        mine = start_tracker(len(tasks), host)
    first, *_ = context.allGather(json.dumps(mine))
    return {**json.loads(first), "dmlc_task_id": f"{rank:06d}"}


def _features(
    columns: Sequence[str], roles: Sequence[str], features: Sequence[str] | None
) -> list[str]:
    """Return the covariates, or say which column is missing or has two roles."""
    chosen = [name for name in columns if name not in roles] if features is None else features
    for name in (*roles, *chosen):
        if name not in columns:
            raise ValueError(f"the data frame has no column {name!r}")
    twice = [name for name in chosen if name in roles]
    if twice:
        raise ValueError(f"{twice[0]!r} is among the features and has another role too")
    if not chosen:
        raise ValueError("no column is left as a covariate")
    return list(chosen)
