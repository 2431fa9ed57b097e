"""``unsway fit`` on sensitive columns with several levels, bands and comparisons."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner

from unsway.cli.app import app
from unsway.cli.sensitive import split_sensitive

pytest.importorskip("xgboost")

N = 1_200
ROLES = ["--target", "hired", "--drop", "wave"]
NO_RACE = "--drop", "race"


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    rng = np.random.default_rng(0)
    race = rng.choice(["White", "Black", "Asian", "Other"], N, p=[0.54, 0.2, 0.14, 0.12])
    skill = rng.normal(size=N) + (race == "Asian")
    odds = skill - 0.8 * (race == "Black")
    table = pa.table(
        {
            "skill": skill,
            "test": rng.normal(size=N),
            "age": rng.integers(18, 70, N),
            "wave": rng.integers(0, 3, N),
            "race": race,
            "hired": (rng.random(N) < 1 / (1 + np.exp(-odds))).astype(int),
        }
    )
    path = tmp_path_factory.mktemp("levels") / "people.parquet"
    parquet.write_table(table, path)
    return path


def fit(people, output, *more, roles=ROLES):
    arguments = ["fit", people, *roles, "--threads", 1, *more, "-o", output]
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout, json.loads((output / "card.json").read_text("utf-8"))


@pytest.mark.parametrize("more", [(), ("--engine", "logistic"), ("--low-memory",)], ids=str)
def test_all_levels_of_a_column_are_read(people, tmp_path, more):
    text, card = fit(people, tmp_path / "m", "--sensitive", "race", *more)
    assert card["roles"]["sensitive_levels"] == ["White", "Asian", "Black", "Other"]
    groups = card["training"]["groups"]
    assert [each["level"] for each in groups] == ["White", "Asian", "Black", "Other"]
    assert sum(each["rows"] for each in groups) == card["training"]["metrics"]["train"]["rows"]
    assert "largest gap of the scores between two levels" in text
    page = (tmp_path / "m" / "card.md").read_text("utf-8")
    assert "| reference level | White |" in page
    assert "| Black |" in page


def test_a_reference_and_some_levels_may_be_named(people, tmp_path):
    flags = "--sensitive", "race", "--reference", "Black", "--only", "Black,White"
    _, card = fit(people, tmp_path / "m", *flags)
    assert card["roles"]["sensitive_levels"] == ["Black", "White"]
    assert card["training"]["rows"] < N


def test_one_level_may_be_compared_with_the_rest(people, tmp_path):
    _, card = fit(people, tmp_path / "m", "--sensitive", "race=Black")
    assert card["roles"]["sensitive_levels"] == ["(any other)", "Black"]


def test_numbers_are_cut_into_bands(people, tmp_path):
    _, card = fit(people, tmp_path / "m", "--sensitive", "age", "--bands", "30,50", *NO_RACE)
    assert sorted(card["roles"]["sensitive_levels"]) == ["30-50", "<30", ">=50"]


def test_numbers_are_compared_with_one(people, tmp_path):
    _, card = fit(people, tmp_path / "m", "--sensitive", "age>=50", *NO_RACE)
    assert card["roles"]["sensitive_levels"] == ["<50", ">=50"]


def test_rare_levels_are_merged(people, tmp_path):
    _, card = fit(people, tmp_path / "m", "--sensitive", "race", "--merge-below", 160)
    assert card["roles"]["sensitive_levels"] == ["White", "Asian", "Black", "other"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--sensitive", "age"], "has 52 different numbers; cut them, as in --bands"),
        (["--sensitive", "race", "--reference", "X"], "--reference: column 'race' has no value"),
        (["--sensitive", "race", "--only", "X,White"], "--only: column 'race' has no value 'X'"),
        (["--sensitive", "race=Black", "--merge-below", "9"], "--merge-below goes with"),
        (["--sensitive", "race>=3"], "column 'race' holds no numbers to compare with 3"),
        (["--sensitive", "age>=x"], "age>=x compares with no number"),
        (["--sensitive", "age>=99"], "age>=99 is the same in every row; .* from 18 to 69"),
    ],
)
def test_bad_flags_are_refused(people, tmp_path, flags, message):
    with pytest.raises(ValueError, match=message):
        fit(people, tmp_path / "m", *flags)


def test_a_comparison_is_cut_off_a_name():
    assert split_sensitive("age<25", ["age", "sex"]) == ("age", "<25")
    assert split_sensitive("a>b>=2", ["a>b"]) == ("a>b", ">=2")


def test_an_audit_has_a_row_for_each_level(people, tmp_path):
    fit(people, tmp_path / "m", "--sensitive", "race", "--engine", "logistic", "--drop", "test")
    files = {name: tmp_path / f"audit.{name}" for name in ("html", "json", "csv")}
    arguments = ["audit", people, *ROLES, "--sensitive", "race", "--scores", tmp_path / "m"]
    arguments += ["--allow-training-rows", "--json", files["json"], "--csv", files["csv"]]
    result = CliRunner().invoke(app, [str(each) for each in [*arguments, "-o", files["html"]]])
    assert result.exit_code == 0, result.exception
    read = json.loads(files["json"].read_text("utf-8"))
    assert [each["level"] for each in read["groups"]] == ["White", "Asian", "Black", "Other"]
    assert read["direct_effect_left"]["spread"]["estimate"] >= 0
    page = files["html"].read_text("utf-8")
    for text in ("The direct effect in the scores", "of a blind model", "Black", "Overlap", "AUC"):
        assert text in page
    assert "Audit of 1,200 rows by 4 levels of race" in result.stdout
    assert files["csv"].read_text("utf-8").startswith("level,rows,")


def test_a_frontier_of_levels_has_a_page_and_goes_on(people, tmp_path):
    arguments = ["frontier", people, *ROLES, "--sensitive", "race", "--reference", "Asian"]
    arguments += ["--engine", "logistic", "--strengths", "0,1", "--only", "White,Asian,Black"]
    arguments += ["--test-fraction", "0.45", "-o", tmp_path / "f"]
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.exit_code == 0, result.exception
    assert "that holds for 2 comparisons at once" in result.stdout
    page = (tmp_path / "f" / "frontier.html").read_text("utf-8")
    for text in ("race: 3 levels, against Asian", "Every strength on the test rows", "Black"):
        assert text in page
    header = (tmp_path / "f" / "frontier.csv").read_text("utf-8").splitlines()[0]
    assert "direct_effect[Black]" in header
    again = CliRunner().invoke(app, [str(each) for each in arguments])
    assert again.exit_code == 0, again.exception


def test_a_test_part_with_too_few_rows_of_a_level_has_no_effects(people, tmp_path):
    arguments = ["frontier", people, *ROLES, "--sensitive", "race", "--engine", "logistic"]
    arguments += ["--strengths", "0,1", "--test-fraction", "0.1", "-o", tmp_path / "f"]
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.exit_code == 0, result.exception
    assert "no direct effect left on the test rows" in result.output
    assert "validation rows" in (tmp_path / "f" / "frontier.html").read_text("utf-8")


def test_effects_are_told_by_level(people, tmp_path):
    report = tmp_path / "effects.json"
    arguments = ["effects", people, *ROLES, "--sensitive", "race", "--json", report]
    arguments += ["--plots", tmp_path / "plots"]
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.exit_code == 0, result.exception
    assert "What race rather than White does to" in result.stdout
    assert "hold for all levels at once" in result.stdout
    read = json.loads(report.read_text("utf-8"))
    assert [each["level"] for each in read["groups"]] == ["White", "Asian", "Black", "Other"]
    assert read["settings"]["sensitive"] == "race"
    assert {path.name for path in (tmp_path / "plots").iterdir()} == {"forest.svg", "forest.png"}


def test_effects_by_level_refuse_methods_of_two(people):
    arguments = ["effects", people, *ROLES, "--sensitive", "race", "--method", "weighting"]
    with pytest.raises(ValueError, match="method='weighting' needs a sensitive attribute of two"):
        raise CliRunner().invoke(app, [str(each) for each in arguments]).exception


def test_an_audit_by_levels_refuses_flags_of_two(people, tmp_path):
    scores = tmp_path / "scores.csv"
    scores.write_text("score\n" + "0.5\n" * N, "utf-8")
    arguments = ["audit", people, *ROLES, "--sensitive", "race", "--scores", scores]
    arguments += ["--selection-rate", "0.3"]
    with pytest.raises(ValueError, match="--selection-rate needs two sensitive levels"):
        raise CliRunner().invoke(app, [str(each) for each in arguments]).exception


def test_rows_of_other_levels_are_left_out_of_an_audit_with_their_scores(people, tmp_path):
    fit(people, tmp_path / "m", "--sensitive", "race", "--only", "White,Asian,Black")
    only = ["--sensitive", "race", "--only", "White,Asian,Black", "--allow-training-rows"]
    report = tmp_path / "audit.json"
    arguments = ["audit", people, *ROLES, *only, "--scores", tmp_path / "m", "--json", report]
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.exit_code == 0, result.output
    rows = sum(each["race"] != "Other" for each in parquet.read_table(people).to_pylist())
    assert f"{rows:,} rows" in result.stdout


# --- several columns -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crossed(tmp_path_factory):
    rng = np.random.default_rng(1)
    skill, sex = rng.normal(size=N), rng.choice(["F", "M"], N)
    odds = skill + 0.8 * (sex == "M")
    table = pa.table(
        {
            "skill": skill,
            "test": rng.normal(size=N),
            "age": rng.integers(18, 70, N),
            "sex": sex,
            "wave": rng.integers(0, 3, N),
            "hired": (rng.random(N) < 1 / (1 + np.exp(-odds))).astype(int),
        }
    )
    path = tmp_path_factory.mktemp("crossed") / "people.parquet"
    parquet.write_table(table, path)
    return path


@pytest.mark.parametrize("more", [(), ("--engine", "logistic"), ("--low-memory",)], ids=str)
def test_several_columns_are_read_as_the_combinations_of_their_levels(crossed, tmp_path, more):
    flags = "--sensitive", "sex=M,age", "--bands", "age=40", "--reference", "age=>=40"
    _, card = fit(crossed, tmp_path / "m", *flags, *more)
    assert card["roles"]["sensitive"] == "sex, age"
    levels = ["F × >=40", "F × <40", "M × >=40", "M × <40"]
    assert card["roles"]["sensitive_levels"] == levels
    assert [each["level"] for each in card["training"]["groups"]] == levels
    assert {each["name"] for each in card["features"]} == {"skill", "test"}


def test_the_audit_has_a_line_for_each_combination(crossed, tmp_path):
    flags = ["--sensitive", "sex,age", "--bands", "age=40", "--reference", "sex=F;age=<40"]
    fit(crossed, tmp_path / "m", *flags, "--intersections")
    arguments = ["audit", crossed, *ROLES, *flags, "--scores", tmp_path / "m", "--bootstrap", 0]
    arguments += ["--allow-training-rows", "--json", tmp_path / "a.json"]
    result = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    found = json.loads((tmp_path / "a.json").read_text("utf-8"))
    lines = [each["level"] for each in found["groups"]]
    assert lines == ["F × <40", "F × >=40", "M × <40", "M × >=40"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--sensitive", "sex,age", "--bands", "25"], 'say which one, as in --bands "sex=25"'),
        (["--sensitive", "sex,age"], "say which counts as 1, as in --sensitive sex=M"),
        (["--sensitive", "sex,sex"], "has a column twice"),
        (["--sensitive", "sex,hired"], "--target and --sensitive are both 'hired'"),
        (["--sensitive", "sex,size"], "there is no column 'sex,size'"),
        (["--sensitive", "sex=M", "--intersections"], "--intersections is for several columns"),
        (["--sensitive", "sex=M,age>=40", "--missing-sensitive", "use"], "is for one sensitive"),
    ],
)
def test_flags_of_several_columns_that_do_not_fit_are_refused(crossed, tmp_path, flags, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        fit(crossed, tmp_path / "m", *flags)


# --- columns to adjust for -----------------------------------------------------------------------


def test_columns_to_adjust_for_are_no_features(crossed, tmp_path):
    flags = "--sensitive", "sex=M", "--adjust-for", "age"
    for engine in ("xgboost", "logistic"):
        _, card = fit(crossed, tmp_path / engine, *flags, "--engine", engine)
        assert card["roles"]["adjusted_for"] == ["age"]
        assert [each["name"] for each in card["features"]] == ["skill", "test"]
        page = (tmp_path / engine / "card.md").read_text("utf-8")
        assert "adjusted for, and not used by the model | age" in page


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--adjust-for", "size"], "--adjust-for: there is no column 'size'"),
        (["--adjust-for", "hired"], "--adjust-for 'hired' is the column of another flag too"),
        (["--adjust-for", "wave"], "--adjust-for 'wave' is the column of another flag too"),
        (["--adjust-for", "age", "--low-memory"], "--low-memory reads no columns to adjust for"),
        (["--adjust-for", "age", "--criterion", "parity"], "Parity has none; use FairTarget()"),
    ],
)
def test_columns_that_cannot_be_adjusted_for_are_refused(crossed, tmp_path, more, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        fit(crossed, tmp_path / "m", "--sensitive", "sex=M", *more)
