"""The report of a search for less discriminatory alternatives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..auditing.numbers import number, signed
from ..files import check_writable, write_atomically
from . import charts
from .data_sections import closing_sections
from .html import Block, Chart, KeyNumber, Page, Section, Table, Text
from .words import count, percent, shown

#: Candidates that the table of everything tried lists at most; the record has all.
MOST = 500
#: Measures of the test rows, as the page names them.
NAMES = {
    "auc": "AUC",
    "ks": "KS",
    "profit": "profit per person",
    "adverse_impact_ratio": "adverse impact ratio",
    "direct_effect_left": "direct effect left",
    "pass_through": "pass-through",
}
_SETS = ("enters", "leaves")


def write_alternatives_report(found: Any, path: str | Path, *, title: str | None = None) -> Path:
    """Write a search as one HTML file that opens from disk and asks the network for nothing.

    Parameters
    ----------
    found : Alternatives
        What `search_alternatives` found.
    path : path
        The file; it is written whole or not at all.
    title : str, optional
        What the report is about.

    Returns
    -------
    Path
    """
    check_writable(path)
    return write_atomically(path, alternatives_page(found, title).render())


def alternatives_page(found: Any, title: str | None = None) -> Page:
    """Return the report of a search."""
    tried = len(found.candidates)
    return Page(
        kicker="Less discriminatory alternatives",
        title=shown(title, 200) if title else "Search for less discriminatory alternatives",
        lead=f"{count(tried)} candidates against a champion, chosen on validation rows and looked "
        f"at once on {count(found.judged.rows)} test rows.",
        numbers=list(_key_numbers(found)),
        sections=list(_sections(found)),
        data=found.to_dict(),
    )


def _key_numbers(found: Any) -> Iterator[KeyNumber]:
    """Yield axis and utility of winner and champion on test rows, and the bound."""
    champion = found.judged.test[found.champion.name]
    best = champion if found.winner is None else found.judged.test[found.winner.name]
    for name in (found.settings["axis"], found.settings["utility"]):
        if name in best and name in champion:
            ends = f"{number(best[name].low)} to {number(best[name].high)}"
            before = f"champion {number(champion[name].estimate)}"
            yield KeyNumber(_named(name), number(best[name].estimate), f"{ends}; {before}")
    yield KeyNumber("one more candidate is better", f"≤ {percent(found.bound)}", "chance, bound")


def _sections(found: Any) -> Iterator[Section]:
    limit = found.settings["max_utility_loss"]
    axis, utility = (_named(found.settings[name]) for name in ("axis", "utility"))
    lead = (
        f"Each dot is a candidate on validation rows. Allowed are those that lose at most "
        f"{limit:g} of {utility}; of these the best {axis} wins."
    )
    yield Section("found", "What was found", "", [Text("", [found.verdict])])
    yield Section("candidates", "Candidates", lead, [_cloud(found), _front(found)])
    if found.finalists:
        yield Section(
            "finalists",
            "Finalists on test rows",
            "Champion and finalists on rows that took part in no training and no choice.",
            list(_finalists(found)),
        )
        yield Section(
            "swaps",
            "Who enters and who leaves",
            "People whose decision changes if a finalist replaces the champion at the same "
            "approval rate, with the share of bad labels among them.",
            [_swaps(found), *_stability(found)],
        )
    yield Section(
        "stopping",
        "Why the search stopped",
        "",
        [Text("", [f"Because {found.why_stopped}.", found.statement, *found.notes])],
    )
    yield Section("tried", "Everything tried", "", [_tried(found)])
    yield from closing_sections(
        "What was stated beforehand, and the data.",
        {
            **found.settings,
            "distribution": found.space,
            "data hashes": found.fingerprint.get("data"),
        },
    )


def _cloud(found: Any) -> Chart:
    axis, utility = found.settings["axis"], found.settings["utility"]
    final = {each.number for each in found.finalists}
    fine = [each for each in (found.champion, *found.candidates) if not each.error]
    rows = [
        {
            "x": each.value(utility),
            "y": each.value(axis),
            "kind": _kind(each, final),
            "name": each.name,
            "strength": each.settings["strength"],
        }
        for each in fine
    ]
    least = found.champion.value(utility) - found.settings["max_utility_loss"]
    x, y = _named(utility), _named(axis)
    return Chart(
        "cloud",
        f"{x} and {y} of every candidate, on validation rows",
        f"A cloud of {len(rows)} dots: {x} to the right, {y} upwards. The line is the least {x} "
        "that is allowed.",
        charts.cloud(rows, x, y, least),
        Table(
            "Candidates of the chart",
            ("candidate", "kind", "strength", x, y),
            [
                (r["name"], r["kind"], number(r["strength"], 2), number(r["x"]), number(r["y"]))
                for r in rows[:MOST]
            ],
        ),
    )


def _kind(candidate: Any, final: set[int]) -> str:
    if candidate.name == "champion":
        return "champion"
    return "finalist" if candidate.number in final else "candidate"


def _front(found: Any) -> Table:
    axis, utility = found.settings["axis"], found.settings["utility"]
    return Table(
        "The frontier: candidates that no other beats in both, on validation rows",
        ("candidate", "engine", "columns", "strength", _named(utility), _named(axis)),
        [
            (
                each.name,
                shown(each.settings["engine"]),
                shown(each.settings["features"]),
                number(each.settings["strength"], 2),
                number(each.value(utility)),
                number(each.value(axis)),
            )
            for each in found.front
        ],
    )


def _finalists(found: Any) -> Iterator[Table]:
    judged = found.judged
    measures = [name for name in NAMES if any(name in each for each in judged.test.values())]
    heads = ("", *(_named(name) for name in measures))
    yield Table(
        "Each number with its own interval",
        heads,
        [
            (model, *(_cell(each.get(name)) for name in measures))
            for model, each in judged.test.items()
        ],
    )
    yield Table(
        "Against the champion, paired; of the adverse impact ratio the quotient",
        heads,
        [
            (
                model,
                *(_cell(each.get(name), sign=name != "adverse_impact_ratio") for name in measures),
            )
            for model, each in judged.against_champion.items()
        ],
    )
    several = [name for name in measures if name in next(iter(judged.simultaneous.values()))]
    yield Table(
        "Intervals that hold for all finalists at once",
        ("", *(_named(name) for name in several)),
        [
            (model, *(_cell(each[name]) for name in several))
            for model, each in judged.simultaneous.items()
        ],
    )
    rows = [("as if it had not been chosen", judged.validation)]
    rows.append(("for the best of all candidates", judged.corrected))
    yield Table(
        "The winner on the validation rows it was chosen on",
        ("interval", *(_named(name) for name in several)),
        [(name, *(_cell(each.get(key)) for key in several)) for name, each in rows],
    )


def _swaps(found: Any) -> Table:
    levels = dict(enumerate(found.search.test.groups.names))
    rows: list[Sequence[str]] = []
    for model, swaps in found.judged.swaps.items():
        for cell in swaps.cells:
            if cell.set in _SETS:
                level = cell.level if cell.level == "overall" else levels[int(cell.level)]
                rows.append(
                    (f"{model}: {cell.set}", shown(level), count(cell.n), _cell(cell.bad_rate))
                )
    return Table("Swap sets", ("", "level", "people", "share of bad labels"), rows)


def _stability(found: Any) -> Iterator[Block]:
    for title, flips in (
        ("Decisions that differ between finalists", found.judged.flips),
        ("Decisions that differ with the seed of the winner", found.judged.seeds),
    ):
        if flips is not None:
            yield Table(
                title,
                ("models", "people whose decision differs"),
                [
                    (" / ".join(pair), _cell(levels["overall"]))
                    for pair, levels in flips.pairs.items()
                ],
            )


def _tried(found: Any) -> Table:
    axis, utility = found.settings["axis"], found.settings["utility"]
    return Table(
        f"The first {MOST} candidates in the order of their draws"
        if len(found.candidates) > MOST
        else "All candidates in the order of their draws",
        ("candidate", "engine", "columns", "strength", "settings", _named(utility), _named(axis),
         "scores (SHA-256)"),
        [
            (
                each.name,
                shown(each.settings["engine"]),
                shown(each.settings["features"]),
                number(each.settings["strength"], 2),
                shown(_params(each.settings["params"]), 120),
                number(each.value(utility)),
                number(each.value(axis)),
                shown(each.error, 80) if each.error else each.fingerprint[:12],
            )
            for each in (found.champion, *found.candidates[:MOST])
        ],
    )  # fmt: skip


def _params(params: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in params.items()
    )


def _named(measure: str) -> str:
    return NAMES.get(measure, measure.replace("_", " "))


def _cell(each: Any, *, sign: bool = False) -> str:
    """Return an estimate with its interval."""
    if each is None:
        return "–"
    write = signed if sign else number
    return f"{write(each.estimate)} ({write(each.low)} to {write(each.high)})"
