"""Swap sets by hand, equal rates, paired intervals, and flips."""

import json

import numpy as np
import pytest

from unsway import Grouping
from unsway.auditing import decision_flips, swap_sets
from unsway.auditing.swaps import SETS

Y = [1, 0, 1, 0, 1, 0]
OLD = [0.9, 0.8, 0.7, 0.3, 0.2, 0.1]
NEW = [0.9, 0.3, 0.7, 0.2, 0.8, 0.1]
Z = ["a", "a", "a", "b", "b", "b"]
GIVEN = {"sensitive_features": Z, "groups": Grouping(reference="a"), "n_bootstrap": 20}


def test_who_enters_and_who_leaves_is_as_by_hand():
    found = swap_sets(Y, OLD, NEW, approval_rate=0.5, **GIVEN)
    assert {name: found.cell(name).n for name in SETS} == {
        "approved by both": 2, "enters": 1, "leaves": 1, "approved by neither": 2,
    }  # fmt: skip
    assert (found.cell("enters", "b").n, found.cell("leaves", "a").n) == (1, 1)
    assert found.cell("enters").bad_rate.estimate == 0.0  # label 1, high scores approved
    assert found.cell("leaves").bad_rate.estimate == 1.0
    assert np.isnan(found.cell("enters", "a").bad_rate.estimate)
    assert found.flips["overall"].estimate == pytest.approx(1 / 3)
    assert found.figures["difference"]["bad_rate overall"].estimate == pytest.approx(-1 / 3)
    assert found.figures["challenger"]["adverse_impact_ratio b"].estimate == pytest.approx(0.5)


def test_at_an_equal_bad_rate_each_model_approves_as_many_as_it_can():
    found = swap_sets(Y, OLD, NEW, bad_rate=0.34, **GIVEN)
    assert found.figures["champion"]["approval_rate overall"].estimate == pytest.approx(0.5)
    assert found.figures["challenger"]["approval_rate overall"].estimate == pytest.approx(4 / 6)
    for model in ("champion", "challenger"):
        assert found.figures[model]["bad_rate overall"].estimate <= 0.34


def test_where_low_scores_are_approved_label_1_is_the_bad_one():
    risk = [1 - each for each in OLD]
    flipped = swap_sets(
        [1 - each for each in Y], risk, [1 - each for each in NEW], approval_rate=0.5,
        approve="low", **GIVEN,
    )  # fmt: skip
    found = swap_sets(Y, OLD, NEW, approval_rate=0.5, **GIVEN)
    assert flipped.cell("enters").bad_rate == found.cell("enters").bad_rate


def test_a_model_against_itself_changes_nothing():
    found = swap_sets(Y, OLD, OLD, approval_rate=0.5, **GIVEN)
    assert found.cell("enters").n == found.cell("leaves").n == 0
    difference = found.figures["difference"]["approval_rate b"]
    assert (difference.estimate, difference.low, difference.high) == (0.0, 0.0, 0.0)


def test_the_paired_interval_covers_the_true_difference_about_as_often_as_it_says():
    rng = np.random.default_rng(3)

    def draw(n):
        latent, z = rng.normal(size=n), rng.integers(0, 2, n)
        y = (rng.random(n) < 1 / (1 + np.exp(-2 * latent))).astype(int)
        return y, latent + rng.normal(size=n), latent + 0.5 * rng.normal(size=n), z

    def difference(n, n_bootstrap):
        y, old, new, z = draw(n)
        found = swap_sets(
            y, old, new, sensitive_features=z, approval_rate=0.3, n_bootstrap=n_bootstrap
        )
        return found.figures["difference"]["bad_rate overall"]

    true = difference(400_000, 2).estimate
    draws = [difference(400, 60) for _ in range(60)]
    assert np.mean([each.low <= true <= each.high for each in draws]) >= 0.85


def test_flips_are_those_of_every_pair_and_of_any():
    scores = {"a": OLD, "b": NEW, "c": OLD}
    found = decision_flips(scores, sensitive_features=Z, approval_rate=0.5)
    assert found.pairs["a", "c"]["overall"].estimate == 0.0
    assert found.pairs["a", "b"]["b"].estimate == pytest.approx(1 / 3)
    assert found.any["overall"].estimate == pytest.approx(1 / 3)
    assert len(found.to_frame()) == 4 * 3
    assert "33.3 %" in str(found)


def test_the_result_prints_and_becomes_json():
    found = swap_sets(Y, OLD, NEW, approval_rate=0.5, **GIVEN)
    json.dumps(found.to_dict(), allow_nan=False)
    assert "enters · b" in str(found)
    assert len(found.to_frame()) == 4 * 3


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({}, ValueError, "either approval_rate or bad_rate"),
        ({"approval_rate": 0.5, "bad_rate": 0.5}, ValueError, "either approval_rate or bad_rate"),
        ({"approval_rate": 1.0}, ValueError, "approval_rate must be"),
        ({"approval_rate": 0.5, "n_bootstrap": 1}, ValueError, "n_bootstrap"),
    ],
)
def test_bad_input_is_refused_by_a_sentence(change, error, message):
    with pytest.raises(error, match=message):
        swap_sets(Y, OLD, NEW, **{**GIVEN, **change})


def test_one_model_has_no_flips():
    with pytest.raises(ValueError, match="at least two"):
        decision_flips({"a": OLD}, sensitive_features=Z)
