"""Audits and comparisons of models by the levels of a sensitive attribute with three or more."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from unsway import Grouping, audit, compare
from unsway.auditing.level_decisions import worst_level
from unsway.auditing.level_measures import auc_mean
from unsway.auditing.verdict import Decision

LINEAR = {"outcome_model": LogisticRegression(), "propensity_model": LogisticRegression()}


class World:
    """Three levels with shares of about 55, 30 and 15 %, whose truth is known."""

    def __init__(self, n=4_000):
        rng = np.random.default_rng([0, 11])
        self.X = rng.normal(size=(n, 2))
        odds = np.log([0.55, 0.3, 0.15]) + self.X @ [[0, 0.6, -0.4], [0, -0.3, 0.6]]
        b = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
        codes = (b.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(0, 2)
        mu = expit(0.8 * self.X[:, [0]] + [[0, -0.8, 0.9]])
        self.fair, self.blind = mu.mean(axis=1), (b * mu).sum(axis=1)
        self.own = mu[np.arange(n), codes]
        self.y = (rng.random(n) < self.own).astype(int)
        self.z = np.array(["a", "b", "c"])[codes]

    def audit(self, score, z=None, **given):
        z = self.z if z is None else z
        return audit(self.y, score, sensitive_features=z, X=self.X, **{**LINEAR, **given})


@pytest.fixture(scope="module")
def world():
    return World()


@pytest.fixture(scope="module")
def found(world):
    return world.audit(world.own, baseline=world.fair, favourable=1)


def test_an_audit_has_a_row_for_each_level(world, found):
    frame = found.to_frame()
    assert frame["level"].tolist() == ["a", "b", "c"]
    assert frame["rows"].sum() == 4_000
    inside = world.z == "b"
    line = frame.iloc[1]
    assert line["mean_score"] == pytest.approx(world.own[inside].mean())
    assert line["auc"] == pytest.approx(roc_auc_score(world.y[inside], world.own[inside]))
    assert line["selection_rate_low"] < (world.own[inside] > 0.5).mean()
    assert line["selection_rate_high"] > (world.own[inside] > 0.5).mean()
    read = json.loads(found.to_json())
    assert [each["level"] for each in read["groups"]] == ["a", "b", "c"]
    assert found.overall["accuracy"].estimate == pytest.approx(
        ((world.own > 0.5) == world.y).mean()
    )


def test_the_worst_level_is_named_by_the_decision_of_two_groups(found):
    assert found.worst == "c"
    assert found.decision.state == "direct effect"
    assert found.decision.headline.startswith("The scores hold a direct effect in favour of c")
    assert "that holds for 2 comparisons at once" in found.verdict
    assert "hold a direct effect for b too" in found.verdict
    assert found.decisions["b"].direct["high"] < 0
    assert "a blind reference model passes on" in found.verdict
    assert any("all 2 comparisons with a at once" in line for line in found.decision.basis)


def test_a_fair_score_is_not_said_to_hold_a_direct_effect(world):
    fair = world.audit(world.fair)
    assert {each.state for each in fair.decisions.values()} <= {"cannot tell", "below margin"}
    for level in ("b", "c"):
        assert fair.parts.direct[level].low < 0 < fair.parts.direct[level].high


def test_many_rows_call_a_fair_score_small():
    world = World(60_000)
    given = {"margin": 0.03, "max_rows_for_effects": None}
    fair = world.audit(world.fair, **given)
    assert fair.decision.state == "below margin"


def test_text_page_and_chart_say_the_same(found):
    text, page = found.to_text(), found.to_html()
    assert found.verdict in text
    assert "direct effect" in page
    assert len(found.plot().get_yticklabels()) == 2


def test_intervals_of_levels_are_wider_than_those_of_two(world, found):
    pair = world.audit(world.own, groups=Grouping(reference="a", only=["a", "b"]))
    one, several = pair.decision.direct, found.decisions["b"].direct
    assert several["high"] - several["low"] > one["high"] - one["low"]


def test_an_audit_without_covariates_says_what_is_missing(world):
    report = audit(world.y, world.fair, sensitive_features=world.z)
    assert report.left is None
    assert report.decision is None
    assert "X was not given" in report.verdict
    with pytest.raises(ValueError, match="there is no direct effect to draw"):
        report.plot()


def test_levels_of_few_rows_stay_in_the_table_without_effects(world):
    z = world.z.astype(object)
    z[:60], z[60:90], z[90:95] = "sixty", "thirty", "five"
    report = world.audit(world.fair, z)
    frame = report.to_frame().set_index("level")
    assert report.few_rows == ["five", "sixty", "thirty"]
    assert report.left_out == ("five", "thirty")
    assert np.isnan(frame.loc["thirty", "direct"])
    assert not np.isnan(frame.loc["sixty", "direct"])
    assert 0 < frame.loc["thirty", "positive_rate"] < 1
    for text in ("sixty *", "Too few rows to estimate effects: five, thirty", "Few rows"):
        assert text in report.to_text()


def test_intervals_of_shares_lie_between_0_and_1(world):
    z = world.z.astype(object)
    z[np.flatnonzero(world.y == 0)[:12]] = "none"
    line = world.audit(world.fair, z).to_frame().set_index("level").loc["none"]
    assert line["positive_rate"] == line["positive_rate_low"] == 0
    z[np.flatnonzero(world.y == 1)[:1]] = "none"
    line = world.audit(world.fair, z).to_frame().set_index("level").loc["none"]
    assert line["positive_rate_low"] == 0 < line["positive_rate"] < line["positive_rate_high"] < 1


def test_the_labels_of_very_few_people_are_not_told(world):
    z = world.z.astype(object)
    z[:5] = "five"
    report = world.audit(world.fair, z)
    line = next(each for each in report.table.to_records() if each["level"] == "five")
    assert {value for name, value in line.items() if name not in ("level", "rows", "few_rows")} == {
        None
    }
    assert "<10" in report.to_text()


def test_a_reference_of_few_rows_gives_no_effects(world):
    z = world.z.astype(object)
    z[:20] = "few"
    report = world.audit(world.fair, z, groups=Grouping(reference="few"))
    assert "at least 50 rows of the reference" in report.missing


@pytest.mark.parametrize("setting", [{"selection_rate": 0.2}, {"effect_interval": "bootstrap"}])
def test_settings_of_two_levels_are_refused(world, setting):
    with pytest.raises(ValueError, match="needs a sensitive attribute of two levels"):
        world.audit(world.fair, **setting)


def test_an_audit_takes_a_specification_and_clusters(world):
    groups = Grouping(reference="c", weights={"a": 0.5, "b": 0.25, "c": 0.25})
    report = world.audit(world.own, groups=groups, cluster=np.arange(4_000) // 4)
    assert report.levels[0] == "c"
    assert report.effects.weights == (0.25, 0.5, 0.25)
    assert report.settings["clusters"] == 1_000


# --- comparisons ---------------------------------------------------------------------------------


def test_models_are_compared_with_the_first(world):
    models = {"labels": world.own, "fair": world.fair, "blind": world.blind}
    found = compare(
        world.y, models, sensitive_features=world.z, X=world.X, margins={"auc": 0.5}, **LINEAR
    )
    assert list(found.differences) == ["fair", "blind"]
    apart = found.left_differences["fair"]
    for place, level in enumerate(apart.levels):
        two = (found.left[name].left[place].estimate for name in ("fair", "labels"))
        assert apart.left[place].estimate == pytest.approx(np.subtract(*two)), level
    expected = roc_auc_score(world.y, world.fair) - roc_auc_score(world.y, world.own)
    assert found.differences["fair"]["auc"].estimate == pytest.approx(expected)
    assert found.decisions["labels"].state == "direct effect"
    assert [each.holds for each in found.non_inferiority] == [True, True]
    assert set(found.to_frame()["measure"]) >= {"auc", "direct_effect_left"}
    assert "left, b" in found.to_text()
    json.loads(found.to_json())


def test_without_covariates_differences_are_known(world):
    models = {"labels": world.own, "fair": world.fair}
    found = compare(world.y, models, sensitive_features=world.z)
    assert found.left is None
    assert found.left_differences["fair"].levels == ("a", "b", "c")
    assert "X was not given" in found.to_text()


def test_a_baseline_is_compared_with_the_model(found):
    assert list(found.comparison.models) == ["baseline", "model"]
    assert found.comparison.decisions["model"].headline.endswith("than the covariates explain")
    assert "model − baseline" in found.to_text()


# --- parts ---------------------------------------------------------------------------------------


def test_the_interval_of_an_auc_is_that_of_a_bootstrap(world):
    rng = np.random.default_rng(0)
    y, p, weights = world.y[:800].astype(float), world.own[:800], rng.uniform(0.5, 1.5, 800)
    found = auc_mean(y, p, weights / weights.mean())
    assert found.value == pytest.approx(roc_auc_score(y, p, sample_weight=weights))
    draws = [rng.integers(0, 800, 800) for _ in range(400)]
    again = [roc_auc_score(y[k], p[k], sample_weight=weights[k]) for k in draws]
    assert found.se == pytest.approx(np.std(again), rel=0.12)


def _decision(state, estimate, low, high):
    direct = {"estimate": estimate, "se": 0.01, "low": low, "high": high}
    return Decision(
        state=state, headline="", sentences=(), basis=(), next_steps=(), direct=direct,
        pass_through=None, blind_pass_through=None, margin=0.02,
    )  # fmt: skip


def test_a_direct_effect_comes_before_what_cannot_be_told():
    told = {
        "small": _decision("below margin", 0.001, -0.01, 0.012),
        "unknown": _decision("cannot tell", 0.05, -0.02, 0.12),
        "wide": _decision("cannot tell", 0.01, -0.3, 0.3),
    }
    assert worst_level(told) == "wide"
    claimed = {
        "effect": _decision("direct effect", -0.03, -0.05, -0.01),
        "larger": _decision("direct effect", 0.04, 0.01, 0.07),
    }
    assert worst_level({**told, **claimed}) == "larger"


def test_fairlearn_takes_the_same_column(world):
    metrics = pytest.importorskip("fairlearn.metrics")
    z = pd.Series(world.z, name="race")
    frame = metrics.MetricFrame(
        metrics=metrics.selection_rate, y_true=world.y, y_pred=world.own > 0.5, sensitive_features=z
    )
    ours = audit(world.y, world.own, sensitive_features=z)
    assert ours.sensitive_name == "race"
    table = ours.to_frame().set_index("level")["selection_rate"]
    assert table.to_dict() == pytest.approx(frame.by_group.to_dict())
