"""The help of every command is whole: what it does, what each option is, and an example."""

import re
import shlex

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from unsway import make_world
from unsway.cli.app import app


def commands(group=app, path=()):
    """Yield every command with the words that call it."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


ALL = dict(commands())
each_command = pytest.mark.parametrize("path", ALL, ids=" ".join)


@each_command
def test_every_option_says_what_it_is(path):
    options = [each for each in ALL[path].params if isinstance(each, click.Option)]
    silent = [each.name for each in options if not (each.help or "").strip()]
    assert silent == []


@each_command
def test_the_help_is_sentences_and_ends_with_an_example_that_parses(path):
    text = CliRunner().invoke(app, [*path, "--help"]).output
    command = ALL[path]
    assert re.match(r"[A-Z].*\.$", command.help.strip(), flags=re.DOTALL)
    lines = text.rstrip().splitlines()
    at = lines.index("  Example:")
    words = shlex.split(" ".join(lines[at + 1 :]))
    assert words[: 1 + len(path)] == ["unsway", *path]
    context = command.make_context("unsway", words[1 + len(path) :], resilient_parsing=False)
    assert context.params


@pytest.fixture
def tables(tmp_path):
    """Write a table to train on and one to judge by, and return their folder."""
    for name, rows, seed in (("train", 800, 0), ("test", 800, 1), ("many", 2_500, 2)):
        people = make_world("adult", rows, random_state=seed)
        frame = pd.DataFrame(people.X[:, :8], columns=[f"x{k}" for k in range(8)])
        frame = frame.assign(hired=people.y, sex=np.where(people.z == 1, "m", "f"))
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


def fit(tables, *more, file="train.csv"):
    line = ["fit", tables / file, "--target", "hired", "--sensitive", "sex=m"]
    line += ["--engine", "logistic", "--param", "l2=0.01", "-o", tables / "model", *more]
    return CliRunner().invoke(app, list(map(str, line)))


def test_fit_says_by_fresh_rows_whether_it_worked(tables):
    done = fit(tables, "--test", tables / "test.csv")
    assert done.exit_code == 0, done.output
    assert "On the 800 rows of test.csv" in done.output
    [line] = re.findall(r"direct effect in the scores, points.*", done.output)
    assert line.count("[") == 2
    assert "share of it passed on" in done.output
    assert re.search(r"AUC[^\d]*0\.\d{4}", done.output)


def test_without_fresh_rows_fit_judges_a_second_training_by_a_fifth_of_the_rows(tables):
    done = fit(tables, file="many.csv")
    assert done.exit_code == 0, done.output
    assert "trained on four fifths of the rows, judged by the others:" in done.output
    assert "On 500 rows held out" in done.output
    [line] = re.findall(r"direct effect in the scores, points.*", done.output)
    assert line.count("[") == 2
    model = (tables / "model" / "model.json").read_bytes()
    plain = fit(tables, "--no-check", "--overwrite", file="many.csv")
    assert "held out" not in plain.output.replace("no rows were held out", "")
    assert (tables / "model" / "model.json").read_bytes() == model  # trained on all rows


def test_few_rows_are_not_split_and_fit_says_so(tables):
    assert "800 rows are too few to hold some out; --test FILE" in " ".join(
        fit(tables).output.split()
    )


def test_fit_refuses_to_judge_by_the_rows_it_was_trained_on(tables):
    done = fit(tables, "--test", tables / "train.csv")
    assert done.exit_code == 1
    assert "trained on" in str(done.exception)
    assert (tables / "model" / "card.json").exists()


def test_a_test_file_that_is_not_there_is_refused_before_any_work(tables):
    done = fit(tables, "--test", tables / "gone.csv")
    assert "there is no file" in str(done.exception)
    assert not (tables / "model").exists()
