"""Effects as a result: frames, JSON, text, plots."""

from __future__ import annotations

import json

import numpy as np
import pytest
from contracts import assert_close, make_people
from sklearn.linear_model import LogisticRegression

from unsway.effects.estimation import estimate_effects
from unsway.effects.influence import EFFECTS
from unsway.grouping import Grouping

LOGISTIC = LogisticRegression(max_iter=1000)
PEOPLE = make_people(400)


def effects(people=PEOPLE, **options):
    chosen = {"propensity_model": LOGISTIC, "outcome_model": LOGISTIC, "cv": 3, **options}
    X, y, z = (chosen.pop(name, getattr(people, name)) for name in ("X", "y", "z"))
    return estimate_effects(X, y, sensitive_features=z, **chosen)


def numbers(found, key="estimate"):
    return np.array([getattr(each, key) for each in found.estimates().values()])


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_effects_become_a_frame_of_any_library(backend):
    pytest.importorskip(backend)
    found = effects()
    frame = found.to_frame(backend)
    assert type(frame).__module__.split(".")[0] == backend
    columns = {name: list(frame[name]) for name in ("effect", "estimate", "se", "low", "high")}
    if backend == "pyarrow":
        columns = {name: [value.as_py() for value in each] for name, each in columns.items()}
    assert columns["effect"] == list(EFFECTS)
    assert columns["estimate"] == numbers(found).tolist()


def test_effects_become_json():
    found = effects(cv=np.int64(3), random_state=np.int64(0), clip=np.float32(0.01))
    read = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert list(read)[: len(EFFECTS)] == list(EFFECTS)
    assert read["direct_reference"] == found.direct_reference.to_dict()
    assert read["settings"]["method"] == "doubly_robust"
    assert read["settings"]["n_rows"] == 400
    assert read["overlap"]["rows"] == [int((PEOPLE.z == k).sum()) for k in (0, 1)]


def test_the_printed_effects_name_the_levels_and_hold_every_number():
    z = np.where(PEOPLE.z == 1, "Male", "Female")
    found = effects(z=z, groups=Grouping(reference="Female"))
    text = repr(found)
    assert text.startswith("Effects of Male against Female (doubly robust, 400 rows, 95% intervals")
    for name, each in found.estimates().items():
        line = next(line for line in text.splitlines() if line.startswith(f"{name} "))
        assert f"{each.estimate:.4f}" in line
        assert f"{each.high:.4f}" in line


def test_a_notebook_shows_levels_as_text_not_as_markup():
    z = np.where(PEOPLE.z == 1, "<b>M</b>", "F&G")
    shown = effects(z=z, groups=Grouping(reference="F&G"))._repr_html_()
    assert "<b>" not in shown
    assert "&lt;b&gt;M&lt;/b&gt; against F&amp;G" in shown
    assert shown.count("<tr>") == 1 + len(EFFECTS)


def test_effects_are_drawn_on_the_axes_given_or_new_ones():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    found = effects()
    _, ax = pyplot.subplots()
    assert found.plot(ax) is ax
    assert len(found.plot().get_yticklabels()) == len(EFFECTS)
    pyplot.close("all")


def test_effects_carry_their_nuisances_for_another_run():
    found = effects()
    again = effects(nuisances=found.nuisances)
    assert_close(numbers(again), numbers(found), 1e-12)
    weighted = effects(nuisances=found.nuisances, method="weighting")
    assert_close(numbers(weighted), numbers(effects(method="weighting")), 1e-12)
