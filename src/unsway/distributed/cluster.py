"""One training on a Dask cluster: a task per worker, monitored by the client."""

from __future__ import annotations

import time
import uuid
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from ..core import Losses, Step
from ..extras import load
from .collective import is_collective_failure
from .nuisances import NuisanceSettings
from .rows import Part
from .tracker import start_tracker
from .worker import Faults, Model, fit_here

#: The columns of a partition; the last two are optional, and an exposure comes with weights.
ROLES = ("X", "y", "sensitive_features", "sample_weight", "exposure")

_POLL_SECONDS = 0.05
_LOOK_SECONDS = 0.5  # between two checks of which workers are connected
_GRACE_SECONDS = 10.0  # for the scheduler to notice that a worker is gone
_RESTART_SECONDS = 60.0


class WorkerLostError(RuntimeError):
    """A Dask worker was lost during the training."""


@dataclass(frozen=True)
class Partitions:
    """The partitions as futures, a tuple of roles for each, and their number of rows."""

    train: tuple[tuple[Any, ...], ...]
    evaluation: tuple[tuple[Any, ...], ...] | None
    n_rows: int

    @classmethod
    def of(cls, client: Any, rows: Sequence[Any], evaluation: Sequence[Any] | None) -> Self:
        """Compute the partitions on the workers, and check that they fit together."""
        train = _futures(client, rows)
        other = None if evaluation is None else _futures(client, evaluation)
        n_rows = _check_lengths(client, train, "")
        if other is not None:
            _check_lengths(client, other, " of eval_set")
        return cls(train, other, n_rows)

    def by_worker(self, client: Any) -> dict[str, tuple[list[Any], list[Any]]]:
        """Wait for the partitions, and return those of each worker, by where their X is."""
        groups = (self.train, self.evaluation or ())
        _wait([future for group in groups for part in group for future in part])
        held = client.who_has([part[0] for group in groups for part in group])
        taken: dict[str, tuple[list[Any], list[Any]]] = {}
        for position, group in enumerate(groups):
            for part in group:
                holders = sorted(held[part[0].key])
                if not holders:
                    raise WorkerLostError("a partition of X was lost with its worker")
                least = min(holders, key=lambda holder: sum(map(len, taken.get(holder, ((), ())))))
                taken.setdefault(least, ([], []))[position].append(list(part))
        return taken


@dataclass(frozen=True)
class Job:
    """One training: the settings and the partitions."""

    model: Model
    nuisances: NuisanceSettings | None
    faults: Faults
    partitions: Partitions

    def run(self, client: Any, on_step: Callable[[Step], None] | None) -> Any:
        """Run one task per worker, and return the model of one of them."""
        distributed = load("distributed", "dask")
        held = self.partitions.by_worker(client)
        faults = replace(self.faults, n_rows=self.partitions.n_rows)
        with (
            distributed.MultiLock(names=sorted(held), client=client),
            _steps(client, on_step) as (topic, drain),
        ):
            arguments = client.run_on_scheduler(start_tracker, len(held), _host(client))
            self.model.callback, self.model.progress = None, False
            fit = partial(fit_here, nuisances=self.nuisances, faults=faults)
            task = partial(_fit_on_worker, fit, self.model, topic)
            tasks = {
                worker: client.submit(
                    task,
                    {**arguments, "dmlc_task_id": f"{number:06d}"},
                    train,
                    evaluation if self.partitions.evaluation is not None else None,
                    workers=[worker],
                    allow_other_workers=False,
                    pure=False,
                    retries=0,
                )
                for number, (worker, (train, evaluation)) in enumerate(sorted(held.items()))
            }
            try:
                _follow(client, tasks, drain)
                fitted, caught = tasks[min(tasks)].result()
            except Exception:
                free_workers(client, tasks)
                raise
            finally:
                client.cancel(list(tasks.values()))
        for message, category in caught:
            warnings.warn(message, category, stacklevel=4)
        return fitted


def _fit_on_worker(
    fit: Callable[..., Any],
    model: Model,
    topic: str | None,
    arguments: Mapping[str, Any],
    train: list[list[Any]],
    evaluation: list[list[Any]] | None,
) -> tuple[Any, list[tuple[str, type[Warning]]]]:
    """Train inside a worker; return the model, and the warnings for the client."""
    worker = load("distributed", "dask").get_worker()
    if model.n_jobs is None:
        model.n_jobs = int(worker.state.nthreads)

    def report(step: Step) -> None:
        worker.log_event(topic, astuple(step))

    if topic is not None:
        model.callback = report
    context = load("xgboost.collective", "xgboost").CommunicatorContext
    with warnings.catch_warnings(record=True) as caught, context(**arguments):
        warnings.simplefilter("always", UserWarning)
        eval_parts = None if evaluation is None else [Part(*part) for part in evaluation]
        fitted = fit(model, [Part(*part) for part in train], eval_parts=eval_parts)
    fitted.callback = None
    return fitted, [(str(each.message), each.category) for each in caught]


def _follow(client: Any, tasks: Mapping[str, Any], drain: Callable[[], None]) -> None:
    """Wait for the task of each worker, and raise an error as soon as it is known."""
    looked = time.monotonic()
    while not _with_status(tasks, "error") and _with_status(tasks, "pending"):
        drain()
        if time.monotonic() - looked > _LOOK_SECONDS:
            looked = time.monotonic()
            _check_present(client, set(tasks))
        time.sleep(_POLL_SECONDS)
    drain()
    if len(_with_status(tasks, "finished")) == len(tasks):
        return
    errors: list[BaseException] = []
    for _ in _looks(_GRACE_SECONDS):  # for other errors, or until a worker is known to be lost
        errors = [tasks[worker].exception() for worker in sorted(_with_status(tasks, "error"))]
        ours = [error for error in errors if not _is_about_others(error)]
        if ours:
            raise ours[0]
        _check_present(client, set(tasks))
    raise errors[0] if errors else WorkerLostError("the tasks on the workers were cancelled")


def _with_status(tasks: Mapping[str, Any], status: str) -> set[str]:
    """Return the workers whose task has this status."""
    return {worker for worker, task in tasks.items() if task.status == status}


def free_workers(client: Any, tasks: Mapping[str, Any]) -> None:
    """Restart workers that still wait for a lost worker.

    Most tasks fail at once. Sometimes one does not, and would block its thread for minutes, until
    XGBoost gives up. The nanny then restarts this worker, and Dask computes its partitions again.
    If all tasks still train, the workers are fine and none is restarted.
    """
    waiting: list[str] = []
    for _ in _looks(_GRACE_SECONDS):
        waiting = sorted(_with_status(tasks, "pending") & workers_of(client))
        if not waiting or len(waiting) == len(tasks):
            return
    with suppress(ValueError):  # without a nanny it must wait
        client.restart_workers(waiting, timeout=_RESTART_SECONDS, raise_for_error=False)


def _is_about_others(error: BaseException) -> bool:
    """Return whether a task failed because of another one, or because its worker died."""
    killed = load("distributed", "dask").KilledWorker
    return isinstance(error, killed) or is_collective_failure(error)


def _check_present(client: Any, workers: set[str]) -> None:
    absent = workers - workers_of(client)
    if absent:
        raise WorkerLostError(
            f"{len(absent)} of {len(workers)} Dask workers left during the training: "
            f"{', '.join(sorted(absent))}. With checkpoint=folder the training would go on from "
            "its last checkpoint"
        )


def workers_of(client: Any) -> set[str]:
    """Return the addresses of the connected workers."""
    return set(client.nthreads())


def wait_for_a_worker(client: Any) -> None:
    """Wait until the cluster has a worker, for a minute at most."""
    for _ in _looks(_RESTART_SECONDS):
        if workers_of(client):
            return
    raise WorkerLostError(f"no Dask worker came back within {_RESTART_SECONDS:.0f} seconds")


def _looks(seconds: float) -> Iterator[None]:
    """Yield at once, then every half second until this many seconds have passed."""
    deadline = time.monotonic() + seconds
    yield
    while time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)
        yield


@contextmanager
def _steps(
    client: Any, on_step: Callable[[Step], None] | None
) -> Iterator[tuple[str | None, Callable[[], None]]]:
    """Yield a topic for the workers' steps, and a function that calls ``on_step`` with new ones."""
    if on_step is None:
        yield None, lambda: None
        return
    topic, reported = f"unsway-{uuid.uuid4()}", deque[Any]()

    def drain() -> None:
        while reported:
            number, phase, strength, losses = reported.popleft()
            on_step(Step(number, phase, strength, Losses(*losses)))

    client.subscribe_topic(topic, lambda event: reported.append(event[1]))
    try:
        yield topic, drain
    finally:
        client.unsubscribe_topic(topic)


def _host(client: Any) -> str:
    """Return the host of the scheduler, on which the tracker runs too."""
    address = load("distributed.comm", "dask").get_address_host(client.scheduler.address)
    return str(address) if client.scheduler.address.startswith("tcp") else "127.0.0.1"


def _futures(client: Any, collections: Sequence[Any]) -> tuple[tuple[Any, ...], ...]:
    """Return the partitions as futures: a tuple for each partition, a future for each role."""
    delayed = [np.ravel(np.array(each.to_delayed(), dtype=object)) for each in collections]
    count = len(delayed[0])
    futures = client.compute([piece for pieces in delayed for piece in pieces.tolist()])
    _wait(futures)
    roles = [futures[k * count : (k + 1) * count] for k in range(len(delayed))]
    return tuple(zip(*roles, strict=True))


def _wait(futures: Sequence[Any]) -> None:
    """Wait for partitions, including those computed again after the loss of a worker."""
    load("distributed", "dask").wait(list(futures))
    for future in futures:
        if future.status == "error":
            raise future.exception()
        if future.status != "finished":
            raise RuntimeError(
                "a partition was lost with its worker and cannot be computed again; make the "
                "collection from files rather than from data sent to the workers"
            )


def _check_lengths(client: Any, parts: Sequence[tuple[Any, ...]], suffix: str) -> int:
    """Return the number of rows; raise if a column of a partition has another length."""
    lengths = client.gather([client.map(len, part, pure=False) for part in parts])
    for number, counts in enumerate(lengths):
        for role, length in zip(ROLES, counts, strict=False):
            if length != counts[0]:
                raise ValueError(
                    f"partition {number} of X{suffix} has {counts[0]} rows but that of {role} has "
                    f"{length}; partition them alike"
                )
    total = sum(counts[0] for counts in lengths)
    if total == 0:
        raise ValueError(f"X{suffix} has no rows")
    return int(total)
