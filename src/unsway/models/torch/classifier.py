"""A network without the direct effect of a sensitive attribute, and its inputs from a table."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ..._typing import Floats
from ...checks import check_integer, check_number
from ...core import Schedule, Step
from ...core.schedule import Run
from ...groups import Grouping
from ...tables import CodedTable
from ..labels import takes_classes
from ..margins import class_probabilities, likelier_class, show_steps
from ..objectives import check_learning_rate
from ..replay import Replay
from ..row_fingerprint import share_trained_on
from ..summary import summary
from ..training import (
    Part,
    check_settings,
    drive,
    prepare,
    read_table,
    refit,
    strength_of,
)
from .engine import require_torch, torch
from .loss import FairLoss
from .training import (
    Checkpoint,
    Training,
    as_tensor,
    build,
    canonical_order,
    check_module,
    find_device,
    fingerprint,
    margins,
    seeded,
)

#: The paper's double early stopping, in epochs.
SCHEDULE = Schedule(ramp_steps=10, patience=10)
#: Settings that do not change what a fit finds.
_WITHOUT_EFFECT = ("callback", "checkpoint", "device", "progress")


@dataclass(frozen=True)
class NetworkInputs:
    """From the matrix of an `EngineTable` to the inputs of a network.

    Numbers are centred and in units of their spread over the training rows, each counting by its
    weight. A missing one becomes 0, the mean; if any was missing in training, a column of 0/1 says
    so. A category has a column of 0/1 for each level; missing or not seen in training, it has none.

    Examples
    --------
    >>> from unsway.tables import EngineTable
    >>> X = np.array([["b", 1], ["a", 3], ["a", None]], dtype=object)
    >>> table = EngineTable.of(X).code(X)
    >>> NetworkInputs.of(table)(table.matrix).tolist()
    [[-1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0]]
    """

    numbers: NDArray[np.intp]
    center: Floats
    scale: Floats
    with_holes: NDArray[np.intp]
    #: Column of each category → how many levels it has.
    categories: dict[int, int]

    @classmethod
    def of(cls, table: CodedTable, weights: Floats | None = None) -> Self:
        """Measure the columns of the training rows."""
        layout, matrix = table.layout, table.matrix
        categories = {
            position: len(layout.levels[name])
            for position, name in enumerate(layout.names)
            if name in layout.levels
        }
        numbers = np.setdiff1d(np.arange(matrix.shape[1]), list(categories))
        values = matrix[:, numbers].astype(np.float64)
        holes = np.isnan(values)
        w = np.where(holes, 0.0, 1.0 if weights is None else weights[:, None])
        total = np.where(w.any(axis=0), w.sum(axis=0), 1.0)
        center = (w * np.where(holes, 0.0, values)).sum(axis=0) / total
        off = np.where(holes, 0.0, values - center)
        spread = np.sqrt((w * off**2).sum(axis=0) / total)
        scale = np.where(spread > 1e-10 * np.abs(center), spread, 1.0)  # below is rounding
        return cls(numbers, center, scale, np.flatnonzero(holes.any(axis=0)), categories)

    @property
    def width(self) -> int:
        """How many inputs the network has."""
        return len(self.numbers) + len(self.with_holes) + sum(self.categories.values())

    def __call__(self, matrix: NDArray[Any]) -> NDArray[np.float32]:
        """Return the inputs of each row."""
        values = matrix[:, self.numbers].astype(np.float64)
        holes = np.isnan(values)
        parts = [np.where(holes, 0.0, (values - self.center) / self.scale)]
        parts.append(holes[:, self.with_holes].astype(np.float64))
        for position, n_levels in self.categories.items():
            parts.append(matrix[:, position, None] == np.arange(n_levels))
        return np.hstack(parts).astype(np.float32)


class FairTorchClassifier(ClassifierMixin, BaseEstimator):
    """A PyTorch network on fair targets, or with (1−λ)·log-loss + λ·penalty to minimise.

    The sensitive attribute is needed in ``fit`` alone. ``module_`` is the plain module: save it
    with ``torch.save`` and serve it without this library, on the inputs that ``encode`` gives:
    numbers standardised, categories one-hot, and what is missing marked.

    Parameters
    ----------
    criterion : FairTarget, DirectEffect, Parity, EqualOpportunity, EqualizedOdds, or one fitted
        Fair targets to train on, or a penalty; `FairTarget` by default.
    strength : float, optional
        λ: the share of the direct effect that fair targets remove, from 0 to 1 and 1 by default;
        or the weight of a penalty, at least 0, below 1 and .9 by default. At 0 this is plain
        training with the log-loss.
    module : torch.nn.Module or callable, optional
        The network, of which a copy is trained; or a function that makes it from the number of
        inputs. It returns one logit per row, or of more than two classes one for each. By default
        two hidden layers of 64 units.
    batch_size : int, default=256
        Rows of a mini-batch.
    learning_rate : float, default=0.001
        Step size of AdamW.
    weight_decay : float, default=1
        Decay of AdamW. The default is strong: of .01, .1, .3 and 1 it was the best on both
        synthetic data sets tried, ``paper`` and ``varying_effect``, at 20,000 rows. Other data may
        need less.
    schedule : Schedule, optional
        When to raise λ and when to stop, an epoch a step; by default the paper's double early
        stopping with a ramp and a patience of 10: an epoch is more than a tree. Fair targets are
        trained on at λ from the first epoch.
    validation_fraction : float, default=0.33
        Share of the rows held out for early stopping, the same for each label and group.
    device : str, default="auto"
        Where to train: ``"auto"`` is a GPU where there is one. The fitted module is on the CPU.
    checkpoint : path, optional
        Folder to which the state of the training is written after each epoch. A fit that was
        killed resumes from there and ends with the same model; with other rows or settings it is
        refused. The file contains scores of the training rows, but not z.
    groups : Grouping, optional
        How the sensitive attribute is read, such as its reference level.
    callback : callable, optional
        Called with a `Step` after every epoch.
    progress : bool, default=False
        Whether to show the epochs on standard error.
    random_state : int, default=0
        Seed of the hold-out, the initial weights, the batches and dropout. Generators outside are
        left as they are.

    Attributes
    ----------
    module_ : torch.nn.Module
        The best state, an ordinary module.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.
    best_epoch_, n_epochs_ : int
        The epoch kept, and epochs taken.
    history_ : dict
        Per epoch: ``"validation"`` with ``log_loss`` and either ``fair_log_loss``, the log-loss
        against the targets of full strength, or ``penalty`` and the criterion's statistics. A
        penalty adds ``"train"``, with all but ``log_loss`` at the end of the epoch's batches.
        At strength 0 a criterion that is not fitted is not estimated, and only ``log_loss`` is
        recorded.
    strength_ : float
        λ as it was used.
    sensitive_levels_ : tuple
        The levels that are z = 0 and z = 1.

    References
    ----------
    Di Stefano, Hickey & Vasileiou (2020), arXiv:2002.10774.

    Examples
    --------
    >>> from unsway import FairTorchClassifier, Parity, Schedule, make_synthetic, score_gap
    >>> data = make_synthetic(2_000, random_state=0)
    >>> quick = Schedule(ramp_steps=10, patience=5)
    >>> model = FairTorchClassifier(Parity(), 0.9, schedule=quick, learning_rate=0.01)
    >>> p = model.fit(data.X, data.y, sensitive_features=data.z).predict_proba(data.X)[:, 1]
    >>> bool(score_gap(data.y, p, sensitive_features=data.z) < 0.1)
    True
    """

    def __init__(
        self,
        criterion: Any = None,
        strength: float | None = None,
        *,
        module: Any = None,
        batch_size: int = 256,
        learning_rate: float = 1e-3,
        weight_decay: float = 1.0,
        schedule: Schedule | None = None,
        validation_fraction: float = 0.33,
        device: str = "auto",
        checkpoint: str | PathLike[str] | None = None,
        groups: Grouping | None = None,
        callback: Callable[[Step], None] | None = None,
        progress: bool = False,
        random_state: int = 0,
    ) -> None:
        self.criterion = criterion
        self.strength = strength
        self.module = module
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.schedule = schedule
        self.validation_fraction = validation_fraction
        self.device = device
        self.checkpoint = checkpoint
        self.groups = groups
        self.callback = callback
        self.progress = progress
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        eval_set: tuple[Any, ...] | None = None,
    ) -> Self:
        """Fit on covariates X, labels y and the sensitive attribute.

        The parameters are those of `FairXGBClassifier.fit`.

        Returns
        -------
        self
            The fitted classifier.
        """

        def fit(model: Self) -> None:
            model._check_settings()
            given = (X, y, sensitive_features, sample_weight, eval_set)
            model._train(*prepare(model, *given, model.strength_))

        return refit(self, fit)

    def decision_function(self, X: Any) -> Floats:
        """Return the margin s of each row, or of more than two classes a column for each."""
        inputs = as_tensor(self.encode(X), self.module_)
        n_outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        return np.asarray(margins(self.module_, inputs, n_outputs), dtype=np.float64)

    share_trained_on = share_trained_on
    summary = summary

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for each row."""
        return class_probabilities(self.decision_function(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most likely class of each row."""
        return likelier_class(self.decision_function(X), self.classes_)

    def encode(self, X: Any) -> NDArray[np.float32]:
        """Return the inputs of the module for each row."""
        check_is_fitted(self)
        return self.inputs_(self.table_.matrix(read_table(self, X, reset=False)))

    def _train(self, train: Part, validation: Part) -> None:
        self.inputs_ = NetworkInputs.of(train.rows.X, train.rows.weights)
        train, validation = (
            replace(part, rows=part.rows.with_table(self.inputs_(part.rows.X.matrix)))
            for part in (train, validation)
        )
        seed, device = int(self.random_state), find_device(self.device)
        train = train.take(canonical_order(train.rows.X, train.rows.y, train.rows.z, seed))
        with seeded(seed, device):
            training = self._training(train, validation, device)
            show = show_steps(self.callback, progress=self.progress, unit="epoch")
            replay = Replay(training)
            if self.checkpoint is not None:
                settings = self.get_params(deep=False)
                known = {name: settings[name] for name in settings if name not in _WITHOUT_EFFECT}
                mark = fingerprint(training, known, train.rows.weights)
                checkpoint = Checkpoint(self.checkpoint, mark)
                replay = checkpoint.resume(training)
                show = replay.after_step(partial(checkpoint.save, training, replay.losses), show)
            schedule = SCHEDULE if self.schedule is None else self.schedule
            run = drive(schedule, replay, training.validation, self.strength_, show)
        self._keep(training, run)

    def _training(self, train: Part, validation: Part, device: Any) -> Training:
        """Return the module before its first step, with its rows and its loss."""
        n_outputs = train.rows.outcome.n_classes or 1
        module = build(self.module, self.inputs_.width, n_outputs).to(device)
        inputs, validation_inputs = (
            as_tensor(part.rows.X, module, device) for part in (train, validation)
        )
        check_module(module, inputs[:2], n_outputs)
        optimizer = torch.optim.AdamW(
            module.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay
        )
        return Training(
            module,
            optimizer,
            FairLoss(train.objective()).to(device),
            inputs,
            torch.as_tensor(train.rows.y).to(inputs),
            validation_inputs,
            validation.objective(),
            int(self.batch_size),
            n_outputs,
        )

    def _keep(self, training: Training, run: Run) -> None:
        """Keep the best state and the history of a run."""
        if self.progress:
            print(file=sys.stderr)
        losses = run.best.losses
        if not np.isfinite([losses.utility, losses.penalty]).all():
            raise ValueError(
                f"training diverged: the losses are not finite; lower learning_rate="
                f"{self.learning_rate!r}"
            )
        self.best_epoch_, self.n_epochs_ = run.best_state, training.epochs
        self.history_ = training.history
        if training.kept is not None:
            training.module.load_state_dict(training.kept)
        self.module_ = training.module.cpu().eval()

    def _check_settings(self) -> None:
        require_torch()
        check_settings(self)
        self.strength_ = strength_of(self)
        find_device(self.device)
        check_learning_rate(self.learning_rate, "learning_rate")
        check_number(self.weight_decay, "weight_decay", at_least=0)
        check_integer(self.batch_size, "batch_size", at_least=1)
        if not isinstance(self.checkpoint, str | PathLike | None):
            raise TypeError(f"checkpoint must be the path of a folder; got {self.checkpoint!r}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = takes_classes(self)
        tags.input_tags.allow_nan = tags.input_tags.string = True
        return tags
