"""The one form of every penalty: values, derivatives, array libraries, workers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from contracts import (
    assert_close,
    each_autodiff,
    is_smooth_at,
    jax_float64,
    numerical_derivative,
    varied,
)
from hypothesis import assume, given
from hypothesis import strategies as st

from unsway.core import FORMS, Distance, Penalty

#: Two rows of z=1 and two of z=0; the gap, and the sum of the first two scores.
FOUR_ROWS = np.array([[0.5, 1.0], [0.5, 1.0], [-0.5, 0.0], [-0.5, 0.0]])
FOUR_SCORES = np.array([1.0, 0.5, 0.25, 0.25])


def distance_at(form: str, target: float, zeta: float) -> float:
    return float(Distance.of([form], np.array([target])).value(np.array([zeta])))


def random_penalty(n: int, seed: int, forms: list[str]) -> tuple[Penalty, np.ndarray]:
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(n, len(forms))) / np.sqrt(n)
    distance = Distance.of(forms, rng.normal(size=len(forms)) / 4)
    names = tuple(f"statistic {k}" for k in range(len(forms)))
    return Penalty(matrix, distance, names), rng.random(n)


@pytest.mark.parametrize("zeta", [-1.0, 0.2, 0.5, 3.0])
def test_match_is_the_squared_difference_to_the_target(zeta):
    assert distance_at("match", 0.5, zeta) == (zeta - 0.5) ** 2


@pytest.mark.parametrize(
    ("target", "zeta", "expected"),
    [
        *[(0.5, -1.0, 1.0), (0.5, 0.0, 0.0), (0.5, 0.25, 0.0), (0.5, 0.5, 0.0), (0.5, 1.5, 1.0)],
        *[(-0.5, -1.5, 1.0), (-0.5, -0.25, 0.0), (-0.5, 0.0, 0.0), (-0.5, 2.0, 4.0)],
    ],
)
def test_interval_is_the_squared_distance_to_what_lies_between_zero_and_the_target(
    target, zeta, expected
):
    assert distance_at("interval", target, zeta) == expected


@pytest.mark.parametrize(
    ("target", "zeta", "expected"),
    [
        *[(0.5, 1.0, 0.25), (0.5, 0.25, 0.0), (0.5, -0.25, 0.0), (0.5, -1.0, 2.25)],
        *[(-0.5, -1.0, 0.25), (-0.5, 0.25, 0.0), (-0.5, 1.0, 2.25)],
    ],
)
def test_paper_form_is_the_squared_difference_where_the_size_is_too_large(target, zeta, expected):
    assert distance_at("paper", target, zeta) == expected


@pytest.mark.parametrize("target", [0.3, -0.7])
def test_paper_form_jumps_by_four_squared_targets_at_minus_the_target(target):
    outwards = -np.sign(target) * 1e-9
    inside, outside = (distance_at("paper", target, -target + d) for d in (-outwards, outwards))
    assert outside - inside == pytest.approx(4 * target**2, abs=1e-8)


@pytest.mark.parametrize("border", [-0.3, 0.0, 0.3])
def test_interval_form_has_no_jump(border):
    below, above = (distance_at("interval", 0.3, border + d) for d in (-1e-9, 1e-9))
    assert above == pytest.approx(below, abs=1e-8)


@given(st.floats(-1, 1), st.floats(0, 2))
def test_paper_and_interval_form_agree_where_signs_agree(target, size):
    zeta = size * np.sign(target)
    assert distance_at("paper", target, zeta) == distance_at("interval", target, zeta)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_square_for_a_target_of_zero(form):
    assert [distance_at(form, 0.0, zeta) for zeta in (-2.0, 0.0, 0.5)] == [4.0, 0.0, 0.25]


@pytest.mark.parametrize("form", FORMS)
def test_curvature_is_two_on_the_border_of_the_zone(form):
    target = np.array([0.5])
    assert Distance.of([form], target).curvature(target).tolist() == [2.0]


def test_curvature_is_zero_inside_the_zone():
    distance = Distance.of(["interval", "paper"], np.array([0.5, 0.5]))
    assert distance.curvature(np.array([0.25, -0.25])).tolist() == [0.0, 0.0]


def test_penalty_on_four_rows_is_as_by_hand():
    # gap .75 − .25 = .5, held to 0; sum 1.5, held to at most 1: R = .25 + .25
    penalty = Penalty(
        FOUR_ROWS, Distance.of(["match", "interval"], np.array([0.0, 1.0])), ("gap", "sum")
    )
    assert penalty.statistics(FOUR_SCORES).tolist() == [0.5, 1.5]
    assert penalty.value(FOUR_SCORES) == 0.5
    assert penalty.gradient(FOUR_SCORES).tolist() == [1.5, 1.5, -0.5, -0.5]
    assert penalty.curvature(FOUR_SCORES).tolist() == [2.0, 2.0]


@varied
@given(
    st.integers(2, 30),
    st.integers(0, 9_999),
    st.lists(st.sampled_from(FORMS), min_size=1, max_size=6),
)
def test_gradient_and_hessian_agree_with_finite_differences(n, seed, forms):
    penalty, scores = random_penalty(n, seed, forms)
    assume(is_smooth_at(penalty, scores))
    hessian = penalty.matrix * penalty.curvature(scores) @ penalty.matrix.T
    assert_close(penalty.gradient(scores), numerical_derivative(penalty.value, scores), 1e-5)
    assert_close(hessian, numerical_derivative(penalty.gradient, scores), 1e-5)


@each_autodiff
@pytest.mark.parametrize("seed", range(3))
def test_gradient_and_hessian_agree_with_autodiff(autodiff, seed):
    penalty, scores = random_penalty(12, seed, [*FORMS, *FORMS])
    value, gradient, hessian = autodiff(lambda asarray: penalty.map(asarray).value, scores)
    assert_close(value, penalty.value(scores), 1e-9)
    assert_close(gradient, penalty.gradient(scores), 1e-9)
    assert_close(hessian, penalty.matrix * penalty.curvature(scores) @ penalty.matrix.T, 1e-9)


def test_torch_and_jax_give_the_numbers_of_numpy():
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    penalty, scores = random_penalty(20, 3, list(FORMS))
    with jax_float64(jax):
        for convert in (torch.as_tensor, jax.numpy.asarray):
            other, there = penalty.map(convert), convert(scores)
            assert type(other.gradient(there)) is type(there)
            assert_close(np.asarray(other.value(there)), penalty.value(scores), 1e-12)
            assert_close(np.asarray(other.gradient(there)), penalty.gradient(scores), 1e-12)
            assert_close(np.asarray(other.curvature(there)), penalty.curvature(scores), 1e-12)


def test_float32_gives_the_numbers_of_float64_to_its_own_rounding():
    penalty, scores = random_penalty(20, 3, list(FORMS))
    single = penalty.map(lambda array: array.astype(np.float32))
    gradient = single.gradient(scores.astype(np.float32))
    assert gradient.dtype == single.curvature(scores.astype(np.float32)).dtype == np.float32
    assert_close(gradient, penalty.gradient(scores), 1e-5)


def test_mapping_converts_every_array_and_keeps_the_rest():
    penalty, _ = random_penalty(5, 0, list(FORMS))
    single = penalty.map(lambda array: array.astype(np.float32))
    arrays = (single.matrix, *vars(single.distance).values())
    assert {array.dtype for array in arrays} == {np.dtype(np.float32)}
    assert (single.names, single.reduce, single.spectral) == (
        penalty.names,
        penalty.reduce,
        penalty.spectral,
    )


def test_two_workers_that_add_up_see_the_statistics_of_one():
    whole, scores = random_penalty(20, 5, list(FORMS))
    first, second = slice(0, 8), slice(8, 20)
    of_second = whole.matrix[second].T @ scores[second]
    worker = Penalty(whole.matrix[first], whole.distance, whole.names, lambda own: own + of_second)
    assert_close(worker.statistics(scores[first]), whole.statistics(scores), 1e-12)
    assert_close(worker.value(scores[first]), whole.value(scores), 1e-12)
    assert_close(worker.gradient(scores[first]), whole.gradient(scores)[first], 1e-12)


def test_a_penalty_can_be_pickled():
    penalty, scores = random_penalty(6, 0, list(FORMS))
    again = pickle.loads(pickle.dumps(penalty))  # noqa: S301
    assert again.value(scores) == penalty.value(scores)


def test_an_unknown_form_is_refused_with_the_choices():
    with pytest.raises(
        ValueError, match=r"unknown form 'soft'; choose from match, interval, paper"
    ):
        Distance.of(["match", "soft"], np.zeros(2))


def test_forms_and_targets_of_different_number_are_refused():
    with pytest.raises(ValueError, match=r"2 forms for 3 targets; give one each"):
        Distance.of(["match", "match"], np.zeros(3))


@pytest.mark.parametrize("matrix", [np.zeros((4, 2)), np.zeros(4)])
def test_a_matrix_that_does_not_fit_its_names_is_refused_with_its_shape(matrix):
    expected = r"matrix has shape \(4,.*\); expected one column for each of the 1 statistics"
    with pytest.raises(ValueError, match=expected):
        Penalty(matrix, Distance.of(["match"], np.zeros(1)), ("gap",))


def test_the_penalty_on_nothing_is_always_zero():
    nothing, scores = Penalty.none(4), np.array([0.1, 0.5, 0.9, 1.0])
    assert nothing.value(scores) == 0.0
    assert nothing.gradient(scores).tolist() == [0.0] * 4
    assert nothing.statistics(scores).shape == nothing.curvature(scores).shape == (0,)
    assert nothing.names == ()


@each_autodiff
def test_the_penalty_on_nothing_is_flat_in_every_library(autodiff):
    value, gradient, hessian = autodiff(
        lambda asarray: Penalty.none(3).map(asarray).value,
        np.array([0.2, 0.5, 0.8]),
    )
    assert value == 0.0
    assert not gradient.any()
    assert not hessian.any()
