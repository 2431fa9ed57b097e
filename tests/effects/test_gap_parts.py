"""The parts of a score's gap, and the share of the direct effect that a score passes on."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from contracts import assert_close
from scipy.special import logit
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression

from unsway.datasets import synthetic
from unsway.datasets.worlds import INDEX_WORLDS
from unsway.effects import PARTS, estimate_effects
from unsway.effects.influence import Mean
from unsway.effects.nuisance import Nuisances

LOGISTIC = LogisticRegression(C=1e4, max_iter=1000)
WORLDS = {world.name: world for world in INDEX_WORLDS}
CODINGS = {
    "squared": np.square,
    "root": np.sqrt,
    "margin": logit,
    "ranks": lambda p: rankdata(p) / (len(p) + 1),
    "shrunken": lambda p: 0.3 + 0.4 * p,
}


@cache
def drawn(name="paper", n_rows=6_000, seed=0):
    return synthetic._draw(WORLDS[name], n_rows, np.random.default_rng([seed, 3]))


@cache
def effects(name="paper", n_rows=6_000, seed=0):
    rows = drawn(name, n_rows, seed)
    return estimate_effects(
        rows.X,
        rows.y,
        sensitive_features=rows.z,
        propensity_model=LOGISTIC,
        outcome_model=LOGISTIC,
        max_extreme_share=1,
    )


@cache
def exact(name="paper", n_rows=60_000):
    """Return effects from the true nuisances and the mean labels: no sampling noise in y."""
    rows, world = drawn(name, n_rows), WORLDS[name]
    means = world.outcome_probabilities(rows.X)
    b = np.clip(rows.propensity, 0.001, 0.999)
    return estimate_effects(
        rows.X,
        means[np.arange(n_rows), rows.z],
        sensitive_features=rows.z,
        nuisances=Nuisances(b, means),
        max_extreme_share=1,
    )


def scores(name="paper", n_rows=60_000):
    """Return the fair, the blind and the twice corrected score, and one that uses z."""
    rows = drawn(name, n_rows)
    low, high = WORLDS[name].outcome_probabilities(rows.X).T
    b = rows.propensity
    blind, direct = low + b * (high - low), (b - 0.5) * (high - low)
    return {
        "fair": blind - direct,
        "blind": blind,
        "twice": blind - 2 * direct,
        "half": blind - direct / 2,
        "z": np.where(rows.z == 1, high, low),
    }


@pytest.mark.parametrize("name", ["paper", "opposed_effects", "varying_effect"])
@pytest.mark.parametrize(
    ("kind", "share"), [("fair", 0), ("blind", 1), ("twice", -1), ("half", 0.5)]
)
def test_the_share_of_a_mixture_of_fair_score_and_direct_part_is_its_share(name, kind, share):
    found = exact(name).gap_parts(scores(name)[kind])
    assert found.pass_through.estimate == pytest.approx(share, abs=0.06)
    assert abs(found.rest.estimate) < 0.01
    assert abs(found.z_itself.estimate) < 0.005


def test_a_score_that_uses_z_shows_it():
    found = exact().gap_parts(scores()["z"])
    assert found.z_itself.low > 0.03
    assert found.pass_through.estimate > 0.9


@pytest.mark.parametrize("coding", CODINGS)
def test_a_strictly_increasing_coding_changes_nothing_but_the_calibration(coding):
    score = scores("paper", 6_000)["blind"]
    plain, other = (effects().gap_parts(s) for s in (score, CODINGS[coding](score)))
    for name in (*PARTS, "left", "pass_through"):
        mine, its = (getattr(found, name) for found in (plain, other))
        assert_close(list(its.to_dict().values()), list(mine.to_dict().values()), 1e-9)
    assert plain.calibration.holds
    assert not other.calibration.holds


def test_a_shrunken_score_looks_over_corrected_only_as_given():
    shrunken = 0.3 + 0.4 * scores("paper", 6_000)["blind"]
    found = effects().gap_parts(shrunken)
    assert found.left_as_given.estimate < 0
    assert found.left.low > 0
    assert found.pass_through.low > 0
    assert found.calibration.slope.estimate == pytest.approx(2.5, abs=0.2)


def test_the_parts_add_up_to_what_is_left():
    found = effects().gap_parts(scores("paper", 6_000)["z"])
    parts = [each.estimate for name, each in found.estimates().items() if name != "explained"]
    assert sum(parts) == pytest.approx(found.left.estimate)
    assert found.explained == effects().explained


def test_the_intervals_hold_the_truth_in_nearly_all_samples():
    held = []
    for seed in range(20):
        rows = drawn("paper", 4_000, seed)
        low, high = WORLDS["paper"].outcome_probabilities(rows.X).T
        blind = low + rows.propensity * (high - low)
        shares = {1: blind, 0: blind - (rows.propensity - 0.5) * (high - low)}
        for share, score in shares.items():
            found = effects("paper", 4_000, seed).gap_parts(score).pass_through
            held.append(found.low < share < found.high)
    assert sum(held) >= 34  # of 40; fewer have a chance of .003 at .95 each, were they independent


def test_nothing_to_pass_on_is_said_where_the_labels_hold_no_direct_effect():
    rows = drawn("no_direct_effect", 3_000)
    found = effects("no_direct_effect", 3_000).gap_parts(rows.X[:, 0])
    assert found.pass_through is None
    assert "nothing to pass on" in found.why_not
    assert "nothing to pass on" in repr(found)


def test_a_constant_score_passes_nothing_on_and_lacks_all_that_is_explained():
    found = effects().gap_parts(np.full(6_000, 0.4))
    assert found.why_not == "every score is the same"
    assert found.left.estimate == pytest.approx(-found.explained.estimate)
    assert found.sharpness.estimate == pytest.approx(-found.explained.estimate)


def test_a_weight_of_two_is_the_row_twice():
    rows, score = drawn("paper", 1_500), scores("paper", 1_500)["blind"]
    twice = np.r_[np.arange(1_500), np.arange(500)]
    b, means = rows.propensity.clip(0.02, 0.98), WORLDS["paper"].outcome_probabilities(rows.X)
    weighted, repeated = (
        estimate_effects(
            rows.X[at],
            rows.y[at],
            sensitive_features=rows.z[at],
            sample_weight=weights,
            nuisances=Nuisances(b[at], means[at]),
            max_extreme_share=1,
        ).gap_parts(score[at])
        for at, weights in (
            (np.arange(1_500), np.r_[np.full(500, 2.0), np.ones(1_000)]),
            (twice, np.ones(2_000)),
        )
    )
    assert weighted.left.estimate == pytest.approx(repeated.left.estimate, abs=0.01)
    assert weighted.explained.estimate == pytest.approx(repeated.explained.estimate)


def test_the_parts_become_json_with_none_for_an_end_that_is_not_there():
    rows = drawn("paper", 500)
    found = effects("paper", 500).gap_parts(rows.X[:, 0])
    read = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert list(read)[: len(PARTS)] == list(PARTS)
    assert read["calibration"]["holds"] is False
    assert found.to_frame()["part"].tolist() == list(PARTS)


def test_the_parts_need_outcome_models():
    rows = drawn("paper", 500)
    found = estimate_effects(
        rows.X,
        rows.y,
        sensitive_features=rows.z,
        method="weighting",
        propensity_model=LOGISTIC,
        max_extreme_share=1,
    )
    with pytest.raises(ValueError, match="without outcome models"):
        found.gap_parts(rows.X[:, 0])
    with pytest.raises(ValueError, match="500"):
        found.gap_parts(np.zeros(3))


def test_the_standard_error_of_clustered_rows_counts_their_sums():
    influence = np.array([1.0, 1.0, -1.0, -1.0, 0.5, -0.5])
    clusters = np.array([0, 0, 1, 1, 2, 2])
    expected = np.sqrt(3 / 2 * 8) / 6
    assert Mean(0.0, influence).standard_error(clusters) == pytest.approx(expected)


def test_clipped_propensities_move_no_pass_through():
    rows, score = drawn("poor_overlap", 6_000), scores("poor_overlap", 6_000)["blind"]
    b, means = rows.propensity, WORLDS["poor_overlap"].outcome_probabilities(rows.X)
    b = b.clip(1e-6, 1 - 1e-6)
    clipped = b.clip(0.05, 0.95)
    shares = {
        name: estimate_effects(
            rows.X, rows.y, sensitive_features=rows.z, nuisances=known, max_extreme_share=1
        )
        .gap_parts(score)
        .pass_through.estimate
        for name, known in {
            "exact": Nuisances(b, means),
            "both": Nuisances(clipped, means, unclipped=b),
            "clipped": Nuisances(clipped, means),
        }.items()
    }
    assert shares["both"] == pytest.approx(shares["exact"])
    assert abs(shares["clipped"] - shares["exact"]) > 0.1
