"""Results show themselves in a notebook: charts and tables, light or dark, everything escaped."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from unsway import (
    FairLogisticRegression,
    FairXGBClassifier,
    Grouping,
    audit,
    balance,
    compare,
    display,
    effect_curve,
    estimate_effects,
    frontier,
    make_world,
    mean_field,
    svg,
)

WORLD = make_world("adult", 1_200, random_state=0)
HOSTILE = "<script>alert(1)</script> & \"'"
Z = np.where(WORLD.z == 1, HOSTILE, "other")
GROUPS = Grouping(reference="other")
CLASSES = (
    "Effects", "GapParts", "Overlap", "Balance", "EffectCurve", "MeanField", "Verdict", "Audit",
    "Comparison", "Frontier", "Choice", "ModelSummary",
)  # fmt: skip

#: Results without a chart.
TABLES = ("MeanField", "Verdict", "Choice", "ModelSummary")


@pytest.fixture(scope="module")
def results():
    """Return a result of every kind by the name of its class."""
    X, y, fair = WORLD.X, WORLD.y, WORLD.fair_score
    about = {"sensitive_features": Z, "groups": GROUPS}
    quick = {"n_bootstrap": 10, "cv": 2}
    effects = estimate_effects(X, y, cv=2, **about)
    b, mu = effects.nuisances.propensity, effects.nuisances.outcome
    audited = audit(y, fair, X=X, baseline=np.sqrt(fair), **about, **quick)
    model = FairLogisticRegression(l2=1e-3)
    swept = frontier(model, X, y, strengths=[0, 1], effects={"cv": 2}, sensitive_features=WORLD.z)
    found = [
        effects,
        effects.gap_parts(fair),
        effects.overlap,
        balance(X, propensity=b, **about),
        effect_curve(X, y, nuisances=effects.nuisances, **about),
        mean_field(effects.nuisances.effect, b, y=y, mu0=mu[:, 0], **about),
        audited.causal.verdict,
        audited,
        compare(y, {HOSTILE: fair, "root": np.sqrt(fair)}, X=X, **about, **quick),
        swept,
        swept.select("knee"),
        swept.model(1.0).summary(),
    ]
    return {type(each).__name__: each for each in found}


class Reader(HTMLParser):
    """Notes the tags of a page, and whether each is closed."""

    def __init__(self):
        super().__init__()
        self.open, self.tags = [], set()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag not in ("meta", "br", "line", "circle", "rect", "polyline", "polygon"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def read(page):
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return reader.tags


@pytest.mark.parametrize("kind", CLASSES)
def test_a_result_shows_itself_without_a_script_and_without_the_network(kind, results):
    page = results[kind]._repr_html_()
    assert "script" not in read(page)
    assert not re.search(r"https?://(?!www\.w3\.org)|src=|@import|url\(|\son\w+=", page)
    assert HOSTILE not in page
    assert "prefers-color-scheme:dark" in page


@pytest.mark.parametrize(
    "kind",
    [name for name in CLASSES if name not in TABLES],
)
def test_a_chart_is_sound_and_has_a_text_for_who_cannot_see_it(kind, results):
    charts = re.findall(r"<svg.*?</svg>", results[kind]._repr_html_(), flags=re.DOTALL)
    assert charts
    for chart in charts:
        root = ElementTree.fromstring(chart)  # noqa: S314, our own
        assert root.attrib["aria-label"]
        assert "nan" not in chart
        width = float(root.attrib["viewBox"].split()[2])
        for dot in root.iter("circle"):
            assert 0 <= float(dot.attrib["cx"]) <= width


def test_an_audit_as_a_page_holds_its_verdict(results):
    page = results["Audit"].to_html()
    assert page.startswith("<!DOCTYPE html>")
    read(page.removeprefix("<!DOCTYPE html>\n"))
    assert display.paragraph(results["Audit"].verdict) in page
    assert "default-src 'none'" in page


def test_an_audit_without_covariates_says_so():
    found = audit(WORLD.y, WORLD.fair_score, sensitive_features=Z, groups=GROUPS, n_bootstrap=0)
    assert "No causal part: X was not given" in found._repr_html_()


def test_a_table_of_a_notebook_has_the_first_rows_of_a_long_one():
    page = display.table({"row": list(range(100))})
    assert page.count("<tr>") == display.SHOWN + 2
    assert "… 40 more rows" in page


def test_numbers_that_are_not_known_leave_a_cell_empty():
    page = display.table({"x": [None, float("nan"), 2, -0.5]})
    assert re.findall(r"<td>(.*?)</td>", page) == ["", "", "2", "−0.5"]


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.0), (-1e-9, 1e-9), (3.0, 3.0), (-5e6, 2e6)])
def test_every_axis_has_ticks_within_its_ends(low, high):
    axis = svg.Axis.of([low, high, float("nan")], 0, 100)
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 7
    assert all(axis.low <= tick <= axis.high for tick in ticks)
    assert [axis.place(tick) for tick in ticks] == sorted(axis.place(tick) for tick in ticks)


def test_infinite_ends_of_an_interval_reach_the_end_of_the_axis():
    chart = svg.intervals(
        [svg.Interval(label="share", estimate=0.5, low=-np.inf, high=0.7)], title="share"
    )
    line = re.search(r'<line x1="([\d.]+)".*?x2="([\d.]+)".*?class="s0 thick"/>', chart)
    assert "inf" not in chart
    assert line


def test_a_booster_is_summed_up_by_its_importances():
    model = FairXGBClassifier(n_jobs=1).fit(WORLD.X, WORLD.y, sensitive_features=WORLD.z)
    assert "importance" in model.summary()._repr_html_()
