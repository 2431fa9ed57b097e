"""What the worlds beyond the linear ones are, and that their integrals are right."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import comb

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit, logit
from sklearn.metrics import roc_auc_score

from unsway.datasets import load_adult, make_world
from unsway.datasets.adult_world import AdultWorld, adult_covariates
from unsway.datasets.formula_worlds import FORMULA_WORLDS, integrate
from unsway.datasets.truth import contrasts
from unsway.datasets.worlds import INDEX_WORLDS, SignWorld, World

FORMULAS = {world.name: world for world in FORMULA_WORLDS}
PAPER = INDEX_WORLDS[0]


def linear_world(**settings):
    """Return a world with a formula whose margin is that of the paper's."""
    return replace(FORMULAS["missing_by_group"], missing_rates=(0.0, 0.0), **settings)


def differences(one, other):
    return [abs(a - b) for a, b in zip(asdict(one).values(), asdict(other).values(), strict=True)]


def table_row(**values):
    """Return one row of the Adult world; columns that are not named are 0."""
    _, names = adult_covariates()
    assert set(values) <= set(names)
    return np.array([[values.get(name, 0.0) for name in names]])


# Integrals


@pytest.mark.parametrize("name", FORMULAS)
def test_another_seed_of_the_integral_agrees(name):
    world = FORMULAS[name]
    other = contrasts(integrate(world, seed=1), world.probability_z)
    assert max(differences(world.effects(), other)) < 3e-4


def test_the_quasi_random_integral_of_the_papers_world_is_the_quadrature():
    assert max(differences(linear_world().effects(), PAPER.effects())) < 1e-5


def test_the_effects_with_missing_values_are_a_mixture_over_how_many_are_missing():
    nodes, weights = hermegauss(60)
    weights = weights / weights.sum()
    rates = {0: 0.1, 1: 0.35}

    def mean(z, population):
        rate, total = rates[population], 0.0
        for safe in range(3):
            for indirect in range(5):
                chance = comb(2, safe) * comb(4, indirect)
                chance *= rate ** (safe + indirect) * (1 - rate) ** (6 - safe - indirect)
                index = (4 - indirect) * population / 4 + np.sqrt(14 - safe - indirect) / 4 * nodes
                total += chance * (weights @ expit(index + 1.25 * z))
        return total

    exact = contrasts(np.array([[mean(z, group) for group in (0, 1)] for z in (0, 1)]), 0.5)
    assert max(differences(FORMULAS["missing_by_group"].effects(), exact)) < 2e-4


def test_products_of_signs_without_weight_are_a_linear_world():
    deep = SignWorld(name="deep", weight=0.0, products=((0, 1, 2, 3), (4, 5, 6, 7)))
    linear = World("linear", n_safe=2)
    assert max(differences(deep.effects(), linear.effects())) < 1e-12


def test_the_effects_of_products_of_signs_are_close_to_a_quasi_random_integral():
    deep = SignWorld(name="deep", indirect_shift=0.5, proxy_shift=0.5)

    def formula(safe, indirect, _):
        mixed = np.column_stack([safe[:, 4:6], indirect[:, :2]])
        signs = (np.sign(part - 0.5).prod(axis=1) for part in (safe[:, :4], mixed))
        return 0.6 * sum(signs), np.full(len(safe), 1.25)

    other = replace(FORMULAS["steps"], name="deep", formula=formula)
    assert max(differences(deep.effects(), other.effects())) < 2e-3


# Small groups and missing values


def test_the_small_group_has_three_percent_of_the_rows_and_the_papers_truths():
    data = make_world("small_group", 100_000, random_state=0)
    assert data.z.mean() == pytest.approx(0.03, abs=0.002)
    effects, paper = data.effects, PAPER.effects()
    assert replace(effects, direct_everyone=0) == replace(paper, direct_everyone=0)
    assert effects.direct_everyone == pytest.approx(
        0.97 * effects.direct_reference + 0.03 * effects.direct_group
    )


def test_values_are_missing_in_six_columns_at_the_rate_of_the_group():
    data = make_world("missing_by_group", 50_000, random_state=0)
    missing = np.isnan(data.X)
    columns = np.flatnonzero(missing.any(axis=0))
    np.testing.assert_array_equal(columns, [0, 1, 10, 11, 12, 13])
    for group, rate in ((0, 0.1), (1, 0.35)):
        np.testing.assert_allclose(missing[data.z == group][:, columns].mean(0), rate, atol=0.015)


def test_the_propensity_knows_what_is_missing():
    X = np.zeros((2, 16))
    X[1, 0] = np.nan
    present, absent = logit(FORMULAS["missing_by_group"].propensity(X))
    # Six indirect columns and proxies of value 0 give -1/2 each, six present values log(.65/.9).
    assert present == pytest.approx(-3 + 6 * np.log(0.65 / 0.9))
    assert absent - present == pytest.approx(np.log(0.35 / 0.1) - np.log(0.65 / 0.9))


def test_a_missing_value_of_an_indirect_column_tells_nothing_by_itself():
    X = np.zeros((1, 16))
    X[0, 10] = np.nan
    score = logit(FORMULAS["missing_by_group"].propensity(X))[0]
    assert score == pytest.approx(-2.5 + np.log(3.5) + 5 * np.log(0.65 / 0.9))


def test_a_missing_value_counts_as_zero_in_the_margin_of_y():
    X = np.ones((2, 16))
    X[0, [0, 12]], X[1, [0, 12]] = np.nan, 0.0
    p = FORMULAS["missing_by_group"].outcome_probabilities(X)
    np.testing.assert_array_equal(p[0], p[1])
    assert p[0].tolist() == pytest.approx([expit(3), expit(4.25)])


# Formulas, by hand


def test_the_steps_add_up_by_hand():
    X = np.zeros((2, 16))
    # Above .5; above 0 and below 0; |-2|; above 0 times 3; lifts the effect; lowers the effect.
    X[1, [0, 1, 2, 3, 4, 10, 11, 5]] = 1, 1, -1, -2, 1, 3, 1, 1
    margins = logit(FORMULAS["steps"].outcome_probabilities(X))
    np.testing.assert_allclose(margins[0], [-1.5, -1.5 + 0.4])
    np.testing.assert_allclose(margins[1], [3.8, 3.8 + 1.0])


def test_the_wave_is_a_sine_of_the_log_odds_of_z():
    X = np.zeros((2, 16))
    X[:, 10:14] = 0.5
    X[:, 14] = 1 + np.pi / 3, 1 - np.pi / 3  # log-odds of a quarter period up and down
    direct = np.diff(logit(FORMULAS["wave"].outcome_probabilities(X)))[:, 0]
    np.testing.assert_allclose(direct, [2.0, -0.5])


def test_the_direct_effect_of_the_wave_has_both_signs_and_is_positive_on_average():
    data = make_world("wave", 1, random_state=0)
    X = FORMULAS["wave"].draw(20_000, np.random.default_rng(0))[0]
    direct = np.diff(FORMULAS["wave"].outcome_probabilities(X))[:, 0]
    assert np.mean(direct < 0) > 0.2
    assert data.effects.direct_everyone > 0.1


def test_no_three_columns_of_a_product_show_its_sign():
    deep = SignWorld(name="deep")
    X = np.ones((2, 16))
    X[1, 2] = 0
    margins = logit(deep.outcome_probabilities(X))[:, 0]
    np.testing.assert_allclose(margins, [0.6 + 0.6 + 1.5, -0.6 + 0.6 + 1.5])


@pytest.mark.parametrize("name", ["steps", "deep"])
def test_the_groups_overlap_better_in_steps_and_deep_than_in_the_papers_world(name):
    data = make_world(name, 50_000, random_state=0)
    assert roc_auc_score(data.z, data.propensity) == pytest.approx(0.807, abs=0.01)
    assert np.mean((data.propensity < 0.05) | (data.propensity > 0.95)) < 0.05


# Adult's covariates


@pytest.fixture(scope="module")
def adult():
    return make_world("adult", 40_000, random_state=1)


def test_the_population_of_the_adult_world_has_the_stated_facts():
    world, (X, _) = AdultWorld(), adult_covariates()
    b, means = world.propensity(X), world.outcome_probabilities(X)
    direct = means[:, 1] - means[:, 0]
    assert X.shape == (48_842, 37)
    assert (round(b.mean(), 2), round(b.min(), 2), round(b.max(), 2)) == (0.56, 0.11, 0.91)
    assert round(float((b * means[:, 1] + (1 - b) * means[:, 0]).mean()), 2) == 0.27
    assert round(direct.mean(), 2) == 0.10
    assert (direct.min() >= 0) & (direct.max() < 0.36)
    assert direct.std() > 0.07


def test_the_effects_of_the_adult_world_are_sums_over_its_rows():
    world, (X, _) = AdultWorld(), adult_covariates()
    b, means = world.propensity(X), world.outcome_probabilities(X)
    effects = world.effects()
    assert effects.direct_everyone == pytest.approx(np.mean(means[:, 1] - means[:, 0]), abs=1e-12)
    assert effects.total == pytest.approx(
        np.average(means[:, 1], weights=b) - np.average(means[:, 0], weights=1 - b), abs=1e-12
    )


def test_the_groups_of_the_adult_world_are_told_apart_as_stated(adult):
    assert roc_auc_score(adult.z, adult.propensity) == pytest.approx(0.827, abs=0.01)


def test_neither_sex_nor_income_is_a_covariate_of_the_adult_world(adult):
    assert len(adult.feature_names) == 37
    assert not [name for name in adult.feature_names if name.startswith(("sex", "income"))]
    assert not {"relationship=Husband", "relationship=Wife"} & set(adult.feature_names)


def test_z_and_y_of_the_adult_world_are_not_those_of_the_table(adult):
    table = load_adult("all")
    assert abs(adult.z.mean() - table.z.mean()) > 0.05


@pytest.mark.parametrize(
    ("role", "moves_z", "moves_y"),
    [
        ("safe", False, True),
        ("indirect", True, True),
        ("proxy", True, False),
        ("noise", False, False),
    ],
)
def test_the_roles_of_the_adult_world_say_which_formula_a_column_is_in(role, moves_z, moves_y):
    world, (X, _) = AdultWorld(), adult_covariates()
    before = X[:2000]
    for column in np.flatnonzero(np.array(world.roles()) == role):
        after = before.copy()
        numeric = X[:, column].max() > 1
        after[:, column] = X[::-1][:2000, column] if numeric else 1 - before[:, column]
        for formula, moves in ((world.propensity, moves_z), (world.outcome_probabilities, moves_y)):
            assert np.array_equal(formula(before), formula(after)) != moves


def test_a_person_of_the_adult_world_by_hand():
    world = AdultWorld()
    row = table_row(
        age=45,
        **{"education-num": 10, "hours-per-week": 40, "marital-status=Married-civ-spouse": 1},
    )
    assert logit(world.propensity(row))[0] == pytest.approx(2.7 * np.tanh((1.6 - 0.9) / 2))
    margins = logit(world.outcome_probabilities(row))[0]
    assert margins.tolist() == pytest.approx([0.8 + 0.2 - 2.6, 0.8 + 0.2 - 2.6 + 0.7 + 0.4])


def test_rows_repeat_only_where_more_are_wanted_than_there_are():
    world, (X, _) = AdultWorld(), adult_covariates()
    everybody = world.draw(len(X), np.random.default_rng(0))[0]
    np.testing.assert_array_equal(np.sort(everybody, axis=0), np.sort(X, axis=0))
    more = world.draw(60_000, np.random.default_rng(0))[0]
    assert more.shape == (60_000, 37)
    assert not np.array_equal(np.sort(more[: len(X)], axis=0), np.sort(X, axis=0))


def test_the_rows_of_a_draw_can_be_changed_without_changing_the_next(adult):
    first = make_world("adult", 5, random_state=0)
    first.X[:] = 0
    assert make_world("adult", 5, random_state=0).X.any()
