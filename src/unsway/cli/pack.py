"""``unsway pack`` and ``unsway verify``: an audit as a folder whose numbers can be computed again.

::

    pack.json       how it was made, and the SHA-256 of each file and of the table
    scores.csv      the scores, in the order of the table's rows
    audit.json, impact.json, report.html
    card.json, card.md   of the model, if the scores are those of a model folder

The table with labels and sensitive attribute is no part of the folder.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from .. import __version__
from .._typing import Floats
from ..auditing import Audit, adverse_impact
from ..auditing.training_rows import TrainingRows
from ..files import write_folder_atomically
from ..frames import csv_text
from ..models.card import MARKDOWN
from ..models.card_check import check_checksum, with_checksum
from ..models.folder import CARD
from ..report.audit_report import audit_page
from ..report.facts import AuditFacts
from ..rows import Rows
from .audit import Source, judge, read_rows
from .console import one_line, say, steps
from .options import Reading, RoleFlags
from .outputs import REPORT_PACKAGES, check_installed

FORMAT, SCHEMA_VERSION = "unsway-pack", 2
PACK, SCORES, AUDIT, IMPACT, REPORT = (
    "pack.json", "scores.csv", "audit.json", "impact.json", "report.html"
)  # fmt: skip
#: Numbers that are computed again may differ by this share.
TOLERANCE = 1e-9


def pack(
    file: Path, flags: RoleFlags, scores: str, output: Path, quiet: bool,
    allow_training_rows: bool, **settings: Any,
) -> None:  # fmt: skip
    """Write audit, adverse impact, report, card and scores of a model as one folder."""
    check_installed(REPORT_PACKAGES, "report")
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise FileExistsError(f"{output} is not an empty folder; give another name")
    with steps(3, f"Reading {file.name}", quiet=quiet) as progress:
        source = Source.of(scores, "--scores")
        rows, roles, columns, trained = read_rows(
            file, flags, [source], allow_training_rows=allow_training_rows
        )
        progress.next("Auditing")
        dropped = flags.drop if source.column is None else (*flags.drop, source.column)
        flags = replace(flags, drop=dropped)
        found, impact = _computed(rows, roles, columns[0], settings)
        found = replace(found, training_rows=trained)
        progress.next("Writing the pack")
        files = {
            SCORES: csv_text({"score": columns[0].tolist()}).encode(),
            AUDIT: found.to_json().encode(),
            IMPACT: impact.encode(),
            REPORT: _page(found.to_dict()).encode(),
        }
        if source.model is not None:
            files |= {name: (Path(scores) / name).read_bytes() for name in (CARD, MARKDOWN)}
        about = {"roles": asdict(flags), "settings": settings}
        files[PACK] = _describe(files, file, output, len(rows), about)
        write_folder_atomically(output, files, replace=True)
        progress.advance()
    if not quiet:
        say(found.verdict)
        say(f"Pack: {output}")


def _describe(
    files: Mapping[str, bytes], table: Path, output: Path, n_rows: int, about: Mapping[str, Any]
) -> bytes:
    """Return the content of ``pack.json``."""
    content = {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "unsway": __version__,
        "table": {
            "path": os.path.relpath(table.resolve(), output.resolve()),
            "sha256": _hash(table.read_bytes()),
            "rows": n_rows,
        },
        **about,
        "files": {name: _hash(data) for name, data in files.items()},
    }
    text = json.dumps(with_checksum(content), indent=1, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def _computed(
    rows: Rows, roles: Any, scores: Floats, settings: Mapping[str, Any]
) -> tuple[Audit, str]:
    """Return the audit, and the JSON of the adverse impact."""
    given = dict(settings)
    rates, approve = list(given.pop("approval_rate")), given.pop("approve")
    rows.groups.require_two("a pack")
    effects = not given.pop("no_effects")
    found = cast("Audit", judge(rows, roles, [scores], effects=effects, **given))
    impact = adverse_impact(
        rows.y.astype(int), scores, sensitive_features=rows.groups.as_given(),
        groups=rows.groups.grouping, threshold=list(settings["threshold"]), approval_rate=rates,
        approve=approve, sample_weight=rows.weights, confidence=settings["confidence"],
    )  # fmt: skip
    return found, impact.to_json()


def _page(audit: Mapping[str, Any]) -> str:
    """Return the report of an audit from its JSON."""
    return audit_page(AuditFacts.of(audit)).render()


def _hash(data: bytes) -> str:
    return sha256(data).hexdigest()


def _flags(given: Mapping[str, Any]) -> RoleFlags:
    """Return the roles of the columns as JSON has them."""
    known: dict[str, Any] = {
        name: tuple(each) if isinstance(each, list) else each for name, each in given.items()
    }
    known["reading"] = Reading(**given["reading"])
    return RoleFlags(**known)


# --- verify --------------------------------------------------------------------------------------


def verify(folder: Path, table: Path | None) -> int:
    """Print a line for each check of a pack; return 0 if all hold, else 1."""
    content = _read_pack(folder)
    failed = 0
    for name, wrong in _checks(folder, content, table):
        failed += wrong is not None
        state, why = ("ok  ", "") if wrong is None else ("FAIL", f": {wrong}")
        say(one_line(f"{state}  {name}{why}"))
    return 1 if failed else 0


def _read_pack(folder: Path) -> dict[str, Any]:
    path = folder / PACK
    if not path.is_file():
        raise FileNotFoundError(f"{folder} is no pack: it has no {PACK}")
    try:
        content = json.loads(path.read_text("utf-8"))
        known = content["format"] == FORMAT and content["schema_version"] == SCHEMA_VERSION
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path} is damaged; write the pack again") from None
    if not known:
        raise ValueError(f"{path} is no {FORMAT} of version {SCHEMA_VERSION}")
    check_checksum(content, path, "write the pack again")
    return dict(content)


def _checks(
    folder: Path, content: Mapping[str, Any], table: Path | None
) -> Iterator[tuple[str, str | None]]:
    """Yield what was checked, and what is wrong with it."""
    for name, expected in content["files"].items():
        path = folder / name
        if not path.is_file():
            yield f"hash of {name}", "the file is missing"
        else:
            found = _hash(path.read_bytes())
            yield f"hash of {name}", None if found == expected else "it has changed"
    extra = sorted(each.name for each in folder.iterdir() if each.name not in
                   {PACK, *content["files"]} and not each.name.startswith("."))  # fmt: skip
    yield "files of the pack", f"{extra[0]} is not one of them" if extra else None
    file = (folder / content["table"]["path"]).resolve() if table is None else table
    if not file.is_file():
        yield "table", f"{file.name} is not there; give it with --table"
        return
    same = _hash(file.read_bytes()) == content["table"]["sha256"]
    yield "hash of the table", None if same else "it is another table"
    yield from _recomputed(folder, content, file)


def _recomputed(
    folder: Path, content: Mapping[str, Any], file: Path
) -> Iterator[tuple[str, str | None]]:
    """Yield whether the numbers come out again."""
    given = content["roles"]
    try:
        flags = _flags(given)
        source = Source.of(str(folder / SCORES), "--scores")
        rows, roles, columns, _ = read_rows(file, flags, [source])
        found, impact = _computed(rows, roles, columns[0], content["settings"])
        stored = {name: json.loads((folder / name).read_text("utf-8")) for name in (AUDIT, IMPACT)}
        page = (folder / REPORT).read_text("utf-8")
    except (OSError, ValueError, TypeError) as error:
        yield "numbers", f"they cannot be computed again: {error}"
        return
    known = stored[AUDIT].get("training_rows")
    if known is not None:  # the one number that needs the model
        found = replace(found, training_rows=TrainingRows(**known))
    again = {AUDIT: json.loads(found.to_json()), IMPACT: json.loads(impact)}
    for name in (AUDIT, IMPACT):
        wrong = list(differences(stored[name], again[name]))
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        total = sum(1 for _ in _leaves(again[name]))
        yield f"{total:,} values of {name}", f"{wrong[0]}{more}" if wrong else None
    same = _page(stored[AUDIT]) == page
    yield f"{REPORT} shows the numbers of {AUDIT}", None if same else "it is another page"


def differences(before: Any, now: Any, place: str = "") -> Iterator[str]:
    """Yield where two JSON values differ by more than rounding.

    Examples
    --------
    >>> list(differences({"a": [1.0, 2.0]}, {"a": [1.0, 2.5]}))
    ['a[1] was 2.0 and is 2.5']
    """
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys([*before, *now]):
            yield from differences(before.get(key), now.get(key), f"{place}.{key}".strip("."))
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for k, pair in enumerate(zip(before, now, strict=True)):
            yield from differences(*pair, f"{place}[{k}]")
    elif _is_number(before) and _is_number(now):
        if not math.isclose(before, now, rel_tol=TOLERANCE, abs_tol=1e-12):
            yield f"{place} was {before} and is {now}"
    elif before != now:
        yield f"{place} was {before!r} and is {now!r}"


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _leaves(each)
    else:
        yield value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
