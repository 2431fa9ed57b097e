"""Names for the kinds of array that every room uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.integer[Any]]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

#: Sums a small array over the workers that share the rows.
Reduce = Callable[[NDArray[Any]], NDArray[Any]]
