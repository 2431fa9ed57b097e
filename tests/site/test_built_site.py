"""The built site (`make docs`) in Chromium: it reads offline, on a screen and on a phone."""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from report.chromium import Sheet, axe_script, chromium, serious_findings

SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"
PAGES = [
    "index.html",
    "start/five_minutes.html",
    "explanation/direct_effect.html",
    "explanation/choosing_columns.html",
    "tutorials/someone_elses_model.html",
    "figures/index.html",
    "reference/cli.html",
    "reference/names.html",
    "method.html",
]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="run `make docs` first"),
]


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_asks_the_network_for_nothing_and_fits_its_window(browser, name, width):
    sheet = Sheet(browser, SITE / name, width=width)
    sheet.page.wait_for_load_state("networkidle")
    assert [url for url in sheet.requests() if not url.startswith("file:")] == []
    assert sheet.complaints() == []
    assert sheet.overflow() == 0
    sheet.close()


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    return axe_script(tmp_path_factory.mktemp("axe"))


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False)])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(browser, axe, name, width, dark):
    sheet = Sheet(browser, SITE / name, width=width, dark=dark)
    sheet.page.wait_for_load_state("networkidle")
    assert serious_findings(sheet.page, axe) == []
    sheet.close()


def test_formulas_are_drawn(browser):
    sheet = Sheet(browser, SITE / "method.html")
    sheet.page.wait_for_selector("mjx-container svg")
    drawn = sheet.page.evaluate("document.querySelectorAll('mjx-container svg').length")
    assert drawn == sheet.page.evaluate("document.querySelectorAll('.math').length") > 20
    sheet.close()


def test_the_search_finds_a_page(browser):
    sheet = Sheet(browser, SITE / "search.html", fragment="?q=exposure")
    sheet.page.wait_for_selector("#search-results li")
    assert sheet.page.evaluate("document.querySelectorAll('#search-results li').length") > 1
    sheet.close()


def test_pictures_of_the_first_page_are_there():
    text = (SITE / "start" / "five_minutes.html").read_text("utf-8")
    assert len(re.findall(r'<img [^>]*src="\.\./_images/', text)) >= 2
    assert text.count("<svg viewBox") >= 1


def test_every_link_of_the_site_leads_to_a_file():
    missing = set()
    for page in (each for each in SITE.rglob("*.html") if "_static" not in each.parts):
        text = re.sub(r"<(script|style|pre).*?</\1>", "", page.read_text("utf-8"), flags=re.DOTALL)
        for address in re.findall(r'(?:href|src)="([^"]*)"', text):
            parts = urlsplit(address)
            if parts.scheme or not parts.path:
                continue
            if not (page.parent / unquote(parts.path)).resolve().exists():
                missing.add((page.relative_to(SITE).as_posix(), address))
    assert missing == set()
