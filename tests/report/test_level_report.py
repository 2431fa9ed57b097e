"""The page of an audit by levels: a figure and tables, and nothing from the data unescaped."""

import numpy as np
import pytest

pytest.importorskip("jinja2")

from sklearn.linear_model import LogisticRegression

from unsway import audit, write_audit_report
from unsway.effects import Estimate
from unsway.report.level_report import draw_levels

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    rng = np.random.default_rng(0)
    X, z = rng.normal(size=(900, 1)), rng.choice(["a", "b", HOSTILE], 900).astype(object)
    z[:60], z[60:64] = "rare", "four"
    y, linear = rng.random(900) < 0.5, LogisticRegression()
    found = audit(
        y,
        1 / (1 + np.exp(-X[:, 0])),
        sensitive_features=z,
        X=X,
        outcome_model=linear,
        propensity_model=linear,
        baseline=np.full(900, 0.4),
        about={"file": HOSTILE},
    )
    path = tmp_path_factory.mktemp("page") / "a.html"
    return write_audit_report(found, path, owner=HOSTILE).read_text("utf-8")


def test_the_page_has_a_row_for_each_level(page):
    assert page.count("<svg") == 1
    for text in (
        "Direct effect in the scores",
        "of a blind model",
        "Each level",
        "Effects on the labels",
        "Overlap",
        "Compared with the baseline",
        "at once",
    ):
        assert text in page


def test_levels_of_few_rows_are_grey_and_of_very_few_without_figures(page):
    grey = page.split('<tr class="muted">')[1:]
    assert {row.split("</th>")[0].split(">")[1] for row in grey} == {"rare", "rare *", "four *"}
    assert "&lt;10" in page
    assert "which would tell of people" in page


def test_names_of_levels_are_text(page):
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_a_picture_places_estimates_from_left_to_right():
    low, high = Estimate(-0.1, 0.01, -0.12, -0.08), Estimate(0.2, 0.01, 0.18, 0.22)
    picture = draw_levels(["a", "b"], [low, high])
    first, second = (float(part.split('"')[0]) for part in picture.split('cx="')[1:])
    assert first < second
    assert "+22.0" in picture
