"""Cases of rows that are in files or spread over processes."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from regression import api, data
from regression.cases_boosting import outcome
from regression.registry import Case, case

NEEDS = ("xgboost", "scikit-learn")


def cases() -> Iterator[Case]:
    """Yield the cases."""
    for criterion in ("fair_target", "direct_effect", "parity"):
        for criterion_rows in (1_000_000, 700):
            both = (criterion, criterion_rows)
            name = f"parquet/{criterion}/{'all' if criterion_rows > 1_500 else 'sample'}"
            yield case(name, "float32", parquet, *both, engines=NEEDS)
        yield case(f"dask/{criterion}", "float32", spread, criterion, engines=(*NEEDS, "dask"))
        yield case(f"fit_here/{criterion}", "float32", alone, criterion, engines=NEEDS)


def _strength(criterion: str) -> float:
    return api.strengths_of(criterion)[-1]


def _shared(criterion: str) -> Any:
    """Return a criterion for rows spread over processes, which fit the propensity themselves."""
    if criterion == "direct_effect":
        return api.direct_effect(propensity=None)
    return api.CRITERIA[criterion]()


def parquet(criterion: str, criterion_rows: int) -> Mapping[str, Any]:
    """Record a fit on two Parquet files with categories, missing values and weights."""
    people = data.adult()
    table = people.X.assign(income=people.y, sex=people.z, weight=people.weights, row=1.0)
    columns = {"target": "income", "sensitive": "sex", "sample_weight": "weight", "drop": ["row"]}
    model = api.booster("xgboost", api.CRITERIA[criterion](), _strength(criterion), people)
    with TemporaryDirectory() as place:
        for part, rows in enumerate((table.iloc[:800], table.iloc[800:])):
            rows.to_parquet(Path(place) / f"part-{part}.parquet", index=False)
        model = api.fit_parquet(model, place, columns, criterion_rows)
    return outcome(model, people.X)


def coarse() -> data.Data:
    """Return people whose columns have few values, so that quantiles do not depend on the split."""
    people = data.synthetic(1_200)
    X = np.round(people.X * 2) / 2
    return replace(people, X=X, matrix=X)


@contextmanager
def two_processes() -> Iterator[Any]:
    """Yield the client of two Dask workers, a process with a thread each."""
    import dask
    import distributed

    settings = {"distributed.admin.log-length": 0, "distributed.worker.memory.target": False}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def _placed(client: Any, array: Any, name: str) -> Any:
    """Return an array in two halves, the first on the worker whose address sorts first."""
    import dask.array

    workers = sorted(client.nthreads())
    halves = np.array_split(array, 2)
    name = f"regression-{name}"
    graph = {
        (name, place, *[0] * (array.ndim - 1)): client.submit(
            np.array, half, workers=[worker], pure=False
        )
        for place, (half, worker) in enumerate(zip(halves, workers, strict=True))
    }
    chunks = (tuple(map(len, halves)), *((width,) for width in array.shape[1:]))
    return dask.array.Array(graph, name, chunks, dtype=array.dtype)


def spread(criterion: str) -> Mapping[str, Any]:
    """Record a fit on rows that two processes hold, one half each."""
    people = coarse()
    with two_processes() as client:
        roles = {"X": people.X, "y": people.y, "z": people.z, "weights": people.weights}
        placed = {name: _placed(client, array, name) for name, array in roles.items()}
        given = replace(people, **placed)
        model = api.dask_booster(_shared(criterion), _strength(criterion), people, client)
        model = api.fit(model, given, weighted=True)
        lazily = model.predict_proba(given.X).compute()[:, 1]
        return {
            **outcome(model, people.X),
            "rows": model.n_rows_,
            "workers": model.n_workers_,
            "lazy_mean": float(np.mean(lazily)),
        }


def alone(criterion: str) -> Mapping[str, Any]:
    """Record a fit by the function that every worker runs, in a collective of one."""
    people = coarse()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    model = api.booster("xgboost", _shared(criterion), _strength(criterion), people)
    return outcome(api.fit_here(model, people, True, port), people.X)
