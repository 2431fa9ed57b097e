"""``unsway effects`` on real files."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner
from columns import column_table

from unsway import OverlapWarning, estimate_effects
from unsway.cli.app import app
from unsway.cli.commands.effects import parse_method
from unsway.cli.effects import forest
from unsway.cli.flags import RoleFlags, take_roles
from unsway.cli.outputs import interrupts
from unsway.effects import Estimate
from unsway.extras import MissingExtraError
from unsway.grouping import Grouping

N = 600
EFFECTS = (
    "total",
    "direct_reference",
    "direct_group",
    "indirect_reference",
    "indirect_group",
    "explained",
    "direct_everyone",
    "direct_overlap",
)
PICTURES = ("balance", "curve", "forest", "overlap")
#: Levels that mean something to rich, to a browser or to a shell.
MALE, FEMALE, YES = "[red]M", "<b>F</b>&", "[/yes] $(id)"
JOBS = ["[bold]clerk[/bold]", "<script>alert(1)</script>", '$HOME `id`, "cook"']
ROLES = ["--target", "hired", "--positive", YES, "--sensitive", f"sex={MALE}"]
DROP = ["--drop", "pay,weight"]


def people(seed=0):
    rng = np.random.default_rng(seed)
    male = rng.random(N) < 0.5
    age = np.round(rng.normal(40, 8, N) + 4 * male, 3)
    hired = rng.random(N) < 1 / (1 + np.exp(-(age - 42) / 8 - male))
    job = rng.choice(JOBS, N).tolist()
    job[::11] = [None] * len(job[::11])
    return pa.table(
        {
            "age [x]": age,
            "job": job,
            "pay": np.round(1000 * (age - 30) + 5000 * male + rng.normal(0, 3000, N)),
            "weight": rng.uniform(0.5, 2, N),
            "sex": np.where(male, MALE, FEMALE),
            "hired": np.where(hired, YES, "no"),
        }
    )


def change(table, name, values):
    return table.set_column(table.column_names.index(name), name, pa.array(values))


def write(path, table):
    (csv.write_csv if path.suffix == ".csv" else parquet.write_table)(table, path)
    return path


def invoke(*arguments):
    return CliRunner().invoke(app, ["effects", *map(str, arguments)], env={"COLUMNS": "100"})


def run(*arguments):
    """Return what a command that must succeed prints."""
    result = invoke(*arguments)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def complaint(*arguments):
    """Return the message of a command that must fail on its input."""
    result = invoke(*arguments)
    assert isinstance(result.exception, (ValueError, OSError)), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


def read_json(path):
    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(path.read_text(), parse_constant=refuse)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the table, as CSV and Parquet."""
    folder = tmp_path_factory.mktemp("place")
    write(folder / "people.csv", people())
    write(folder / "people.parquet", people())
    return folder


@pytest.fixture(scope="module")
def done(place, tmp_path_factory):
    """What one run prints, and the folder with its numbers and pictures."""
    folder = tmp_path_factory.mktemp("done")
    outputs = ["--json", folder / "deep" / "out.json", "--plots", folder / "plots"]
    return run(place / "people.csv", *ROLES, *DROP, *outputs), folder


@pytest.fixture(scope="module")
def numbers(done):
    return read_json(done[1] / "deep" / "out.json")


# --- the numbers ---------------------------------------------------------------------------------


def test_the_json_holds_what_the_library_estimates(numbers):
    table = people()
    found = estimate_effects(
        table.select(["age [x]", "job"]),
        np.array(table["hired"].to_pylist()) == YES,
        sensitive_features=table["sex"].to_pylist(),
        groups=Grouping(reference=FEMALE),
    )
    for name in EFFECTS:
        assert numbers[name] == pytest.approx(getattr(found, name).to_dict(), rel=1e-9)


def test_the_effects_add_up_in_both_ways(numbers):
    value = {name: numbers[name]["estimate"] for name in EFFECTS}
    assert value["direct_reference"] + value["indirect_group"] == pytest.approx(value["total"])
    assert value["direct_group"] + value["indirect_reference"] == pytest.approx(value["total"])


def test_the_json_says_how_far_to_trust_the_effects(numbers):
    rest = ["overlap", "balance", "verdict", "mean_field", "sensitivity", "curve", "settings"]
    assert sorted(numbers) == sorted([*EFFECTS, *rest])
    sizes = numbers["balance"]["raw"]["effective_sample_size"]
    assert numbers["overlap"]["rows"] == pytest.approx(sizes)
    assert "age [x]" in numbers["balance"]["overlap"]["columns"]
    assert numbers["verdict"]["level"] in ("ok", "caution")
    assert len(numbers["curve"]["b"]) == len(numbers["curve"]["band_low"]) > 2
    assert 0 < numbers["sensitivity"]["robustness_value"] < 1
    assert numbers["sensitivity"]["e_value"]["estimate"] > 1
    assert "Among comparable people" in numbers["mean_field"]["sentence"]


def test_the_settings_tell_how_to_repeat_the_run(numbers):
    expected = {
        "file": "people.csv", "target": "hired", "positive": YES, "sensitive": "sex",
        "sensitive_levels": [FEMALE, MALE], "dropped": ["pay", "weight"], "weights": None,
        "method": "doubly_robust", "interval": "influence", "confidence": 0.95, "cv": 5,
        "random_state": 0, "n_bootstrap": 0, "n_rows": N,
    }  # fmt: skip
    assert expected.items() <= numbers["settings"].items()


def test_csv_and_parquet_give_the_same_numbers(place, numbers, tmp_path):
    run(place / "people.parquet", *ROLES, *DROP, "--json", tmp_path / "out.json", "--quiet")
    found = read_json(tmp_path / "out.json")
    assert {name: found[name] for name in EFFECTS} == {name: numbers[name] for name in EFFECTS}


def test_a_column_of_numbers_is_a_target_as_it_is(place, tmp_path):
    flags = ["--target", "pay", "--sensitive", f"sex={MALE}", "--drop", "hired,weight"]
    output = ["--method", "surrogate", "--json", tmp_path / "out.json"]
    text = run(place / "people.csv", *flags, *output)
    found = read_json(tmp_path / "out.json")
    assert "does to the mean of pay" in text
    assert found["settings"]["positive"] is None
    assert (
        found["direct_everyone"]["low"] < 5000 < found["direct_everyone"]["high"]
    )  # as `people` has it
    assert found["sensitivity"]["e_value"] is None


def test_a_number_of_a_target_may_be_its_positive_value():
    codes = change(people(), "hired", np.arange(N) % 3)
    flags = RoleFlags("hired", "2", f"sex={MALE}", ("pay",), None)
    rows, roles = take_roles(column_table(codes), flags, numeric_target=True)
    assert (rows.y.sum(), roles.positive) == (N // 3, "2")


@pytest.mark.parametrize(("method", "curve"), [("surrogate", "spline"), ("weighting", "bins")])
def test_methods_without_models_of_the_target_skip_the_mean_field(method, curve, place, tmp_path):
    output = ["--json", tmp_path / "out.json", "--confidence", "0.8"]
    run(place / "people.csv", *ROLES, *DROP, "--method", method, *output)
    found = read_json(tmp_path / "out.json")
    assert found["settings"]["method"] == method
    assert (found["mean_field"], found["curve"]["method"]) == (None, curve)
    width = (found["direct_reference"]["high"] - found["direct_reference"]["low"]) / found[
        "direct_reference"
    ]["se"]
    assert 2 * 1.28155 < width < 2.6  # of a t distribution


def test_weights_count(place, tmp_path):
    roles = [*ROLES, "--drop", "pay", "--weights", "weight", "--method", "weighting"]
    run(place / "people.csv", *roles, "--json", tmp_path / "out.json", "--quiet")
    table, found = people(), read_json(tmp_path / "out.json")
    y = np.array(table["hired"].to_pylist()) == YES
    z = np.array(table["sex"].to_pylist()) == MALE
    w = table["weight"].to_numpy()
    gap = np.average(y[z], weights=w[z]) - np.average(y[~z], weights=w[~z])
    assert found["total"]["estimate"] == pytest.approx(gap)
    assert found["settings"]["weights"] == "weight"


def test_a_bootstrap_gives_other_standard_errors_around_the_same_estimates(place, tmp_path):
    flags = [*ROLES, *DROP, "--method", "weighting", "--cv", "2", "--jobs", "1"]
    for name, more in (("a", []), ("b", ["--bootstrap", "2"]), ("c", ["--bootstrap", "2"])):
        output = ["--json", tmp_path / f"{name}.json", "--quiet"]
        run(place / "people.csv", *flags, *more, *output)
    a, b, c = (read_json(tmp_path / f"{name}.json") for name in "abc")
    assert b == c
    assert b["settings"]["interval"] == "bootstrap"
    assert b["settings"]["n_bootstrap"] == 2
    assert b["direct_reference"]["estimate"] == a["direct_reference"]["estimate"]
    assert b["direct_reference"]["se"] != a["direct_reference"]["se"]


# --- what is printed and drawn -------------------------------------------------------------------


def test_the_table_says_each_effect_in_plain_words(done, numbers):
    text = done[0]
    for part in (f"What sex = {MALE} rather than {FEMALE} does to hired = {YES}",
                 "direct_reference: direct, on people with z=0",
                 f"z = 1 is {MALE} (", f"z = 0 is {FEMALE} (",
                 "doubly robust, 5 folds", "95% interval by influence", "Overlap of 600", "AUC",
                 "To bring the effect to zero, an unmeasured confounder", "E-value"):  # fmt: skip
        assert part in text
    for name in EFFECTS:
        row = next(line for line in text.splitlines() if f"│ {name}:" in line)
        assert all(f"{numbers[name][key]:+.4f}" in row for key in ("estimate", "low", "high"))


def test_the_verdict_is_printed_with_every_finding(done, numbers):
    assert f"Verdict: {numbers['verdict']['level']}" in done[0]
    for finding in numbers["verdict"]["findings"]:
        assert finding["sentence"] in done[0]


def test_names_are_printed_as_they_stand(done):
    lines = done[0].splitlines()
    for name in ("age [x]", *(f"job={job}" for job in JOBS)):
        assert any(line.startswith(f"│ {name} ") for line in lines), name
    for level in (MALE, FEMALE):  # the rows of the table of overlap
        assert any(line.startswith(f"{level} ") for line in lines), level


def test_the_worst_columns_are_those_of_the_balance(done, numbers):
    name, measures = max(
        numbers["balance"]["raw"]["columns"].items(),
        key=lambda item: abs(item[1]["standardized_difference"]),
    )
    row = next(line for line in done[0].splitlines() if line.startswith(f"│ {name} "))
    assert f"{measures['standardized_difference']:+.3f}" in row


def test_every_picture_is_written_as_svg_and_png(done):
    assert sorted(os.listdir(done[1] / "plots")) == [
        f"{name}.{kind}" for name in PICTURES for kind in ("png", "svg")
    ]
    for name in PICTURES:
        assert (done[1] / "plots" / f"{name}.svg").read_bytes().startswith(b"<?xml")
        assert (done[1] / "plots" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_without_outputs_nothing_is_written(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = run(place / "people.csv", *ROLES, *DROP, "--method", "weighting")
    assert "Written" not in text
    assert os.listdir(tmp_path) == []


def test_the_forest_puts_zero_and_both_ends_where_they_belong():
    lines = forest({"a": Estimate(-1.0, 0.0, -2.0, 0.0), "bc": Estimate(4.0, 0.0, 3.0, 5.0)})
    assert [line.index("●") for line in lines[:2]] == [3 + 8, 3 + 47]  # of 56 letters for 7
    assert lines[0].index("━") == 3
    assert lines[1].index("│") == lines[2].index("0", 10) == 3 + 16
    assert lines[2].split() == ["-2.000", "0", "+5.000"]


def test_the_forest_leaves_out_an_end_that_zero_would_hide():
    lines = forest({"a": Estimate(0.5, 0.0, -0.01, 1.0)})
    assert lines[-1].split() == ["0", "+1.000"]


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--target", "hird"], "--target: there is no column 'hird'; did you mean 'hired'?"),
        (["--target", "job"], "--target: column 'job' has 55 rows without a value of 600"),
        (["--sensitive", "sx=M"], "--sensitive: there is no column 'sx'"),
        (["--sensitive", "sex=M"], "--sensitive: column 'sex' has no value 'M'; it has '<b>F</b>&"),
        (["--sensitive", "job=x"], "--sensitive: column 'job' has 55 rows without a value of 600"),
        (["--sensitive", "hired=no"], "--target and --sensitive are both 'hired'"),
        (["--weights", "wait"], "--weights: there is no column 'wait'"),
        (["--drop", "age [x],job"], "no column is left to train on"),
        (["--cv", "300"], "a sensitive level has 2"),
    ],
)
def test_bad_roles_are_refused_and_leave_nothing(flags, expected, place, tmp_path):
    outputs = ["--json", tmp_path / "a" / "out.json", "--plots", tmp_path / "b" / "c"]
    found = complaint(place / "people.csv", *ROLES, *DROP, *flags, *outputs)
    assert found.startswith(expected)
    assert os.listdir(tmp_path) == []


def test_words_and_two_numbers_as_a_target_need_a_positive_value(place, tmp_path):
    file = write(tmp_path / "codes.csv", change(people(), "hired", 1 + np.arange(N) % 2))
    flags = ["--target", "hired", "--sensitive", f"sex={MALE}"]
    for table in (file, place / "people.csv"):
        assert complaint(table, *flags).endswith("with --target hired")


@pytest.mark.parametrize(("value", "reason"), [(None, "without a value"), (np.inf, "is infinite")])
def test_an_unknown_number_as_a_target_is_refused(value, reason, tmp_path):
    pay = [value, *people()["pay"].to_pylist()[1:]]
    file = write(tmp_path / "gaps.parquet", change(people(), "pay", pay))
    found = complaint(file, "--target", "pay", "--sensitive", f"sex={MALE}")
    assert reason in found
    assert "column 'pay'" in found


def test_a_copy_of_the_sensitive_column_is_refused_by_name(tmp_path):
    file = write(tmp_path / "copy.csv", people().append_column("gender", people()["sex"]))
    assert "'gender' is the same as sensitive_features" in complaint(file, *ROLES)


def test_a_target_that_is_the_same_in_a_whole_group_is_refused(tmp_path):
    table = people()
    same = np.where(np.array(table["sex"].to_pylist()) == MALE, YES, table["hired"].to_pylist())
    file = write(tmp_path / "same.csv", change(table, "hired", same))
    assert f"y is the same for every row of sensitive level '{MALE}'" in complaint(file, *ROLES)


def test_the_table_itself_is_never_written_over(place):
    before = (place / "people.csv").read_bytes()
    found = complaint(place / "people.csv", *ROLES, "--json", place / ".." / place.name
                      / "people.csv")  # fmt: skip
    assert found.endswith("is the table itself; give another name")
    assert (place / "people.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--method", "magic"], "'magic' is not one of doubly-robust, surrogate, weighting"),
        (["--interval", "influence", "--bootstrap", "9"], "belongs to --interval bootstrap"),
        (["--bootstrap", "1"], "'--bootstrap'"),
        (["--confidence", "1"], "'--confidence'"),
        (["--cv", "1"], "'--cv'"),
        (["--jobs", "0"], "give at least 1, or -1 for one per core"),
    ],
)
def test_bad_settings_are_bad_usage(flags, expected):
    result = invoke("gone.csv", *ROLES, *flags)
    assert result.exit_code == 2
    assert expected in " ".join(result.output.split())


def test_a_method_may_be_written_with_underscores():
    assert parse_method("doubly_robust") == parse_method("Doubly-Robust")


def test_an_output_that_cannot_be_written_is_refused_before_the_table_is_read(tmp_path):
    (tmp_path / "blocked").write_text("a file")
    output = ["--json", tmp_path / "blocked" / "out.json"]
    found = complaint(tmp_path / "gone.csv", *ROLES, *output)
    assert "blocked" in found
    assert os.listdir(tmp_path) == ["blocked"]


def test_without_matplotlib_pictures_are_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = invoke("gone.csv", *ROLES, "--plots", tmp_path / "plots").exception
    assert isinstance(found, MissingExtraError)
    assert str(found) == "matplotlib is not installed; run: pip install 'unsway[plot]'"
    assert os.listdir(tmp_path) == []


# --- what the data cannot tell -------------------------------------------------------------------


def test_poor_overlap_warns_and_the_verdict_says_so(tmp_path):
    table = people()
    male = np.array(table["sex"].to_pylist()) == MALE
    apart = table["age [x]"].to_numpy() + 24 * male
    file = write(tmp_path / "apart.csv", change(table, "age [x]", apart))
    with pytest.warns(OverlapWarning, match="7[89]% of the propensities lie outside"):
        text = run(file, *ROLES, *DROP, "--json", tmp_path / "out.json")
    assert "Verdict: cannot tell" in text
    assert read_json(tmp_path / "out.json")["verdict"]["level"] == "cannot tell"


def test_a_column_that_tells_the_groups_apart_is_refused_by_name(tmp_path):
    table = people()
    male = np.array(table["sex"].to_pylist()) == MALE
    apart = table["age [x]"].to_numpy() + 60 * male
    file = write(tmp_path / "apart.csv", change(table, "age [x]", apart))
    assert "'age [x]' predicts it almost alone" in complaint(file, *ROLES, *DROP)
    with pytest.warns(OverlapWarning) as seen:
        run(file, *ROLES, *DROP, "--allow-separation", "--json", tmp_path / "out.json")
    assert any("'age [x]' predicts it almost alone" in str(each.message) for each in seen)
    assert read_json(tmp_path / "out.json")["verdict"]["level"] == "cannot tell"


def test_overlap_that_is_warned_of_is_never_called_ok(tmp_path):
    table = people()
    male = np.array(table["sex"].to_pylist()) == MALE
    further = table["age [x]"].to_numpy() + 16 * male
    file = write(tmp_path / "further.csv", change(table, "age [x]", further))
    with pytest.warns(OverlapWarning, match=r"\(more than 25%\)"):
        text = run(file, *ROLES, *DROP, "--json", tmp_path / "out.json")
    numbers = read_json(tmp_path / "out.json")
    assert 0.25 < numbers["overlap"]["share_outside"] < 0.6
    assert numbers["verdict"]["level"] != "ok"
    assert "(at most 25%)" in text


def test_scores_without_noise_have_effects_but_no_sensitivity_analysis(tmp_path):
    table = people()
    male = np.array(table["sex"].to_pylist()) == MALE
    scores = 0.01 * table["age [x]"].to_numpy() + 0.2 * male
    file = write(tmp_path / "scores.parquet", change(table, "pay", scores))
    flags = ["--target", "pay", "--sensitive", f"sex={MALE}", "--drop", "hired,weight"]
    result = invoke(file, *flags, "--method", "surrogate", "--json", tmp_path / "out.json")
    assert result.exit_code == 0, result.output
    assert "Note: no sensitivity analysis: z and X determine y" in result.output
    found = read_json(tmp_path / "out.json")
    assert found["sensitivity"] is None
    assert found["direct_reference"]["estimate"] == pytest.approx(0.2, abs=0.03)


# --- Ctrl-C --------------------------------------------------------------------------------------


@pytest.fixture
def listening():
    """Let Ctrl-C be heard here, also where the tests were started with it ignored (nohup, &)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted_inside_compiled_code(error):
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        if error is not None:
            raise error from None


@pytest.mark.usefixtures("listening")
def test_ctrl_c_that_became_another_error_is_still_ctrl_c():
    with pytest.raises(KeyboardInterrupt), interrupts():
        interrupted_inside_compiled_code(ValueError("no buffer format"))


@pytest.mark.usefixtures("listening")
def test_ctrl_c_that_was_swallowed_counts_at_the_next_question():
    with interrupts() as stop_if_asked:
        stop_if_asked()
        interrupted_inside_compiled_code(None)
        with pytest.raises(KeyboardInterrupt):
            stop_if_asked()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_during_a_bootstrap_exits_with_130_and_leaves_nothing(place, tmp_path):
    code = (
        "from unsway.effects import estimate\n"
        "real = estimate._replicate\n"
        "def marked(*given):\n"
        "    open('started', 'w').close()\n"
        "    return real(*given)\n"
        "estimate._replicate = marked\n"
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from unsway.cli import main; main()\n"
    )
    flags = ["--method", "weighting", "--bootstrap", "100000", "--jobs", "1"]
    command = [place / "people.csv", *ROLES, *DROP, *flags, "--json", "a/b.json", "--plots", "c/d"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, "effects", *map(str, command)],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    for _ in range(600):
        if (tmp_path / "started").exists():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Note: interrupted" in stderr
    assert os.listdir(tmp_path) == ["started"]


@pytest.mark.skipif(os.name == "nt", reason="shells ignore signals on POSIX")
def test_a_command_started_with_ctrl_c_ignored_goes_on_ignoring_it(place, tmp_path):
    code = (
        "import os, signal\n"
        "from unsway.cli import effects\n"
        "real = effects.study\n"
        "def interrupted(*given):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    open('interrupted', 'w').close()\n"
        "    return real(*given)\n"
        "effects.study = interrupted\n"
        "from unsway.cli import main; main()\n"
    )
    flags = [place / "people.csv", *ROLES, *DROP, "--method", "weighting", "--json", "out.json"]
    command = [sys.executable, "-c", code, "effects", *map(str, flags)]
    shell = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh"]  # as nohup and & do
    done = subprocess.run([*shell, *command], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0
    assert sorted(os.listdir(tmp_path)) == ["interrupted", "out.json"]


def test_rows_of_a_cluster_count_as_one(tmp_path):
    table = people()
    thrice = pa.concat_tables([table] * 3)
    names = [f"=p{k}" for k in range(N)] * 3
    write(tmp_path / "many.csv", thrice.append_column("person", pa.array(names)))
    numbers = {}
    for name, more in (("rows", ["--drop", "person"]), ("people", ["--cluster", "person"])):
        output = ["--method", "weighting", "--json", tmp_path / f"{name}.json", "--quiet"]
        run(tmp_path / "many.csv", *ROLES, *DROP, *more, *output)
        numbers[name] = read_json(tmp_path / f"{name}.json")
    ratio = numbers["people"]["total"]["se"] / numbers["rows"]["total"]["se"]
    assert ratio == pytest.approx(3**0.5, rel=0.01)
    assert numbers["people"]["settings"]["n_clusters"] == N
    assert "person" not in json.dumps(numbers["people"]["balance"])
    shown = run(
        tmp_path / "many.csv", *ROLES, *DROP, "--cluster", "person", "--method", "weighting"
    )
    assert f"counting {N} clusters" in shown


def test_a_cluster_that_is_the_target_or_no_column_is_refused(place):
    for column, words in (("hired", "is the target"), ("branch", "no column 'branch'")):
        found = invoke(place / "people.csv", *ROLES, *DROP, "--cluster", column)
        assert found.exit_code != 0
        assert words in str(found.exception)
