"""Pictures of an audit show the numbers of its tables."""

import numpy as np
import pytest

pytest.importorskip("matplotlib").use("Agg")

from matplotlib import pyplot  # noqa: E402
from sklearn.linear_model import LinearRegression, LogisticRegression  # noqa: E402

from unsway import make_synthetic  # noqa: E402
from unsway.auditing import audit, double_lift  # noqa: E402
from unsway.auditing.inputs import Settings  # noqa: E402
from unsway.auditing.number_tables import measure_numbers_of  # noqa: E402
from unsway.auditing.plots import plot_curves, plot_effects, plot_groups  # noqa: E402
from unsway.grouping import Grouping  # noqa: E402
from unsway.groups import Groups  # noqa: E402
from unsway.outcome import Outcome, number_loss  # noqa: E402
from unsway.rows import Rows  # noqa: E402


@pytest.fixture(scope="module")
def found():
    people = make_synthetic(800, random_state=0)
    z = np.where(people.z == 1, "$\\frac{", "<b>" + "x" * 500)
    return audit(
        people.y,
        people.fair_score,
        sensitive_features=z,
        X=people.X,
        groups=Grouping(reference="<b>" + "x" * 500),
        n_bootstrap=5,
        threshold=[0.3, 0.5, 0.7],
        propensity_model=LogisticRegression(),
        outcome_model=LogisticRegression(),
        score_model=LinearRegression(),
        cv=2,
    )


@pytest.fixture(autouse=True)
def close():
    yield
    pyplot.close("all")


def draw(ax):
    ax.figure.canvas.draw()
    return ax


def test_the_groups_are_drawn_by_threshold(found):
    ax = draw(found.plot())
    heights = np.concatenate([bar.lines[0].get_ydata() for bar in ax.containers])
    frame = found.to_frame()
    rows = frame[(frame["metric"] == "selection_rate") & (frame["group"] != "overall")]
    assert sorted(heights) == pytest.approx(sorted(rows["estimate"]))


def test_the_calibration_is_drawn_in_both_groups(found):
    ax = draw(found.calibration.plot())
    heights = np.concatenate([bar.lines[0].get_ydata() for bar in ax.containers])
    frame = found.calibration.to_frame()
    assert sorted(heights) == pytest.approx(
        sorted(frame.loc[frame["group"] != "overall", "positive_share"])
    )


def test_the_effects_are_drawn_with_the_direct_effect_left(found):
    ax = draw(plot_effects(found.causal))
    places = np.concatenate([bar.lines[0].get_xdata() for bar in ax.containers])
    assert sorted(places) == pytest.approx(sorted(found.causal.to_frame()["estimate"]))
    assert ax.get_yticklabels()[-1].get_text() == "direct effect left"


def test_the_curves_are_drawn_along_the_propensity(found):
    ax = draw(plot_curves(found.causal))
    heights = np.concatenate([line.get_ydata() for line in ax.lines[:2]])
    assert heights == pytest.approx(found.causal.curves.to_frame()["estimate"].to_numpy())


def test_a_picture_is_drawn_where_it_is_told(found):
    _, ax = pyplot.subplots()
    for plot in (found.plot, found.calibration.plot):
        assert plot(ax) is ax
    assert plot_effects(found.causal, ax) is ax
    assert plot_curves(found.causal, ax) is ax


def test_a_metric_without_thresholds_is_refused(found):
    with pytest.raises(ValueError, match="'auc' is no metric of decisions"):
        plot_groups(found, metric="auc")


def test_a_double_lift_is_drawn_with_both_models_and_the_target():
    rng = np.random.default_rng(0)
    models = {"old": rng.uniform(1, 2, 300), "<b>new": rng.uniform(1, 2, 300)}
    lift = double_lift(rng.poisson(1.5, 300), models, n_bootstrap=5)
    ax = draw(lift.plot())
    heights = [line.get_ydata() for line in ax.lines[:1]]
    np.testing.assert_allclose(heights[0], lift.mean_outcome)
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"actual", "old", "<b>new"}


def test_tenths_of_predictions_are_drawn_in_both_groups():
    rng = np.random.default_rng(0)
    p, codes = rng.uniform(1, 2, 300), np.arange(300) % 2
    counts = Outcome(values=rng.poisson(p).astype(float), loss=number_loss("poisson"))
    rows = Rows(X=None, outcome=counts, groups=Groups.check(codes, 300))
    settings = Settings.check(
        0.5, calibration_bins=5, calibration_strategy="quantile", n_bootstrap=5, confidence=0.95,
        max_rows_for_effects=None, random_state=0, n_jobs=None, effects={},
    )  # fmt: skip
    measured = measure_numbers_of(p, rows, settings)
    ax = draw(measured.deciles.plot())
    np.testing.assert_allclose(ax.lines[0].get_ydata(), measured.deciles.mean_score[0])
    frame = measured.deciles.to_frame()
    assert len(frame) == 15
    assert frame["weight"].sum() == 600
    assert (frame["low"] <= frame["high"]).all()
