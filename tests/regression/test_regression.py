"""Today's code gives the numbers that were recorded in ``fixture.json``.

The fixture is a small part of what `record` writes, made by
``python tests/regression/record.py tests/regression/fixture.json --fixture``. It is recorded again
only where a value is meant to change, and the commit says which and why. Of each case it holds a
few values, and `all`, which changes with any value; to see which one changed, record the case in
full before and after the change (``--only NAME``) and use `compare`.

Cases that name no engine are arithmetic of NumPy and SciPy. They are compared whatever is
installed, to 1e-9 or the tolerance of their kind, whichever is larger: another BLAS or CPU changes
the rounding only. Cases that name an engine (XGBoost, LightGBM, PyTorch, JAX, or the models of
scikit-learn) are compared where that engine has the version, and the machine the architecture, that
the fixture was recorded with, and are skipped elsewhere: a release of an engine may grow another
tree or stop a solver at another step.
"""

import json
from pathlib import Path

import pytest

from regression.cases import CASES
from regression.compare import RENAMES, compare, compare_case, renamed
from regression.record import versions
from regression.registry import TOLERANCES, digest, flat, thin

FIXTURE = json.loads(Path(__file__).with_name("fixture.json").read_text("utf-8"))
#: The least that is allowed between machines.
ROUNDING = 1e-9


def why_not_comparable(engines):
    """Return which engine is not the recorded one, or None."""
    here, recorded = versions(), FIXTURE["versions"]
    for name in (*engines, "machine") if engines else ():
        if here[name] != recorded[name]:
            return f"{name} is {here[name]}; recorded with {recorded[name]}"
    return None


@pytest.mark.parametrize("name", FIXTURE["cases"])
def test_a_case_gives_what_was_recorded(name):
    case, recorded = CASES[name], FIXTURE["cases"][name]
    reason = why_not_comparable(case.engines)
    if reason is not None:
        pytest.skip(reason)
    limit = max(ROUNDING, TOLERANCES[case.kind])
    found, more, count = compare_case(recorded, {"values": thin(case.values())}, RENAMES, limit)
    assert found == []
    assert more == 0
    assert count > 0


def test_the_fixture_has_every_case_that_belongs_to_it():
    assert set(FIXTURE["cases"]) == {name for name, case in CASES.items() if case.fixture}


def test_every_kind_of_number_is_in_the_fixture():
    kinds = {entry["kind"] for entry in FIXTURE["cases"].values()}
    assert kinds == {"exact", "iterative", "float32"}


# --- the comparer finds what it is there for -----------------------------------------------------


def recording(kind="exact", **values):
    return {"case": {"kind": kind, "values": values}}


@pytest.mark.parametrize(
    ("kind", "new", "n_differences"),
    [
        ("exact", 2.0 + 1e-12, 0),
        ("exact", 2.0 + 1e-11, 1),
        ("iterative", 2.0 + 1e-8, 0),
        ("iterative", 2.0 + 1e-7, 1),
        ("float32", 2.0 + 1e-6, 0),
        ("float32", 2.0 + 1e-5, 1),
        ("exact", "nan", 1),
        ("exact", None, 1),
    ],
)
def test_a_number_is_held_to_the_tolerance_of_its_kind(kind, new, n_differences):
    result = compare(recording(kind, a=2.0), recording(kind, a=new), {})
    assert len(result.differences) == n_differences


def test_the_tolerance_of_a_small_number_is_absolute():
    assert compare(recording(a=1e-13), recording(a=9e-13), {}).differences == []


def test_each_number_of_a_list_is_compared():
    result = compare(recording(a=[1.0, 2.0, 3.0]), recording(a=[1.0, 5.0, 3.0]), {})
    assert [difference.name for difference in result.differences] == ["a[1]"]
    assert result.n_values == 3


def test_lists_of_different_length_differ():
    assert compare(recording(a=[1.0]), recording(a=[1.0, 2.0]), {}).differences


def test_a_missing_value_and_a_missing_case_are_differences():
    assert len(compare(recording(a=1.0), recording(b=1.0), {}).differences) == 1
    assert len(compare(recording(a=1.0), {}, {}).differences) == 1


def test_a_case_that_fails_is_a_difference():
    failed = {"case": {"kind": "exact", "error": "ValueError: no"}}
    assert compare(recording(a=1.0), failed, {}).differences
    assert compare(failed, failed, {}).differences


def test_a_renamed_value_is_found_under_its_new_name():
    old = recording(**{"labels/D0/se": 0.5, "effect": "D0"})
    new = recording(**{"labels/direct/se": 0.5, "effect": "direct"})
    assert compare(old, new, {"D0": "direct"}).differences == []
    assert len(compare(old, new, {}).differences) == 2


def test_a_name_is_renamed_by_whole_parts_alone():
    assert renamed("D0/D01/D0|x", {"D0": "direct"}) == "direct/D01/direct|x"


def test_words_that_differ_are_a_remark():
    result = compare(recording("words", a="one"), recording("words", a="two"), {})
    assert result.differences == []
    assert len(result.remarks) == 1


def test_rows_of_a_table_are_named_by_what_identifies_them():
    rows = [{"metric": "auc", "group": "z=1", "value": 0.5}, {"metric": "auc", "value": 0.7}]
    found = flat({"metrics": rows})
    assert found["metrics/auc|z=1/value"] == 0.5
    assert found["metrics/auc/value"] == 0.7


def test_sentences_and_seconds_are_left_out():
    found = flat({"seconds": 0.1, "a": 1, "b": "x" * 41, "c": "x", "sentence": "y"})
    assert found == {"a": 1, "c": "x"}


def test_a_digest_changes_when_two_rows_are_exchanged():
    assert digest([1.0, 2.0, 3.0])["projection"] != digest([2.0, 1.0, 3.0])["projection"]


def test_any_number_of_a_thinned_case_shows_in_its_sum():
    values = {f"value {k}": k / 7 for k in range(40)}
    changed = {**values, "value 23": 23 / 7 + 1e-6}
    assert abs(thin(values)["all"] - thin(changed)["all"]) > 1e-8
