"""A folder that keeps every finished strength, so that a stopped sweep can be continued.

::

    sweep.json          what the sweep is made of; a sweep of anything else is refused
    models/0.025/       one strength: the model as open files, and row.json with its figures
    about.json          notes, and facts about the parts of the rows

An entry is written under a temporary name and renamed into place: it is there whole or not at all,
also after ``kill -9``. The first of two processes to finish a strength wins; the other's entry is
dropped. Every file that is read has a checksum. Nothing here is a pickle.

No digest of the sensitive attribute is kept, salted or not: whoever holds the store could test
guesses against it. A sweep of another attribute is known by the figures of its models instead
(`Sweep`).
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from dataclasses import replace as dataclass_replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..files import (
    check_folder_writable,
    parse_json,
    put_folder,
    read_folder,
    remove_strays,
    temporary_name,
    write_atomically,
)
from ..models.card_check import CHECKSUM, check_checksum, with_checksum
from ..models.features import Feature
from ..models.folder import (
    CARD,
    TrainingRoles,
    load_model,
    save_model,
)
from ..models.saved_model import SavedModel
from .inputs import differences
from .measures import Point

SCHEMA_VERSION = 1
SWEEP, ABOUT, MODELS, ROW = "sweep.json", "about.json", "models", "row.json"
#: What else the folder may hold: the outputs of ``unsway frontier`` and ``unsway alternatives``.
BESIDE = (
    "frontier.csv",
    "frontier.svg",
    "alternatives.csv",
    "alternatives.json",
    "report.html",
    "chosen",
)
#: What version 0.1 called the effects in about.json → what they are called now.
RENAMED_EFFECTS = {
    "ATE": "total",
    "D0": "direct_reference",
    "D1": "direct_group",
    "d0": "indirect_reference",
    "d1": "indirect_group",
    "symNIE": "explained",
    "E_CDE": "direct_everyone",
    "overlap_weighted": "direct_overlap",
}
#: The column of the data whose digest version 0.1 kept, and none is read or written since.
_PRIVATE = "sensitive_features"


@dataclass(frozen=True)
class Store:
    """A folder for the finished strengths of one sweep.

    Parameters
    ----------
    path : path
        The folder; it must be new, empty, or the store of the same sweep.
    features : sequence of Feature, default=None
        The columns of the table a logistic regression was made one-hot from, for its folder.
    roles : TrainingRoles, default=None
        What the columns of the training table were for, for the model folders.
    holds : type, default=Point
        What its entries are: the strengths of a sweep, or the candidates of a search.
    """

    path: Path
    features: Sequence[Feature] | None = None
    roles: TrainingRoles | None = None
    holds: Any = Point

    @classmethod
    def of(cls, store: Any) -> Store:
        """Return a store from a path or a store."""
        if isinstance(store, Store):
            return store
        if not isinstance(store, (str, os.PathLike)):
            raise TypeError(f"store must be the path of a folder; got {store!r}")
        return cls(Path(store))

    def holding(self, kind: type) -> Store:
        """Return the store of entries of another kind in the same folder."""
        return dataclass_replace(self, holds=kind)

    def open(self, fingerprint: Mapping[str, Any]) -> None:
        """Make the store, or raise unless it is a store of this sweep."""
        with self._clear_errors():
            self._check_folder()
            if not (self.path / SWEEP).exists():
                self._write_sweep(fingerprint)
                self.check_writable()
            remove_strays(self.path)
            remove_strays(self.path / MODELS)
            if self._has_digest():
                about = self.about()
                self._write_sweep(self.fingerprint())
                if about is not None:
                    self.write_about(about)
        found = differences(self.fingerprint(), _without_digest(json.loads(_json(fingerprint))))
        if found:
            more = f", and {len(found) - 5} more" if len(found) > 5 else ""
            raise ValueError(
                f"{self.path} holds a sweep of other data or settings: {'; '.join(found[:5])}"
                f"{more}. Give another folder, or the data and settings it was made with"
            )

    def _check_folder(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise NotADirectoryError(f"{self.path} is a file; give the name of a folder")
        names = {each.name for each in self.path.iterdir()} if self.path.is_dir() else set()
        foreign = sorted(
            name for name in names - {SWEEP, ABOUT, MODELS, *BESIDE} if not name.startswith(".")
        )
        if foreign and SWEEP not in names:
            raise FileExistsError(
                f"{self.path} is no store of a sweep: it holds {foreign[0]!r}; give another name"
            )
        self.path.mkdir(parents=True, exist_ok=True)

    def check_writable(self) -> None:
        """Raise before any work if a strength cannot be written."""
        with self._clear_errors():
            (self.path / MODELS).mkdir(exist_ok=True)
            check_folder_writable(self.path / MODELS / "strength")

    def _write_sweep(self, fingerprint: Mapping[str, Any]) -> None:
        content = {
            "format": self.holds.store_format,
            "schema_version": SCHEMA_VERSION,
            "fingerprint": _without_digest(fingerprint),
        }
        write_atomically(self.path / SWEEP, _json(with_checksum(content)))

    def _has_digest(self) -> bool:
        """Return whether it is a store of version 0.1 that still has the digest, and can change."""
        return f'"{_PRIVATE}"' in (self.path / SWEEP).read_text("utf-8") and os.access(
            self.path, os.W_OK
        )

    def fingerprint(self) -> dict[str, Any]:
        """Return the fingerprint of the sweep."""
        path = self.path / SWEEP
        if not path.is_file():
            raise FileNotFoundError(f"{self.path} is no store of a sweep: it has no {SWEEP}")
        try:
            content = parse_json(path.read_text("utf-8"))
            known = content["format"] == self.holds.store_format
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{path} is damaged; give another folder") from None
        if not known or content.get("schema_version") != SCHEMA_VERSION:
            raise ValueError(
                f"{path} has format {content['format']!r} and schema version "
                f"{content.get('schema_version')!r}; {self.holds.store_format!r} and "
                f"{SCHEMA_VERSION} are read"
            )
        check_checksum(content, path, "give another folder")
        return _without_digest(content["fingerprint"])

    # --- entries ---------------------------------------------------------------------------------

    def points(self) -> dict[float, Any]:
        """Return every whole entry, by strength; a damaged one is left out with a warning."""
        found = {}
        for entry in sorted((self.path / MODELS).glob("[!.]*")):
            try:
                point = read_folder(entry, self._read)
            except (OSError, ValueError, KeyError, TypeError) as error:
                warnings.warn(
                    f"{entry} is damaged and will be computed again: {error}",
                    UserWarning,
                    stacklevel=3,
                )
                continue
            found[point.key] = point
        return dict(sorted(found.items()))

    def _read(self, entry: Path) -> Any:
        return _read_entry(entry, self.holds)

    def write(self, point: Any, model: Any) -> Any:
        """Store a strength; return the stored point, another process's if that was first."""
        with self._clear_errors():
            target = self._entry(point.key)
            with temporary_name(target, folder=True) as writing:
                entry = writing / "entry"
                if model is None:
                    entry.mkdir()
                else:
                    training = {"metrics": point.to_dict()["parts"]}
                    save_model(
                        model, entry, features=self.features, roles=self.roles, training=training
                    )
                row = _json(point.to_dict())
                content = {"row": json.loads(row), "sha256": sha256(row.encode()).hexdigest()}
                write_atomically(entry / ROW, _json(content))
                return _put(entry, target, point, self._read)

    def copy(self, entry: Path) -> None:
        """Store the finished strength of another store."""
        with (
            self._clear_errors(),
            temporary_name(target := self.path / MODELS / entry.name, folder=True) as writing,
        ):
            shutil.copytree(entry, writing / "entry")
            put_folder(writing / "entry", target)

    def model(self, strength: float) -> SavedModel:
        """Return the model at a strength."""
        return load_model(self._entry(strength))

    def card(self, strength: float) -> dict[str, Any]:
        """Return the card of the model at a strength."""
        return dict(read_folder(self._entry(strength), _read_card))

    def model_folder(self, strength: float) -> dict[str, bytes]:
        """Return the files of the model at a strength, by name."""
        folder = self._entry(strength)
        load_model(folder)  # raises if it is damaged
        return {each.name: each.read_bytes() for each in folder.iterdir() if each.name != ROW}

    def _entry(self, strength: float) -> Path:
        return self.path / MODELS / repr(float(strength))

    # --- notes and facts -------------------------------------------------------------------------

    def write_about(self, about: Mapping[str, Any]) -> None:
        """Keep notes and facts."""
        with self._clear_errors():
            write_atomically(self.path / ABOUT, _json(with_checksum(about)))

    def about(self) -> dict[str, Any] | None:
        """Return notes and facts, None where there are none; damaged ones with a warning."""
        try:
            return self.read_about()
        except (OSError, ValueError) as error:
            warnings.warn(
                f"{self.path / ABOUT} is damaged and is left out ({error}): notes and facts about "
                "the rows are missing; run the same sweep again to have them",
                UserWarning,
                stacklevel=3,
            )
            return None

    def read_about(self) -> dict[str, Any] | None:
        """Return notes and facts, None where there are none; raise if they are damaged."""
        path = self.path / ABOUT
        try:
            about = parse_json(path.read_text("utf-8"))
            if CHECKSUM not in about and CHECKSUM in parse_json((self.path / SWEEP).read_bytes()):
                raise ValueError("it has no checksum")
            check_checksum(about, path, "run the sweep again")
            for part in about["parts"].values():
                if "effects" in part:
                    given = part["effects"].items()
                    part["effects"] = {
                        RENAMED_EFFECTS.get(name, name): each for name, each in given
                    }
            return {"notes": list(about["notes"]), "parts": dict(about["parts"])}
        except FileNotFoundError:
            return None
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"it has no notes or parts: {error!r}") from error

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except (FileExistsError, NotADirectoryError):
            raise
        except OSError as error:
            reason = error.strerror or str(error)
            raise type(error)(
                error.errno,
                f"the store {self.path} cannot be written: {reason}; strengths that are finished "
                "are kept, and the same call goes on from them",
            ) from error


def _put(entry: Path, target: Path, point: Any, read: Callable[[Path], Any]) -> Any:
    """Put an entry in place, unless a good one is there already; return the point that is kept."""
    try:
        put_folder(entry, target, replace=False)
    except FileExistsError:
        with suppress(OSError, ValueError, KeyError, TypeError):
            kept = read_folder(target, read)
            if not kept.error:
                return kept
        put_folder(entry, target)
    return point


def _read_entry(entry: Path, kind: Any) -> Any:
    """Return the point of an entry, or raise with what is wrong with it."""
    content = parse_json((entry / ROW).read_text("utf-8"))
    if sha256(_json(content["row"]).encode()).hexdigest() != content["sha256"]:
        raise ValueError(f"the checksum of {ROW} differs")
    point = kind.from_dict(content["row"])
    if repr(point.key) != entry.name:
        raise ValueError(f"it holds {point.key!r}")
    if not point.error:
        card = _read_card(entry)
        for name, expected in card["files"].items():
            if sha256((entry / name).read_bytes()).hexdigest() != expected["sha256"]:
                raise ValueError(f"the checksum of {name} differs")
    return point


def _json(content: Any) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _read_card(entry: Path) -> dict[str, Any]:
    card = dict(parse_json((entry / CARD).read_text("utf-8")))
    check_checksum(card, entry / CARD)
    return card


def _without_digest(fingerprint: Mapping[str, Any]) -> dict[str, Any]:
    """Return a fingerprint without the digests of the sensitive attribute."""
    data = {
        name: {key: value for key, value in part.items() if key != _PRIVATE}
        if isinstance(part, Mapping)
        else part
        for name, part in dict(fingerprint.get("data") or {}).items()
    }
    return {**fingerprint, "data": data} if "data" in fingerprint else dict(fingerprint)
