"""Effects from people: identities, invariances, robustness, intervals, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from contracts import KnownScore, as_pandas, as_polars, assert_close, make_people, mixed_columns
from scipy.special import logit
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from unsway.datasets import load_berkeley, synthetic
from unsway.effects.encoding import TableEncoder
from unsway.effects.estimation import METHODS, estimate_effects
from unsway.effects.influence import EFFECTS, reach
from unsway.effects.nuisance import Nuisances
from unsway.grouping import Grouping

LOGISTIC = LogisticRegression(max_iter=1000)
PEOPLE = make_people(400)
TWINS = {
    "total": "total",
    "direct_reference": "direct_group",
    "direct_group": "direct_reference",
    "indirect_reference": "indirect_group",
    "indirect_group": "indirect_reference",
    "explained": "explained",
    "direct_everyone": "direct_everyone",
    "direct_overlap": "direct_overlap",
}

each_method = pytest.mark.parametrize("method", METHODS)


def effects(people=PEOPLE, **options):
    chosen = {"propensity_model": LOGISTIC, "outcome_model": LOGISTIC, "cv": 3, **options}
    X, y, z = (chosen.pop(name, getattr(people, name)) for name in ("X", "y", "z"))
    return estimate_effects(X, y, sensitive_features=z, **chosen)


def numbers(found, key="estimate"):
    return np.array([getattr(each, key) for each in found.estimates().values()])


@cache
def decent(n_rows=4000, name="paper", seed=0):
    """Draw from a world whose groups overlap: its shifts are half those of the paper."""
    world = replace(synthetic._find_world(name), indirect_shift=0.5, proxy_shift=0.5)
    return synthetic._draw(world, n_rows, np.random.default_rng(seed))


# --- identities ----------------------------------------------------------------------------------


@each_method
def test_the_whole_difference_splits_in_two_ways(method):
    found = effects(method=method)
    assert found.direct_reference.estimate + found.indirect_group.estimate == pytest.approx(
        found.total.estimate
    )
    assert found.direct_group.estimate + found.indirect_reference.estimate == pytest.approx(
        found.total.estimate
    )
    half = (found.indirect_reference.estimate + found.indirect_group.estimate) / 2
    assert found.explained.estimate == pytest.approx(half)
    y, z = PEOPLE.y, PEOPLE.z
    assert found.total.estimate == pytest.approx(y[z == 1].mean() - y[z == 0].mean())


@each_method
def test_the_papers_and_pearls_signs_keep_their_own_identities(method):
    found = effects(method=method)
    paper, pearl = found.as_paper(), found.as_pearl()
    total = found.total.estimate
    assert paper["NIE(1)"].estimate - paper["NDE(0)"].estimate == pytest.approx(total)
    assert paper["NDE(1)"].estimate - paper["NIE(0)"].estimate == pytest.approx(total)
    assert pearl["NDE(0)"].estimate - pearl["NIE(1)"].estimate == pytest.approx(total)
    assert pearl["NIE(0)"].estimate - pearl["NDE(1)"].estimate == pytest.approx(total)
    assert pearl["NDE(0)"] == found.direct_reference
    assert paper["NDE(0)"].low == -found.direct_reference.high


@each_method
def test_the_mean_over_everyone_lies_between_the_groups_means(method):
    found = effects(decent(), method=method, cv=2)
    share = decent().z.mean()
    mixed = (1 - share) * found.direct_reference.estimate + share * found.direct_group.estimate
    # exact for the surrogate; the others weight the rows a little differently
    assert found.direct_everyone.estimate == pytest.approx(
        mixed, abs=1e-9 if method == "surrogate" else 0.02
    )


# --- Berkeley ------------------------------------------------------------------------------------


BERKELEY = {
    "total": -0.141645,
    "direct_reference": 0.070969,
    "direct_group": 0.001088,
    "indirect_reference": -0.142733,
    "indirect_group": -0.212615,
    "explained": (-0.142733 - 0.212615) / 2,
    "direct_overlap": 0.018425,
}


@each_method
def test_saturated_models_reproduce_berkeleys_counts_exactly(method):
    data = load_berkeley()
    rows = np.repeat(np.arange(24), data.sample_weight.astype(int))
    X, y, z = data.columns["Dept"].astype(object)[rows, None], data.y[rows], data.z[rows]
    tree = make_pipeline(TableEncoder(), DecisionTreeClassifier())
    found = estimate_effects(
        X, y, sensitive_features=z, method=method, propensity_model=tree,
        outcome_model=tree, cv=1, outcome_degree=5, effect_degree=5, basis="polynomial",
    )  # fmt: skip
    assert found.nuisances.n_clipped == 0
    for name, value in BERKELEY.items():
        assert getattr(found, name).estimate == pytest.approx(value, abs=1.1e-6), name


# --- invariances ---------------------------------------------------------------------------------


@each_method
def test_the_order_of_rows_does_not_matter(method):
    order = np.random.default_rng(0).permutation(400)
    found, other = effects(method=method), effects(PEOPLE.rows(order), method=method)
    assert_close(numbers(other), numbers(found), 1e-6)
    assert_close(numbers(other, "se"), numbers(found, "se"), 1e-6)


@each_method
def test_turning_z_around_turns_signs_and_exchanges_the_groups(method):
    found, other = effects(method=method), effects(method=method, groups=Grouping(reference=1))
    assert other.levels == (1.0, 0.0)
    for name, twin in TWINS.items():
        assert getattr(other, name).estimate == pytest.approx(
            -getattr(found, twin).estimate, abs=1e-5
        )
        assert getattr(other, name).se == pytest.approx(getattr(found, twin).se, abs=1e-5)


@each_method
def test_effects_are_in_the_units_of_y(method):
    options = {"method": method, "outcome_model": LinearRegression()}
    found, other = effects(**options), effects(y=5 - 3 * PEOPLE.y, **options)
    assert_close(numbers(other), -3 * numbers(found), 1e-9)
    assert_close(numbers(other, "se"), 3 * numbers(found, "se"), 1e-9)


@each_method
@pytest.mark.parametrize("interval", ["influence", "bootstrap"])
def test_the_scale_of_the_weights_does_not_matter(method, interval):
    options = {"method": method, "interval": interval, "n_bootstrap": 2, "cv": 2}
    found = effects(sample_weight=PEOPLE.weights, **options)
    model = LogisticRegression(C=0.25, max_iter=1000)
    options |= {"propensity_model": model, "outcome_model": model}
    other = effects(sample_weight=PEOPLE.weights * 4, **options)
    assert_close(numbers(other), numbers(found), 1e-5)
    assert_close(numbers(other, "se"), numbers(found, "se"), 1e-5)
    assert np.abs(numbers(found) - numbers(effects(**options))).max() > 1e-3


@each_method
def test_a_weight_counts_as_a_repeated_row(method):
    nuisances = effects(method="doubly_robust").nuisances
    rows = np.repeat(np.arange(400), PEOPLE.weights.astype(int))
    again = Nuisances(nuisances.propensity[rows], nuisances.outcome[rows])
    weighted = effects(method=method, nuisances=nuisances, sample_weight=PEOPLE.weights)
    repeated = effects(PEOPLE.rows(rows), method=method, nuisances=again)
    assert_close(numbers(weighted), numbers(repeated), 1e-10)


@each_method
def test_a_weight_of_zero_leaves_a_row_out(method):
    nuisances = effects(method="doubly_robust").nuisances
    weights = (np.arange(400) % 3 > 0).astype(float)
    rows = np.flatnonzero(weights)
    rest = Nuisances(nuisances.propensity[rows], nuisances.outcome[rows])
    weighted = effects(method=method, nuisances=nuisances, sample_weight=weights)
    without = effects(PEOPLE.rows(rows), method=method, nuisances=rest)
    assert_close(numbers(weighted), numbers(without), 1e-10)
    assert_close(numbers(weighted, "se"), numbers(without, "se"), 1e-10)


def test_every_kind_of_frame_gives_the_same_effects():
    columns, z = mixed_columns()
    y = np.tile([0, 1, 1], 80)
    pandas, polars = as_pandas(columns), as_polars(columns)
    found = [
        estimate_effects(X, y, sensitive_features=z, cv=2, max_extreme_share=1)
        for X in (pandas, polars, polars.to_arrow())
    ]
    for other in found[1:]:
        assert_close(numbers(other), numbers(found[0]), 1e-9)


def test_levels_and_labels_may_be_text():
    z = np.where(PEOPLE.z == 1, "Male", "Female")
    y = np.where(PEOPLE.y == 1, "yes", "no")
    found = effects(y=y, z=z, groups=Grouping(reference="Female"))
    assert found.levels == ("Female", "Male")
    assert_close(numbers(found), numbers(effects()), 1e-12)


@each_method
def test_scores_may_stand_for_the_outcome(method):
    found = effects(y=PEOPLE.scores, method=method, outcome_model=LinearRegression())
    p, z = PEOPLE.scores, PEOPLE.z
    assert found.total.estimate == pytest.approx(p[z == 1].mean() - p[z == 0].mean())
    assert found.direct_reference.estimate + found.indirect_group.estimate == pytest.approx(
        found.total.estimate
    )


def test_a_linear_world_with_a_continuous_outcome_gives_its_coefficients_back():
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 20_000)
    X = rng.normal(size=(20_000, 2)) + 0.6 * z[:, None] * [1, 0]
    y = 10 + 2 * z + X @ [3, 1] + rng.normal(size=20_000)
    found = effects(X=X, y=y, z=z, outcome_model=LinearRegression())
    for name in ("direct_reference", "direct_group", "direct_everyone", "direct_overlap"):
        assert abs(getattr(found, name).estimate - 2) < 4 * getattr(found, name).se < 0.2
    assert abs(found.explained.estimate - 1.8) < 4 * found.explained.se < 0.2


def test_default_models_serve_a_continuous_outcome():
    people = decent(1500)
    found = estimate_effects(people.X, 3.0 * people.y + 1, sensitive_features=people.z, cv=2)
    assert found.nuisances.outcome.mean() > 1.5
    assert (
        abs(found.direct_everyone.estimate / 3 - people.effects.direct_everyone)
        < 4 * found.direct_everyone.se / 3
    )


# --- robustness ----------------------------------------------------------------------------------


BIG = 200_000
WRONG = DummyClassifier(strategy="prior")


@pytest.mark.parametrize("wrong", ["neither", "propensity", "outcome"])
def test_one_wrong_nuisance_does_no_harm(wrong):
    people = decent(BIG)
    models = {f"{wrong}_model": WRONG, "refine": False} if wrong != "neither" else {}
    found = effects(people, cv=2, **models)
    for name in EFFECTS[:-1]:
        assert abs(getattr(found, name).estimate - getattr(people.effects, name)) < 0.01, name


def test_two_wrong_nuisances_do_harm_and_so_does_one_where_only_one_is_used():
    people = decent(BIG)
    both = effects(people, cv=2, propensity_model=WRONG, outcome_model=WRONG, refine=False)
    weighted = effects(people, cv=2, method="weighting", propensity_model=WRONG, refine=False)
    outcome_only = effects(people, cv=2, outcome_model=WRONG, refine=False).nuisances.effect
    for found in (
        both.direct_everyone.estimate,
        weighted.direct_everyone.estimate,
        outcome_only.mean(),
    ):
        assert abs(found - people.effects.direct_everyone) > 0.05


@pytest.mark.parametrize("name", ["paper", "varying_effect"])
def test_the_truth_of_a_world_is_within_four_standard_errors(name):
    people = decent(4000, name, seed=1)
    found = estimate_effects(people.X, people.y, sensitive_features=people.z, cv=2)
    for effect in EFFECTS[:-1]:
        each = getattr(found, effect)
        assert abs(each.estimate - getattr(people.effects, effect)) < 4 * each.se < 0.15


# --- intervals -----------------------------------------------------------------------------------


def test_intervals_follow_the_confidence():
    wide, narrow = effects(confidence=0.99), effects(confidence=0.5)
    assert_close(numbers(wide), numbers(narrow), 1e-12)
    for found, share in ((wide, 0.99), (narrow, 0.5)):
        influence = found._means["direct_reference"].influence
        half = reach(influence, share) * found.direct_reference.se
        assert found.direct_reference.high - found.direct_reference.estimate == pytest.approx(half)


def test_a_bootstrap_is_the_same_whatever_the_workers():
    options = {"interval": "bootstrap", "n_bootstrap": 4, "random_state": 3}
    one, two = effects(n_jobs=1, **options), effects(n_jobs=2, **options)
    assert_close(numbers(one, "se"), numbers(two, "se"), 1e-12)
    other = effects(**{**options, "random_state": 4})
    assert np.abs(numbers(other, "se") - numbers(one, "se")).max() > 1e-4


def test_a_bootstrap_leaves_the_estimates_as_they_are():
    told = []
    found = effects(interval="bootstrap", n_bootstrap=3, progress=lambda *n: told.append(n))
    assert_close(numbers(found), numbers(effects()), 1e-12)
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert found.settings["n_bootstrap"] == 3
    assert effects().settings["n_bootstrap"] == 0


@each_method
def test_a_bootstrap_agrees_with_influence_where_the_propensity_is_known(method):
    people = make_people(600, separation=0.7)
    options = {"method": method, "propensity_model": KnownScore(), "outcome_degree": 1,
               "effect_degree": 0, "cv": 1}  # fmt: skip
    found = effects(people, interval="bootstrap", n_bootstrap=80, **options)
    ratio = numbers(found, "se") / numbers(effects(people, **options), "se")
    assert ((ratio > 0.7) & (ratio < 1.35)).all()


def linear_people(n=800):
    """Return people on whom logistic models of X are right, of z and of y."""
    people = make_people(n, separation=0.7)
    return replace(people, X=np.column_stack([logit(people.b), people.X[:, 1]]))


def test_a_bootstrap_that_refits_agrees_with_doubly_robust_influence():
    people = linear_people()
    found = effects(people, interval="bootstrap", n_bootstrap=60)
    ratio = numbers(found, "se") / numbers(effects(people), "se")
    assert ((ratio > 0.75) & (ratio < 1.35)).all()


def test_only_the_bootstrap_sees_what_an_estimated_propensity_adds_to_indirect_effects():
    people, options = linear_people(), {"method": "weighting", "cv": 2}
    found = effects(people, interval="bootstrap", n_bootstrap=40, **options)
    assert found.explained.se > 1.3 * effects(people, **options).explained.se


def test_an_interrupt_stops_the_bootstrap():
    def stop(done, of):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        effects(interval="bootstrap", n_bootstrap=100, progress=stop)


# --- simulation ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["paper", "varying_effect"])
def test_estimates_are_unbiased_and_intervals_cover_over_many_samples(name):
    # benchmarks/effects.py has more samples, and its table
    found, truth = [], decent(1, name).effects
    for seed in range(40):
        people = decent.__wrapped__(4000, name, seed=1000 + seed)
        each = estimate_effects(people.X, people.y, sensitive_features=people.z).estimates()
        found.append([(each[k].estimate, each[k].low, each[k].high) for k in EFFECTS[:-1]])
    estimate, low, high = np.moveaxis(np.array(found), 2, 0)
    true = np.array([getattr(truth, name) for name in EFFECTS[:-1]])
    monte_carlo = estimate.std(axis=0, ddof=1) / np.sqrt(40)
    assert (np.abs(estimate.mean(axis=0) - true) < 0.005 + 3 * monte_carlo).all()
    assert (((low <= true) & (true <= high)).mean(axis=0) >= 0.85).all()
