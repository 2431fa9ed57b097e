"""The direct effect left in a model's scores: their gap less what z does through the covariates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from contracts import assert_close, make_people
from sklearn.linear_model import LogisticRegression

from unsway.datasets import synthetic, worlds
from unsway.effects.direct_effect_left import direct_effect_left
from unsway.effects.estimate import resample
from unsway.effects.estimation import METHODS, estimate_effects

PEOPLE = make_people(300)
OPTIONS = {"propensity_model": LogisticRegression(), "outcome_model": LogisticRegression(), "cv": 2}

each_method = pytest.mark.parametrize("method", METHODS)


def effects(**options):
    return estimate_effects(
        PEOPLE.X, PEOPLE.y, sensitive_features=PEOPLE.z, **{**OPTIONS, **options}
    )


def gap(scores, z=PEOPLE.z, weights=None):
    weights = np.ones_like(z) if weights is None else weights
    return np.average(scores, weights=weights * z) - np.average(scores, weights=weights * (1 - z))


@each_method
def test_it_is_the_scores_gap_less_the_symmetric_indirect_effect(method):
    found = effects(method=method)
    left = found.direct_effect_left(PEOPLE.scores)
    assert left.estimate == pytest.approx(gap(PEOPLE.scores) - found.explained.estimate)


@each_method
def test_labels_as_scores_leave_the_whole_direct_effect(method):
    found = effects(method=method)
    left = found.direct_effect_left(PEOPLE.y)
    expected = found.total.estimate - found.explained.estimate
    assert left.estimate == pytest.approx(expected, abs=1e-12)
    assert left.estimate == pytest.approx(
        (found.direct_reference.estimate + found.direct_group.estimate) / 2, abs=1e-12
    )


def test_a_score_that_ignores_everyone_leaves_minus_the_indirect_effect():
    found = effects()
    left = found.direct_effect_left(np.full(300, 0.3))
    assert left.estimate == pytest.approx(-found.explained.estimate)
    assert left.se == pytest.approx(found.explained.se)


def test_the_function_does_what_the_method_does():
    found = direct_effect_left(
        PEOPLE.y, PEOPLE.scores, sensitive_features=PEOPLE.z, X=PEOPLE.X, **OPTIONS
    )
    assert found == effects().direct_effect_left(PEOPLE.scores)


def test_weights_count_in_the_gap_too():
    found = effects(sample_weight=PEOPLE.weights)
    left = found.direct_effect_left(PEOPLE.scores)
    expected = gap(PEOPLE.scores, weights=PEOPLE.weights) - found.explained.estimate
    assert left.estimate == pytest.approx(expected)


def test_the_error_holds_that_of_the_gap_and_of_the_indirect_effect():
    found = effects()
    # scores that are noise of their own add their variance to that of explained
    noise = np.random.default_rng(0).normal(0, 3, 300)
    groups = [noise[PEOPLE.z == level] for level in (0, 1)]
    own = sum(np.var(group) / len(group) for group in groups)
    left = found.direct_effect_left(noise)
    assert left.se == pytest.approx(np.sqrt(own + found.explained.se**2), rel=0.05)


def test_a_bootstrapped_interval_uses_the_same_resamples_for_gap_and_indirect_effect():
    found = effects(interval="bootstrap", n_bootstrap=5, random_state=2)
    left = found.direct_effect_left(PEOPLE.scores)
    explained = found._replicates
    gaps = [
        gap(PEOPLE.scores[rows], PEOPLE.z[rows])
        for rows in (resample(PEOPLE.z, 2, k) for k in range(5))
    ]
    assert left.se == pytest.approx(np.std(gaps - explained, ddof=1))
    assert left.high - left.low == pytest.approx(2 * 1.959964 * left.se, rel=1e-6)


def test_a_fair_score_leaves_nothing_and_a_blind_one_something():
    world = replace(worlds.World("decent"), indirect_shift=0.5, proxy_shift=0.5)
    people = synthetic._draw(world, 8000, np.random.default_rng(0))
    model = LogisticRegression(C=100, max_iter=1000)
    found = estimate_effects(
        people.X, people.y, sensitive_features=people.z, propensity_model=model,
        outcome_model=model, cv=2,
    )  # fmt: skip
    fair = found.direct_effect_left(people.fair_score)
    assert fair.low < 0 < fair.high
    assert fair.se < 0.02
    blind = LogisticRegression().fit(people.X, people.y).predict_proba(people.X)[:, 1]
    assert found.direct_effect_left(blind).low > 0.02


@pytest.mark.parametrize("kind", ["list", "pandas", "polars", "column"])
def test_scores_come_in_every_container(kind):
    scores = {
        "list": lambda p: p.tolist(),
        "pandas": lambda p: pytest.importorskip("pandas").Series(p, index=range(300, 0, -1)),
        "polars": lambda p: pytest.importorskip("polars").Series(p),
        "column": lambda p: p[:, None],
    }[kind](PEOPLE.scores)
    found = effects()
    left = found.direct_effect_left(scores)
    assert_close(left.estimate, found.direct_effect_left(PEOPLE.scores).estimate, 1e-15)


@pytest.mark.parametrize(
    ("scores", "error", "message"),
    [
        (PEOPLE.scores[:-1], ValueError, "y_pred has 299 rows but the effects were estimated on 3"),
        (np.where(PEOPLE.z == 1, np.nan, 1), ValueError, "y_pred has .* missing values"),
        (np.array(["high"] * 300), TypeError, "y_pred must hold numbers"),
        (np.zeros((300, 2)), ValueError, "y_pred must be one column"),
    ],
    ids=["too few", "missing", "text", "two columns"],
)
def test_scores_that_cannot_be_compared_are_refused(scores, error, message):
    with pytest.raises(error, match=message):
        effects().direct_effect_left(scores)
