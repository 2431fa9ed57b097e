"""XGBoost's tracker, which connects the processes of a collective."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any

from ..extras import load

_TRIES = 10  # XGBoost waits longer before each, about two minutes in all


def start_tracker(n_workers: int, host: str, port: int = 0) -> dict[str, Any]:
    """Start a tracker in this process and return the arguments that workers need to connect.

    It ends with the last worker. Each worker opens ``CommunicatorContext(**arguments)`` of
    ``xgboost.collective``, with its own ``dmlc_task_id``: their order is that of the ranks.

    Parameters
    ----------
    n_workers : int
        The number of processes.
    host : str
        An address of this machine that they can reach.
    port : int, default=0
        The port to listen on; 0 is any free port, other numbers need XGBoost 3.

    Returns
    -------
    dict
        The arguments of ``CommunicatorContext``, but for ``dmlc_task_id``.

    Examples
    --------
    >>> from xgboost.collective import CommunicatorContext
    >>> with CommunicatorContext(**start_tracker(1, "127.0.0.1")):
    ...     print("together")
    [...together
    """
    xgboost = load("xgboost", "xgboost")
    if port and int(xgboost.__version__.partition(".")[0]) < 3:
        raise RuntimeError(
            f"XGBoost {xgboost.__version__} cannot listen on a given port, so that other "
            "processes cannot find this one; use XGBoost 3"
        )
    tracker = load("xgboost.tracker", "xgboost").RabitTracker(
        n_workers=n_workers, host_ip=host, port=port, sortby="task"
    )
    tracker.start()

    def wait() -> None:  # keeps the tracker until all workers have ended
        with suppress(xgboost.core.XGBoostError):
            tracker.wait_for()

    Thread(target=wait, daemon=True).start()
    return dict(tracker.worker_args())


@contextmanager
def together(rank: int, size: int, host: str, port: int) -> Iterator[None]:
    """Connect this process to a collective, for launchers that number their processes.

    Examples are MPI, torchrun, Slurm and Ray Train. The first process starts the tracker; the
    others wait for it. Inside ``with``, every process calls `fit_here`.

    Parameters
    ----------
    rank, size : int
        The number of this process, from 0, and how many there are.
    host : str
        The address of the first process.
    port : int
        A free port of that host.

    Examples
    --------
    >>> import numpy as np
    >>> from unsway.distributed import Collective
    >>> with together(0, 1, "127.0.0.1", 0):
    ...     print("the sum is", Collective().sum(np.ones(2)))
    [...the sum is [1. 1.]
    """
    if not 0 <= rank < size:
        raise ValueError(f"rank must be at least 0 and below size={size}; got {rank!r}")
    if size > 1 and port == 0:
        raise ValueError("port must be stated, so that all processes know it; got 0")
    arguments = {"dmlc_tracker_uri": host, "dmlc_tracker_port": port}
    if rank == 0:
        arguments = start_tracker(size, host, port)
    context = load("xgboost.collective", "xgboost").CommunicatorContext(
        **arguments, dmlc_task_id=f"{rank:06d}", dmlc_retry=_TRIES
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*(Failed to connect to|Retrying connection)")
        context.__enter__()
    try:
        yield
    finally:
        context.__exit__()
