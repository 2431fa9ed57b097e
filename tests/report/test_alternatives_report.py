"""The page of a search holds its numbers, escapes its names, and draws in a browser."""

import numpy as np
import pytest

from unsway import FairLogisticRegression, make_synthetic, write_alternatives_report
from unsway.sweeps import search_alternatives

pandas = pytest.importorskip("pandas")
pytest.importorskip("altair")


@pytest.fixture(scope="module")
def found():
    people = make_synthetic(1_200, random_state=0)
    X = pandas.DataFrame(people.X[:, :6], columns=["<b>", *"abcde"])
    X["e"] = np.where(people.z == 1, X["e"] + 1, X["e"])
    return search_alternatives(
        FairLogisticRegression(), X, people.y, sensitive_features=people.z, n_candidates=6,
        feature_sets={"no <i>": list("abcde")}, max_utility_loss=0.2, n_seeds=1, effects=False,
    )  # fmt: skip


def test_the_page_says_what_was_found_at_which_cost_and_why_it_stopped(found, tmp_path):
    path = write_alternatives_report(found, tmp_path / "page.html", title="Loans <2026>")
    html = path.read_text("utf-8")
    assert "Loans &lt;2026&gt;" in html
    assert "no &lt;i&gt;" in html
    assert "<i>" not in html.replace("no &lt;i&gt;", "")
    assert "Why the search stopped" in html
    assert "all 6 candidates were tried" in html
    assert "Everything tried" in html
    assert found.candidates[3].fingerprint[:12] in html
    assert "chart-cloud" in html


def test_a_search_that_found_nothing_has_a_page_too(tmp_path):
    people = make_synthetic(800, random_state=1)
    nothing = search_alternatives(
        FairLogisticRegression(), people.X, people.y, sensitive_features=people.z, n_candidates=1,
        space={"strength": 0.0, "params": {"logistic": {}}}, effects=False,
    )  # fmt: skip
    assert nothing.winner is None
    html = write_alternatives_report(nothing, tmp_path / "page.html").read_text("utf-8")
    assert "No candidate" in html
    assert "Finalists on test rows" not in html
