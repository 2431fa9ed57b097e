import math

import pytest

from unsway.auditing.verdict import judge, labels_direct, level_of


def left(estimate, half):
    return {"estimate": estimate, "low": estimate - half, "high": estimate + half}


UNKNOWN = {"estimate": None, "low": None, "high": None}


@pytest.mark.parametrize(
    ("found", "direct", "data", "level", "words"),
    [
        (left(0.02, 0.01), 0.1, "ok", "bad", "2.0 points higher for men than the covariates"),
        (left(0.0002, 0.0001), 0.1, "ok", "bad", "less than 0.1 points higher for men"),
        (left(-0.02, 0.01), 0.1, "ok", "bad", "2.0 points lower for men than the covariates"),
        (left(0.004, 0.01), 0.1, "ok", "good", "No direct effect found"),
        (left(0.004, 0.01), 0.1, "caution", "caution", "with caution"),
        (left(0.004, 0.15), 0.1, "ok", "caution", "tell little"),
        (left(0.001, 0.01), 0.002, "ok", "good", "No direct effect found"),
        (left(0.02, 0.01), 0.1, "cannot tell", "unknown", "cannot tell"),
        (UNKNOWN, None, "", "unknown", "not judged"),
        (left(0.02, math.nan), 0.1, "ok", "unknown", "not judged"),
    ],
)
def test_the_verdict_follows_interval_and_data(found, direct, data, level, words):
    judged = judge(found, direct, "men", data)
    assert judged.level == level
    assert words in judged.headline


@pytest.mark.parametrize(
    ("found", "direct", "told", "words"),
    [
        (left(0.02, 0.01), 0.1, True, "the model still passes it on, 20% of it"),
        (left(0.02, 0.01), 0.0, True, "the model still passes it on"),
        (left(0.02, 0.01), 0.1, False, "the labels hold +10.0, and the model passes some of it on"),
        (left(0.004, 0.01), 0.1, True, "these rows cannot tell it from none"),
        (left(0.02, math.nan), 0.1, False, "these rows cannot tell it from none"),
    ],
)
def test_the_meaning_says_what_the_model_does_with_the_labels_effect(found, direct, told, words):
    assert judge(found, direct, "men", labels_told=told).meaning == words


@pytest.mark.parametrize(
    ("told", "taken"), [(True, "direct effect"), (False, "+10.0 that the labels hold")]
)
def test_more_taken_out_than_the_labels_hold_is_said_with_the_side(told, taken):
    judged = judge(left(-0.02, 0.01), 0.1, "men", labels_told=told)
    assert judged.meaning == (
        f"more was taken out than the {taken}, so the scores of men are lower than the covariates "
        "explain"
    )


def test_the_labels_direct_effect_is_what_is_not_explained():
    assert labels_direct(0.25, 0.15) == pytest.approx(0.1)
    assert labels_direct(None, 0.15) is None


def test_only_a_decisive_check_that_failed_is_bad():
    checks = [(True, True), (False, True), (False, False)]
    levels = [level_of({"passed": passed, "decisive": decisive}) for passed, decisive in checks]
    assert levels == ["good", "bad", "caution"]
