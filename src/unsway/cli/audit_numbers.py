"""``unsway audit --loss``: evaluate predictions of counts and amounts."""

from __future__ import annotations

from typing import Any

import click

from .._typing import Floats
from ..auditing.number_audits import NumberAudit, judge_numbers, number_settings
from ..models.folder import TrainingRoles
from ..rows import Rows


def judge_predictions(
    rows: Rows,
    names: TrainingRoles,
    columns: list[Floats],
    *,
    effects: bool,
    progress: Any = None,
    **given: Any,
) -> NumberAudit:
    """Return the audit of the first column of predictions, beside the second if there is one."""
    for name, usual in (("threshold", (0.5,)), ("selection_rate", ()), ("favourable", None)):
        if given.pop(name, usual) not in (usual, None):
            raise click.UsageError(
                f"--{name.replace('_', '-')} is for scores of a label; predictions of numbers have "
                "no decisions"
            )
    predictions = dict(zip(("y_pred", "baseline"), columns, strict=False))
    repeats = {"repeats": given.pop("repeats", 1)}
    settings = number_settings(effects=repeats, calibration_bins=10, **given)
    return judge_numbers(
        rows,
        predictions,
        settings,
        target=str(names.target),
        effects=effects,
        progress=progress,
    )
