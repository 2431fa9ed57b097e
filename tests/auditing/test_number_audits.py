"""Audits of predictions of counts and amounts."""

import json

import numpy as np
import pandas as pd
import pytest

from unsway import FairLinearRegressor, audit, compare, make_world
from unsway.auditing.numbers import decimals_for
from unsway.groups import Grouping


def judged(people, p, **options):
    given = {"loss": "poisson", "exposure": people.exposure, "n_bootstrap": 20, **options}
    return audit(people.y, p, **{"sensitive_features": people.z, **given})


@pytest.fixture(scope="module")
def people():
    return make_world("claims", 3_000, random_state=4)


@pytest.fixture(scope="module")
def found(people):
    flat = np.full(len(people.y), 0.2)
    return judged(people, people.fair_score, X=people.X, baseline=flat)


def test_metrics_are_weighted_by_exposure_with_intervals(people, found):
    total = found.metrics["actual_over_expected", "overall"]
    expected = people.y.sum() / (people.exposure @ people.fair_score)
    assert total.estimate == pytest.approx(expected)
    assert total.low < total.estimate < total.high
    assert found.metrics["gini", "overall"].estimate > 0.1
    frame = found.to_frame()
    assert set(frame["group"]) == {"overall", "z=0", "z=1", "between"}


def test_a_fair_price_expects_too_little_of_the_group_that_z_itself_acts_on(found):
    ratio = found.metrics["actual_over_expected_ratio"]
    assert ratio.low > 1


def test_the_causal_part_is_in_the_units_of_the_target(people, found):
    left = found.causal.direct_effect_left
    assert abs(left.estimate) < 4 * left.se
    assert left.low < 0 < left.high
    assert found.causal.labels.settings["per"] == "unit of exposure"
    ratio = found.causal.ratios.total.estimate
    assert ratio == pytest.approx(found.metrics["outcome_ratio"].estimate)
    flat = found.causal.baseline_left
    assert flat.estimate == pytest.approx(-found.causal.labels.explained.estimate)


def test_the_decision_never_calls_unchecked_data_small(found):
    assert found.decision.state in ("cannot tell", "direct effect", "below margin")
    assert "of the mean" in " ".join(found.decision.sentences)
    assert "Actual over expected is" in found.to_text()
    passed = [each.passed for each in found.causal.verdict.findings]
    if not all(passed):
        assert found.decision.state != "below margin"


def test_a_model_that_adds_the_direct_effect_is_said_to_hold_it(people):
    p = people.fair_score * np.where(people.z == 1, 2.0, 1.0)
    decision = judged(people, p, X=people.X, n_bootstrap=0).decision
    assert decision.state == "direct effect"
    assert decision.level == "bad"
    assert "higher" in decision.headline


def test_the_baseline_is_compared_with_paired_intervals(found):
    rows = found.comparison.to_frame().set_index(["metric", "group"])
    gain = rows.loc[("deviance", "overall")]
    assert gain["difference"] < 0
    assert gain["high"] < 0
    assert "gini" in found.comparison.to_text()
    assert found.lift.names == ("baseline", "model")
    assert found.lift.mean_outcome[-1] > found.lift.mean_outcome[0]


def test_without_covariates_there_is_no_causal_part(people):
    found = judged(people, people.fair_score, n_bootstrap=0)
    assert found.causal is None
    assert found.decision.state == "not judged"
    assert "X was not given" in found.missing
    assert np.isnan(found.metrics["deviance", "overall"].low)


def test_everything_is_ready_for_json(found):
    stored = json.loads(found.to_json())
    assert stored["kind"] == "numbers"
    assert stored["settings"]["loss"] == "poisson"
    assert len(stored["lorenz"]) == 101
    assert stored["double_lift"]["names"] == ["baseline", "model"]
    assert {row["group"] for row in stored["deciles"]} == {"overall", "z=0", "z=1"}


def test_numbers_of_either_sign_have_no_ratios_and_no_lorenz_curve():
    rng = np.random.default_rng(0)
    z = np.repeat([0, 1], 300)
    X = pd.DataFrame({"a": rng.normal(0.3 * z)})
    y = X["a"] + 0.5 * z + rng.normal(size=600)
    found = audit(
        y, X["a"], sensitive_features=z, loss="squared_error", X=X, n_bootstrap=5,
        baseline=X["a"] * 0.5,
    )  # fmt: skip
    assert found.causal.ratios is None
    assert not found.lorenz.columns
    assert found.lift is None
    assert "standard deviation" in " ".join(found.decision.sentences)
    assert found.metrics["mae", "overall"].estimate > 0
    assert "outcome_ratio" not in set(found.to_frame()["metric"])


def test_rows_that_a_model_was_trained_on_are_refused(people):
    model = FairLinearRegressor(loss="poisson")
    model.fit(people.X, people.y, sensitive_features=people.z, exposure=people.exposure)
    options = {"X": people.X, "model": model, "n_bootstrap": 0}
    with pytest.raises(ValueError, match="trained on"):
        judged(people, model.predict(people.X), **options)
    found = judged(people, model.predict(people.X), allow_training_rows=True, **options)
    assert found.training_rows is not None


def test_groups_and_margin_are_stated(people):
    z = np.where(people.z == 1, "man", "woman")
    found = audit(
        pd.Series(people.y, name="claims"), people.fair_score, sensitive_features=z, loss="poisson",
        exposure=pd.Series(people.exposure, name="years"), n_bootstrap=0, margin=0.1,
        groups=Grouping(reference="man"),
    )  # fmt: skip
    assert found.levels == ("man", "woman")
    assert found.unit == "claims per years"
    assert found.settings["margin"] == 0.1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": "log_loss"}, "unknown loss"),
        ({"loss": "gamma"}, "zero|above 0|positive"),
        ({"y_pred": np.zeros(3_000)}, "predictions of zero or less"),
        ({"y_pred": np.ones(5)}, "y_pred has 5 rows"),
        ({"exposure": np.zeros(3_000)}, "zero or negative"),
        ({"margin": 2}, "margin"),
        ({"calibration_bins": 0}, "calibration_bins"),
        ({"threshold": 0.3}, "threshold is for scores of a label"),
        ({"score_model": 3}, "score_model is for scores"),
        ({"loss": None}, "exposure belongs to counts"),
        ({"y_pred": None}, "give the model's predictions"),
        ({"sensitive_features": np.arange(3_000) % 3}, "two levels"),
        ({"X": np.zeros((4, 1))}, "X has 4 rows"),
    ],
)
def test_what_cannot_be_judged_is_refused(options, words, people):
    given = {"y_pred": people.fair_score, **options}
    p = given.pop("y_pred")
    with pytest.raises((ValueError, TypeError), match=words):
        judged(people, p, **given)


def test_numbers_are_written_with_four_digits():
    assert [decimals_for(size) for size in (0.164, 3.2, 1900.0, 0.0)] == [4, 3, 0, 4]


def test_several_models_of_counts_are_compared_with_the_first(people):
    models = {
        "flat": 0.2 + 0.01 * people.fair_score,
        "fair": people.fair_score,
        "unfair": people.fair_score * np.where(people.z == 1, 2.0, 1.0),
    }
    found = compare(
        people.y, models, sensitive_features=people.z, loss="poisson", exposure=people.exposure,
        X=people.X, n_bootstrap=30, margins={"deviance_explained": 0.01},
    )  # fmt: skip
    alone = judged(people, models["fair"], X=people.X, baseline=models["flat"], n_bootstrap=30)
    assert found.left["fair"] == alone.causal.direct_effect_left
    ours, theirs = found.to_frame(), alone.comparison.to_frame()
    ours = ours[ours["model"] == "fair"].reset_index(drop=True)
    assert ours.drop(columns=["model", "reference"]).equals(
        theirs.drop(columns=["model", "reference"])
    )
    assert found.decisions["unfair"].state == "direct effect"
    assert "y per unit of exposure" in found.decisions["unfair"].headline
    assert [each.holds for each in found.non_inferiority] == [True, True]
    assert "deviance_explained" in found.to_text()
    assert "gini" in found._repr_html_()


def test_a_comparison_of_counts_has_no_thresholds(people):
    models = {"a": people.fair_score, "b": people.fair_score}
    given = {"sensitive_features": people.z, "loss": "poisson", "threshold": 0.3}
    with pytest.raises(ValueError, match="not with loss="):
        compare(people.y, models, **given)


def test_rows_of_one_policy_are_clusters_here_too(people):
    cluster = np.arange(len(people.y)) // 2
    given = {"X": people.X, "n_bootstrap": 0}
    twice = judged(people, people.fair_score, cluster=cluster, **given)
    once = judged(people, people.fair_score, **given)
    assert twice.causal.direct_effect_left.estimate != once.causal.direct_effect_left.estimate


@pytest.mark.filterwarnings("error")
def test_a_flat_price_holds_no_direct_effect(people):
    flat = np.full(len(people.y), 0.2)
    found = compare(
        people.y, {"flat": flat, "fair": people.fair_score}, sensitive_features=people.z,
        loss="poisson", exposure=people.exposure, X=people.X, n_bootstrap=0,
    )  # fmt: skip
    assert found.decisions["flat"].direct["estimate"] == 0
    assert found.decisions["flat"].pass_through is None
    explained = judged(people, flat, X=people.X, n_bootstrap=0).causal.parts.explained
    assert found.left["flat"].estimate == pytest.approx(-explained.estimate)
