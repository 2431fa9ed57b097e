"""A group has one colour in every figure and chart."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import unsway
from unsway import audit, colours, make_synthetic, write_audit_report
from unsway.grouping import Grouping

pytest.importorskip("matplotlib").use("Agg")
pytest.importorskip("altair", reason="the report extra is not installed")

from matplotlib import pyplot  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402

from unsway.report import charts  # noqa: E402

SOURCE = Path(unsway.__file__).parent
NAMES = ("women", "men")


@pytest.fixture(scope="module")
def found():
    people = make_synthetic(600, random_state=0)
    return audit(
        people.y,
        people.fair_score,
        sensitive_features=np.array(NAMES)[people.z.astype(int)],
        X=people.X,
        groups=Grouping(reference=NAMES[0]),
        n_bootstrap=0,
        cv=2,
        propensity_model=LogisticRegression(),
        outcome_model=LogisticRegression(),
        score_model=LinearRegression(),
    )


@pytest.fixture(scope="module")
def page(found, tmp_path_factory):
    return write_audit_report(found, tmp_path_factory.mktemp("page") / "a.html").read_text("utf-8")


@pytest.fixture(autouse=True)
def close():
    yield
    pyplot.close("all")


def encodings(spec):
    """Yield every colour encoding of a chart."""
    if isinstance(spec, dict):
        if "color" in spec and isinstance(spec["color"], dict):
            yield spec["color"]
        for part in spec.values():
            yield from encodings(part)
    elif isinstance(spec, list):
        for part in spec:
            yield from encodings(part)


def colours_of(spec, name, page):
    """Return the colours a chart gives a group, as the light page shows them."""
    scales = [each["scale"] for each in encodings(spec) if each.get("field") == "group"]
    found = {scale["range"][scale["domain"].index(name)] for scale in scales}
    return {resolved(colour, page) for colour in found}


def resolved(colour, page):
    while variable := re.fullmatch(r"var\((--[a-z-]+)\)", colour):
        colour = re.search(rf"{variable[1]}: ([^;]+);", page)[1]
    return colour.lower()


def charts_of(page):
    data = re.search(r'<script type="application/json" id="report-data">(.*?)</script>', page, re.S)
    return json.loads(data[1])["charts"]


@pytest.mark.parametrize("z", [0, 1])
def test_figures_draw_a_group_in_its_colour(found, z):
    lines = [plot().containers[z].lines[0] for plot in (found.plot, found.calibration.plot)]
    bars = [
        bar
        for bar in found.causal.overlap.plot().patches
        if np.sign(bar.get_height()) == 2 * z - 1  # z = 1 stands above, z = 0 below
    ]
    drawn = [*(line.get_color() for line in lines), *(bar.get_facecolor() for bar in bars)]
    assert {to_hex(colour) for colour in drawn} == {colours.GROUPS[z].lower()}


@pytest.mark.parametrize("z", [0, 1])
@pytest.mark.parametrize("chart", ["groups", "calibration", "overlap"])
def test_charts_draw_a_group_in_the_colour_of_the_figures(page, chart, z):
    shown = colours_of(charts_of(page)[chart], NAMES[z], page)
    assert shown == {colours.GROUPS[z].lower()}


def test_the_two_groups_differ_in_colour():
    assert len(set(colours.GROUPS)) == 2


def test_a_group_keeps_its_colour_where_the_other_has_no_rows(page):
    row = {"measure": "recall", "group": "men", "estimate": 0.5, "low": 0.4, "high": 0.6}
    assert colours_of(charts.groups([row], NAMES), "men", page) == {colours.GROUPS[1].lower()}


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.name)
def test_colours_are_written_in_one_module(path):
    written = re.findall(r"\"#[0-9a-fA-F]{3,6}\"", path.read_text("utf-8"))
    assert not written or path.name == "colours.py"
