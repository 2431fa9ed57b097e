"""What must not change a result, and what must change it in a known way, on random tables.

Levels swapped, rows in another order, rows twice or with weight two, columns in other units, in
another order or under other names, and a column of noise.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unsway import (
    FairLogisticRegression,
    FairTarget,
    Parity,
    audit,
    demographic_parity_difference,
    estimate_effects,
    score_gap,
)
from unsway.groups import Grouping

N = 240
pytestmark = pytest.mark.filterwarnings("ignore::unsway.OverlapWarning")
some = settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
seeds = st.integers(0, 2**32 - 1)


def draw(seed):
    """Return a table, labels and groups, in which both groups have both labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3))
    z = (X[:, 0] + rng.normal(size=N) > 0).astype(int)
    y = (X[:, 0] + 0.5 * X[:, 1] + 0.5 * z + rng.normal(size=N) > 0.3).astype(int)
    return pd.DataFrame(X, columns=["a", "b", "c"]), y, z


def scores(X, y, z, criterion=None, weights=None, **settings):
    model = FairLogisticRegression(criterion or Parity(), tol=1e-10, **settings)
    model.fit(X, y, sensitive_features=z, sample_weight=weights)
    return model.predict_proba(X)[:, 1]


@some
@given(seed=seeds, strength=st.floats(0, 0.95))
def test_swapped_levels_give_the_same_fair_scores(seed, strength):
    X, y, z = draw(seed)
    same, other = (
        scores(X, y, z, strength=strength, groups=Grouping(reference=level)) for level in (0, 1)
    )
    np.testing.assert_allclose(same, other, atol=1e-6)


@some
@given(seed=seeds)
def test_swapped_levels_turn_the_sign_of_a_gap(seed):
    X, y, z = draw(seed)
    p = X["a"].rank(pct=True).to_numpy()
    here, there = (score_gap(y, p, sensitive_features=each) for each in (z, 1 - z))
    assert here == pytest.approx(-there)
    chosen = (p > 0.5).astype(int)
    same, other = (
        demographic_parity_difference(y, chosen, sensitive_features=each) for each in (z, 1 - z)
    )
    assert same == pytest.approx(other)


@pytest.mark.parametrize("criterion", [Parity(), FairTarget(random_state=0)])
@settings(parent=some, max_examples=3)
@given(seed=seeds)
def test_the_order_of_rows_does_not_matter(criterion, seed):
    X, y, z = draw(seed)
    order = np.random.default_rng(seed).permutation(N)
    here = scores(X, y, z, criterion, strength=0.8)
    there = scores(X.iloc[order], y[order], z[order], criterion, strength=0.8)
    np.testing.assert_allclose(here[order], there, atol=1e-6)


@some
@given(seed=seeds, strength=st.floats(0, 0.95))
def test_a_row_twice_is_a_row_of_weight_two(seed, strength):
    X, y, z = draw(seed)
    twice = np.random.default_rng(seed).integers(1, 3, N)
    rows = np.repeat(np.arange(N), twice)
    weighted = scores(X, y, z, weights=twice.astype(float), strength=strength)
    repeated = scores(X.iloc[rows].reset_index(drop=True), y[rows], z[rows], strength=strength)
    np.testing.assert_allclose(weighted[rows], repeated, atol=1e-6)


@some
@given(seed=seeds, factor=st.floats(1e-3, 1e3))
def test_an_audit_counts_a_row_twice_as_one_of_weight_two(seed, factor):
    X, y, z = draw(seed)
    p = X["a"].rank(pct=True).to_numpy()
    twice = np.random.default_rng(seed).integers(1, 3, N)
    rows = np.repeat(np.arange(N), twice)
    options = {"n_bootstrap": 0}
    one = audit(y, p, sensitive_features=z, sample_weight=factor * twice, **options)
    two = audit(y[rows], p[rows], sensitive_features=z[rows], **options)
    for name in ("auc", "accuracy", "brier"):
        here, there = (found.metrics[name, "overall"].estimate for found in (one, two))
        assert here == pytest.approx(there, abs=1e-9)


@some
@given(
    seed=seeds,
    factors=st.lists(st.floats(0.01, 100), min_size=3, max_size=3),
    shifts=st.lists(st.floats(-100, 100), min_size=3, max_size=3),
)
def test_units_do_not_matter_without_a_ridge(seed, factors, shifts):
    X, y, z = draw(seed)
    here = scores(X, y, z, strength=0.7)
    there = scores(X * factors + shifts, y, z, strength=0.7)
    np.testing.assert_allclose(here, there, atol=1e-5)


@some
@given(seed=seeds, names=st.lists(st.text(min_size=1), min_size=3, max_size=3, unique=True))
def test_names_and_order_of_columns_do_not_matter(seed, names):
    X, y, z = draw(seed)
    here = scores(X, y, z, strength=0.7)
    np.testing.assert_allclose(here, scores(X.set_axis(names, axis=1), y, z, strength=0.7))
    there = scores(X[["c", "a", "b"]], y, z, strength=0.7)
    np.testing.assert_allclose(here, there, atol=1e-6)


@settings(parent=some, max_examples=3)
@given(seed=seeds)
def test_noise_moves_an_effect_by_less_than_its_error_and_the_total_not_at_all(seed):
    X, y, z = draw(seed)
    noise = X.assign(noise=np.random.default_rng(seed + 1).normal(size=N))
    one, two = (
        estimate_effects(each, y, sensitive_features=z, method="weighting") for each in (X, noise)
    )
    assert one.total == two.total
    for name in ("direct_overlap", "explained"):
        here, there = getattr(one, name), getattr(two, name)
        assert abs(here.estimate - there.estimate) < 3 * max(here.se, there.se)


@settings(parent=some, max_examples=3)
@given(seed=seeds)
def test_swapped_levels_swap_the_effects(seed):
    X, y, z = draw(seed)
    one, two = (
        estimate_effects(
            X, y, sensitive_features=z, method="weighting", groups=Grouping(reference=level)
        )
        for level in (0, 1)
    )
    assert one.total.estimate == pytest.approx(-two.total.estimate, abs=1e-9)
    assert one.direct_reference.estimate == pytest.approx(-two.direct_group.estimate, abs=1e-6)
    assert one.direct_overlap.estimate == pytest.approx(-two.direct_overlap.estimate, abs=1e-6)
