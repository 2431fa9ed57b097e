"""Bad inputs, each with the sentence that answers it before any work.

The first table is given to Python, the second, as a file, to the command line.
"""

import datetime
import io

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from unsway import (
    DirectEffect,
    FairLinearRegressor,
    FairLogisticRegression,
    FairTarget,
    FairXGBClassifier,
    Parity,
    audit,
    estimate_effects,
    frontier,
)
from unsway.cli.app import app

N = 200
RANDOM = np.random.default_rng(0)
Z = RANDOM.integers(0, 2, N)
X = RANDOM.normal(size=N)
Y = (X + Z + RANDOM.normal(size=N) > 0.5).astype(int)
TABLE = pd.DataFrame({"x": X, "w": RANDOM.normal(size=N)})


class StartedError(Exception):
    """Training has begun."""


@pytest.fixture(autouse=True)
def no_training(monkeypatch):
    """Make every criterion and every model that begins to train raise."""

    def start(*_, **__):
        raise StartedError

    for criterion in (Parity, DirectEffect, FairTarget):
        monkeypatch.setattr(criterion, "fit", start)


def fit(X=TABLE, y=Y, z=Z, make=FairLogisticRegression, weights=None, **settings):
    estimator = make(settings.pop("criterion", Parity()), **settings)
    estimator.fit(X, y, sensitive_features=z, sample_weight=weights)


def boost(X=TABLE, y=Y, z=Z, **settings):
    fit(X, y, z, FairXGBClassifier, **settings)


def with_column(values):
    return TABLE.assign(c=values)


def changed(values, place, value):
    """Return values as a list in which one is another."""
    return [value if row == place else each for row, each in enumerate(np.asarray(values).tolist())]


DAY = datetime.date(2020, 1, 1)
#: What is given → the call, and what its error says.
PYTHON = {
    # the table
    "dates": (lambda: boost(with_column(pd.date_range("2020", periods=N))), "'c' holds dates"),
    "dates as objects": (lambda: boost(with_column([DAY] * N)), "'c' holds dates"),
    "times": (lambda: boost(with_column([datetime.time(3)] * N)), "'c' holds dates"),
    "durations": (lambda: boost(with_column(pd.to_timedelta(range(N)))), "'c' holds durations"),
    "lists": (lambda: boost(with_column([[1, 2]] * N)), "'c' holds lists"),
    "tuples": (lambda: boost(with_column([(1, 2)] * N)), "'c' holds lists"),
    "mappings": (lambda: boost(with_column([{"a": 1}] * N)), "'c' holds lists"),
    "sets": (lambda: boost(with_column([{1}] * N)), "'c' holds lists"),
    "arrays": (lambda: boost(with_column([np.zeros(2)] * N)), "'c' holds lists"),
    "bytes": (lambda: boost(with_column([b"a", b"b"] * (N // 2))), "'c' holds bytes"),
    "complex numbers": (lambda: boost(with_column(X + 1j)), "'c' holds complex numbers"),
    "an array of dates": (lambda: boost(np.arange(N).astype("M8[D]")[:, None]), "holds dates"),
    "an array of durations": (lambda: boost(np.arange(N).astype("m8[D]")[:, None]), "durations"),
    "a complex array": (lambda: fit((X + 1j)[:, None]), "Complex data not supported"),
    "one dimension": (lambda: fit(X), "Expected 2D array"),
    "three dimensions": (lambda: fit(np.zeros((N, 1, 1))), "dim 3"),
    "no rows": (lambda: fit(TABLE[:0], Y[:0], Z[:0]), "minimum of 2 is required"),
    "no columns": (lambda: boost(TABLE[[]]), "X has no columns"),
    "infinity": (lambda: boost(with_column([np.inf] * N)), "infinity"),
    "a number too large": (lambda: boost(with_column([1e300] * N)), "too large"),
    "the attribute": (lambda: boost(with_column(Z), z=pd.Series(Z, name="c")), "drop it"),
    "a recoded copy": (lambda: boost(with_column(7 - 3 * Z)), "up to its coding"),
    "a copy in words": (lambda: boost(with_column(np.where(Z, "b", "a"))), "up to its coding"),
    # the columns beside it
    "y too short": (lambda: fit(y=Y[1:]), "rows"),
    "z too short": (lambda: fit(z=Z[1:]), "sensitive_features has 199 rows but X has 200"),
    "no z": (lambda: fit(z=None), "sensitive_features is required"),
    "z missing": (lambda: fit(z=changed(Z, 3, None)), "1 missing values"),
    "z NaN": (lambda: fit(z=changed(Z, 3, np.nan)), "1 missing values"),
    "z constant": (lambda: fit(z=0 * Z), "sensitive_features"),
    "z complex": (lambda: fit(z=Z + 1j), "complex numbers"),
    "z of two columns": (lambda: fit(z=np.c_[Z, Z]), "2 columns without names"),
    "z in another order": (lambda: fit(z=pd.Series(Z)[::-1]), "index of X in another order"),
    "y in another order": (lambda: fit(y=pd.Series(Y)[::-1]), "index of X in another order"),
    "z without a reference": (lambda: fit(z=np.where(Z, "b", "a")), "reference="),
    "y missing": (lambda: fit(y=changed(Y, 3, np.nan)), "NaN"),
    "y infinite": (lambda: fit(y=changed(Y, 3, np.inf)), "infin"),
    "y constant": (lambda: fit(y=0 * Y), "class"),
    "y complex": (lambda: fit(y=Y + 1j), "complex|Complex"),
    "y continuous": (lambda: fit(y=X), "Unknown label type|continuous|numbers"),
    "weights negative": (lambda: fit(weights=-np.ones(N)), "negative"),
    "weights NaN": (lambda: fit(weights=np.full(N, np.nan)), "NaN or infinite"),
    "weights zero": (lambda: fit(weights=np.zeros(N)), "zero for every row"),
    "weights of one group": (lambda: fit(weights=Z.astype(float)), "sample_weight of zero"),
    "weights too short": (lambda: fit(weights=np.ones(3)), "sample_weight has 3 rows"),
    "weights in words": (lambda: fit(weights=["a"] * N), "must hold numbers"),
    # settings
    "strength True": (lambda: fit(strength=True), "strength must be a number; got True"),
    "strength in words": (lambda: fit(strength="1"), "strength must be a number; got '1'"),
    "strength None of NaN": (lambda: fit(strength=np.nan), "strength must be at least 0"),
    "strength 2": (lambda: fit(strength=2), "strength must be at least 0"),
    "strength -1": (lambda: boost(strength=-1), "strength must be at least 0"),
    "strength 1 of a penalty": (lambda: boost(strength=1), "below 1; got 1"),
    "l2 negative": (lambda: fit(l2=-1), "l2 must be a finite number of at least 0"),
    "l2 True": (lambda: fit(l2=True), "l2 must be a number; got True"),
    "criterion a string": (lambda: fit(criterion="parity"), "criterion"),
    "criterion a class": (lambda: fit(criterion=Parity), "criterion"),
    "groups a string": (lambda: fit(groups="F"), "groups must be a Grouping"),
    # other functions
    "cv of a sweep": (
        lambda: frontier(
            FairLogisticRegression(Parity()), TABLE, Y, sensitive_features=Z, cv=5_000
        ),
        "cv=5000 asks for a row of each class and sensitive level in every fold",
    ),
    "cv of effects": (
        lambda: estimate_effects(TABLE, Y, sensitive_features=Z, cv=5_000),
        "at least 10000 are needed",
    ),
    "few rows of a level": (
        lambda: estimate_effects(TABLE, Y, sensitive_features=(np.arange(N) < 9).astype(int)),
        "a sensitive level has 9 rows; at least 20 are needed",
    ),
    "a sweep of no strength": (
        lambda: frontier(
            FairLogisticRegression(Parity()), TABLE, Y, sensitive_features=Z, strengths=[]
        ),
        "strengths is empty",
    ),
    "a sweep of True": (
        lambda: frontier(
            FairLogisticRegression(Parity()), TABLE, Y, sensitive_features=Z, strengths=[True]
        ),
        "each of strengths must be a number; got True",
    ),
    "a sweep of a class": (
        lambda: frontier(FairLogisticRegression, TABLE, Y, sensitive_features=Z),
        "got the class FairLogisticRegression",
    ),
    "scores too short": (lambda: audit(Y, X[1:], sensitive_features=Z), "199"),
    "scores NaN": (lambda: audit(Y, np.full(N, np.nan), sensitive_features=Z), "missing|NaN"),
    "claims below 0": (
        lambda: FairLinearRegressor(loss="poisson").fit(TABLE, X, sensitive_features=Z),
        "negative|at least 0|below 0",
    ),
}


@pytest.mark.parametrize("what", PYTHON)
def test_python_answers_with_a_sentence_before_any_work(what):
    call, sentence = PYTHON[what]
    with pytest.raises((ValueError, TypeError), match=sentence):
        call()


# --- files ---------------------------------------------------------------------------------------


PEOPLE = pd.DataFrame(
    {
        "hired": Y,
        "sex": np.where(Z, "Male", "Female"),
        "age": np.round(40 + 10 * X, 2),
        "job": RANDOM.choice(["clerk", "smith", "baker"], N),
    }
)
FLAGS = ["--target", "hired", "--sensitive", "sex=Male"]


def csv(table, **options):
    return table.to_csv(index=False, **options).encode()


def comma(values):
    return [f"{value:.2f}".replace(".", ",") for value in values]


def people(**columns):
    return csv(PEOPLE.assign(**columns))


NUMBERS = [f"1.{k:03d},50" for k in range(N)]
#: What is given → the file, and what its error says.
FILES = {
    "row names of a data frame": (PEOPLE[::-1].to_csv().encode(), "column '' has no name"),
    "row names read back": (people(**{"Unnamed: 0": RANDOM.permutation(N)}), "has no name of its"),
    "an identifier": (people(customer_id=RANDOM.permutation(N)), "'customer_id' has another whole"),
    "names": (people(name=[f"person {k}" for k in range(N)]), "200 different words in 200 rows"),
    "thousands": (people(pay=NUMBERS), "'pay' holds numbers as text, 200 different ones"),
    "euros": (people(pay=[f"{k} €" for k in range(N)]), "'pay' holds numbers as text"),
    "per cent": (people(pay=[f"{k / 7:.1f} %" for k in range(N)]), "'pay' holds numbers as text"),
    "two decimal signs": (people(pay=comma(X), w=np.round(X, 2)), "give --decimal , to read them"),
    "a word among numbers": (
        people(pay=["unknown", *(f"{k}" for k in range(1, N))]),
        "'pay' holds numbers, and 1 of its 200 different values are words",
    ),
    "dates as text": (
        people(born=[f"{k % 28 + 1}.{k % 12 + 1}.{1950 + k % 50}" for k in range(N)]),
        "'born' holds dates as text",
    ),
    "dates": (people(born=pd.date_range("1950", periods=N)), "'born' holds dates"),
    "the target again": (people(again=3 - 2 * Y), "'again' predicts the target without an error"),
    "the target in words": (people(again=np.where(Y, "y", "n")), "'again' predicts the target"),
    "made from the target": (people(after=Y + RANDOM.random(N)), "'after' predicts the target"),
    "the attribute again": (people(male=Z), "'male' is the same as sensitive_features"),
    "nothing but constants": (
        csv(PEOPLE[["hired", "sex"]].assign(one=1, none=None)),
        "no column is left to train on: 'one' has the same value in every row; 'none' has no value",
    ),
    "a label missing": (people(hired=[None, *Y[1:]]), "leave those rows out with --drop-missing"),
    "names twice": (csv(PEOPLE).replace(b"age", b"job", 1), "more than one column named 'job'"),
    "a ragged row": (csv(PEOPLE) + b"1,Male\n", "row 201 below the header has 2 fields"),
    "a header alone": (csv(PEOPLE[:0]), "has a header but no rows"),
    "nothing": (b"", "is empty"),
    "a zero byte": (b"\0" * 100, "cannot be read as CSV"),
    "other letters": (csv(PEOPLE).decode().encode("utf-16"), "cannot be read as CSV|no column"),
    "one class": (people(hired=1), "has the same value in every row"),
    "one group": (people(sex="Male"), "has the same value in every row"),
    "three labels": (
        people(hired=np.array(list("abc"))[np.arange(N) % 3]),
        "has 3 different values",
    ),
    "a workbook that is none": (b"PK", "cannot be read as a workbook"),
}


@pytest.mark.parametrize("what", FILES)
def test_a_command_answers_with_a_sentence_before_any_work(what, tmp_path):
    content, sentence = FILES[what]
    if what == "a workbook that is none":
        pytest.importorskip("python_calamine")
    path = tmp_path / ("people.xlsx" if content == b"PK" else "people.csv")
    path.write_bytes(content)
    flags = [*FLAGS, "--engine", "logistic", "--criterion", "parity"]
    done = CliRunner().invoke(app, ["fit", str(path), *flags, "-o", str(tmp_path / "model")])
    assert done.exit_code == 1
    assert isinstance(done.exception, ValueError), done.exception
    assert pd.Series([str(done.exception)]).str.contains(sentence, regex=True)[0], done.exception
    assert not (tmp_path / "model").exists()


WELL = {
    "commas": csv(PEOPLE),
    "semicolons": csv(PEOPLE, sep=";"),
    "tabs": csv(PEOPLE, sep="\t"),
    "bars": csv(PEOPLE, sep="|"),
    "semicolons and decimal commas": csv(PEOPLE, sep=";", decimal=","),
    "tabs and decimal commas": csv(PEOPLE, sep="\t", decimal=","),
    "quoted decimal commas": csv(PEOPLE.assign(age=comma(PEOPLE["age"]))),
    "a byte order mark": b"\xef\xbb\xbf" + csv(PEOPLE),
    "rows without a label": csv(pd.concat([PEOPLE, PEOPLE[:3].assign(hired=None)])),
    "constant and empty columns": csv(PEOPLE.assign(one=1, none=None, row=range(1, N + 1))),
}


@pytest.mark.parametrize("what", WELL)
def test_a_file_is_read_whatever_its_signs(what, tmp_path):
    from unsway.cli.flags import read_rows, take_roles
    from unsway.cli.options import RoleFlags

    (tmp_path / "people.csv").write_bytes(WELL[what])
    flags = RoleFlags("hired", None, "sex=Male", (), None, drop_missing=True)
    rows, _ = take_roles(read_rows(tmp_path / "people.csv", flags), flags)
    assert rows.X.columns == ["age", "job"]
    np.testing.assert_array_equal(rows.X["age"], PEOPLE["age"])
    np.testing.assert_array_equal(rows.y, Y)
    np.testing.assert_array_equal(rows.groups.codes, Z)


@pytest.mark.parametrize("suffix", [".xlsx"])
def test_a_workbook_is_read_as_its_cells_are(suffix, tmp_path):
    pytest.importorskip("python_calamine")
    writer = pytest.importorskip("openpyxl")
    from unsway.cli.table_files import read_table

    book = writer.Workbook()
    book.active.append(["age", "job", "member", "none"])
    for row in ([31, "clerk", True, None], [40.5, None, False, None]):
        book.active.append(row)
    content = io.BytesIO()
    book.save(content)
    (tmp_path / f"people{suffix}").write_bytes(content.getvalue())
    found = read_table(tmp_path / f"people{suffix}")
    assert found.columns == ["age", "job", "member", "none"]
    assert found["age"].tolist() == [31, 40.5]
    assert found["job"].tolist() == ["clerk", None]
    assert found["member"].tolist() == [1, 0]
    assert pd.isna(found["none"]).all()
    book.create_sheet("other")
    book.save(tmp_path / "two.xlsx")
    with pytest.raises(ValueError, match=r"2 sheets \(Sheet, other\); choose one with --sheet"):
        read_table(tmp_path / "two.xlsx")


def test_a_column_is_taken_on_request():
    from unsway.cli.covariates import choose_columns, describe_columns
    from unsway.tables import ColumnTable

    table = ColumnTable({"age": X, "row": np.arange(float(N)), "again": 2.0 * Y})
    with pytest.raises(ValueError, match=r"--accept again"):
        choose_columns(table, Y)
    found = describe_columns(choose_columns(table, Y, accept=["again"]))
    assert found["numbers"] == ["age", "again"]
    assert found["left_out"] == {"row": "counts the rows"}
    whole = choose_columns(table, Y, accept=["again", "row"])
    assert describe_columns(whole)["numbers"] == ["age", "row", "again"]


def test_twenty_thousand_names_are_compared_in_linear_time(tmp_path):
    from unsway.cli.table_files import read_table

    names = [f"column {k}" for k in range(20_000)]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + ",".join("1" * len(names)) + "\n")
    assert len(read_table(tmp_path / "wide.csv").columns) == 20_000
