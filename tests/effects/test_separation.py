"""Covariates that tell z are refused by name, by everything that rests on a propensity."""

import importlib.util

import numpy as np
import pandas as pd
import pytest
from contracts import rows_of
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from spread import in_threads

from unsway import (
    DirectEffect,
    FairLGBMClassifier,
    FairLogisticRegression,
    FairTarget,
    FairTargetClassifier,
    FairXGBClassifier,
    OverlapWarning,
    audit,
    direct_effect_left,
    effect_curve,
    estimate_effects,
    make_world,
)
from unsway.effects import Propensity, refuse_separating_columns
from unsway.effects.separation import separation
from unsway.grouping import Grouping
from unsway.tables import columns

BOOSTERS = {"xgboost": FairXGBClassifier, "lightgbm": FairLGBMClassifier}
NEAR_COPIES = {"rounding": 1e-9, "noise": 0.01}


def people(n_rows=1_000, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, n_rows)
    X = pd.DataFrame({"age": rng.normal(size=n_rows) + z, "pay": rng.normal(size=n_rows)})
    y = (rng.random(n_rows) < 1 / (1 + np.exp(-X["age"] - z))).astype(int).to_numpy()
    return X, y, z


def with_near_copy(noise, **options):
    X, y, z = people(**options)
    rng = np.random.default_rng(1)
    return X.assign(code=z + noise * rng.normal(size=len(z))), y, z


def fitted_by(model):
    return lambda X, y, z: model.fit(X, y, sensitive_features=z)


USES = {
    "logistic": fitted_by(FairLogisticRegression()),
    "logistic, penalty": fitted_by(FairLogisticRegression(DirectEffect())),
    "any classifier": fitted_by(FairTargetClassifier(LogisticRegression())),
    "effects": lambda X, y, z: estimate_effects(X, y, sensitive_features=z),
    "curve": lambda X, y, z: effect_curve(X, y, sensitive_features=z),
    "left": lambda X, y, z: direct_effect_left(
        y, np.linspace(0, 1, len(y)), sensitive_features=z, X=X
    ),
    "audit": lambda X, y, z: audit(y, np.linspace(0.1, 0.9, len(y)), sensitive_features=z, X=X),
    "one fold": lambda X, y, z: FairTarget(
        outcome_model=LogisticRegression(), propensity_model=LogisticRegression(C=1e6), cv=1
    ).fit(rows_of(X, y, z)),
    **{
        name: fitted_by(model(params={"verbosity": 0}))
        for name, model in BOOSTERS.items()
        if importlib.util.find_spec(name)
    },
}


@pytest.mark.parametrize("noise", NEAR_COPIES.values(), ids=NEAR_COPIES)
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_near_copy_of_z_is_refused_by_name(use, noise):
    with pytest.raises(ValueError, match=r"'code' predicts it almost alone.*Drop") as refused:
        use(*with_near_copy(noise))
    assert "'age'" not in str(refused.value)


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_columns_that_add_up_to_z_are_refused(use):
    X, y, z = people(2_000)
    noise = np.random.default_rng(1).normal(size=(2, len(z)))
    X = X.assign(first=noise[0], second=noise[1], third=z - noise.sum(axis=0))
    with pytest.raises(ValueError, match=r"together, .*'third'.* most of all") as refused:
        use(X, y, z)
    named = [name for name in X if repr(name) in str(refused.value)]
    assert named == ["first", "second", "third"]


@pytest.mark.parametrize(
    "use", [USES["effects"], lambda X, y, z: DirectEffect().fit(rows_of(X, y, z))]
)
def test_a_copy_of_z_that_is_missing_in_some_rows_is_refused(use):
    X, y, z = people(5_000)
    rng = np.random.default_rng(1)
    code = z + 0.01 * rng.normal(size=len(z))
    X["code"] = np.where(rng.random(len(z)) < 0.07, np.nan, code)
    with pytest.raises(ValueError, match=r"9\d% of the rows of a level.*'code' predicts it almost"):
        use(X[["code", "pay"]], y, z)


def test_columns_that_predict_z_by_their_product_alone_are_named_by_their_own_areas():
    rng = np.random.default_rng(0)
    signs, z = rng.choice([-1.0, 1.0], (2, 2_000)), np.zeros(2_000)
    z[signs.prod(axis=0) > 0] = 1
    X = pd.DataFrame({"one": signs[0], "two": signs[1]})
    b = np.where(z == 1, 0.999, 0.001)
    with pytest.raises(ValueError, match=r"together, '(one|two)' and '(one|two)' most of all"):
        refuse_separating_columns(b, z, None, columns(X))


def test_a_rare_level_that_nothing_predicts_is_not_refused():
    z = (np.arange(2_000) % 400 == 0).astype(float)
    refuse_separating_columns(np.full(2_000, 0.0025), z, None, columns(np.zeros((2_000, 1))))


# --- the option that goes on ---------------------------------------------------------------------


def test_a_stated_option_trains_all_the_same_and_warns():
    X, y, z = with_near_copy(0.2, n_rows=3_000)
    with pytest.raises(ValueError, match=r"'code'.*; allow_separation=True goes on with a warning"):
        FairLogisticRegression(DirectEffect()).fit(X, y, sensitive_features=z)
    allowed = DirectEffect(allow_separation=True, max_extreme_share=1)
    with pytest.warns(OverlapWarning, match="'code' predicts it almost alone.*extrapolated"):
        model = FairLogisticRegression(allowed).fit(X, y, sensitive_features=z)
    assert np.isfinite(model.coef_).all()


def test_the_option_reaches_a_propensity_of_the_user():
    X, y, z = with_near_copy(0.2, n_rows=3_000)
    stated = Propensity(LogisticRegression())
    criterion = DirectEffect(propensity=stated, allow_separation=True, max_extreme_share=1)
    with pytest.warns(OverlapWarning, match="'code' predicts it"):
        criterion.fit(rows_of(X, y, z))
    assert not stated.allow_separation
    with pytest.warns(OverlapWarning, match="'code' predicts it"):
        DirectEffect(propensity=stated.set_params(allow_separation=True), max_extreme_share=1).fit(
            rows_of(X, y, z)
        )


def test_the_option_does_not_invent_a_penalty_for_groups_without_any_overlap():
    X, y, z = with_near_copy(0.01)
    criterion = DirectEffect(allow_separation=True, max_extreme_share=1)
    with (
        pytest.warns(OverlapWarning, match="'code' predicts it"),
        pytest.raises(ValueError, match="the groups do not overlap"),
    ):
        FairLogisticRegression(criterion).fit(X, y, sensitive_features=z)


def test_effects_are_estimated_all_the_same_with_the_option():
    X, y, z = with_near_copy(0.1)
    with pytest.raises(ValueError, match=r"'code'.*; allow_separation=True goes on with a warning"):
        estimate_effects(X, y, sensitive_features=z)
    options = {"cv": 2, "max_extreme_share": 1, "allow_separation": True}
    with pytest.warns(OverlapWarning, match="'code' predicts it almost alone.*extrapolated"):
        found = estimate_effects(X, y, sensitive_features=z, **options)
    assert np.isfinite([each.estimate for each in found.estimates().values()]).all()


def test_the_option_is_without_effect_where_the_groups_overlap():
    X, y, z = people()
    criterion = DirectEffect(allow_separation=True)
    found = criterion.fit(rows_of(X, y, z)).row_values
    assert np.array_equal(found, DirectEffect().fit(rows_of(X, y, z)).row_values)


def test_a_caller_without_the_option_does_not_mention_it():
    X, _, z = with_near_copy(0.01)
    b = np.where(z == 1, 0.999, 0.001)
    with pytest.raises(ValueError, match="'code'") as refused:
        refuse_separating_columns(b, z, None, columns(X))
    assert "allow_separation" not in str(refused.value)


def test_a_category_and_a_missing_value_that_tell_z_are_named():
    X, y, z = people()
    rng = np.random.default_rng(1)
    X["school"] = np.where(z == 1, "boys", "girls") + rng.choice(list("abc"), len(z))
    X["service"] = np.where(z == 1, rng.normal(size=len(z)), np.nan)
    with pytest.raises(ValueError, match="'school' and 'service' predict it almost alone"):
        FairLogisticRegression(FairTarget().fit(rows_of(X, y, z)))


def test_the_refusal_holds_no_value_of_z_or_of_a_column():
    X, y, z = people()
    X["school"] = np.where(z == 1, "secret", "hidden") + np.array(list("ab"))[np.arange(len(z)) % 2]
    with pytest.raises(ValueError, match="'school'") as refused:
        estimate_effects(
            X, y, sensitive_features=np.where(z == 1, "M", "F"), groups=Grouping(reference="F")
        )
    assert not any(word in str(refused.value) for word in ("secret", "hidden", "'M'", "'F'"))


def test_rows_without_weight_have_no_say():
    X, y, z = with_near_copy(0.01)
    weights = np.where(np.arange(len(z)) < 500, 1.0, 0.0)
    X.loc[500:, "code"] = 1 - X.loc[500:, "code"]
    with pytest.raises(ValueError, match="'code' predicts it"):
        estimate_effects(X, y, sensitive_features=z, sample_weight=weights)


@pytest.mark.filterwarnings("ignore::unsway.OverlapWarning")
@pytest.mark.parametrize("n_rows", [1_000, 20_000])
@pytest.mark.parametrize("seed", range(3))
def test_poor_overlap_is_not_refused(n_rows, seed):
    world = make_world("poor_overlap", n_rows, random_state=seed)
    rows = rows_of(world.X, world.y, world.z)
    assert FairTarget().fit(rows).n_rows == n_rows
    assert DirectEffect().fit(rows).n_rows == n_rows


@pytest.mark.filterwarnings("ignore::unsway.OverlapWarning")
def test_a_propensity_that_learnt_the_rows_by_heart_is_no_separation():
    X, y, z = people()
    forest = RandomForestClassifier(20, random_state=0)
    assert roc_auc_score(z, Propensity(forest).fit_predict(X, z.astype(float))) > 0.999
    assert DirectEffect(propensity=forest).fit(rows_of(X, y, z)).n_rows == len(z)


def test_the_separation_is_the_weighted_area_under_the_roc_curve():
    rng = np.random.default_rng(0)
    z, weights = rng.integers(0, 2, 500).astype(float), rng.integers(0, 3, 500).astype(float)
    scores = 1 / (1 + np.exp(-rng.normal(size=500) * 3 - 4 * z + 2))
    exact = roc_auc_score(z, scores, sample_weight=weights)
    assert separation(scores, z, weights) == pytest.approx(exact, abs=1e-3)


def in_sums(X, z):
    noise = np.random.default_rng(1).normal(size=(2, len(z)))
    return X.assign(first=noise[0], second=noise[1], third=z - noise.sum(axis=0))


@pytest.mark.parametrize(
    ("table", "named"),
    [
        (lambda X, z: X.assign(code=z + 0.01 * np.sin(np.arange(1_000))), "'code' predicts it alm"),
        (in_sums, "together, '.*' most of all"),
    ],
    ids=["one column", "several"],
)
def test_workers_refuse_what_one_refuses_and_name_the_same_columns(table, named):
    X, _, z = people()
    X, b = table(X, z), np.where(z == 1, 0.99, 0.01)
    cuts = (slice(0, 300), slice(300, 300), slice(300, 1_000))

    def work(rank, reduce):
        here = X[cuts[rank]].reset_index(drop=True)
        with pytest.raises(ValueError, match=named) as refused:
            refuse_separating_columns(
                b[cuts[rank]], z[cuts[rank]], None, columns(here), reduce=reduce
            )
        return str(refused.value)

    assert len(set(in_threads(3, work))) == 1
