"""Options that several commands share."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any

import click

Option = Callable[[Callable[..., Any]], Callable[..., Any]]

#: What the library offers, named here so that help and errors need none of its imports; a test
#: compares these lists with the library's own.
ENGINES = ("logistic", "xgboost", "lightgbm", "linear")
LOSSES = ("squared_error", "poisson", "gamma", "tweedie")
GROUP_CRITERIA = ("parity", "equal-opportunity", "equalized-odds")
NORMS = ("coefficient", "function")
METHODS = ("doubly_robust", "surrogate", "weighting")
INTERVALS = ("influence", "bootstrap")
#: The pictures of ``unsway effects --plots``.
PICTURES = ("forest", "curve", "balance", "overlap")

#: Paths on the command line: an input, a file to write, a folder to write to.
ANY_PATH = click.Path(path_type=Path)
NEW_FILE = click.Path(dir_okay=False, path_type=Path)
NEW_FOLDER = click.Path(file_okay=False, path_type=Path)


def together(*options: Option) -> Option:
    """Return a decorator that adds all of these options; the command gets them one by one."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def example(line: str) -> str:
    """Return an example of a command, as its help ends with it."""
    return f"\b\nExample:\n  {line}"


def parse_numbers(text: str) -> tuple[float, ...]:
    """Return the numbers a user wrote as ``0,0.5,0.9``."""
    try:
        return tuple(map(float, text.split(",")))
    except ValueError:
        raise click.BadParameter(f"{text!r} is no list of numbers such as 0,0.5,0.9") from None


def check_jobs(context: click.Context, option: click.Parameter, value: int) -> int:
    """Return the number of processes; -1 means one per core."""
    if value == 0 or value < -1:
        raise click.BadParameter("give at least 1, or -1 for one per core")
    return value


def parse_delimiter(
    context: click.Context, option: click.Parameter, text: str | None
) -> str | None:
    """Return the sign a user wrote, a tab also as ``tab``."""
    sign = {"tab": "\t", "\\t": "\t"}.get(text or "", text)
    if sign is not None and (len(sign) != 1 or sign in '"\r\n.' or sign.isalnum()):
        raise click.BadParameter(f"{text!r} is no sign such as ';' or tab")
    return sign


@dataclass(frozen=True)
class Reading:
    """What a user says about how a file is written."""

    delimiter: str | None = None
    decimal: str | None = None
    sheet: str | None = None


@dataclass(frozen=True)
class RoleFlags:
    """What a user wrote about the columns."""

    target: str
    positive: str | None
    sensitive: str
    drop: tuple[str, ...]
    weights: str | None
    loss: str | None = None
    power: float | None = None
    exposure: str | None = None
    cluster: str | None = None
    adjust_for: tuple[str, ...] = ()
    accept: tuple[str, ...] = ()
    drop_missing: bool = False
    reading: Reading = Reading()
    reference: str | None = None
    only: str | None = None
    bands: str | None = None
    merge_below: int | None = None
    level_weights: str = "uniform"
    missing_sensitive: str = "refuse"
    intersections: bool = False
    attributes: tuple[tuple[str, str | None], ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are no covariates."""
        named = (self.weights, self.exposure, self.cluster)
        others = (each for each in named if each is not None)
        sensitive = [name for name, _ in self.attributes] or [self.sensitive]
        return (self.target, *sensitive, *others, *self.adjust_for, *self.drop)


#: The options of how a file is written.
reading_options = together(
    click.option("--delimiter", metavar="SIGN", callback=parse_delimiter,
                 help="What stands between the columns of a CSV file, such as ';' or tab. "
                 "[default: as the file looks]"),
    click.option("--decimal", type=click.Choice([".", ","]),
                 help="The decimal sign of a CSV file. [default: as the file looks]"),
    click.option("--sheet", metavar="NAME", help="The sheet of a workbook that has several."),
)  # fmt: skip


def take_reading(given: dict[str, Any]) -> Reading:
    """Return what a user says about a file, taken from the options of a command."""
    return Reading(**{each.name: given.pop(each.name) for each in fields(Reading)})


#: How a sensitive column of several levels is read.
level_options = together(
    click.option("--reference", metavar="VALUE",
                 help="The level that the others are compared with; the largest of three or "
                 "more."),
    click.option("--only", metavar="VALUE,…",
                 help="Sensitive levels to keep; rows of others are left out."),
    click.option("--bands", metavar="NUMBER,…",
                 help="Cuts a sensitive column of numbers into bands, as in 25,40,60."),
    click.option("--merge-below", type=click.IntRange(min=1), metavar="ROWS",
                 help="Merge sensitive levels of fewer rows into one."),
    click.option("--intersections", is_flag=True,
                 help="Of several sensitive columns, remove the effect of each combination of "
                 "their levels, not only the sum of theirs."),
    click.option("--level-weights", type=click.Choice(["uniform", "prevalence"]),
                 default="uniform", show_default=True,
                 help="What each sensitive level counts in the fair score."),
    click.option("--missing-sensitive", type=click.Choice(["refuse", "drop", "use"]),
                 default="refuse", show_default=True,
                 help="What to do with rows without a sensitive value: stop, leave them out, or "
                 "train on them too, if who has a value depends on the other columns alone."),
)  # fmt: skip


def table_with_roles(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the table and the flags that give its columns their roles: `file` and `flags`."""

    @wraps(command)
    def call(**given: Any) -> Any:
        given["reading"] = take_reading(given)
        names = [each.name for each in fields(RoleFlags) if each.name in given]
        flags = RoleFlags(**{name: given.pop(name) for name in names})
        return command(flags=flags, **given)

    return together(
        click.argument("file", type=ANY_PATH),
        click.option("--target", required=True, metavar="COLUMN",
                     help="The label, or with --loss the numbers."),
        click.option("--positive", metavar="VALUE",
                     help="The value of the target that is scored. 0/1 needs none."),
        click.option("--sensitive", required=True, metavar="COLUMN",
                     help="The sensitive column: all its levels, COLUMN=VALUE for one of them "
                     "against the rest, or a comparison such as \"age>=50\"; several with commas "
                     "between, whose --reference, --only and --bands name the column, as in "
                     "--bands age=25,40 or --reference \"sex=F;race=White\"."),
        level_options,
        click.option("--drop", multiple=True, metavar="COLUMN,…",
                     help="Columns to leave out; may be given again."),
        click.option("--adjust-for", multiple=True, metavar="COLUMN,…",
                     help="Columns from before the sensitive one that the model may not use; they "
                     "inform what is estimated of its effect. May be given again."),
        click.option("--weights", metavar="COLUMN", help="The weight of each row."),
        click.option("--loss", type=click.Choice(LOSSES),
                     help="What a target of numbers is: poisson for counts, gamma for amounts, "
                     "tweedie for amounts with zeros."),
        click.option("--power", type=float, metavar="P",
                     help="The power of --loss tweedie, between 1 and 2. [default: 1.5]"),
        click.option("--exposure", metavar="COLUMN",
                     help="Time insured or the like: the target is modelled per unit of it."),
        click.option("--accept", multiple=True, metavar="COLUMN,…",
                     help="Columns to train on although a check leaves them out or refuses them."),
        click.option("--drop-missing", is_flag=True,
                     help="Leave out rows without a label, sensitive value or weight."),
        reading_options,
    )(call)  # fmt: skip


cluster = click.option("--cluster", metavar="COLUMN",
                       help="What several rows belong to, such as a person; intervals then count "
                       "clusters in place of rows. No covariate.")  # fmt: skip
repeats = click.option("--repeats", type=click.IntRange(min=1), default=1, show_default=True,
                       help="Cross-fit so often, with other folds each time, and average: "
                       "results depend less on the folds.")  # fmt: skip
quiet = click.option("--quiet", is_flag=True, help="Print nothing but errors.")
seed = click.option("--seed", "random_state", type=click.IntRange(min=0), default=0,
                    show_default=True,
                    help="Seed of everything that is drawn at random.")  # fmt: skip
allow_separation = click.option(
    "--allow-separation", is_flag=True,
    help="Go on, with a warning, where the other columns predict the sensitive one nearly exactly.",
)  # fmt: skip
json_file = click.option("--json", "json_file", type=NEW_FILE,
                         help="Write every number to this file.")  # fmt: skip
confidence = click.option("--confidence", default=0.95, show_default=True,
                          type=click.FloatRange(0, 1, min_open=True, max_open=True),
                          help="Share of intervals that should hold the truth.")  # fmt: skip
favourable = click.option("--favourable", metavar="VALUE",
                          help="The value of the target that is good for a person; until it is "
                          "given, texts say only who scores higher.")  # fmt: skip
margin = click.option("--margin", default=0.02, show_default=True,
                      type=click.FloatRange(0, 1, min_open=True, max_open=True),
                      help="A direct effect within this is small.")  # fmt: skip
page_options = together(
    click.option("--title", help="What the report is about."),
    click.option("--owner", help="Who answers for the model; named at the head of the report."),
)


def jobs(default: int) -> Option:
    """Return the option for the number of processes."""
    return click.option(
        "--jobs", "n_jobs", type=int, callback=check_jobs, default=default, show_default=True,
        help="Processes of the bootstrap; -1: one per core.",
    )  # fmt: skip


def limits(verb: str, otherwise: str = "") -> Option:
    """Return the options that limit the choice of a strength; their help begins with the verb."""
    return together(
        click.option("--max-direct-effect", type=click.FloatRange(min=0), metavar="ε",
                     help=f"{verb} the smallest strength that leaves at most this."),
        click.option("--max-accuracy-loss", type=click.FloatRange(min=0), metavar="δ",
                     help=f"{verb} the fairest strength that loses at most this{otherwise}."),
    )  # fmt: skip


def parse_engine(text: str) -> str:
    """Return the engine, or raise with the known ones, and with the reason against CatBoost."""
    if text == "catboost":
        raise click.BadParameter(
            "CatBoost hands an objective at most 1,000 rows at a time, and the penalty needs all "
            "of them; use xgboost or lightgbm"
        )
    if text not in ENGINES:
        raise click.BadParameter(f"{text!r} is not one of {', '.join(ENGINES)}")
    return text


def parse_param(text: str) -> tuple[str, Any]:
    """Return an engine parameter a user wrote as ``name=value``, numbers and true/false as such."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise click.BadParameter(f"{text!r} is not name=value")
    try:
        read = json.loads(value.lower() if value.lower() in ("true", "false") else value)
    except ValueError:
        read = value
    return name.strip(), read if isinstance(read, (bool, int, float)) else value


#: The options of the model.
model_options = together(
    click.option("--engine", type=parse_engine, default="xgboost", show_default=True,
                 metavar=f"[{'|'.join(ENGINES)}]", help="The library that trains the model."),
    click.option("--criterion",
                 type=click.Choice(["fair-target", "direct-effect", *GROUP_CRITERIA]),
                 help="fair-target, unless a setting of the direct effect is given."),
    click.option("--outcome-degree", type=click.IntRange(min=1), help="N1 of the direct effect."),
    click.option("--effect-degree", type=click.IntRange(min=0), help="N2 of the direct effect."),
    click.option("--norm", type=click.Choice(NORMS), help="Norm of the direct effect."),
    click.option("--param", "params", multiple=True, type=parse_param, metavar="NAME=VALUE",
                 help="A parameter of the engine; may be given again."),
    allow_separation,
    seed,
    click.option("--threads", type=click.IntRange(min=1), help="Threads of the engine."),
)  # fmt: skip
