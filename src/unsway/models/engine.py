"""What a boosting library must offer to be an engine here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import Signature, signature
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from .._typing import Floats, Reduce
from ..core import Loss, MultinomialLogLoss
from ..rows import Rows
from ..tables import CodedTable, Ordered
from .features import close_matches
from .training import Part, loss_of

if TYPE_CHECKING:
    from .boosting import Boosting

Derivatives = Callable[[NDArray[Any]], tuple[NDArray[np.float32], NDArray[np.float32]]]


class InexactForkError(Exception):
    """A copy of a booster is not, to the bit, where the booster is."""


@dataclass(frozen=True)
class BoosterSettings:
    """What a user sets of an engine.

    Parameters
    ----------
    params : mapping
        Parameters of the engine.
    curvature : {"adaptive", "bound", "exact"}
        What takes the place of a penalty's Hessian.
    random_state : int
        Seed of the engine.
    n_jobs : int, optional
        Threads of the engine.
    loss : Loss, optional
        What a model of numbers minimises; None for labels of two classes.
    own_objective : bool, default=False
        Whether the engine trains by its own objective of that loss, on y as the user gave it.
    n_classes : int, default=0
        Classes of a label that has more than two.
    """

    params: Mapping[str, Any]
    curvature: str
    random_state: int
    n_jobs: int | None
    loss: Loss | None = None
    own_objective: bool = False
    n_classes: int = 0

    @classmethod
    def of(cls, model: Any) -> Self:
        """Read the settings of an estimator; without parameters it has the engine's defaults.

        At strength 0 a model of numbers is the engine's own.
        """
        loss = loss_of(model)
        own = loss is not None and model.strength_ == 0
        settings = model.curvature, model.random_state, model.n_jobs
        return cls(params_of(model), *settings, loss, own)

    def for_rows(self, rows: Rows, powers: Mapping[str, int], reduce: Reduce | None = None) -> Self:
        """Return the settings for rows of several classes, or of numbers with an identity link.

        Parameters of numbers that have a power of the unit of y are for y in standard deviations.
        The engine's own objective takes them as they are.
        """
        if rows.outcome.n_classes:
            return replace(self, n_classes=rows.outcome.n_classes)
        if self.own_objective or self.loss is None or self.loss.link != "identity":
            return self
        spread = rows.outcome.spread(rows.weights, reduce)
        params = {
            name: value * spread ** powers[name] if name in powers else value
            for name, value in self.params.items()
        }
        return replace(self, params=params)


def params_of(model: Any) -> Mapping[str, Any]:
    """Return the engine's parameters that an estimator trains with."""
    return model.params or model.engine.default_params


@dataclass(frozen=True, kw_only=True)
class TreeShape:
    """The trees of a nuisance.

    Parameters
    ----------
    n_trees : int
        How many.
    learning_rate : float
        By how much each is shrunk.
    depth : int
        Splits from root to leaf at most.
    """

    n_trees: int
    learning_rate: float
    depth: int


@dataclass(frozen=True)
class PlacedRows:
    """Training rows where an engine works on them.

    Parameters
    ----------
    table : CodedTable
        On the host or on the device.
    binned : engine's matrix, optional
        The rows as the final model is trained on them, where nuisances share its bins.
    """

    table: CodedTable
    binned: Any = None


class Grower(Protocol):
    """A booster with its training and validation rows, grown one tree at a time."""

    booster: Any

    @property
    def n_trees(self) -> int:
        """How many rounds left a tree."""

    def boost(self, derivatives: Derivatives) -> None:
        """Grow one tree from the derivatives at the present training margin."""

    def validation_margin(self, n_trees: int | None = None) -> NDArray[Any]:
        """Return the margin that all trees, or the first ones, give the validation rows."""

    def restart(self) -> Grower:
        """Return another on the same rows, without trees."""

    def fork(self) -> Grower:
        """Return another with the same rows and trees, or raise `InexactForkError`."""


@dataclass(frozen=True)
class ModelFacts:
    """What a model file says about itself; None where it does not tell."""

    objective: str
    classes: int
    n_features: int
    names: Sequence[str] | None
    categories: Sequence[bool | None] | None


class Engine(Protocol):
    """A boosting library, as the classifiers and model folders here use it.

    Attributes
    ----------
    name : str
        What cards and the command line call it.
    model_file : str
        The file its model is saved in.
    refused_params : mapping of str to str
        Parameter that may not be given → why.
    learning_rate_names : tuple of str
        What the engine calls its learning rate.
    default_learning_rate : float
        Its value where other parameters are given.
    default_params : mapping
        The parameters where none are given.
    objective : str
        What a saved model calls the objective whose margins are log-odds.
    number_devices : tuple of str
        Kinds of devices on which numbers are trained.
    """

    name: ClassVar[str]
    model_file: ClassVar[str]
    refused_params: ClassVar[Mapping[str, str]]
    learning_rate_names: ClassVar[tuple[str, ...]]
    default_learning_rate: ClassVar[float]
    default_params: ClassVar[Mapping[str, Any]]
    objective: ClassVar[str]
    number_devices: ClassVar[tuple[str, ...]] = ("cpu",)

    def version(self) -> str:
        """Return the version of the library."""

    def require(self, params: Mapping[str, Any]) -> None:
        """Raise, with the pip line, if the library or the device is not there."""

    def check_params(self, params: Mapping[str, Any]) -> None:
        """Refuse values under which a model could not be trained here."""

    def start(
        self, settings: BoosterSettings, learning_rate: float, train: Part, validation: Part
    ) -> Boosting:
        """Return rows, booster and objective before the first tree."""

    def place(
        self, settings: BoosterSettings, table: CodedTable, weights: Floats | None
    ) -> PlacedRows:
        """Return the rows a final model is trained on, to grow the trees of nuisances on too.

        By default the rows are on the host, and nuisances have bins of their own.
        """
        return PlacedRows(table)

    def order(self, settings: BoosterSettings, table: CodedTable) -> Ordered:
        """Return the canonical order of rows if a device finds it, and the rows where they train.

        By default these are None, and the rows as they are.
        """
        return None, table

    def move(self, settings: BoosterSettings, table: CodedTable) -> CodedTable:
        """Return rows on the device that the engine works on, by default as they are."""
        return table

    def bin_rows(
        self, settings: BoosterSettings, table: CodedTable, weights: Floats | None, bins_of: Any
    ) -> Any:
        """Return rows to grow the trees of nuisances on, with the bins of others if given."""

    def grow(
        self,
        settings: BoosterSettings,
        shape: TreeShape,
        binned: Any,
        target: Floats,
        margin: Floats,
    ) -> tuple[Any, Floats]:
        """Return a booster of a 0/1 target whose trees start from a margin, and where they end."""

    def grow_by(
        self,
        settings: BoosterSettings,
        shape: TreeShape,
        binned: Any,
        derivatives: Derivatives,
        margin: Floats,
    ) -> tuple[Any, Floats]:
        """Return a booster grown by derivatives, from a margin, and the margin where it ends."""

    def class_loss(self, n_classes: int) -> Loss:
        """Return the loss of several classes with the curvature of the engine's own objective."""
        return MultinomialLogLoss()

    def class_objective(self, n_classes: int) -> str:
        """Return what a saved model calls the objective of several classes."""

    def why_not_shared(self, params: Mapping[str, Any]) -> str | None:
        """Return why a fork would grow other trees, or None if it would not."""

    def finish(self, grower: Any, n_trees: int, n_jobs: int | None) -> Any:
        """Return the library's own model, cut after this many trees."""

    def raise_margin(self, booster: Any, step: float, loss: Loss) -> Any:
        """Return a finished model of numbers whose margins are higher by a step everywhere."""

    def margin(self, booster: Any, table: CodedTable, n_jobs: int | None = None) -> Any:
        """Return a finished model's margin, on the device of the rows."""

    def contributions(self, booster: Any, table: CodedTable, n_jobs: int | None = None) -> Any:
        """Return what each column adds to a finished model's margin, and last its baseline."""

    def gains(self, booster: Any, n_features: int) -> Floats:
        """Return what the splits on each column gained."""

    def save(self, booster: Any) -> bytes:
        """Return the model in the library's own format."""

    def load(self, path: str) -> Any:
        """Read a model of the library's own format."""

    def facts(self, booster: Any, content: bytes) -> ModelFacts:
        """Return what a booster and the file that it is in say about themselves."""

    def stored_name(self, name: str) -> str:
        """Return a column's name as it comes back from a saved model."""


def without_unknown(init: Callable[..., None]) -> Signature:
    """Return a constructor's signature without the unknown arguments that it refuses."""
    _, *known = signature(init).parameters.values()
    return Signature([each for each in known if each.kind is not each.VAR_KEYWORD])


def refuse_unknown(model: Any, unknown: Mapping[str, Any]) -> None:
    """Refuse arguments that a booster does not have: those of its engine go into ``params``."""
    if not unknown:
        return
    name, value = next(iter(unknown.items()))
    title, known = type(model).__name__, list(type(model)._get_param_names())
    reason = model.engine.refused_params.get(name)
    if reason is not None:
        raise TypeError(f"{title} takes no {name!r}: {reason}")
    raise TypeError(
        f"{title} has no argument {name!r}{close_matches(name, known) or '.'} Parameters of the "
        f"engine go into params: {title}(params={{{name!r}: {value!r}}})"
    )
