import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: What a page's examples may need and an environment may lack.
ENGINES = ("distributed", "jax", "torch", "xgboost")
#: The pages of the site that are written by hand; notebooks are run when it is built.
PAGES = [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if not {"_build", "figures", "generated", "results"} & {*page.parts}
]


def python_blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def run(code, folder):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=400,
    )


def test_the_readme_example_prints_what_its_comments_say(tmp_path):
    [example] = python_blocks(ROOT / "README.md")
    stated = re.findall(r"print\(.*\)  # ([\d.]+)", example)
    result = run(example, tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == stated
    assert len(stated) == 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page, tmp_path):
    code = "\n".join(python_blocks(page))
    for package in ENGINES:
        if re.search(rf"^(from|import) {package}\b", code, flags=re.MULTILINE):
            pytest.importorskip(package, reason=f"{package} is not installed")
    if "import Part, fit_here, together" in code:
        pytest.importorskip("xgboost", "3.0", reason="a tracker's port needs XGBoost 3")
    result = run(code, tmp_path)
    assert result.returncode == 0, result.stderr


def test_every_file_the_readme_links_to_exists():
    links = re.findall(r"\]\((?!http)([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_changelog_and_the_citation_name_the_present_version():
    from unsway import __version__

    assert f"version: {__version__}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
