"""What the pages hold; test_browser.py looks at what they do."""

import copy
import json
import re
from dataclasses import replace
from html import unescape

import pytest
from report.conftest import HOSTILE, make_frontier

from unsway.auditing import audit
from unsway.auditing.numbers import points
from unsway.report import charts, write_audit_report, write_frontier_report
from unsway.sweeps import Frontier, Point

pytest.importorskip("altair", reason="the report extra is not installed")

MOST_BYTES = 3_000_000


def read(path):
    """Return a page, its text, and its data."""
    html = path.read_text("utf-8")
    data = re.search(r'<script type="application/json" id="report-data">(.*?)</script>', html, re.S)
    return html, unescape(re.sub(r"<[^>]+>", " ", body_of(html))), json.loads(data[1])


def body_of(html):
    """Return a page without its scripts and styles."""
    return re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.S)


@pytest.fixture(scope="module")
def audit_page(audited, tmp_path_factory):
    return read(write_audit_report(audited, tmp_path_factory.mktemp("r") / "audit.html"))


@pytest.fixture(scope="module")
def frontier_page(tmp_path_factory):
    found = make_frontier()
    path = tmp_path_factory.mktemp("r") / "frontier.html"
    choice = found.select(max_direct_effect=0.02)
    return read(write_frontier_report(found, path, choice=choice))


# --- the audit ------------------------------------------------------------------------------------


def test_an_audit_report_opens_with_the_audits_own_decision(audit_page, audited):
    _, text, _ = audit_page
    decision = audited["decision"]
    assert decision["headline"] in text
    assert " ".join(decision["sentences"]) in text
    assert " ".join(decision["next_steps"]) in text
    assert all(line in text for line in decision["basis"])


def test_an_audit_report_has_every_section(audit_page):
    html, _, _ = audit_page
    found = re.findall(r'<section id="([a-z]+)"', html)
    assert found == [
        "effects", "baseline", "groups", "calibration", "overlap", "robustness", "limits",
        "appendix", "settings", "citing", "signatures",
    ]  # fmt: skip


def test_every_chart_has_words_and_a_table(audit_page):
    html, _, data = audit_page
    places = re.findall(r'id="chart-([a-z]+)" role="img" aria-label="([^"]{40,})"', html)
    assert [name for name, _ in places] == list(data["charts"])
    assert html.count("<details>") == len(places)


def test_the_numbers_shown_are_those_of_the_audit(audit_page, audited):
    _, text, _ = audit_page
    parts = audited["causal"]["parts"]
    for name in ("explained", "sharpness", "passed_on", "z_itself", "rest", "direct"):
        assert f"{points(parts[name]['estimate'])} (" in text
    parity = [r for r in audited["metrics"] if r["metric"] == "demographic_parity_difference"]
    assert f"{parity[0]['estimate']:.3f} ({parity[0]['low']:.3f} to" in text


def test_an_audit_itself_gives_the_same_page_as_its_dict(people, tmp_path):
    found = audit(people.y, people.fair_score, sensitive_features=people.z, n_bootstrap=0)
    first = write_audit_report(found, tmp_path / "a.html").read_bytes()
    assert first == write_audit_report(found.to_dict(), tmp_path / "b.html").read_bytes()


def test_an_audit_without_x_says_what_is_missing(people, tmp_path):
    found = audit(people.y, people.fair_score, sensitive_features=people.z, n_bootstrap=0)
    html, text, _ = read(write_audit_report(found, tmp_path / "a.html"))
    assert "The direct effect was not judged" in text
    assert "X was not given" in text
    assert 'id="overlap"' not in html
    assert 'data-level="unknown"' in html


def test_several_thresholds_stand_in_a_table_of_their_own(people, tmp_path):
    found = audit(
        people.y,
        people.fair_score,
        sensitive_features=people.z,
        threshold=[0.3, 0.7],
        n_bootstrap=0,
    )
    html, text, _ = read(write_audit_report(found, tmp_path / "a.html"))
    rate = found.metrics["selection_rate", "z=1", 0.7].estimate
    line = re.search(r'<th scope="row">0\.7</th>(.*?)</tr>', html)[1]
    assert f"<td>{rate:.3f}</td>" in line
    assert "A row is selected when its score exceeds 0.3;" in text


# --- the frontier ---------------------------------------------------------------------------------


def test_the_slider_opens_at_the_chosen_strength(frontier_page):
    html, text, data = frontier_page
    assert data["strengths"][data["start"]] == 0.5
    assert 'max="4" step="1" value="2"' in html
    assert "Chosen: 0.5" in text


def test_the_data_hold_every_strength(frontier_page):
    _, _, data = frontier_page
    points = data["data"]["points"]
    assert [point["strength"] for point in points] == [0.0, 0.25, 0.5, 0.75, 0.95]
    assert points[1]["parts"]["test"]["accuracy"] == pytest.approx(0.8445)


def test_every_moving_text_has_a_version_per_strength(frontier_page):
    html, _, data = frontier_page
    assert {len(texts) for texts in data["texts"]} == {5}
    assert len(data["texts"]) == html.count("data-moves=")


def test_a_sweep_whose_data_were_not_checked_is_never_good(frontier_page):
    _, _, data = frontier_page
    assert data["levels"] == ["bad", "bad", "caution", "bad", "bad"]


def test_a_frontier_without_direct_effects_is_shown_by_its_gap(tmp_path):
    names = ("direct_effect_left", "_se", "_low", "_high")
    points = tuple(
        replace(
            p,
            parts={
                "validation": {
                    k: v for k, v in p.parts["test"].items() if not k.startswith(names[0])
                }
            },
        )
        for p in make_frontier().points
    )
    found = Frontier(points=points)
    html, text, _ = read(write_frontier_report(found, tmp_path / "f.html"))
    assert "Accuracy against the gap of the scores" in text
    assert 'id="effects"' not in html


def test_a_strength_that_failed_is_named_and_left_off_the_slider(tmp_path):
    found = make_frontier()
    points = (*found.points, Point(strength=0.99, error="it diverged"))
    failed = replace(found, points=points)
    _, text, data = read(write_frontier_report(failed, tmp_path / "f.html"))
    assert "Strength 0.99 failed: it diverged." in text
    assert 0.99 not in data["strengths"]


def test_a_strength_chosen_on_the_rows_shown_is_owned_up_to(tmp_path):
    found = make_frontier()
    told = {}
    for part in ("validation", "test"):
        choice = found.select("knee", part=part)
        path = write_frontier_report(found, tmp_path / f"{part}.html", choice=choice)
        told[part] = read(path)[1]
    assert "chosen on the validation rows and is judged on the test rows." in told["validation"]
    assert "chosen on the test rows, on which it is judged here" in told["test"]
    assert "and is judged on the test rows" not in told["test"]


def test_a_sweep_without_an_audit_says_that_overlap_was_not_checked(frontier_page):
    _, text, _ = frontier_page
    assert "Overlap and balance of these rows were not checked" in text
    assert "Overlap and balance are not part of a sweep" in text


def test_audits_of_every_strength_bring_their_decisions(audited, tmp_path):
    hidden = copy.deepcopy(audited)
    hidden["decision"] |= {"state": "cannot tell", "sentences": ["It must not be relied on."]}
    found = make_frontier()
    points = (*found.points, Point(strength=0.99, error="it diverged"))
    failed = replace(found, points=points, notes=("a note",))
    audits = dict.fromkeys(found.strengths, hidden)
    _, text, data = read(write_frontier_report(failed, tmp_path / "f.html", audits=audits))
    assert set(data["levels"]) == {"caution"}
    assert "must not be relied on" in text
    assert "Strength 0.99 failed: it diverged." in text
    assert "A note." in text


def test_groups_are_called_by_the_levels_of_the_models(tmp_path):
    class Model:
        sensitive_levels_ = ("women", "<men>")

    found = make_frontier(models={0.0: Model()})
    _, text, _ = read(write_frontier_report(found, tmp_path / "f.html"))
    assert (
        "The scores hold a direct effect: 10.2 points higher for <men> than the covariates explain"
    ) in text
    assert "All differences are <men> minus women." in text


def test_a_strength_that_takes_out_too_much_says_who_scores_lower(tmp_path):
    found = make_frontier([0.95])
    _, text, _ = read(write_frontier_report(found, tmp_path / "f.html"))
    assert "direct effect: 8.8 points lower for z = 1 than the covariates explain" in text


def test_audits_of_every_strength_move_with_the_slider(audited, tmp_path):
    found = make_frontier()
    audits = {}
    for place, strength in enumerate(found.strengths):
        audits[strength] = copy.deepcopy(audited)
        for row in audits[strength]["metrics"]:
            if row["metric"] == "recall" and row["estimate"] is not None:
                row["estimate"] = 0.1 * place
    _, text, data = read(write_frontier_report(found, tmp_path / "f.html", audits=audits))
    assert "Overlap and balance" in text
    recalls = [t for t in data["texts"] if t[1].startswith("0.100 (")]
    assert [text[:5] for text in recalls[0]] == ["0.000", "0.100", "0.200", "0.300", "0.400"]
    kept = {row["position"] for row in rows_of(data["charts"]["calibration"])}
    assert kept == {0, 1, 2, 3, 4}


def rows_of(spec):
    return spec["datasets"]["rows"]


# --- hostile names --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile_audit(audited):
    found = copy.deepcopy(audited)
    found["sensitive"] = {"name": HOSTILE[1], "levels": [HOSTILE[0], HOSTILE[2]]}
    for weighting in found["causal"]["balance"].values():
        columns = weighting["columns"]
        weighting["columns"] = dict(
            zip([*HOSTILE, *columns], [*columns.values()] * 2, strict=False)
        )
    for row, name in zip(found["causal"]["sensitivity"]["benchmarks"], HOSTILE * 20, strict=False):
        row["benchmark"] = name
    found["decision"]["headline"] = HOSTILE[0] + " " + HOSTILE[3]
    found["causal"]["notes"] = [HOSTILE[1]]
    return found


def test_hostile_names_are_shown_escaped(hostile_audit, tmp_path):
    html, text, data = read(
        write_audit_report(hostile_audit, tmp_path / "a.html", title=HOSTILE[0])
    )
    assert html.count("<script") == 3  # the data, the library and our own
    assert html.count("</script>") == 3
    assert "<img" not in body_of(html)
    assert "onerror=alert(1)>" in text
    assert text.count("<script>alert(1)</script>") > 3
    assert "{{7*7}}" in text
    assert "x" * 200 not in html
    assert "=HYPERLINK(1)" in text
    names = {row["column"] for row in rows_of(data["charts"]["balance"])}
    assert "<script>alert(1)</script>" in names


def test_a_page_is_small_however_many_columns_and_strengths_there_are(hostile_audit, tmp_path):
    wide = copy.deepcopy(hostile_audit)
    for weighting in wide["causal"]["balance"].values():
        line = next(iter(weighting["columns"].values()))
        weighting["columns"] = {f"column {k} {'y' * 300}": line for k in range(5_000)}
    assert write_audit_report(wide, tmp_path / "a.html").stat().st_size < MOST_BYTES
    found = make_frontier([k / 250 for k in range(250)])
    assert write_frontier_report(found, tmp_path / "f.html").stat().st_size < MOST_BYTES


def test_a_page_with_forty_audits_is_small(audited, tmp_path):
    found = make_frontier([k / 40 for k in range(40)])
    audits = dict.fromkeys(found.strengths, audited)
    path = write_frontier_report(found, tmp_path / "f.html", audits=audits)
    assert path.stat().st_size < MOST_BYTES


# --- the page itself ------------------------------------------------------------------------------


def test_a_report_may_load_nothing_and_run_only_its_own_scripts(audit_page):
    html, _, _ = audit_page
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert (
        re.findall(r'<(?:link|img|iframe|object)\b[^>]*(?:src|href)="(?!data:)', body_of(html))
        == []
    )


def test_a_report_is_the_same_each_time(audited, tmp_path):
    first = write_audit_report(audited, tmp_path / "a.html").read_bytes()
    assert first == write_audit_report(audited, tmp_path / "b.html").read_bytes()


def test_colours_of_charts_follow_the_page():
    rows = [{"low": 0, "high": 1, "group": "a", "density": 1, "height": 1}]
    spec = charts.overlap(rows, ("a", "b"), [0, 1])
    assert re.findall(r"#[0-9a-fA-F]{6}", json.dumps(spec)) == []


# --- bad input ------------------------------------------------------------------------------------


def test_what_is_no_audit_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(TypeError, match="audit must be an Audit; got int"):
        write_audit_report(3, tmp_path / "a.html")
    with pytest.raises(ValueError, match="schema version 99; this report reads 2"):
        write_audit_report({"schema_version": 99}, tmp_path / "a.html")
    with pytest.raises(TypeError, match="frontier must be a Frontier; got dict"):
        write_frontier_report({}, tmp_path / "a.html")
    assert list(tmp_path.iterdir()) == []


def test_a_frontier_of_failures_is_refused(tmp_path):
    found = Frontier(points=(Point(strength=0.5, error="no"),))
    with pytest.raises(ValueError, match="no strength of the frontier was fitted"):
        write_frontier_report(found, tmp_path / "f.html")


def test_audits_of_some_strengths_are_refused(audited, tmp_path):
    with pytest.raises(ValueError, match=r"audits lacks 4 of 5 strengths, such as 0\.25"):
        write_frontier_report(make_frontier(), tmp_path / "f.html", audits={0.0: audited})


def test_a_choice_of_another_frontier_is_refused(tmp_path):
    choice = make_frontier([0.0, 0.6]).select("knee")
    other = make_frontier([0.1, 0.2])
    with pytest.raises(ValueError, match="which the frontier lacks"):
        write_frontier_report(other, tmp_path / "f.html", choice=choice)


def test_a_folder_is_no_place_for_a_page(audited, tmp_path):
    with pytest.raises(IsADirectoryError, match="give the name of a file"):
        write_audit_report(audited, tmp_path)


# --- the first screen -----------------------------------------------------------------------------


def test_the_first_screen_says_what_was_audited_and_by_whom(audited, tmp_path):
    about = {**audited, "about": {"file": "spring.csv", "model id": "0a1b"}}
    about["settings"] = {**audited["settings"], "favourable": "0"}
    path = write_audit_report(about, tmp_path / "a.html", owner="<b>Risk</b>")
    html, text, _ = read(path)
    head = html[: html.index('id="verdict"')]
    for words in ("spring.csv", "0a1b", "favourable", "&lt;b&gt;Risk&lt;/b&gt;", "sensitive"):
        assert words in head
    assert "Owner: <b>Risk</b>" in text
    assert html.count("<span>Signature</span>") == 3


def test_a_sweep_says_what_was_stated_of_its_labels(tmp_path):
    path = write_frontier_report(make_frontier(), tmp_path / "f.html", favourable="0", margin=0.2)
    _, text, _ = read(path)
    assert "in favour of z = 0: 10.2 points higher for z = 1" in text
    assert "below 20 points" in text


def test_each_part_of_a_gap_begins_where_the_one_above_ends(audit_page):
    _, _, data = audit_page
    rows = rows_of(data["charts"]["decomposition"])
    parts, whole = rows[:-1], rows[-1]
    assert [row["begin"] for row in parts[1:]] == pytest.approx([r["end"] for r in parts[:-1]])
    assert (parts[0]["begin"], whole["begin"]) == (0, 0)
    assert whole["end"] == pytest.approx(parts[-1]["end"], abs=1e-5)
    sides = {row["side"] for row in rows if row["end"] < row["begin"]}
    assert sides <= {"left"}


def with_parts(point):
    """Return the point with the parts of the gap of its scores on each part of the rows."""
    sizes = {"explained": 0.15, "sharpness": -0.03, "passed_on": 0.1 - 0.1 * point.strength,
             "z_itself": 0.01, "rest": 0.02}  # fmt: skip
    ends = {f"gap_{name}_{end}": size for name, size in sizes.items() for end in ("low", "high")}
    more = {**ends, **{f"gap_{name}": size for name, size in sizes.items()}}
    parts = {name: {**figures, **more} for name, figures in point.parts.items()}
    return replace(point, parts=parts)


def test_a_frontier_splits_the_gap_in_the_parts_that_an_audit_does(audit_page, tmp_path):
    found = make_frontier()
    found = replace(found, points=tuple(map(with_parts, found.points)))
    _, text, data = read(write_frontier_report(found, tmp_path / "frontier.html"))
    audit_rows, rows = (rows_of(each["charts"]["decomposition"]) for each in (audit_page[2], data))
    at_first = [row for row in rows if row["position"] == 0]
    assert [row["part"] for row in at_first] == [row["part"] for row in audit_rows]
    assert at_first[-1]["end"] == pytest.approx(0.25)
    last = [row for row in rows if row["position"] == 4]
    assert last[2]["label"] == "+0.5"
    assert "split in two" not in text


def test_a_frontier_without_the_parts_splits_the_gap_in_two(frontier_page):
    assert "The gap between the groups, split in two" in frontier_page[1]


def test_accuracy_is_drawn_with_its_interval(frontier_page):
    _, _, data = frontier_page
    row = rows_of(data["charts"]["tradeoff"])[1]
    assert {"x_low", "x_high", "y_low", "y_high"} <= set(row)
    assert row["x_low"] < row["x"] < row["x_high"]
