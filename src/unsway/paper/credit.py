"""The paper's third experiment, on public stand-ins: its credit data are private."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import DirectEffect
from ..datasets import TabularData, load_give_me_some_credit, load_pakdd
from ..folds import hold_out
from .claims import Claim
from .tabular import TabularExperiment, run_tabular

#: The paper's degrees and the share of good credit above which it accepts.
SETTINGS = {"paper (1,0)": DirectEffect(1, 0, form="interval")}
THRESHOLD = 0.85

LOADERS = {"pakdd": load_pakdd, "give-me-some-credit": load_give_me_some_credit}


def run_credit(data: str = "pakdd", path: Path | None = None, **options: Any) -> TabularExperiment:
    """Sweep over a stand-in, two thirds to train on; options are those of `run_tabular`."""
    table = LOADERS[data](path)
    held = hold_out(table.to_matrix()[0], table.y + 2.0 * table.z, 1 / 3)
    train, test = (_part(table, rows) for rows in (~held, held))
    return run_tabular(train, test, settings=SETTINGS, threshold=THRESHOLD, **options)


def credit_claims(experiment: TabularExperiment) -> Iterator[Claim]:
    """Yield the paper's figures, on other data, and those found."""
    for (engine, _), points in experiment.lines().items():
        paper = ("0.96, 0.28", "0.89, 0.09") if engine == "xgboost" else ("–", "–")
        for point, stated in zip((points[0], points[-1]), paper, strict=True):
            yield Claim(
                f"{engine}, λ={point.strength:g}: precision, SPD at .85",
                f"{stated} (private data)" if stated != "–" else stated,
                f"{point.precision:.3f}, {point.spd:+.3f}",
                None,
            )


def _part(table: TabularData, rows: np.ndarray) -> TabularData:
    columns = {name: values[rows] for name, values in table.columns.items()}
    return replace(table, columns=columns, y=table.y[rows], z=table.z[rows])
