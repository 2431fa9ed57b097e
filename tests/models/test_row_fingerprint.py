"""The fingerprint of the training rows: what it knows again, what it holds, and what it refuses."""

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from unsway import (
    FairLinearRegressor,
    FairLogisticRegression,
    FairTargetClassifier,
    Parity,
    audit,
    make_synthetic,
)
from unsway.models import row_fingerprint
from unsway.models.folder import load_model, save_model
from unsway.models.row_fingerprint import TRAINING_ROWS, KeptKeys, RowFingerprint


def table(n, seed=0, twins=False):
    rng = np.random.default_rng(seed)
    kinds = rng.choice(["a", "b", None], n)
    numbers = rng.integers(0, 12, n) if twins else rng.normal(size=n)
    return pd.DataFrame({"kind": kinds, "x": numbers, "flag": rng.random(n) < 0.5})


def test_rows_are_known_in_any_order_and_format():
    X = table(400)
    known = RowFingerprint.of(X)
    assert known.share_of(X.iloc[::-1]) == 1
    assert known.share_of(pl.from_pandas(X)) == 1
    assert known.share_of(pd.concat([X[:100], table(300, seed=1)])) == pytest.approx(0.25)
    assert known.share_of(table(400, seed=1)) == 0


def test_fresh_rows_that_have_twins_do_not_count():
    known = RowFingerprint.of(table(300, twins=True))
    fresh = table(3_000, seed=1, twins=True)
    assert known.repeated > 0.8  # some 72 different rows
    assert known.share_of(fresh) < 0.1 or math.isnan(known.share_of(fresh))
    X = np.random.default_rng(0).integers(0, 9, size=(4_000, 4))
    known = RowFingerprint.of(X[:2_000])
    assert 0.2 < known.repeated < 0.4
    assert known.share_of(X[2_000:]) < 0.05
    assert known.share_of(X[:2_000]) == 1


def test_where_nearly_every_row_has_a_twin_the_share_is_not_known():
    X = np.random.default_rng(0).integers(0, 2, size=(500, 2))
    assert math.isnan(RowFingerprint.of(X).share_of(X))


def test_of_many_rows_a_part_is_kept_and_the_share_still_told(monkeypatch):
    monkeypatch.setattr(row_fingerprint, "MOST_KEYS", 500)
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    known = RowFingerprint.of(X)
    assert len(known.digests) <= 500
    assert known.share_of(X) == 1
    assert known.share_of(np.random.default_rng(1).normal(size=(20_000, 3))) == 0
    half = np.vstack([X[:6_000], np.random.default_rng(2).normal(size=(6_000, 3))])
    assert known.share_of(half) == pytest.approx(0.5, abs=0.1)


def test_batches_have_the_fingerprint_of_the_whole(monkeypatch):
    monkeypatch.setattr(row_fingerprint, "MOST_KEYS", 100)
    X = np.random.default_rng(0).normal(size=(1_000, 2))
    kept, whole = KeptKeys(salt=7), KeptKeys(salt=7)
    for part in np.split(X, 10):
        kept.see(part)
    whole.see(X)
    parts, at_once = RowFingerprint.of_keys(kept), RowFingerprint.of_keys(whole)
    assert parts.to_bytes() == at_once.to_bytes()
    assert parts.n_rows == 1_000


def test_two_fingerprints_of_the_same_rows_have_nothing_in_common():
    X = table(500)
    first, second = RowFingerprint.of(X), RowFingerprint.of(X)
    assert first.salt != second.salt
    assert not np.isin(first.digests, second.digests).any()


def test_a_file_of_it_is_read_back_and_a_changed_one_refused(tmp_path):
    people = make_synthetic(400, random_state=0)
    model = FairLogisticRegression(Parity(), strength=0.5)
    model.fit(people.X, people.y, sensitive_features=people.z)
    path = save_model(model, tmp_path / "model")
    fresh = make_synthetic(400, random_state=1)
    saved = load_model(path)
    for each in (model, saved):
        assert each.share_trained_on(people.X) == 1
        assert each.share_trained_on(fresh.X) == 0
    stored = json.loads((path / TRAINING_ROWS).read_text("utf-8"))
    stored["repeated"] = 0.95
    (path / TRAINING_ROWS).write_text(json.dumps(stored))
    with pytest.raises(ValueError, match="changed since it was saved"):
        load_model(path)
    (path / TRAINING_ROWS).unlink()
    without = load_model(path)
    assert math.isnan(without.share_trained_on(people.X))
    np.testing.assert_array_equal(without.predict_proba(fresh.X), saved.predict_proba(fresh.X))


def test_every_estimator_answers():
    people = make_synthetic(400, random_state=0)
    known = {"sensitive_features": people.z}
    for model in (FairTargetClassifier(), FairLinearRegressor(Parity(), strength=0.5)):
        assert model.fit(people.X, people.y, **known).share_trained_on(people.X) == 1


def test_an_audit_of_the_training_rows_is_refused_unless_asked_for():
    people, fresh = (make_synthetic(600, random_state=seed) for seed in (0, 1))
    model = FairLogisticRegression(Parity(), strength=0.5)
    model.fit(people.X, people.y, sensitive_features=people.z)

    def judge(rows, **more):
        scores = model.predict_proba(rows.X)[:, 1]
        options = {"X": rows.X, "model": model, "n_bootstrap": 0, **more}
        return audit(rows.y, scores, sensitive_features=rows.z, **options)

    with pytest.raises(
        ValueError, match=r"trained on 100% of these rows.*allow_training_rows=True"
    ):
        judge(people)
    allowed = judge(people, allow_training_rows=True)
    assert "The model was trained on 100% of these rows" in allowed.verdict
    assert allowed.to_dict()["training_rows"] == {"share": 1.0}
    assert "was trained on" not in judge(fresh).verdict
    with pytest.raises(TypeError, match="knows its training rows"):
        judge(people, model="a name")
