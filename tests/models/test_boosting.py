"""What the boosted classifiers find, against the engines alone, by property and by known truth."""

import subprocess
import sys
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from contracts import CONTAINERS, ENGINES, each_container, each_engine, mixed_columns, rows_of
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from unsway import (
    DirectEffect,
    EqualizedOdds,
    EqualOpportunity,
    FairTarget,
    FairXGBClassifier,
    Parity,
    Schedule,
    make_synthetic,
)
from unsway.criteria import FittedCriterion
from unsway.effects import HERE
from unsway.folds import hold_out
from unsway.grouping import Grouping

# A propensity with one exact answer, whatever the order of the rows.
EXACT = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10)
SHORT = Schedule(ramp_steps=10, max_steps=25)
CRITERIA = {
    "parity": Parity(),
    "equal_opportunity": EqualOpportunity(),
    "equalized_odds": EqualizedOdds(),
    "direct_effect": DirectEffect(propensity=EXACT),
    "direct_effect_function": DirectEffect(2, 1, propensity=EXACT, norm="function"),
}
every_criterion = pytest.mark.parametrize("criterion", CRITERIA.values(), ids=CRITERIA)


@pytest.fixture(scope="module")
def data():
    return make_synthetic(1_500, random_state=0)


def coarse(data):
    """Return covariates of few distinct values: each has a bin of its own in every engine."""
    return np.round(data.X, 1)


def fit(engine, data, criterion=None, strength=0.9, X=None, **settings):
    handed = {
        name: settings.pop(name) for name in ("sample_weight", "eval_set") if name in settings
    }
    settings = {"schedule": SHORT, **settings}
    model = engine.classifier(criterion or Parity(), strength, **settings)
    X = data.X if X is None else X
    return model.fit(X, data.y, sensitive_features=data.z, **handed)


def scores(model, X):
    return model.predict_proba(X)[:, 1]


# --- against the engine alone --------------------------------------------------------------------


@each_engine
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@every_criterion
def test_no_strength_grows_the_trees_of_the_engine_itself(engine, data, criterion, weighted):
    X = coarse(data)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X)) if weighted else None
    model = fit(
        engine, data, criterion, 0.0, X, sample_weight=weights, eval_set=(X, data.y, data.z)
    )
    plain = engine.train(X, data.y, model.best_iteration_, weights=weights)
    np.testing.assert_allclose(scores(model, X), engine.scores(plain, X), rtol=0, atol=1e-5)
    assert model.best_iteration_ > 10
    assert engine.splits(model.booster_) == engine.splits(plain)


@each_engine
def test_no_strength_with_weights_bins_the_rows_as_the_engine_itself(engine):
    data = make_synthetic(3_000, random_state=0)  # more values than bins
    weights = np.random.default_rng(0).choice([0.0, 0.1, 1.0, 10.0], len(data.y))
    beside = (data.X[:500], data.y[:500], data.z[:500])
    model = fit(engine, data, strength=0.0, sample_weight=weights, eval_set=beside)
    plain = engine.train(data.X, data.y, model.best_iteration_, weights=weights)
    assert engine.splits(model.booster_) == engine.splits(plain)
    np.testing.assert_allclose(
        scores(model, data.X), engine.scores(plain, data.X), rtol=0, atol=1e-5
    )


@each_engine
def test_the_booster_is_the_engines_own_binary_model(engine, data):
    model = fit(engine, data)
    np.testing.assert_allclose(
        engine.scores(model.booster_, data.X), scores(model, data.X), rtol=1e-5
    )


SERVE = {
    "xgboost": "import xgboost as e; m = e.Booster(model_file=f); "
    "p = m.predict(e.DMatrix(X, feature_names=m.feature_names, feature_types=m.feature_types))",
    "lightgbm": "import lightgbm as e; p = e.Booster(model_file=f).predict(X, num_threads=1)",
}


@each_engine
def test_a_saved_model_is_served_without_this_library(engine, data, tmp_path):
    model = fit(engine, data)
    file, rows, found = (tmp_path / name for name in ("model.json", "X.npy", "p.npy"))
    model.booster_.save_model(file)
    np.save(rows, data.X)
    code = (
        f"import sys, numpy as np; f = {str(file)!r}; X = np.load({str(rows)!r}); "
        f"{SERVE[engine.name]}; assert 'unsway' not in sys.modules; np.save({str(found)!r}, p)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    np.testing.assert_allclose(np.load(found), scores(model, data.X), rtol=0, atol=1e-6)


# --- what strength does --------------------------------------------------------------------------


def penalties(engine, data, criterion):
    """Return the penalty on the training rows along a few strengths."""
    other = make_synthetic(800, random_state=1)
    beside = (other.X, other.y, other.z)
    fitted = criterion.fit(rows_of(data.X, data.y, data.z))
    for strength in (0.0, 0.5, 0.9, 0.975):
        model = fit(engine, data, fitted, strength, eval_set=beside, schedule=Schedule(patience=10))
        yield float(fitted.penalty(rows_of(None, data.y, data.z)).value(scores(model, data.X)))


@each_engine
@every_criterion
def test_more_strength_leaves_less_penalty_on_the_training_rows(engine, data, criterion):
    found = list(penalties(engine, data, criterion))
    for weaker, stronger in pairwise(found):
        assert stronger < 1.05 * weaker
    assert found[-1] < found[0] / 20


@each_engine
@pytest.mark.parametrize("rate", [0.3, 1.0])
@pytest.mark.parametrize("norm", ["coefficient", "function"])
@pytest.mark.parametrize("curvature", ["adaptive", "bound"])
def test_training_does_not_diverge_even_with_a_row_a_leaf(engine, data, rate, norm, curvature):
    name = {"xgboost": "eta", "lightgbm": "learning_rate"}[engine.name]
    # Two-sided, coefficients of a parabola are not all reached in so few rounds.
    criterion = DirectEffect(2, 1, norm=norm, form="interval", propensity=EXACT)
    criterion = criterion.fit(rows_of(data.X, data.y, data.z))
    schedule = Schedule(ramp_steps=10, max_steps=80, patience=80)
    free, held = (
        fit(
            engine,
            data,
            criterion,
            strength,
            params={**engine.fine, name: rate},
            schedule=schedule,
            curvature=curvature,
        )
        for strength in (0.0, 0.975)
    )
    penalty = np.array(held.evals_result_["train"]["penalty"])
    assert np.isfinite(penalty).all()
    if curvature == "bound":  # the adaptive one finds out how far it may go by going too far
        assert (penalty[51:] < 1.1 * penalty[50:-1] + 1e-5).all()
    assert penalty[-1] < free.evals_result_["train"]["penalty"][-1] / 10


# --- kinds of columns ----------------------------------------------------------------------------


@cache
def mixed(n=400):
    columns, z = mixed_columns(n)
    del columns["empty"]  # in an array of objects nothing tells what it is empty of
    age = np.array([40.0 if value is None else value for value in columns["age"]])
    nurse = np.array([value == "nurse" for value in columns["job"]])
    rng = np.random.default_rng(1)
    y = (rng.random(n) < expit((age - 40) / 10 + 2 * nurse - 1)).astype(int)
    return columns, y, z


@cache
def mixed_scores(engine_name, container):
    columns, y, z = mixed()
    table = container(columns)
    model = ENGINES[engine_name].classifier(Parity(), 0.5, schedule=SHORT)
    return scores(model.fit(table, y, sensitive_features=z), table)


@each_engine
@each_container
def test_every_container_gives_the_same_model(engine, container):
    expected = mixed_scores(engine.name, CONTAINERS["pandas"])
    np.testing.assert_array_equal(mixed_scores(engine.name, container), expected)
    assert expected.std() > 0.1


@each_engine
def test_a_categorical_column_is_split_by_its_levels(engine):
    rng = np.random.default_rng(0)
    town = rng.choice(list("abcdefgh"), 1_000)
    y = np.isin(town, list("aceg")) ^ (rng.random(1_000) < 0.1)  # every other level
    table = pd.DataFrame({"town": town, "noise": rng.standard_normal(1_000)})
    params = {"xgboost": {"max_depth": 1, "max_cat_to_onehot": 1}}.get(
        engine.name, {"num_leaves": 2, "max_cat_to_onehot": 1, "cat_smooth": 1, "cat_l2": 0}
    )
    model = engine.classifier(
        Parity(), 0.0, params=params, schedule=Schedule(max_steps=3), n_jobs=1
    )
    model.fit(table, y, sensitive_features=rng.random(1_000) < 0.5)
    assert model.score(table, y) > 0.85


@each_engine
def test_missing_numbers_are_left_to_the_engine(engine, data):
    X = data.X.copy()
    X[data.y == 1, 0] = np.nan
    model = fit(engine, data, strength=0.0, X=X)
    assert model.score(X, data.y) > 0.99


@each_engine
def test_the_units_of_labels_and_groups_do_not_matter(engine, data):
    model = engine.classifier(Parity(), schedule=SHORT, groups=Grouping(reference="f"))
    model.fit(
        data.X,
        np.where(data.y, "yes", "no"),
        sensitive_features=pd.Series(np.where(data.z, "m", "f")),
    )
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.sensitive_levels_ == ("f", "m")
    np.testing.assert_array_equal(scores(model, data.X), scores(fit(engine, data), data.X))
    assert set(model.predict(data.X)) == {"no", "yes"}


# --- names, importances, history -----------------------------------------------------------------


@each_engine
def test_the_booster_knows_the_names_of_the_columns(engine, data):
    frame = pd.DataFrame(data.X, columns=list(data.feature_names))
    model = fit(engine, data, X=frame)
    names = (
        model.booster_.feature_names
        if engine.name == "xgboost"
        else (model.booster_.feature_name())
    )
    assert names == list(data.feature_names)
    assert model.feature_names_in_.tolist() == list(data.feature_names)


@each_engine
def test_names_that_the_engine_cannot_hold_do_no_harm(engine, data):
    frame = pd.DataFrame(data.X, columns=[f"[a, b] < {k}: {{c}}" for k in range(16)])
    np.testing.assert_array_equal(
        scores(fit(engine, data, X=frame), frame), scores(fit(engine, data), data.X)
    )


@each_engine
def test_importances_are_shares_of_the_gain_and_find_the_column_that_matters(engine, data):
    X = data.X.copy()
    X[:, 3] = data.y + np.random.default_rng(0).normal(0, 0.5, len(X))
    importances = fit(engine, data, strength=0.0, X=X).feature_importances_
    assert importances.shape == (16,)
    assert importances.argmax() == 3
    assert importances.sum() == pytest.approx(1)


@each_engine
def test_the_history_has_every_round_once(engine, data):
    criterion = DirectEffect(2, 1, propensity=EXACT)
    model = fit(engine, data, criterion)
    statistics = {"alpha_1", "alpha_2", "beta_0", "beta_1"}
    assert model.evals_result_.keys() == {"train", "validation"}
    assert model.evals_result_["train"].keys() == {"penalty", *statistics}
    assert model.evals_result_["validation"].keys() == {"penalty", "log_loss", *statistics}
    for history in model.evals_result_.values():
        assert {len(series) for series in history.values()} == {model.n_rounds_}


@each_engine
def test_the_history_ends_at_the_losses_of_the_validation_rows(engine, data):
    model = fit(engine, data, eval_set=(data.X, data.y, data.z))
    history, best = model.evals_result_["validation"], model.best_iteration_ - 1
    p = scores(model, data.X)
    gap = p[data.z == 1].mean() - p[data.z == 0].mean()
    assert history["log_loss"][best] == pytest.approx(log_loss(data.y, p), rel=1e-5)
    assert history["gap"][best] == pytest.approx(gap, abs=1e-5)
    assert history["penalty"][best] == pytest.approx(gap**2, abs=1e-5)


@each_engine
def test_the_training_history_starts_before_the_first_tree(engine, data):
    history = fit(engine, data).evals_result_["train"]
    assert history["gap"][0] == pytest.approx(0, abs=1e-6)
    assert abs(history["gap"][1]) > 1e-3


@each_engine
def test_the_callback_sees_every_round(engine, data):
    seen = []
    model = fit(engine, data, callback=seen.append)
    assert [step.number for step in seen] == list(range(1, model.n_rounds_ + 1))
    assert [step.losses.utility for step in seen] == model.evals_result_["validation"]["log_loss"]


@each_engine
def test_progress_goes_to_standard_error(engine, data, capfd):
    fit(engine, data, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "round 1, pretrain at λ=" in err
    assert "round 25, " in err
    assert err.endswith("\n")


@each_engine
def test_a_quiet_fit_says_nothing(engine, data, capfd):
    fit(engine, data)
    assert capfd.readouterr() == ("", "")


# --- validation rows -----------------------------------------------------------------------------


@each_engine
def test_eval_set_brings_its_own_sensitive_features(engine, data):
    other = make_synthetic(400, random_state=1)
    one, turned = (
        fit(engine, data, eval_set=(other.X, other.y, z)).evals_result_["validation"]["gap"]
        for z in (other.z, 1 - other.z)
    )
    np.testing.assert_allclose(one, -np.array(turned[: len(one)]), rtol=0, atol=1e-6)


@each_engine
def test_eval_set_leaves_all_rows_to_train_on(engine, data):
    other = make_synthetic(400, random_state=1)
    model = fit(engine, data, strength=0.0, X=coarse(data), eval_set=(other.X, other.y, other.z))
    plain = engine.train(coarse(data), data.y, model.best_iteration_)
    np.testing.assert_allclose(
        scores(model, data.X), engine.scores(plain, data.X), rtol=0, atol=1e-5
    )


@each_engine
def test_weights_in_eval_set_count(engine, data):
    other = make_synthetic(400, random_state=1)
    weights = np.where(other.y == 1, 5.0, 1.0)
    plain, weighted = (
        fit(engine, data, eval_set=rows).evals_result_["validation"]["log_loss"][0]
        for rows in ((other.X, other.y, other.z), (other.X, other.y, other.z, weights))
    )
    assert plain != pytest.approx(weighted, rel=1e-3)


@each_engine
def test_early_stopping_keeps_the_best_round_and_not_the_last(engine, data):
    schedule = Schedule(patience=10)
    model = fit(engine, data, strength=0.0, params=engine.fine, schedule=schedule)
    losses = np.array(model.evals_result_["validation"]["log_loss"])
    assert model.n_rounds_ == model.best_iteration_ + 10
    assert losses.argmin() + 1 == model.best_iteration_
    kept = (
        model.booster_.num_boosted_rounds
        if engine.name == "xgboost"
        else (model.booster_.num_trees)
    )
    assert kept() == model.best_iteration_


@each_engine
def test_training_ends_where_the_mean_target_is_below_zero(engine):
    rng = np.random.default_rng(0)
    z = np.arange(2_000) % 2
    X = (z + 0.3 * rng.normal(size=2_000))[:, None]
    y = (rng.random(2_000) < 0.05).astype(int)
    means = np.tile([0.4, 0.0], (2_000, 1))  # targets lie .2 lower at z=0, .2 higher at z=1
    shifted = FittedCriterion(FairTarget(), means)
    model = engine.classifier(shifted, 1.0, schedule=Schedule(max_steps=1_000))
    model.fit(X, y, sensitive_features=z)
    assert model.n_rounds_ < 500
    assert model.decision_function(X).min() > -100


@each_engine
def test_rounds_that_find_no_split_do_no_harm(engine):
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0], [1.0]], 100, axis=0)  # one split is all there is
    y = rng.permutation(200) % 2
    model = engine.classifier(Parity(), schedule=Schedule(ramp_steps=5, max_steps=20))
    model.fit(X, y, sensitive_features=rng.permutation(200) % 2)
    assert np.ptp(scores(model, X)) < 0.2


# --- what must not matter ------------------------------------------------------------------------


@each_engine
@pytest.mark.parametrize("sampling", [{}, {"subsample": 0.5, "bagging_freq": 1}])
def test_one_seed_gives_one_model(engine, data, sampling):
    if engine.name == "xgboost":
        sampling.pop("bagging_freq", None)
    settings = {"params": {**engine.quick, **sampling}, "random_state": 3}
    one, other = (scores(fit(engine, data, **settings), data.X) for _ in range(2))
    np.testing.assert_array_equal(one, other)


@each_engine
def test_another_seed_gives_another_hold_out(engine, data):
    one, other = (fit(engine, data, random_state=seed) for seed in (0, 1))
    assert np.abs(scores(one, data.X) - scores(other, data.X)).max() > 0.01


@each_engine
@every_criterion
def test_the_order_of_the_rows_does_not_matter(engine, data, criterion):
    order = np.random.default_rng(0).permutation(len(data.y))
    X, schedule = coarse(data), Schedule(ramp_steps=3, max_steps=8)
    one = fit(engine, data, criterion, X=X, schedule=schedule)
    other = engine.classifier(criterion, 0.9, schedule=schedule)
    other.fit(X[order], data.y[order], sensitive_features=data.z[order])
    np.testing.assert_allclose(scores(one, X), scores(other, X), rtol=0, atol=1e-4)


@each_engine
def test_one_thread_and_two_agree(engine, data):
    schedule = Schedule(ramp_steps=3, max_steps=8)
    one, two = (fit(engine, data, schedule=schedule, n_jobs=threads) for threads in (1, 2))
    np.testing.assert_allclose(scores(one, data.X), scores(two, data.X), rtol=0, atol=1e-4)


@each_engine
def test_a_weight_of_two_is_the_row_twice(engine, data):
    weights = np.random.default_rng(0).integers(1, 3, len(data.y))
    X, rows = coarse(data), np.repeat(np.arange(len(weights)), weights)
    eval_set = (X, data.y, data.z)
    params = {**engine.quick, **({"min_data_in_leaf": 1} if engine.name == "lightgbm" else {})}
    settings = {"params": params, "schedule": Schedule(ramp_steps=3, max_steps=8)}
    weighted = fit(engine, data, X=X, sample_weight=weights, eval_set=eval_set, **settings)
    repeated = engine.classifier(Parity(), 0.9, **settings)
    repeated.fit(X[rows], data.y[rows], sensitive_features=data.z[rows], eval_set=eval_set)
    np.testing.assert_allclose(scores(weighted, X), scores(repeated, X), rtol=0, atol=1e-4)


def test_a_weight_of_zero_is_no_row_at_all_for_xgboost(data):
    engine = pytest.importorskip("xgboost") and ENGINES["xgboost"]
    weights, beside = np.arange(len(data.y)) % 3, (data.X, data.y, data.z)
    rows = np.repeat(np.arange(len(weights)), weights)
    settings = {"schedule": Schedule(ramp_steps=3, max_steps=8), "params": engine.fine}
    X = coarse(data)
    weighted = fit(engine, data, X=X, sample_weight=weights, eval_set=beside, **settings)
    repeated = engine.classifier(Parity(), 0.9, **settings)
    repeated.fit(X[rows], data.y[rows], sensitive_features=data.z[rows], eval_set=beside)
    np.testing.assert_allclose(scores(weighted, X), scores(repeated, X), rtol=0, atol=1e-5)


@each_engine
def test_a_fitted_criterion_gives_the_same_model_as_the_criterion(engine, data):
    criterion, others = CRITERIA["direct_effect"], make_synthetic(500, random_state=3)
    fitted = criterion.fit(rows_of(data.X, data.y, data.z))
    one, other = (
        engine.classifier(each, schedule=SHORT).fit(
            data.X, data.y, sensitive_features=data.z, eval_set=(others.X, others.y, others.z)
        )
        for each in (fitted, criterion)
    )
    np.testing.assert_array_equal(scores(one, data.X), scores(other, data.X))


@each_engine
def test_rows_held_out_have_no_say_in_the_criterion(engine, data):
    seen = []

    class Watching(Parity):
        def fit(self, rows, *, fitting=HERE):
            seen.append(len(rows))
            return super().fit(rows, fitting=fitting)

    fit(engine, data, Watching())
    held = hold_out(data.X, 2 * data.z + data.y, 0.33)
    assert seen == [(~held).sum()]


@each_engine
def test_exact_curvature_is_another_model(engine, data):
    one, other = (fit(engine, data, curvature=name) for name in ("bound", "exact"))
    assert np.abs(scores(one, data.X) - scores(other, data.X)).max() > 0.01


# --- what reads the engine's own model -----------------------------------------------------------


@pytest.mark.slow
@each_engine
@pytest.mark.filterwarnings("ignore")
def test_shap_explains_the_booster(engine, data):
    shap = pytest.importorskip("shap")
    model = fit(engine, data)
    explainer = shap.TreeExplainer(model.booster_)
    values = np.asarray(explainer.shap_values(data.X[:50]))
    margin = values.sum(axis=-1) + np.ravel(explainer.expected_value)[-1]
    np.testing.assert_allclose(margin, model.decision_function(data.X[:50]), atol=1e-4)


@pytest.mark.slow
@each_engine
@pytest.mark.filterwarnings("ignore")
def test_the_onnx_export_scores_the_same(engine, data):
    onnxmltools = pytest.importorskip("onnxmltools")
    runtime = pytest.importorskip("onnxruntime")
    from onnxmltools.convert.common.data_types import FloatTensorType

    model = fit(engine, data)
    convert = getattr(onnxmltools, f"convert_{engine.name}")
    types = [("X", FloatTensorType([None, 16]))]
    options = {"zipmap": False} if engine.name == "lightgbm" else {}
    exported = convert(model.booster_, initial_types=types, target_opset=15, **options)
    session = runtime.InferenceSession(exported.SerializeToString())
    found = session.run(None, {"X": data.X.astype(np.float32)})[1]
    expected = scores(model, data.X.astype(np.float32))
    np.testing.assert_allclose(np.asarray(found)[:, 1], expected, rtol=0, atol=1e-5)


def test_xgboost_is_told_types_only_where_there_are_categories():
    data = make_synthetic(300, random_state=0)
    X, y, z = data.X, data.y, data.z
    for column, types in ((X[:, 1], None), (np.where(X[:, 1] > 0, "a", "b"), ["q", "c"])):
        table = pd.DataFrame({"x": X[:, 0], "kind": column})
        model = FairXGBClassifier(strength=0.0, n_jobs=1).fit(table, y, sensitive_features=z)
        assert model.booster_.feature_types == types
