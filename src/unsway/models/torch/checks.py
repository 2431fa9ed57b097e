"""Checks of a batch before it is used."""

from __future__ import annotations

import warnings
from typing import Any

from ...core import Loss
from .engine import torch

#: The batch whose logits are checked: those of a fresh model are close to 0.
LOOK_AT = 50


def column(logits: Any, role: str) -> torch.Tensor:
    """Return floats of shape (m,) from (m,) or (m, 1), m at least 1."""
    if not isinstance(logits, torch.Tensor):
        raise TypeError(f"{role} must be a tensor; got {type(logits).__name__}")
    if not logits.dtype.is_floating_point:
        raise TypeError(f"{role} must be floats; got a tensor of {logits.dtype}")
    return _flat(logits, role)


def logits_of(logits: Any, loss: Loss) -> torch.Tensor:
    """Return the margins of a loss: of shape (m,), or of several classes (m, C)."""
    if loss.link != "softmax":
        return column(logits, "logits")
    margins = column(logits.flatten(), "logits") if isinstance(logits, torch.Tensor) else None
    if margins is None or logits.ndim != 2:
        shape = type(logits).__name__ if margins is None else tuple(logits.shape)
        raise ValueError(f"logits must be of shape (m, C), a column for each class; got {shape}")
    return logits


def targets_of(y: torch.Tensor, margin: torch.Tensor, loss: Loss) -> torch.Tensor:
    """Return labels as the target of a loss: positions of classes become columns of 0 and 1."""
    if loss.link != "softmax":
        return y
    classes = torch.arange(margin.shape[1], device=margin.device)
    return (y[:, None] == classes).to(margin.dtype)


def numbers(values: Any, role: str, margin: torch.Tensor, *, columns: bool = False) -> torch.Tensor:
    """Return one number per logit, or a row of several if allowed, on the device of the logits."""
    tensor = torch.as_tensor(values)
    if not (columns and tensor.ndim == 2 and tensor.shape[1] > 1):
        tensor = _flat(tensor, role)
    if tensor.shape[0] != margin.shape[0]:
        raise ValueError(
            f"{role} has {tensor.shape[0]} values for {margin.shape[0]} logits; give one each"
        )
    return tensor.to(margin.device)


def _flat(tensor: torch.Tensor, role: str) -> torch.Tensor:
    if tensor.ndim == 2 and tensor.shape[1] == 1:
        tensor = tensor[:, 0]
    if tensor.ndim != 1:
        also = "; for two classes pass the difference of their logits" if tensor.ndim == 2 else ""
        raise ValueError(f"{role} must be of shape (m,) or (m, 1); got {tuple(tensor.shape)}{also}")
    if tensor.shape[0] == 0:
        raise ValueError(f"{role} is empty: a batch needs at least one row")
    return tensor


def check_device(margin: torch.Tensor, ours: torch.Tensor) -> None:
    """Raise unless the loss and the logits are on the same device."""
    if margin.device != ours.device:
        raise ValueError(
            f"the logits are on {margin.device} and the loss on {ours.device}; move it with "
            f"loss.to({str(margin.device)!r})"
        )


def check_targets(y: torch.Tensor, margin: torch.Tensor, loss: Loss) -> None:
    """Raise if the loss is of no such y; on a GPU, where it would wait, nothing is checked."""
    if y.device.type != "cpu":
        return
    low, high = torch.aminmax(y)
    if loss.link == "logit" and not (low >= 0 and high <= 1):
        raise ValueError("y must be 0 or 1; it has other values or NaN")
    if loss.link == "softmax":
        last = margin.shape[1] - 1
        whole = not y.dtype.is_floating_point or bool((y % 1 == 0).all())
        if not (whole and low >= 0 and high <= last):
            raise ValueError(f"y must hold positions of classes, from 0 to {last}")


def check_rows(rows: Any, margin: torch.Tensor, n_rows: int, *, look: bool) -> torch.Tensor | None:
    """Return row numbers on the device of the logits, or None for all rows in order."""
    if rows is None:
        if margin.shape[0] != n_rows:
            raise ValueError(
                f"{margin.shape[0]} logits for {n_rows} training rows: pass the row numbers of the "
                "batch as the third argument"
            )
        return None
    rows = torch.as_tensor(rows)
    if rows.dtype.is_floating_point or rows.dtype in (torch.bool, torch.complex64):
        raise TypeError(f"rows must be row numbers, integers; got a tensor of {rows.dtype}")
    checked = numbers(rows, "rows", margin)
    if look and rows.device.type == "cpu":  # on a GPU a check would wait
        low, high = torch.aminmax(rows)
        if low < 0 or high >= n_rows:
            raise ValueError(
                f"rows must lie between 0 and {n_rows - 1}, the training rows; got "
                f"{int(low if low < 0 else high)}"
            )
    return checked.long()


def warn_of_probabilities(margin: torch.Tensor) -> None:
    """Warn if all logits lie within [0, 1], which is unlikely for a trained model."""
    low, high = torch.aminmax(margin.detach())
    if low >= 0 and high <= 1 and low < high:
        warnings.warn(
            f"every logit of batch {LOOK_AT} lies within [0, 1]: FairLoss takes logits, not "
            "probabilities; leave the sigmoid out of the model",
            UserWarning,
            stacklevel=4,
        )
