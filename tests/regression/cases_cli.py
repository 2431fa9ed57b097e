"""Cases of the command line, on a CSV of Adult and, for files larger than memory, on Parquet."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from regression import api_results, data
from regression.cases_effects import scores_of
from regression.registry import Case, case, digest

SKLEARN = ("scikit-learn",)
ROLES = (
    "--target", "income", "--positive", ">50K", "--sensitive", "sex=Male", "--weights", "weight",
)  # fmt: skip
ENGINES = {
    "logistic": ("--param", "l2=0.01", "--param", "tol=1e-9", "--param", "max_iter=200"),
    "xgboost": ("--param", "max_depth=2", "--param", "eta=0.3", "--threads", 1),
    "lightgbm": ("--param", "max_depth=2", "--param", "learning_rate=0.3", "--threads", 1),
}
CRITERIA = {
    "fair-target": (1.0, ()),
    "direct-effect": (0.9, ("--outcome-degree", 2, "--effect-degree", 1, "--norm", "function")),
    "parity": (0.9, ()),
}


def cases() -> Iterator[Case]:
    """Yield the cases; those of kind "defaults" rest on settings that a command has no flag for."""
    for engine in ENGINES:
        kind = "iterative" if engine == "logistic" else "float32"
        needs = SKLEARN if engine == "logistic" else (engine, *SKLEARN)
        for criterion in CRITERIA:
            yield case(
                f"cli/fit/{engine}/{criterion}", kind, fit, engine, criterion, engines=needs,
                defaults=True,
            )  # fmt: skip
    needs = ("xgboost", *SKLEARN)
    yield case("cli/low_memory", "float32", low_memory, engines=needs, defaults=True)
    for method in api_results.methods():
        yield case(
            f"cli/effects/{method}", "iterative", effects, method, engines=SKLEARN, defaults=True
        )
    yield case("cli/audit", "iterative", audit, engines=SKLEARN, defaults=True)
    for engine in ("logistic", "xgboost"):
        yield case(
            f"cli/frontier/{engine}", "float32", frontier, engine, engines=needs, defaults=True
        )
    yield case("cli/reproduce", "iterative", reproduce, engines=SKLEARN, defaults=True)
    yield case("cli/demo", "iterative", demo, engines=SKLEARN, defaults=True)


def _write(folder: Path, name: str = "people.csv") -> Any:
    """Write the table without missing numbers, which a linear model refuses."""
    people = data.adult()
    known = people.X["hours-per-week"].fillna(40.0)
    table = people.X.assign(**{"hours-per-week": known}, score=scores_of(people))
    table = table.assign(other=np.sqrt(table["score"]))
    table = table.assign(income=people.y, sex=people.z, weight=people.weights)
    if name.endswith(".csv"):
        table.to_csv(folder / name, index=False)
    else:
        table.to_parquet(folder / name, index=False)
    return table


def _scores(file: Path) -> Any:
    with file.open(encoding="utf-8") as lines:
        return np.array([float(row["score"]) for row in csv.DictReader(lines)])


def _card(folder: Path) -> dict[str, Any]:
    """Return what the card says of the training, settings aside."""
    card = json.loads((folder / "card.json").read_text("utf-8"))
    return {"training": card["training"], "strength": card["strength"], "engine": card["engine"]}


def fit(engine: str, criterion: str) -> Mapping[str, Any]:
    """Record ``unsway fit`` and ``unsway predict``."""
    strength, settings = CRITERIA[criterion]
    with TemporaryDirectory() as place:
        folder = Path(place)
        _write(folder)
        api_results.command(
            folder, "fit", "people.csv", *ROLES, "--engine", engine, "--criterion", criterion,
            "--strength", strength, *settings, *ENGINES[engine], "--seed", 0,
            "--drop", "score,other", "-o", "model", "--quiet",
        )  # fmt: skip
        api_results.command(folder, "predict", "model", "people.csv", "-o", "scores.csv", "--quiet")
        return {**_card(folder / "model"), "scores": digest(_scores(folder / "scores.csv"))}


def low_memory() -> Mapping[str, Any]:
    """Record ``unsway fit --low-memory``."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        _write(folder, "people.parquet")
        api_results.command(
            folder, "fit", "people.parquet", *ROLES, "--engine", "xgboost", "--criterion",
            "fair-target", "--strength", 1, *ENGINES["xgboost"], "--drop", "score,other",
            "--low-memory", "-o", "model", "--quiet",
        )  # fmt: skip
        return _card(folder / "model")


def effects(method: str) -> Mapping[str, Any]:
    """Record ``unsway effects``, without the verdict, which has a case of its own."""
    with TemporaryDirectory() as place:
        _write(Path(place))
        found = api_results.command_json(
            Path(place), "effects.json", "effects", "people.csv", *ROLES, "--method", method,
            "--interval", "influence", "--confidence", 0.9, "--cv", 3, "--seed", 1, "--jobs", 1,
            "--drop", "score,other",
        )  # fmt: skip
    del found["verdict"]
    return found


def audit() -> Mapping[str, Any]:
    """Record ``unsway audit`` of a column beside another, without its verdicts."""
    with TemporaryDirectory() as place:
        _write(Path(place))
        found = api_results.command_json(
            Path(place), "audit.json", "audit", "people.csv", *ROLES, "--scores", "column:score",
            "--baseline", "column:other", "--threshold", 0.4, "--bootstrap", 5, "--confidence", 0.9,
            "--seed", 1, "--jobs", 1,
        )  # fmt: skip
    del found["verdict"], found["causal"]["verdict"]
    return found


def frontier(engine: str) -> Mapping[str, Any]:
    """Record the table that ``unsway frontier`` writes; what a penalty is at 0 is left out."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        _write(folder)
        api_results.command(
            folder, "frontier", "people.csv", *ROLES, "--engine", engine, "--criterion", "parity",
            "--strengths", "0,0.5,0.9", *ENGINES[engine], "--test-fraction", 0.25, "--seed", 0,
            "--jobs", 1, "--drop", "score,other", "-o", "sweep", "--quiet",
        )  # fmt: skip
        with (folder / "sweep" / "frontier.csv").open(encoding="utf-8") as lines:
            rows = [_figures(row) for row in csv.DictReader(lines)]
        return {"points": rows, "chosen": _card(folder / "sweep" / "chosen")["strength"]}


def _figures(row: Mapping[str, str]) -> dict[str, Any]:
    """Return a line of a table as numbers where it has them."""
    found: dict[str, Any] = {}
    for name, text in row.items():
        if name == "penalty" and float(row["strength"]) == 0:
            continue
        try:
            found[name] = float(text)
        except ValueError:
            found[name] = text
    return found


def reproduce() -> Mapping[str, Any]:
    """Record the paper's first experiment, on few rows."""
    with TemporaryDirectory() as place:
        records = api_results.command_json(
            Path(place), "points.json", "reproduce", "synthetic", "-o", "figures", "--strengths",
            "0,0.5,0.9", "--samples", 2_000, "--seed", 0,
        )  # fmt: skip
    return {"points": records}


def demo() -> Mapping[str, Any]:
    """Record the numbers that ``unsway demo`` prints."""
    with TemporaryDirectory() as place:
        printed = api_results.command(Path(place), "demo", "-o", "demo", "--samples", 1_000)
    table = printed[: printed.index("Report")]
    return {"numbers": [float(each) for each in re.findall(r"[-+]?\d*\.\d+", table)]}
