"""Berkeley's counts give the effects one finds by hand."""

from __future__ import annotations

import numpy as np
import pytest

from unsway.datasets import load_berkeley

# R's datasets::UCBAdmissions, column by column: Dept A to F, men then women, admitted, rejected.
UCB_ADMISSIONS = [
    *(512, 313, 89, 19, 353, 207, 17, 8, 120, 205, 202, 391),
    *(138, 279, 131, 244, 53, 138, 94, 299, 22, 351, 24, 317),
]


def admission_rate(department: str | None, woman: int) -> float:
    data = load_berkeley()
    rows = (data.z == woman) & (department is None or data.columns["Dept"] == department)
    return np.average(data.y[rows], weights=data.sample_weight[rows])


def direct_effect(mix_of: int) -> float:
    """Return women minus men at fixed department, averaged over one sex's departments."""
    data = load_berkeley()
    weights = data.sample_weight * (data.z == mix_of)
    per_row = [admission_rate(d, 1) - admission_rate(d, 0) for d in data.columns["Dept"]]
    return np.average(per_row, weights=weights)


def test_the_counts_are_those_of_r():
    data = load_berkeley()
    assert data.sample_weight.tolist() == UCB_ADMISSIONS
    assert data.sample_weight.sum() == 4526


def test_a_row_says_which_count_it_is():
    data = load_berkeley()
    rejected_women_of_f = (data.columns["Dept"] == "F") & (data.z == 1) & (data.y == 0)
    assert data.sample_weight[rejected_women_of_f].tolist() == [317]
    assert (data.positive_target, data.positive_sensitive) == ("Admitted", "Female")


def test_women_are_admitted_less_often_than_men():
    assert round(admission_rate(None, 0), 4) == 0.4452
    assert round(admission_rate(None, 1), 4) == 0.3035
    assert admission_rate(None, 1) - admission_rate(None, 0) == pytest.approx(-0.141645, abs=5e-7)


def test_the_direct_effect_turns_the_gap_around():
    assert direct_effect(mix_of=0) == pytest.approx(0.070969, abs=5e-7)
    assert direct_effect(mix_of=1) == pytest.approx(0.001088, abs=5e-7)


def test_the_department_is_the_only_feature():
    X, names = load_berkeley().to_matrix()
    assert names == tuple(f"Dept={letter}" for letter in "ABCDEF")
    np.testing.assert_array_equal(X, np.kron(np.eye(6), np.ones((4, 1))))


def test_the_repr_says_that_the_rows_are_weighted():
    shown = "TabularData('berkeley', 24 weighted rows, 1 feature, y: Admit Admitted, z: Gender"
    assert repr(load_berkeley()).startswith(shown)
