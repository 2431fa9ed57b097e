"""LightGBM without the direct effect of a sensitive attribute."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._typing import Floats
from ..core import Loss, MultinomialLogLoss
from ..tables import CodedTable
from .boosting import BoostedClassifier, Boosting, derivatives_of
from .engine import BoosterSettings, Derivatives, Engine, ModelFacts, TreeShape
from .lightgbm_rows import LightGBMGrower, binned, lightgbm
from .number_objectives import (
    LIGHTGBM_UNITS,
    lightgbm_class_name,
    lightgbm_name,
    lightgbm_objective_of,
    raise_first_tree,
)
from .training import Part

_BOOSTING = ("boosting", "boosting_type", "boost")
#: Shares of rows and columns that LightGBM draws afresh, and what else it leaves to chance.
_DRAWING = (
    *("bagging_fraction", "sub_row", "subsample", "bagging"),
    *("pos_bagging_fraction", "pos_sub_row", "pos_subsample", "pos_bagging"),
    *("neg_bagging_fraction", "neg_sub_row", "neg_subsample", "neg_bagging"),
    *("feature_fraction", "sub_feature", "colsample_bytree"),
    *("feature_fraction_bynode", "sub_feature_bynode", "colsample_bynode"),
    *("extra_trees", "extra_tree", "use_quantized_grad", "data_sample_strategy"),
)
#: Settings under which earlier trees are not all that matters to the next.
_REMEMBERING = (
    *("linear_tree", "linear_trees", "device_type", "device"),
    *("cegb_penalty_feature_lazy", "cegb_penalty_feature_coupled"),
)


class LightGBM(Engine):
    """LightGBM as an engine."""

    name: ClassVar[str] = "lightgbm"
    model_file: ClassVar[str] = "model.txt"
    learning_rate_names: ClassVar[tuple[str, ...]] = ("learning_rate", "shrinkage_rate", "eta")
    default_learning_rate: ClassVar[float] = 0.1
    default_params: ClassVar[Mapping[str, Any]] = {"learning_rate": 0.1, "num_leaves": 8}
    objective: ClassVar[str] = "binary sigmoid:1"
    refused_params: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(
            ("objective", "objective_type", "app", "application", "loss"),
            "it trains a binary-logistic model",
        ),
        "boost_from_average": "the margin starts at 0",
        "sigmoid": "the margin is the log-odds",
        **dict.fromkeys(("num_class", "num_classes"), "the labels say how many classes there are"),
        **dict.fromkeys(
            ("scale_pos_weight", "is_unbalance", "unbalance", "unbalanced_sets"),
            "use sample_weight in fit",
        ),
        **dict.fromkeys(
            ("seed", "random_seed", "random_state"), "use random_state of the classifier"
        ),
        **dict.fromkeys(
            ("num_threads", "num_thread", "nthread", "nthreads", "n_jobs"),
            "use n_jobs of the classifier",
        ),
        **dict.fromkeys(
            (
                *("num_iterations", "num_iteration", "n_iter", "num_tree", "num_trees"),
                *("num_round", "num_rounds", "nrounds", "num_boost_round", "n_estimators"),
                *("max_iter", "early_stopping_round", "early_stopping_rounds"),
                *("early_stopping", "n_iter_no_change"),
            ),
            "the schedule says when to stop",
        ),
        **dict.fromkeys(
            ("categorical_feature", "cat_feature", "categorical_column", "cat_column"),
            "columns of words are the categories",
        ),
    }

    def version(self) -> str:
        """Return the version of LightGBM."""
        return str(lightgbm().__version__)

    def require(self, params: Mapping[str, Any]) -> None:
        """Raise, with the pip line, if LightGBM is not there."""
        lightgbm()

    def check_params(self, params: Mapping[str, Any]) -> None:
        """Refuse ways of boosting that change trees which are already there."""
        for name in _BOOSTING:
            kind = params.get(name, "gbdt")
            if kind not in ("gbdt", "gbrt", "goss"):
                raise ValueError(
                    f"params[{name!r}] must be 'gbdt' or 'goss': the others change trees that are "
                    f"already there, and the best state could not be kept; got {kind!r}"
                )

    def start(
        self, settings: BoosterSettings, learning_rate: float, train: Part, validation: Part
    ) -> Boosting:
        """Return rows, booster and objective before the first tree."""
        settings = settings.for_rows(train.rows, LIGHTGBM_UNITS)
        given = settings.params
        params = {
            **({} if {"verbosity", "verbose"} & set(given) else {"verbosity": -1}),
            "deterministic": True,
            **given,
            **lightgbm_objective_of(settings),
            "metric": "None",
            "seed": settings.random_state,
        }
        if settings.n_jobs is not None:
            params["num_threads"] = settings.n_jobs
        # LightGBM bins rows without their weights
        own = train.rows if settings.own_objective else None
        grower = LightGBMGrower(
            params, train.rows.X, validation.rows.X, own=own, objective=lightgbm_name(settings)
        )
        derivatives = derivatives_of(train.objective(), settings.curvature, learning_rate)
        return Boosting(grower, derivatives, validation.objective())

    def bin_rows(
        self, settings: BoosterSettings, table: CodedTable, weights: Floats | None, bins_of: Any
    ) -> Any:
        """Return rows to grow the trees of nuisances on."""
        unread = np.zeros(len(table), dtype=np.float32)  # a label, on which LightGBM insists
        columns = {"label": unread, "weight": weights, "free_raw_data": False}
        return binned(table, nuisance_params(settings), **columns)

    def grow(
        self,
        settings: BoosterSettings,
        shape: TreeShape,
        binned: Any,
        target: Floats,
        margin: Floats,
    ) -> tuple[Any, Floats]:
        """Return a booster of a 0/1 target whose trees start from a margin, and where they end."""
        params = {
            **nuisance_params(settings),
            "learning_rate": shape.learning_rate,
            "max_depth": shape.depth,
            "num_leaves": 2**shape.depth,
        }
        binned.construct().set_label(target).set_init_score(margin)
        booster = lightgbm().train(params, binned, shape.n_trees)
        return booster, margin + booster.predict(binned.get_data(), raw_score=True)

    def grow_by(
        self,
        settings: BoosterSettings,
        shape: TreeShape,
        binned: Any,
        derivatives: Derivatives,
        margin: Floats,
    ) -> tuple[Any, Floats]:
        """Return a booster grown by derivatives, from a margin, and the margin where it ends."""
        params = {
            **nuisance_params(settings),
            "objective": lambda reached, _: derivatives(reached),
            "learning_rate": shape.learning_rate,
            "max_depth": shape.depth,
            "num_leaves": 2**shape.depth,
        }
        binned.construct().set_init_score(margin)
        booster = lightgbm().train(params, binned, shape.n_trees)
        return booster, margin + booster.predict(binned.get_data(), raw_score=True)

    def class_loss(self, n_classes: int) -> Loss:
        """Return the loss of several classes with the curvature of LightGBM's own objective."""
        return MultinomialLogLoss(n_classes / (n_classes - 1))

    def class_objective(self, n_classes: int) -> str:
        """Return what a saved model calls the objective of several classes."""
        return lightgbm_class_name(n_classes)

    def why_not_shared(self, params: Mapping[str, Any]) -> str | None:
        """Return why a fork would grow other trees, or None if it would not."""
        for name, value in params.items():
            if name in _DRAWING and value not in (1, False, "bagging"):
                return f"LightGBM draws at random ({name}), and its generator cannot be copied"
            if name in _BOOSTING and value == "goss":
                return "LightGBM draws at random (goss), and its generator cannot be copied"
            if name in _REMEMBERING and value:
                return f"{name} makes LightGBM remember more than its trees"
        return None

    def finish(self, grower: Any, n_trees: int, n_jobs: int | None) -> Any:
        """Return LightGBM's own model, cut after this many trees."""
        model = grower.booster.model_to_string(num_iteration=n_trees)
        return _with_objective(model, grower.objective)

    def raise_margin(self, booster: Any, step: float, loss: Loss) -> Any:
        """Return a finished model of numbers whose margins are higher by a step everywhere."""
        raised = raise_first_tree(booster.model_to_string(num_iteration=-1), step)
        return lightgbm().Booster(model_str=raised)

    def margin(self, booster: Any, table: CodedTable, n_jobs: int | None = None) -> NDArray[Any]:
        """Return a finished model's margin."""
        threads = {} if n_jobs is None else {"num_threads": n_jobs}
        return np.asarray(booster.predict(table.matrix, raw_score=True, **threads))

    def contributions(self, booster: Any, table: CodedTable, n_jobs: int | None = None) -> Any:
        """Return LightGBM's Shapley values of the trees."""
        threads = {} if n_jobs is None else {"num_threads": n_jobs}
        return booster.predict(table.matrix, pred_contrib=True, **threads)

    def gains(self, booster: Any, n_features: int) -> NDArray[np.float64]:
        """Return what the splits on each column gained."""
        return np.asarray(booster.feature_importance("gain"), dtype=np.float64)

    def save(self, booster: Any) -> bytes:
        """Return the model as LightGBM's text."""
        return str(booster.model_to_string()).encode()

    def load(self, path: str) -> Any:
        """Read a model that LightGBM saved."""
        return lightgbm().Booster(model_file=path)

    def facts(self, booster: Any, content: bytes) -> ModelFacts:
        """Return what a booster and the header of its file say about themselves."""
        header = content.decode("utf-8", "replace").partition("\nTree=")[0]
        said = dict(line.split("=", 1) for line in header.split("\n") if "=" in line)
        count, names = int(booster.num_feature()), booster.feature_name()
        places = [f"Column_{position}" for position in range(count)]
        ranges = said.get("feature_infos", "").split(" ")
        told = {"[": False, "n": None}  # an interval, "none" for a constant; else the categories
        trees = int(booster.num_model_per_iteration())
        kinds = [told.get(each[:1], True) for each in ranges]
        return ModelFacts(
            objective=said.get("objective", "no objective"),
            classes=2 if trees == 1 else trees,
            n_features=count,
            names=None if names == places else names,
            categories=kinds if len(ranges) == count else None,
        )

    def stored_name(self, name: str) -> str:
        """Return a name as it comes back: cut at a NUL, white space as underscores."""
        return re.sub(r"\s", "_", name).partition("\0")[0]


#: The one LightGBM there is.
LIGHTGBM = LightGBM()


class FairLGBMClassifier(BoostedClassifier):
    """LightGBM trained on fair targets, or to minimise (1−λ)·log-loss + λ·penalty.

    The sensitive attribute is needed in ``fit`` alone. ``booster_`` is LightGBM's own
    binary-logistic model: save it with ``booster_.save_model`` and serve it without this library.

    Parameters
    ----------
    criterion, strength, schedule, validation_fraction, curvature, groups
        As in `FairXGBClassifier`; LightGBM trains the propensity and outcome models of fair
        targets. At strength 0 the trees are those of LightGBM's own objective with
        ``boost_from_average=False``.
    params : dict, optional
        Parameters of LightGBM, passed on untouched, but for those the classifier sets itself:
        objective, rounds, threads and seeds are refused by name. Without any parameters a learning
        rate of .1 and 8 leaves are used; with some, the others have LightGBM's own defaults. A
        ``device`` is that of the model; propensity and outcome models are trained on the CPU.
    callback, progress
        As in `FairXGBClassifier`.
    random_state : int, default=0
        Seed of the hold-out and of LightGBM.
    n_jobs : int, optional
        Threads of LightGBM.

    Attributes
    ----------
    booster_ : lightgbm.Booster
        The best state, an ordinary model.
    classes_, n_features_in_, feature_names_in_, feature_importances_
        As in scikit-learn.
    params_, best_iteration_, n_rounds_, kept_, evals_result_, strength_, sensitive_levels_
        As in `FairXGBClassifier`.

    References
    ----------
    Di Stefano, Hickey & Vasileiou (2020), arXiv:2002.10774.

    Examples
    --------
    >>> from unsway import FairLGBMClassifier, Parity, make_synthetic, score_gap
    >>> data = make_synthetic(2_000, random_state=0)
    >>> model = FairLGBMClassifier(Parity(), strength=0.9, params={"max_depth": 2}, n_jobs=1)
    >>> p = model.fit(data.X, data.y, sensitive_features=data.z).predict_proba(data.X)[:, 1]
    >>> bool(score_gap(data.y, p, sensitive_features=data.z) < 0.1)
    True
    """

    engine = LIGHTGBM


def nuisance_params(settings: BoosterSettings) -> dict[str, Any]:
    """Return LightGBM's parameters for trees of nuisances: binary ones without a start."""
    params = {
        "objective": "binary",
        "boost_from_average": False,
        "deterministic": True,
        "verbosity": -1,
    }
    return params if settings.n_jobs is None else {**params, "num_threads": settings.n_jobs}


def _with_objective(model: str, name: str) -> Any:
    """Return the model told what its margins are: LightGBM forgets it under another's objective."""
    model = re.sub(
        r"\n(objective=[^\n]*\n)?feature_names=",
        f"\nobjective={name}\nfeature_names=",
        model,
        count=1,
    )
    short = name.partition(" ")[0]
    model = re.sub(r"\n\[objective: [^\n]*\]", f"\n[objective: {short}]", model, count=1)
    # Rounds that were asked for at once: one after a fork, which tells nothing of the model.
    model = re.sub(r"\n\[num_iterations: \d+\]", "\n[num_iterations: 100]", model, count=1)
    return lightgbm().Booster(model_str=model)
