"""The admissions of Berkeley in 1973: every number follows from 24 published counts.

Bickel, Hammel & O'Connell (1975), Science 187, 398–404. z = 1 for women, y = 1 for admitted, and
the department is the one covariate, so b = P(woman | department) is a ratio of counts.
"""

from __future__ import annotations

import numpy as np
import pytest
from contracts import KnownScore, rows_of
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from unsway.criteria import DirectEffect
from unsway.effects import Propensity, fit_surrogate
from unsway.effects.encoding import TableEncoder

#: Department: men admitted, men rejected, women admitted, women rejected.
COUNTS = {
    "A": (512, 313, 89, 19),
    "B": (353, 207, 17, 8),
    "C": (120, 205, 202, 391),
    "D": (138, 279, 131, 244),
    "E": (53, 138, 94, 299),
    "F": (22, 351, 24, 317),
}

COUNT = np.array(list(COUNTS.values()), dtype=float).ravel()
DEPARTMENT = np.repeat(np.array(list(COUNTS), dtype=object), 4)
Y, Z = np.tile([1.0, 0.0, 1.0, 0.0], 6), np.tile([0.0, 0.0, 1.0, 1.0], 6)
B = np.repeat([(women + w) / (men + m + women + w) for men, m, women, w in COUNTS.values()], 4)


def mean(values, group):
    return np.average(values, weights=COUNT * (Z if group else 1 - Z))


def saturated(basis="polynomial"):
    """Return the surrogate with as many functions of b as there are departments."""
    return fit_surrogate(
        Y, B, Z, outcome_degree=5, effect_degree=5, basis=basis, sample_weight=COUNT
    )


def test_women_are_admitted_less_often_by_the_published_difference():
    assert COUNT.sum() == 4526
    assert mean(Y, 1) - mean(Y, 0) == pytest.approx(-0.141645, abs=5e-7)


@pytest.mark.parametrize("outcome_degree", [1, 2, 5])
def test_a_constant_effect_is_the_overlap_weighted_one(outcome_degree):
    # z − b is orthogonal to every function of the department, so any degree gives the same
    fitted = fit_surrogate(Y, B, Z, outcome_degree=outcome_degree, sample_weight=COUNT)
    assert fitted.effect_coefficients[0] == pytest.approx(0.018425, abs=5e-7)


@pytest.mark.parametrize("basis", ["polynomial", "spline"])
def test_the_saturated_effect_is_each_departments_difference(basis):
    by_department = [w / (w + x) - m / (m + n) for m, n, w, x in COUNTS.values()]
    found = saturated(basis).effect(B[::4])
    np.testing.assert_allclose(found, by_department, atol=1e-8)


@pytest.mark.parametrize("basis", ["polynomial", "spline"])
def test_the_direct_effects_are_the_published_ones(basis):
    effect = saturated(basis).effect(B)
    assert mean(effect, 0) == pytest.approx(0.070969, abs=5e-7)  # at the men's departments
    assert mean(effect, 1) == pytest.approx(0.001088, abs=5e-7)  # at the women's


def test_the_fair_target_keeps_the_mean_of_the_published_indirect_effects():
    target = saturated().fair_target(Y, Z, B)
    indirect = (-0.142733 - 0.212615) / 2
    assert mean(target, 1) - mean(target, 0) == pytest.approx(indirect, abs=1e-6)


def test_a_logistic_regression_on_the_departments_finds_the_share_of_women():
    model = make_pipeline(TableEncoder(), LogisticRegression(C=np.inf, tol=1e-10, max_iter=1_000))
    found = Propensity(model).fit_predict(DEPARTMENT[:, None], Z, COUNT)
    np.testing.assert_allclose(found, B, atol=1e-4)


def test_admission_by_department_alone_has_no_effect_of_z_but_takes_it_into_its_slope():
    rows = rows_of(B[:, None], Y, Z, COUNT)
    penalty = DirectEffect(propensity=KnownScore()).fit(rows).penalty(rows)
    blind = np.repeat([(m + w) / (m + n + w + x) for m, n, w, x in COUNTS.values()], 4)
    labels = fit_surrogate(Y, B, Z, sample_weight=COUNT)
    expected = labels.outcome_coefficients[1] + labels.effect_coefficients[0]
    assert penalty.names == ("alpha_1", "beta_0")
    np.testing.assert_allclose(penalty.statistics(blind), [expected, 0.0], atol=1e-12)
