"""Nuisance models that were given, refined where their residuals show that they are wrong.

Doubly robust estimates are right if one of their models is. Where linear models miss thresholds and
interactions both are wrong, and the error is the same at any number of rows, while intervals become
shorter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from .._typing import Floats, Index, Mask
from ..rows import Rows
from .influence import Mean
from .learners import ScikitLearner, default_learners
from .nuisance import CrossFit
from .nuisance_models import Nuisances

#: A model is refined if trees predict its residuals better than by a chance of one in a hundred.
LEAST_SCORE = 2.33

#: Small trees, which find less by chance.
_TREES: dict[str, Any] = {"max_iter": 30, "learning_rate": 0.1, "max_leaf_nodes": 8}
_LEAF_SHARE, _LEAST_LEAF = 0.02, 20

_NAMES = ("propensity", "outcome")
_FARTHEST = 1e-3  # of a probability from 0 and 1


@dataclass(frozen=True)
class Refinement:
    """Trees fitted to the residuals of given models, on the folds of the cross-fitting.

    With residuals r = y − μ̂ and predictions g of trees that have not seen the row, the mean of g·r
    is 0 where the model is right, whatever the trees have learned. If it is more than `LEAST_SCORE`
    standard errors above 0, predictions become μ̂ + c·g, with c the slope of r on g, kept within
    [0, 1]. Residuals of labels are divided by √(μ̂(1−μ̂)).

    Parameters
    ----------
    rows : Rows
        The rows of the cross-fitting.
    folds : array of int of shape (n,)
        The fold of each row.
    clip : float
        Propensities are kept within [clip, 1−clip].
    names : tuple of str
        What was modelled by given models, and is refined: "propensity", "outcome", or both.
    """

    rows: Rows = field(repr=False)
    folds: Index = field(repr=False)
    clip: float
    names: tuple[str, ...]

    @classmethod
    def of(cls, cross_fit: CrossFit, models: Mapping[str, Any]) -> Self:
        """Return the refinement of "propensity_model" and "outcome_model" where they are given.

        There is none without held-out rows.

        Nor are the means of counts and amounts refined, which have to stay positive.
        """
        rows = cross_fit.rows
        names = [name for name in _NAMES if models.get(f"{name}_model") is not None]
        if not cross_fit.outcome or rows.outcome.loss.link == "log":
            names = [name for name in names if name != "outcome"]
        if cross_fit.n_folds == 1:
            names = []
        return cls(rows, cross_fit.folds, cross_fit.clip, tuple(names))

    @cached_property
    def trees(self) -> ScikitLearner:
        """The trees, with the table as they read it."""
        found = default_learners(self.rows.X, binary=False)[0]
        least = max(_LEAST_LEAF, int(_LEAF_SHARE * len(self.rows)))
        found.model.set_params(**_TREES, min_samples_leaf=least)
        return found

    def apply(self, nuisances: Nuisances, chosen: Index | None = None) -> Nuisances:
        """Return the nuisances of the chosen rows, refined where their residuals show the need."""
        if not self.names:
            return nuisances
        used = np.arange(len(self.rows)) if chosen is None else chosen
        z, refined = self.rows.z[used], []
        if "propensity" in self.names and nuisances.unclipped is not None:
            b = self._refined(nuisances.unclipped, self.rows.z, used, z >= 0, is_label=True)
            if b is not None:
                clipped = np.clip(b, self.clip, 1 - self.clip)
                nuisances = replace(nuisances, propensity=clipped, unclipped=b)
                refined.append("propensity")
        means, is_label = nuisances.outcome.copy(), self.rows.outcome.is_label
        for level in (0, 1) if "outcome" in self.names else ():
            own = z == level
            found = self._refined(means[:, level], self.rows.y, used, own, is_label=is_label)
            if found is not None:
                means[:, level] = found
                refined.append(f"outcome z={level}")
        return replace(nuisances, outcome=means, refined=tuple(refined))

    def _refined(
        self, predicted: Floats, target: Floats, used: Index, own: Mask, *, is_label: bool
    ) -> Floats | None:
        """Return better predictions; None where the residuals of the own rows show no need."""
        spread = np.ones(len(predicted))
        if is_label:
            predicted = np.clip(predicted, _FARTHEST, 1 - _FARTHEST)
            spread = np.sqrt(predicted * (1 - predicted))
        residual = (target[used] - predicted) / spread
        if self._score(self._learned(residual, used, own, 2), residual, used, own) < LEAST_SCORE:
            return None
        learned = self._learned(residual, used, own, int(self.folds.max()) + 1)
        weights = self.rows.mean_one_weights[used] * own
        square = float(weights @ learned**2)
        slope = float(weights @ (learned * residual)) / square if square > 0 else 0.0
        found = predicted + min(max(slope, 0.0), 1.0) * learned * spread
        return np.clip(found, _FARTHEST, 1 - _FARTHEST) if is_label else found

    def _learned(self, residual: Floats, used: Index, own: Mask, n_parts: int) -> Floats:
        """Return what trees predict of residuals, those of whole folds held out in turn."""
        target = np.zeros(len(self.rows))
        target[used] = residual
        parts, found = self.folds[used] % n_parts, np.zeros(len(used))
        for part in range(n_parts):
            held, train = parts == part, used[own & (parts != part)]
            model = self.trees.fit(target, train, self.rows.weights)
            found[held] = self.trees.predict_rows(model, used[held])
        return found

    def _score(self, learned: Floats, residual: Floats, used: Index, own: Mask) -> float:
        """Return by how many standard errors the residuals follow what was learned of others."""
        products = self.rows.mean_one_weights[used] * own * learned * residual
        clusters = None if self.rows.clusters is None else self.rows.clusters[used]
        found = Mean.of(products, np.ones_like(products), clusters)
        return found.value / found.se if found.se > 0 else 0.0
