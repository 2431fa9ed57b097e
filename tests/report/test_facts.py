import pytest
from report.conftest import make_frontier

from unsway.report.facts import AuditFacts, FrontierFacts
from unsway.report.html import Moving
from unsway.report.views import Views


@pytest.fixture
def views():
    return Views(FrontierFacts.of(make_frontier([0.0, 0.5, 0.95])).points, 1)


def test_a_text_has_a_version_per_strength_unless_all_are_the_same(views):
    assert views.text(lambda point: f"{point.strength:g}") == Moving(["0", "0.5", "0.95"], 1)
    assert views.text(lambda point: point.part) == "test"


def test_rows_know_the_position_they_belong_to(views):
    rows = views.rows(lambda point: [{"strength": point.strength}])
    assert [(row["strength"], row["position"]) for row in rows] == [(0.0, 0), (0.5, 1), (0.95, 2)]


def test_a_single_result_moves_nothing(views):
    alone = Views(views.each[:1])
    assert (alone.position, alone.when) == (None, "")
    assert views.position == 1


def test_the_direct_effect_left_of_a_strength_has_its_interval(views):
    assert views.first.direct == pytest.approx({"estimate": 0.002, "low": -0.008, "high": 0.012})
    assert views.first.label_direct == pytest.approx(0.1)


def test_an_audit_gives_a_measure_of_all_rows_unless_a_group_is_named(audited):
    facts = AuditFacts.of(audited)
    assert facts.metric("accuracy")["group"] == "overall"
    assert facts.metric("score_gap")["group"] == "between"
    assert facts.metric("recall", "z=1")["group"] == "z=1"
    assert facts.metric("no such measure")["estimate"] is None
