"""Linear models of several classes: scikit-learn's, and the minimum of the objective."""

import numpy as np
import pytest
from contracts import assert_close, numerical_derivative
from sklearn.linear_model import LogisticRegression

from unsway.core import LogLoss, MultinomialLogLoss, Objective, class_newton
from unsway.core.class_newton import ClassProblem
from unsway.core.newton import LinearProblem

N, CLASSES, COLUMNS = 300, 3, 4
rng = np.random.default_rng(0)
X = rng.normal(size=(N, COLUMNS)) * [1, 10, 0.1, 1] + [0, 50, 0, 1]
CODES = (X[:, 0] + rng.gumbel(size=N) > 0).astype(int) + (rng.random(N) < 0.3)
TARGET = np.eye(CLASSES)[CODES]
SHIFT = np.where(X[:, :1] > 0, [[0.2, -0.1, -0.1]], [[-0.1, 0.3, -0.2]])
WEIGHTS = rng.integers(1, 4, N).astype(float)


def problem(strength=0.0, weights=None, **options):
    objective = Objective(
        MultinomialLogLoss(), TARGET, shift=SHIFT, sample_weight=weights, strength=strength
    )
    return ClassProblem(objective, X, **options)


def value(stated, weights):
    margin = X @ weights[:, :-1].T + weights[:, -1]
    ridge = stated.l2 * (weights[:, :-1] ** 2).sum() / 2
    return float(stated.objective.value(margin)) + ridge


@pytest.mark.parametrize("l2", [0.0, 0.1])
def test_at_strength_0_it_is_scikit_learns_model(l2):
    C = np.inf if l2 == 0 else 1 / (l2 * N)
    theirs = LogisticRegression(C=C, solver="newton-cg", tol=1e-10, max_iter=1000).fit(X, CODES)
    ours = problem(l2=l2).minimize(tol=1e-10).weights
    probabilities = MultinomialLogLoss().mean(X @ ours[:, :-1].T + ours[:, -1])[0]
    assert_close(probabilities, theirs.predict_proba(X), 1e-6)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["alike", "weighted"])
@pytest.mark.parametrize("options", [{"l2": 0.05}, {"l2": 0.05, "fit_intercept": False}])
def test_the_slope_is_0_at_the_minimum(weights, options):
    stated = problem(0.8, weights, **options)
    found = stated.minimize(tol=1e-9)
    slope = numerical_derivative(
        lambda w: value(stated, w.reshape(CLASSES, -1)), found.weights.ravel()
    ).reshape(CLASSES, -1)
    free = slope if stated.fit_intercept else slope[:, :-1]
    assert found.converged
    np.testing.assert_allclose(free, 0, atol=1e-6)


def test_the_coefficients_sum_to_0_over_the_classes():
    total = problem(1.0).minimize().weights.sum(axis=0)
    np.testing.assert_allclose(total, 0, atol=1e-8)


def test_conjugate_gradients_find_the_same_minimum(monkeypatch):
    exact = problem(1.0, l2=0.01).minimize(tol=1e-8).weights
    monkeypatch.setattr(class_newton, "MAX_DENSE_COLUMNS", 1)
    assert_close(problem(1.0, l2=0.01).minimize(tol=1e-8).weights, exact, 1e-5)


def test_two_classes_have_the_difference_of_two_coefficients():
    two = (CODES > 0).astype(float)
    objective = Objective(MultinomialLogLoss(), np.column_stack([1 - two, two]))
    ours = ClassProblem(objective, X).minimize(tol=1e-10).weights
    alone = LinearProblem(Objective(LogLoss(), two), X).minimize(tol=1e-10).weights
    assert_close(ours[1] - ours[0], alone, 1e-6)


def test_an_objective_without_a_minimum_is_seen():
    target, table = np.eye(3)[[0, 1, 2, 0, 1, 2]], np.eye(6)[:, :1]
    shift = np.zeros((6, 3))
    shift[0] = [0.6, -0.3, -0.3]
    objective = Objective(MultinomialLogLoss(), target, shift=shift, strength=1.0)
    assert not ClassProblem(objective, table).minimize().bounded
    assert ClassProblem(objective, table, l2=0.01).minimize().bounded
