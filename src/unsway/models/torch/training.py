"""Training of a network by a schedule: each step is an epoch."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import astuple, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._typing import Floats
from ...core import Losses, Objective
from ...files import check_writable, write_atomically
from ..replay import Replay
from .engine import Module, torch
from .loss import FairLoss

#: Rows whose margins are found at once.
CHUNK = 65_536
#: Units of each hidden layer of the default network.
HIDDEN = 64

State = dict[str, Any]

#: The file of a checkpoint.
FILE = "training.pt"


@dataclass
class Training:
    """A module with its rows, its loss and its optimiser; what it did is in ``history``.

    ``n_outputs`` is the number of classes if there are more than two, else 1. The loss is divided
    by the square of ``unit`` before each step.
    """

    module: Module
    optimizer: Any
    loss: FairLoss
    inputs: torch.Tensor
    target: torch.Tensor
    validation_inputs: torch.Tensor
    validation: Objective
    batch_size: int
    n_outputs: int = 1
    unit: float = 1.0
    epochs: int = 0
    history: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    kept: State | None = None

    def step(self, strength: float) -> None:
        """Train for an epoch at this λ, in batches of about the same size."""
        self.epochs += 1
        self.loss.strength = strength
        self.module.train()
        n_rows = len(self.target)
        order = torch.randperm(n_rows)
        for drawn in order.tensor_split(-(-n_rows // self.batch_size)):
            rows = drawn.to(self.target.device)
            self.optimizer.zero_grad()
            logits = self.module(self.inputs.index_select(0, rows))
            loss = self.loss(logits, self.target.index_select(0, rows), rows)
            (loss if self.unit == 1 else loss / self.unit**2).backward()
            self.optimizer.step()
        if self.loss.running is not None:
            statistics = self.loss.running.statistics()
            distance = self.loss.running.distance.map(lambda tensor: tensor.cpu().numpy())
            self._record("train", self.loss.statistics, penalty=distance.value(statistics))

    def evaluate(self) -> Losses:
        """Return both losses on the rows to stop by."""
        margin = margins(self.module, self.validation_inputs, self.n_outputs)
        penalty, losses = self.validation.penalty, self.validation.losses(margin)
        statistics: dict[str, float] = {}
        if penalty.names:
            scores, _ = self.validation.loss.mean(margin)
            statistics = dict(zip(penalty.names, penalty.statistics(scores), strict=True))
        more = {self.validation.loss.name: losses.utility}
        if not self.validation.is_plain:
            more[self.validation.fairness_name] = losses.penalty
        self._record("validation", statistics, **more)
        return losses

    def snapshot(self) -> int:
        """Keep a copy of the module's state, and return the number of epochs."""
        self.kept = deepcopy(self.module.state_dict())
        return self.epochs

    def _record(self, rows: str, statistics: dict[str, float], **more: float) -> None:
        history = self.history.setdefault(rows, {})
        for name, value in {**more, **statistics}.items():
            series = history.setdefault(name, [])
            if len(series) < self.epochs:  # a schedule also looks between epochs
                series.append(float(value))

    def state(self) -> State:
        """Return all that is needed to resume from here; z is not part of it."""
        running = self.loss.running
        return {
            "epochs": self.epochs,
            "module": self.module.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generators": _generators(self.target.device),
            "scores": None if running is None else [running.table, running.sums],
            "kept": self.kept,
            "history": self.history,
        }

    def restore(self, state: State) -> None:
        """Return to a ``state``."""
        self.module.load_state_dict(state["module"])
        self.optimizer.load_state_dict(state["optimizer"])
        if self.loss.running is not None:
            self.loss.running.table.copy_(state["scores"][0])
            self.loss.running.sums.copy_(state["scores"][1])
        self.kept, self.history = state["kept"], state["history"]
        self.epochs = state["epochs"]
        _set_generators(state["generators"], self.target.device)


class Checkpoint:
    """A folder with the state of one training: tensors and numbers, no pickled code.

    Parameters
    ----------
    folder : path
        Where the state is.
    fingerprint : str
        Digest of the rows and the settings; a state of other ones is refused.
    """

    def __init__(self, folder: str | PathLike[str], fingerprint: str) -> None:
        self.path = Path(folder) / FILE
        self.fingerprint = fingerprint

    def resume(self, training: Training) -> Replay:
        """Return a fresh training, brought to the recorded state if there is one."""
        check_writable(self.path)
        if not self.path.exists():
            return Replay(training)
        state = self._read(training)
        training.restore(state)
        return Replay(training, training.epochs, [Losses(*pair) for pair in state["evaluations"]])

    def save(self, training: Training, losses: list[Losses]) -> None:
        """Replace the last state by the present one, atomically."""
        state = {**training.state(), "evaluations": [[*astuple(each)] for each in losses]}
        buffer = io.BytesIO()
        torch.save({"fingerprint": self.fingerprint, "training": state}, buffer)
        write_atomically(self.path, buffer.getvalue())

    def _read(self, training: Training) -> State:
        try:
            state = torch.load(self.path, weights_only=True, map_location=training.target.device)
            known = state["fingerprint"]
        except Exception as error:
            raise ValueError(f"{self.path} is no checkpoint of a fit; remove it") from error
        if known != self.fingerprint:
            raise ValueError(
                f"{self.path} is the checkpoint of other rows or settings; remove it, or give "
                "another folder"
            )
        return dict(state["training"])


def fingerprint(training: Training, settings: dict[str, Any], weights: NDArray[Any] | None) -> str:
    """Return a digest of the settings, the rows and the module before its first step."""
    digest = hashlib.sha256(repr(sorted(settings.items())).encode())
    tensors = [training.inputs, training.target, training.validation_inputs]
    for tensor in (*tensors, *training.module.state_dict().values()):
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    digest.update(np.asarray(training.validation.target).tobytes())
    digest.update(b"" if weights is None else weights.tobytes())
    return digest.hexdigest()


def margins(module: Module, inputs: torch.Tensor, n_outputs: int = 1) -> Floats:
    """Return a module's margins in eval mode, without a gradient; several in columns."""
    module.eval()
    chunks = inputs.tensor_split(tuple(range(CHUNK, len(inputs), CHUNK)))
    with torch.no_grad():
        shape = () if n_outputs == 1 else (n_outputs,)
        parts = [module(part).reshape(len(part), *shape).double().cpu() for part in chunks]
    return torch.cat(parts).numpy()


def perceptron(n_inputs: int, n_outputs: int = 1) -> Module:
    """Return the default network: two hidden layers of 64 units, and the margins."""
    linear, relu = torch.nn.Linear, torch.nn.ReLU
    return torch.nn.Sequential(
        linear(n_inputs, HIDDEN), relu(), linear(HIDDEN, HIDDEN), relu(), linear(HIDDEN, n_outputs)
    )


def build(
    module: Module | Callable[[int], Module] | None, n_inputs: int, n_outputs: int = 1
) -> Module:
    """Return a fresh module: the default, a copy of a given one, or the result of a function."""
    if module is None:
        return perceptron(n_inputs, n_outputs)
    if isinstance(module, Module):
        return deepcopy(module)
    if not callable(module):
        raise TypeError(
            "module must be a torch.nn.Module or a callable that makes one from the number of "
            f"inputs; got {module!r}"
        )
    built = module(n_inputs)
    if not isinstance(built, Module):
        raise TypeError(f"module({n_inputs}) must return a torch.nn.Module; got {built!r}")
    return built


def scaled(module: Module, inputs: torch.Tensor, spread: float) -> Module:
    """Return a module with a fixed layer behind it, of which the outputs are in units of a spread.

    Its bias, 0 at first, is where the units of the user are put in the end.
    """
    last = torch.nn.Linear(1, 1)
    with torch.no_grad():
        last.weight.fill_(spread)
        last.bias.zero_()
        flat = module.eval()(inputs).ndim == 1
    last = last.to(inputs).requires_grad_(requires_grad=False)
    columns = [torch.nn.Unflatten(0, (-1, 1))] if flat else []
    return torch.nn.Sequential(module, *columns, last)


def raise_bias(module: Any, step: float) -> None:
    """Raise all outputs of a `scaled` module."""
    with torch.no_grad():
        module[-1].bias.add_(step)


def check_module(module: Module, inputs: torch.Tensor, n_outputs: int = 1) -> None:
    """Raise unless the module can be trained and has as many outputs per row as are needed."""
    if not any(parameter.requires_grad for parameter in module.parameters()):
        raise ValueError("module has no parameter to train")
    try:
        margins(module, inputs, n_outputs)
    except RuntimeError as error:
        wanted = "one logit" if n_outputs == 1 else f"{n_outputs} logits"
        raise ValueError(
            f"module does not turn inputs of shape {tuple(inputs.shape)} into {wanted} per row: "
            f"{error}"
        ) from error


def as_tensor(
    matrix: NDArray[Any], module: Module, device: torch.device | str = "cpu"
) -> torch.Tensor:
    """Return inputs in the precision of the module's parameters."""
    floats = (each.dtype for each in module.parameters() if each.dtype.is_floating_point)
    return torch.as_tensor(matrix).to(device=device, dtype=next(floats, torch.float32))


def find_device(name: str) -> torch.device:
    """Return the device of this name; ``"auto"`` is a GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"device must be 'auto', 'cpu' or 'cuda'; got {name!r}") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device={name!r}, but PyTorch finds no GPU here; use 'auto' or 'cpu'")
    return device


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Draw random numbers from this seed, and restore the generators afterwards."""
    on_gpu = device.type == "cuda"
    devices = []
    if on_gpu:
        devices = [torch.cuda.current_device() if device.index is None else device.index]
    with torch.random.fork_rng(devices=devices):
        torch.default_generator.manual_seed(seed)
        if on_gpu:
            with torch.cuda.device(devices[0]):
                torch.cuda.manual_seed(seed)
        yield


def canonical_order(inputs: NDArray[Any], y: Floats, z: Floats, seed: int) -> NDArray[np.intp]:
    """Return an order of the rows that depends on their values, not on their positions."""
    direction = np.random.default_rng(seed).standard_normal(inputs.shape[1])
    return np.lexsort((z, y, np.round(inputs.astype(np.float64) @ direction, 9)))


def _generators(device: torch.device) -> list[torch.Tensor]:
    states = [torch.random.get_rng_state()]
    if device.type == "cuda":
        states.append(torch.cuda.get_rng_state(device))
    return states


def _set_generators(states: list[torch.Tensor], device: torch.device) -> None:
    torch.random.set_rng_state(states[0].cpu())
    if device.type == "cuda" and len(states) > 1:
        torch.cuda.set_rng_state(states[1].cpu(), device)
