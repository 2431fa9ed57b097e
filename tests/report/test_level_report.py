"""The page of an audit by levels: a figure and tables, and nothing from the data unescaped."""

import numpy as np
import pytest

pytest.importorskip("jinja2")

from sklearn.linear_model import LogisticRegression

from unsway import audit_levels
from unsway.effects import Estimate
from unsway.report.level_report import draw_levels, write_level_report

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    rng = np.random.default_rng(0)
    X, z = rng.normal(size=(900, 1)), rng.choice(["a", "b", HOSTILE], 900)
    y, linear = rng.random(900) < 0.5, LogisticRegression()
    models = {"outcome_model": linear, "propensity_model": linear}
    found = audit_levels(y, np.full(900, 0.4), sensitive_features=z, X=X, **models)
    return write_level_report(found, tmp_path_factory.mktemp("page") / "a.html").read_text("utf-8")


def test_the_page_has_a_row_for_each_level(page):
    assert page.count("<svg") == 1
    for text in ("Direct effect left by level", "Each level", "Effects on the labels", "Overlap"):
        assert text in page


def test_names_of_levels_are_text(page):
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_a_picture_places_estimates_from_left_to_right():
    low, high = Estimate(-0.1, 0.01, -0.12, -0.08), Estimate(0.2, 0.01, 0.18, 0.22)
    picture = draw_levels(["a", "b"], [low, high])
    first, second = (float(part.split('"')[0]) for part in picture.split('cx="')[1:])
    assert first < second
    assert "+22.0" in picture
