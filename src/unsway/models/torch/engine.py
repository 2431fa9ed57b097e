"""PyTorch where it is installed; where it is not, the classes here load and say so when used."""

from __future__ import annotations

from ...extras import load

try:
    import torch as torch
    from torch.nn import Module as Module
except ImportError:
    torch = None  # type: ignore[assignment]
    Module = object  # type: ignore[misc, assignment]


def require_torch() -> None:
    """Raise, with the pip line, if PyTorch is not installed."""
    load("torch", "torch")
