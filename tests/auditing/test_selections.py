"""People whom a model selects otherwise than a fair ranking."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from unsway import audit, make_world
from unsway.auditing.inputs import Settings
from unsway.auditing.selections import COUNTS, selections
from unsway.rows import Rows

LOGISTIC = LogisticRegression(max_iter=1000)


def settings(threshold=0.5, **given):
    return Settings.check(
        threshold,
        **{
            "calibration_bins": 10,
            "calibration_strategy": "uniform",
            "n_bootstrap": 0,
            "confidence": 0.95,
            "max_rows_for_effects": None,
            "random_state": 0,
            "n_jobs": None,
            "effects": {},
            **given,
        },
    )


def four_rows(sample_weight=None):
    labels = np.array([0, 1, 0, 1])
    z = np.array([0, 0, 1, 1])
    return Rows.check(np.arange(4.0)[:, None], labels, sensitive_features=z,
                      sample_weight=sample_weight)  # fmt: skip


P = np.array([0.9, 0.2, 0.8, 0.1])
F = np.array([0.6, 0.4, 0.3, 0.1])


def test_four_people_are_counted_by_hand():
    found = selections(P, F, four_rows(), settings())
    rule = "threshold 0.5"
    assert found.rates == {rule: 0.5}
    counts = {g: [found[rule, g, c].estimate for c in COUNTS] for g in ("z=0", "z=1")}
    # the model selects rows 0 and 2; the fair ranking rows 0 and 1
    assert counts == {"z=0": [500, 1000, 0, 500, -500], "z=1": [500, 0, 500, 0, 500]}


def test_a_weight_of_two_is_a_row_twice():
    weights = np.array([2.0, 1.0, 1.0, 2.0])
    twice = np.repeat(np.arange(4), weights.astype(int))
    rows = four_rows()
    once = selections(P, F, four_rows(weights), settings())
    again = selections(P[twice], F[twice], rows.take(twice), settings())
    assert [e.estimate for e in once.estimates.values()] == pytest.approx(
        [e.estimate for e in again.estimates.values()]
    )


def test_a_rate_selects_the_highest_scores():
    found = selections(P, F, four_rows(), settings(selection_rate=[0.25, 0.5]))
    assert found.rates["rate 0.25"] == 0.25
    assert found["rate 0.25", "z=0", "net"].estimate == 0
    assert found["rate 0.5", "z=1", "gained"].estimate == 500


def test_a_coding_of_a_score_selects_the_same_people_at_a_rate():
    rng = np.random.default_rng(0)
    people = make_world("paper", 400, random_state=0)
    rows = Rows.check(people.X, people.y, sensitive_features=people.z)
    p, f = rng.random(400), people.fair_score
    some = settings(selection_rate=0.3, n_bootstrap=10)
    first, second = (selections(s, f, rows, some) for s in (p, p**2))
    keys = [key for key in first.estimates if key[0] == "rate 0.3"]
    assert [first[key] for key in keys] == [second[key] for key in keys]
    assert all(first[key].low <= first[key].high for key in keys)


def test_the_intervals_of_a_fair_score_hold_no_net_difference():
    people = make_world("paper", 3_000, random_state=1)
    models = {"propensity_model": LOGISTIC, "outcome_model": LOGISTIC}
    found = audit(
        people.y,
        people.fair_score,
        sensitive_features=people.z,
        X=people.X,
        n_bootstrap=50,
        cv=2,
        score_model=LinearRegression(),
        **models,
    )
    net = found.causal.selections["threshold 0.5", "z=1", "net"]
    assert abs(net.estimate) < 60
    assert "per 1,000 of z = 1" in str(found)
    assert len(found.causal.selections.to_frame()) == 2 * len(COUNTS)


@pytest.mark.parametrize("rate", [0, 1, 1.5, "half"])
def test_a_rate_is_a_share(rate):
    people = make_world("paper", 200, random_state=0)
    with pytest.raises((TypeError, ValueError), match="selection_rate"):
        audit(people.y, people.fair_score, sensitive_features=people.z, selection_rate=rate)
