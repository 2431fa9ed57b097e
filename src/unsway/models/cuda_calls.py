"""The two calls of XGBoost's C interface in a round on a device.

Their Python wrappers check their arguments in every call, which takes a quarter of a millisecond:
11 % of a round on a million rows, 3 % on ten million (benchmarks/gpu.md). Both calls are part of
XGBoost's documented C interface.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from functools import cache
from typing import Any

from .xgboost import xgboost

_MARGIN = 1  # the type of prediction in the C interface
_HANDLE, _TEXT = ctypes.c_void_p, ctypes.c_char_p
_PREDICTION = (_HANDLE, _TEXT, _TEXT, _HANDLE, *[ctypes.c_void_p] * 3)

#: Function → the types of its arguments.
_GIVEN = {
    "XGBoosterTrainOneIter": (_HANDLE, _HANDLE, ctypes.c_int, _TEXT, _TEXT),
    "XGBoosterPredictFromCudaArray": _PREDICTION,
    "XGBoosterPredictFromDense": _PREDICTION,
}


class BoosterCalls:
    """Grows a booster's next tree, and returns the sum of some of its trees at given rows.

    Parameters
    ----------
    booster : xgboost.Booster
        The booster, with the parameters of its training.
    matrix : xgboost.DMatrix
        Its training rows.
    arrays : module
        CuPy, or NumPy if the rows are on the host.
    """

    def __init__(self, booster: Any, matrix: Any, arrays: Any) -> None:
        self._booster, self._matrix, self._arrays = booster, matrix, arrays

    def boost(self, iteration: int, gradient: Any, curvature: Any) -> None:
        """Grow a tree."""
        if not iteration:  # here the booster takes the names of the columns
            self._booster.boost(self._matrix, iteration, grad=gradient, hess=curvature)
            return
        handles = self._booster.handle, self._matrix.handle
        given = map(_interface, (gradient, curvature))
        _call("XGBoosterTrainOneIter")(*handles, iteration, *given)

    def added(self, rows: Any, first: int, last: int) -> Any:
        """Return the sum of trees ``first`` to ``last − 1``; the next call overwrites it."""
        config = (
            f'{{"type": {_MARGIN}, "training": false, "iteration_begin": {first}, "iteration_end": '
            f'{last}, "missing": NaN, "strict_shape": false, "cache_id": 0}}'
        )
        shape, dimensions = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_uint64()
        found = ctypes.POINTER(ctypes.c_float)()
        on_device = hasattr(rows, "__cuda_array_interface__")
        _call("XGBoosterPredictFromCudaArray" if on_device else "XGBoosterPredictFromDense")(
            self._booster.handle, _interface(rows), config.encode(), None,
            ctypes.byref(shape), ctypes.byref(dimensions), ctypes.byref(found),
        )  # fmt: skip
        return self._arrays.asarray(_Floats(ctypes.addressof(found.contents), len(rows)))


class _Floats:
    """Numbers of single precision at an address, as an array for NumPy or CuPy."""

    def __init__(self, address: int, count: int) -> None:
        self.__array_interface__ = self.__cuda_array_interface__ = {
            "data": (address, False), "shape": (count,), "typestr": "<f4", "version": 3,
        }  # fmt: skip


def _interface(array: Any) -> bytes:
    """Return address, shape and type of an array in the JSON of the C interface."""
    known = getattr(array, "__cuda_array_interface__", None) or array.__array_interface__
    kept = ("data", "shape", "strides", "typestr", "version", "stream")
    return json.dumps({key: known[key] for key in kept if known.get(key) is not None}).encode()


@cache
def _call(name: str) -> Callable[..., None]:
    """Return a function of the C interface that raises its errors."""
    library = ctypes.CDLL(xgboost().libpath.find_lib_path()[0])
    library.XGBGetLastError.restype = ctypes.c_char_p
    function = getattr(library, name)
    function.argtypes = _GIVEN[name]

    def checked(*given: Any) -> None:
        if function(*given):
            raise xgboost().core.XGBoostError(library.XGBGetLastError().decode())

    return checked
