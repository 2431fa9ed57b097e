"""Which library an array belongs to, and the two functions of a margin everything here needs."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

#: An array of NumPy, CuPy, torch or JAX; the maths below uses what all four share.
Array = Any


def namespace(array: Array) -> Any:
    """Return the module whose ``exp``, ``log1p`` and ``where`` take this array.

    Examples
    --------
    >>> import numpy as np
    >>> namespace(np.zeros(2)).__name__
    'numpy'
    """
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    return sys.modules[type(array).__module__.partition(".")[0]]  # torch has no such method


def like(array: Array, values: Any) -> Array:
    """Return values as an array of the library of another, on its device."""
    return namespace(array).asarray(values)


def is_on_device(array: Array) -> bool:
    """Return whether an array has to be fetched to be one of NumPy."""
    return hasattr(array, "get")


def on_host(array: Array) -> Any:
    """Return an array of NumPy or CuPy as one of NumPy."""
    return array.get() if is_on_device(array) else np.asarray(array)


def softplus(margin: Array) -> Array:
    """Return log(1 + exp(s)) without overflow: the log-loss of a row is softplus(s) − y·s.

    Examples
    --------
    >>> import numpy as np
    >>> softplus(np.array([0.0, 800.0])).round(4).tolist()
    [0.6931, 800.0]
    """
    xp = namespace(margin)
    size = _size(margin)
    return xp.log1p(xp.exp(-size)) + (size + margin) / 2


def sigmoid(margin: Array) -> tuple[Array, Array]:
    """Return p = σ(s) and p′ = p(1−p), both accurate in the tails.

    Examples
    --------
    >>> import numpy as np
    >>> p, density = sigmoid(np.array([0.0]))
    >>> float(p[0]), float(density[0])
    (0.5, 0.25)
    """
    xp = namespace(margin)
    tail = xp.exp(-_size(margin))
    whole = 1 + tail
    return xp.where(margin >= 0, 1 / whole, tail / whole), tail / (whole * whole)


def _size(margin: Array) -> Array:
    """Return |s|; torch's own ``abs`` has slope 0 at 0, which autodiff would carry into p."""
    return namespace(margin).where(margin >= 0, margin, -margin)
