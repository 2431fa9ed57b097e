"""Figures of effects and diagnostics: they show the numbers of the results, and draw any name."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from unsway.effects.balance import balance
from unsway.effects.estimate import Estimate
from unsway.effects.overlap import overlap
from unsway.effects.plots import plot_balance, plot_curve, plot_forest, plot_overlap
from unsway.grouping import Grouping

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
pyplot = pytest.importorskip("matplotlib.pyplot")

RNG = np.random.default_rng(0)
B = RNG.uniform(0.02, 0.98, 400)
Z = (RNG.random(400) < B).astype(int)
X = np.column_stack([B, RNG.normal(size=(400, 2))])
GRID = np.linspace(0.1, 0.9, 9)
CURVE = SimpleNamespace(
    b=GRID,
    estimate=0.2 - 0.1 * GRID,
    low=0.1 - 0.1 * GRID,
    high=0.3 - 0.1 * GRID,
    band_low=-0.1 * GRID,
    band_high=0.4 - 0.1 * GRID,
)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def draw(ax):
    """Render the figure, which is when matplotlib parses every text, and return the Axes."""
    ax.figure.canvas.draw()
    return ax


def marks(ax):
    return {each.get_label(): each.get_offsets() for each in ax.collections[1:]}


# --- balance --------------------------------------------------------------------------------------


def test_a_love_plot_shows_absolute_differences_largest_on_top():
    found = balance(X, sensitive_features=Z, propensity=B)
    ax = draw(found.plot())
    assert list(marks(ax)) == ["raw", "overlap"]
    raw = marks(ax)["raw"][:, 0]
    np.testing.assert_allclose(raw, np.sort(np.abs(found.differences[:, 0])))
    assert ax.get_yticklabels()[-1].get_text() == found.worst("raw")[0]


def test_a_love_plot_shows_the_weightings_asked_for():
    ax = draw(
        plot_balance(balance(X, sensitive_features=Z, propensity=B), weightings=["ATT", "ATE"])
    )
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ATT", "ATE"]


def test_a_love_plot_draws_names_with_dollars_and_long_ones():
    pandas = pytest.importorskip("pandas")
    names = [r"pay_$ $\frac$", "x" * 30 + "$" + "y" * 30, "a\nb"]
    ax = draw(balance(pandas.DataFrame(X, columns=names), sensitive_features=Z).plot())
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert r"pay_\$ \$\frac\$" in labels
    assert "a b" in labels
    assert max(map(len, labels)) <= 40


def test_a_love_plot_marks_infinite_differences_at_its_edge():
    found = balance(np.column_stack([0.5 + Z, X[:, 1]]), sensitive_features=Z)
    ax = draw(found.plot())
    assert marks(ax)["raw"][-1, 0] == ax.get_xlim()[1]
    assert [text.get_text() for text in ax.texts] == ["∞"]


def test_a_love_plot_keeps_the_lines_that_differ_most():
    found = balance(
        np.random.default_rng(1).normal(size=(400, 12)) + Z[:, None] * np.arange(12),
        sensitive_features=Z,
    )
    ax = draw(plot_balance(found, max_lines=3))
    assert [text.get_text() for text in ax.get_yticklabels()] == [
        found.names[line] for line in np.argsort(np.abs(found.differences[:, 0]))[-3:]
    ]
    assert ax.get_title(loc="left") == "Balance, 3 of 12"


def test_a_love_plot_needs_something_to_draw():
    with pytest.raises(ValueError, match="nothing to draw"):
        plot_balance(balance(X, sensitive_features=Z), weightings=[])
    with pytest.raises(ValueError, match="unknown weighting 'ATE'"):
        plot_balance(balance(X, sensitive_features=Z), weightings=["ATE"])


# --- overlap --------------------------------------------------------------------------------------


def test_the_mirrored_histogram_has_z1_above_and_z0_below():
    found = overlap(B, sensitive_features=Z, bins=10)
    ax = draw(found.plot())
    heights = [bar.get_height() for bar in ax.patches]
    np.testing.assert_allclose(heights[:10], found.densities[1])
    np.testing.assert_allclose(heights[10:], -found.densities[0])
    assert [text.get_text() for text in ax.texts] == ["z=1", "z=0"]


def test_the_histogram_draws_names_of_levels_with_dollars():
    found = overlap(
        B, sensitive_features=np.where(Z == 1, "$a$", "b_$"), groups=Grouping(reference="b_$")
    )
    assert [text.get_text() for text in draw(plot_overlap(found)).texts] == [
        r"z=1 (\$a\$)",
        r"z=0 (b_\$)",
    ]


# --- forest and curve -----------------------------------------------------------------------------


def test_a_forest_plot_lists_estimates_from_the_top_with_their_numbers():
    estimates = {"total": Estimate.normal(0.2, 0.01), "d_0 $x$": Estimate.normal(-0.1, 0.02)}
    ax = draw(plot_forest(estimates, title="Effects of $z$"))
    assert [text.get_text() for text in ax.get_yticklabels()] == ["total", r"d_0 \$x\$"]
    assert ax.texts[1].get_text() == "−0.100 [−0.139, −0.061]"
    assert ax.yaxis_inverted()
    np.testing.assert_allclose(ax.lines[1].get_xdata(), [0.1804, 0.2196], atol=1e-4)


def test_a_forest_plot_needs_an_estimate():
    with pytest.raises(ValueError, match="estimates is empty"):
        plot_forest({})


def test_a_curve_has_two_bands_and_keeps_its_foot_free_for_the_rows():
    plain, with_rows = draw(plot_curve(CURVE)), draw(plot_curve(CURVE, scores=B))
    labels = [text.get_text() for text in plain.get_legend().get_texts()]
    assert labels == ["simultaneous band", "pointwise interval", "effect"]
    np.testing.assert_allclose(plain.lines[0].get_ydata(), CURVE.estimate)
    assert with_rows.get_ylim()[0] < plain.get_ylim()[0]
    assert len(with_rows.patches) == 40


def test_a_curve_with_gaps_shows_its_lone_points():
    gaps = {
        name: np.where(np.arange(9) % 2, np.nan, values) for name, values in vars(CURVE).items()
    }
    line = draw(plot_curve(SimpleNamespace(**{**gaps, "b": GRID}))).lines[0]
    assert line.get_marker() == "o"
    assert np.isnan(line.get_ydata()).sum() == 4


def test_every_plot_draws_on_the_axes_it_is_given():
    _, axes = pyplot.subplots(2, 2)
    estimates = {"total": Estimate.normal(0.2, 0.01)}
    assert plot_balance(balance(X, sensitive_features=Z), axes[0, 0]) is axes[0, 0]
    assert plot_overlap(overlap(B, sensitive_features=Z), axes[0, 1]) is axes[0, 1]
    assert plot_forest(estimates, axes[1, 0]) is axes[1, 0]
    assert draw(plot_curve(CURVE, axes[1, 1])) is axes[1, 1]
    assert pyplot.get_fignums() == [1]
