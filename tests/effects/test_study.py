"""The effects of z together with what says how far to trust them."""

import numpy as np
import pytest

from unsway import estimate_effects
from unsway.effects.study import Study, effects_of, effects_on
from unsway.grouping import Grouping
from unsway.outcome import Outcome
from unsway.rows import Rows

N = 400
OPTIONS = {"cv": 2, "clip": 0.01, "random_state": 3, "propensity_model": None}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    z = rng.random(N) < 1 / (1 + np.exp(-X[:, 0]))
    y = (X.sum(axis=1) + z + rng.normal(size=N) > 0).astype(int)
    given = {"sensitive_features": np.where(z, "b", "a"), "groups": Grouping(reference="a")}
    return Rows.check(X, y, read_outcome=Outcome.labels_or_numbers, **given)


@pytest.fixture(scope="module")
def effects(rows):
    return effects_of(rows, **OPTIONS)


def test_the_effects_are_those_of_the_public_function(rows, effects):
    alone = estimate_effects(rows.X, rows.y, sensitive_features=rows.z, **OPTIONS)
    assert effects.estimates() == alone.estimates()
    assert effects.levels == effects.overlap.levels == ("a", "b")


def test_a_study_holds_every_check_of_its_effects(rows, effects):
    found = Study.of(rows, effects)
    assert {each.name for each in found.verdict.findings} >= {"balance", "mean field"}
    assert found.curve.method == "doubly_robust"
    assert found.sensitivity.alpha == pytest.approx(0.05)
    assert found.balance.levels == ("a", "b")
    assert found.missing == {}


def test_a_notebook_shows_every_table_of_a_study_with_a_line_per_row_of_its_frame(rows, effects):
    found = Study.of(rows, effects)
    for each in (effects, effects.overlap, found.balance, found.mean_field, found.curve):
        page, frame = each._repr_html_(), each.to_frame("pyarrow")
        assert page.count("<th") == frame.num_columns
        assert page.count("<tr>") == 1 + min(frame.num_rows, 61)  # 60 rows and "… more rows"


def test_what_the_rows_do_not_tell_is_missing_with_its_reason(rows, effects):
    wide = np.random.default_rng(1).normal(size=(N, N + 1))
    found = Study.of(rows.with_table(wide), effects)
    assert found.sensitivity is None
    assert "fewer columns" in found.missing["sensitivity analysis"]


def test_effects_on_another_outcome_keep_the_propensities(rows, effects):
    scores = Outcome.labels_or_numbers(0.5 + 0.1 * rows.X[:, 0], N)
    found = effects_on(scores, rows, effects.nuisances, outcome_model=None, **OPTIONS)
    np.testing.assert_array_equal(found.nuisances.propensity, effects.nuisances.propensity)
    assert found.direct_overlap.estimate == pytest.approx(0, abs=0.02)


def test_the_same_outcome_again_has_the_same_effects(rows, effects):
    found = effects_on(rows.outcome, rows, effects.nuisances, outcome_model=None, **OPTIONS)
    assert found.estimates() == effects.estimates()
