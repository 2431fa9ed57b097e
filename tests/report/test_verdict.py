import pytest

from unsway.report.verdict import judge

GROUPS = ("women", "men")


def left(estimate, half):
    return {"estimate": estimate, "low": estimate - half, "high": estimate + half}


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
        ({"estimate": None, "low": None, "high": None}, None, "", "unknown", "not judged"),
    ],
)
def test_the_verdict_follows_interval_and_data(found, direct, data, level, words):
    stands, text = judge(found, direct, GROUPS, data)
    assert stands == level
    assert words in text
