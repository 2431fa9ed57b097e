"""Every method on real data: how close it is to the fair score, and the direct effect it leaves.

The truth is not known there. The fair log-loss is a doubly robust estimate of the log-loss against
the fair score, from models fitted on the test rows. Direct effect left is the scores' gap less the
gap that the covariates explain, estimated from labels, doubly robust and cross-fitted. PAKDD 2009
and Bank Marketing are read from the folder that UNSWAY_DATA names, and left out where they are not
there.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from booster import DEPTH, ETA, HELD_OUT, Floats
from fair_losses import Split, against_best
from joblib import Parallel, delayed, parallel_config
from methods import (
    ALTERNATIVES,
    DEFAULT,
    Fit,
    MissingMethodError,
    Rows,
    fit_all,
    ours,
    usable_methods,
)
from records import Record, Records, Scores, arguments, best_settings, grid, versions_of
from sklearn.metrics import log_loss, roc_auc_score
from tables import append_table, write_table
from threadpoolctl import threadpool_limits

from unsway.datasets import (
    TabularData,
    load_adult,
    load_bank_marketing,
    load_german,
    load_pakdd,
)
from unsway.folds import hold_out

#: Data set → how many splits; Adult has its official one, and the same with the halves swapped.
SPLITS = {"adult": 1, "adult swapped": 1, "german": 20, "pakdd": 1, "bank 25": 3, "bank 50": 3}
QUICK = ("german",)
#: Data set that does not ship → what loads it.
LOADERS: dict[str, Callable[[], TabularData]] = {
    "pakdd": load_pakdd,
    "bank 25": lambda: load_bank_marketing(age_threshold=24),
    "bank 50": lambda: load_bank_marketing(age_threshold=50),
}
#: Below so many test rows the explained gap is estimated on all rows.
ENOUGH_ROWS = 5_000

Yardstick = Callable[[Floats], tuple[float, float]]


def load(name: str, split: int) -> tuple[Rows, Rows]:
    """Return training and test rows: the official ones, or a third held out."""
    if name.startswith("adult"):
        train, test = (_rows(load_adult(part)) for part in ("train", "test"))
        if name != "adult shuffled":
            return (test, train) if name == "adult swapped" else (train, test)
        pairs = ((train.X, test.X), (train.y, test.y), (train.z, test.z))
        whole = Rows(*(np.concatenate(pair) for pair in pairs))
    else:
        whole = _rows(LOADERS.get(name, load_german)())
    held = hold_out(whole.X, whole.y + 2.0 * whole.z, 1 / 3, seed=split)
    train, test = (Rows(whole.X[part], whole.y[part], whole.z[part]) for part in (~held, held))
    return train, test


def _rows(table: TabularData) -> Rows:
    return Rows(table.to_matrix()[0], table.y, table.z)


def readable(names: Iterable[str]) -> list[str]:
    """Return the data that can be read here, after a line for each that cannot."""
    found = list(names)
    for name in [name for name in found if name in LOADERS]:
        try:
            LOADERS[name]()
        except FileNotFoundError as reason:
            print(f"skipped {name}: {reason}", flush=True)
            found.remove(name)
    return found


def measure_data(name: str, split: int, methods: Sequence[str], again: bool) -> None:
    """Measure the methods that have no record yet for this split."""
    warnings.simplefilter("ignore")  # the overlap is what it is
    records = records_of(name, split)
    if again:
        records.forget(methods)
    losses = split_of(name, split)
    records.forget({r["method"] for r in records.records if not losses.has(r)})
    missing = records.missing(methods)
    if not missing:
        return
    train, test = load(name, split)
    with threadpool_limits(1):
        left = yardstick(train, test)
        losses.fit(test.X, test.y, test.z)
        records.add(fit_all(missing, train, test), lambda fit: judge(fit, test, left, losses))
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


def judge(fit: Fit, test: Rows, yardstick: Yardstick, losses: Split) -> Record:
    """Return a method's figures on the test rows."""
    p = np.clip(fit.scores, 0, 1)
    left, error = yardstick(p)
    return {
        "fair_log_loss": losses.keep({"method": fit.method, "setting": fit.setting}, p),
        "left": left,
        "left_se": error,
        "accuracy": float(np.mean((p > 0.5) == test.y)),
        "log_loss": float(log_loss(test.y, p)),
        "auc": float(roc_auc_score(test.y, p)),
    }


def records_of(name: str, split: int) -> Records:
    """Return what was measured on a split."""
    return Records(f"real_data/{name}-{split}")


def split_of(name: str, split: int) -> Split:
    """Return the test scores of a split."""
    return Split(Scores(f"real_data/{name}-{split}"))


def write_page(
    path: Path, names: Sequence[str], splits: Mapping[str, int], versions: Mapping[str, str]
) -> None:
    """Write every table from the records."""
    best = {
        name: best_settings(
            [records_of(name, split).records for split in range(splits[name])],
            lambda run: abs(run["left"]),
        )
        for name in names
    }
    columns = ("method", *names)
    write_table(
        path,
        "Every method on real data: fair log-loss less that of the best method",
        _notes(names, splits, versions),
        columns,
        grid(_compared(best, splits), _difference),
        versions_of(
            records_of(name, split).records for name in names for split in range(splits[name])
        ),
    )
    append_table(path, "Direct effect left", "", columns, grid(best, _left))
    for heading, key, form in (
        ("Fair log-loss", "fair_log_loss", ".4f"),
        ("Accuracy", "accuracy", ".4f"),
        ("Log-loss of the labels", "log_loss", ".4f"),
        ("AUC", "auc", ".4f"),
        ("Fit time over a plain fit", "time", ".1f"),
        ("Setting", "setting", ""),
    ):
        rows = grid(best, lambda runs, key=key, form=form: _figure(runs, key, form))
        rows = [row for row in rows if any(row[1:])]
        if rows:  # only peers have settings
            append_table(path, heading, "", columns, rows)


def _compared(
    best: Mapping[str, Mapping[str, Sequence[Record]]], splits: Mapping[str, int]
) -> dict[str, dict[str, list[Record]]]:
    """Return the records with each method's difference from the best one, and its error."""
    found: dict[str, dict[str, list[Record]]] = {}
    for name, runs in best.items():
        differences = against_best([split_of(name, k) for k in range(splits[name])], runs)
        found[name] = {
            method: [{**run, "difference": differences[method]} for run in runs[method]]
            for method in differences
        }
    return found


def _difference(runs: Sequence[Record]) -> str:
    estimate, error = runs[0]["difference"]
    return "best" if estimate == error == 0 else f"{estimate:+.4f} ± {error:.4f}"


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
        "adult swapped": "Adult swapped: trained on the official test rows, judged on the others",
        "german": f"German credit: {splits.get('german', 0)} splits, z = 1 is older than 25",
        "pakdd": f"PAKDD 2009: {splits.get('pakdd', 0)} split, z = 1 is older than 50",
        "bank 25": f"Bank Marketing, 25: {splits.get('bank 25', 0)} splits, z = 1 is 25 or more",
        "bank 50": f"Bank Marketing, 50: {splits.get('bank 50', 0)} splits, z = 1 is older than 50",
    }
    return (
        f"XGBoost, η {ETA}, depth {DEPTH}, {HELD_OUT:.0%} held out to stop early by, the same rows "
        f"for all. {'; '.join(about[name] for name in names)}; test rows are a third where there "
        "is no official split.",
        "",
        "The fair log-loss is that against the fair score, estimated doubly robustly by models "
        "that are cross-fitted on the test rows, apart from any method's (`fair_log_loss`). The "
        "first table has its difference from the best method of each data set; ± is the standard "
        "error of paired rows on one split, and over several splits that of Nadeau and Bengio, "
        "which allows for common rows. The explained gap behind the direct effect left is "
        "estimated on the test rows, German's on all rows; ± there is the standard error on one "
        "split. Other figures are means over splits.",
        *(
            (
                "",
                "A peer stands at the setting that leaves least on the test rows, which favours "
                f"it. Peers: {peers}.",
            )
            if peers
            else ()
        ),
    )


def main() -> None:
    """Measure what is missing, and write the page beside this script."""
    options = arguments("data", tuple(SPLITS), max(SPLITS.values()))
    try:
        ours("effects", "estimate_effects")
    except MissingMethodError as reason:
        raise SystemExit(f"{reason}: nothing to judge by") from None
    names = readable([name for name in options.names if not options.quick or name in QUICK])
    methods, versions = usable_methods(options.methods)
    splits = {name: 1 if options.quick else min(SPLITS[name], options.seeds) for name in names}
    with parallel_config(backend="loky", inner_max_num_threads=1):
        Parallel(n_jobs=options.jobs)(
            delayed(measure_data)(name, split, methods, options.again)
            for name in reversed(names)  # the longest first
            for split in range(splits[name])
        )
    if options.no_page:
        return
    complete = {DEFAULT, *ALTERNATIVES} <= set(options.methods)
    # A part is shown, and does not replace the page.
    whole = complete and splits == SPLITS and not options.quick
    path = options.output or Path(__file__).with_suffix(".md")
    if not whole and options.output is None:
        path = Path(tempfile.mkdtemp()) / path.name
    write_page(path, names, splits, versions)


if __name__ == "__main__":
    main()
