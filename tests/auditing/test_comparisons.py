"""Models side by side, with paired intervals."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from unsway import estimate_effects, make_synthetic
from unsway.auditing import audit, compare

MODELS = {"propensity_model": LogisticRegression(), "outcome_model": LogisticRegression(), "cv": 2}


@pytest.fixture(scope="module")
def people():
    return make_synthetic(1200, random_state=0)


@pytest.fixture(scope="module")
def scores(people):
    noise = np.random.default_rng(0).normal(0, 0.02, 1200)
    near = np.clip(people.fair_score + noise, 0, 1)
    return {"fair": people.fair_score, "near": near, "labels": people.y.astype(float)}


@pytest.fixture(scope="module")
def found(people, scores):
    return compare(
        people.y, scores, sensitive_features=people.z, X=people.X, n_bootstrap=60, **MODELS
    )


def test_the_first_model_is_the_reference(found):
    assert found.reference == "fair"
    assert list(found.differences) == ["near", "labels"]


def test_a_difference_is_that_of_two_audits(people, scores, found):
    each = {
        name: audit(people.y, p, sensitive_features=people.z, n_bootstrap=0)
        for name, p in scores.items()
    }
    for key, estimate in found.differences["near"].entries.items():
        apart = each["near"].metrics.entries[key].estimate
        apart -= each["fair"].metrics.entries[key].estimate
        assert estimate.estimate == pytest.approx(apart, abs=1e-15)


def test_paired_intervals_are_shorter_than_those_of_each_model(found):
    pair = found.differences["near"]["auc"]
    assert pair.se < found.models["near"]["auc"].se / 3
    assert pair.low <= pair.estimate <= pair.high


def test_a_model_does_not_differ_from_itself(people, scores):
    same = compare(
        people.y,
        {"a": scores["fair"], "b": scores["fair"]},
        sensitive_features=people.z,
        n_bootstrap=5,
    )
    spreads = [each.se for each in same.differences["b"].entries.values()]
    assert np.nanmax(spreads) == 0
    assert same.left_differences["b"].estimate == 0


def test_the_direct_effect_left_is_that_of_the_effects_room(people, scores, found):
    alone = estimate_effects(
        people.X, people.y, sensitive_features=people.z, max_extreme_share=1, **MODELS
    )
    assert found.left["near"] == alone.direct_effect_left(scores["near"])


def test_what_covariates_explain_cancels_in_a_difference(found):
    apart = found.left["labels"].estimate - found.left["fair"].estimate
    assert found.left_differences["labels"].estimate == pytest.approx(apart)
    assert found.left_differences["labels"].se < found.left["labels"].se


def test_the_influence_interval_of_a_gap_agrees_with_the_resamples(found):
    resampled = found.differences["labels"]["score_gap"]
    assert found.left_differences["labels"].se == pytest.approx(resampled.se, rel=0.3)


def test_without_covariates_the_differences_stay_and_the_rest_is_named(people, scores, found):
    part = compare(people.y, scores, sensitive_features=people.z, n_bootstrap=0)
    assert part.left is None
    assert part.missing.startswith("X was not given")
    assert part.left_differences == found.left_differences
    assert np.isnan(part.differences["near"]["auc"].low)
    assert part.missing in str(part)


def test_the_result_becomes_json_and_a_frame(found):
    data = json.loads(found.to_json())
    frame = found.to_frame()
    assert data["schema_version"] == 1
    assert len(frame) == len(data["differences"]) == 2 * len(found.models["fair"].entries)
    np.testing.assert_allclose(frame["value"] - frame["reference_value"], frame["difference"])
    assert "labels − fair" in str(found)


def test_thinned_rows_are_the_same_for_every_model(people, scores):
    part = compare(
        people.y,
        scores,
        sensitive_features=people.z,
        X=people.X,
        n_bootstrap=0,
        max_rows_for_effects=500,
        **MODELS,
    )
    assert part.left["labels"].estimate > part.left["fair"].estimate


def test_a_model_is_not_inferior_if_the_whole_interval_is_within_the_margin(people, scores):
    given = {"sensitive_features": people.z, "n_bootstrap": 60}
    found = compare(people.y, scores, margins={"auc": 0.05, "log_loss": 0.0}, **given)
    results = {(each.model, each.metric): each for each in found.non_inferiority}
    assert results["near", "auc"].holds
    entry = found.differences["near"].entries
    auc = next(each for key, each in entry.items() if key[:2] == ("auc", "overall"))
    assert results["near", "auc"].difference == auc
    assert results["near", "log_loss"].holds == (results["near", "log_loss"].difference.high < 0)
    assert "by more than 0.05" in str(found)
    assert found.to_dict()["margins"] == {"auc": 0.05, "log_loss": 0.0}


@pytest.mark.parametrize(
    ("margins", "n_bootstrap", "message"),
    [
        ({"auc": -0.1}, 10, "margins\\['auc'\\] must be"),
        ({"gain": 0.1}, 10, "unknown metric 'gain'"),
        ({"auc": 0.1}, 0, "n_bootstrap must be at least 2"),
    ],
)
def test_bad_margins_are_refused(people, scores, margins, n_bootstrap, message):
    with pytest.raises(ValueError, match=message):
        compare(
            people.y, scores, sensitive_features=people.z, margins=margins, n_bootstrap=n_bootstrap
        )
