"""A keyed fingerprint of the rows a model was trained on, to know them again.

A model that fits its training rows closely looks more accurate on them than it is, and more or less
fair. An audit therefore asks whether its rows are those of the training. The fingerprint answers
this. It holds no value of a row and nothing of labels or the sensitive attribute; each has a key of
its own, so that those of two models cannot be compared.
"""

from __future__ import annotations

import base64
import json
import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..hashes import Keys, content_keys
from ..tables import check_table

#: The file of the fingerprint in a model folder.
TRAINING_ROWS = "training_rows.json"
#: Rows that a fingerprint keeps at most: of more, those with the smallest keys.
MOST_KEYS = 4_096
#: Where more of the rows than this have a twin, the rows of a training cannot be told from others.
MOST_REPEATED = 0.9

Digests = NDArray[np.uint32]


@dataclass(frozen=True, kw_only=True, eq=False)
class RowFingerprint:
    """What is kept of the rows of a training.

    Each row of covariates has a 64-bit hash that depends on a random salt. Of the rows with the
    smallest hashes, at most `MOST_KEYS`, a keyed 32-bit digest is kept: 16 KiB for any number of
    rows. Other rows are judged by those of them whose hash is below the same limit.

    Parameters
    ----------
    salt : int
        The key.
    n_rows : int
        Rows of the training.
    limit : int or None
        Hashes from here on are not kept; None where all are.
    repeated : float
        Share of the rows that have a twin. A fresh row of the same population is found among those
        of the training with about this probability (Good 1953, "The population frequencies of
        species", Biometrika 40), and `share_of` allows for it.
    digests : array of 32-bit numbers
        Sorted, each once.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(1_000, 2))
    >>> fingerprint = RowFingerprint.of(X[:600])
    >>> fingerprint.share_of(X[:600]), fingerprint.share_of(X[500:700])
    (1.0, 0.5)
    """

    salt: int
    n_rows: int
    limit: int | None
    repeated: float
    digests: Digests = field(repr=False)

    @classmethod
    def of(cls, X: Any) -> Self:
        """Return the fingerprint of a table."""
        keys = KeptKeys()
        keys.see(X)
        return cls.of_keys(keys)

    @classmethod
    def of_keys(cls, kept: KeptKeys) -> Self:
        """Return the fingerprint of rows that were seen before."""
        keys, limit = kept.smallest()
        _, counts = np.unique(keys, return_counts=True)
        return cls(
            salt=kept.salt,
            n_rows=kept.n_rows,
            limit=limit,
            repeated=float(counts[counts > 1].sum() / len(keys)) if len(keys) else 1.0,
            digests=np.unique(_digests(keys, kept.salt)),
        )

    def share_of(self, X: Any) -> float:
        """Return which share of the rows were in the training.

        Of the share s that is found, the share e of rows with a twin would be found by chance:
        (s − e) / (1 − e).

        Parameters
        ----------
        X : table
            Covariates, the columns those of the training in their order.

        Returns
        -------
        float
            NaN where it cannot be told: nearly all rows of the training have a twin, or there are
            too few rows.
        """
        keys = content_keys(check_table(X, smallest=1), self.salt)
        if self.limit is not None:
            keys = keys[keys < np.uint64(self.limit)]
        if not len(keys) or self.repeated > MOST_REPEATED:
            return math.nan
        distinct, counts = np.unique(keys, return_counts=True)
        found = np.isin(_digests(distinct, self.salt), self.digests)
        share = float(counts[found].sum() / len(keys))
        return max(0.0, (share - self.repeated) / (1 - self.repeated))

    def to_bytes(self) -> bytes:
        """Return the content of `TRAINING_ROWS`."""
        stored = {
            "rows": self.n_rows,
            "salt": self.salt,
            "limit": self.limit,
            "repeated": self.repeated,
            "digests": base64.b64encode(self.digests.astype("<u4").tobytes()).decode(),
        }
        return (json.dumps(stored, indent=1) + "\n").encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Return the fingerprint that `to_bytes` wrote."""
        stored = json.loads(content)
        digests = np.frombuffer(base64.b64decode(stored["digests"]), dtype="<u4")
        return cls(
            salt=int(stored["salt"]),
            n_rows=int(stored["rows"]),
            limit=None if stored["limit"] is None else int(stored["limit"]),
            repeated=float(stored["repeated"]),
            digests=digests.astype(np.uint32),
        )


class KeptKeys:
    """The smallest hashes of the rows seen so far, of which there may be more than fit in memory.

    Parameters
    ----------
    salt : int, optional
        The key; random by default.
    """

    def __init__(self, salt: int | None = None) -> None:
        self.salt = secrets.randbits(63) if salt is None else salt
        self.n_rows = 0
        self._keys: Keys = np.empty(0, dtype=np.uint64)

    def see(self, X: Any) -> None:
        """Add the rows of a table."""
        keys = np.concatenate([self._keys, content_keys(X, self.salt)])
        self.n_rows += len(keys) - len(self._keys)
        most = MOST_KEYS + 1  # one more, which is the limit
        self._keys = np.partition(keys, most)[:most] if len(keys) > most else keys

    def smallest(self) -> tuple[Keys, int | None]:
        """Return the hashes below a limit, each as often as it occurs, and the limit."""
        if len(self._keys) <= MOST_KEYS:
            return self._keys, None
        limit = self._keys.max()
        return self._keys[self._keys < limit], int(limit)


def share_trained_on(model: Any, X: Any) -> float:
    """Return which share of the rows of a table the model was trained on.

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
        Covariates, the columns those of ``fit`` in their order.

    Returns
    -------
    float
        From 0 to 1; near 0 for fresh rows, also where rows have twins. NaN where it cannot be told:
        nearly all rows have a twin, or the model was trained on several machines.
    """
    known: RowFingerprint | None = getattr(model, "training_rows_", None)
    return math.nan if known is None else known.share_of(X)


def file_entry(content: bytes) -> dict[str, Any]:
    """Return what a card says about a file."""
    return {"bytes": len(content), "sha256": sha256(content).hexdigest()}


def read_fingerprint(folder: Path, files: Mapping[str, Any]) -> RowFingerprint | None:
    """Return the fingerprint of a model folder, or None where there is none.

    Scores do not need it, and whoever hands a folder on may delete it. One that changed is refused.
    """
    path = folder / TRAINING_ROWS
    if TRAINING_ROWS not in files or not path.is_file():
        return None
    content = path.read_bytes()
    if file_entry(content) != dict(files[TRAINING_ROWS]):
        raise ValueError(
            f"{path} has changed since it was saved: its checksum differs. Save the model again, "
            "or delete the file to do without it"
        )
    return RowFingerprint.from_bytes(content)


def _digests(keys: Keys, salt: int) -> Digests:
    """Return a keyed hash of each of these hashes, which alone could be computed backwards."""
    key = salt.to_bytes(8, "little")
    hashed = b"".join(
        blake2b(each, digest_size=4, key=key).digest()
        for each in keys.astype("<u8").view("S8").tolist()
    )
    return np.frombuffer(hashed, dtype="<u4").astype(np.uint32)
