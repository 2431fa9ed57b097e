"""Boosting on a CUDA device: the rows, their margins and the objective stay on it.

XGBoost copies the margins for a custom objective to the host, which costs more than the tree. Here
the margins are kept on the device: the values of each new tree are added to them, and two fused
kernels compute the derivatives. Only the K sums of a penalty are copied to the host.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Floats
from ..core import Losses, Objective
from ..core.derivatives import BoostingDerivatives, Singles, in_single_precision
from ..extras import load
from ..outcome import Outcome
from ..tables import CodedTable
from .boosting import Boosting
from .cuda_device import place_of
from .engine import Derivatives
from .number_objectives import base_margin
from .training import Part
from .xgboost_rows import added_margin, training_matrix, xgboost

_THREADS = 256  # a power of two: the sums of a block are halved until one is left
_BLOCKS = 1_056  # eight for each of 132 multiprocessors, whatever the number of rows

_SOURCE = r"""
#define EACH_ROW(i) for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; \
                         i += (long long)gridDim.x * blockDim.x)

__device__ void sum_block(double value, double* out) {
  __shared__ double of_thread[THREADS];
  of_thread[threadIdx.x] = value;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) of_thread[threadIdx.x] += of_thread[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = of_thread[0];
  __syncthreads();
}

#if K > 0
extern "C" __global__ void sums(const float* margin, const float* matrix, long long n,
                                double* of_block) {
  double zeta[K] = {}, size[K] = {};
  EACH_ROW(i) {
    float density;
    const float p = mean_of(margin[i], &density);
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const float a = matrix[k * n + i];
      zeta[k] += (double)a * p;
      size[k] += (double)fabsf(a) * density;
    }
  }
#pragma unroll
  for (int k = 0; k < K; ++k) {
    sum_block(zeta[k], of_block + k * gridDim.x + blockIdx.x);
    sum_block(size[k], of_block + (K + k) * gridDim.x + blockIdx.x);
  }
}
#endif

extern "C" __global__ void finish(const double* of_block, long long blocks, double* total) {
  double sum = 0.0;
  for (long long j = threadIdx.x; j < blocks; j += blockDim.x)
    sum += of_block[blockIdx.x * blocks + j];
  sum_block(sum, total + blockIdx.x);
}

extern "C" __global__ void combine(const float* margin, const float* target, const float* matrix,
                                   const float* weights, const float* shift, const float* slope,
                                   const float* shares, float strength, float utility_share,
                                   long long n, float* gradient, float* curvature) {
  EACH_ROW(i) {
    float pull = 0.0f, shared = 0.0f, weight = 1.0f, density, t = target[i];
    const float p = mean_of(margin[i], &density);
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const float a = matrix[k * n + i];
      pull += slope[k] * a;
      if (EXACT) shared += shares[k] * a * a;
      else if (!SPECTRAL) shared += shares[k] * fabsf(a);
    }
    if (WEIGHTED) weight = weights[i];
    if (SHIFTED) t += strength * shift[i];
    if (SPECTRAL) shared = shares[0] * weight * density;
    if (EXACT) shared *= density;
    pull *= density;
    const float bend = pull * mean_curvature_of(p);
    gradient[i] = utility_share * weight * gradient_of(p, t) + pull;
    curvature[i] = utility_share * weight * curvature_of(p, density) + shared * density
                   + (EXACT ? bend : fmaxf(bend, 0.0f));
  }
}

extern "C" __global__ void losses(const float* margin, const float* target, const float* matrix,
                                  const float* weights, const float* shift, long long n,
                                  double* of_block) {
  double sum[K + 2] = {};
  EACH_ROW(i) {
    const double s = margin[i], weight = WEIGHTED ? weights[i] : 1.0f;
    double p;
    sum[0] += weight * loss_of(s, target[i], &p);
    if (SHIFTED) {
      double q;
      const double t = (double)target[i] + shift[i];
      sum[1] += weight * loss_of(held_margin(s, t), t, &q);
    }
#pragma unroll
    for (int k = 0; k < K; ++k) sum[k + 2] += matrix[k * n + i] * p;
  }
#pragma unroll
  for (int k = 0; k < K + 2; ++k) sum_block(sum[k], of_block + k * gridDim.x + blockIdx.x);
}
"""


def start_on_device(
    device: str,
    params: dict[str, Any],
    train: Part,
    validation: Part,
    curvature: str,
    learning_rate: float,
    *,
    own_objective: bool = False,
) -> Boosting:
    """Return rows, booster and objective on a CUDA device, before the first tree."""
    place = place_of(device)
    with place:
        losses = CudaLosses(validation.objective(), place)
        return Boosting(
            DeviceGrower(
                params, train.rows.X if train.placed is None else train.placed.table,
                validation.rows.X, train.rows.weights,
                arrays=load("cupy", "cuda"), place=place,
                own=train.rows.outcome if own_objective else None,
            ),
            CudaDerivatives(train.objective(), curvature, learning_rate),
            losses.objective,
            measure=losses, place=place,
        )  # fmt: skip


class DeviceGrower:
    """A booster that grows tree by tree on the device of its rows, and keeps their margins.

    Training and validation rows are one array, so that each new tree is added to all margins by a
    single prediction.

    Parameters
    ----------
    params : dict
        Parameters of XGBoost.
    train, validation : CodedTable
        The rows, on the host or on the device.
    weights : array of shape (n,), optional
        Weights for the quantiles; the derivatives have their own.
    arrays : module
        CuPy, or NumPy if the rows stay on the host.
    place : context manager
        Makes the device of the rows the current one.
    own : Outcome, optional
        Numbers to train on by XGBoost's own objective, as the user gave them.
    """

    def __init__(
        self,
        params: dict[str, Any],
        train: CodedTable,
        validation: CodedTable,
        weights: Any = None,
        *,
        arrays: Any = np,
        place: AbstractContextManager[Any] | None = None,
        own: Outcome | None = None,
    ) -> None:
        self.place, self._own = nullcontext() if place is None else place, own
        with self.place:
            self._arrays, self._n_train = arrays, len(train)
            count = len(train) + len(validation)
            self._rows = arrays.empty((count, train.matrix.shape[1]), dtype=np.float32)
            self._rows[: len(train)] = arrays.asarray(train.matrix)
            self._rows[len(train) :] = arrays.asarray(validation.matrix)
            on_it = CodedTable(self._rows[: len(train)], train.layout)
            self._matrix = training_matrix(params, on_it, weights)
            if own is not None:
                self._matrix.set_info(label=own.as_given())
            self.params = params
            self._start()

    def _start(self) -> None:
        """Begin without trees."""
        self.booster = xgboost().Booster(self.params, cache=[self._matrix])
        self._margins, self._added = self._arrays.zeros(len(self._rows), dtype=np.float32), 0

    @property
    def n_trees(self) -> int:
        """The rounds so far; each leaves a tree."""
        return int(self.booster.num_boosted_rounds())

    def boost(self, derivatives: Derivatives) -> None:
        """Grow one tree."""
        with self.place:
            if self._own is not None:
                self.booster.update(self._matrix, self.n_trees)
                return
            gradient, curvature = derivatives(self._margin()[: self._n_train])
            self.booster.boost(self._matrix, self.n_trees, grad=gradient, hess=curvature)

    def validation_margin(self, n_trees: int | None = None) -> Any:
        """Return the margin of the validation rows: on the device, or of the first trees."""
        with self.place:
            if n_trees is not None:
                rows = self._rows[self._n_train :]
                return (self._sum_of_trees(rows, 0, n_trees) + self._origin()).get()
            return self._margin()[self._n_train :]

    def restart(self) -> DeviceGrower:
        """Return another on the same rows, without trees."""
        twin = copy(self)
        with self.place:
            twin._start()
        return twin

    def fork(self) -> DeviceGrower:
        """Return another on the same rows, with a copy of the trees and of the margins."""
        twin = self.restart()
        with self.place:
            if self.n_trees:
                twin.booster.load_model(self.booster.save_raw(raw_format="ubj"))
            twin._margins, twin._added = self._margins.copy(), self._added
        return twin

    def _margin(self) -> Any:
        """Return the margin of all rows, after adding the trees grown since the last call."""
        trees = self.n_trees
        if not self._added:
            self._margins[:] = self._origin()
        if self._added < trees:
            self._margins += self._sum_of_trees(self._rows, self._added, trees)
            self._added = trees
        return self._margins

    def _sum_of_trees(self, rows: Any, first: int, last: int) -> Any:
        """Return the sum of trees ``first`` to ``last − 1``, on the device."""
        trees = self._arrays.asarray(added_margin(self.booster, rows, (first, last)))
        return trees if self._own is None else trees - base_margin(self.booster, self._own.loss)

    def _origin(self) -> float:
        """Return the margin before the first tree, in the units of the outcome.

        XGBoost's own objective starts from a mean that it finds itself.
        """
        if self._own is None or not self.n_trees:
            return 0.0
        return base_margin(self.booster, self._own.loss) - self._own.offset


class CudaDerivatives(BoostingDerivatives):
    """The derivatives of `BoostingDerivatives`, by two kernels on the device of the margin.

    The first kernel sums over the rows, in double precision and in a fixed order. The second reads
    the rows again and writes gradient and curvature. Scores are computed twice instead of stored.
    """

    @staticmethod
    def _in_single_precision(objective: Objective) -> Objective:
        return _on_device(objective)

    def _column_sizes(self) -> NDArray[np.float64]:
        return np.asarray(abs(self._matrix).sum(axis=0, dtype=np.float64).get())

    def _prepare(self) -> None:
        cupy = load("cupy", "cuda")
        rows, self._count = self._matrix.shape
        spectral = not self._exact and self.objective.penalty.spectral is not None
        kernels = _kernels(self.objective, exact=self._exact, spectral=spectral)
        self._sum_rows = _Sums(kernels, "sums", 2 * self._count) if self._count else None
        self._combine_rows = kernels.get_function("combine")
        self._factors = cupy.zeros(2 * self._count + 1, dtype=np.float32)
        self._gradient, self._curvature = (cupy.empty(rows, dtype=np.float32) for _ in range(2))

    def _sums(self, margin: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        sums = np.zeros((2, self._count))
        if self._sum_rows is not None:
            sums = self._sum_rows(margin, self._matrix, np.int64(len(margin))).reshape(2, -1)
        statistics, sizes = self.objective.penalty.reduce(sums)
        return statistics, sizes

    def _fill(self, margin: Any, slope: Singles, shares: Singles, strength: float) -> None:
        if self._count:
            self._factors[: self._count + len(shares)].set(np.concatenate([slope, shares]))
        share = 1 - strength if self._shift is None else 1.0
        given = (
            margin, *_columns(self.objective), self._factors, self._factors[self._count :],
            np.float32(strength), np.float32(share), np.int64(len(margin)),
            self._gradient, self._curvature,
        )  # fmt: skip
        self._combine_rows((_BLOCKS,), (_THREADS,), given)


class CudaLosses:
    """Both losses and the statistics at a margin on the device, by one kernel.

    Parameters
    ----------
    objective : Objective
        On the validation rows; its columns are moved to the device, in single precision. The losses
        are computed and summed in double precision.
    place : context manager
        Makes the device of the margin the current one.
    """

    def __init__(self, objective: Objective, place: AbstractContextManager[Any]) -> None:
        self.objective = _on_device(objective)
        self._place = place
        kernels = _kernels(self.objective, exact=False, spectral=False)
        self._sums = _Sums(kernels, "losses", len(objective.penalty.names) + 2)

    def against(self, objective: Objective) -> CudaLosses:
        """Return the losses of the same rows by another objective."""
        with self._place:
            return CudaLosses(objective, self._place)

    def __call__(self, margin: Any) -> tuple[Losses, Floats]:
        """Return both losses, and ζ, of a margin on the device or on the host."""
        penalty, weight = self.objective.penalty, self.objective.total_weight
        with self._place:
            margin = load("cupy", "cuda").asarray(margin, dtype=np.float32)
            found = self._sums(margin, *_columns(self.objective), np.int64(len(margin)))
        utility, fair, *sums = penalty.reduce(found)
        statistics = np.array(sums)
        value = float(penalty.distance.value(statistics))
        fairness = value if self.objective.shift is None else float(fair) / weight
        return Losses(float(utility) / weight, fairness), statistics


class _Sums:
    """Sums over the rows by a kernel: of each block, then of all blocks, in a fixed order."""

    def __init__(self, kernels: Any, name: str, count: int) -> None:
        empty = load("cupy", "cuda").empty
        self._kernel, self._finish = kernels.get_function(name), kernels.get_function("finish")
        self._of_block, self._total = empty((count, _BLOCKS)), empty(count)

    def __call__(self, *given: Any) -> NDArray[np.float64]:
        """Return the sums, on the host."""
        self._kernel((_BLOCKS,), (_THREADS,), (*given, self._of_block))
        blocks = np.int64(_BLOCKS)
        self._finish((len(self._total),), (_THREADS,), (self._of_block, blocks, self._total))
        return np.asarray(self._total.get())


def _on_device(objective: Objective) -> Objective:
    """Return the same objective with its columns in float32 on the current device."""
    asarray = load("cupy", "cuda").asarray
    return in_single_precision(objective, asarray, partial(asarray, order="F"))


def _columns(objective: Objective) -> tuple[Any, ...]:
    """Return target, matrix, weights and shift; the target replaces one that is absent."""
    target, matrix = objective.target, objective.penalty.matrix
    optional = objective.sample_weight, objective.shift
    return target, matrix, *(target if each is None else each for each in optional)


def _kernels(objective: Objective, *, exact: bool, spectral: bool) -> Any:
    """Return the kernels compiled for this kind of objective; CuPy keeps them between calls."""
    macros = {
        "THREADS": _THREADS,
        "K": len(objective.penalty.names),
        "EXACT": int(exact),
        "SPECTRAL": int(spectral),
        "WEIGHTED": int(objective.sample_weight is not None),
        "SHIFTED": int(objective.shift is not None),
    }
    options = tuple(f"-D{name}={value}" for name, value in macros.items())
    source = objective.loss.cuda_source + _SOURCE
    return load("cupy", "cuda").RawModule(code=source, options=options)
