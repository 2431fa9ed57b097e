"""Counts and amounts on the command line: models, predictions and effects."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from unsway import FairLinearRegressor, FairXGBRegressor, Frontier
from unsway.cli.app import app
from unsway.cli.number_target import propose_loss
from unsway.groups import Grouping
from unsway.models.features import features_of_table, one_hot
from unsway.models.folder import load_model

pytest.importorskip("xgboost")
pytest.importorskip("pyarrow")

N = 600
ROLES = ["--sensitive", "sex=man"]


def policies(seed=0):
    rng = np.random.default_rng(seed)
    man = rng.random(N) < 0.5
    power = np.round(rng.normal(0.3 * man, 1), 3)
    years = np.round(rng.uniform(0.2, 1, N), 3)
    claims = rng.poisson(years * np.exp(-0.5 + 0.3 * power + 0.4 * man))
    return pd.DataFrame(
        {
            "power": power,
            "use": rng.choice(["private", "taxi"], N),
            "years": years,
            "sex": np.where(man, "man", "woman"),
            "claims": claims,
            "amount": np.round(claims * rng.gamma(2, 500, N), 2),
            "cost": np.round(np.exp(0.2 * power) * rng.gamma(2, 500, N) + 1, 2),
            "change": np.round(rng.normal(0.2 * man, 1), 3),
        }
    )


OUTCOMES = ["claims", "amount", "cost", "change"]


def invoke(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


def run(*arguments):
    result = invoke(*arguments)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def complaint(*arguments):
    result = invoke(*arguments)
    assert result.exit_code != 0
    return str(result.exception) if not isinstance(result.exception, SystemExit) else result.output


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("numbers") / "policies.csv"
    policies().to_csv(path, index=False)
    return path


def roles(target, *more):
    others = ",".join(each for each in OUTCOMES if each != target)
    return ["--target", target, *ROLES, "--drop", others, *more]


FREQUENCY = roles("claims", "--loss", "poisson", "--exposure", "years")


# --- fit and predict ------------------------------------------------------------------------------


def test_predictions_of_a_file_are_those_of_the_model_in_memory(table, tmp_path):
    run("fit", table, *FREQUENCY, "--threads", "1", "-o", tmp_path / "model")
    out = tmp_path / "rates.csv"
    text = run("predict", tmp_path / "model", table, "-o", out)
    assert f"{N} predictions" in text
    data = policies()
    model = FairXGBRegressor(loss="poisson", n_jobs=1, groups=Grouping(reference="woman"))
    X = data[["power", "use"]]
    model.fit(X, data["claims"], sensitive_features=data["sex"], exposure=data["years"])
    rates = pd.read_csv(out)["score"]
    np.testing.assert_allclose(rates, model.predict(X), rtol=1e-5)
    run("predict", tmp_path / "model", table, "--exposure", "years", "-o", out)
    np.testing.assert_allclose(pd.read_csv(out)["score"], rates * data["years"], rtol=1e-9)


def test_a_linear_model_of_a_file_is_that_in_memory(table, tmp_path):
    flags = [*FREQUENCY, "--strength", "0"]  # above 0 the table itself teaches the nuisances
    run("fit", table, *flags, "--engine", "linear", "-o", tmp_path / "model")
    saved, data = load_model(tmp_path / "model"), policies()
    X = data[["power", "use"]]
    matrix, _ = one_hot(X, features_of_table(X))
    model = FairLinearRegressor(loss="poisson", strength=0.0, groups=Grouping(reference="woman"))
    model.fit(matrix, data["claims"], sensitive_features=data["sex"], exposure=data["years"])
    np.testing.assert_allclose(saved.predict(X), model.predict(matrix), rtol=1e-6)
    total = saved.predict(X, data["years"]).sum()
    assert total == pytest.approx(data["claims"].sum(), rel=1e-6)


def test_the_card_says_loss_exposure_and_figures(table, tmp_path):
    text = run("fit", table, *FREQUENCY, "--threads", "1", "-o", tmp_path / "model")
    for part in ("mean of claims per years", "mean poisson deviance", "Gini coefficient",
                 "actual over expected", "years", "to keep the target's total"):  # fmt: skip
        assert part in text
    card = load_model(tmp_path / "model").card
    assert card["roles"]["exposure"] == "years"
    assert card["outcome"]["per_exposure"] is True
    figures = card["training"]["metrics"]
    assert sum(part["exposure"] for part in figures.values()) == pytest.approx(
        policies()["years"].sum()
    )
    assert {"deviance", "gini", "fair_loss", "score_gap"} <= set(figures["train"])
    assert "| exposure | years |" in (tmp_path / "model" / "card.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("target", "flags"),
    [
        ("amount", ["--loss", "tweedie", "--power", "1.6", "--exposure", "years"]),
        ("cost", ["--loss", "gamma", "--drop", "years"]),
        ("change", ["--loss", "squared_error", "--drop", "years"]),
    ],
)
@pytest.mark.parametrize("engine", ["xgboost", "linear", "lightgbm"])
def test_every_loss_and_engine_makes_the_round_trip(target, flags, engine, table, tmp_path):
    if engine == "lightgbm":
        pytest.importorskip("lightgbm")
    model = tmp_path / "model"
    run("fit", table, *roles(target, *flags), "--engine", engine, "-o", model, "--quiet")
    run("predict", model, table, "-o", tmp_path / "p.csv", "--quiet")
    saved = load_model(model)
    assert saved.loss.name == flags[1]
    predictions = pd.read_csv(tmp_path / "p.csv")["score"]
    assert predictions.std() > 0
    assert abs(predictions.mean()) < 5_000


def test_strength_0_and_a_penalty_of_numbers(table, tmp_path):
    flags = roles("change", "--loss", "squared_error", "--drop", "years")
    text = run("fit", table, *flags, "--strength", "0", "-o", tmp_path / "a")
    assert "as training left it" in text
    run("fit", table, *flags, "--criterion", "parity", "--strength", "0.9", "-o", tmp_path / "b")
    card = load_model(tmp_path / "b").card
    assert "penalty" in card["training"]["metrics"]["train"]


# --- effects --------------------------------------------------------------------------------------


def test_effects_are_per_unit_of_exposure_with_ratios(table, tmp_path):
    text = run("effects", table, *FREQUENCY, "--json", tmp_path / "e.json")
    assert "mean of claims per years" in text
    assert "The same as ratios" in text
    found = json.loads((tmp_path / "e.json").read_text())
    data = policies()
    rates = data.groupby("sex")["claims"].sum() / data.groupby("sex")["years"].sum()
    assert found["total"]["estimate"] == pytest.approx(rates["man"] - rates["woman"])
    assert found["ratios"]["total"]["estimate"] == pytest.approx(rates["man"] / rates["woman"])
    assert found["settings"]["per"] == "years"
    assert found["sensitivity"] is None


def test_effects_on_numbers_without_a_loss_are_as_before(table, tmp_path):
    flags = roles("change", "--drop", "years")
    run("effects", table, *flags, "--quiet", "--json", tmp_path / "a.json")
    found = json.loads((tmp_path / "a.json").read_text())
    assert "ratios" not in found
    assert "loss" not in found["settings"]
    assert found["sensitivity"] is not None


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([0, 1, 4], "if they are counts, add --loss poisson"),
        ([0, 1.5, 4000], "amounts that may be zero, add --loss tweedie"),
        ([1.5, 4000], "amounts above zero, add --loss gamma"),
        ([-2, 1.5], "either sign, add --loss squared_error"),
        (np.arange(50_000, 50_100), "amounts above zero"),
    ],
)
def test_a_target_of_numbers_proposes_a_loss(values, words):
    assert words in propose_loss(np.array(values, dtype=float), "y")


@pytest.mark.parametrize("command", [["fit", "-o", "x"], ["frontier", "-o", "x"]])
def test_the_loss_is_never_guessed(command, table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name, *output = command
    said = complaint(name, table, *roles("claims", "--drop", "years"), *output)
    assert "add --loss poisson" in said
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (roles("claims", "--exposure", "years"), "say which with --loss"),
        (roles("claims", "--loss", "poisson", "--positive", "1"), "--positive for a label"),
        (roles("claims", "--loss", "poisson", "--power", "1.5"), "--power belongs to"),
        (roles("amount", "--loss", "tweedie", "--power", "2"), "above 1 and below 2"),
        (roles("amount", "--loss", "gamma"), "'amount'"),
        (roles("change", "--loss", "poisson"), "'change'"),
        (roles("use", "--loss", "poisson"), "holds words"),
        (roles("claims", "--loss", "poisson", "--exposure", "change"), "zero or negative"),
        (roles("claims", "--loss", "poisson", "--exposure", "use"), "holds words"),
        (roles("claims", "--loss", "poisson", "--exposure", "claims"), "another flag"),
        (roles("claims", "--loss", "poisson", "--exposure", "yaers"), "did you mean 'years'"),
        (roles("claims", "--loss", "poisson", "--engine", "logistic"), "--engine linear"),
        (roles("claims", "--loss", "poisson", "--low-memory"), "not with --loss"),
        (roles("claims", "--positive", "1", "--engine", "linear"), "--engine logistic"),
        (roles("claims", "--loss", "poisson", "--engine", "linear", "--param", "eta=1"), "'eta'"),
        (roles("cost", "--loss", "gamma", "--criterion", "parity"), "FairTarget"),
    ],
)
def test_what_does_not_go_together_is_refused(flags, words, table, tmp_path):
    said = complaint("fit", table, *flags, "-o", tmp_path / "model")
    assert words in said
    assert not (tmp_path / "model").exists()


# --- frontier -------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["xgboost", "linear"])
def test_a_strength_is_chosen_and_its_model_is_that_of_fit(engine, table, tmp_path):
    flags = [*FREQUENCY, "--engine", engine, "--test-fraction", "0"]
    store = tmp_path / "store"
    text = run("frontier", table, *flags, "--strengths", "0,1", "-o", store)
    assert "deviance" in text
    blind, fair = Frontier.load(store).points
    assert fair.value("score_gap", "validation") < blind.value("score_gap", "validation")
    card = load_model(store / "chosen").card
    assert card["outcome"]["per_exposure"] is True
    if engine == "xgboost":
        run("fit", table, *flags[:-2], "--strength", "1", "--quiet", "-o", tmp_path / "m")
        X = policies()[["power", "use"]]
        np.testing.assert_allclose(
            Frontier.load(store).model(1.0).predict(X), load_model(tmp_path / "m").predict(X)
        )


def test_the_page_of_a_frontier_is_in_the_units_of_the_target(table, tmp_path):
    pytest.importorskip("vl_convert")
    pytest.importorskip("altair")
    run("frontier", table, *FREQUENCY, "--engine", "linear", "--strengths", "0,0.5,1", "--quiet",
        "-o", tmp_path / "store")  # fmt: skip
    page = (tmp_path / "store" / "frontier.html").read_text("utf-8")
    assert "claims per years" in page
    assert "share of the deviance explained" in page
    assert "decisions are right" not in page


def test_a_favourable_label_is_not_for_numbers(table, tmp_path):
    said = complaint("frontier", table, *FREQUENCY, "--favourable", "0", "-o", tmp_path / "store")
    assert "is for a label" in said


def test_exposure_is_not_for_a_classifier(table, tmp_path):
    run("fit", table, *roles("claims", "--positive", "0", "--strength", "0", "--quiet"),
        "-o", tmp_path / "model")  # fmt: skip
    said = complaint(
        "predict", tmp_path / "model", table, "--exposure", "years", "-o", tmp_path / "p.csv"
    )
    assert "classifier" in said


# --- audit ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def models(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, strength in (("fair", "1"), ("blind", "0")):
        run("fit", table, *FREQUENCY, "--engine", "linear", "--strength", strength, "--quiet",
            "-o", folder / name)  # fmt: skip
    policies(1).to_csv(folder / "fresh.csv", index=False)
    return folder


def test_an_audit_of_a_model_folder_with_its_report(models, tmp_path):
    pytest.importorskip("altair")
    outputs = [
        "-o",
        tmp_path / "r.html",
        "--json",
        tmp_path / "r.json",
        "--csv",
        tmp_path / "r.csv",
    ]
    text = run("audit", models / "fresh.csv", *FREQUENCY, "--scores", models / "fair", "--baseline",
               models / "blind", "--bootstrap", "10", *outputs)  # fmt: skip
    assert "deviance_explained" in text
    assert "claims per years" in text
    stored = json.loads((tmp_path / "r.json").read_text())
    data = policies(1)
    rates = load_model(models / "fair").predict(data[["power", "use"]])
    wanted = data["claims"].sum() / (rates * data["years"]).sum()
    kept = {(row["metric"], row["group"]): row["estimate"] for row in stored["metrics"]}
    assert kept["actual_over_expected", "overall"] == pytest.approx(wanted)
    assert stored["double_lift"] is not None
    assert "claims per years" in (tmp_path / "r.html").read_text("utf-8")
    assert pd.read_csv(tmp_path / "r.csv")["metric"].nunique() > 10


def test_an_audit_of_a_column_without_effects(models, tmp_path):
    data = policies(2).assign(rate=1.0)
    data.to_csv(tmp_path / "t.csv", index=False)
    text = run("audit", tmp_path / "t.csv", *FREQUENCY, "--scores", "column:rate", "--no-effects",
               "--bootstrap", "0")  # fmt: skip
    assert "not judged" in text


@pytest.mark.parametrize(
    "flags", [["--threshold", "0.3"], ["--selection-rate", "0.2"], ["--favourable", "0"]]
)
def test_decisions_are_for_labels(flags, models):
    said = complaint("audit", models / "fresh.csv", *FREQUENCY, "--scores", models / "fair", *flags)
    assert "have no decisions" in said


def test_training_rows_are_refused_here_too(table, models):
    said = complaint("audit", table, *FREQUENCY, "--scores", models / "fair")
    assert "trained on" in said
