"""XGBoost without the direct effect of a sensitive attribute."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from .._typing import Floats
from ..core import Loss
from ..criteria import Plain
from ..tables import CodedTable, Ordered
from .boosting import BoostedClassifier, Boosting, derivatives_of
from .engine import BoosterSettings, Derivatives, Engine, ModelFacts, PlacedRows, TreeShape
from .number_objectives import (
    XGBOOST_UNITS,
    raise_base_score,
    start_of_counts,
    xgboost_objective_of,
)
from .training import Part, refit
from .xgboost_rows import XGBoostGrower, added_margin, matrix_options, training_matrix, xgboost

#: A booster whose margin is the sum of its trees.
PLAIN_MARGIN = {"objective": "reg:squarederror", "base_score": 0.0}

#: Shares of rows and columns that XGBoost draws afresh, unless they are 1.
_DRAWING = ("subsample", "colsample_bytree", "colsample_bylevel", "colsample_bynode")


class XGBoost(Engine):
    """XGBoost as an engine; ``device="cuda"`` keeps everything on that device."""

    name: ClassVar[str] = "xgboost"
    model_file: ClassVar[str] = "model.json"
    learning_rate_names: ClassVar[tuple[str, ...]] = ("eta", "learning_rate")
    default_learning_rate: ClassVar[float] = 0.3
    default_params: ClassVar[Mapping[str, Any]] = {"eta": 0.1, "max_depth": 3}
    objective: ClassVar[str] = "binary:logistic"
    number_devices: ClassVar[tuple[str, ...]] = ("cpu", "cuda", "gpu")
    refused_params: ClassVar[Mapping[str, str]] = {
        "objective": "it trains a binary-logistic model, or multi:softprob of several classes",
        "base_score": "the margin starts at 0",
        "num_class": "the labels say how many classes there are",
        "booster": "trees are boosted with gbtree",
        "scale_pos_weight": "use sample_weight in fit",
        **dict.fromkeys(("seed", "random_state"), "use random_state of the classifier"),
        **dict.fromkeys(("nthread", "n_jobs"), "use n_jobs of the classifier"),
        **dict.fromkeys(
            ("n_estimators", "num_boost_round", "early_stopping_rounds"),
            "the schedule says when to stop",
        ),
    }

    def version(self) -> str:
        """Return the version of XGBoost."""
        return str(xgboost().__version__)

    def require(self, params: Mapping[str, Any]) -> None:
        """Raise, with the pip line, if XGBoost or the device is not there."""
        xgboost()
        device = cuda_device(params)
        if device is not None:
            from .cuda_device import place_of

            place_of(device)

    def check_params(self, params: Mapping[str, Any]) -> None:
        """Accept all that is not refused by name: XGBoost checks the values itself."""

    def start(
        self, settings: BoosterSettings, learning_rate: float, train: Part, validation: Part
    ) -> Boosting:
        """Return rows, booster and objective before the first tree."""
        settings = settings.for_rows(train.rows, XGBOOST_UNITS, train.reduce)
        start = start_of_counts(settings, train.rows.outcome, self.version())
        params, device = {**engine_params(settings), **start}, cuda_device(settings.params)
        if device is not None:
            from .cuda import start_on_device

            return start_on_device(
                device, params, train, validation, settings.curvature, learning_rate,
                own_objective=settings.own_objective,
            )  # fmt: skip
        rows = None if train.placed is None else train.placed.binned
        if rows is None:
            rows = training_matrix(params, train.rows.X, train.rows.weights)
        others = training_matrix(params, validation.rows.X, bins_of=rows)
        derivatives = derivatives_of(train.objective(), settings.curvature, learning_rate)
        offset = None
        if settings.own_objective:
            offset = train.rows.outcome.offset
            rows.set_info(label=train.rows.outcome.as_given())
        elif isinstance(train.criterion.criterion, Plain):  # the log-loss alone is XGBoost's own
            offset = 0.0
            rows.set_info(label=train.rows.y)
        grower = XGBoostGrower(params, rows, others, own_offset=offset)
        return Boosting(grower, derivatives, validation.objective())

    def place(
        self, settings: BoosterSettings, table: CodedTable, weights: Floats | None
    ) -> PlacedRows:
        """Return the rows a final model is trained on, to grow the trees of nuisances on too.

        They share its bins unless the user chose how many there are. On a device the nuisances have
        bins of their own: making them there takes no time.
        """
        params = engine_params(settings)
        own_bins = "max_bin" in params or params.get("tree_method", "hist") != "hist"
        if own_bins or cuda_device(params) is not None:
            return PlacedRows(self.move(settings, table))
        return PlacedRows(table, training_matrix(params, table, weights))

    def order(self, settings: BoosterSettings, table: CodedTable) -> Ordered:
        """Return the canonical order of rows if a device finds it, and where they are then."""
        device = cuda_device(settings.params)
        if device is None or table.layout.levels:
            return None, table
        from .cuda_device import order_on_device

        return order_on_device(device, table)

    def move(self, settings: BoosterSettings, table: CodedTable) -> CodedTable:
        """Return rows on the device that the engine works on."""
        device = cuda_device(settings.params)
        if device is None or table.layout.levels:  # categories are encoded on the host
            return table
        from .cuda_device import on_device

        return on_device(device, table)

    def bin_rows(
        self, settings: BoosterSettings, table: CodedTable, weights: Floats | None, bins_of: Any
    ) -> Any:
        """Return rows to grow the trees of nuisances on, with the bins of others if given."""
        return training_matrix(nuisance_params(settings), table, weights, bins_of)

    def grow(
        self,
        settings: BoosterSettings,
        shape: TreeShape,
        binned: Any,
        target: Floats,
        margin: Floats,
    ) -> tuple[Any, Floats]:
        """Return a booster of a 0/1 target whose trees start from a margin, and where they end."""
        shaped = {"eta": shape.learning_rate, "max_depth": shape.depth}
        binned.set_info(label=target, base_margin=margin)
        booster = xgboost().Booster({**shaped, **nuisance_params(settings)}, cache=[binned])
        for number in range(shape.n_trees):
            booster.update(binned, number)
        end = booster.predict(binned, output_margin=True, training=True)  # known already
        return booster, np.asarray(end, dtype=np.float64)

    def grow_by(
        self,
        settings: BoosterSettings,
        shape: TreeShape,
        binned: Any,
        derivatives: Derivatives,
        margin: Floats,
    ) -> tuple[Any, Floats]:
        """Return a booster grown by derivatives, from a margin, and the margin where it ends."""
        shaped = {"eta": shape.learning_rate, "max_depth": shape.depth}
        binned.set_info(base_margin=margin)
        params = {**shaped, **nuisance_params(settings), **PLAIN_MARGIN}
        booster = xgboost().Booster(params, cache=[binned])
        for number in range(shape.n_trees):
            reached = booster.predict(binned, output_margin=True, training=True)
            gradient, curvature = derivatives(reached)
            booster.boost(binned, number, grad=gradient, hess=curvature)
        end = booster.predict(binned, output_margin=True, training=True)
        return booster, np.asarray(end, dtype=np.float64)

    def class_objective(self, n_classes: int) -> str:
        """Return what a saved model calls the objective of several classes."""
        return "multi:softprob"

    def why_not_shared(self, params: Mapping[str, Any]) -> str | None:
        """Return why a fork would grow other trees, or None if it would not."""
        drawn = next((name for name in _DRAWING if params.get(name, 1) != 1), None)
        if drawn is not None:
            return f"XGBoost draws at random ({drawn}), and its generator cannot be copied"
        return None

    def finish(self, grower: Any, n_trees: int, n_jobs: int | None) -> Any:
        """Return XGBoost's own model, cut after this many trees, for the CPU."""
        booster = grower.booster[:n_trees]
        if cuda_device(grower.params) is not None:
            booster.set_param({"device": "cpu"})  # what is kept serves anywhere
        if n_jobs is not None:
            booster.set_param({"nthread": n_jobs})
        return booster

    def raise_margin(self, booster: Any, step: float, loss: Loss) -> Any:
        """Return a finished model of numbers whose margins are higher by a step everywhere."""
        return raise_base_score(booster, step, loss)

    def margin(self, booster: Any, table: CodedTable, n_jobs: int | None = None) -> Any:
        """Return a finished model's margin, on the device of the rows."""
        if not table.layout.levels:
            return added_margin(booster, table.matrix)
        options = {**matrix_options(table.layout), "feature_names": booster.feature_names}
        rows = xgboost().DMatrix(table.matrix, nthread=n_jobs, **options)
        return np.asarray(booster.predict(rows, output_margin=True))

    def contributions(self, booster: Any, table: CodedTable, n_jobs: int | None = None) -> Any:
        """Return XGBoost's Shapley values of the trees, in single precision."""
        options = {**matrix_options(table.layout), "feature_names": booster.feature_names}
        rows = xgboost().DMatrix(table.matrix, nthread=n_jobs, **options)
        return booster.predict(rows, pred_contribs=True)

    def gains(self, booster: Any, n_features: int) -> Floats:
        """Return what the splits on each column gained."""
        gains = booster.get_score(importance_type="total_gain")
        names = booster.feature_names or [f"f{k}" for k in range(n_features)]
        return np.array([gains.get(name, 0.0) for name in names])

    def save(self, booster: Any) -> bytes:
        """Return the model as XGBoost's JSON."""
        return bytes(booster.save_raw(raw_format="json"))

    def load(self, path: str) -> Any:
        """Read a model that XGBoost saved."""
        return xgboost().Booster(model_file=path)

    def facts(self, booster: Any, content: bytes) -> ModelFacts:
        """Return what a booster says about itself."""
        learner = json.loads(booster.save_config())["learner"]
        sizes = learner["learner_model_param"]
        types = booster.feature_types
        return ModelFacts(
            objective=learner["objective"]["name"],
            classes=max(2, int(sizes["num_class"]), 1 + int(sizes.get("num_target", 1))),
            n_features=int(booster.num_features()),
            names=booster.feature_names,
            categories=None if types is None else [each == "c" for each in types],
        )

    def stored_name(self, name: str) -> str:
        """Return a name as it comes back: cut at a NUL, control characters written out."""
        kept = name.partition("\0")[0]
        return re.sub(r"[\x01-\x1f]", lambda found: f"\\u{ord(found[0]):04x}", kept)


#: The one XGBoost there is.
XGBOOST = XGBoost()


def cuda_device(params: Mapping[str, Any]) -> str | None:
    """Return the CUDA device that parameters ask for, None for the CPU."""
    device = str(params.get("device", "cpu"))
    return device if device.partition(":")[0] in ("cuda", "gpu") else None


def engine_params(settings: BoosterSettings) -> dict[str, Any]:
    """Return the user's parameters beside those that make the booster ours."""
    params = {
        **settings.params,
        **xgboost_objective_of(settings),
        "seed": settings.random_state,
        "disable_default_eval_metric": True,
    }
    if settings.n_jobs is not None:
        params["nthread"] = settings.n_jobs
    return params


def nuisance_params(settings: BoosterSettings) -> dict[str, Any]:
    """Return XGBoost's parameters for trees of nuisances: binary-logistic ones without a start."""
    params = {**settings.params, "objective": "binary:logistic", "base_score": 0.5}
    return params if settings.n_jobs is None else {**params, "nthread": settings.n_jobs}


class FairXGBClassifier(BoostedClassifier):
    """XGBoost trained on fair targets, or to minimise (1−λ)·log-loss + λ·penalty.

    The sensitive attribute is needed in ``fit`` alone. ``booster_`` is XGBoost's own
    binary-logistic model: save it with ``booster_.save_model`` and serve it without this library.

    Parameters
    ----------
    criterion : FairTarget, DirectEffect, Parity, EqualOpportunity, EqualizedOdds, or one fitted
        What the model is trained on or held to; by default `FairTarget`, whose propensity and
        outcome models XGBoost trains and which may ask for a second model (its ``smoothing``).
    strength : float, optional
        λ: the share of the direct effect that fair targets take out, from 0 to 1 and 1 by default;
        or the weight of a penalty, at least 0, below 1 and .9 by default. At 0 the trees are those
        of XGBoost's own objective.
    params : dict, optional
        Parameters of XGBoost, passed on untouched, but for those the classifier sets itself:
        objective, base score, rounds, threads and seeds are refused by name. ``device="cuda"``
        keeps rows, margins and the objective on that device, with CuPy. Without any parameters a
        learning rate of .1 and a depth of 3 are used, which suit early stopping on few and on many
        rows; with some, the others have XGBoost's own defaults.
    schedule : Schedule, optional
        When to raise λ and when to stop; the paper's double early stopping by default. Fair targets
        are trained on at λ from the first round.
    validation_fraction : float
        Share of the rows, of each label and group alike, held out to stop early by.
    curvature : {"adaptive", "bound", "exact"}
        What stands in for the Hessian of a penalty: a bound that adapts to how the penalty falls,
        the bound itself, or the paper's exact diagonal, which diverges at large λ. The log-loss of
        fair targets has a diagonal Hessian, so that the choice is without effect.
    groups : Grouping, optional
        How the sensitive attribute is read, such as its reference level.
    callback : callable, optional
        Called with a `Step` after every round; the numbers of a second model start again at 1.
    progress : bool
        Whether to show the rounds on standard error.
    random_state : int
        Seed of the hold-out and of XGBoost.
    n_jobs : int, optional
        Threads of XGBoost.

    Attributes
    ----------
    booster_ : xgboost.Booster
        The best state, an ordinary model.
    classes_, n_features_in_, feature_names_in_, feature_importances_
        As in scikit-learn.
    params_ : dict
        The parameters used.
    best_iteration_, n_rounds_ : int
        Trees kept, and rounds taken; where two models were trained, by the one that is kept.
    kept_ : str
        Which model it is: the "only" one, or the "first" or "second" of two (see ``smoothing``).
    evals_result_ : dict
        Per round of the model that is kept, after its tree: ``"validation"`` with ``log_loss`` and
        either ``fair_log_loss``, the log-loss against the targets of full strength, or ``penalty``
        and the criterion's statistics. A penalty adds ``"train"``, with all but ``log_loss`` before
        that round's tree. At strength 0 an unfitted criterion stays so, with ``log_loss`` alone.
    strength_ : float
        λ as it was used.
    sensitive_name_ : str or None
        The sensitive column, or several with commas between.
    sensitive_levels_ : tuple
        What z = 0 and z = 1 stand for.

    References
    ----------
    Di Stefano, Hickey & Vasileiou (2020), arXiv:2002.10774.

    Examples
    --------
    >>> from unsway import FairXGBClassifier, Parity, make_synthetic, score_gap
    >>> data = make_synthetic(2_000, random_state=0)
    >>> model = FairXGBClassifier(Parity(), strength=0.9, params={"max_depth": 2}, n_jobs=1)
    >>> p = model.fit(data.X, data.y, sensitive_features=data.z).predict_proba(data.X)[:, 1]
    >>> bool(score_gap(data.y, p, sensitive_features=data.z) < 0.1)
    True
    """

    engine = XGBOOST

    def fit_parquet(
        self,
        files: Any,
        *,
        target: str,
        sensitive: str,
        sample_weight: str | None = None,
        drop: Sequence[str] = (),
        criterion_rows: int = 1_000_000,
        folder: Any = None,
    ) -> Self:
        """Fit on Parquet files that need not fit in memory; see the page on scale for the bytes.

        Up to ``criterion_rows`` rows the model is the one ``fit`` gives on the same table, but for
        the quantiles of columns with more values than bins. Beyond, two things differ: what the
        criterion estimates is estimated on a sample of about so many rows and predicted for the
        others, and a row's hash says whether it is held out.

        Parameters
        ----------
        files : path or sequence of paths
            Parquet files of the same columns; a folder stands for those in it.
        target, sensitive, sample_weight : str
            The columns of the label, of the sensitive attribute and of the weights.
        drop : sequence of str
            Columns to leave out.
        criterion_rows : int
            The most rows that a criterion's models are fitted on.
        folder : path, optional
            Where the objective's columns are written while training lasts; the system's temporary
            folder by default.
        """
        from .external import fit_parquet

        def fit(model: Self) -> None:
            fit_parquet(
                model, files, target=target, sensitive=sensitive, sample_weight=sample_weight,
                drop=drop, criterion_rows=criterion_rows, folder=folder,
            )  # fmt: skip

        return refit(self, fit)
