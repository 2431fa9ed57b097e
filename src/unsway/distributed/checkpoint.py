"""Training that resumes where another process stopped."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..core import Losses
from ..files import write_atomically
from ..models.boosting import Boosting
from .collective import Collective

#: Name of the one file in the folder: a line of JSON, then the booster in XGBoost's own format.
FILE_NAME = "training.checkpoint"


class Checkpointed:
    """A booster as a schedule drives it, which the first process writes to a file now and then.

    A run that finds such a file resumes it: the schedule is led through the rounds that
    are done by their recorded losses, without training, and so ends up in the state it was in.

    Parameters
    ----------
    boosting : Boosting
        What is trained, before its first round.
    collective : Collective
        The processes; the first reads and writes.
    folder : Path
        Where the file is.
    every : int
        Rounds between two writes.
    fingerprint : str
        Of rows and settings; a file of other ones is refused.
    """

    def __init__(
        self,
        boosting: Boosting,
        collective: Collective,
        folder: Path,
        every: int,
        fingerprint: str,
    ) -> None:
        self.boosting = boosting
        self._collective, self._every = collective, every
        self._path, self._fingerprint = folder / FILE_NAME, fingerprint
        self._taken = self._looks = self._saved = 0
        self._losses: list[Losses] = []
        self.resumed_at = 0
        self._resume()

    def step(self, strength: float) -> None:
        """Grow one tree at this λ, unless it is there already."""
        self._taken += 1
        if self._taken > self.resumed_at:
            self.boosting.step(strength)

    def evaluate(self) -> Losses:
        """Return both losses on the validation rows, the recorded ones while catching up."""
        self._looks += 1
        if self._looks > len(self._losses):
            self._losses.append(self.boosting.evaluate())
            if self._taken % self._every == 0 and self._taken > self._saved:
                self._save()
        return self._losses[self._looks - 1]

    def snapshot(self) -> int:
        """Return the number of trees."""
        return self._taken

    def finish(self) -> None:
        """Remove the file: the run it belongs to has ended."""
        if self._collective.rank == 0:
            self._path.unlink(missing_ok=True)

    def _save(self) -> None:
        self._saved = self._taken
        if self._collective.rank != 0:
            return
        derivatives = self.boosting.derivatives
        state = {
            "fingerprint": self._fingerprint,
            "rounds": self._taken,
            "losses": [asdict(losses) for losses in self._losses],
            "history": self.boosting.history,
            "damping": derivatives.damping,
            "last_penalty": derivatives.last_penalty,
        }
        booster: Any = self.boosting.grower.booster
        raw = bytes(booster.save_raw(raw_format="ubj"))
        write_atomically(self._path, json.dumps(state).encode() + b"\n" + raw)

    def _resume(self) -> None:
        """Bring the booster to where the file has it, on all processes."""
        content = b""
        if self._collective.rank == 0 and self._path.exists():
            content = self._path.read_bytes()
        content = self._collective.broadcast(content)
        if not content:
            return
        head, _, raw = content.partition(b"\n")
        state = json.loads(head)
        if state["fingerprint"] != self._fingerprint:
            raise ValueError(
                f"the checkpoint in {self._path.parent} belongs to other rows or settings; remove "
                f"{FILE_NAME} there, or name another folder"
            )
        self.boosting.grower.booster.load_model(bytearray(raw))
        self.boosting.rounds = self.resumed_at = self._saved = int(state["rounds"])
        self.boosting.history = state["history"]
        self.boosting.derivatives.damping = float(state["damping"])
        self.boosting.derivatives.last_penalty = float(state["last_penalty"])
        self._losses = [Losses(**losses) for losses in state["losses"]]


def fingerprint(rows: np.uint64, settings: dict[str, Any]) -> str:
    """Return a digest of rows and settings, from which no row can be read."""
    return hashlib.sha256(json.dumps([int(rows), settings], default=repr).encode()).hexdigest()
