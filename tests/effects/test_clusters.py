"""Rows of one cluster stay in one fold, are drawn together, and count as one in intervals."""

from __future__ import annotations

import numpy as np
import pytest
from contracts import make_people
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from unsway.auditing import audit, compare
from unsway.effects import direct_effect_left, effect_curve, mean_field
from unsway.effects.estimate import resample
from unsway.effects.estimation import estimate_effects
from unsway.effects.nuisance import Nuisances
from unsway.folds import fold_numbers
from unsway.rows import Rows

LOGISTIC = LogisticRegression(max_iter=1000)
GIVEN = {"propensity_model": LOGISTIC, "outcome_model": LOGISTIC}
# Equal rows are in several folds where clusters are not known: trees would learn them by heart.
MODELS = {**GIVEN, "refine": False}
PEOPLE = make_people(300)
THRICE = np.repeat(np.arange(300), 3)
NAMES = np.array([f"person {k}" for k in THRICE])
KNOWN = Nuisances(
    np.clip(PEOPLE.b, 0.05, 0.95),
    np.column_stack([0.2 + 0.4 * PEOPLE.b, 0.3 + 0.4 * PEOPLE.b]),
)


def known(rows):
    return Nuisances(KNOWN.propensity[rows], KNOWN.outcome[rows])


def thrice(**options):
    """Return the effects on people each of whom has three equal rows."""
    X, y, z = PEOPLE.X[THRICE], PEOPLE.y[THRICE], PEOPLE.z[THRICE]
    return estimate_effects(X, y, sensitive_features=z, **{"nuisances": known(THRICE), **options})


def errors(found):
    return np.array([each.se for each in found.estimates().values()])


def test_three_equal_rows_of_a_person_say_no_more_than_one():
    once = estimate_effects(PEOPLE.X, PEOPLE.y, sensitive_features=PEOPLE.z, nuisances=KNOWN)
    clustered, rows = thrice(cluster=NAMES), thrice()
    np.testing.assert_allclose(errors(clustered), np.sqrt(300 / 299) * errors(once), rtol=0.02)
    np.testing.assert_allclose(errors(rows), errors(once) / np.sqrt(3), rtol=0.02)
    assert "300 clusters" in repr(clustered)
    assert clustered.settings["n_clusters"] == 300


@pytest.mark.parametrize("coding", [lambda s: s, lambda s: 0.2 + 0.5 * s**3])
def test_what_is_left_in_scores_and_passed_on_counts_people(coding):
    score = coding(expit(PEOPLE.X[:, 1] + 2 * PEOPLE.b))
    once = estimate_effects(PEOPLE.X, PEOPLE.y, sensitive_features=PEOPLE.z, nuisances=KNOWN)
    many = thrice(cluster=NAMES)
    pairs = [(e.direct_effect_left(s), e.gap_parts(s)) for e, s in ((once, score),
             (many, score[THRICE]))]  # fmt: skip
    (left, parts), (left3, parts3) = pairs
    assert left3.se == pytest.approx(left.se, rel=0.02)
    for name in ("explained", "left_as_given"):
        assert getattr(parts3, name).se == pytest.approx(getattr(parts, name).se, rel=0.02)
    assert parts3.calibration.slope.se == pytest.approx(parts.calibration.slope.se, rel=0.02)
    unclustered = thrice().gap_parts(score[THRICE])
    for name in ("z_itself", "left", "rest", "passed_on"):
        assert getattr(parts3, name).se > 1.3 * getattr(unclustered, name).se


def test_curve_and_mean_field_count_people():
    X, y, z = PEOPLE.X[THRICE], PEOPLE.y[THRICE], PEOPLE.z[THRICE]
    for method in ("doubly_robust", "polynomial", "bins"):
        options = {"method": method, "degree": 1, "n_bins": 3, "nuisances": known(THRICE)}
        many, plain = (
            effect_curve(X, y, sensitive_features=z, cluster=c, **options) for c in (NAMES, None)
        )
        np.testing.assert_allclose(many.se, np.sqrt(3) * plain.se, rtol=0.01)
    model = known(THRICE)
    effect = model.effect + 0.1 * np.sign(X[:, 1])
    given = {"y": y, "sensitive_features": z, "mu0": model.outcome[:, 0], "n_bins": 3}
    many, plain = (mean_field(effect, model.propensity, cluster=c, **given) for c in (NAMES, None))
    ratio = many.calibration.slope.se / plain.calibration.slope.se
    assert ratio == pytest.approx(np.sqrt(3), rel=0.01)


def test_a_cluster_is_within_one_fold_and_levels_are_spread_evenly():
    rng = np.random.default_rng(0)
    clusters = rng.integers(0, 60, 900)
    X, z = rng.normal(size=(900, 2)), (rng.random(900) < 0.3).astype(float)
    folds = fold_numbers(X, z, 5, clusters=clusters)
    for cluster in range(60):
        assert len(np.unique(folds[clusters == cluster])) == 1
    for level in (0, 1):
        sizes = np.bincount(folds[z == level], minlength=5)
        assert sizes.max() < 1.6 * sizes.min()
    shuffled = rng.permutation(900)
    names = rng.permutation(60)[clusters]  # other numbers for the same clusters
    again = fold_numbers(X[shuffled], z[shuffled], 5, clusters=names[shuffled])
    assert np.array_equal(again, folds[shuffled])


def test_the_cross_fitting_keeps_clusters_whole():
    found = thrice(cluster=NAMES, nuisances=None, cv=3, **MODELS)
    folds = found.nuisances.folds
    assert np.array_equal(folds, folds[::3].repeat(3))
    # Models that saw a copy of the row would fit it better.
    plain = thrice(nuisances=None, cv=3, **MODELS)
    assert not np.array_equal(plain.nuisances.folds, plain.nuisances.folds[::3].repeat(3))


def test_the_bootstrap_draws_whole_clusters():
    drawn = resample(PEOPLE.z[THRICE], 0, 0, THRICE)
    counts = np.bincount(drawn, minlength=900).reshape(300, 3)
    assert (counts == counts[:, :1]).all()
    assert counts.sum() == 900
    assert PEOPLE.z[THRICE][drawn].sum() == PEOPLE.z[THRICE].sum()
    assert np.array_equal(drawn, resample(PEOPLE.z[THRICE], 0, 0, THRICE))


def test_bootstrap_intervals_count_people():
    options = {"interval": "bootstrap", "n_bootstrap": 60, "cv": 2, "nuisances": None, **MODELS}
    many, plain = thrice(cluster=NAMES, **options), thrice(**options)
    assert many.total.se > 1.4 * plain.total.se
    score = PEOPLE.X[THRICE, 1]
    assert many.direct_effect_left(score).se > 1.3 * plain.direct_effect_left(score).se


def test_an_audit_and_a_comparison_count_people():
    y, z, X = PEOPLE.y[THRICE], PEOPLE.z[THRICE], PEOPLE.X[THRICE]
    score = expit(X[:, 1] + X[:, 0])
    options = {"sensitive_features": z, "X": X, "n_bootstrap": 40, "cv": 2, **GIVEN}
    many, plain = (audit(y, score, cluster=c, **options) for c in (NAMES, None))
    assert many.causal.labels.total.se > 1.5 * plain.causal.labels.total.se
    once = audit(PEOPLE.y, score[::3], **{**options, "sensitive_features": PEOPLE.z,
                                          "X": PEOPLE.X})  # fmt: skip
    assert many.causal.direct_effect_left.se == pytest.approx(
        once.causal.direct_effect_left.se, rel=0.3
    )
    assert many.causal.scores.total.se > 1.5 * plain.causal.scores.total.se
    widths = [
        {k: e.high - e.low for k, e in found.metrics.entries.items()} for found in (many, plain)
    ]
    gap = next(key for key in widths[0] if key.metric == "base_rate_difference")
    assert widths[0][gap] > 1.3 * widths[1][gap]
    assert many.settings["clusters"] == 300
    scores = {"one": score, "other": expit(X[:, 1])}
    many, plain = (compare(y, scores, cluster=c, **options) for c in (NAMES, None))
    ratio = many.left_differences["other"].se / plain.left_differences["other"].se
    assert ratio == pytest.approx(np.sqrt(3), rel=0.01)


def test_direct_effect_left_takes_clusters():
    y, z, X = PEOPLE.y[THRICE], PEOPLE.z[THRICE], PEOPLE.X[THRICE]
    options = {"sensitive_features": z, "X": X, "nuisances": known(THRICE)}
    many, plain = (direct_effect_left(y, X[:, 1], cluster=c, **options) for c in (NAMES, None))
    assert many.se == pytest.approx(np.sqrt(3 * 300 / 299) * plain.se, rel=0.01)


def test_too_few_clusters_are_refused_with_the_reason():
    X, y, z = PEOPLE.X, PEOPLE.y, PEOPLE.z
    branch = np.where(z == 1, np.arange(300) % 4, 10 + np.arange(300) % 40)
    with pytest.raises(ValueError, match=r"level '1.0' is found in 4 clusters; at least 10"):
        estimate_effects(X, y, sensitive_features=z, cluster=branch)
    with pytest.raises(ValueError, match="at least 20 are needed with cv=10"):
        estimate_effects(X, y, sensitive_features=z, cluster=np.arange(300) % 15, cv=10)
    with pytest.raises(ValueError, match="cluster has 7 rows but X has 300"):
        estimate_effects(X, y, sensitive_features=z, cluster=np.arange(7))
    with pytest.raises(ValueError, match="cluster"):
        estimate_effects(X, y, sensitive_features=z, cluster=np.full(300, np.nan))


def test_rows_that_are_taken_keep_their_clusters():
    rows = Rows.check(PEOPLE.X, PEOPLE.y, sensitive_features=PEOPLE.z, cluster=np.arange(300) // 2)
    taken = rows.take(np.array([4, 5, 9]))
    assert taken.clusters.tolist() == [0, 0, 1]
