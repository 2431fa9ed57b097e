"""Sections about data and method: overlap, balance, robustness, limits, settings, citing."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from heapq import nlargest, nsmallest
from itertools import pairwise
from typing import Any

from .. import __version__
from ..auditing.numbers import number, points
from ..auditing.verdict import level_of
from . import charts
from .facts import AuditFacts
from .html import Chart, Check, Checks, Facts, Section, SignOff, Table, Text, read_template
from .words import count, distinct, estimate, interval, percent, shown

#: Lines of a love plot; those that differ most.
MOST_LINES = 25
#: Standardised differences beyond this are large (Austin 2009).
LARGE = 0.1
#: Weightings in the order they are drawn, with their names.
WEIGHTINGS = {"raw": "as they are", "overlap": "overlap weights"}

#: Fixed texts of the last sections.
TEXTS = tomllib.loads(read_template("texts.toml"))


def data_sections(
    audit: AuditFacts | None,
    basis: Text | Checks,
    checked: Sequence[Check] = (),
    notes: Sequence[str] = (),
) -> Iterator[Section]:
    """Yield the sections about the data, which no strength changes.

    Parameters
    ----------
    audit : AuditFacts or None
        What has looked at the data, if anything has.
    basis : Text or Checks
        What the decision rests on.
    checked, notes : sequences
        What else was checked, and what else to keep in mind.
    """
    causal = audit.causal if audit is not None else {}
    if audit is not None and causal:
        yield _overlap_section(audit)
    if causal.get("sensitivity"):
        yield _robustness_section(causal["sensitivity"])
    findings = (causal.get("verdict") or {}).get("findings", ())
    found = [Check(level_of(each), each["sentence"]) for each in findings]
    notes = [*notes, *(audit.notes if audit is not None else ())]
    yield _limits_section(basis, [*checked, *found], notes)


# --- overlap and balance --------------------------------------------------------------------------


def _overlap_section(audit: AuditFacts) -> Section:
    """Show whether the groups can be compared at all."""
    seen = audit.causal["labels"]["overlap"]
    low, high = seen["bounds"]
    first, second = audit.groups
    sizes = seen["effective_sample_size_overlap"]
    lead = (
        f"{percent(seen['share_outside'])} of the rows have a propensity outside [{low:g}, "
        f"{high:g}], where almost everyone is of one group. Where the groups overlap there is the "
        f"worth of {count(sizes[1])} rows of {second} and {count(sizes[0])} of {first}. From the "
        f"covariates the group can be told with an AUC of {number(seen['auc'])}."
    )
    blocks = [_overlap(seen, audit), _balance(audit.causal["balance"])]
    return Section("overlap", "Overlap and balance", lead, blocks)


def _overlap(seen: Mapping[str, Any], audit: AuditFacts) -> Chart:
    bins, densities = list(pairwise(seen["histogram"]["edges"])), seen["histogram"]["densities"]
    first, second = audit.groups
    rows = [
        {"low": low, "high": high, "group": group, "density": size, "height": sign * size}
        for group, sign, sizes in zip(audit.groups, (-1, 1), densities, strict=True)
        for (low, high), size in zip(bins, sizes, strict=True)
    ]
    cells = [
        (f"{number(low, 2)} to {number(high, 2)}", *map(number, sizes))
        for (low, high), *sizes in zip(bins, *densities, strict=True)
    ]
    return Chart(
        "overlap",
        f"Propensity of {second} (upwards) and {first} (downwards)",
        "Two histograms of the propensity score, one upwards and one downwards; where both have "
        "bars the groups can be compared.",
        charts.overlap(rows, audit.groups, seen["bounds"]),
        Table("Density by propensity", ("propensity", first, second), cells),
    )


def _balance(found: Mapping[str, Any]) -> Chart:
    sizes = {
        title: {
            column: abs(line["standardized_difference"])
            for column, line in found[name]["columns"].items()
            if line["standardized_difference"] is not None
        }
        for name, title in WEIGHTINGS.items()
    }
    raw, n_columns = sizes[WEIGHTINGS["raw"]], len(found["raw"]["columns"])
    kept = nlargest(MOST_LINES, raw, key=raw.__getitem__)
    labels = dict(zip(kept, distinct(kept, 40), strict=True))
    rows = [
        {"column": label, "weighting": title, "size": by_column[column]}
        for column, label in labels.items()
        for title, by_column in sizes.items()
        if column in by_column
    ]
    part = f", the {len(kept)} largest of {n_columns}" if len(kept) < n_columns else ""
    return Chart(
        "balance",
        f"How far the groups differ, column by column{part}",
        "For each column a mark per weighting: the absolute standardised difference between the "
        f"groups. Beyond the dotted line at {LARGE:g} a difference is large.",
        charts.balance(rows, LARGE),
        Table(
            "Absolute standardised differences",
            ("column", *sizes),
            [(labels[c], *(number(each.get(c)) for each in sizes.values())) for c in kept],
        ),
    )


# --- robustness -----------------------------------------------------------------------------------


def _robustness_section(found: Mapping[str, Any]) -> Section:
    """Say how strong something unmeasured would have to be."""
    lead = (
        f"By linear regression the direct effect on the labels is {estimate(found['effect'])} "
        "percentage points. To bring it to zero, something that the covariates do not hold would "
        f"have to explain {percent(found['robustness_value'])} of what is left of both the "
        f"sensitive attribute and the labels; {percent(found['robustness_value_alpha'])} of both "
        "would do to make it pass for chance."
    )
    return Section("robustness", "What could be missing", lead, list(_benchmarks(found)))


def _benchmarks(found: Mapping[str, Any]) -> Iterator[Table]:
    known = (row for row in found["benchmarks"] if row["estimate"] is not None)
    once = (row for row in known if row["strength"] == 1)
    rows = nsmallest(10, once, key=lambda row: abs(row["estimate"]))
    names = distinct(row["benchmark"] for row in rows)
    cells = [
        (
            name,
            percent(row["r2_z"], 2),
            percent(row["r2_y"], 2),
            points(row["estimate"]),
            interval(row),
        )
        for name, row in zip(names, rows, strict=True)
    ]
    if rows:
        yield Table(
            "Were something unmeasured as strong as a column that was measured, it would leave",
            ("as strong as", "explains of z", "explains of y", "effect left, points", "interval"),
            cells,
        )


# --- what was checked, and what was not -----------------------------------------------------------


def _limits_section(
    basis: Text | Checks, checked: Sequence[Check], notes: Sequence[str]
) -> Section:
    """Say what the decision rests on; list findings, assumptions, and what nobody looked at."""
    lists = {
        "Checked on these rows": checked,
        "To keep in mind": [Check("caution", _sentence(note)) for note in notes],
    }
    for heading, texts in TEXTS["limits"].items():
        lists[heading] = [Check("unknown", text) for text in texts]
    return Section(
        "limits",
        "Assumptions, checks and limits",
        "A direct effect is a causal statement. It holds as far as the assumptions do.",
        [basis, *(Checks(heading, checks) for heading, checks in lists.items() if checks)],
    )


def _sentence(text: str) -> str:
    text = shown(text, 600)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


# --- settings and citing --------------------------------------------------------------------------


def closing_sections(lead: str, settings: Mapping[str, Any]) -> list[Section]:
    """Show what the report was made from, and how to cite it."""
    facts = Facts(dict(zip(distinct(settings), map(_setting, settings.values()), strict=True)))
    citing = Text("", [text.format(version=__version__) for text in TEXTS["citing"]])
    return [
        Section("settings", "Data and settings", lead, [facts]),
        Section("citing", "How to cite", "", [citing]),
    ]


def sign_off(owner: str | None) -> Section:
    """Return lines to sign."""
    named = f"Owner: {shown(owner, 200)}" if owner else "Owner"
    roles = (named, "Validated by", "Approved by")
    return Section("signatures", "Sign-off", "", [SignOff(roles)])


def _setting(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, (list, tuple)):
        return shown(", ".join(map(_setting, value)), 300) if value else "–"
    if isinstance(value, Mapping):
        return shown(", ".join(f"{name}: {_setting(each)}" for name, each in value.items()), 300)
    return shown(value, 300)
