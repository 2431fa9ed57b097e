"""The pages of the documentation: complete, linked, and run as they are written."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import unsway

DOCS = Path(__file__).parents[2] / "docs"
#: Folders that the build writes.
MADE = {"_build", "figures", "generated", "results"}
sys.path.insert(0, str(DOCS))
import site_pages  # noqa: E402

GALLERY = sorted((DOCS / "gallery").glob("plot_*.py"))


def cells(page):
    """Return the code cells of a notebook page, without their options."""
    found = re.findall(r"```\{code-cell\} python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    return [re.sub(r"^:.*\n", "", each, flags=re.MULTILINE) for each in found]


def test_every_public_name_is_on_the_page_of_the_api():
    listed = re.findall(r"^   (\w+)$", site_pages.api_page(), flags=re.MULTILINE)
    assert sorted(listed) == sorted(unsway.__all__)


def test_a_new_public_name_still_gets_its_page(monkeypatch):
    monkeypatch.setattr(site_pages, "unlisted", lambda: ["FairForest"])
    assert "## Others" in site_pages.api_page()
    assert "   FairForest" in site_pages.api_page()


def test_the_page_of_modules_describes_no_object_twice():
    page = site_pages.modules_page("# API\n\n.. autoclass:: a.B\n   :members: c\n")
    assert page == "# Modules\n\n.. autoclass:: a.B\n   :no-index:\n   :members: c\n"


def test_results_of_benchmarks_keep_links_to_pages_only(tmp_path):
    path = tmp_path / "cost.md"
    path.write_text("[a](other.md), [b](../docs/x.md), [c](script.py), [d](https://arxiv.org)")
    assert site_pages.benchmark_page(path) == "[a](other.md), b, c, [d](https://arxiv.org)"


def test_every_page_is_in_a_table_of_contents():
    pages = {
        path.relative_to(DOCS).with_suffix("").as_posix()
        for path in DOCS.rglob("*.md")
        if not MADE & {*path.parts}
    } - {"index", "api"}
    listed = set()
    for path in DOCS.rglob("*.md"):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", path.read_text("utf-8"), re.DOTALL):
            entries = [line for line in block.splitlines() if line and not line.startswith(":")]
            listed |= {
                (path.parent / entry).resolve().relative_to(DOCS.resolve()).as_posix()
                for entry in entries
            }
    assert pages <= listed


def test_there_are_enough_figures_and_each_says_what_it_shows():
    assert len(GALLERY) >= 16
    for script in GALLERY:
        title, line = script.read_text("utf-8").splitlines()[1:3]
        assert set(line) == {"="}
        assert len(line) == len(title)


@pytest.mark.slow
@pytest.mark.parametrize("script", GALLERY, ids=lambda path: path.stem)
def test_a_figure_is_drawn(script):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pytest.importorskip("xgboost")
    pyplot.switch_backend("Agg")
    pyplot.close("all")
    exec(compile(script.read_text("utf-8"), script, "exec"), {})  # noqa: S102
    [number] = pyplot.get_fignums()
    figure = pyplot.figure(number)
    figure.canvas.draw()
    assert any(ax.has_data() for ax in figure.axes)
    assert all(ax.get_xlabel() or ax.get_ylabel() for ax in figure.axes)
    pyplot.close("all")


@pytest.mark.slow
def test_the_commands_of_the_tutorial_lead_from_a_csv_file_to_a_report(tmp_path):
    for package in ("altair", "click", "pandas", "xgboost"):
        pytest.importorskip(package)
    commands = []
    for cell in cells(DOCS / "tutorials" / "csv_to_report.md"):
        if cell.startswith("%"):  # of the terminal that the page shows
            continue
        if cell.startswith("!"):
            program, *arguments = shlex.split(cell.strip().removeprefix("!"))
            assert program == "unsway"
            line = [sys.executable, "-c", "from unsway.cli import main; main()", *arguments]
            commands.append(arguments[0])
        else:
            line = [sys.executable, "-c", cell]
        done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, timeout=300)
        assert done.returncode == 0, done.stderr
    assert commands == ["effects", "fit", "predict", "audit"]
    assert len((tmp_path / "scores.csv").read_text("utf-8").splitlines()) == 6001
    report = (tmp_path / "report.html").read_text("utf-8")
    assert "<html" in report
    assert "Male against" in report


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [page for page in sorted(DOCS.rglob("*.md")) if not MADE & {*page.parts} and cells(page)],
    ids=lambda page: page.stem,
)
def test_the_cells_of_a_notebook_run(page, tmp_path):
    pytest.importorskip("xgboost")
    pytest.importorskip("matplotlib")
    code = "\n".join(cell for cell in cells(page) if not cell.startswith(("!", "%")))
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=400,
        env={**__import__("os").environ, "MPLBACKEND": "Agg"},
    )
    assert done.returncode == 0, done.stderr
