"""A stand-in for CuPy on machines without a CUDA device: NumPy arrays, kernels by the C++ compiler.

What a kernel computes and what is done with it can then be tested anywhere; that it runs on a
device, and fast, cannot. A block has one thread here, and blocks run one after the other.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

_SHIM = """
#include <math.h>
struct Place { int x; };
static Place blockIdx{0}, threadIdx{0}, blockDim{1}, gridDim{1};
#define __global__
#define __device__ static
#define __shared__ static
#define __syncthreads()
extern "C" void go_to(int block, int blocks) { blockIdx.x = block; gridDim.x = blocks; }
"""


def compiler() -> str | None:
    """Return the C++ compiler, None where there is none."""
    return shutil.which("g++") or shutil.which("clang++")


class HostArray(np.ndarray):
    """A NumPy array that can be fetched to the host, where it is already."""

    def get(self) -> np.ndarray:
        return np.array(self)

    def set(self, values: np.ndarray) -> None:
        self[...] = values


class HostModule:
    """The kernels of a CUDA source, compiled for the host."""

    def __init__(self, folder: Path, code: str, options: tuple[str, ...]) -> None:
        options = ("-DTHREADS=1", *(each for each in options if not each.startswith("-DTHREADS")))
        stem = folder / f"kernels{abs(hash((code, options)))}"
        library = stem.with_suffix(".so")
        if not library.exists():
            source = stem.with_suffix(".cpp")
            source.write_text(_SHIM + code)
            command = [compiler(), "-O1", "-shared", "-fPIC", "-w", *options, source, "-o", library]
            subprocess.run(command, check=True)
        self._library = ctypes.CDLL(str(library))

    def get_function(self, name: str) -> Any:
        function = getattr(self._library, name)

        def launch(grid: tuple[int], block: tuple[int], given: tuple[Any, ...]) -> None:
            handed = [_argument(each) for each in given]
            for number in range(grid[0]):
                self._library.go_to(number, grid[0])
                function(*handed)

        return launch


def _argument(value: Any) -> Any:
    if isinstance(value, HostArray):
        return ctypes.c_void_p(value.ctypes.data)
    return {np.int64: ctypes.c_longlong, np.float32: ctypes.c_float}[type(value)](value)


class HostDevice(nullcontext):
    """The one device there is."""

    id = 0


def host_runtime() -> Any:
    """Return what the library asks of CUDA's runtime: devices, and a pool that keeps bytes."""
    pools, threshold, kept = 115, 4, {4: 0}
    return SimpleNamespace(
        CUDARuntimeError=RuntimeError,
        cudaDevAttrMemoryPoolsSupported=pools,
        cudaMemPoolAttrReleaseThreshold=threshold,
        getDeviceCount=lambda: 1,
        deviceGetAttribute=lambda attribute, device: int(attribute == pools),
        deviceGetDefaultMemPool=lambda device: "pool",
        memPoolGetAttribute=lambda pool, attribute: kept[attribute],
        memPoolSetAttribute=lambda pool, attribute, value: kept.update({attribute: value}),
    )


def cupy_on_host(folder: Path) -> Any:
    """Return what the library uses of CuPy, on the host; kernels are compiled into a folder."""

    def array(make: Any) -> Any:
        return lambda *given, **options: make(*given, **options).view(HostArray)

    runtime = host_runtime()
    return SimpleNamespace(
        asarray=array(np.asarray),
        zeros=array(np.zeros),
        empty=array(np.empty),
        RawModule=lambda *, code, options: HostModule(folder, code, options),
        cuda=SimpleNamespace(Device=lambda number=0: HostDevice(), runtime=runtime),
    )
