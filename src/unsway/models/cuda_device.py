"""The CUDA device that a booster trains on, and the memory pool of XGBoost there."""

from __future__ import annotations

import sys
from typing import Any, Self

import numpy as np

from ..extras import MissingExtraError, load
from ..hashes import number_keys
from ..tables import CodedTable, Ordered
from .xgboost_rows import xgboost

_KEEP_ALL = 2**63 - 1  # bytes that a pool may keep


def require_cuda() -> Any:
    """Return CuPy if it, a device and an XGBoost with CUDA are there, or say what is missing."""
    cupy = load("cupy", "cuda")
    try:
        count = int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise ValueError(f"params['device'] asks for CUDA, but CuPy finds none: {error}") from None
    if not count:
        raise ValueError("params['device'] asks for CUDA, but there is no device; use 'cpu'")
    if not xgboost().build_info().get("USE_CUDA", False):
        raise MissingExtraError(
            "this XGBoost was built without CUDA; run: pip uninstall xgboost-cpu && pip install "
            "'unsway[cuda]'"
        )
    return cupy


def place_of(device: str) -> Place:
    """Return the place of a device such as ``"cuda:1"``, or say why there is none."""
    cupy = require_cuda()
    _, _, number = device.partition(":")
    if not number:
        return Place(cupy, cupy.cuda.Device())
    count = int(cupy.cuda.runtime.getDeviceCount())
    if not number.isdecimal() or int(number) >= count:
        raise ValueError(f"params['device'] is {device!r}, but there are {count} CUDA devices")
    return Place(cupy, cupy.cuda.Device(int(number)))


class Place:
    """A device that ``with`` makes the current one, with XGBoost's memory from the driver's pool.

    A round allocates memory as large as the gradients and frees it. Inside ``with`` the pool keeps
    this memory, which saves up to a tenth of a round. Afterwards the settings of XGBoost and of the
    pool are restored. Without a pool in either, nothing is changed.

    Parameters
    ----------
    cupy : module
        CuPy.
    device : cupy.cuda.Device
        The device.
    """

    def __init__(self, cupy: Any, device: Any) -> None:
        self._device = device
        self._runtime = cupy.cuda.runtime
        self._depth = 0
        self._pool, self._before = None, (False, 0)
        if self._pools():
            self._pool = self._runtime.deviceGetDefaultMemPool(device.id)
            kept_bytes = self._runtime.memPoolGetAttribute(self._pool, self._threshold)
            self._before = xgboost().get_config()["use_cuda_async_pool"], kept_bytes

    def __enter__(self) -> Self:
        self._device.__enter__()
        if not self._depth and self._pool is not None:
            self._set(True, _KEEP_ALL)
        self._depth += 1
        return self

    def __exit__(self, *error: Any) -> None:
        self._depth -= 1
        if not self._depth and self._pool is not None:
            self._set(*self._before)
        self._device.__exit__(*error)

    @property
    def _threshold(self) -> int:
        return int(self._runtime.cudaMemPoolAttrReleaseThreshold)

    def _set(self, pooled: bool, kept_bytes: int) -> None:
        xgboost().set_config(use_cuda_async_pool=pooled)
        self._runtime.memPoolSetAttribute(self._pool, self._threshold, kept_bytes)

    def _pools(self) -> bool:
        """Return whether XGBoost (3.2 or later) and the device can use a pool of the driver."""
        built, known = xgboost().build_info(), xgboost().get_config()
        unsuited = built.get("USE_RMM", False) or not built.get("USE_CUDA", False)
        if unsuited or "use_cuda_async_pool" not in known or sys.platform == "win32":
            return False
        attribute = self._runtime.cudaDevAttrMemoryPoolsSupported
        return bool(self._runtime.deviceGetAttribute(attribute, self._device.id))


def on_device(device: str, table: CodedTable) -> CodedTable:
    """Return numbers in single precision, as XGBoost reads them, on a CUDA device."""
    with place_of(device):
        singles = load("cupy", "cuda").asarray(table.matrix, dtype=np.float32)
    return CodedTable(singles, table.layout)


def order_on_device(device: str, table: CodedTable) -> Ordered:
    """Return the canonical order of rows, and the rows on a device in single precision.

    The order is None if the rows' keys alone do not tell it.
    """
    with place_of(device):
        numbers = load("cupy", "cuda").asarray(table.matrix)
        keys: Any = number_keys(numbers)
        order = keys.argsort()
        keys = keys[order]
        told = not bool((keys[1:] == keys[:-1]).any())
        found = np.asarray(order.get(), dtype=np.intp) if told else None
        return found, CodedTable(numbers.astype(np.float32, copy=False), table.layout)
