"""What is written, printed or pickled holds no value of a row that nobody asked for."""

import json
import logging
import pickle
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from unsway import (
    FairLogisticRegression,
    FairTargetClassifier,
    FairXGBClassifier,
    Parity,
    audit,
    balance,
    effect_curve,
    estimate_effects,
    frontier,
    make_world,
    write_audit_report,
)
from unsway.cli.app import app
from unsway.models.folder import save_model

pytestmark = pytest.mark.filterwarnings("ignore::unsway.OverlapWarning")

N = 600
#: Values that occur nowhere else: of a number, a label, a sensitive value and a column left out.
SECRET_NUMBER, SECRET_NAME = 73_819.4625, "Zdeněk Planted"


@pytest.fixture(scope="module")
def people():
    return make_world("no_direct_effect", N, random_state=0)


def values_of(thing, seen=None, path="it"):
    """Yield every array in a thing, with the way to it."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield path, thing
    elif isinstance(thing, Mapping):
        for key, value in thing.items():
            yield from values_of(value, seen, f"{path}[{key!r}]")
    elif isinstance(thing, list | tuple | set):
        if len(thing) == N:
            yield path, np.array(list(thing), dtype=object)
        for place, value in enumerate(thing):
            yield from values_of(value, seen, f"{path}[{place}]")
    elif hasattr(thing, "__dict__") and not isinstance(thing, type):
        for name, value in vars(thing).items():
            yield from values_of(value, seen, f"{path}.{name}")


def tells(values, z):
    """Return whether an array has a value per row from which z follows."""
    if len(z) not in values.shape or values.dtype.kind not in "biuf":
        return False
    columns = np.moveaxis(values, values.shape.index(len(z)), -1).reshape(-1, len(z))
    return any(_separates(column, z) for column in columns)


def _separates(column, z):
    if not np.isfinite(column).all():
        return False
    if len(np.unique(column)) <= len(z) / 4:  # its values are those of one group each
        means = pd.Series(z).groupby(column).mean()
        return bool(means.isin([0, 1]).all())
    low, high = column[z == 0], column[z == 1]
    return bool(low.max() < high.min() or high.max() < low.min())


def test_the_search_finds_an_attribute_in_whatever_form():
    z = np.arange(N) % 2
    assert tells(z, z)
    assert tells(7.0 - 3 * z, z)
    assert tells(np.c_[np.zeros(N), z], z)
    assert tells(z + np.random.default_rng(0).random(N) / 2, z)
    assert not tells(np.random.default_rng(0).random(N), z)
    assert [path for path, _ in values_of({"a": [replace, z]})] == ["it['a'][1]"]


MAKE = {
    "effects": lambda p: estimate_effects(p.X, p.y, sensitive_features=p.z),
    "effects, bootstrap": lambda p: estimate_effects(
        p.X, p.y, sensitive_features=p.z, interval="bootstrap", n_bootstrap=2, method="weighting"
    ),
    "curve": lambda p: effect_curve(p.X, p.y, sensitive_features=p.z),
    "balance": lambda p: balance(p.X, sensitive_features=p.z),
    "audit": lambda p: audit(p.y, p.fair_score, sensitive_features=p.z, X=p.X, n_bootstrap=0),
    "audit, bootstrap": lambda p: audit(
        p.y, p.fair_score, sensitive_features=p.z, X=p.X, n_bootstrap=5, baseline=p.fair_score**2
    ),
    "sweep": lambda p: frontier(
        FairLogisticRegression(Parity()), p.X, p.y, sensitive_features=p.z, strengths=[0, 0.5]
    ),
    "logistic": lambda p: FairLogisticRegression().fit(p.X, p.y, sensitive_features=p.z),
    "booster": lambda p: FairXGBClassifier().fit(p.X, p.y, sensitive_features=p.z),
    "penalty": lambda p: FairXGBClassifier(Parity()).fit(p.X, p.y, sensitive_features=p.z),
    "wrapped": lambda p: FairTargetClassifier().fit(p.X, p.y, sensitive_features=p.z),
}


@pytest.mark.parametrize("name", MAKE)
def test_a_pickle_does_not_tell_the_attribute_of_a_row(name, people):
    made = MAKE[name](people)
    again = pickle.loads(pickle.dumps(made))  # noqa: S301
    told = [path for path, values in values_of(again) if tells(values, people.z)]
    assert told == []


def test_effects_judge_scores_in_their_session_and_say_why_not_elsewhere(people):
    made = MAKE["effects"](people)
    here = made.direct_effect_left(people.fair_score)
    again = pickle.loads(pickle.dumps(made))  # noqa: S301
    assert repr(again) == repr(made)
    assert again.to_dict() == made.to_dict()
    for method in (again.direct_effect_left, again.gap_parts):
        with pytest.raises(ValueError, match=r"which has no rows.*keep_rows=True"):
            method(people.fair_score)
    kept = estimate_effects(people.X, people.y, sensitive_features=people.z, keep_rows=True)
    there = pickle.loads(pickle.dumps(kept))  # noqa: S301
    assert there.direct_effect_left(people.fair_score) == here


# --- planted values ------------------------------------------------------------------------------


def planted(folder):
    """Write a table with values that must stay in it; return its path."""
    random = np.random.default_rng(0)
    sex = random.integers(0, 2, N)
    age = 40 + 10 * random.normal(size=N)
    table = pd.DataFrame(
        {
            "hired": (age + 5 * sex + 10 * random.normal(size=N) > 42).astype(int),
            "sex": np.where(sex, "Male", "Female"),
            "age": age.round(4),
            "pay": [SECRET_NUMBER, *random.normal(1_000, 100, N - 1).round(3)],
            "score": (age / 100).clip(0.01, 0.99).round(3),
            "name": [SECRET_NAME, *(f"Person {k}" for k in range(N - 1))],
        }
    )
    table.to_csv(folder / "people.csv", index=False)
    return folder / "people.csv"


ROLES = ["--target", "hired", "--sensitive", "sex=Male", "--drop", "name,score"]
LOGISTIC = ["--engine", "logistic", "--criterion", "parity"]
COMMANDS = {
    "fit": ["fit", "people.csv", *ROLES, *LOGISTIC, "-o", "out"],
    "boost": ["fit", "people.csv", *ROLES, "--criterion", "parity", "-o", "out"],
    "frontier": ["frontier", "people.csv", *ROLES, *LOGISTIC, "--strengths", "0,0.5", "-o", "out"],
    "effects": ["effects", "people.csv", *ROLES, "--json", "out.json"],
    "audit": [
        "audit", "people.csv", *ROLES[:4], "--drop", "name", "--scores", "column:score",
        "--bootstrap", "0", "--json", "out.json", "--csv", "out.csv",
    ],
    "names": ["fit", "people.csv", *ROLES[:4], *LOGISTIC, "-o", "out"],
    "a wrong value": ["fit", "people.csv", "--target", "name", *ROLES[2:4], "-o", "out"],
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.filterwarnings("ignore")
def test_no_planted_value_is_written_or_printed(name, tmp_path, monkeypatch, caplog):
    planted(tmp_path)
    monkeypatch.chdir(tmp_path)
    with caplog.at_level(logging.DEBUG):
        done = CliRunner().invoke(app, COMMANDS[name])
    texts = {"output": done.output, "error": repr(done.exception), "log": caplog.text}
    for path in Path().rglob("*"):
        if path.is_file() and path.name != "people.csv":
            texts[str(path)] = path.read_bytes().decode("utf-8", errors="ignore")
    for place, text in texts.items():
        for secret in (SECRET_NAME, json.dumps(SECRET_NAME)[1:-1], "73819.46", "73,819.46"):
            assert secret not in text, place
    expected = 1 if name in ("names", "a wrong value") else 0
    assert done.exit_code == expected, done.output + repr(done.exception)


def test_a_report_holds_no_row(people, tmp_path):
    pytest.importorskip("altair")
    y_pred = people.fair_score.copy()
    y_pred[0] = 0.738194625
    found = audit(people.y, y_pred, sensitive_features=people.z, X=people.X, n_bootstrap=0)
    page = write_audit_report(found, tmp_path / "report.html").read_text("utf-8")
    assert "738194" not in page


def test_a_folder_that_would_list_the_people_is_refused(people, tmp_path):
    names = [f"Person {k}" for k in range(N)]
    table = pd.DataFrame({"x": np.asarray(people.X)[:, 0], "name": names})
    model = FairXGBClassifier(Parity()).fit(table, people.y, sensitive_features=people.z)
    with pytest.raises(ValueError, match="column 'name' has 600 levels in 600 rows"):
        save_model(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()
