"""The state of a training in a file, from which another run resumes."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from ..core import Losses
from ..files import write_atomically
from ..models.boosting import Boosting
from ..models.replay import Replay
from .collective import Collective

#: Names of the files for the first and the second model that a criterion may ask for: a line of
#: JSON, then the booster in XGBoost's own format.
FILE_NAMES = ("training.checkpoint", "second-training.checkpoint")


class Checkpoint:
    """A file to which the first process writes the state of a training.

    Parameters
    ----------
    folder : Path
        The folder of the file.
    fingerprint : str
        Digest of rows and settings; a file of other ones is refused.
    collective : Collective
        The processes; the first reads and writes.
    name : str
        One of `FILE_NAMES`.
    """

    def __init__(
        self, folder: Path, fingerprint: str, collective: Collective, name: str = FILE_NAMES[0]
    ) -> None:
        self._path, self._fingerprint = folder / name, fingerprint
        self._collective = collective

    def resume(self, boosting: Boosting) -> Replay:
        """Return a training of this booster, resumed on all processes if the file exists."""
        content = b""
        if self._collective.rank == 0 and self._path.exists():
            content = self._path.read_bytes()
        content = self._collective.broadcast(content)
        if not content:
            return Replay(boosting)
        head, _, raw = content.partition(b"\n")
        state = json.loads(head)
        if state["fingerprint"] != self._fingerprint:
            raise ValueError(
                f"the checkpoint in {self._path.parent} belongs to other rows or settings; remove "
                f"{self._path.name} there, or name another folder"
            )
        boosting.grower.booster.load_model(bytearray(raw))
        boosting.rounds, boosting.history = int(state["rounds"]), state["history"]
        boosting.derivatives.damping = float(state["damping"])
        boosting.derivatives.last_penalty = float(state["last_penalty"])
        return Replay(boosting, boosting.rounds, [Losses(**each) for each in state["losses"]])

    def save(self, boosting: Boosting, losses: list[Losses]) -> None:
        """Replace the last state by the present one, atomically."""
        if self._collective.rank != 0:
            return
        state = {
            "fingerprint": self._fingerprint,
            "rounds": boosting.rounds,
            "losses": [asdict(each) for each in losses],
            "history": boosting.history,
            "damping": boosting.derivatives.damping,
            "last_penalty": boosting.derivatives.last_penalty,
        }
        raw = bytes(boosting.grower.booster.save_raw(raw_format="ubj"))
        write_atomically(self._path, json.dumps(state).encode() + b"\n" + raw)

    def remove(self) -> None:
        """Remove the file: the training has ended."""
        if self._collective.rank == 0:
            self._path.unlink(missing_ok=True)
