"""The report of an audit of counts."""

import json

import numpy as np
import pytest

pytest.importorskip("altair")
pytest.importorskip("jinja2")

from unsway import audit, make_world, write_audit_report
from unsway.groups import Grouping

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def found():
    people = make_world("claims", 1_500, random_state=4)
    z = np.where(people.z == 1, HOSTILE, "woman")
    return audit(
        people.y, people.fair_score, sensitive_features=z, loss="poisson",
        exposure=people.exposure, X=people.X, baseline=np.full(1_500, 0.2), n_bootstrap=10,
        groups=Grouping(reference="woman"),
    )  # fmt: skip


def test_the_page_has_every_section_and_no_markup_of_the_data(found, tmp_path):
    text = write_audit_report(found, tmp_path / "r.html").read_text("utf-8")
    for name in ("effects", "baseline", "groups", "calibration", "order", "overlap", "limits"):
        assert f'id="{name}"' in text
    assert HOSTILE not in text
    assert "y per unit of exposure" in text


def test_the_page_can_be_made_from_what_was_stored(found, tmp_path):
    stored = json.loads(found.to_json())
    one = write_audit_report(found, tmp_path / "a.html", title="Motor").read_text("utf-8")
    two = write_audit_report(stored, tmp_path / "b.html", title="Motor").read_text("utf-8")
    assert one == two
    assert "<h1>Motor</h1>" in one


def test_an_audit_without_effects_has_a_page(tmp_path):
    people = make_world("claims", 400, random_state=4)
    found = audit(
        people.y, people.fair_score, sensitive_features=people.z, loss="poisson",
        exposure=people.exposure, n_bootstrap=0,
    )  # fmt: skip
    text = write_audit_report(found, tmp_path / "r.html").read_text("utf-8")
    assert 'id="effects"' not in text
    assert 'id="groups"' in text


def test_something_else_is_refused(tmp_path):
    with pytest.raises(TypeError, match="must be an Audit"):
        write_audit_report(3, tmp_path / "r.html")
    with pytest.raises(ValueError, match="schema version"):
        write_audit_report({"schema_version": 1}, tmp_path / "r.html")
