"""A real Jupyter kernel runs a notebook, and its results show themselves."""

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

CELLS = [
    """
from unsway import FairXGBClassifier, ShowProgress, audit, estimate_effects, make_world
people = make_world("adult", 1_000, random_state=0)
""",
    "estimate_effects(people.X, people.y, sensitive_features=people.z, cv=2)",
    """
audit(
    people.y, people.fair_score, sensitive_features=people.z, X=people.X, cv=2, n_bootstrap=3,
    progress=ShowProgress("Resamples"),
)
""",
    """
model = FairXGBClassifier(n_jobs=1, callback=ShowProgress("Rounds"))
model.fit(people.X, people.y, sensitive_features=people.z)
""",
    "model.summary()",
]

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Return the outputs of each cell, run by a kernel of its own."""
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    folder = str(tmp_path_factory.mktemp("notebook"))
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
    )
    return [cell["outputs"] for cell in client.execute()["cells"]]


def shown(outputs):
    return [each["data"]["text/html"] for each in outputs if "text/html" in each.get("data", {})]


@pytest.mark.parametrize(("cell", "start"), [(1, "Effects of "), (2, "Audit of 1,000 rows")])
def test_a_result_shows_itself(outputs, cell, start):
    page = shown(outputs[cell])[-1]
    assert page.startswith('<div class="unsway">')
    assert f"<h3>{start}" in page
    assert "<svg" in page


def test_the_progress_of_an_audit_is_a_bar(outputs):
    bar = shown(outputs[2])[0]
    assert bar == '<progress value="3" max="3"></progress> Resamples: 3 of 3'


def test_the_rounds_of_a_booster_are_counted_in_one_place(outputs):
    bars = [page for page in shown(outputs[3]) if page.startswith("<progress")]
    assert len(bars) == 1
    assert "Rounds: " in bars[0]


def test_a_model_shows_itself_as_in_scikit_learn_and_its_summary_as_a_table(outputs):
    assert "sk-estimator" in shown(outputs[3])[-1]
    assert "<h3>FairXGBClassifier</h3>" in shown(outputs[4])[-1]
