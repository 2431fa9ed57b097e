"""A folder that keeps every finished strength, so that a stopped sweep can be continued.

::

    sweep.json          what the sweep is made of; a sweep of anything else is refused
    models/0.025/       one strength: the model as open files, and row.json with its figures
    about.json          notes, and facts about the parts of the rows

An entry is written under a temporary name and renamed into place: it is there whole or not at all,
also after ``kill -9``. The first of two processes to finish a strength wins; the other's entry is
dropped. Nothing here is a pickle.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..files import check_writable, write_atomically
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

FORMAT, SCHEMA_VERSION = "unsway-frontier", 1
SWEEP, ABOUT, MODELS, ROW = "sweep.json", "about.json", "models", "row.json"
#: What else the folder may hold: the outputs of ``unsway frontier``.
BESIDE = ("frontier.csv", "frontier.svg", "report.html", "chosen")
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
_WRITING = ".writing-"
_DAY = 86_400.0


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
    """

    path: Path
    features: Sequence[Feature] | None = None
    roles: TrainingRoles | None = None

    @classmethod
    def of(cls, store: Any) -> Store:
        """Return a store from a path or a store."""
        if isinstance(store, Store):
            return store
        if not isinstance(store, (str, os.PathLike)):
            raise TypeError(f"store must be the path of a folder; got {store!r}")
        return cls(Path(store))

    def open(self, fingerprint: Mapping[str, Any]) -> None:
        """Make the store, or raise unless it is a store of this sweep."""
        with self._clear_errors():
            self._check_folder()
            if not (self.path / SWEEP).exists():
                content = {
                    "format": FORMAT,
                    "schema_version": SCHEMA_VERSION,
                    "fingerprint": fingerprint,
                }
                write_atomically(self.path / SWEEP, _json(content))
            (self.path / MODELS).mkdir(exist_ok=True)
            check_writable(self.path / MODELS / f"{_WRITING}probe")
            self._sweep_up()
        found = differences(self.fingerprint(), json.loads(_json(fingerprint)))
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

    def _sweep_up(self) -> None:
        """Remove what processes that were killed a day ago or earlier left half-written."""
        for folder in (self.path / MODELS).glob(f"{_WRITING}*"):
            with suppress(OSError):
                if time.time() - folder.stat().st_mtime > _DAY:
                    shutil.rmtree(folder, ignore_errors=True)

    def fingerprint(self) -> dict[str, Any]:
        """Return the fingerprint of the sweep."""
        path = self.path / SWEEP
        if not path.is_file():
            raise FileNotFoundError(f"{self.path} is no store of a sweep: it has no {SWEEP}")
        try:
            content = json.loads(path.read_text("utf-8"))
            known = content["format"] == FORMAT
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{path} is damaged; give another folder") from None
        if not known or content.get("schema_version") != SCHEMA_VERSION:
            raise ValueError(
                f"{path} has format {content['format']!r} and schema version "
                f"{content.get('schema_version')!r}; {FORMAT!r} and {SCHEMA_VERSION} are read"
            )
        return dict(content["fingerprint"])

    # --- entries ---------------------------------------------------------------------------------

    def points(self) -> dict[float, Point]:
        """Return every whole entry, by strength; a damaged one is left out with a warning."""
        found = {}
        for entry in sorted((self.path / MODELS).glob("[!.]*")):
            try:
                point = _read_entry(entry)
            except (OSError, ValueError, KeyError, TypeError) as error:
                warnings.warn(
                    f"{entry} is damaged and will be computed again: {error}",
                    UserWarning,
                    stacklevel=3,
                )
                continue
            found[point.strength] = point
        return dict(sorted(found.items()))

    def write(self, point: Point, model: Any) -> Point:
        """Store a strength; return the stored point, another process's if that was first."""
        with self._clear_errors():
            target = self._entry(point.strength)
            writing = Path(tempfile.mkdtemp(dir=target.parent, prefix=_WRITING))
            try:
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
                return _put(entry, target, point)
            finally:
                shutil.rmtree(writing, ignore_errors=True)

    def model(self, strength: float) -> SavedModel:
        """Return the model at a strength."""
        return load_model(self._entry(strength))

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
            write_atomically(self.path / ABOUT, _json(about))

    def about(self) -> dict[str, Any] | None:
        """Return notes and facts, or None where there are none yet."""
        try:
            about = dict(json.loads((self.path / ABOUT).read_text("utf-8")))
            for part in about["parts"].values():
                if "effects" in part:
                    given = part["effects"].items()
                    part["effects"] = {
                        RENAMED_EFFECTS.get(name, name): each for name, each in given
                    }
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
        return about

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


def _put(entry: Path, target: Path, point: Point) -> Point:
    """Rename an entry into place, unless a good one is there already."""
    for attempt in range(10):
        try:
            os.rename(entry, target)  # onto an entry that is not empty, this fails
            return point
        except OSError:
            if attempt == 9 or not target.exists():
                raise
        with suppress(OSError, ValueError, KeyError, TypeError):
            kept = _read_entry(target)
            if not kept.error:
                return kept
        with suppress(FileNotFoundError):  # a damaged or failed one goes; another may be quicker
            os.rename(target, entry.with_name(f"old-{attempt}"))
    raise AssertionError("the last attempt raises")


def _read_entry(entry: Path) -> Point:
    """Return the point of an entry, or raise with what is wrong with it."""
    content = json.loads((entry / ROW).read_text("utf-8"))
    if sha256(_json(content["row"]).encode()).hexdigest() != content["sha256"]:
        raise ValueError(f"the checksum of {ROW} differs")
    point = Point.from_dict(content["row"])
    if repr(point.strength) != entry.name:
        raise ValueError(f"it holds strength {point.strength!r}")
    if not point.error:
        card = json.loads((entry / CARD).read_text("utf-8"))
        for name, expected in card["files"].items():
            if sha256((entry / name).read_bytes()).hexdigest() != expected["sha256"]:
                raise ValueError(f"the checksum of {name} differs")
    return point


def _json(content: Any) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
