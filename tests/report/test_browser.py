"""The pages in a headless Chromium: what they log, ask for, show, and do when the slider moves."""

import copy
import functools

import pytest
from click.testing import CliRunner
from report.chromium import Sheet, axe_script, serious_findings
from report.conftest import HOSTILE, make_frontier
from report.test_reports import read
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unsway.auditing import audit
from unsway.cli.commands.demo import demo
from unsway.datasets import load_adult
from unsway.report import write_audit_report, write_frontier_report

pytest.importorskip("altair", reason="the report extra is not installed")
slow = pytest.mark.slow

VIEWS = {
    "desktop": {},
    "dark": {"dark": True},
    "phone": {"width": 390, "height": 844},
    "dark phone": {"width": 390, "height": 844, "dark": True},
    "small phone": {"width": 320, "height": 640},
}
#: The page that nothing is trained for is looked at by `make test`, the others by `make test-all`.
NAMES = ["frontier", *(pytest.param(name, marks=slow) for name in ("audit", "hostile", "both"))]


@pytest.fixture(scope="module")
def page_of(request, tmp_path_factory):
    """Return the path of a page by its name; it is written when it is first asked for."""
    folder = tmp_path_factory.mktemp("pages")

    @functools.cache
    def write(name):
        path, found = folder / f"{name}.html", make_frontier()
        if name == "frontier":
            return write_frontier_report(found, path, choice=found.select("knee"))
        audited = request.getfixturevalue("audited")
        if name == "both":
            audits = dict.fromkeys(found.strengths, audited)
            return write_frontier_report(found, path, audits=audits)
        if name == "hostile":
            return write_audit_report(with_hostile_names(audited), path, title=HOSTILE[1])
        return write_audit_report(audited, path)

    return write


def with_hostile_names(audited):
    hostile = copy.deepcopy(audited)
    hostile["sensitive"] = {"name": HOSTILE[2], "levels": [HOSTILE[0], HOSTILE[3]]}
    hostile["decision"]["sentences"] = HOSTILE
    for weighting in hostile["causal"]["balance"].values():
        lines = weighting["columns"].values()
        weighting["columns"] = dict(zip(HOSTILE, lines, strict=False))
    return hostile


@pytest.fixture
def open_file(browser):
    """Return a function that opens a file; what it opened is closed after the test."""
    opened = []

    def open_file(path, **view):
        opened.append(Sheet(browser, path, **view))
        return opened[-1]

    yield open_file
    for sheet in opened:
        sheet.close()


@pytest.fixture
def look(open_file, page_of):
    """Return a function that opens a report by its name and waits until it is drawn."""
    return lambda name, **view: open_file(page_of(name), **view).wait_until_drawn()


# --- the means ------------------------------------------------------------------------------------


def test_complaints_and_requests_of_a_page_are_noticed(open_file, tmp_path):
    (tmp_path / "page.html").write_text(
        "<script>console.error('one'); console.warn('two'); console.log('fine')</script>"
        "<script>throw new Error('three')</script>"
        "<img src='data:,'><script src='four.js'></script>"
    )
    sheet = open_file(tmp_path / "page.html")
    # The browser looks ahead for files: the load may fail before the first script has run.
    failed_load = "Failed to load resource: net::ERR_FILE_NOT_FOUND"
    told = [each for each in sheet.complaints() if each != failed_load]
    assert told == ["one", "two", "three"]
    assert sheet.complaints().count(failed_load) == 1
    assert sheet.requests() == [(tmp_path / "four.js").as_uri()]


# --- every page -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "view", ["desktop", *(pytest.param(view, marks=slow) for view in VIEWS if view != "desktop")]
)
@pytest.mark.parametrize("name", NAMES)
def test_a_page_logs_nothing_asks_for_nothing_and_does_not_overflow(look, name, view):
    sheet = look(name, **VIEWS[view])
    assert sheet.complaints() == []
    assert sheet.requests() == []
    assert sheet.overflow() <= 0
    out = (
        "[...document.querySelectorAll('main *')].filter("
        "e => !e.closest('.scroll, .chart, .hidden') && "
        "e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"
    )
    assert sheet.page.evaluate(out) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_chart_is_drawn_with_marks(look, name):
    page = look(name).page
    drawn = page.evaluate(
        "[...document.querySelectorAll('.chart')].map(c => c.querySelectorAll("
        "'.role-mark path, .role-mark text, .role-mark line').length)"
    )
    assert len(drawn) > 3
    assert min(drawn) >= 2


@pytest.mark.parametrize("name", NAMES)
def test_every_colour_variable_of_a_chart_is_defined(look, name):
    page = look(name).page
    used = set(
        page.evaluate(
            "[...document.querySelectorAll('.chart svg [fill], .chart svg [stroke]')].flatMap("
            "e => [e.getAttribute('fill'), e.getAttribute('stroke')]).flatMap("
            "paint => [...(paint || '').matchAll(/var\\((--[\\w-]+)/g)].map(found => found[1]))"
        )
    )
    value = "name => getComputedStyle(document.documentElement).getPropertyValue(name)"
    assert "--one" in used
    assert [each for each in sorted(used) if not page.evaluate(value, each)] == []


@slow
def test_hostile_names_are_text_and_nothing_else(look):
    page = look("hostile").page
    assert page.locator("main script, main img").count() == 0
    assert HOSTILE[0] in page.locator(".verdict").text_content()
    assert "alert(1)" in page.locator("#chart-balance").text_content()


# --- the slider -----------------------------------------------------------------------------------


@slow
def test_the_slider_changes_every_number_to_that_of_the_data(look, page_of):
    page = look("both").page
    _, _, data = read(page_of("both"))
    for position in (0, 3, 4):
        page.locator("#strength").fill(str(position))
        moved = page.locator("[data-moves]").all_text_contents()
        assert moved == [texts[position] for texts in data["texts"]]
        assert page.locator("#verdict").get_attribute("data-level") == data["levels"][position]
        shown = page.locator("#strength-value").text_content()
        assert shown == str(data["strengths"][position] or 0)
    left = data["data"]["points"][4]["parts"]["test"]["direct_effect_left"]
    text = page.locator(".numbers .value").first.text_content()
    assert float(text.replace("−", "-")) == pytest.approx(100 * left, abs=0.05)


@pytest.mark.parametrize("chart", ["tradeoff", "along", "decomposition"])
def test_the_slider_moves_a_chart(look, chart):
    page = look("frontier").page
    drawn = f"document.querySelector('#chart-{chart} svg').outerHTML"
    before = page.evaluate(drawn)
    page.locator("#strength").fill("4")
    page.wait_for_function(f"before => {drawn} !== before", arg=before)


def test_the_slider_moves_the_number_in_a_chart(look):
    page = look("frontier").page
    assert "−8.8" not in page.locator("#chart-decomposition").text_content()
    page.locator("#strength").fill("4")
    page.locator("#chart-decomposition", has_text="−8.8").wait_for()


def test_the_slider_is_moved_by_keys(look):
    page = look("frontier").page
    slider = page.locator("#strength")
    start = int(slider.input_value())
    slider.press("ArrowRight")
    assert int(slider.input_value()) == start + 1
    assert slider.get_attribute("aria-valuetext") == page.locator("#strength-value").text_content()


def test_an_address_may_name_a_strength(look):
    page = look("frontier", fragment="#strength=0.74").page
    assert page.locator("#strength-value").text_content() == "0.75"


# --- themes, keys, print --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["frontier", pytest.param("audit", marks=slow)])
def test_the_button_turns_the_page_dark_and_back(look, name):
    page = look(name).page
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.locator("#theme").click()
    assert page.evaluate(ground) == "rgb(19, 23, 28)"
    page.locator("#theme").click()
    assert page.evaluate(ground) == "rgb(255, 255, 255)"


@pytest.mark.parametrize("name", ["frontier", pytest.param("audit", marks=slow)])
def test_the_first_tab_is_a_link_past_the_head(look, name):
    page = look(name).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left >= 0")


@slow
@pytest.mark.parametrize("name", ["audit", "both"])
def test_a_page_prints(look, name):
    page = look(name, dark=True).page
    content = page.pdf(format="A4", print_background=True, prefer_css_page_size=True)
    assert content.startswith(b"%PDF")
    assert len(content) > 30_000


@slow
@pytest.mark.parametrize("name", ["audit", "both"])
def test_a_page_is_printed_in_light_colours_without_its_navigation(look, name):
    page = look(name, dark=True).page
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 36, 48)"
    assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"


# --- real reports ---------------------------------------------------------------------------------


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


@slow
@pytest.mark.parametrize("view", ["desktop", "dark phone"])
def test_the_report_of_adult_opens_in_silence_with_its_verdict(open_file, adult_page, view):
    path, found = adult_page
    sheet = open_file(path, **VIEWS[view]).wait_until_drawn()
    assert sheet.complaints() == []
    assert sheet.requests() == []
    assert sheet.overflow() <= 0
    assert sheet.page.locator("#verdict p").first.text_content() == (
        " ".join(found.decision.sentences)
    )
    assert sheet.page.locator("#verdict").get_attribute("data-level") == "bad"


@slow
def test_the_demos_report_opens_in_silence_at_the_chosen_strength(open_file, tmp_path):
    result = CliRunner().invoke(demo, ["--samples", "3000", "--quiet", "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    sheet = open_file(tmp_path / "report.html").wait_until_drawn()
    assert sheet.complaints() == []
    assert sheet.requests() == []
    assert sheet.overflow() <= 0
    assert sheet.page.locator("h1").text_content().strip() == "A model that is not swayed"
    assert float(sheet.page.locator("input[type=range]").input_value()) > 0


# --- axe-core -------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    return axe_script(tmp_path_factory.mktemp("axe"))


@slow
@pytest.mark.parametrize("view", ["desktop", "dark", "phone"])
@pytest.mark.parametrize("name", ["audit", "hostile", "both"])
def test_axe_finds_nothing_serious(look, axe, name, view):
    page = look(name, **VIEWS[view]).page
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert serious_findings(page, axe) == []
