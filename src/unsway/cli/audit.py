"""``unsway audit``: evaluate any model by its scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import click

from .._typing import Floats
from ..auditing.audit_result import Audit
from ..auditing.audits import audit
from ..auditing.level_audit import LevelAudit
from ..auditing.number_audits import NumberAudit
from ..auditing.training_rows import TrainingRows, check_training_rows
from ..files import write_atomically
from ..models.folder import TrainingRoles, load_model
from ..models.saved_model import SavedModel
from ..report import write_audit_report
from ..rows import Rows
from .audit_numbers import judge_predictions
from .coded_columns import check_column
from .console import note, one_line, say, steps
from .flags import take_roles, used_rows
from .options import RoleFlags
from .outputs import REPORT_PACKAGES, check_html, check_installed, places
from .predict import model_columns, predict_table, text_columns
from .table_files import SUFFIXES, plain_column, read_table, refuse_row_names

#: The prefix of a column of the table that holds scores.
COLUMN = "column:"


@dataclass(frozen=True)
class Source:
    """Where scores come from: a model folder, a column of the table, or a file of their own."""

    flag: str
    text: str
    column: str | None = None
    model: SavedModel | None = None
    file: Path | None = None

    @classmethod
    def of(cls, text: str, flag: str) -> Source:
        """Read what a user wrote; a model is loaded at once."""
        if text.startswith(COLUMN):
            return cls(flag, text, column=text.removeprefix(COLUMN))
        path = Path(text)
        if path.suffix.lower() in SUFFIXES and not path.is_dir():
            return cls(flag, text, file=path)
        if not path.exists():
            raise ValueError(
                f"{flag} {text!r}: there is no such folder; give a model folder, {COLUMN}NAME for "
                "a column of FILE, or a .csv or .parquet file of scores"
            )
        return cls(flag, text, model=load_model(path))

    def training_rows(self, table: Any, *, allowed: bool) -> TrainingRows | None:
        """Return how many rows of the table a model folder was trained on, or refuse them."""
        if self.model is None:
            return None
        return check_training_rows(self.model, model_columns(self.model, table), allowed=allowed)

    def scores(self, table: Any) -> Floats:
        """Return one number per row of the table."""
        if self.model is not None:
            scores, notes = predict_table(self.model, table)
            for each in notes:
                note(each)
            return scores
        if self.file is not None:
            table = read_table(self.file)
            names = table.columns
            name = "score" if "score" in names else names[0]
            if len(names) > 1 and "score" not in names:
                raise ValueError(
                    f"{self.flag}: {self.file} has {len(names)} columns, none named 'score'; keep "
                    "one, or rename the scores"
                )
        else:
            name = check_column(self.column or "", table.columns, self.flag)
        scores, missing = plain_column(table, name)
        if scores.dtype.kind != "f":
            raise ValueError(f"{self.flag}: column {name!r} holds words; scores are numbers")
        if missing:
            raise ValueError(f"{self.flag}: {missing:,} of {len(scores):,} scores are missing")
        return scores


def audit_command(
    file: Path, flags: RoleFlags, scores: str, baseline: str | None, n_bootstrap: int,
    no_effects: bool, allow_training_rows: bool, output: Path | None, json_file: Path | None,
    csv_file: Path | None, quiet: bool, title: str | None, owner: str | None, **settings: Any,
) -> None:  # fmt: skip
    """Judge a model by its scores of the rows of a CSV or Parquet FILE.

    Any model: a folder that unsway wrote, or scores that somebody else's made. Best on rows that it
    was not trained on.
    """
    if n_bootstrap == 1:
        raise click.UsageError("--bootstrap: one resample has no spread; give 0, or 2 and more")
    outputs = [each for each in (output, json_file, csv_file) if each is not None]
    if output is not None:
        check_html(output)
        check_installed(REPORT_PACKAGES, "report")
    with (
        places(outputs, file),
        steps(2 + n_bootstrap, f"Reading {file.name}", quiet=quiet) as progress,
    ):
        sources = [Source.of(scores, "--scores")]
        sources += [Source.of(baseline, "--baseline")] if baseline is not None else []
        rows, roles, columns, trained = read_rows(
            file, flags, sources, allow_training_rows=allow_training_rows
        )
        progress.next("Auditing")
        found: Audit | LevelAudit | NumberAudit = (
            judge if rows.outcome.is_label else judge_predictions
        )(
            rows, roles, columns, effects=not no_effects, n_bootstrap=n_bootstrap,
            progress=lambda *_: progress.next("Measuring resampled rows"), **settings,
        )  # fmt: skip
        about = describe(file, flags, sources[0], roles, rows)
        found = replace(found, training_rows=trained, about=about)
        progress.advance()
        write(found, output, json_file, csv_file, title=title, owner=owner)
    if not quiet:
        say(found.to_text())
        for place in outputs:
            say(f"Written: {place}")


def read_rows(
    file: Path, flags: RoleFlags, sources: list[Source], *, allow_training_rows: bool = False
) -> tuple[Rows, TrainingRoles, list[Floats], TrainingRows | None]:
    """Return rows and roles of the table and the scores of each source, which are no covariates.

    Last comes how many of the rows the audited model was trained on, which the first source holds.
    """
    own = [each.column for each in sources if each.column is not None]
    named = {flags.target: "--target", flags.weights: "--weights"}
    for name in own:
        if name in named:
            raise ValueError(f"{COLUMN}{name} is the column of {named[name]} too; give another")
    models = [each.model for each in sources if each.model is not None]
    as_text = [name for model in models for name in text_columns(model)]
    table = read_table(file, as_text=as_text, reading=flags.reading)
    columns = [each.scores(table) for each in sources]
    trained = sources[0].training_rows(table, allowed=allow_training_rows)
    for source, column in zip(sources, columns, strict=True):
        if len(column) != len(table):
            raise ValueError(
                f"{source.flag}: {len(column):,} scores for {len(table):,} rows of {file}; "
                "they must be those of the same rows in the same order"
            )
    flags = replace(flags, drop=(*flags.drop, *own))
    table, kept = used_rows(table, flags)
    columns = [column[kept] for column in columns]
    rows, roles = take_roles(table, flags)
    rows = rows.adjusted()
    refuse_row_names(rows.X)
    return rows, roles, columns, trained


def judge(
    rows: Rows, names: TrainingRoles, columns: list[Floats], *, effects: bool = True,
    threshold: Sequence[float], selection_rate: Sequence[float] = (),
    favourable: str | None = None, **settings: Any,
) -> Audit | LevelAudit:  # fmt: skip
    """Return the audit of the first column of scores, compared with the second if there is one."""
    if selection_rate and not rows.groups.two:
        raise ValueError("--selection-rate needs two sensitive levels; choose them with --only A,B")
    positive = str(names.positive)
    classes = (f"not {positive}", positive)
    good = None if favourable is None else favourable_class(favourable, names, rows)
    found = audit(
        rows.y.astype(int),
        columns[0],
        sensitive_features=rows.groups,
        X=rows.X if effects else None,
        baseline=columns[1] if len(columns) > 1 else None,
        sample_weight=rows.weights,
        cluster=rows.clusters,
        threshold=list(threshold),
        selection_rate=list(selection_rate),
        favourable=good,
        **settings,
    )
    assert not isinstance(found, NumberAudit)  # noqa: S101  # no loss was given
    said = {} if good is None else {"favourable": classes[good]}
    return replace(found, classes=classes, settings={**found.settings, **said})


def favourable_class(text: str, names: TrainingRoles, rows: Rows) -> int:
    """Return the class, 0 or 1, of the value of the target that is good for a person."""
    known = [str(name) for name in rows.outcome.names]
    for code, name in enumerate(known):
        if text in (name, f"{name}.0"):
            return code
    raise ValueError(
        f"--favourable: the target {names.target!r} has {' and '.join(map(repr, known))}; "
        f"got {text!r}"
    )


def describe(
    file: Path, flags: RoleFlags, source: Source, roles: TrainingRoles, rows: Rows
) -> dict[str, str]:
    """Return what was audited, in words."""
    dropped = list(roles.dropped)
    target = str(roles.target) if roles.positive is None else f"{roles.target} = {roles.positive}"
    found = {
        "file": one_line(file.name),
        "target": one_line(target),
        "audited on": f"{datetime.now(UTC):%Y-%m-%d}",
        "scores": one_line(source.text if source.column is not None else Path(source.text).name),
    }
    if source.model is not None:
        features = [feature.name for feature in source.model.features or ()]
        found |= model_facts(Path(source.text))
        del found["scores"]
    else:
        features = list(rows.X.columns)
    found["columns used" if source.model is None else "features used"] = _names(features)
    found["columns dropped"] = _names(dropped)
    if roles.adjusted_for:
        found["columns adjusted for"] = _names(list(roles.adjusted_for))
    return found


def model_facts(folder: Path) -> dict[str, str]:
    """Return the identity of a model folder: its card's checksum, and when it was written."""
    card = folder / "card.json"
    identity = sha256(card.read_bytes()).hexdigest()[:12]
    written = datetime.fromtimestamp(card.stat().st_mtime, UTC)
    return {
        "model": one_line(folder.name),
        "model id": identity,
        "model written": f"{written:%Y-%m-%d}",
    }


def _names(names: Sequence[str], most: int = 12) -> str:
    """Return how many names there are, and the first of them."""
    if not names:
        return "none"
    more = f", … ({len(names) - most} more)" if len(names) > most else ""
    return f"{len(names)}: {', '.join(map(one_line, names[:most]))}{more}"


def write(
    found: Audit | LevelAudit | NumberAudit,
    output: Path | None,
    json_file: Path | None,
    csv_file: Path | None,
    **page: Any,
) -> None:
    """Write the outputs that were asked for, each atomically."""
    if json_file is not None:
        write_atomically(json_file, found.to_json())
    if csv_file is not None:
        table = found.table if isinstance(found, LevelAudit) else found.metrics.table
        write_atomically(csv_file, table.to_csv())
    if output is not None:
        write_audit_report(found, output, **page)
