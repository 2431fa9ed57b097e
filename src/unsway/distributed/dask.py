"""Dask collections as training rows: every partition stays on its worker."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..core import Schedule, Step
from ..extras import load
from ..grouping import Grouping
from ..models.boosting import check_booster, on_step
from ..models.xgboost import FairXGBClassifier
from .cluster import ROLES, Job, Partitions, WorkerLostError, wait_for_a_worker, workers_of
from .nuisances import NuisanceSettings
from .worker import Faults, Model


class DaskBooster(BaseEstimator):
    """A booster on Dask collections; ``plain`` is the estimator that it trains."""

    plain: ClassVar[type[Model]]

    model_: Any
    client: Any
    nuisances: NuisanceSettings | None
    checkpoint: str | Path | None
    checkpoint_every: int
    max_restarts: int
    callback: Callable[[Step], None] | None
    progress: bool
    n_jobs: int | None

    def __getattr__(self, name: str) -> Any:
        learned = name.endswith("_") and not name.startswith("_")
        if learned and "model_" in self.__dict__:
            return getattr(self.model_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "client": None}  # a connection cannot be stored

    def _plain_model(self) -> Model:
        names = self.plain().get_params(deep=False)
        return self.plain(**{name: getattr(self, name) for name in names})

    def _train(self, given: Sequence[Any], evaluation: Sequence[Any] | None) -> None:
        """Check settings and collections, train on the workers, and keep the model."""
        model = self._plain_model()
        check_booster(model)
        faults = Faults(self.checkpoint, self.checkpoint_every)
        client, kind = self._client(), self.plain.__name__
        rows = _collections(given, "", kind)
        other = None if evaluation is None else _collections(evaluation, " of eval_set", kind)
        partitions = Partitions.of(client, rows, other)
        job = Job(model, self.nuisances, faults, partitions)
        self.model_, self.n_restarts_ = self._run(client, job)

    def _client(self) -> Any:
        """Return the client, or say that there is none or that it has no workers."""
        distributed = load("distributed", "dask")
        if self.client is not None and not isinstance(self.client, distributed.Client):
            raise TypeError(f"client must be a distributed.Client; got {type(self.client)!r}")
        try:
            client = distributed.get_client() if self.client is None else self.client
        except ValueError:
            raise ValueError(
                "there is no Dask client; make one with distributed.Client(…), or pass client="
            ) from None
        if not workers_of(client):
            raise ValueError("the Dask cluster has no workers; add some first")
        return client

    def _run(self, client: Any, job: Job) -> tuple[Any, int]:
        """Train, and start again after the loss of a worker if there is a checkpoint."""
        restarts = 0
        while True:
            try:
                model = job.run(client, on_step(self._plain_model()))
                break
            except WorkerLostError:
                if self.checkpoint is None or restarts >= self.max_restarts:
                    raise
                restarts += 1
                wait_for_a_worker(client)
        if self.progress:
            print(file=sys.stderr)
        model.callback, model.progress = self.callback, self.progress
        model.n_jobs = self.n_jobs
        return model, restarts


class FairDaskXGBClassifier(DaskBooster):
    """`FairXGBClassifier` on Dask collections, whose partitions stay on their workers.

    Each worker with a partition runs one task under XGBoost's collective. Propensity and outcome
    models are fitted there too. The schedule uses losses over all rows, so that all workers stop at
    the same round. ``booster_`` is an ordinary XGBoost model.

    Parameters
    ----------
    criterion, strength, params, schedule, curvature, groups, random_state
        As in `FairXGBClassifier`, with the same defaults.
    validation_fraction : float, default=0.33
        As there; the hold-out is chosen by a hash of each row, so that the share is not exact.
    callback, progress
        As there; they run in the client.
    n_jobs : int, optional
        Threads of XGBoost on each worker; by default as many as the worker has.
    nuisances : NuisanceSettings, optional
        How propensity and outcome means are fitted.
    checkpoint : path, optional
        A folder that all workers can access. If a worker dies, training starts again on the
        remaining or restarted workers, from the last state in this folder, and ends with the same
        model. Without a checkpoint the loss of a worker is an error.
    checkpoint_every : int, default=10
        Rounds between two writes.
    max_restarts : int, default=3
        How many lost workers are allowed before the loss of one is an error.
    client : distributed.Client, optional
        The cluster; by default the current one.

    Attributes
    ----------
    booster_, classes_, n_features_in_, feature_names_in_, feature_importances_
        As in `FairXGBClassifier`.
    best_iteration_, n_rounds_, evals_result_, strength_, sensitive_levels_
        As there, too.
    model_ : FairXGBClassifier
        The same model without Dask, for tables in memory.
    n_rows_, n_workers_ : int
        Rows of the collections, including the hold-out, and workers that trained on them.
    communication_ : Communication
        Bytes that this library summed over the workers.
    n_restarts_, resumed_at_ : int
        How often training started again, and the rounds that the last run took over from an
        earlier one.

    Notes
    -----
    With ``subsample`` and similar parameters a resumed run draws other rows than one without
    interruption.

    Examples
    --------
    >>> FairDaskXGBClassifier(strength=0.5)
    FairDaskXGBClassifier(strength=0.5)
    """

    plain = FairXGBClassifier

    def __init__(
        self,
        criterion: Any = None,
        strength: float | None = None,
        *,
        params: dict[str, Any] | None = None,
        schedule: Schedule | None = None,
        validation_fraction: float = 0.33,
        curvature: str = "adaptive",
        groups: Grouping | None = None,
        callback: Callable[[Step], None] | None = None,
        progress: bool = False,
        random_state: int = 0,
        n_jobs: int | None = None,
        nuisances: NuisanceSettings | None = None,
        checkpoint: str | Path | None = None,
        checkpoint_every: int = 10,
        max_restarts: int = 3,
        client: Any = None,
    ) -> None:
        self.criterion = criterion
        self.strength = strength
        self.params = params
        self.schedule = schedule
        self.validation_fraction = validation_fraction
        self.curvature = curvature
        self.groups = groups
        self.callback = callback
        self.progress = progress
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.nuisances = nuisances
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.max_restarts = max_restarts
        self.client = client

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        eval_set: tuple[Any, ...] | None = None,
    ) -> Self:
        """Fit on Dask collections with the same partitions.

        Parameters
        ----------
        X : dask DataFrame or Array of shape (n_samples, n_features)
            Covariates, without the sensitive attribute.
        y : dask Series, DataFrame of one column, or Array
            Labels of two classes.
        sensitive_features : dask Series, DataFrame of one column, or Array
            The sensitive attribute, two levels.
        sample_weight : dask Series, DataFrame of one column, or Array, optional
            Weights of the rows.
        eval_set : tuple, optional
            Collections ``(X, y, sensitive_features)`` or ``(X, y, sensitive_features,
            sample_weight)`` to stop early by; by default a part of the training rows.

        Returns
        -------
        self
            The fitted classifier.
        """
        self._train((X, y, sensitive_features, sample_weight), given_to_stop_by(eval_set, 4))
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of both classes, lazily for a collection.

        The result for a Dask DataFrame is a DataFrame with a column per class, for an Array an
        Array.
        """
        return predict_lazily(X, self, "predict_proba")

    def predict(self, X: Any) -> Any:
        """Return the more likely class of each row, lazily for a collection."""
        return predict_lazily(X, self, "predict")

    def decision_function(self, X: Any) -> Any:
        """Return the margin of each row, lazily for a collection."""
        return predict_lazily(X, self, "decision_function")


def _collections(given: Sequence[Any], suffix: str, kind: str) -> tuple[Any, ...]:
    """Check that all are Dask collections with the same partitions; the last may be absent."""
    dask = load("dask", "dask")
    valid = []
    for role, collection in zip(ROLES, given, strict=False):
        if collection is None and role in ("sample_weight", "exposure"):
            continue
        if collection is None:
            raise TypeError(f"{role}{suffix} is required; pass it by name")
        if not dask.is_dask_collection(collection) or not hasattr(collection, "to_delayed"):
            raise TypeError(
                f"{role}{suffix} must be a dask DataFrame, Series or Array; got "
                f"{type(collection)!r}. Tables in memory are for {kind}"
            )
        valid.append(collection)
    if valid[0].ndim != 2:
        raise ValueError(f"X{suffix} must have rows and columns; it has {valid[0].ndim} dimension")
    blocks = [_n_blocks(each) for each in valid]
    for role, (count, width) in zip(ROLES, blocks, strict=False):
        if width > 1:
            raise ValueError(
                f"{role}{suffix} is split by columns; rechunk it with chunks=(rows, -1)"
            )
        if count != blocks[0][0]:
            raise ValueError(
                f"X{suffix} has {blocks[0][0]} partitions but {role} has {count}; partition them "
                "alike"
            )
    return tuple(valid)


def _n_blocks(collection: Any) -> tuple[int, int]:
    """Return the number of blocks of rows and of columns."""
    rows, *columns = getattr(collection, "numblocks", None) or [collection.npartitions]
    return int(rows), int(columns[0]) if columns else 1


def given_to_stop_by(eval_set: Any, most: int) -> tuple[Any, ...] | None:
    """Return a user's ``eval_set`` with None for what is left out, or say what is wrong."""
    if eval_set is None:
        return None
    if not isinstance(eval_set, tuple) or not 3 <= len(eval_set) <= most:
        more = "" if most == 4 else " and exposure as an optional fifth"
        raise TypeError(
            "eval_set must be a tuple (X, y, sensitive_features), with sample_weight as an "
            f"optional fourth{more}"
        )
    return (*eval_set, None, None)[:most]


def predict_lazily(X: Any, estimator: DaskBooster, method: str) -> Any:
    """Apply a method of the model to a table, or to each partition of a collection."""
    check_is_fitted(estimator, "model_")
    model = estimator.model_
    if not load("dask", "dask").is_dask_collection(X):
        return getattr(model, method)(X)
    if hasattr(X, "map_partitions"):
        meta = _predict_frame(load("pandas", "dask").RangeIndex(0).to_frame(), model, method)
        return X.map_partitions(_predict_frame, model, method, meta=meta)
    nothing = _predict_block(np.zeros((0, 1)), model, method)
    wide = nothing.ndim == 2
    return X.map_blocks(
        _predict_block,
        model,
        method,
        dtype=nothing.dtype,
        chunks=(X.chunks[0], (2,)) if wide else (X.chunks[0],),
        drop_axis=None if wide else 1,
    )


def _predict_block(block: NDArray[Any], model: Any, method: str) -> NDArray[Any]:
    if len(block) == 0:
        shape: tuple[int, ...] = (0, 2) if method == "predict_proba" else (0,)
        labels = method == "predict" and hasattr(model, "classes_")
        return np.zeros(shape, dtype=model.classes_.dtype if labels else np.float64)
    return np.asarray(getattr(model, method)(block))


def _predict_frame(frame: Any, model: Any, method: str) -> Any:
    """Return values for a pandas frame under its index."""
    pandas = load("pandas", "dask")
    values = _predict_block(frame, model, method)
    if method != "predict_proba":
        return pandas.Series(values, index=frame.index, name=method)
    return pandas.DataFrame(values, index=frame.index, columns=[str(c) for c in model.classes_])
