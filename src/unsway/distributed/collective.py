"""Communication between processes that train together: sums of a few numbers, short texts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..extras import load

Result = TypeVar("Result")

#: Errors that all workers raise if one of them does.
_SHARED_ERRORS = {"ValueError": ValueError, "TypeError": TypeError}


class Collective:
    """One process of XGBoost's collective; without a collective, the only one.

    Every method must be called by all processes in the same order.

    Attributes
    ----------
    rank, size : int
        The number of this process, from 0, and how many there are.
    calls, bytes : int
        The number of sums, and the bytes that this process sent for them.

    Examples
    --------
    >>> import numpy as np
    >>> alone = Collective()
    >>> alone.sum(np.array([1.0, 2.0])).tolist(), alone.bytes
    ([1.0, 2.0], 16)
    """

    def __init__(self) -> None:
        self._engine = load("xgboost.collective", "xgboost")
        self.rank = int(self._engine.get_rank())
        self.size = int(self._engine.get_world_size())
        self.calls = self.bytes = 0

    def sum(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of the processes' arrays, which have the same shape."""
        return self._combine(array, self._engine.Op.SUM)

    def largest(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the elementwise maximum of the processes' arrays."""
        return self._combine(array, self._engine.Op.MAX)

    def texts(self, text: str) -> list[str]:
        """Return the text of each process, in the order of their ranks."""
        encoded = np.frombuffer(text.encode(), dtype=np.uint8)
        lengths = np.zeros(self.size, dtype=np.int64)
        lengths[self.rank] = len(encoded)
        ends = np.cumsum(self.sum(lengths))
        letters = np.zeros(int(ends[-1]), dtype=np.uint8)
        letters[ends[self.rank] - len(encoded) : ends[self.rank]] = encoded
        letters = self.sum(letters)
        return [bytes(part).decode() for part in np.split(letters, ends[:-1])]

    def broadcast(self, data: bytes) -> bytes:
        """Return the bytes of the first process."""
        return data if self.size == 1 else bytes(self._engine.broadcast(data, 0))

    def agree(self, work: Callable[[], Result]) -> Result:
        """Return the result of this process; an error of one process is raised by all."""
        result: Result | None = None
        try:
            result = work()
            failure = ["", ""]
        except (TypeError, ValueError) as error:
            kind = "TypeError" if isinstance(error, TypeError) else "ValueError"
            failure = [kind, str(error)]
        for kind, message in map(json.loads, self.texts(json.dumps(failure))):
            if kind:
                raise _SHARED_ERRORS[kind](message)
        return result  # type: ignore[return-value]  # set, since no process raised

    def _combine(self, array: NDArray[Any], operation: Any) -> NDArray[Any]:
        array = np.ascontiguousarray(array)
        if array.size == 0:
            return array
        self.calls += 1
        self.bytes += array.nbytes
        return np.asarray(self._engine.allreduce(array, operation)).reshape(array.shape)


def is_collective_failure(error: BaseException) -> bool:
    """Return whether XGBoost raised the error: another process may be lost."""
    return isinstance(error, load("xgboost", "xgboost").core.XGBoostError)
