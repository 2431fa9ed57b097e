"""Adverse impact: every measure by hand on four rows, or against scipy and scikit-learn."""

import json

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from unsway import Grouping
from unsway.auditing import adverse_impact
from unsway.auditing.scored import Scored, decide_by_rate

FOUR = {
    "y_true": [1, 0, 1, 0],
    "y_pred": [0.9, 0.2, 0.8, 0.7],
    "sensitive_features": ["a", "a", "b", "b"],
    "groups": Grouping(reference="b"),
}


def draw(n=2_000, seed=0):
    rng = np.random.default_rng([seed, 3])
    z = rng.choice(["A", "B", "C"], n, p=[0.6, 0.3, 0.1])
    scores = rng.normal(size=n) - 0.4 * (z == "B") - 0.2 * (z == "C")
    y = (rng.random(n) < 1 / (1 + np.exp(-scores))).astype(int)
    return y, scores, z


def measure(**given):
    return adverse_impact(given.pop("y_true"), given.pop("y_pred"), **given)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("selection_rate", 0.5),
        ("adverse_impact_ratio", 0.5),
        ("selection_rate_difference", -0.5),
        ("shortfall", 1.0),  # one of the two more, at the rate of 1
        ("mean_score", 0.55),
        ("standardised_mean_difference", (0.55 - 0.75) / np.std([0.9, 0.2, 0.8, 0.7])),
        ("scoring_rate", 0.5),  # the median is .75
        ("scoring_rate_ratio", 1.0),
        ("score_distance", 0.5),
        ("ks", 1.0),
        ("gini", 1.0),
        ("ks_difference", 0.0),
        ("gini_difference", 0.0),
    ],
)
def test_each_measure_of_four_rows_is_as_by_hand(name, value):
    assert measure(**FOUR)["a", name].estimate == pytest.approx(value, abs=1e-12)


def test_where_low_scores_are_approved_they_are_the_ones_under_the_threshold():
    found = measure(**FOUR, approve="low", threshold=0.75)
    assert found["a", "selection_rate"].estimate == 0.5  # .2
    assert found["b", "selection_rate"].estimate == 0.5  # .7
    assert "state approve" in measure(**FOUR).direction
    assert found.direction == "Low scores are approved."


def test_negated_scores_with_the_other_end_approved_give_the_same_rates():
    y, scores, z = draw()
    high = measure(y_true=y, y_pred=scores, sensitive_features=z, approval_rate=0.3)
    low = measure(y_true=y, y_pred=-scores, sensitive_features=z, approval_rate=0.3, approve="low")
    for level in "BC":
        for name in ("adverse_impact_ratio", "shortfall", "scoring_rate_ratio"):
            assert vars(high[level, name]) == vars(low[level, name])


def test_tests_and_separations_are_those_of_scipy_and_scikit_learn():
    y, scores, z = draw()
    found = measure(y_true=y, y_pred=scores, sensitive_features=z, threshold=0.0)
    chosen = scores > 0
    for level in "BC":
        own, other = z == level, z == "A"
        table = [[(chosen & each).sum(), (~chosen & each).sum()] for each in (own, other)]
        expected = stats.chi2_contingency(table, correction=False).pvalue
        finding = found.finding(level, "adverse_impact_ratio")
        assert (finding.test.p_value, finding.test.name) == (pytest.approx(expected), "chi2")
        ratio = (chosen[own].mean()) / chosen[other].mean()
        assert finding.value.estimate == pytest.approx(ratio)
        welch = stats.ttest_ind(scores[own], scores[other], equal_var=False).pvalue
        known = found.finding(level, "standardised_mean_difference").test.p_value
        assert known == pytest.approx(welch)
        distance = stats.ks_2samp(scores[own], scores[other], method="asymp")
        finding = found.finding(level, "score_distance")
        assert finding.value.estimate == pytest.approx(distance.statistic)
        assert finding.test.p_value == pytest.approx(distance.pvalue)
        ks = stats.ks_2samp(scores[own & (y == 1)], scores[own & (y == 0)]).statistic
        assert found[level, "ks"].estimate == pytest.approx(ks)
        gini = 2 * roc_auc_score(y[own], scores[own]) - 1
        assert found[level, "gini"].estimate == pytest.approx(gini)


def test_few_people_are_tested_by_fisher():
    chosen = np.array([1] * 8 + [0] * 4 + [1] * 1 + [0] * 7)
    z = np.array([0] * 12 + [1] * 8)
    finding = adverse_impact(None, chosen, sensitive_features=z).finding(
        "1", "adverse_impact_ratio"
    )
    expected = stats.fisher_exact([[1, 7], [8, 4]])[1]
    assert (finding.test.name, finding.test.p_value) == ("fisher", pytest.approx(expected))


def test_the_interval_of_a_ratio_at_a_threshold_is_that_of_katz():
    y, scores, z = draw()
    found = measure(y_true=y, y_pred=scores, sensitive_features=z, threshold=0.0)
    own, other = (scores > 0)[z == "B"], (scores > 0)[z == "A"]
    se = np.sqrt((1 - own.mean()) / own.sum() + (1 - other.mean()) / other.sum())
    value = found["B", "adverse_impact_ratio"]
    assert value.low == pytest.approx(value.estimate * np.exp(-1.959964 * se), rel=1e-6)


def test_rates_at_an_approval_rate_vary_less_than_at_a_threshold():
    y, scores, z = draw()
    cut = float(np.quantile(scores, 0.7))
    found = measure(y_true=y, y_pred=scores, sensitive_features=z, threshold=cut, approval_rate=0.3)
    fixed = found.finding("A", "selection_rate", f"threshold {cut:g}").value
    moving = found.finding("A", "selection_rate", "approval rate 0.3").value
    assert moving.se < 0.8 * fixed.se
    assert moving.estimate == pytest.approx(fixed.estimate, abs=0.01)


def test_weights_of_two_count_as_a_row_twice():
    y, scores, z = draw(300)
    weights = np.where(np.arange(300) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(300), weights.astype(int))
    weighted = measure(
        y_true=y, y_pred=scores, sensitive_features=z, sample_weight=weights,
        groups=Grouping(reference="A"), approval_rate=0.3,
    )  # fmt: skip
    repeated = measure(
        y_true=y[twice], y_pred=scores[twice], sensitive_features=z[twice],
        groups=Grouping(reference="A"), approval_rate=0.3,
    )  # fmt: skip
    for finding in repeated.findings:
        key = (finding.level, finding.measure)
        assert weighted[key].estimate == pytest.approx(finding.value.estimate), key


def test_segments_are_measured_by_the_decisions_of_everyone():
    y, scores, z = draw()
    by = np.where(np.arange(len(y)) < 700, "north", "south")
    found = measure(y_true=y, y_pred=scores, sensitive_features=z, approval_rate=0.25, by=by)
    approved = scores >= np.sort(scores)[-500]
    for segment in ("north", "south"):
        inside = (by == segment) & (z == "B")
        value = found["B", "selection_rate", segment].estimate
        assert value == pytest.approx(approved[inside].mean())


def test_quantiles_give_a_ratio_for_every_share_approved():
    y, scores, z = draw()
    found = measure(y_true=y, y_pred=scores, sensitive_features=z, quantiles=5)
    assert [round(share, 3) for share in found.settings["rules"].values()] == [0.2, 0.4, 0.6, 0.8]


def test_four_fifths_are_flagged_by_the_ratio_alone():
    found = measure(**FOUR)
    assert [each.level for each in found.flagged] == ["a"]
    assert found.finding("a", "shortfall").below_four_fifths is None


def test_adjusted_p_values_are_those_of_holm():
    y, scores, z = draw()
    found = measure(y_true=y, y_pred=scores, sensitive_features=z, approval_rate=0.2)
    pairs = [found.finding(level, "adverse_impact_ratio") for level in "BC"]
    small, large = sorted(pairs, key=lambda each: each.test.p_value)
    assert small.p_adjusted == pytest.approx(min(1, 2 * small.test.p_value))
    assert large.p_adjusted == pytest.approx(max(small.p_adjusted, large.test.p_value))


def test_nobody_approved_in_the_reference_has_no_ratio_and_in_a_level_no_interval():
    none = adverse_impact(None, [0, 0, 1, 0], sensitive_features=[0, 0, 1, 1])
    assert np.isnan(none["1", "adverse_impact_ratio"].estimate)
    zero = adverse_impact(None, [1, 0, 0, 0], sensitive_features=[0, 0, 1, 1])
    assert zero["1", "adverse_impact_ratio"].estimate == 0
    assert zero.flagged
    json.loads(zero.to_json())


def test_a_level_with_equal_scores_is_tested_without_a_warning():
    found = adverse_impact(None, [1, 0, 1, 1], sensitive_features=[1, 1, 0, 0])
    assert found.finding("1", "standardised_mean_difference").test.name == "wald"


def test_equal_scores_are_decided_alike():
    people = Scored.check(None, [3, 3, 3, 2, 1, 1], [0, 1, 0, 1, 0, 1])
    for rate in (0.1, 0.4, 0.5, 0.6, 0.9):
        decision = decide_by_rate(people, rate)
        assert len(set(decision.approved[:3])) == len(set(decision.approved[4:])) == 1


def test_the_order_of_rows_and_the_names_of_levels_change_nothing():
    y, scores, z = draw(500)
    found = measure(y_true=y, y_pred=scores, sensitive_features=z, approval_rate=0.3)
    order = np.random.default_rng(1).permutation(500)
    renamed = np.array([{"A": "z", "B": "y", "C": "x"}[each] for each in z])[order]
    again = measure(
        y_true=y[order], y_pred=scores[order], sensitive_features=renamed, approval_rate=0.3
    )
    for old, new in (("B", "y"), ("C", "x")):
        for name in ("adverse_impact_ratio", "gini", "score_distance"):
            assert found[old, name].estimate == pytest.approx(again[new, name].estimate)
            assert found[old, name].low == pytest.approx(again[new, name].low)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sensitive_features": ["a", "a", "a", "a"]}, "1 levels"),
        ({"groups": None}, "state the one that the other is compared"),
        ({"groups": Grouping(reference="c")}, "is not a level"),
        ({"y_pred": [0.5, 0.1, np.nan, 1.0]}, "missing values"),
        ({"approve": "top"}, "unknown approve"),
        ({"approval_rate": 1.5}, "approval_rate must be"),
        ({"by": ["x", "x"]}, "by has 2 rows"),
        ({"sample_weight": [1, 1, 0, 0]}, "sample_weight of zero"),
        ({"y_pred": [1, 1, 1, 1], "approval_rate": 0.5}, "same score in every row"),
        ({"y_true": [1, 1, 1, 1]}, "single class"),
    ],
)
def test_bad_input_is_refused_by_a_sentence(change, message):
    with pytest.raises(ValueError, match=message):
        measure(**{**FOUR, **change})


def test_the_table_prints_and_becomes_json():
    found = measure(**FOUR, threshold=0.5)
    assert "below 4/5" in str(found)
    content = json.loads(found.to_json())
    assert content["findings"][0]["level"] == "b"
    assert len(found.to_frame()) == len(found.findings)
    assert "<table>" in found._repr_html_()


def test_the_ratio_by_the_share_approved_can_be_drawn():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    y, scores, z = draw(500)
    ax = measure(y_true=y, y_pred=scores, sensitive_features=z, quantiles=4).plot()
    assert len(ax.lines) == 2 + 2  # parity, four fifths, and two levels
    pyplot.close(ax.figure)


# --- clusters ------------------------------------------------------------------------------------


def test_rows_repeated_within_clusters_have_the_standard_errors_of_the_rows_once():
    y, scores, z = draw(400)
    once = {"y_true": y, "y_pred": scores, "sensitive_features": z, "approval_rate": 0.3}
    three = {name: np.repeat(column, 3) for name, column in once.items() if name[0] != "a"}
    people = np.repeat(np.arange(400), 3)
    plain = measure(**once)
    clustered = measure(**three, approval_rate=0.3, cluster=people)
    for each in plain.findings:
        if each.measure in ("selection_rate", "adverse_impact_ratio", "gini_difference",
                            "standardised_mean_difference", "mean_score"):  # fmt: skip
            key = each.level, each.measure, each.rule
            found = clustered.finding(*[name for name in key if name])
            assert found.value.estimate == pytest.approx(each.value.estimate), key
            # the rows near the cut that say how it moves are not quite the same
            tolerance = 0.03 if each.rule else 1e-9
            factor = np.sqrt(400 / 399)
            assert found.value.se == pytest.approx(factor * each.value.se, rel=tolerance), key
    assert clustered.finding("B", "selection_rate_difference").test.name == "wald"
    assert clustered.settings["clustered"]


def test_a_segment_counts_the_clusters_that_it_has():
    y, scores, z = draw(400)
    people = np.arange(400) // 2 + 50
    where = np.where(np.arange(400) < 200, "north", "south")
    whole = measure(y_true=y, y_pred=scores, sensitive_features=z, cluster=people, by=where)
    north = where == "north"
    alone = measure(y_true=y[north], y_pred=scores[north], sensitive_features=z[north],
                    cluster=people[north])  # fmt: skip
    key = "B", "gini_difference"
    assert whole.finding(*key, "north").value.se == pytest.approx(alone.finding(*key).value.se)


def test_clusters_of_another_length_are_refused():
    with pytest.raises(ValueError, match="cluster has 3 rows"):
        measure(**FOUR, cluster=[1, 2, 3])
