"""A network of labels without the direct effect of a sensitive attribute."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any, Self

from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from ..._typing import Floats
from ...core import Schedule, Step
from ...grouping import Grouping
from ..labels import takes_classes
from ..margins import class_probabilities, likelier_class
from ..row_fingerprint import share_trained_on
from ..summary import summary
from ..training import prepare, refit
from .network import check_network, encode, module_margins, train_network


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
    sensitive_name_ : str or None
        The sensitive column, or several with commas between.
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
        adjust_for: Any = None,
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
            check_network(model)
            given = (X, y, sensitive_features, sample_weight, eval_set)
            train_network(model, *prepare(model, *given, model.strength_, adjust_for=adjust_for))

        return refit(self, fit)

    def decision_function(self, X: Any) -> Floats:
        """Return the margin s of each row, or of more than two classes a column for each."""
        inputs = self.encode(X)
        n_outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        return module_margins(self, inputs, n_outputs)

    share_trained_on = share_trained_on
    summary = summary

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for each row."""
        return class_probabilities(self.decision_function(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most likely class of each row."""
        return likelier_class(self.decision_function(X), self.classes_)

    encode = encode

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = takes_classes(self)
        tags.input_tags.allow_nan = tags.input_tags.string = True
        return tags
