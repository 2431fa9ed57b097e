"""The propensity score b(X) = P(z=1 | X): how the covariates give the sensitive attribute away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.fixes import parse_version
from sklearn.utils.validation import check_is_fitted

from .._typing import Floats
from ..checks import check_choice, check_integer, check_number
from ..folds import fold_numbers, hold_out
from ..tables import columns, take
from .encoding import TableEncoder
from .learners import fit_copy
from .separation import refuse_separating_columns, separates, warn_of_extremes

#: Scoring of the default model's C by the name users say.
SCORINGS = {"log_loss": "neg_log_loss", "accuracy": "accuracy"}

#: C is chosen on at least so many rows of either level, if there are as many.
SEARCH_LEVEL_ROWS = 1_000


class Propensity(BaseEstimator):
    """The propensity score b(X) = P(z=1 | X).

    It is a balancing score: given b, the covariates no longer tell the groups apart, so one number
    per person stands for all of X when the direct effect is measured.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        Fitted on X exactly as it is given. By default an L1 logistic regression over a table
        encoded by `TableEncoder` (missing values and categories are welcome), its C chosen by
        cross-validation.
    scoring : {"log_loss", "accuracy"}
        How C is chosen. ``"accuracy"`` is the paper's choice; it can pick a constant b.
    Cs : sequence of float
        The values of C tried.
    cv : int
        Folds, for choosing C and for cross-fitting.
    search_rows : int
        C is chosen on about so many rows where there are more: its best value moves slowly with
        their number, and the final fit takes them all.
    cross_fit : bool
        Whether the rows it is fitted on get scores from models that have not seen them.
    clip : float
        Scores are kept within [clip, 1−clip].
    allow_separation : bool, default=False
        Whether training goes on, with a warning, where X predicts z nearly exactly.
    random_state : int
        Seed of the folds, which depend on what rows hold and not on their order.
    n_jobs : int, optional
        Parallel fits while choosing C.

    References
    ----------
    Rosenbaum & Rubin (1983), Biometrika 70(1), 41–55.

    Examples
    --------
    >>> import numpy as np
    >>> X, z = np.repeat([[0.0], [1.0]], 50, axis=0), np.tile([0, 0, 0, 1, 1], 20)
    >>> Propensity(LogisticRegression()).fit(X, z).predict(X[:1]).round(2).tolist()
    [0.4]
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        scoring: str = "log_loss",
        Cs: Sequence[float] = (0.01, 0.1, 1.0, 10.0, 100.0),
        cv: int = 5,
        search_rows: int = 10_000,
        cross_fit: bool = False,
        clip: float = 1e-3,
        allow_separation: bool = False,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.scoring = scoring
        self.Cs = Cs
        self.cv = cv
        self.search_rows = search_rows
        self.cross_fit = cross_fit
        self.clip = clip
        self.allow_separation = allow_separation
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, z: Floats, sample_weight: Floats | None = None) -> Self:
        """Fit P(z=1 | X) on all rows; z is 0/1."""
        self._check(z)
        self.model_ = self._fit_one(X, z, sample_weight)
        return self

    def predict(self, X: Any) -> Floats:
        """Return b for each row of X."""
        check_is_fitted(self, "model_")
        return self._scores(self.model_, X)

    def fit_predict(self, X: Any, z: Floats, sample_weight: Floats | None = None) -> Floats:
        """Fit, and return b for the same rows: out of fold where ``cross_fit`` is set."""
        self.fit(X, z, sample_weight)
        return self.out_of_fold(X, z, sample_weight) if self.cross_fit else self.predict(X)

    def out_of_fold(self, X: Any, z: Floats, sample_weight: Floats | None = None) -> Floats:
        """Return b for each row, from a model that has not seen it."""
        scores = np.empty(len(z))
        for train, test in self._folds(X, z, sample_weight).split():
            weight = None if sample_weight is None else sample_weight[train]
            model = self._fit_one(take(X, train), z[train], weight)
            scores[test] = self._scores(model, take(X, test))
        return scores

    def refuse_separating_columns(
        self, scores: Floats, X: Any, z: Floats, sample_weight: Floats | None = None
    ) -> None:
        """Raise if the scores that ``fit_predict`` gave show that X predicts z, and name columns.

        With ``allow_separation`` it warns instead.
        """
        if not separates(scores, z, sample_weight):
            return
        if not self.cross_fit:  # the model may have learnt the rows by heart
            if np.bincount(z.astype(int), minlength=2).min() < 2 * self.cv:
                return  # too few rows to tell
            scores = self.out_of_fold(X, z, sample_weight)
        refuse_separating_columns(scores, z, sample_weight, columns(X), allow=self.allow_separation)

    def _check(self, z: Floats) -> None:
        check_choice(self.scoring, "scoring", SCORINGS)
        check_integer(self.search_rows, "search_rows", at_least=1)
        check_number(self.clip, "clip", at_least=0, below=0.5)
        counts = np.bincount(np.asarray(z, dtype=int), minlength=2)
        # The default model chooses C on folds, and cross-fitting does so within folds of its own.
        smallest = max(1, self.cv * ((self.estimator is None) + bool(self.cross_fit)))
        if counts.min() < smallest:
            raise ValueError(
                f"a sensitive level has {counts.min()} rows, but {self.cv}-fold cross-validation "
                f"of the propensity needs at least {smallest} so that no fold misses it; lower cv"
            )

    def _folds(self, X: Any, z: Floats, sample_weight: Floats | None) -> PredefinedSplit:
        ties = () if sample_weight is None else (sample_weight,)
        return PredefinedSplit(fold_numbers(X, z, self.cv, self.random_state, ties=ties))

    def _fit_one(self, X: Any, z: Floats, sample_weight: Floats | None) -> Any:
        if self.estimator is None:
            return self._fit_default(X, z, sample_weight)
        return fit_copy(self.estimator, X, z.astype(int), sample_weight)

    def _fit_default(self, X: Any, z: Floats, sample_weight: Floats | None) -> Pipeline:
        """Encode the table and fit the L1 logistic regression with the best C."""
        encoder = TableEncoder().fit(X)
        matrix, labels = encoder.transform(X), z.astype(int)
        model = self._lasso()
        if len(self.Cs) == 1:
            model.set_params(C=self.Cs[0])
        else:
            rows = self._search_rows(X, z, sample_weight)
            weight = None if sample_weight is None else sample_weight[rows]
            folds = self._folds(take(X, rows), z[rows], weight)
            model.set_params(C=self._best_strictness(matrix[rows], labels[rows], weight, folds))
        return make_pipeline(encoder, fit_copy(model, matrix, labels, sample_weight))

    def _lasso(self) -> LogisticRegression:
        new_style = parse_version(sklearn.__version__) >= parse_version("1.8")
        lasso = {"l1_ratio": 1.0} if new_style else {"penalty": "l1"}
        return LogisticRegression(solver="liblinear", random_state=self.random_state, **lasso)

    def _search_rows(self, X: Any, z: Floats, sample_weight: Floats | None) -> NDArray[np.intp]:
        """Return the rows to choose C on: enough of each level, the same in whatever order."""
        fewest = min(z.sum(), len(z) - z.sum())
        share = max(self.search_rows / len(z), SEARCH_LEVEL_ROWS / fewest)
        ties = () if sample_weight is None else (sample_weight,)
        return np.flatnonzero(hold_out(X, z, min(share, 1.0), self.random_state, ties=ties))

    def _best_strictness(
        self, matrix: Any, labels: Any, weight: Floats | None, folds: PredefinedSplit
    ) -> float:
        weights = {} if weight is None else {"sample_weight": weight}
        with sklearn.config_context(enable_metadata_routing=True):
            scorer = get_scorer(SCORINGS[self.scoring])
            search = GridSearchCV(
                # precise enough to rank the values of C
                self._lasso().set_params(tol=1e-3).set_fit_request(sample_weight=True),
                {"C": list(self.Cs)},
                scoring=scorer.set_score_request(sample_weight=True),
                cv=folds,
                n_jobs=self.n_jobs,
                refit=False,
            )
            search.fit(matrix, labels, **weights)
        return float(search.best_params_["C"])

    def _scores(self, model: Any, X: Any) -> Floats:
        probabilities: NDArray[Any] = model.predict_proba(X)
        scores = np.asarray(probabilities[:, 1], dtype=np.float64)
        return np.clip(scores, self.clip, 1 - self.clip)


def warn_about_overlap(
    scores: Floats,
    *,
    low: float = 0.05,
    high: float = 0.95,
    max_share: float = 0.6,
    extrapolated_by: str = "the outcome models",
) -> None:
    """Warn if too many propensities lie outside [low, high], and say what that means.

    Parameters
    ----------
    scores : array of shape (n,)
        Propensities.
    low, high : float, default=0.05 and 0.95
        Bounds beyond which a propensity counts as extreme.
    max_share : float, default=0.6
        Share of the rows that may be extreme without a warning.
    extrapolated_by : str, default="the outcome models"
        What the direct effect rests on where a level has hardly any row.
    """
    warn_of_extremes(
        float(np.mean((scores < low) | (scores > high))),
        (low, high),
        max_share,
        f"their direct effect is not observed but extrapolated by {extrapolated_by}: too much or "
        "too little of it may be removed there. Drop columns of X that only stand for the "
        "sensitive attribute, and check the result on other data; max_extreme_share accepts a "
        "larger share",
    )
