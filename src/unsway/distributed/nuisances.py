"""What criteria need to know of rows spread over processes: the propensity and the outcome means.

No row leaves its process. A logistic regression is fitted on summed derivatives, and XGBoost's
collective grows the trees that start from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._typing import Floats, Index
from ..checks import check_choice, check_integer
from ..effects import CrossFit, Fitting
from ..effects.learners import FittedModel, Learner
from ..folds import draws
from ..models.engine import BoosterSettings
from ..models.nuisances import SCORE_CLIP, ClippedScore, EngineFitting, NuisanceTrees
from ..models.xgboost import XGBOOST
from ..rows import Rows
from .collective import Collective
from .rows import ties_of

#: Models of the propensity that `DirectEffect` rests on.
PROPENSITIES = ("linear", "stacked")

_SCORE_FOLDS = 5


@dataclass(frozen=True)
class NuisanceSettings:
    """How propensity and outcome means are fitted where the rows are spread over processes.

    Parameters
    ----------
    n_rounds : int or None, default=None
        Trees of the propensity, and of both parts of the outcome means: what the groups have in
        common, and what they differ by. None takes as many as without workers: 50, 80 and 40.
    params : mapping, default={}
        Parameters of XGBoost for these trees. They replace the learning rate of .2 and the depths
        of 2, 3 and 3.
    linear : bool, default=True
        Whether there is a logistic regression, from whose margin the trees start and which is
        stacked with them by the mixture that fits best out of fold.
    propensity : {"linear", "stacked"}, default="linear"
        What `DirectEffect` takes as its propensity: the logistic regression, or what fair targets
        take, trees and regression stacked and cross-fitted.

    Examples
    --------
    >>> NuisanceSettings(n_rounds=50).propensity
    'linear'
    """

    n_rounds: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    linear: bool = True
    propensity: str = "linear"

    def __post_init__(self) -> None:
        if self.n_rounds is not None:
            check_integer(self.n_rounds, "n_rounds", at_least=1)
        check_choice(self.propensity, "propensity", PROPENSITIES)
        if not isinstance(self.params, Mapping):
            raise TypeError(f"params must be a dict of XGBoost's parameters; got {self.params!r}")


class SharedFitting(Fitting):
    """Propensity and outcome models trained by all processes on all of their rows.

    Parameters
    ----------
    settings : NuisanceSettings
        What is trained.
    collective : Collective
        The processes.
    n_jobs : int, optional
        Threads of XGBoost.
    """

    def __init__(
        self, settings: NuisanceSettings, collective: Collective, n_jobs: int | None = None
    ) -> None:
        self.reduce = collective.sum
        self._propensity = settings.propensity
        self._engine = EngineFitting(
            XGBOOST,
            BoosterSettings(settings.params, "exact", 0, n_jobs),
            trees=NuisanceTrees().with_count(settings.n_rounds),
            linear=settings.linear,
            reduce=self.reduce,
        )

    def learners(self, rows: Rows, models: Any, *, binary: bool, role: str) -> tuple[Learner, ...]:
        """Return a logistic regression with trees that start from it, or what the settings say."""
        _refuse_model(models, role)
        return self._engine.learners(rows, None, binary=binary, role=role)

    def pooled_learners(self, rows: Rows) -> tuple[Learner, ...]:
        """Return the outcome models of all groups."""
        return self._engine.pooled_learners(rows)

    def folds(self, rows: Rows, n_folds: int, seed: int) -> Index:
        """Return the fold of each row, by what it holds."""
        drawn = draws(rows.X.matrix, ties_of(rows), seed)
        return (drawn * n_folds).astype(np.intp)

    def propensity(
        self, rows: Rows, stated: Any, *, allow_separation: bool = False
    ) -> tuple[FittedModel, Floats]:
        """Return the propensity score that `DirectEffect` rests on, and its values here.

        With ``allow_separation`` a warning takes the place of the error where X predicts z nearly
        exactly.
        """
        _refuse_model(stated, "propensity")
        if self._propensity == "stacked":
            cross_fit = CrossFit.of(
                rows,
                needs_outcome=False,
                cv=_SCORE_FOLDS,
                clip=SCORE_CLIP,
                fitting=self,
                allow_separation=allow_separation,
            )
            nuisances, models = cross_fit.fit_models()
            return ClippedScore(models.propensity), nuisances.propensity
        return self._engine.linear_propensity(rows, self, allow_separation)

    def check_table(self, rows: Rows) -> None:
        """Do nothing: the rows of all processes were checked when they were coded."""


def _refuse_model(model: Any, role: str) -> None:
    if model is not None:
        raise TypeError(
            f"{role} sees the rows of one machine; leave it None and say with "
            "nuisances=NuisanceSettings(…) how it is fitted, or hand in a criterion fitted on a "
            "sample"
        )
