"""The functions of a margin, on every array library."""

from __future__ import annotations

import math

import numpy as np
import pytest
from contracts import assert_close, each_autodiff, jax_float64

from unsway.core.arrays import namespace, sigmoid, softplus

MARGINS = np.array([-800.0, -30.0, -1.0, 0.0, 0.5, 30.0, 800.0])


def test_softplus_is_log_of_one_plus_exp():
    expected = [0.0, math.log1p(math.exp(-30)), math.log1p(math.exp(-1)), math.log(2)]
    assert_close(softplus(MARGINS[:4]), expected, 1e-15)


def test_softplus_of_a_large_margin_is_the_margin():
    assert softplus(MARGINS)[-1] == 800.0


def test_sigmoid_keeps_its_tails():
    scores, density = sigmoid(np.array([-700.0, 700.0]))
    assert scores[0] == pytest.approx(math.exp(-700), rel=1e-12)
    assert density.tolist() == pytest.approx([math.exp(-700)] * 2, rel=1e-12)


def test_density_is_the_scores_slope():
    step = 1e-6
    middle = MARGINS[1:-1]
    slope = (sigmoid(middle + step)[0] - sigmoid(middle - step)[0]) / (2 * step)
    assert_close(sigmoid(middle)[1], slope, 1e-9)


def test_every_library_gives_the_same_numbers():
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    with jax_float64(jax):
        for convert in (torch.as_tensor, jax.numpy.asarray):
            margin = convert(MARGINS)
            assert_close(np.asarray(softplus(margin)), softplus(MARGINS), 1e-15)
            assert_close(np.asarray(sigmoid(margin)[0]), sigmoid(MARGINS)[0], 1e-15)
            assert_close(np.asarray(sigmoid(margin)[1]), sigmoid(MARGINS)[1], 1e-15)


def test_float32_stays_float32():
    margin = MARGINS.astype(np.float32)
    assert {softplus(margin).dtype, *(a.dtype for a in sigmoid(margin))} == {np.dtype(np.float32)}


def test_namespace_is_the_arrays_own_library():
    torch = pytest.importorskip("torch")
    assert namespace(np.zeros(1)) is np
    assert namespace(torch.zeros(1)) is torch


@each_autodiff
@pytest.mark.parametrize("margin", [-800.0, -1.0, 0.0, 2.0, 800.0])
def test_autodiff_of_the_score_is_its_density_also_at_zero(autodiff, margin):
    _, slope, _ = autodiff(lambda _: lambda s: sigmoid(s)[0].sum(), np.array([margin]))
    assert_close(slope, sigmoid(np.array([margin]))[1], 1e-12)


@each_autodiff
def test_autodiff_of_softplus_is_the_score_also_at_zero(autodiff):
    margin = np.array([-800.0, -1.0, 0.0, 2.0, 800.0])
    _, slope, curvature = autodiff(lambda _: lambda s: softplus(s).sum(), margin)
    assert_close(slope, sigmoid(margin)[0], 1e-12)
    assert_close(np.diag(curvature), sigmoid(margin)[1], 1e-12)
