"""The damped Newton method for linear margins."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from contracts import (
    assert_close,
    direct_effect,
    make_people,
    numerical_derivative,
    objective_of,
    penalty_of,
    shifted_objective,
)
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from unsway.core import Penalty, newton
from unsway.core.newton import LinearProblem, solve_semidefinite
from unsway.criteria import Parity


def make_problem(n=300, seed=0, strength=0.9, criterion=None, weighted=False, **options):
    """Return a linear problem whose first column is a proxy of z."""
    people = make_people(n, seed)
    weights = people.weights if weighted else None
    penalty = penalty_of(criterion or direct_effect(), people, weights)
    noise = np.random.default_rng(seed).normal(size=(n, 3))
    X = np.column_stack([people.b - 0.5, people.X[:, 1], noise])
    return LinearProblem(objective_of(penalty, people.y, strength, weights), X, **options)


def margin_of(problem, weights):
    return problem.X @ weights[:-1] + weights[-1] * problem.fit_intercept


def value_at(problem, weights):
    ridge = problem.l2 / 2 * weights[:-1] @ weights[:-1]
    return problem.objective.value(margin_of(problem, weights)) + ridge


def test_a_definite_system_is_solved():
    matrix, right = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
    assert_close(solve_semidefinite(matrix, right), [1 / 11, 7 / 11], 1e-14)


@pytest.mark.parametrize("lowest", [-1.0, -1e-3])
def test_an_indefinite_system_has_no_solution(lowest):
    assert solve_semidefinite(np.diag([1.0, lowest]), np.ones(2)) is None


def test_a_negative_definite_system_has_no_solution():
    assert solve_semidefinite(-np.eye(2), np.ones(2)) is None


def test_a_singular_system_gets_its_least_norm_solution():
    found = solve_semidefinite(np.ones((2, 2)), np.array([2.0, 2.0]))
    assert_close(found, [1.0, 1.0], 1e-12)


def test_a_singular_system_gets_the_solution_of_numpys_least_squares():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 4))
    matrix = root @ root.T
    right = matrix @ rng.normal(size=6)
    expected = np.linalg.lstsq(matrix, right, rcond=1e-10)[0]
    assert_close(solve_semidefinite(matrix, right), expected, 1e-9)


def test_rounding_below_zero_does_not_make_a_singular_system_indefinite():
    matrix = np.diag([1.0, -1e-15])
    assert_close(solve_semidefinite(matrix, np.array([2.0, 0.0])), [2.0, 0.0], 1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("l2", [0.0, 0.1])
@pytest.mark.parametrize(
    "criterion", [Parity(), direct_effect(), direct_effect(2, 1, norm="function")]
)
def test_the_method_finds_a_stationary_point(criterion, l2, fit_intercept):
    problem = make_problem(criterion=criterion, l2=l2, fit_intercept=fit_intercept)
    result = problem.minimize(tol=1e-9)
    slope = numerical_derivative(lambda weights: value_at(problem, weights), result.weights)
    assert result.converged
    assert abs(slope).max() < 1e-8


@pytest.mark.parametrize("weighted", [False, True])
def test_the_optimum_is_that_of_a_general_optimiser(weighted):
    problem = make_problem(criterion=Parity(), weighted=weighted)
    other = minimize(lambda weights: value_at(problem, weights), np.zeros(6), tol=1e-12)
    result = problem.minimize(tol=1e-9)
    assert value_at(problem, result.weights) == pytest.approx(other.fun, abs=1e-9)
    assert_close(result.weights, other.x, 1e-3)


def test_without_an_intercept_it_stays_zero():
    assert make_problem(fit_intercept=False).minimize().weights[-1] == 0.0


def test_a_heavy_ridge_leaves_the_intercept_free():
    problem = make_problem(strength=0.0, l2=1e6)
    weights = problem.minimize(tol=1e-10).weights
    rate = problem.objective.target.mean()
    assert abs(weights[:-1]).max() < 1e-5
    assert weights[-1] == pytest.approx(np.log(rate / (1 - rate)), abs=1e-4)


def test_the_result_reports_the_losses_and_statistics_at_its_weights():
    problem = make_problem()
    result = problem.minimize()
    margin = margin_of(problem, result.weights)
    expected = problem.objective.expand(margin)
    assert result.losses.utility == pytest.approx(expected.losses.utility, rel=1e-9)
    assert_close(result.statistics, expected.statistics, 1e-9)


def test_weights_of_the_method_equal_repeated_rows():
    people = make_people(200, seed=3)
    repeated = people.repeated()
    X, X_repeated = (np.column_stack([p.b - 0.5, p.X[:, 1]]) for p in (people, repeated))
    weighted = objective_of(
        penalty_of(direct_effect(), people, people.weights), people.y, 0.9, people.weights
    )
    copied = objective_of(penalty_of(direct_effect(), repeated), repeated.y, 0.9)
    one = LinearProblem(weighted, X).minimize(tol=1e-10)
    other = LinearProblem(copied, X_repeated).minimize(tol=1e-10)
    assert_close(one.weights, other.weights, 1e-7)


def test_it_starts_where_it_is_told_to():
    problem = make_problem()
    optimum = problem.minimize(tol=1e-9)
    again = problem.minimize(start=optimum.weights, tol=1e-8)
    assert again.n_iter == 0
    assert (again.weights == optimum.weights).all()


def test_the_start_is_left_as_it_was():
    start = np.zeros(6)
    make_problem().minimize(start=start)
    assert not start.any()


def test_too_few_iterations_are_confessed():
    result = make_problem().minimize(tol=1e-9, max_iter=1)
    assert result.n_iter == 1
    assert not result.converged
    assert result.gradient_size > 1e-9


def far_start(seed):
    """Return weights far from any optimum, where the Hessian has negative eigenvalues."""
    return np.append(4 * np.random.default_rng(seed).normal(size=5), 0.0)


def test_negative_eigenvalues_on_the_way_are_no_obstacle():
    problem = make_problem(seed=1, strength=0.975, criterion=direct_effect(2, 1))
    result = problem.minimize(start=far_start(1), tol=1e-9)
    assert result.converged


def test_where_the_papers_form_jumps_the_method_stops_and_says_so():
    criterion = direct_effect(3, 1, form="paper")
    problem = make_problem(seed=1, strength=0.975, criterion=criterion)
    result = problem.minimize(start=far_start(1), tol=1e-9)
    assert not result.converged
    assert result.n_iter < 100
    whole = result.losses.whole(0.975)
    assert whole == pytest.approx(value_at(problem, result.weights), rel=1e-9)
    assert whole < value_at(problem, far_start(1)) / 2


@pytest.mark.parametrize("strength", [0.0, 0.5, 0.975])
def test_without_the_dense_hessian_the_optimum_is_the_same(monkeypatch, strength):
    problem = make_problem(strength=strength, criterion=Parity(), l2=0.01)
    dense = problem.minimize(tol=1e-9)
    monkeypatch.setattr(newton, "MAX_DENSE_COLUMNS", 2)
    wide = problem.minimize(tol=1e-9, max_iter=500)
    assert wide.converged
    assert_close(wide.weights, dense.weights, 1e-5)


def test_a_wide_problem_builds_no_square_matrix_of_its_columns():
    n, p = 200, 2_500
    people = make_people(n, seed=2)
    X = np.random.default_rng(0).normal(size=(n, p))
    objective = objective_of(penalty_of(Parity(), people), people.y, 0.5)
    tracemalloc.start()
    result = LinearProblem(objective, X, l2=0.1).minimize()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.converged
    assert peak < p * p * 8 / 20


@pytest.mark.parametrize("max_dense_columns", [2_000, 1])
def test_units_of_the_columns_do_not_change_the_scores(monkeypatch, max_dense_columns):
    monkeypatch.setattr(newton, "MAX_DENSE_COLUMNS", max_dense_columns)
    problem = make_problem()
    units = np.array([1e6, 1e-6, 1.0, 1e3, 1e-3])
    other = LinearProblem(problem.objective, problem.X * units)
    one, same = problem.minimize(tol=1e-9, max_iter=500), other.minimize(tol=1e-9, max_iter=500)
    assert one.converged
    assert same.converged
    assert_close(margin_of(other, same.weights), margin_of(problem, one.weights), 1e-6)


@pytest.mark.parametrize("max_dense_columns", [2_000, 1])
def test_collinear_columns_converge_to_the_scores_without_them(monkeypatch, max_dense_columns):
    monkeypatch.setattr(newton, "MAX_DENSE_COLUMNS", max_dense_columns)
    problem = make_problem(strength=0.5, criterion=Parity())
    levels = np.eye(3)[np.arange(300) % 3]  # all three beside the intercept: one too many
    redundant = LinearProblem(problem.objective, np.column_stack([problem.X, levels]))
    needed = LinearProblem(problem.objective, np.column_stack([problem.X, levels[:, 1:]]))
    one, other = (p.minimize(tol=1e-9, max_iter=500) for p in (redundant, needed))
    assert one.converged
    assert_close(margin_of(redundant, one.weights), margin_of(needed, other.weights), 1e-6)


def test_a_column_of_zeros_gets_no_weight():
    problem = make_problem()
    wider = LinearProblem(problem.objective, np.column_stack([problem.X, np.zeros(300)]))
    result = wider.minimize()
    assert result.converged
    assert abs(result.weights[-2]) < 1e-12


def test_more_strength_leaves_no_more_penalty():
    left = [
        make_problem(strength=s, criterion=Parity()).minimize().losses.penalty
        for s in (0, 0.3, 0.6, 0.9)
    ]
    assert left == sorted(left, reverse=True)
    assert left[-1] < left[0] / 10


def shifted_problem(strength, weighted=False, **options):
    people = make_people(300, seed=4)
    objective = shifted_objective(people, strength, people.weights if weighted else None)
    return LinearProblem(objective, np.column_stack([people.b - 0.5, people.X[:, 1]]), **options)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("strength", [0.3, 1.0])
def test_shifted_labels_have_the_optimum_of_two_weighted_copies_of_each_row(strength, weighted):
    # weight t at label 1 and 1 − t at label 0: only where t lies between them
    problem = shifted_problem(strength, weighted)
    targets = problem.objective.shifted_target()
    inside = (targets >= 0) & (targets <= 1)
    objective = objective_of(
        Penalty.none(int(inside.sum())),
        problem.objective.target[inside],
        strength,
        None if not weighted else problem.objective.sample_weight[inside],
        problem.objective.shift[inside],
    )
    found = LinearProblem(objective, problem.X[inside]).minimize(tol=1e-10)
    weights = np.ones(len(inside)) if not weighted else problem.objective.sample_weight
    copies = np.r_[targets[inside], 1 - targets[inside]] * np.tile(weights[inside], 2)
    plain = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
    labels = np.repeat([1, 0], int(inside.sum()))
    plain.fit(np.tile(problem.X[inside], (2, 1)), labels, copies)
    assert inside.sum() > 50
    assert_close(found.weights, np.r_[plain.coef_[0], plain.intercept_], 1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_shifted_labels_beyond_zero_and_one_have_the_optimum_of_a_general_optimiser(weighted):
    problem = shifted_problem(1.0, weighted, l2=0.01)
    found = problem.minimize(tol=1e-10)
    general = minimize(lambda w: value_at(problem, w), np.zeros(3), tol=1e-10)
    assert found.converged
    assert found.n_iter < 10
    assert problem.objective.shifted_target().max() > 1
    assert_close(found.weights, general.x, 1e-5)


def test_shifted_labels_need_no_dense_hessian(monkeypatch):
    dense = shifted_problem(1.0).minimize(tol=1e-10)
    monkeypatch.setattr(newton, "MAX_DENSE_COLUMNS", 1)
    assert_close(shifted_problem(1.0).minimize(tol=1e-10).weights, dense.weights, 1e-8)


# --- objectives without a minimum ----------------------------------------------------------------


def two_groups(l2=0.0, shift=-0.4):
    """Return two groups of rows; the targets of the first average `shift`, of the second ½."""
    X = np.repeat([[1.0], [0.0]], 10, axis=0)
    y = np.repeat([0.0, 0.0, 1.0], [10, 5, 5])
    d = np.repeat([shift, 0.0], 10)
    return LinearProblem(objective_of(Penalty.none(20), y, 1.0, shift=d), X, l2)


def test_an_objective_that_falls_without_end_is_told_at_once():
    found = two_groups().minimize()
    assert not found.bounded
    assert found.n_iter < 10


@pytest.mark.parametrize("problem", [two_groups(l2=1e-3), two_groups(shift=0.1)])
def test_squared_weights_or_targets_inside_give_a_minimum(problem):
    found = problem.minimize()
    assert found.bounded
    assert found.converged
    assert abs(found.weights).max() < 201
