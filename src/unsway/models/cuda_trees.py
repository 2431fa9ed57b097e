"""Adding a new tree to the margins of many rows on a CUDA device.

XGBoost predicts rows of any kind, several trees at a time. Here one tree is added to a margin, on
dense columns, and the kernel takes a tenth of the time. Reading the tree from the booster takes
about a millisecond, so that this is faster for many rows only: it saves a tenth of a round on 50
million rows (benchmarks/gpu.md), and nothing below 15 million.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_THREADS, _BLOCKS = 256, 4_224  # 32 blocks for each of 132 multiprocessors

_SOURCE = r"""
struct Node { int feature; int left; int right; float value; };  // feature: ~f where NaN goes right

extern "C" __global__ void add_tree(const float* columns, const Node* nodes, long long n,
                                    float* margin) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n;
       i += (long long)gridDim.x * blockDim.x) {
    Node node = nodes[0];
    while (node.left >= 0) {
      const bool nan_left = node.feature >= 0;
      const float x = columns[(nan_left ? node.feature : ~node.feature) * n + i];
      node = nodes[(isnan(x) ? nan_left : x < node.value) ? node.left : node.right];
    }
    margin[i] += node.value;
  }
}
"""

_TYPES = {"U": "u1", "i": "i1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}

#: A node of a tree as the kernel reads it.
NODE = np.dtype([("feature", "i4"), ("left", "i4"), ("right", "i4"), ("value", "f4")])


def is_simple(params: dict[str, Any], *, categorical: bool) -> bool:
    """Return whether every round adds one tree that splits by thresholds only."""
    alone = params.get("num_parallel_tree", 1) == 1
    return alone and params.get("booster", "gbtree") == "gbtree" and not categorical


def nodes_of(booster: Any, tree: int) -> NDArray[Any]:
    """Return a tree's nodes; a leaf has no left child, and its value is that of the tree.

    Examples
    --------
    >>> import numpy as np, xgboost
    >>> rows = xgboost.DMatrix(np.array([[0.0], [1.0]]), np.array([0.0, 1.0]))
    >>> params = {"max_depth": 1, "lambda": 0, "min_child_weight": 0, "base_score": 0.5, "eta": 1}
    >>> nodes_of(xgboost.train(params, rows, 1), 0)["value"].tolist()
    [1.0, -0.5, 0.5]
    """
    raw = booster[tree : tree + 1].save_raw(raw_format="ubj")
    nodes = np.empty(len(_array(raw, "left_children")), dtype=NODE)
    for name, key in (
        ("left", "left_children"),
        ("right", "right_children"),
        ("value", "split_conditions"),
    ):
        nodes[name] = _array(raw, key)
    feature = _array(raw, "split_indices").astype(np.int32)
    nodes["feature"] = np.where(_array(raw, "default_left"), feature, ~feature)
    return nodes


def _array(raw: bytearray, key: str) -> NDArray[Any]:
    """Return the array of numbers under a key of Universal Binary JSON: [$ type #L count data.

    Parsing a text format would cost more than the kernel. Trees follow all names, so that the last
    match belongs to them.
    """
    start = raw.rindex(key.encode() + b"[$") + len(key) + 2
    count = int.from_bytes(raw[start + 3 : start + 11], "big")
    return np.frombuffer(raw, _TYPES[chr(raw[start])], count, start + 11)


class TreeAdder:
    """Adds a tree's values to margins, on the device of both.

    Parameters
    ----------
    arrays : module
        CuPy.
    """

    def __init__(self, arrays: Any) -> None:
        module = arrays.RawModule(code=_SOURCE, options=("-DADD_TREE",))
        self._kernel = module.get_function("add_tree")

    def __call__(self, nodes: Any, rows: Any, margin: Any) -> None:
        """Add to the margin in place; the rows must be stored column by column."""
        self._kernel((_BLOCKS,), (_THREADS,), (rows, nodes, np.int64(len(margin)), margin))
