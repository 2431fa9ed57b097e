"""Other tools read the models: skops, MLflow, ONNX, scikit-learn's pipelines and displays."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import unsway
from unsway import interop, make_synthetic, skops_trusted_types

DATA = make_synthetic(600, random_state=0)
X = pd.DataFrame(DATA.X[:, :4], columns=["age", "pay", "debt", "years"])
GAPS = X.mask(np.random.default_rng(0).random(X.shape) < 0.05)
TREES = {"params": {"max_depth": 2}, "n_jobs": 1}
MODELS = {
    "logistic": (unsway.FairLogisticRegression(), X),
    "logistic, missing": (unsway.FairLogisticRegression(), GAPS),
    "logistic, penalty": (unsway.FairLogisticRegression(unsway.DirectEffect(), strength=0.5), X),
    "xgboost": (unsway.FairXGBClassifier(**TREES, schedule=unsway.Schedule(max_steps=5)), X),
    "xgboost, parity": (unsway.FairXGBClassifier(unsway.Parity(), **TREES), X),
    "lightgbm": (unsway.FairLGBMClassifier(n_jobs=1), GAPS),
    "fair target": (unsway.FairTargetClassifier(LogisticRegression()), X),
    "fair target, trees": (unsway.FairTargetClassifier(criterion=unsway.FairTarget()), X),
    "marginalized": (unsway.MarginalizedClassifier(), X),
    "corrected": (unsway.DirectEffectCorrector(LogisticRegression()), X),
    "linear": (unsway.FairLinearRegressor(), X),
    "xgboost of numbers": (unsway.FairXGBRegressor(n_jobs=1), X),
    "lightgbm of numbers": (unsway.FairLGBMRegressor(n_jobs=1), X),
    "fair target of numbers": (unsway.FairTargetRegressor(), X),
    "marginalized numbers": (unsway.MarginalizedRegressor(LinearRegression()), X),
}
ENGINES = ("FairXGBClassifier", "FairLGBMClassifier", "FairXGBRegressor", "FairLGBMRegressor")
unweighted = pytest.mark.filterwarnings("ignore::UserWarning")


def fitted(name):
    model, table = MODELS[name]
    return model.fit(table, DATA.y, sensitive_features=DATA.z), table


# --- skops and MLflow -----------------------------------------------------------------------------


def test_every_trusted_type_exists():
    for name in skops_trusted_types():
        home, _, kind = name.rpartition(".")
        assert isinstance(getattr(import_module(home), kind), type)


@unweighted
@pytest.mark.parametrize("name", MODELS)
def test_skops_loads_a_model_with_the_public_list_of_types(name):
    skops = pytest.importorskip("skops.io")
    model, table = fitted(name)
    content = skops.dumps(model)
    loaded = skops.loads(content, trusted=skops_trusted_types())
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))


@pytest.fixture
def run_of_mlflow(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("alembic", reason="MLflow needs it to store runs in a file")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    with mlflow.start_run() as run:
        yield mlflow, run


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["logistic", "xgboost", "lightgbm", "fair target"])
def test_mlflow_logs_and_loads_a_model_as_one_of_scikit_learn(name, run_of_mlflow):
    mlflow, _ = run_of_mlflow
    model, table = fitted(name)
    logged = mlflow.sklearn.log_model(
        model, name="model", skops_trusted_types=skops_trusted_types(), pip_requirements=[]
    )
    loaded = mlflow.sklearn.load_model(logged.model_uri)
    np.testing.assert_array_equal(loaded.predict_proba(table), model.predict_proba(table))


@pytest.mark.filterwarnings("ignore")
def test_mlflow_logs_and_loads_the_booster_as_one_of_xgboost(run_of_mlflow):
    mlflow, _ = run_of_mlflow
    xgboost = pytest.importorskip("xgboost")
    model, table = fitted("xgboost")
    logged = mlflow.xgboost.log_model(model.booster_, name="model", pip_requirements=[])
    loaded = mlflow.xgboost.load_model(logged.model_uri)
    scores = loaded.predict(xgboost.DMatrix(table))
    np.testing.assert_allclose(scores, model.predict_proba(table)[:, 1], rtol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_an_audit_is_logged_with_its_report(run_of_mlflow):
    pytest.importorskip("altair", reason="the report extra is not installed")
    mlflow, run = run_of_mlflow
    p = DATA.fair_score
    found = unsway.audit(DATA.y, p, sensitive_features=DATA.z, X=X, n_bootstrap=0, cv=2)
    unsway.log_audit(found, name="spring", title="Loans")
    logged = mlflow.get_run(run.info.run_id).data
    assert logged.metrics["spring_auc"] == found.metrics["auc", "overall"].estimate
    left = found.causal.direct_effect_left
    assert logged.metrics["spring_direct_effect_left"] == left.estimate
    assert logged.tags["spring_verdict"] == found.verdict
    folder = mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path="spring")
    assert (Path(folder) / "audit.json").read_text("utf-8") == found.to_json()
    assert "Loans" in (Path(folder) / "report.html").read_text("utf-8")


def test_the_numbers_of_an_audit_without_causal_part_are_those_of_the_scores():
    found = unsway.audit(DATA.y, DATA.fair_score, sensitive_features=DATA.z, n_bootstrap=0)
    assert set(interop._numbers(found)) == {"rows", "auc", "log_loss", "brier", "score_gap"}


# --- plain models and ONNX ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["logistic", "logistic, missing", "logistic, penalty"])
def test_the_plain_logistic_regression_has_the_same_probabilities(name):
    model, table = fitted(name)
    plain = model.to_sklearn()
    np.testing.assert_allclose(plain.predict_proba(table), model.predict_proba(table), rtol=1e-12)
    np.testing.assert_array_equal(plain.predict(table), model.predict(table))


@pytest.mark.filterwarnings("ignore")
def test_the_onnx_export_of_a_logistic_regression_scores_the_same():
    skl2onnx = pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    model, table = MODELS["logistic"]
    rows = table.to_numpy(np.float32)
    model.fit(rows, DATA.y, sensitive_features=DATA.z)
    exported = skl2onnx.to_onnx(
        model.to_sklearn(), rows[:1], options={"zipmap": False}, target_opset=15
    )
    session = runtime.InferenceSession(exported.SerializeToString())
    scores = session.run(None, {"X": rows})[1][:, 1]
    np.testing.assert_allclose(scores, model.predict_proba(rows)[:, 1], rtol=0, atol=1e-5)


# --- scikit-learn's manners -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ENGINES)
def test_a_parameter_of_the_engine_is_answered_by_naming_params(kind):
    expected = rf"{kind} has no argument 'max_depth'.*{kind}\(params=\{{'max_depth': 3\}}\)"
    with pytest.raises(TypeError, match=expected):
        getattr(unsway, kind)(max_depth=3)


@pytest.mark.parametrize("kind", ENGINES)
def test_a_parameter_that_is_not_the_users_is_answered_by_its_reason(kind):
    with pytest.raises(TypeError, match=f"{kind} takes no 'n_estimators': the schedule says when"):
        getattr(unsway, kind)(n_estimators=100)


def test_a_misspelt_argument_is_answered_by_the_right_one():
    with pytest.raises(TypeError, match="no argument 'strenght'; did you mean 'strength'"):
        unsway.FairXGBClassifier(strenght=0.5)


@pytest.mark.parametrize("name", ["logistic", "xgboost", "fair target"])
def test_a_notebook_shows_a_model_as_scikit_learn_does(name):
    model, _ = fitted(name)
    assert type(model).__name__ in model._repr_mimebundle_()["text/html"]


def test_names_pass_through_a_pipeline_with_set_output():
    table = X.assign(city=np.where(X["age"] > 0, "here", "there"))
    columns = make_column_transformer(
        (StandardScaler(), list(X)), (OneHotEncoder(sparse_output=False), ["city"])
    ).set_output(transform="pandas")
    model = unsway.FairLogisticRegression()
    names = [each.partition("__")[2] for each in columns.fit_transform(table).columns]
    model.fit(columns.transform(table).set_axis(names, axis=1), DATA.y, sensitive_features=DATA.z)
    assert model.feature_names_in_.tolist() == [*X, "city_here", "city_there"]
    steps = make_pipeline(columns, unsway.FairTargetClassifier(LogisticRegression()))
    steps.fit(table, DATA.y, fairtargetclassifier__sensitive_features=DATA.z)
    assert steps[-1].feature_names_in_[0] == "standardscaler__age"


# --- summaries ------------------------------------------------------------------------------------


@unweighted
@pytest.mark.parametrize("name", MODELS)
def test_a_summary_names_the_model_and_its_strength(name):
    model, _ = fitted(name)
    found = model.summary()
    assert repr(found).startswith(type(model).__name__)
    assert found.facts.get("strength") == getattr(model, "strength_", None)
    assert found.to_dict()["model"] == type(model).__name__


def test_a_summary_lists_the_weights_largest_first():
    model, _ = fitted("logistic")
    table = model.summary().to_frame()
    assert sorted(table["column"]) == sorted(X)
    assert table["weight"].abs().is_monotonic_decreasing
    weights = dict(zip(table["column"], table["weight"], strict=True))
    assert weights["pay"] == model.coef_[0, 1]


def test_a_summary_lists_the_importances_of_trees():
    model, _ = fitted("xgboost, parity")
    table = model.summary().to_frame()
    assert table["importance"].sum() == pytest.approx(1)
    assert model.summary().facts["trees kept"] == model.best_iteration_
