"""Every method on real data: what it predicts, and the direct effect it leaves.

The truth is not known there. Direct effect left is the scores' gap less the gap that the covariates
explain, estimated from labels, doubly robust and cross-fitted. PAKDD 2009 is read from the folder
that UNSWAY_DATA names, and left out where it is not set.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from booster import DEPTH, ETA, HELD_OUT, Floats
from joblib import Parallel, delayed, parallel_config
from methods import METHODS, Fit, MissingMethodError, Rows, fit_all, ours, usable_methods
from records import Record, Records, arguments, best_settings, grid
from sklearn.metrics import log_loss, roc_auc_score
from tables import append_table, write_table
from threadpoolctl import threadpool_limits

from unsway.datasets import load_adult, load_german, load_pakdd
from unsway.folds import hold_out

#: Data set → how many splits; Adult has its official one.
SPLITS = {"adult": 1, "german": 5, "pakdd": 1}
QUICK = ("german",)
#: Below so many test rows the explained gap is estimated on all rows.
ENOUGH_ROWS = 5_000

Yardstick = Callable[[Floats], tuple[float, float]]


def load(name: str, split: int) -> tuple[Rows, Rows]:
    """Return training and test rows: the official ones, or a third held out."""
    if name == "adult":
        parts = [load_adult(part) for part in ("train", "test")]
        train, test = (Rows(part.to_matrix()[0], part.y, part.z) for part in parts)
        return train, test
    table = load_german() if name == "german" else load_pakdd()
    X = table.to_matrix()[0]
    held = hold_out(X, table.y + 2.0 * table.z, 1 / 3, seed=split)
    train, test = (Rows(X[rows], table.y[rows], table.z[rows]) for rows in (~held, held))
    return train, test


def measure_data(name: str, split: int, methods: Sequence[str], again: bool) -> None:
    """Measure the methods that have no record yet for this split."""
    warnings.simplefilter("ignore")  # the overlap is what it is
    records = _records(name, split)
    if again:
        records.forget(methods)
    missing = records.missing(methods)
    if not missing:
        return
    train, test = load(name, split)
    with threadpool_limits(1):
        left = yardstick(train, test)
        records.add(fit_all(missing, train, test), lambda fit: judge(fit, test, left))
    print(f"{name}, split {split}: {len(missing)} methods", flush=True)


def yardstick(train: Rows, test: Rows) -> Yardstick:
    """Return what turns test scores into the direct effect left and its standard error.

    The explained gap comes from the test rows or, where they are few, from all rows.
    """
    estimate = ours("effects", "estimate_effects")
    if len(test.y) >= ENOUGH_ROWS:
        effects = estimate(test.X, test.y, sensitive_features=test.z)

        def left(p: Floats) -> tuple[float, float]:
            found = effects.direct_effect_left(p)
            return found.estimate, found.se

        return left
    parts = ((train.X, test.X), (train.y, test.y), (train.z, test.z))
    X, y, z = (np.concatenate(pair) for pair in parts)
    explained = estimate(X, y, sensitive_features=z).explained

    def left_of_few(p: Floats) -> tuple[float, float]:
        groups = [p[test.z == level] for level in (0, 1)]
        variance = sum(group.var(ddof=1) / len(group) for group in groups)
        gap = groups[1].mean() - groups[0].mean()
        return float(gap - explained.estimate), float(np.sqrt(variance + explained.se**2))

    return left_of_few


def judge(fit: Fit, test: Rows, yardstick: Yardstick) -> Record:
    """Return a method's figures on the test rows."""
    p = np.clip(fit.scores, 0, 1)
    left, error = yardstick(p)
    return {
        "left": left,
        "left_se": error,
        "accuracy": float(np.mean((p > 0.5) == test.y)),
        "log_loss": float(log_loss(test.y, p)),
        "auc": float(roc_auc_score(test.y, p)),
    }


def _records(name: str, split: int) -> Records:
    return Records(f"real_data/{name}-{split}")


def write_page(
    path: Path, names: Sequence[str], splits: Mapping[str, int], versions: Mapping[str, str]
) -> None:
    """Write every table from the records."""
    best = {
        name: best_settings(
            [_records(name, split).records for split in range(splits[name])],
            lambda run: abs(run["left"]),
        )
        for name in names
    }
    columns = ("method", *names)
    write_table(
        path,
        "Every method on real data: direct effect left",
        _notes(names, splits, versions),
        columns,
        grid(best, _left),
        ("unsway", "xgboost-cpu", "numpy", "scikit-learn"),
    )
    for heading, key, form in (
        ("Accuracy", "accuracy", ".4f"),
        ("Log-loss", "log_loss", ".4f"),
        ("AUC", "auc", ".4f"),
        ("Fit time over a plain fit", "time", ".1f"),
        ("Setting", "setting", ""),
    ):
        rows = grid(best, lambda runs, key=key, form=form: _figure(runs, key, form))
        append_table(path, heading, "", columns, [row for row in rows if any(row[1:])])


def _left(runs: Sequence[Record]) -> str:
    estimate, error = (np.mean([run[key] for run in runs]) for key in ("left", "left_se"))
    return f"{estimate:+.3f} ± {error:.3f}"


def _figure(runs: Sequence[Record], key: str, form: str) -> str:
    if key == "setting":
        return str(runs[0][key])
    return format(float(np.mean([run[key] for run in runs])), form)


def _notes(
    names: Sequence[str], splits: Mapping[str, int], versions: Mapping[str, str]
) -> tuple[str, ...]:
    peers = ", ".join(f"{name} {number}" for name, number in versions.items())
    about = {
        "adult": "Adult: official split, z = 1 is male",
        "german": f"German credit: {splits.get('german', 0)} splits, z = 1 is older than 25",
        "pakdd": f"PAKDD 2009: {splits.get('pakdd', 0)} split, z = 1 is older than 50",
    }
    return (
        f"XGBoost, η {ETA}, depth {DEPTH}, {HELD_OUT:.0%} held out to stop early by, the same rows "
        f"for all. {'; '.join(about[name] for name in names)}; test rows are a third where there "
        "is no official split. The explained gap is estimated on the test rows, German's on all "
        "rows; ± is the standard error on one split. Other figures are means over splits. A peer "
        "stands at the setting that leaves least on the test rows, which favours it.",
        *(("", f"Peers: {peers}.") if peers else ()),
    )


def main() -> None:
    """Measure what is missing, and write the page beside this script."""
    options = arguments("data", tuple(SPLITS), max(SPLITS.values()))
    try:
        ours("effects", "estimate_effects")
    except MissingMethodError as reason:
        raise SystemExit(f"{reason}: nothing to judge by") from None
    names = [name for name in options.names if not options.quick or name in QUICK]
    if "pakdd" in names and not os.environ.get("UNSWAY_DATA"):
        print("skipped pakdd: UNSWAY_DATA is not set", flush=True)
        names.remove("pakdd")
    methods, versions = usable_methods(options.methods)
    splits = {name: 1 if options.quick else min(SPLITS[name], options.seeds) for name in names}
    with parallel_config(backend="loky", inner_max_num_threads=1):
        Parallel(n_jobs=options.jobs)(
            delayed(measure_data)(name, split, methods, options.again)
            for name in reversed(names)  # the longest first
            for split in range(splits[name])
        )
    whole = (
        set(options.methods) == set(METHODS) and splits == SPLITS and not options.quick
    )  # a part is shown, and does not replace the page
    path = options.output or Path(__file__).with_suffix(".md")
    if not whole and options.output is None:
        path = Path(tempfile.mkdtemp()) / path.name
    write_page(path, names, splits, versions)


if __name__ == "__main__":
    main()
