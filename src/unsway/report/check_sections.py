"""Sections about data and method: overlap, balance, robustness, limits, settings, citing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..auditing.verdict import Level, level_of
from . import charts
from .audit_facts import AuditFacts
from .page import Chart, Check, Checks, Fact, Facts, Section, Words
from .words import Table, count, distinct, estimate, interval, number, percent, points, shown

#: Lines of a love plot; those that differ most.
MOST_LINES = 25
#: Standardised differences beyond this are large (Austin 2009).
LARGE = 0.1
#: Weightings in the order they are drawn, with their names; others follow.
WEIGHTINGS = {"raw": "as they are", "overlap": "overlap weights"}

ASSUMED = (
    "No common cause of the sensitive attribute and the outcome is missing from the covariates, "
    "nor of the covariates and the outcome.",
    "Whatever goes through the covariates counts as fair. If a covariate should not be used, "
    "leave it out and audit again.",
    "People of both groups with the same covariates can be compared: both groups are found at "
    "every propensity that matters.",
    "The rows are drawn from the people the model will judge.",
)
NOT_CHECKED = (
    "Whether the labels themselves are right: an unfair label is taken as it is.",
    "Whether the covariates were measured equally well in both groups.",
    "Groups other than the two compared here, and combinations of attributes.",
    "What decisions do to people later.",
)


# --- overlap and balance --------------------------------------------------------------------------


def overlap_section(audit: AuditFacts) -> Section:
    """Show whether the groups can be compared at all."""
    causal = audit.causal or {}
    seen = causal["labels"]["overlap"]
    low, high = seen["bounds"]
    first, second = audit.groups
    sizes = seen["effective_sample_size_overlap"]
    lead = (
        f"{percent(seen['share_outside'])} of the rows have a propensity outside [{low:g}, "
        f"{high:g}], where almost everyone is of one group. Where the groups overlap there is the "
        f"worth of {count(sizes[1])} rows of {second} and {count(sizes[0])} of {first}. From the "
        f"covariates the group can be told with an AUC of {number(seen['auc'])}."
    )
    return Section(
        "overlap",
        "Overlap and balance",
        lead,
        [_overlap(seen, audit), *_balance(causal.get("balance") or {})],
    )


def _overlap(seen: Mapping[str, Any], audit: AuditFacts) -> Chart:
    edges, (zeros, ones) = seen["histogram"]["edges"], seen["histogram"]["densities"]
    first, second = audit.groups
    bins = list(zip(edges[:-1], edges[1:], zeros, ones, strict=True))
    rows = [
        {"low": a, "high": b, "group": group, "density": density, "height": sign * density}
        for group, sign, place in ((second, 1, 3), (first, -1, 2))
        for a, b, density in ((each[0], each[1], each[place]) for each in bins)
    ]
    cells = [
        (f"{number(a, 2)} to {number(b, 2)}", number(zero), number(one)) for a, b, zero, one in bins
    ]
    return Chart(
        "overlap",
        f"Propensity of {second} (upwards) and {first} (downwards)",
        "Two histograms of the propensity score, one upwards and one downwards; where both have "
        "bars the groups can be compared.",
        charts.overlap(rows, audit.groups, seen["bounds"]),
        Table("Density by propensity", ("propensity", first, second), cells),
    )


def _balance(found: Mapping[str, Any]) -> Iterator[Chart]:
    names = [name for name in WEIGHTINGS if name in found]
    if not names:
        return
    sizes = {
        name: {
            column: abs(line["standardized_difference"])
            for column, line in found[name]["columns"].items()
            if line["standardized_difference"] is not None
        }
        for name in names
    }
    every = list(found[names[0]]["columns"])
    order = sorted(sizes[names[0]], key=lambda column: -sizes[names[0]][column])
    kept = order[:MOST_LINES]
    labels = dict(zip(kept, distinct(kept, 40), strict=True))
    rows = [
        {"column": labels[column], "weighting": WEIGHTINGS[name], "size": sizes[name][column]}
        for column in kept
        for name in names
        if column in sizes[name]
    ]
    part = f", the {len(kept)} largest of {len(every)}" if len(kept) < len(every) else ""
    yield Chart(
        "balance",
        f"How far the groups differ, column by column{part}",
        "For each column a mark per weighting: the absolute standardised difference between the "
        f"groups. Beyond the dotted line at {LARGE:g} a difference is large.",
        charts.balance(rows, LARGE),
        Table(
            "Absolute standardised differences",
            ("column", *(WEIGHTINGS[name] for name in names)),
            [(labels[c], *(number(sizes[name].get(c)) for name in names)) for c in kept],
        ),
    )


# --- robustness -----------------------------------------------------------------------------------


def robustness_section(audit: AuditFacts) -> Section | None:
    """Say how strong something unmeasured would have to be."""
    found = (audit.causal or {}).get("sensitivity")
    if not found:
        return None
    effect = found["effect"]
    lead = (
        f"By linear regression the direct effect on the labels is {estimate(effect)} percentage "
        "points. To bring it to zero, something that the covariates do not hold would have to "
        f"explain {percent(found['robustness_value'])} of what is left of both the sensitive "
        "attribute and the labels; "
        f"{percent(found['robustness_value_alpha'])} of both would do to make it pass for chance."
    )
    return Section("robustness", "What could be missing", lead, list(_benchmarks(found)))


def _benchmarks(found: Mapping[str, Any]) -> Iterator[Table]:
    known = [row for row in found["benchmarks"] if row["estimate"] is not None]
    once = sorted(
        (row for row in known if row["strength"] == 1), key=lambda row: abs(row["estimate"])
    )[:10]
    if not once:
        return
    names = distinct(row["benchmark"] for row in once)
    yield Table(
        "Were something unmeasured as strong as a column that was measured, it would leave",
        ("as strong as", "explains of z", "explains of y", "effect left, points", "interval"),
        [
            (
                name,
                percent(row["r2_z"], 2),
                percent(row["r2_y"], 2),
                points(row["estimate"]),
                interval(row["low"], row["high"]),
            )
            for name, row in zip(names, once, strict=True)
        ],
    )


# --- what was checked, and what was not -----------------------------------------------------------


def checks_section(
    audit: AuditFacts, checked: Sequence[Check] = (), notes: Sequence[str] = ()
) -> Section:
    """List the findings, the assumptions, and what nobody looked at; others' may come first."""
    verdict = (audit.causal or {}).get("verdict") or {}
    findings = [Check(level_of(each), each["sentence"]) for each in verdict.get("findings", ())]
    notes = [*notes, *(audit.causal or {}).get("notes", ())]
    if audit.missing:
        notes.insert(0, f"The direct effect was not judged: {audit.missing}.")
    given = (audit.causal or {}).get("rows_given")
    used = (audit.causal or {}).get("rows")
    if given and used and used < given:
        notes.append(f"Effects were estimated on {count(used)} of the {count(given)} rows.")
    return limits([*checked, *findings], notes)


def limits(checked: Sequence[Check], notes: Sequence[str]) -> Section:
    """Return the section of findings, assumptions and limits."""
    unknown: Level = "unknown"
    lists = [
        Checks("Checked on these rows", checked),
        Checks("To keep in mind", [Check("caution", _sentence(note)) for note in notes]),
        Checks("Assumed, and not to be seen in data", [Check(unknown, each) for each in ASSUMED]),
        Checks("Not checked", [Check(unknown, each) for each in NOT_CHECKED]),
    ]
    return Section(
        "limits",
        "Assumptions, checks and limits",
        "A direct effect is a causal statement. It holds as far as the assumptions do.",
        [each for each in lists if each.checks],
    )


def _sentence(text: str) -> str:
    text = shown(text, 600)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


# --- settings and citing --------------------------------------------------------------------------


def settings_section(lead: str, facts: Mapping[str, Any]) -> Section:
    """Show what the report was made from."""
    return Section(
        "settings",
        "Data and settings",
        lead,
        [Facts([Fact(shown(name), _setting(value)) for name, value in facts.items()])],
    )


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
        return shown(", ".join(_setting(each) for each in value), 300) if value else "–"
    if isinstance(value, Mapping):
        return shown(", ".join(f"{name}: {_setting(each)}" for name, each in value.items()), 300)
    return shown(value, 300)


def citing_section(version: str) -> Section:
    """Say how to cite the report and the method."""
    return Section(
        "citing",
        "How to cite",
        "",
        [
            Words(
                [
                    f"Made with unsway {version}, models without the direct effect of a sensitive "
                    "attribute (The unsway developers, BSD 3-Clause).",
                    "Method: Di Stefano, P. G., Hickey, J. M. & Vasileiou, V. (2020). "
                    "Counterfactual fairness: removing direct effects through regularization. "
                    "arXiv:2002.10774.",
                    "Effects: Pearl, J. (2001). Direct and indirect effects. UAI. Chernozhukov, V. "
                    "et al. (2018). Double/debiased machine learning for treatment and structural "
                    "parameters. Econometrics Journal 21(1).",
                ]
            )
        ],
    )
