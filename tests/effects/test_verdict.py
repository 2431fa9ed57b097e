"""The verdict on what the data can tell."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest

from unsway.datasets import make_world
from unsway.effects import OverlapWarning
from unsway.effects.balance import balance
from unsway.effects.estimation import estimate_effects
from unsway.effects.mean_field import mean_field
from unsway.effects.nuisance import Nuisances
from unsway.effects.overlap import overlap
from unsway.effects.verdict import Thresholds, verdict

RNG = np.random.default_rng(0)
B = RNG.uniform(0.2, 0.8, 2_000)
Z = (RNG.random(2_000) < B).astype(float)
X = np.column_stack([np.log(B / (1 - B)), RNG.normal(size=2_000)])
OVERLAP, BALANCE = overlap(B, sensitive_features=Z), balance(X, sensitive_features=Z, propensity=B)


def spread(within, n=2_000):
    """Return a mean-field result with this spread of the effect within bins."""
    tau = 0.2 + within * X[:n, 1]
    y = Z[:n] * tau + np.random.default_rng(1).normal(size=n)
    return mean_field(tau, B[:n], y=y, sensitive_features=Z[:n], mu0=np.zeros(n))


def finding(found, name):
    return next(each for each in found.findings if each.name == name)


def test_good_data_are_ok():
    found = verdict(OVERLAP, BALANCE, spread(0.05))
    assert found.level == "ok"
    assert all(each.passed for each in found.findings)
    assert {"balance", "mean field", "common support"} <= {each.name for each in found.findings}


def test_imbalance_calls_for_caution():
    found = verdict(OVERLAP, BALANCE, weighting="raw")
    assert found.level == "caution"
    failed = finding(found, "balance")
    assert failed.value == abs(BALANCE.worst("raw")[1]) > failed.threshold == 0.1
    assert "column 0" in failed.sentence


def test_an_effect_that_varies_within_bins_calls_for_caution():
    found = verdict(mean_field=spread(0.8))
    assert found.level == "caution"
    assert finding(found, "mean field").value == pytest.approx(0.6, abs=0.15)


def test_a_spread_that_may_be_chance_passes():
    chance = spread(0.8, n=40)
    chance = replace(chance, calibration=replace(chance.calibration, p_value=0.3))
    found = finding(verdict(mean_field=chance), "mean field")
    assert found.value > found.threshold
    assert found.passed
    assert "may be chance (p = 0.30)" in found.sentence


def test_models_alone_are_judged_with_their_noise():
    found = finding(verdict(mean_field=mean_field(X[:, 1], B)), "mean field")
    assert not found.passed
    assert "noise of the models included" in found.sentence


def test_groups_without_a_propensity_in_common_cannot_be_compared():
    found = verdict(overlap(np.where(Z == 1, 0.9, 0.1), sensitive_features=Z))
    assert found.level == "cannot tell"
    assert not finding(found, "common support").passed


def test_too_few_comparable_rows_cannot_tell():
    found = verdict(overlap(B[:60], sensitive_features=Z[:60]))
    assert found.level == "cannot tell"
    assert not finding(found, "effective rows").passed
    assert (
        verdict(
            overlap(B[:60], sensitive_features=Z[:60]), thresholds=Thresholds(min_effective_rows=5)
        ).level
        == "ok"
    )


def test_propensities_that_contradict_their_rows_call_for_caution():
    b = B.copy()
    b[np.flatnonzero(Z == 1)[:3]] = 0
    found = verdict(overlap(b, sensitive_features=Z))
    assert found.level == "caution"
    assert finding(found, "exact propensities").value == 3


@pytest.mark.parametrize(
    ("world", "failed"),
    [
        ("paper", ["extreme propensities"]),
        ("varying_effect", ["extreme propensities"]),
        ("poor_overlap", ["extreme propensities"]),
        ("imbalanced", ["extreme propensities"]),
        ("many_noise_features", ["extreme propensities"]),
        ("small_group", ["extreme propensities", "effective share"]),
        ("missing_by_group", ["extreme propensities"]),
        ("wave", ["extreme propensities"]),
        ("steps", []),
        ("deep", []),
        ("adult", []),
    ],
)
def test_a_world_calls_for_caution_by_its_extreme_propensities_if_at_all(world, failed):
    data = make_world(world, 10_000, random_state=0)
    found = verdict(overlap(data.propensity, sensitive_features=data.z))
    assert [each.name for each in found.findings if not each.passed] == failed
    assert found.level == ("caution" if failed else "ok")


@pytest.mark.parametrize("n_extreme", [0, 250, 251, 400, 599, 700])
def test_the_effects_warn_exactly_where_the_verdict_asks_for_caution(n_extreme):
    b = np.where(np.arange(1_000) < n_extreme, 0.04, 0.5)
    z = (np.arange(1_000) % 20 < np.where(b == 0.5, 10, 1)).astype(float)
    means = np.column_stack([np.full(1_000, 0.3), np.full(1_000, 0.5)])
    y = (np.arange(1_000) % 3 == 0).astype(float)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OverlapWarning)
        effects = estimate_effects(
            np.zeros((1_000, 1)), y, sensitive_features=z, nuisances=Nuisances(b, means)
        )
    judged = finding(verdict(effects.overlap), "extreme propensities")
    assert len(caught) == (not judged.passed) == (n_extreme > 250)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"max_extreme_share": 0}, "extreme propensities"),
        ({"min_effective_share": 0.99}, "effective share"),
        ({"min_effective_rows": 5_000}, "effective rows"),
        ({"max_standardized_difference": 1e-9}, "balance"),
        ({"max_within_spread": 0.001}, "mean field"),
    ],
)
def test_every_threshold_decides_its_finding(changed, name):
    data = (overlap(B, sensitive_features=Z, low=0.25, high=0.75), BALANCE, spread(0.1))
    assert finding(verdict(*data), name).passed
    strict = finding(verdict(*data, thresholds=Thresholds(**changed)), name)
    assert not strict.passed
    assert strict.threshold == next(iter(changed.values()))


def test_an_unknown_balance_is_no_pass():
    unknown = replace(BALANCE, differences=np.full((2, 5), np.nan))
    found = finding(verdict(balance=unknown), "balance")
    assert not found.passed
    assert "not known" in found.sentence


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_the_frame_has_a_row_per_finding(backend):
    pytest.importorskip(backend)
    found = verdict(OVERLAP, BALANCE)
    assert found.to_frame(backend).shape == (len(found.findings), 6)


def test_the_dict_survives_json_and_the_repr_has_every_sentence():
    found = verdict(OVERLAP, BALANCE)
    stored = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert stored["level"] == found.level
    assert stored["thresholds"]["max_extreme_share"] == 0.25
    assert all(each.sentence in repr(found) for each in found.findings)


def test_bad_input_is_refused():
    with pytest.raises(TypeError, match="give at least one of overlap, balance and mean_field"):
        verdict()
    with pytest.raises(TypeError, match="overlap must be Overlap; got Balance"):
        verdict(BALANCE)
    with pytest.raises(ValueError, match="unknown weighting 'overlap'; choose from raw"):
        verdict(balance=balance(X, sensitive_features=Z))
    with pytest.raises(ValueError, match="max_extreme_share must be a finite number of at least 0"):
        Thresholds(max_extreme_share=-1)
    with pytest.raises(TypeError, match="min_effective_rows must be a number"):
        Thresholds(min_effective_rows="many")
