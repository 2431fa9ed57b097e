"""A training written down after each epoch, so that a killed fit goes on where it stood."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...files import check_writable, write_atomically
from .engine import torch
from .training import Training

FILE = "training.pt"


class Checkpoint:
    """A folder with the state of one training: tensors and numbers, no pickled code.

    Parameters
    ----------
    folder : path
        Where the state is.
    fingerprint : str
        Stands for the rows and the settings; a state of others is refused.
    """

    def __init__(self, folder: str | Path, fingerprint: str) -> None:
        self.path = Path(folder) / FILE
        self.fingerprint = fingerprint

    def resume(self, training: Training) -> None:
        """Bring a fresh training to where it was left, if it was begun."""
        check_writable(self.path)
        if not self.path.exists():
            return
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
        training.restore(state["training"])

    def save(self, training: Training) -> None:
        """Write the present state over the last one, at once."""
        buffer = io.BytesIO()
        torch.save({"fingerprint": self.fingerprint, "training": training.state()}, buffer)
        write_atomically(self.path, buffer.getvalue())


def fingerprint(training: Training, settings: dict[str, Any], weights: NDArray[Any] | None) -> str:
    """Return a digest of the settings, the rows and the module before its first step."""
    digest = hashlib.sha256(repr(sorted(settings.items())).encode())
    tensors = [training.inputs, training.target, training.validation_inputs]
    for tensor in (*tensors, *training.module.state_dict().values()):
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    digest.update(np.asarray(training.validation.target).tobytes())
    digest.update(b"" if weights is None else weights.tobytes())
    return digest.hexdigest()
