"""Overlap of the groups' propensities."""

from __future__ import annotations

import json

import numpy as np
import pytest
from contracts import assert_close
from sklearn.metrics import roc_auc_score

from unsway.datasets import make_world
from unsway.effects.overlap import effective_size, overlap

DATA = make_world("paper", 20_000, random_state=0)
FOUND = overlap(DATA.propensity, sensitive_features=DATA.z)


def test_the_papers_world_has_the_known_overlap():
    assert pytest.approx(0.958, abs=0.003) == FOUND.auc
    assert pytest.approx(0.5, abs=0.02) == FOUND.share_outside
    assert sum(FOUND.n_rows) == 20_000


def test_shares_sizes_and_support_are_those_of_their_definitions():
    b, z = DATA.propensity, DATA.z
    assert pytest.approx(np.mean((b < 0.05) | (b > 0.95))) == FOUND.share_outside
    outside = [np.mean((b[z == g] < 0.05) | (b[z == g] > 0.95)) for g in (0, 1)]
    assert_close(FOUND.share_outside_by_group, outside, 1e-12)
    start, end = max(b[z == 0].min(), b[z == 1].min()), min(b[z == 0].max(), b[z == 1].max())
    assert FOUND.support == (start, end)
    assert pytest.approx(np.mean((b >= start) & (b <= end))) == FOUND.share_in_support
    weights = 1 / b[z == 1]
    assert FOUND.ate_sizes[1] == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    weights = b[z == 0]
    assert FOUND.overlap_sizes[0] == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert pytest.approx(roc_auc_score(z, b)) == FOUND.auc


def test_both_histograms_have_area_one():
    assert_close(FOUND.densities @ np.diff(FOUND.bin_edges), [1.0, 1.0], 1e-12)
    assert FOUND.densities[1, -1] > FOUND.densities[0, -1]


def test_poor_overlap_shows_in_every_number():
    data = make_world("poor_overlap", 20_000, random_state=0)
    poor = overlap(data.propensity, sensitive_features=data.z)
    assert poor.share_outside > FOUND.share_outside
    assert poor.auc > FOUND.auc
    assert poor.overlap_sizes[0] < FOUND.overlap_sizes[0]


def test_weights_count_as_repeated_rows():
    weights = np.random.default_rng(0).integers(0, 4, 500)
    rows = np.repeat(np.arange(500), weights)
    b, z = DATA.propensity[:500], DATA.z[:500]
    weighted, longer = (
        overlap(b, sensitive_features=z, sample_weight=weights),
        overlap(b[rows], sensitive_features=z[rows]),
    )
    assert weighted.share_outside == pytest.approx(longer.share_outside)
    assert weighted.auc == pytest.approx(longer.auc)
    assert weighted.support == longer.support
    assert weighted.share_in_support == pytest.approx(longer.share_in_support)
    assert_close(weighted.densities, longer.densities, 1e-12)


def test_groups_apart_have_an_empty_support():
    found = overlap([0.1, 0.2, 0.8, 0.9], sensitive_features=[0, 0, 1, 1])
    assert found.support == (0.8, 0.2)
    assert found.share_in_support == 0
    assert "common support empty" in repr(found)


def test_exact_propensities_are_counted_and_give_no_infinity():
    found = overlap([0.0, 1.0, 0.0, 0.5, 0.5], sensitive_features=[0, 0, 1, 1, 0])
    assert (found.n_exact, found.n_infinite) == (3, 2)
    assert np.isnan(found.ate_sizes).all()
    assert found.to_dict()["effective_sample_size_ate"] == [None, None]
    assert "3 propensities are exactly 0 or 1; 2 rows" in repr(found)


def test_the_dict_survives_json():
    stored = json.loads(json.dumps(FOUND.to_dict(), allow_nan=False))
    assert stored["auc"] == FOUND.auc
    assert stored["common_support"] == list(FOUND.support)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_have_a_row_per_group_and_per_bin(backend):
    pytest.importorskip(backend)
    assert FOUND.to_frame(backend).shape == (2, 7)
    assert FOUND.histogram_to_frame(backend).shape == (20, 4)


def test_the_effective_size_does_not_depend_on_the_scale_of_weights():
    weights = np.array([1.0, 2.0, 3.0])
    assert effective_size(weights * 1e200) == pytest.approx(36 / 14)
    assert np.isnan(effective_size(np.zeros(3)))


@pytest.mark.parametrize(
    ("b", "z", "options", "message"),
    [
        ([0.2, 1.5], [0, 1], {}, r"1 values outside \[0, 1\]"),
        ([0.2, np.nan], [0, 1], {}, "propensity has 1 missing values"),
        ([0.2, np.inf], [0, 1], {}, "infinite"),
        ([0.2, 0.3, 0.4], [0, 1], {}, "sensitive_features has 2 rows but propensity has 3"),
        ([0.2, 0.3], [1, 1], {}, "single level"),
        ([0.2, 0.3], [0, 1], {"sample_weight": [0, 1]}, "sample_weight of zero"),
        ([0.2, 0.3], [0, 1], {"low": 0.9, "high": 0.1}, "low and high"),
        ([0.2, 0.3], [0, 1], {"bins": 0}, "bins must be an int"),
    ],
)
def test_bad_input_is_refused(b, z, options, message):
    with pytest.raises(ValueError, match=message):
        overlap(b, sensitive_features=z, **options)
