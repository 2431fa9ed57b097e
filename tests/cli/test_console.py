"""What reaches a terminal or a spreadsheet: names that would command one come out as text."""

import os
import re
import subprocess
import sys
import unicodedata

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet
import pytest
from columns import column_table
from rich.progress import Progress

from unsway.cli.console import Steps, note, one_line, say, show_table, visible
from unsway.cli.table_files import write_table

pytest.importorskip("xgboost")
pty = pytest.importorskip("pty")

N = 400
CLEAR, CLIPBOARD, C1, BIDI = "\x1b[2J", "\x1b]52;c;ZXZpbA==\x07", "\x9b31m", "\u202etxt\u2066"
#: Names with the codes of terminals, and with the markup of the library that prints.
AGE, PAY, JOB = f"age{CLEAR}", f"pay{CLIPBOARD}", f"[bold]job[/bold]{C1}\nError: none"
SEX, HIRED = f"sex{BIDI}", f"hired\r{CLEAR}"
MALE, FEMALE, YES = f"Male{CLEAR}[red]", f"Female{CLIPBOARD}\n", f"yes{C1}"
FILE = f"people{CLEAR}[bold]"
ROLES = ["--target", HIRED, "--positive", YES, "--sensitive", f"{SEX}={MALE}"]
LOGISTIC = ["--engine", "logistic", "--criterion", "parity"]
CODE = "from unsway.cli import main; main()"


def people():
    rng = np.random.default_rng(0)
    male = rng.random(N) < 0.5
    age = np.round(rng.normal(40, 10, N) + 5 * male, 3)
    hired = rng.random(N) < 1 / (1 + np.exp(-(age - 42) / 10 - male))
    return pa.table(
        {
            AGE: age,
            PAY: rng.normal(size=N),
            JOB: rng.choice([f"clerk{CLEAR}", "=cmd()"], N),
            SEX: np.where(male, MALE, FEMALE),
            HIRED: np.where(hired, YES, f"no{C1}"),
        }
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with the table and a model, whose names have codes too."""
    folder = tmp_path_factory.mktemp("planted")
    parquet.write_table(people(), folder / f"{FILE}.parquet")
    assert run(folder, "fit", *TABLE, *ROLES, *LOGISTIC, "-o", f"model{CLEAR}").returncode == 0
    return folder


TABLE = [f"{FILE}.parquet"]


def run(folder, *arguments, code=CODE):
    command = [sys.executable, "-c", code, *arguments]
    environment = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(command, capture_output=True, cwd=folder, env=environment, check=False)


def unseen(text):
    """Return the characters that a terminal would not show as they are."""
    found = {each for each in text if unicodedata.category(each) in ("Cc", "Cf", "Zl", "Zp", "Cs")}
    return found - {"\n"}


def said(done, status=0):
    """Return all that was printed, which must hold no code."""
    text = (done.stdout + done.stderr).decode()
    assert done.returncode == status, text
    assert unseen(text) == set()
    assert not re.search("^Error: none", text, re.MULTILINE)
    return text


# --- every command, with names that hold codes ---------------------------------------------------


@pytest.mark.parametrize("engine", ["logistic", "xgboost", "lightgbm"])
def test_fit_prints_no_code_of_a_name(engine, place, tmp_path):
    pytest.importorskip(engine if engine != "logistic" else "sklearn")
    output = str(tmp_path / f"model{CLEAR}")
    more = ["--engine", engine, "--criterion", "parity", "--threads", "1", "-o", output]
    text = said(run(place, "fit", *TABLE, *ROLES, *more))
    assert r"Male\x1b[2J[red] (z = 1)" in text


def test_effects_prints_no_code_of_a_name(place):
    text = said(run(place, "effects", *TABLE, *ROLES))
    assert r"What sex\u202etxt\u2066 = Male\x1b[2J[red] rather than Female\x1b]52;c;" in text
    assert r"age\x1b[2J" in text


def test_audit_prints_no_code_of_a_name(place, tmp_path):
    outputs = ["--json", str(tmp_path / f"a{CLEAR}.json"), "--csv", str(tmp_path / "a.csv")]
    scores = ["--scores", f"model{CLEAR}", "--bootstrap", "0", "--allow-training-rows"]
    text = said(run(place, "audit", *TABLE, *ROLES, *scores, *outputs))
    assert r"a\x1b[2J.json" in text


def test_frontier_and_report_print_no_code_of_a_name(place, tmp_path):
    pytest.importorskip("altair")
    store, page = str(tmp_path / f"store{CLEAR}"), str(tmp_path / f"page{CLEAR}.html")
    more = [*LOGISTIC, "--strengths", "0,0.5,0.9", "-o", store]
    assert r"store\x1b[2J/frontier.csv" in said(run(place, "frontier", *TABLE, *ROLES, *more))
    assert r"page\x1b[2J.html" in said(run(place, "report", store, "-o", page))


def test_predict_prints_no_code_of_a_name(place, tmp_path):
    table = people()
    strange = pa.array([f"new{CLEAR}"] * N)
    table = table.set_column(table.column_names.index(JOB), JOB, strange)
    parquet.write_table(table, tmp_path / f"new{CLEAR}.parquet")
    files = [str(tmp_path / f"new{CLEAR}.parquet"), "-o", str(tmp_path / f"out{CLEAR}.csv")]
    text = said(run(place, "predict", f"model{CLEAR}", *files))
    assert r"Note: column '[bold]job[/bold]\x9b31m\nError: none': 400 rows hold a level" in text
    assert r"out\x1b[2J.csv" in text


# --- errors --------------------------------------------------------------------------------------


def test_an_error_of_the_library_prints_no_code_of_a_name(place, tmp_path):
    parquet.write_table(people().drop_columns([AGE]), tmp_path / "t.parquet")
    text = said(
        run(place, "predict", f"model{CLEAR}", str(tmp_path / "t.parquet"), "-o", "o.csv"), 1
    )
    assert r"Error: column 'age\x1b[2J' is missing" in text


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("fit", f"no{CLEAR}.csv", *ROLES, "-o", "m"), 1, r"no\x1b[2J.csv: there is no such file"),
        (("predict", f"no{CLIPBOARD}", "t.csv", "-o", "o.csv"), 1, r"no\x1b]52;c;ZXZpbA==\x07 is"),
        (("audit", *TABLE, *ROLES, "--scores", f"no{C1}"), 1, r"no\x9b31m"),
        (("report", f"no{CLEAR}", "-o", "o.html"), 1, r"no\x1b[2J"),
        (("fit", *TABLE, *ROLES, "-o", "m", "--engine", CLEAR), 2, r"\x1b[2J"),
        (("fit", *TABLE, *ROLES, "-o", "m", "--drop", BIDI), 1, r"\u202etxt\u2066"),
        ((f"no{CLEAR}",), 2, r"no\x1b[2J"),
        (("fit", f"--{CLEAR}"), 2, r"\x1b[2J"),
        (("report", "s", "-o", f"[bold]{CLEAR}"), 2, r"[bold]\x1b[2J: give the name of an .html"),
    ],
)
def test_an_error_prints_no_code_of_what_was_given(arguments, status, words, place):
    assert words in said(run(place, *arguments), status)


def test_a_traceback_prints_no_code(place):
    text = said(run(place, "--debug", "fit", f"no{CLEAR}.csv", *ROLES, "-o", "m"), 1)
    assert "Traceback (most recent call last)" in text
    assert r"no\x1b[2J.csv: there is no such file" in text


def test_a_bug_that_names_a_column_prints_no_code(place):
    code = (
        "from unsway.cli import fit\n"
        "def broken(*_, **__): raise RuntimeError('in \\x1b[2J')\n"
        f"fit.take_roles = broken\n{CODE}"
    )
    text = said(run(place, "fit", *TABLE, *ROLES, "-o", "m", code=code), 1)
    assert r"RuntimeError: in \x1b[2J" in text


def test_a_warning_that_names_a_column_prints_no_code(place):
    code = (
        "import warnings\nfrom unsway.cli import report\n"
        "def warned(*_): warnings.warn('in \\x1b[2J [bold]'); raise ValueError('no')\n"
        f"report.Frontier.load = warned\n{CODE}"
    )
    text = said(run(place, "report", "s", "-o", "o.html", code=code), 1)
    assert r"Note: in \x1b[2J [bold]" in text


def test_a_file_whose_name_is_not_utf8_is_named(tmp_path):
    done = run(tmp_path, "fit", os.fsdecode(b"a\xff.csv"), *ROLES, "-o", "m")
    assert r"Error: a\udcff.csv: there is no such file" in said(done, 1)


# --- a terminal ----------------------------------------------------------------------------------


def on_a_terminal(folder, *arguments):
    """Return what a terminal got from a command, errors included."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "200"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, *arguments],
        stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=environment,
    )  # fmt: skip
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end was closed
            break
        if not part:
            break
        parts.append(part)
    os.close(ours)
    assert process.wait(60) == 0
    return b"".join(parts).decode()


def test_a_terminal_gets_the_codes_of_the_bar_and_none_of_a_name(place, tmp_path):
    more = [*LOGISTIC, "-o", str(tmp_path / f"model{CLEAR}")]
    text = on_a_terminal(place, "fit", *TABLE, *ROLES, *more)
    assert "\x1b[" in text  # the bar, and colours
    assert r"Reading people\x1b[2J[bold].parquet" in text
    assert r"Male\x1b[2J[red]" in text
    for code in (CLEAR, "\x1b]52", "\x9b", "\u202e", "\u2066"):
        assert code not in text


# --- the functions -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("größe ✓ 年龄 👩‍💻 می‌خواهم", "größe ✓ 年龄 👩‍💻 می‌خواهم"),
        ("a\tb\rc\x00\x7f\x85", r"a\tb\rc\x00\x7f\x85"),
        ("\u202a\u202b\u202d\u2067\u2068\u2069\u200e\u200f\u061c", None),
        ("\u2028\u2029\ufeff\xad\U000e0041", None),
        ("\udcff", r"\udcff"),
        (r"\x1b", r"\x1b"),
    ],
)
def test_unseen_characters_are_written_out_and_words_left_alone(text, shown):
    expected = text.encode("unicode_escape").decode() if shown is None else shown
    assert visible(text) == expected


def test_lines_are_kept_in_a_text_and_written_out_in_a_name():
    assert visible("a\nb") == "a\nb"
    assert one_line("a\nb") == r"a\nb"


def test_every_way_to_print_shows_markup_and_codes_as_text(capsys):
    name = f"[bold]x[/bold]\\[red]{CLEAR}:smile:"
    shown = r"[bold]x[/bold]\[red]\x1b[2J:smile:"
    say(name)
    note(name)
    show_table(name, ("", name), [(name, name)])
    with Progress() as progress:
        bar = Steps(progress, 1, name, lambda: None)
        assert progress.tasks[0].description == shown
        bar.next(name)
        assert (progress.tasks[0].description, progress.tasks[0].completed) == (shown, 1)
    out, err = capsys.readouterr()
    assert unseen(out + err) == set()
    assert out.count(shown) >= 4
    assert f"Note: {shown}" in err


# --- spreadsheets --------------------------------------------------------------------------------


FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1", " =1", "\n=1"]
HARMLESS = ["", "a=b", "x-1", "-5", "+3.5e-2", "-1,234.5", "-.5", "-5%", "-inf", "'=1", " -5"]


def test_text_that_a_spreadsheet_would_run_gets_an_apostrophe(tmp_path):
    write_table(tmp_path / "t.csv", column_table(pa.table({"words": [*FORMULAS, *HARMLESS]})))
    options = csv.ParseOptions(newlines_in_values=True)
    read = csv.read_csv(
        tmp_path / "t.csv", parse_options=options,
        convert_options=csv.ConvertOptions(column_types={"words": pa.string()}),
    )  # fmt: skip
    assert read["words"].to_pylist() == [*(f"'{each}" for each in FORMULAS), *HARMLESS]


def test_numbers_stay_and_headers_are_guarded(tmp_path):
    table = {"=1+1": [-1.5, None], "-5": [-2, 3], "@x": [True, False], "n": [None, "-"]}
    write_table(tmp_path / "t.csv", column_table(pa.table(table)))
    expected = "'=1+1,-5,'@x,n\n-1.5,-2,true,\n,3,false,'-\n"
    assert (tmp_path / "t.csv").read_text() == expected


def test_a_parquet_file_has_text_as_it_is(tmp_path):
    write_table(tmp_path / "t.parquet", column_table(pa.table({"=1": FORMULAS})))
    assert parquet.read_table(tmp_path / "t.parquet").to_pydict() == {"=1": FORMULAS}


def test_predict_keeps_text_that_no_spreadsheet_runs(place, tmp_path):
    output = tmp_path / "out.csv"
    keep = ["--keep", PAY, "--keep", JOB, "--column", "=score"]
    said(run(place, "predict", f"model{CLEAR}", *TABLE, "-o", str(output), *keep))
    read = csv.read_csv(output, parse_options=csv.ParseOptions(newlines_in_values=True))
    assert read.column_names == [PAY, JOB, "'=score"]
    assert set(read[JOB].to_pylist()) == {f"clerk{CLEAR}", "'=cmd()"}
    np.testing.assert_array_equal(read[PAY].to_numpy(), people()[PAY].to_numpy())


def test_the_table_of_an_audit_holds_no_formula(tmp_path):
    rng = np.random.default_rng(0)
    groups = rng.choice(["=cmd()", "@sum(1)"], N)
    columns = {
        "sex": groups,
        "hired": rng.integers(0, 2, N),
        "p": rng.random(N),
        "x": rng.random(N),
    }
    csv.write_csv(pa.table(columns), tmp_path / "t.csv")
    roles = ["--target", "hired", "--sensitive", "sex==cmd()", "--scores", "column:p"]
    more = ["--bootstrap", "0", "--no-effects", "--csv", "a.csv"]
    said(run(tmp_path, "audit", "t.csv", *roles, *more))
    cells = re.split(r'[,\n"]', (tmp_path / "a.csv").read_text())
    assert "'=cmd()" in cells
    assert [each for each in cells if each.startswith(("=", "@"))] == []
