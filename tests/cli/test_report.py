import pytest
from click.testing import CliRunner

from unsway import FairLogisticRegression, Parity, make_synthetic
from unsway.cli.app import app
from unsway.grouping import Grouping
from unsway.sweeps import frontier

pytest.importorskip("altair", reason="the report extra is not installed")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    people = make_synthetic(600, random_state=0)
    z = [("women", "men")[int(value)] for value in people.z]
    path = tmp_path_factory.mktemp("sweep") / "store"
    frontier(
        FairLogisticRegression(Parity(), groups=Grouping(reference="women")), people.X, people.y,
        sensitive_features=z, strengths=[0, 0.5, 0.9], effects=False, store=path,
    )  # fmt: skip
    return path


def run(*words):
    return CliRunner().invoke(app, ["report", *map(str, words)])


def test_a_store_becomes_a_page(store, tmp_path):
    done = run(store, "-o", tmp_path / "deep" / "page.html", "--title", "Loans <2026>")
    assert done.exit_code == 0
    assert "Report of 3 strengths" in done.output
    html = (tmp_path / "deep" / "page.html").read_text("utf-8")
    assert "<h1>Loans &lt;2026&gt;</h1>" in html
    assert '"strengths":[0.0,0.5,0.9]' in html


def test_a_page_knows_the_groups_from_the_models_of_the_store(store, tmp_path):
    run(store, "-o", tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text("utf-8")
    assert "the mean score of men less that of women" in html


def test_without_direct_effects_the_default_strength_is_marked(store, tmp_path):
    run(store, "-o", tmp_path / "page.html")
    assert 'id="chosen"' in (tmp_path / "page.html").read_text("utf-8")


def test_quiet_prints_nothing(store, tmp_path):
    done = run(store, "-o", tmp_path / "page.html", "--quiet")
    assert (done.exit_code, done.output) == (0, "")


def test_a_limit_that_no_strength_meets_is_an_error(store, tmp_path):
    done = run(store, "-o", tmp_path / "page.html", "--max-direct-effect", "0")
    assert isinstance(done.exception, ValueError)
    assert "direct_effect_left" in str(done.exception)
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("name", ["page.pdf", "page"])
def test_a_page_has_the_suffix_html(store, tmp_path, name):
    done = run(store, "-o", tmp_path / name)
    assert done.exit_code == 2
    assert "give the name of an .html file" in done.output


def test_a_folder_that_is_no_store_is_named(tmp_path):
    done = run(tmp_path, "-o", tmp_path / "page.html")
    assert isinstance(done.exception, FileNotFoundError)
    assert "is no store of a sweep" in str(done.exception)
