"""``unsway effects``: the effects of the sensitive column on a target, with diagnostics."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from ..effects import MEANINGS, Balance, Effects, Estimate, LevelEffects, Sensitivity
from ..effects.plots import plot_curve
from ..effects.ratios import RATIO_MEANINGS, EffectRatios
from ..effects.study import Study, effects_of
from ..files import write_atomically
from ..frames import plain
from ..models.folder import TrainingRoles
from ..models.parquet_effects import EffectSettings, study_files
from ..paper.plots import to_bytes
from ..rows import Rows
from .console import Steps, note, one_line, say, show_table, steps
from .covariates import describe_columns, show_columns
from .flags import read_rows, take_roles
from .level_effects import draw_levels, level_study, show_levels
from .low_memory import check_parquet, rows_of_files
from .options import PICTURES, RoleFlags
from .outputs import check_installed, places
from .table_files import refuse_row_names

_ENDS = ("estimate", "se", "low", "high")
#: What each of --plots is written as.
KINDS = ("svg", "png")
WORST_COLUMNS, FOREST_WIDTH = 5, 56


def effects(
    file: Path, flags: RoleFlags, interval: str | None, bootstrap: int | None,
    json_file: Path | None, plots: Path | None, quiet: bool, low_memory: bool = False,
    **settings: Any,
) -> None:  # fmt: skip
    """Estimate what the sensitive column of a CSV or Parquet FILE does to the target.

    Directly, and through the other columns. The target is a label (say which value counts with
    --positive) or a column of numbers, such as the scores of any model.
    """
    if bootstrap and interval == "influence":
        raise click.UsageError("--bootstrap belongs to --interval bootstrap, not to influence")
    interval = interval or ("bootstrap" if bootstrap else "influence")
    replicates = (bootstrap or 200) if interval == "bootstrap" else 0
    settings |= {"interval": interval, "n_bootstrap": max(2, replicates)}
    if plots:
        check_installed(["matplotlib"], "plot")
    paths = [plots / f"{name}.{kind}" for name in PICTURES for kind in KINDS] if plots else []
    paths += [json_file] if json_file else []
    if low_memory:
        in_files = settings_of_files(file, flags, settings)
    with (
        places(paths, file),
        steps(3 + replicates, f"Reading {file.name}", quiet=quiet) as progress,
    ):
        found: Study | LevelEffects
        if low_memory:
            found, roles = study_of_files(file, flags, in_files, progress)
            facts: dict[str, Any] = {"file": file.name, **asdict(roles)}
        else:
            rows, roles = take_roles(read_rows(file, flags), flags, numeric_target=True)
            rows = rows.adjusted()
            refuse_row_names(rows.X)
            show_columns(rows.X, quiet=quiet)
            progress.next("Fitting models")
            by_level = not rows.groups.two
            found = level_study(rows, settings) if by_level else study(rows, settings, progress)
            facts = {"file": file.name, **asdict(roles), "columns": describe_columns(rows.X)}
        files: dict[Path, str | bytes] = dict(draw(found, plots)) if plots else {}
        if json_file:
            files[json_file] = to_json(found, facts)
        progress.advance()
        for path, content in files.items():
            write_atomically(path, content)
    if not quiet:
        show(found, roles) if isinstance(found, Study) else show_levels(found, roles)
        for place in filter(None, (plots, json_file)):
            say(f"Written: {place}")


def study(rows: Rows, settings: Mapping[str, Any], progress: Steps) -> Study:
    """Estimate the effects, and compute the diagnostics on the same rows and models."""
    effects = effects_of(
        rows, progress=lambda *_: progress.next("Refitting on resampled rows"), **settings
    )
    progress.next("Checking what the data can tell")
    return _noted(Study.of(rows, effects))


def settings_of_files(file: Path, flags: RoleFlags, given: Mapping[str, Any]) -> EffectSettings:
    """Return how effects on files are estimated, or say which flag they do not know."""
    others = {
        "--method": given["method"] != "doubly_robust",
        "--interval bootstrap": given["interval"] != "influence",
        "--repeats": given["repeats"] > 1,
        "--cluster": flags.cluster is not None,
        "--loss": flags.loss is not None,
    }
    wrong = next((flag for flag, stated in others.items() if stated), None)
    if wrong is not None:
        raise click.UsageError(f"--low-memory estimates without {wrong}; leave one of them out")
    check_parquet(file)
    names = ("cv", "confidence", "allow_separation", "random_state")
    jobs = given["n_jobs"]
    return EffectSettings(
        **{name: given[name] for name in names}, n_jobs=None if jobs == -1 else jobs
    )


def study_of_files(
    file: Path, flags: RoleFlags, settings: EffectSettings, progress: Steps
) -> tuple[Study, TrainingRoles]:
    """Return effects and diagnostics of rows that stay in their files, and the roles."""
    files, rows, roles = rows_of_files(file, flags)
    progress.next("Fitting models on a sample, and predicting every row")
    found = study_files(files, rows, settings)
    levels = rows.groups.names
    effects = replace(
        found.effects, levels=levels, overlap=replace(found.effects.overlap, levels=levels)
    )
    progress.next("Checking what the data can tell")
    return _noted(replace(found, effects=effects)), roles


def _noted(found: Study) -> Study:
    """Say what these rows did not let be computed."""
    for what, why in found.missing.items():
        note(f"no {what}: {why}")
    return found


def draw(found: Study | LevelEffects, folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the pictures by path; without a curve there is no picture of it."""
    if isinstance(found, LevelEffects):
        yield from draw_levels(found, folder)
        return
    b, curve = found.effects.nuisances.propensity, found.curve
    makers: dict[str, Callable[[], Any]] = {
        "forest": found.effects.plot,
        "balance": found.balance.plot,
        "overlap": found.effects.overlap.plot,
    }
    if curve is not None:
        makers["curve"] = lambda: plot_curve(curve, scores=b)
    for name, make in makers.items():
        for kind in KINDS:
            yield folder / f"{name}.{kind}", to_bytes(make().figure, kind)


def to_json(found: Study | LevelEffects, settings: Mapping[str, Any]) -> str:
    """Return every number as JSON; null where one is unknown."""
    document = found.to_dict()
    ratios = ratios_of(found.effects) if isinstance(found, Study) else None
    if ratios is not None:
        document["ratios"] = ratios.to_dict()
    document["settings"] |= settings
    return json.dumps(plain(document), indent=1, allow_nan=False) + "\n"


def show(found: Study, roles: TrainingRoles) -> None:
    """Print the effects, their intervals on one axis, and how far to trust them."""
    _show_effects(found.effects, roles)
    for line in forest(found.effects.estimates()):
        say(line)
    _show_ratios(found.effects)
    findings = [replace(each, sentence=one_line(each.sentence)) for each in found.verdict.findings]
    say(f"\n{replace(found.verdict, findings=tuple(findings))!r}")
    overlap = found.effects.overlap
    say(f"\n{replace(overlap, levels=tuple(map(one_line, overlap.levels)))!r}\n")
    _show_balance(found.balance)
    if found.sensitivity is not None:
        say(f"\n{_with_one_benchmark(found.sensitivity)!r}")


def _show_effects(found: Effects, names: TrainingRoles) -> None:
    how = found.settings
    of = f"{names.target} = {names.positive}" if names.positive else f"the mean of {names.target}"
    of += f" per {how['per']}" if "per" in how else ""
    low, high = map(one_line, found.levels)
    title = f"What {names.sensitive} = {high} rather than {low} does to {of}"
    each = found.estimates()
    write = _writer([number for one in each.values() for number in (one.low, one.high)])
    rows = [
        (
            f"{name}: {MEANINGS[name]}",
            write(one.estimate),
            write(one.se).removeprefix("+"),
            write(one.low),
            write(one.high),
        )
        for name, one in each.items()
    ]
    show_table(title, ("effect", "estimate", "se", "low", "high"), rows)
    sizes, replicates = found.overlap.n_rows, how["n_bootstrap"]
    method = how["method"].replace("_", " ")
    say(
        f"z = 1 is {high} ({sizes[1]:,} rows), z = 0 is {low} ({sizes[0]:,} rows); differences are "
        f"z = 1 minus z = 0.\nMethod: {method}, {how['cv']} folds; low and high bound a "
        f"{100 * how['confidence']:g}% interval by {how['interval']}"
        + (f" of {replicates:,} replicates" if replicates else "")
        + (f", counting {how['n_clusters']:,} clusters.\n" if "n_clusters" in how else ".\n")
    )


def _show_ratios(found: Effects) -> None:
    """Print the effects on counts and amounts as ratios."""
    ratios = ratios_of(found)
    if ratios is None:
        return
    rows = [
        (f"{name}: {RATIO_MEANINGS[name]}", *(f"{each[end]:.4f}" for end in _ENDS))
        for name, each in ratios.to_dict().items()
    ]
    say("")
    show_table("The same as ratios", ("ratio", *_ENDS), rows)


def ratios_of(found: Effects) -> EffectRatios | None:
    """Return the effects on counts or amounts as ratios; None for others, or where it has none."""
    if found.settings.get("loss", "squared_error") == "squared_error":
        return None
    try:
        return found.as_ratios()
    except ValueError as error:  # a mean of 0
        note(f"no ratios: {error}")
        return None


def _writer(numbers: list[float]) -> Callable[[float], str]:
    """Return how to write numbers of this size, with four digits that count."""
    size = max((abs(number) for number in numbers if math.isfinite(number)), default=0.0)
    decimals = max(0, 3 - math.floor(math.log10(size))) if size > 0 else 4
    return lambda number: f"{number:+,.{decimals}f}"


def forest(estimates: Mapping[str, Estimate]) -> list[str]:
    """Return the intervals as lines of text on one axis, zero among them.

    Examples
    --------
    >>> for line in forest({"direct_reference": Estimate(0.8, 0.1, 0.6, 1.0)}):
    ...     print(line)
    direct_reference │                                ━━━━━━━━━━━●━━━━━━━━━━━
       0                                                 +1.000
    """
    numbers = [0.0, *(end for each in estimates.values() for end in (each.low, each.high))]
    start, end = min(numbers), max(numbers)
    span, label = (end - start) or 1.0, max(map(len, estimates))

    def place(number: float) -> int:
        return round((number - start) / span * (FOREST_WIDTH - 1))

    lines = []
    for name, each in estimates.items():
        bar = [" "] * FOREST_WIDTH
        bar[place(0)] = "│"
        for position in range(place(each.low), place(each.high) + 1):
            bar[position] = "━"
        bar[place(each.estimate)] = "●"
        lines.append(f"{name:<{label}} {''.join(bar).rstrip()}")
    axis, write = [" "] * FOREST_WIDTH, _writer(numbers)
    for number in (0.0, start, end):  # zero first: it stays where there is no room for both
        text = write(number) if number else "0"
        first = min(place(number), FOREST_WIDTH - len(text))
        if not "".join(axis[max(0, first - 1) : first + len(text) + 1]).strip():
            axis[first : first + len(text)] = text
    return [*lines, f"{'':<{label}} {''.join(axis).rstrip()}"]


def _show_balance(found: Balance) -> None:
    largest = np.nan_to_num(np.abs(found.differences), nan=-1).max(axis=1)
    worst = [k for k in np.argsort(-largest, kind="stable")[:WORST_COLUMNS] if largest[k] >= 0]
    rows = [(found.names[k], *(f"{each:+.3f}" for each in found.differences[k])) for k in worst]
    title = f"Largest differences in standard deviations ({len(rows)} of {len(found.names)})"
    show_table(title, ("column", *found.weightings), rows)


def _with_one_benchmark(found: Sensitivity) -> Sensitivity:
    """Return the analysis with only the column that would change the effect the most."""
    rows = [row for row in found.benchmarks if row.strength == 1 and not math.isnan(row.estimate)]
    effect = found.effect.estimate
    most = min(rows, key=lambda row: row.estimate / effect, default=None) if effect else None
    named = () if most is None else (replace(most, benchmark=one_line(most.benchmark)),)
    return replace(found, benchmarks=named)
