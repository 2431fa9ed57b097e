"""The fair log-loss: a loss against the fair score, estimated from labels."""

from __future__ import annotations

import warnings
from dataclasses import FrozenInstanceError, replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from unsway import FairLogLoss, OverlapWarning, estimate_effects, fair_log_loss, make_world
from unsway.datasets import synthetic
from unsway.effects import Nuisances
from unsway.grouping import Grouping

LINEAR = {
    "outcome_model": LogisticRegression(max_iter=1000),
    "propensity_model": LogisticRegression(max_iter=1000),
}


def loss(target, p):
    return -target * np.log(p) - (1 - target) * np.log(1 - p)


def decent(n_rows, seed):
    """Draw from a linear world whose groups overlap."""
    world = replace(synthetic._find_world("paper"), indirect_shift=0.5, proxy_shift=0.5)
    return synthetic._draw(world, n_rows, np.random.default_rng(seed))


def known(data):
    """Return the true nuisances of drawn rows."""
    world = replace(synthetic._find_world("paper"), indirect_shift=0.5, proxy_shift=0.5)
    return Nuisances(data.propensity, world.outcome_probabilities(data.X))


def blind(data, nuisances=None):
    return (nuisances or known(data)).mean


def judge(data, **options):
    return FairLogLoss.fit(data.y, sensitive_features=data.z, X=data.X, **options)


@cache
def people():
    return decent(1500, 7)


@cache
def fitted():
    return judge(people(), **LINEAR)


# By hand


def test_the_target_and_the_loss_by_hand():
    nuisances = Nuisances(np.array([0.25, 0.25, 0.8, 0.5]), np.tile([0.2, 0.6], (4, 1)))
    y, z = np.array([1, 0, 1, 0]), np.array([0, 1, 1, 0])
    # .4 + .8/1.5, .4 − .6/.5, .4 + .4/1.6, .4 − .2/1
    target = np.array([0.4 + 0.8 / 1.5, -0.8, 0.65, 0.2])
    p = np.array([0.5, 0.25, 0.75, 0.1])
    found = FairLogLoss.fit(y, sensitive_features=z, X=np.ones((4, 1)), nuisances=nuisances)
    np.testing.assert_allclose(found.target, target)
    losses = loss(target, p)
    each = found.of(p)
    assert each.estimate == pytest.approx(losses.mean())
    assert each.se == pytest.approx(losses.std() / 2)
    assert each.high - each.estimate == pytest.approx(1.959964 * each.se, rel=1e-6)


def test_the_function_is_the_class_with_one_score():
    data = people()
    found = fair_log_loss(
        data.y, data.fair_score, sensitive_features=data.z, X=data.X, **LINEAR
    )  # fmt: skip
    assert found == fitted().of(data.fair_score)


def test_a_difference_is_that_of_the_two_losses_with_a_paired_error():
    data, found = people(), fitted()
    first, second = data.fair_score, blind(data)
    difference = found.difference(first, second)
    assert difference.estimate == pytest.approx(
        found.of(first).estimate - found.of(second).estimate
    )
    losses = loss(found.target, first) - loss(found.target, second)
    assert difference.se == pytest.approx(losses.std() / np.sqrt(len(losses)))
    assert difference.se < 0.6 * found.of(first).se
    other = found.difference(second, first)
    assert (other.estimate, other.se) == pytest.approx((-difference.estimate, difference.se))


def test_a_score_does_not_differ_from_itself():
    found = fitted().difference(people().fair_score, people().fair_score)
    assert (found.estimate, found.se) == (0, 0)


def test_scores_of_zero_and_one_have_a_finite_loss():
    p = (people().fair_score > 0.5).astype(float)
    assert 1 < fitted().of(p).estimate < 40


# In a world whose fair score is known


@pytest.mark.parametrize(
    "wrong",
    [
        lambda n: n,
        lambda n: replace(n, outcome=np.full_like(n.outcome, 0.5)),
        lambda n: replace(n, propensity=np.full_like(n.propensity, 0.5)),
    ],
    ids=["both right", "outcome wrong", "propensity wrong"],
)
def test_the_mean_over_draws_is_the_loss_against_the_fair_score(wrong):
    errors, differences = [], []
    for seed in range(60):
        data = decent(2000, seed)
        f, p = data.fair_score, blind(data)
        found = judge(data, nuisances=wrong(known(data)), max_extreme_share=1)
        errors.append(found.of(p).estimate - loss(f, p).mean())
        truth = (loss(f, p) - loss(f, f)).mean()
        differences.append(found.difference(p, f).estimate - truth)
    for each in (errors, differences):
        assert abs(np.mean(each)) < 4 * np.std(each) / np.sqrt(len(each))


def test_with_fitted_models_too_the_mean_is_the_truth_and_the_errors_have_the_stated_size():
    errors, stated = [], []
    for seed in range(25):
        data = decent(1200, 100 + seed)
        f, p = data.fair_score, blind(data)
        found = judge(data, repeats=1, max_extreme_share=1, **LINEAR).difference(p, f)
        errors.append(found.estimate - (loss(f, p) - loss(f, f)).mean())
        stated.append(found.se)
    assert abs(np.mean(errors)) < 4 * np.std(errors) / 5
    assert 0.6 < np.std(errors) / np.mean(stated) < 1.5


def test_the_fair_score_has_the_smallest_loss():
    data = decent(200_000, 1)
    f, found = data.fair_score, judge(data, nuisances=known(data))
    others = {
        "blind": blind(data),
        "z=0": known(data).outcome[:, 0],
        "sharper": expit(1.2 * logit(f)),
        "flatter": expit(0.8 * logit(f)),
        "higher": expit(logit(f) + 0.1),
        "lower": expit(logit(f) - 0.1),
        "constant": np.full(len(f), f.mean()),
    }
    for name, p in others.items():
        worse = found.difference(p, f)
        assert worse.estimate > 4 * worse.se, name


def test_the_log_loss_on_labels_prefers_the_blind_score():
    data = decent(200_000, 1)
    f, p = data.fair_score, blind(data)
    assert loss(data.y, p).mean() < loss(data.y, f).mean()


def test_within_cells_of_x_the_best_score_is_the_mean_of_the_target():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (4000, 1)).astype(float)
    z = (rng.random(4000) < 0.3 + 0.4 * X[:, 0]).astype(int)
    y = (rng.random(4000) < 0.2 + 0.2 * X[:, 0] + 0.3 * z).astype(int)
    found = FairLogLoss.fit(y, sensitive_features=z, X=X, **LINEAR)
    means = np.array([found.target[X[:, 0] == cell].mean() for cell in (0, 1)])
    np.testing.assert_allclose(means, [0.35, 0.55], atol=0.04)
    best = found.of(means[X[:, 0].astype(int)]).estimate
    for shift in ([0.01, 0], [-0.01, 0], [0, 0.01], [0, -0.01]):
        assert found.of((means + shift)[X[:, 0].astype(int)]).estimate > best


# What it depends on, and what not


def test_the_names_of_the_levels_do_not_matter():
    data, reference = people(), fitted()
    for z in (1 - data.z, np.where(data.z == 1, "a", "b")):
        options = {} if z.dtype.kind == "i" else {"groups": Grouping(reference="a")}
        found = FairLogLoss.fit(data.y, sensitive_features=z, X=data.X, **LINEAR, **options)
        np.testing.assert_allclose(found.target, reference.target, atol=2e-4)


def test_the_target_is_the_mean_over_the_repeats():
    data = people()
    each = [judge(data, repeats=1, random_state=seed, **LINEAR).target for seed in (4, 5)]
    both = judge(data, repeats=2, random_state=4, **LINEAR).target
    assert not np.array_equal(*each)
    np.testing.assert_allclose(both, np.mean(each, axis=0))


def test_the_order_of_the_rows_does_not_matter():
    data, order = people(), np.random.default_rng(0).permutation(1500)
    found = FairLogLoss.fit(
        data.y[order], sensitive_features=data.z[order], X=data.X[order], **LINEAR
    )
    np.testing.assert_allclose(found.target, fitted().target[order], atol=1e-5)


def test_the_nuisances_of_estimated_effects_serve_as_well():
    data = people()
    effects = estimate_effects(
        data.X, data.y, sensitive_features=data.z, max_extreme_share=1, **LINEAR
    )
    shared = judge(data, nuisances=effects.nuisances)
    np.testing.assert_allclose(shared.target, judge(data, repeats=1, **LINEAR).target)


def test_a_weight_of_two_is_a_row_twice():
    data, twice = people(), np.r_[np.arange(1500), np.arange(700)]
    weights = 1.0 + (np.arange(1500) < 700)
    nuisances, p = known(data), blind(data)
    weighted = judge(data, nuisances=nuisances, sample_weight=weights).of(p)
    repeated = FairLogLoss.fit(
        data.y[twice],
        sensitive_features=data.z[twice],
        X=data.X[twice],
        nuisances=Nuisances(nuisances.propensity[twice], nuisances.outcome[twice]),
    ).of(p[twice])
    assert weighted.estimate == pytest.approx(repeated.estimate)


def test_tables_with_categories_and_missing_values_are_read():
    data = make_world("missing_by_group", 600, random_state=0)
    frame = pd.DataFrame(data.X, columns=list(data.feature_names))
    frame["kind"] = pd.Categorical(np.where(data.X[:, 5] > 0, "a", "b"))
    found = fair_log_loss(
        pd.Series(data.y), pd.Series(data.fair_score), sensitive_features=pd.Series(data.z),
        X=frame, cv=2, repeats=1, max_extreme_share=1,
    )  # fmt: skip
    assert 0.3 < found.estimate < 1


def test_poor_overlap_is_a_warning_with_its_share():
    data = make_world("poor_overlap", 1500, random_state=0)
    with pytest.warns(OverlapWarning, match=r"8\d% of the propensities lie outside \[0.05, 0.95\]"):
        judge(data, repeats=1, **LINEAR)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        judge(data, repeats=1, max_extreme_share=1, **LINEAR)


def test_the_judge_says_how_many_rows_it_has_and_cannot_be_changed():
    assert len(fitted()) == 1500
    assert repr(fitted()) == "FairLogLoss(confidence=0.95)"
    with pytest.raises(FrozenInstanceError):
        fitted().confidence = 0.5


# Bad input


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"repeats": 0}, "repeats must be an integer of at least 1; got 0"),
        ({"cv": 0}, "cv must be an integer of at least 1; got 0"),
        ({"clip": 0.5}, "clip must be a finite number above 0 and below 0.5; got 0.5"),
        ({"confidence": 1}, "confidence must be a finite number above 0 and below 1; got 1"),
        ({"random_state": -1}, "random_state must be an integer of at least 0; got -1"),
        ({"X": None}, "the fair log-loss cannot be estimated: X was not given"),
        ({"X": np.ones((3, 1))}, "X has 3 rows but y_true has 1500"),
        ({"y_pred": np.ones(3)}, "y_pred has 3 rows but y_true has 1500"),
        ({"y_pred": np.full(1500, 2.0)}, "it looks like margins"),
        ({"y_pred": np.full(1500, np.nan)}, "y_pred has 1500 missing values"),
        ({"y_true": np.zeros(1500)}, "y_true has a single class"),
        ({"sensitive_features": np.arange(1500)}, "distinct numbers"),
        ({"sensitive_features": np.arange(1500) < 9}, "the group 'True' has 9 rows; at least 20"),
        ({"nuisances": Nuisances(np.ones(2), np.ones((2, 2)))}, "not those of the 1500 rows"),
    ],
)
def test_bad_input_is_refused(changed, message):
    data = people()
    given = {
        "y_true": data.y,
        "y_pred": data.fair_score,
        "sensitive_features": data.z,
        "X": data.X,
        **changed,
    }
    with pytest.raises(ValueError, match=message):
        fair_log_loss(given.pop("y_true"), given.pop("y_pred"), **given)


@pytest.mark.parametrize(("first", "second", "role"), [(0, 1, "first"), (1, 0, "second")])
def test_a_difference_says_which_scores_are_wrong(first, second, role):
    scores = (np.ones(3), people().fair_score)
    with pytest.raises(ValueError, match=f"{role} has 3 rows"):
        fitted().difference(scores[first], scores[second])


def test_rows_repeated_within_clusters_have_the_standard_error_of_the_rows_once():
    rng, n = np.random.default_rng(2), 60
    y, z, p = rng.integers(0, 2, n), np.arange(n) % 2, rng.uniform(0.1, 0.9, n)
    X = rng.standard_normal((n, 1))
    known = Nuisances(np.full(n, 0.5), np.full((n, 2), 0.4))
    once = fair_log_loss(y, p, sensitive_features=z, X=X, nuisances=known)
    rows = np.repeat(np.arange(n), 2)
    twice = fair_log_loss(
        y[rows], p[rows], sensitive_features=z[rows], X=X[rows], nuisances=known.take(rows),
        cluster=rows,
    )  # fmt: skip
    assert twice.estimate == pytest.approx(once.estimate)
    assert twice.se == pytest.approx(once.se * np.sqrt(n / (n - 1)))


def test_a_level_in_few_clusters_is_refused():
    rows = {"sensitive_features": np.arange(60) % 2, "X": np.ones((60, 1))}
    with pytest.raises(ValueError, match="is found in 3 clusters"):
        FairLogLoss.fit(np.arange(60) // 2 % 2, **rows, cluster=np.arange(60) // 20)
