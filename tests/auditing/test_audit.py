"""The whole audit: what it says, what it refuses, and what comes out as data."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from unsway import estimate_effects, make_synthetic, make_world
from unsway.auditing import Audit, audit
from unsway.auditing.numbers import points
from unsway.grouping import Grouping

HOSTILE = ("<script>alert(1)</script>", "=cmd|' /C calc'!A0" + "x" * 5000 + "\u202eשלום")
MODELS = {"propensity_model": LogisticRegression(), "outcome_model": LogisticRegression(),
          "score_model": LinearRegression(), "cv": 2}  # fmt: skip


@pytest.fixture(scope="module")
def people():
    return make_synthetic(1500, random_state=0)


@pytest.fixture(scope="module")
def found(people):
    return audit(
        people.y,
        people.fair_score,
        sensitive_features=people.z,
        X=people.X,
        baseline=people.y * 0.5 + 0.2,
        threshold=[0.7, 0.5],
        n_bootstrap=20,
        **MODELS,
    )


# --- the causal part ------------------------------------------------------------------------------


def test_the_effects_are_those_of_the_effects_room(people, found):
    settings = {key: value for key, value in MODELS.items() if key != "score_model"}
    alone = estimate_effects(
        people.X, people.y, sensitive_features=people.z, max_extreme_share=1, **settings
    )
    assert found.causal.labels.estimates() == alone.estimates()
    assert found.causal.direct_effect_left == alone.direct_effect_left(people.fair_score)
    assert found.causal.baseline_left == alone.direct_effect_left(people.y * 0.5 + 0.2)


def test_the_effects_on_the_scores_are_those_of_the_effects_room(people, found):
    alone = estimate_effects(
        people.X,
        people.fair_score,
        sensitive_features=people.z,
        propensity_model=LogisticRegression(),
        outcome_model=LinearRegression(),
        cv=2,
        max_extreme_share=1,
    )
    for name, each in alone.estimates().items():
        assert found.causal.scores.estimates()[name].estimate == pytest.approx(each.estimate)


def test_the_propensities_are_shared(found):
    labels, scores = found.causal.labels.nuisances, found.causal.scores.nuisances
    assert scores.propensity is labels.propensity
    assert not np.array_equal(scores.outcome, labels.outcome)


def test_the_scores_of_a_blind_model_have_no_direct_effect_given_the_covariates(found):
    curve = found.causal.score_curve
    assert np.abs(curve.estimate).max() < 0.1 < np.abs(found.causal.label_curve.estimate).max()


def test_surrogate_coefficients_stand_beside_the_fair_ones(found):
    table = found.causal.surrogate.to_frame().set_index("coefficient")
    assert list(table.index) == ["alpha_0", "alpha_1", "beta_0"]
    fair = table.loc["alpha_0", "labels"] + table.loc["beta_0", "labels"] / 2
    assert table.loc["alpha_0", "fair"] == pytest.approx(fair)
    assert table.loc["beta_0", "fair"] == 0


def test_without_covariates_the_audit_says_what_is_missing_and_why(people):
    alone = audit(people.y, people.fair_score, sensitive_features=people.z, n_bootstrap=0)
    assert alone.causal is None
    assert alone.missing.startswith("X was not given")
    assert alone.missing in alone.verdict
    assert alone.missing in str(alone)
    assert alone.to_dict()["missing"] == alone.missing


def test_labels_that_do_not_vary_in_a_group_leave_the_rest_of_the_audit(people):
    y = np.where(people.z == 1, 1, people.y)
    part = audit(y, people.fair_score, sensitive_features=people.z, X=people.X, n_bootstrap=0)
    assert part.causal is None
    assert "every label of the group '1' is the same" in part.missing
    assert part.metrics["recall", "z=1"].estimate > 0


def test_constant_scores_have_no_effects_and_the_notes_say_so(people):
    part = audit(
        people.y,
        np.full(1500, 0.3),
        sensitive_features=people.z,
        X=people.X,
        n_bootstrap=0,
        **MODELS,
    )
    assert part.causal.scores is None
    assert part.causal.score_curve is None
    assert "No effects on the scores: every score of the group '0'" in part.causal.notes[0]
    assert part.causal.direct_effect_left.estimate == -part.causal.labels.explained.estimate


def test_more_rows_than_allowed_are_thinned_openly(people):
    part = audit(
        people.y,
        people.fair_score,
        sensitive_features=people.z,
        X=people.X,
        n_bootstrap=0,
        max_rows_for_effects=600,
        **MODELS,
    )
    assert (part.causal.n_rows, part.causal.n_rows_given) == (600, 1500)
    assert "Effects from 600 of the 1,500 rows." in str(part)
    assert part.to_dict()["causal"]["rows"] == 600
    assert sum(part.n_rows) == 1500


def test_the_order_of_the_rows_does_not_matter(people):
    order = np.random.default_rng(0).permutation(1500)
    options = {"n_bootstrap": 0, "max_rows_for_effects": 600, **MODELS}
    one = audit(people.y, people.fair_score, sensitive_features=people.z, X=people.X, **options)
    two = audit(
        people.y[order],
        people.fair_score[order],
        sensitive_features=people.z[order],
        X=people.X[order],
        **options,
    )
    assert two.causal.direct_effect_left.estimate == pytest.approx(
        one.causal.direct_effect_left.estimate, abs=1e-6
    )
    for key, each in one.metrics.entries.items():
        assert two.metrics.entries[key].estimate == pytest.approx(each.estimate, abs=1e-12)


def test_weights_count_in_the_causal_part_too(people):
    weights = np.where(people.X[:, 0] > 0, 2.0, 0.5)
    part = audit(
        people.y,
        people.fair_score,
        sensitive_features=people.z,
        X=people.X,
        sample_weight=weights,
        n_bootstrap=0,
        **MODELS,
    )
    gap = part.metrics["base_rate_difference"].estimate
    assert part.causal.labels.total.estimate == pytest.approx(gap)
    assert part.settings["weighted"] is True


def test_poor_overlap_is_told_by_the_verdict_and_not_by_a_warning():
    people = make_synthetic(600, random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        part = audit(
            people.y,
            people.fair_score,
            sensitive_features=people.z,
            X=people.X,
            n_bootstrap=0,
            **MODELS,
        )
    assert part.causal.overlap.share_outside > 0.4
    assert part.causal.verdict.level != "ok"
    said = "% of the propensities lie outside [0.05, 0.95] (at most 25%)"
    assert any(said in line for line in part.decision.basis)


# --- the words ------------------------------------------------------------------------------------


def test_the_verdict_gives_the_interval_and_the_share_that_is_passed_on(found):
    parts = found.causal.parts
    assert f"between {points(parts.direct.low)} and {points(parts.direct.high)}" in found.verdict
    assert f"The scores pass on {100 * parts.pass_through.estimate:.0f}%".replace("-", "−") in (
        found.verdict
    )
    low, high = found.causal.labels.explained.low, found.causal.labels.explained.high
    assert f"({points(low)} to {points(high)}) of the labels' difference" in str(found)


def test_a_model_that_passes_the_direct_effect_on_is_named(people):
    part = audit(
        people.y,
        people.y * 0.98 + 0.01,
        sensitive_features=people.z,
        X=people.X,
        n_bootstrap=0,
        **MODELS,
    )
    assert part.causal.direct_effect_left.low > 0
    assert "The scores hold a direct effect" in part.verdict
    assert "higher for z = 1 than the covariates explain" in part.verdict


def test_a_model_that_overcorrects_is_named(people):
    part = audit(
        people.y,
        np.clip(0.9 * people.fair_score - 0.4 * people.z + 0.4, 0, 1),
        sensitive_features=people.z,
        X=people.X,
        n_bootstrap=0,
        **MODELS,
    )
    assert "lower for z = 1 than the covariates explain" in part.verdict


def test_a_world_without_a_direct_effect_keeps_none():
    people = make_world("no_direct_effect", 1500, random_state=0)
    part = audit(
        people.y,
        people.fair_score,
        sensitive_features=people.z,
        X=people.X,
        n_bootstrap=0,
        **MODELS,
    )
    assert part.causal.direct_effect_left.low < 0 < part.causal.direct_effect_left.high


# --- results as data ------------------------------------------------------------------------------


def test_the_result_becomes_json_with_a_version_and_comes_back(found):
    data = json.loads(found.to_json())
    assert data == found.to_dict()
    assert data["schema_version"] == 2
    assert data["causal"]["direct_effect_left"] == found.causal.direct_effect_left.to_dict()
    assert data["comparison"]["reference"] == "baseline"
    assert len(data["metrics"]) == len(found.metrics.entries)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_tables_become_frames(found, backend):
    assert len(found.to_frame(backend)) == len(found.metrics.entries)
    assert len(found.causal.to_frame(backend)) == 17
    assert len(found.performance.to_frame(backend)) + len(found.groups.to_frame(backend)) == len(
        found.metrics.entries
    )


def test_a_metric_is_found_by_its_name(found):
    assert found.metrics["auc"] == found.metrics["auc", "overall"]
    assert found.metrics["recall", "z=1", 0.7] != found.metrics["recall", "z=1", 0.5]
    with pytest.raises(KeyError, match="there are 2; give the threshold"):
        found.metrics["recall", "z=1"]
    with pytest.raises(KeyError, match="there is none"):
        found.metrics["recal"]


def test_thresholds_come_in_order_each_once(people):
    part = audit(
        people.y,
        people.fair_score,
        sensitive_features=people.z,
        threshold=[0.7, 0.2, 0.7],
        n_bootstrap=0,
    )
    assert part.thresholds == (0.2, 0.7)


def test_printed_it_is_the_verdict_and_every_number(found):
    text = str(found)
    assert all(line in text for line in (found.decision.headline, *found.decision.sentences))
    assert all(line in text for line in (*found.decision.basis, *found.decision.next_steps))
    for name in ("demographic_parity_difference", "direct_effect_left", "Verdict: ", "baseline"):
        assert name in text


def test_hostile_names_come_out_as_data(people):
    z = pd.Series(np.where(people.z == 1, *HOSTILE[::-1]), name='"quoted" <b>')
    part = audit(
        people.y,
        people.fair_score,
        sensitive_features=z,
        X=people.X,
        groups=Grouping(reference=HOSTILE[0]),
        n_bootstrap=0,
        **MODELS,
    )
    data = json.loads(part.to_json())
    assert data["sensitive"] == {"name": '"quoted" <b>', "levels": list(HOSTILE)}
    assert max(map(len, str(part).splitlines()[:2])) < 200
    assert "\u202e" not in str(part)
    cells = part.metrics.table.to_csv()
    assert ",'=cmd" in cells
    assert ",=cmd" not in cells


def test_no_row_of_the_table_is_in_the_result(people):
    X = people.X.copy()
    X[7, 3] = 1234.5678
    p = people.fair_score.copy()
    p[7] = 0.123456789
    part = audit(people.y, p, sensitive_features=people.z, X=X, n_bootstrap=2, **MODELS)
    assert "1234.5678" not in part.to_json() + str(part)
    assert "123456789" not in part.to_json() + str(part)


def test_any_container_gives_the_same_audit(people):
    columns = (people.y, people.fair_score, people.z)
    y, p, z = columns
    wanted = audit(y, p, sensitive_features=z, n_bootstrap=0).to_dict()
    for container in (list, pd.Series, pl.Series):
        y, p, z = (container(each.tolist()) for each in columns)
        assert audit(y, p, sensitive_features=z, n_bootstrap=0).to_dict() == wanted


def test_labels_may_be_words(people):
    words = np.where(people.y == 1, "yes", "no")
    part = audit(words, people.fair_score, sensitive_features=people.z, n_bootstrap=0)
    assert part.classes == ("no", "yes")
    assert part.metrics["base_rate"].estimate == people.y.mean()
    assert "The label is yes for" in str(part)


def test_the_result_cannot_be_changed(found):
    assert isinstance(found, Audit)
    with pytest.raises(AttributeError):
        found.missing = "nothing"


def test_the_effects_may_have_bootstrap_intervals(people):
    part = audit(
        people.y,
        people.fair_score,
        sensitive_features=people.z,
        X=people.X,
        n_bootstrap=3,
        effect_interval="bootstrap",
        **MODELS,
    )
    assert part.causal.labels.settings["n_bootstrap"] == 3
    assert part.causal.scores.settings["interval"] == "bootstrap"
    assert part.causal.direct_effect_left.se > 0


def test_the_names_of_columns_come_out_as_data_and_short(people):
    names = [HOSTILE[0], HOSTILE[1], *(f"c{k}" for k in range(people.X.shape[1] - 2))]
    X = pd.DataFrame(people.X, columns=names)
    part = audit(
        people.y, people.fair_score, sensitive_features=people.z, X=X, n_bootstrap=0, **MODELS
    )
    assert HOSTILE[1] in part.to_dict()["causal"]["balance"]["raw"]["columns"]
    lines = [line for line in str(part).splitlines() if line != part.verdict]
    assert max(map(len, lines)) < 250


def test_progress_is_told(people):
    seen = []
    audit(
        people.y,
        people.fair_score,
        sensitive_features=people.z,
        n_bootstrap=3,
        progress=lambda *at: seen.append(at),
    )
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_the_gaps_of_labels_and_scores_have_the_intervals_of_the_total_effects():
    people = make_synthetic(600, random_state=0)
    given = {"sensitive_features": people.z, "X": people.X, "n_bootstrap": 20, "cv": 2}
    logistic = LogisticRegression(max_iter=1000)
    given |= {"propensity_model": logistic, "outcome_model": logistic}
    found = audit(people.y, people.fair_score, baseline=people.propensity, **given)
    assert found.metrics["base_rate_difference"] == found.causal.labels.total
    assert found.metrics["score_gap"] == found.causal.scores.total
    for name in ("baseline", "model"):
        assert found.comparison.models[name]["base_rate_difference"] == found.causal.labels.total
    some = audit(people.y, people.fair_score, max_rows_for_effects=500, **given)
    assert some.metrics["base_rate_difference"] != some.causal.labels.total
