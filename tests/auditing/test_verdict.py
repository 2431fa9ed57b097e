"""The one decision on the direct effect in scores, and its words."""

from __future__ import annotations

import itertools
import json
from functools import cache

import numpy as np
import pytest
from contracts import assert_close
from scipy.special import logit
from scipy.stats import norm, rankdata
from sklearn.linear_model import LinearRegression, LogisticRegression
from test_wording import VALUE_WORDS

from unsway import audit, compare, make_world
from unsway.auditing.evidence import NEEDED, Evidence, name_groups, needed_se
from unsway.auditing.verdict import Decision, decide, labels_direct, level_of
from unsway.datasets import load_german

LOGISTIC = LogisticRegression(max_iter=1000)
MODELS = {
    "propensity_model": LOGISTIC,
    "outcome_model": LOGISTIC,
    "score_model": LinearRegression(),
}
PASSED = [{"name": name, "passed": True, "decisive": False, "sentence": ""} for name in NEEDED]


def failing(name="balance (ATC)", *, decisive=False):
    return [
        *PASSED,
        {"name": name, "passed": False, "decisive": decisive, "sentence": "It failed."},
    ]


def effect(estimate, se):
    half = norm.ppf(0.975) * se
    return {"estimate": estimate, "se": se, "low": estimate - half, "high": estimate + half}


def evidence(estimate=0.0, se=0.001, findings=PASSED, **more):
    direct = effect(estimate, se)
    return Evidence(direct=direct, groups=("men", "women"), findings=findings, **more)


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (evidence(0.05, 0.01), "direct effect"),
        (evidence(-0.05, 0.01), "direct effect"),
        (evidence(0.0, 0.005), "below margin"),
        (evidence(0.01, 0.003), "below margin"),  # not zero, but small
        (evidence(0.0, 0.02), "cannot tell"),  # no evidence of an effect is no evidence of none
        (evidence(0.0, 0.005, findings=None), "cannot tell"),
        (evidence(0.0, 0.005, findings=PASSED[:-1]), "cannot tell"),  # ATC was not looked at
        (evidence(0.0, 0.005, findings=failing()), "cannot tell"),
        (evidence(0.0, 0.005, findings=failing("mean field")), "below margin"),
        (evidence(0.05, 0.01, findings=failing()), "direct effect"),
        (evidence(0.05, 0.01, findings=failing(decisive=True)), "cannot tell"),
        (evidence(0.0, 0.005, margin=0.005), "cannot tell"),
        (evidence(float("nan"), 0.01), "not judged"),
    ],
)
def test_the_state_follows_the_intervals_and_the_checks(found, state):
    assert decide(found).state == state


def test_a_claim_takes_95_percent_and_equivalence_90():
    se = 0.02 / norm.ppf(0.95)  # the ends of the 90% interval around 0 are ±2 points
    assert decide(evidence(0.0, 0.999 * se)).state == "below margin"
    assert decide(evidence(0.0, 1.001 * se)).state == "cannot tell"
    assert decide(evidence(0.05, 0.05 / norm.ppf(0.97))).state == "cannot tell"
    assert decide(evidence(0.05, 0.05 / norm.ppf(0.98))).state == "direct effect"


def test_an_interval_of_another_confidence_is_turned_into_those_the_decision_takes():
    wide = Evidence(
        direct={"estimate": 0.05, "se": 0.02, "low": -0.0015, "high": 0.1015},
        confidence=0.99,
        groups=("men", "women"),
    )
    assert decide(wide).state == "direct effect"
    assert decide(wide).direct["low"] == pytest.approx(0.05 - 1.96 * 0.02, abs=1e-4)


def test_the_standard_error_that_could_tell_tells_in_four_of_five_samples():
    se = needed_se(0.02)
    draws = np.random.default_rng(0).normal(0, se, 20_000)
    inside = np.abs(draws) + norm.ppf(0.95) * se < 0.02
    assert inside.mean() == pytest.approx(0.8, abs=0.01)


def test_what_could_have_told_is_said_in_rows():
    sentences = decide(evidence(0.0, 2 * needed_se(0.02), n_rows=1_000)).sentences
    assert sentences[-1].endswith("which takes about 4.0 times as many rows, some 4,000.")


def test_the_interval_comes_first_and_there_are_at_most_three_sentences():
    share = {"estimate": 0.9, "se": 0.1, "low": 0.7, "high": 1.1}
    for state in ("effect", "small", "unsure"):
        size = {"effect": (0.05, 0.01), "small": (0.0, 0.005), "unsure": (0.0, 0.05)}[state]
        found = decide(evidence(*size, pass_through=share, blind={**share, "estimate": 0.8}))
        assert len(found.sentences) <= 3
        assert " lies between " in found.sentences[0]
        assert "pass on 90% (70% to 110%)" in found.sentences[1]
        assert "a blind reference model passes on 80%" in found.sentences[1]


def test_where_the_labels_hold_no_effect_that_is_said_instead_of_a_share():
    found = decide(evidence(0.0, 0.005, why_not="the labels hold no direct effect"))
    assert found.sentences[1] == "The labels hold no direct effect."


def test_more_removed_than_the_labels_hold_is_said_only_if_the_interval_says_so():
    less = {"estimate": -0.4, "se": 0.1, "low": -0.6, "high": -0.2}
    assert "More was removed" in decide(evidence(-0.05, 0.01, pass_through=less)).sentences[1]
    unsure = {**less, "high": 0.1}
    assert "More was removed" not in decide(evidence(-0.05, 0.01, pass_through=unsure)).text


def test_an_end_of_a_share_that_no_data_refute_has_no_bound():
    share = {"estimate": 0.5, "se": 0.1, "low": None, "high": float("inf")}
    assert "cannot tell which share" in decide(evidence(pass_through=share)).text
    half = {**share, "low": 0.2}
    assert "50% (20% to no bound)" in decide(evidence(pass_through=half)).text


# --- the direction --------------------------------------------------------------------------------


@pytest.mark.parametrize("estimate", [-0.05, 0.0, 0.05])
@pytest.mark.parametrize("se", [0.001, 0.05])
@pytest.mark.parametrize("findings", [None, PASSED, failing(), failing(decisive=True)])
def test_no_sentence_values_anything_until_the_favourable_label_is_stated(estimate, se, findings):
    found = decide(evidence(estimate, se, findings, scored="1", notes=["A note."]))
    texts = [found.text, *found.basis, *found.next_steps]
    assert [text for text in texts if VALUE_WORDS.search(text)] == []


@pytest.mark.parametrize(
    ("scored", "favourable", "estimate", "whom"),
    [
        ("hired", "hired", 0.05, "women"),
        ("hired", "hired", -0.05, "men"),
        ("default", "paid back", 0.05, "men"),
        ("default", "paid back", -0.05, "women"),
    ],
)
def test_the_words_are_right_for_good_and_for_bad_outcomes(scored, favourable, estimate, whom):
    found = decide(evidence(estimate, 0.01, scored=scored, favourable=favourable))
    assert f"a direct effect in favour of {whom}: 5.0 points" in found.headline
    assert f"{'higher' if estimate > 0 else 'lower'} for women" in found.headline


def test_groups_are_called_by_levels_that_say_what_they_are():
    assert name_groups(("0", "1"), None) == ("z = 0", "z = 1")
    assert name_groups(("a", "b"), "sex") == ("a", "b")


# --- audits ---------------------------------------------------------------------------------------


CODINGS = {
    "squared": np.square,
    "root": np.sqrt,
    "margin": lambda p: (logit(p) + 30) / 60,  # scores of an audit lie within [0, 1]
    "ranks": lambda p: rankdata(p) / (len(p) + 1),
    "shrunken": lambda p: 0.3 + 0.4 * p,
}


@cache
def people():
    return make_world("paper", 3_000, random_state=0)


@cache
def audited(coding="as it is"):
    data = people()
    code = CODINGS.get(coding, lambda p: p)
    blind = LOGISTIC.fit(data.X, data.y).predict_proba(data.X)[:, 1]
    groups = {"sensitive_features": data.z, "X": data.X}
    return audit(data.y, code(blind), n_bootstrap=0, cv=2, **groups, **MODELS)


@pytest.mark.parametrize("coding", CODINGS)
def test_a_coding_of_a_score_changes_neither_verdict_nor_pass_through(coding):
    plain, coded = audited().decision, audited(coding).decision
    assert (coded.state, coded.headline, coded.sentences) == (
        plain.state,
        plain.headline,
        plain.sentences,
    )
    shares = [each.pass_through["estimate"] for each in (coded, plain)]
    assert_close(shares[0], shares[1], 0.01)


def test_a_model_shrunk_to_40_percent_of_its_spread_is_not_called_over_corrected():
    found = audited("shrunken")
    assert found.causal.parts.left_as_given.estimate < 0
    assert found.decision.direct["estimate"] > 0
    assert "More was removed" not in found.verdict
    assert any("not calibrated" in line for line in found.decision.basis)
    assert all("not calibrated" not in line for line in audited().decision.basis)


def test_ten_points_for_one_group_of_german_credit_are_not_called_small():
    data = load_german()
    X, y, z = data.to_matrix()[0], data.y, data.z
    X = X / X.std(axis=0)
    score = LOGISTIC.fit(X, y).predict_proba(X)[:, 1]
    groups = {"sensitive_features": z, "X": X, "n_bootstrap": 0, "cv": 2, **MODELS}
    plus = np.clip(score + 0.1 * z, 0, 1)
    before, after = (audit(y, p, **groups).decision for p in (score, plus))
    assert after.state in ("direct effect", "cannot tell")
    assert after.direct["estimate"] > before.direct["estimate"] + 0.05


def test_a_default_score_is_worded_by_the_label_that_is_good():
    data = people()
    groups = {"sensitive_features": data.z, "X": data.X, "n_bootstrap": 0, "cv": 2, **MODELS}
    found = [
        audit(data.y, data.fair_score, favourable=each, **groups).settings["favourable"]
        for each in (None, 0, True, "1")
    ]
    assert found == ["", "0", "1", "1"]
    with pytest.raises(ValueError, match="favourable must be '0' or '1'; got 'paid'"):
        audit(data.y, data.fair_score, favourable="paid", **groups)


@pytest.mark.parametrize("margin", [0, 1, -0.02, "2"])
def test_a_margin_is_a_share(margin):
    data = people()
    with pytest.raises((TypeError, ValueError), match="margin"):
        audit(data.y, data.fair_score, sensitive_features=data.z, margin=margin)


def test_models_that_are_compared_have_the_decision_of_their_audit():
    data = people()
    scores = LOGISTIC.fit(data.X, data.y).predict_proba(data.X)[:, 1]
    both = compare(
        data.y,
        {"fair": data.fair_score, "blind": scores},
        sensitive_features=data.z,
        X=data.X,
        n_bootstrap=0,
        cv=2,
        propensity_model=LOGISTIC,
        outcome_model=LOGISTIC,
    )
    alone = audited().decision
    assert both.decisions["blind"].headline == alone.headline
    assert both.decisions["blind"].pass_through == alone.pass_through
    assert "fair: Cannot tell" in both.to_text()
    assert json.dumps(both.to_dict()["decisions"]["fair"]["state"]) == '"cannot tell"'


def test_a_decision_is_the_same_after_json():
    found = audited().decision
    assert Decision.from_dict(json.loads(json.dumps(found.to_dict()))).text == found.text


def test_without_covariates_the_reason_is_the_sentence():
    data = people()
    found = audit(data.y, data.fair_score, sensitive_features=data.z, n_bootstrap=0).decision
    assert (found.state, found.level) == ("not judged", "unknown")
    assert found.sentences[0].startswith("X was not given")


def test_the_labels_direct_effect_is_what_is_not_explained():
    assert labels_direct(0.25, 0.15) == pytest.approx(0.1)
    assert labels_direct(None, 0.15) is None


def test_only_a_decisive_check_that_failed_is_bad():
    checks = itertools.product([True, False], [True, False])
    levels = [level_of({"passed": passed, "decisive": decisive}) for passed, decisive in checks]
    assert levels == ["good", "good", "bad", "caution"]
