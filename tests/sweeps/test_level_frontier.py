"""Frontiers of a sensitive attribute with three levels."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from unsway import FairLogisticRegression, frontier
from unsway.sweeps import Frontier
from unsway.sweeps.level_judge import decide_worst

LINEAR = {"outcome_model": LogisticRegression(), "propensity_model": LogisticRegression()}


def draw(n, seed):
    rng = np.random.default_rng([seed, 21])
    X = rng.normal(size=(n, 3))
    odds = np.log([0.5, 0.3, 0.2]) + X[:, :2] @ [[0, 1.0, -0.8], [0, -0.5, 0.9]]
    b = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    codes = (b.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(0, 2)
    means = expit(0.5 * X[:, 2] + np.array([0, -1.2, 1.2])[codes])
    return X, (rng.random(n) < means).astype(int), np.array(["white", "black", "asian"])[codes]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    rows, test = draw(4_000, 0), draw(3_000, 1)
    return frontier(
        FairLogisticRegression(),
        *rows[:2],
        sensitive_features=rows[2],
        test_set=test,
        strengths=[0, 1],
        effects=LINEAR,
        store=tmp_path_factory.mktemp("frontier") / "store",
    )


def test_fair_targets_leave_less_between_the_levels(found):
    blind, fair = (found.point(strength) for strength in (0, 1))
    left = "direct_effect_left"
    assert blind.value(f"{left}_low", "test") > 0
    assert fair.value(left, "test") < 0.5 * blind.value(left, "test")
    for level in ("asian", "black"):
        assert abs(fair.value(f"direct_effect[{level}]", "test")) < abs(
            blind.value(f"direct_effect[{level}]", "test")
        )


def test_the_pass_through_is_that_of_the_level_furthest_from_zero(found):
    for point in found.points:
        shares = [point.value(f"pass_through[{level}]", "test") for level in ("asian", "black")]
        assert point.value("pass_through", "test") in shares


def test_rules_read_the_spread(found):
    spread = found.point(1).value("direct_effect_left", "validation")
    assert found.select(max_direct_effect=spread + 0.001).strength == 1
    with pytest.raises(ValueError, match="no strength has"):
        found.select(max_direct_effect=spread / 10)


def test_the_worst_level_is_decided_on(found):
    level, decision = decide_worst(found.point(0), "test", ("white", "asian", "black"), "race")
    assert level in ("asian", "black")
    assert decision.state == "direct effect"
    assert "that holds for 2 comparisons at once" in decision.text


def test_a_stored_frontier_keeps_the_levels(found):
    read = Frontier.load(found.store)
    assert read.parts["test"]["levels"] == ["white", "asian", "black"]
    groups = read.parts["test"]["level_effects"]
    assert [each["level"] for each in groups] == ["white", "asian", "black"]
    assert read.plot().get_xlabel() == "accuracy"
    assert "direct_effect[asian]" in read.to_frame()


def test_another_attribute_is_not_continued_with(found):
    X, y, z = draw(4_000, 0)
    with pytest.raises(ValueError, match="holds a sweep of other data"):
        frontier(
            FairLogisticRegression(), X, y, sensitive_features=np.roll(z, 1),
            test_set=draw(3_000, 1), strengths=[0, 0.5, 1], effects=LINEAR, store=found.store,
        )  # fmt: skip
