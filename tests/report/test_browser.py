"""The pages in a headless Chromium: what they log, ask for, show, and do when the slider moves."""

import copy
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from report.conftest import HOSTILE, make_frontier
from report.test_reports import read
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unsway.auditing import audit
from unsway.cli.demo import demo
from unsway.datasets import load_adult
from unsway.report import write_audit_report, write_frontier_report

pytest.importorskip("altair", reason="the report extra is not installed")
pytest.importorskip("vl_convert", reason="the report extra is not installed")
pytestmark = pytest.mark.slow

VIEWS = {
    "desktop": {},
    "dark": {"dark": True},
    "phone": {"width": 390, "height": 844},
    "dark phone": {"width": 390, "height": 844, "dark": True},
    "small phone": {"width": 320, "height": 640},
}


@pytest.fixture(scope="module")
def pages(audited, tmp_path_factory):
    """Four pages: an audit, one with hostile names, a frontier, one with audits beside it."""
    folder = tmp_path_factory.mktemp("pages")
    hostile = copy.deepcopy(audited)
    hostile["sensitive"] = {"name": HOSTILE[2], "levels": [HOSTILE[0], HOSTILE[3]]}
    hostile["verdict"] = " ".join(HOSTILE)
    for weighting in hostile["causal"]["balance"].values():
        lines = weighting["columns"].values()
        weighting["columns"] = dict(zip(HOSTILE, lines, strict=False))
    found = make_frontier()
    choice = found.select("knee")
    audits = dict.fromkeys(found.strengths, audited)
    return {
        "audit": write_audit_report(audited, folder / "audit.html"),
        "hostile": write_audit_report(hostile, folder / "hostile.html", title=HOSTILE[1]),
        "frontier": write_frontier_report(found, folder / "frontier.html", choice=choice),
        "both": write_frontier_report(found, folder / "both.html", audits=audits),
    }


@pytest.fixture
def look(browser, pages):
    opened = []

    def open_page(name, **view):
        opened.append(browser.open(pages[name], **view))
        return opened[-1]

    yield open_page
    for page in opened:
        page.close()


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", ["audit", "hostile", "frontier", "both"])
def test_a_page_logs_nothing_asks_for_nothing_and_does_not_overflow(look, name, view):
    page = look(name, **VIEWS[view])
    wide = page.run("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert page.complaints() == []
    assert page.requests() == []
    assert wide <= 0
    out = (
        "[...document.querySelectorAll('main *')].filter("
        "e => !e.closest('.scroll, .chart, .hidden') && "
        "e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"
    )
    assert page.run(out) == []


@pytest.mark.parametrize("name", ["audit", "hostile", "frontier", "both"])
def test_every_chart_is_drawn_with_marks(look, name):
    page = look(name)
    drawn = page.run(
        "[...document.querySelectorAll('.chart')].map(c => c.querySelectorAll("
        "'.role-mark path, .role-mark text, .role-mark line').length)"
    )
    assert len(drawn) > 3
    assert min(drawn) >= 2


def test_hostile_names_are_text_and_nothing_else(look):
    page = look("hostile")
    assert page.run("document.querySelectorAll('main script, main img').length") == 0
    assert HOSTILE[0] in page.run("document.querySelector('.verdict').textContent")
    assert page.run("document.querySelector('#chart-balance').textContent.includes('alert(1)')")


def test_the_slider_changes_every_number_to_that_of_the_data(look, pages):
    page = look("both")
    _, _, data = read(pages["both"])
    for position in (0, 3, 4):
        page.run(
            f"strength.value = {position}; strength.dispatchEvent(new Event('input')); "
            "new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))"
        )
        shown = page.run("[...document.querySelectorAll('[data-moves]')].map(e => e.textContent)")
        assert shown == [texts[position] for texts in data["texts"]]
        assert page.run("verdict.dataset.level") == data["levels"][position]
        assert page.run("document.querySelector('#strength-value').textContent") == str(
            data["strengths"][position] or 0
        )
    left = data["data"]["points"][4]["parts"]["test"]["direct_effect_left"]
    text = page.run("document.querySelector('.numbers .value').textContent")
    assert float(text.replace("−", "-")) == pytest.approx(100 * left, abs=0.05)


def test_the_slider_moves_the_charts(look):
    page = look("frontier")
    here = (
        "['tradeoff', 'along', 'decomposition'].map(n => document.querySelector("
        "`#chart-${n} svg`).outerHTML)"
    )
    before = page.run(here)
    page.run(
        "strength.value = 4; strength.dispatchEvent(new Event('input')); "
        "new Promise(done => setTimeout(done, 300))"
    )
    after = page.run(here)
    assert [old == new for old, new in zip(before, after, strict=True)] == [False] * 3
    assert "−8.8" in page.run("document.querySelector('#chart-decomposition').textContent")


def test_the_slider_is_moved_by_keys(look):
    page = look("frontier")
    start = page.run("strength.focus(); Number(strength.value)")
    page.send("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight", code="ArrowRight",
              windowsVirtualKeyCode=39)  # fmt: skip
    assert page.run("Number(strength.value)") == start + 1
    assert page.run("strength.getAttribute('aria-valuetext')") == page.run(
        "document.querySelector('#strength-value').textContent"
    )


def test_an_address_may_name_a_strength(look):
    page = look("frontier", fragment="#strength=0.74")
    assert page.run("document.querySelector('#strength-value').textContent") == "0.75"


def test_the_button_turns_the_page_dark_and_back(look):
    page = look("audit")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.run(ground) == "rgb(255, 255, 255)"
    page.run("theme.click()")
    assert page.run(ground) == "rgb(19, 23, 28)"
    page.run("theme.click()")
    assert page.run(ground) == "rgb(255, 255, 255)"


def test_the_first_tab_is_a_link_past_the_head(look):
    page = look("audit")
    page.send("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab",
              windowsVirtualKeyCode=9)  # fmt: skip
    assert page.run("document.activeElement.className") == "skip"
    assert page.run("document.activeElement.getBoundingClientRect().left >= 0")


@pytest.mark.parametrize("name", ["audit", "both"])
def test_a_page_prints(look, name, tmp_path):
    page = look(name, dark=True)
    page.pdf(tmp_path / "page.pdf")
    content = (tmp_path / "page.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert len(content) > 30_000
    page.send("Emulation.setEmulatedMedia", media="print")
    assert page.run("getComputedStyle(document.body).color") == "rgb(27, 36, 48)"
    assert page.run("getComputedStyle(document.querySelector('nav')).display") == "none"


@pytest.fixture(scope="module")
def adult_page(tmp_path_factory):
    """The audit of a logistic regression on Adult's official test rows."""
    train, test = load_adult("train"), load_adult("test")
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    model.fit(train.to_matrix()[0], train.y)
    scores = model.predict_proba(test.to_matrix()[0])[:, 1]
    X = test.to_frame()[list(test.feature_names)]
    found = audit(test.y, scores, sensitive_features=test.z, X=X, n_bootstrap=20, cv=2)
    return write_audit_report(found, tmp_path_factory.mktemp("adult") / "adult.html"), found


@pytest.mark.parametrize("view", ["desktop", "dark phone"])
def test_the_report_of_adult_opens_in_silence_with_its_verdict(browser, adult_page, view):
    path, found = adult_page
    page = browser.open(path, **VIEWS[view])
    try:
        assert page.complaints() == []
        assert page.requests() == []
        assert page.run("document.documentElement.scrollWidth - innerWidth") <= 0
        assert page.run("document.querySelector('#verdict p').textContent") == found.verdict
        assert page.run("verdict.dataset.level") == "bad"
    finally:
        page.close()


def test_the_demos_report_opens_in_silence_at_the_chosen_strength(browser, tmp_path):
    result = CliRunner().invoke(demo, ["--samples", "3000", "--quiet", "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    page = browser.open(tmp_path / "report.html")
    try:
        assert page.complaints() == []
        assert page.requests() == []
        assert page.run("document.documentElement.scrollWidth - innerWidth") <= 0
        assert page.run("document.querySelector('h1').textContent").strip() == (
            "A model that is not swayed"
        )
        assert float(page.run("document.querySelector('input[type=range]').value")) > 0
    finally:
        page.close()


# --- axe-core -------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """Return axe-core's script, from AXE_CORE or by npm."""
    given = os.environ.get("AXE_CORE")
    if given:
        return Path(given).read_text("utf-8")
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed, which fetches axe-core")
    folder = tmp_path_factory.mktemp("axe")
    try:
        subprocess.run(
            ["npm", "pack", "axe-core"], cwd=folder, check=True, capture_output=True, timeout=60
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.skip("npm cannot fetch axe-core here")
    with tarfile.open(next(folder.glob("axe-core-*.tgz"))) as archive:
        return archive.extractfile("package/axe.min.js").read().decode()


@pytest.mark.parametrize("view", ["desktop", "dark", "phone"])
@pytest.mark.parametrize("name", ["audit", "hostile", "both"])
def test_axe_finds_nothing_serious(look, axe, name, view):
    page = look(name, **VIEWS[view])
    page.run("for (const each of document.querySelectorAll('details')) each.open = true")
    page.run(f"{axe}; 0")
    found = page.run(
        "axe.run(document).then(result => result.violations.map("
        "each => [each.id, each.impact, each.nodes[0].html.slice(0, 200)]))"
    )
    assert [each for each in found if each[1] in ("serious", "critical")] == []
