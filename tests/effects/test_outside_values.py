"""Effects that others published, from their data or from all that their answers rest on."""

from __future__ import annotations

import gzip
import importlib.util
import json
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unsway.datasets import load_berkeley
from unsway.effects import Propensity, fit_surrogate
from unsway.effects.confounding import robustness_value
from unsway.effects.estimate import Estimate
from unsway.effects.estimation import estimate_effects
from unsway.effects.nuisance import Nuisances
from unsway.effects.sensitivity import sensitivity

REFERENCE = Path(__file__).parent / "reference"


def stored(name):
    return json.loads((REFERENCE / f"{name}.json").read_text())


def exact_logistic(**options):
    return make_pipeline(
        StandardScaler(**options),
        LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10, max_iter=1_000),
    )


@cache
def nhefs():
    """Return y (NaN where not weighed again), z and the covariates of the book's logistic model."""
    with gzip.open(REFERENCE / "nhefs.csv.gz", "rt") as file:
        names = file.readline().strip().split(",")
        rows = np.genfromtxt(file, delimiter=",")
    column = dict(zip(names, rows.T, strict=True))
    squared = ("age", "smokeintensity", "smokeyrs", "wt71")
    parts = [column[name] for name in ("sex", "race", *squared)]
    parts += [column[name] ** 2 for name in squared]
    for name in ("education", "exercise", "active"):
        parts += [column[name] == level for level in np.unique(column[name])[1:]]
    return column["wt82_71"], column["qsmk"], np.column_stack(parts).astype(float)


@cache
def weighed():
    """Return the 1566 people of NHEFS whose weight gain is known."""
    known = ~np.isnan(nhefs()[0])
    return tuple(array[known] for array in nhefs())


@cache
def chapter_15():
    """Return y, b and z of the people whose weight gain is known, b being fitted on everyone."""
    y, z, X = nhefs()
    b = Propensity(exact_logistic()).fit_predict(X, z)
    known = ~np.isnan(y)
    return y[known], b[known], z[known]


def test_nhefs_has_the_rows_of_the_book():
    assert (len(nhefs()[0]), len(weighed()[0])) == (1629, 1566)


def test_the_surrogate_of_weight_gain_has_the_coefficients_of_what_if_chapter_15():
    fitted = fit_surrogate(*chapter_15(), outcome_degree=1, effect_degree=0)
    found = [
        fitted.outcome_coefficients[0],
        fitted.effect_coefficients[0],
        fitted.outcome_coefficients[1],
    ]
    assert found == pytest.approx([5.5945, 3.5506, -14.8218], abs=5e-5)
    assert found == pytest.approx(stored("nhefs")["coefficients"], abs=1e-6)


def test_its_standard_error_is_that_of_what_if_chapter_15():
    y, b, z = chapter_15()
    effect = sensitivity(b[:, None], y, sensitive_features=z).effect
    assert effect.estimate == pytest.approx(3.5506, abs=5e-5)
    assert effect.se == pytest.approx(0.4573, abs=5e-5)


def test_the_inverse_propensity_weights_are_those_of_what_if_chapter_12():
    _, z, X = weighed()
    b = Propensity(exact_logistic()).fit_predict(X, z)
    weights = np.where(z == 1, 1 / b, 1 / (1 - b))
    found = [weights.mean(), weights.min(), weights.max()]
    assert found == pytest.approx([1.996, 1.054, 16.700], abs=5e-4)


def test_the_weighted_effect_and_interval_are_those_of_what_if_chapter_12():
    y, z, X = weighed()
    found = estimate_effects(
        X,
        y,
        sensitive_features=z,
        method="weighting",
        propensity_model=exact_logistic(),
        cv=1,
    ).direct_everyone
    # the book's interval is the sandwich of a weighted regression, which is the influence one
    normal = Estimate.normal(found.estimate, found.se)
    ends = [found.estimate, normal.low, normal.high]
    assert ends == pytest.approx([3.441, 2.411, 4.470], abs=6e-4)
    assert normal.low - 0.01 < found.low < normal.low  # of a t distribution
    assert found.se == pytest.approx(stored("nhefs")["weighted_se"], rel=1e-3)


@pytest.mark.parametrize("method", ["doubly_robust", "weighting"])
def test_the_effects_in_berkeley_are_those_of_its_counts(method):
    data = load_berkeley()
    count = data.sample_weight.astype(int)
    departments = np.asarray(data.columns["Dept"], dtype=str)
    X = (departments[:, None] == np.array(list("BCDEF"))).astype(float)
    found = estimate_effects(
        np.repeat(X, count, axis=0),
        np.repeat(data.y, count),
        sensitive_features=np.repeat(data.z, count),
        method=method,
        propensity_model=exact_logistic(),
        outcome_model=LinearRegression(),
        cv=1,
        max_extreme_share=1,
    )
    expected = {
        "total": -0.141645,
        "direct_reference": 0.070969,
        "direct_group": 0.001088,
        "indirect_reference": -0.142733,
        "indirect_group": -0.212615,
        "direct_overlap": 0.018425,
    }
    seen = {name: getattr(found, name).estimate for name in expected}
    assert seen == pytest.approx(expected, abs=6e-7)


@cache
def framing_effects(method):
    """Return the effects in a table that stands for the two fitted regressions of framing.json.

    Each person appears at both levels of z, with every node of the mediator's normal distribution;
    the score is the fitted probability, so no noise is left.
    """
    fit = stored("framing")
    nodes, masses = np.polynomial.hermite_e.hermegauss(24)
    nu, z, node = map(np.ravel, np.meshgrid(fit["nu"], [0.0, 1.0], np.arange(24), indexing="ij"))
    node = node.astype(int)
    noise = fit["spread"] * nodes[node]
    mediator = fit["shift"] * z + noise
    scale = np.sqrt(1 + fit["slope"] ** 2 * fit["spread"] ** 2)
    margin = scale * nu + fit["slope"] * mediator
    outcome = norm.cdf(np.column_stack([margin, margin + fit["direct"]]))
    density = norm.pdf(mediator[:, None], [0, fit["shift"]], fit["spread"])
    return estimate_effects(
        np.column_stack([nu, mediator]),
        np.where(z == 1, outcome[:, 1], outcome[:, 0]),
        sensitive_features=z,
        method=method,
        nuisances=Nuisances(density[:, 1] / density.sum(axis=1), outcome),
        sample_weight=masses[node],
    )


@pytest.mark.parametrize("method", ["doubly_robust", "weighting"])
def test_the_effects_of_framing_are_those_of_r_mediation_to_its_simulation_error(method):
    published = {
        "indirect_reference": 0.0848,
        "indirect_group": 0.0858,
        "direct_reference": 0.0117,
        "direct_group": 0.0127,
        "total": 0.0975,
    }
    found = framing_effects(method)
    seen = {name: getattr(found, name).estimate for name in published}
    assert seen == pytest.approx(published, abs=1e-3)
    exact = {name: stored("framing")[name] for name in published}
    assert seen == pytest.approx(exact, abs=1e-6)


def darfur_like_table(dof, cross_products, seed=0):
    """Return y, z and X with these cross-products but for the unit of z, which becomes 0/1.

    z is cut from thin air, then X and y are built from it and noise so that their products come out
    right. In units of z that are k times as large, y is k times as large too: the effect stays.
    """
    n, m = dof + len(cross_products), len(cross_products)
    rng = np.random.default_rng(seed)
    z = np.arange(n) % 5 < 2
    centred = z - z.mean()
    unit = np.sqrt(centred @ centred / cross_products[1][1])
    scale = np.array([unit, unit] + [1.0] * (m - 2))
    order = [1, 0, *range(2, m)]  # z first, so that the Cholesky factor leaves it alone
    target = (np.asarray(cross_products) * np.outer(scale, scale))[np.ix_(order, order)]
    noise = rng.normal(size=(n, m - 1))
    base, _ = np.linalg.qr(np.column_stack([np.ones(n), centred, noise]))
    base[:, 1] *= np.sign(base[:, 1] @ centred)
    table = base[:, 1:] @ np.linalg.cholesky(target).T
    return table[:, 1], z.astype(int), table[:, 2:]


@cache
def darfur():
    values = stored("darfur")
    y, z, X = darfur_like_table(values["dof"], values["cross_products_within_villages"])
    position = {name: place for place, name in enumerate(values["columns"][2:])}
    groups = {
        "female": position["female"],
        "female and pastvoted": [position["female"], position["pastvoted"]],
    }
    return sensitivity(X, y, sensitive_features=z, benchmarks=groups)


def test_the_robustness_values_of_darfur_are_the_published_ones():
    found = darfur()
    assert found.dof == 783
    assert found.robustness_value == pytest.approx(0.13878, abs=5e-6)
    assert found.robustness_value_alpha == pytest.approx(0.07626, abs=5e-6)
    assert found.partial_r2 == pytest.approx(0.02187, abs=5e-6)


@pytest.mark.parametrize("name", ["estimate", "se"])
def test_the_effect_in_darfur_is_that_of_pysensemakr(name):
    assert getattr(darfur().effect, name) == pytest.approx(stored("darfur")[name], rel=1e-9)


def test_the_robustness_values_need_only_the_t_statistic():
    values = stored("darfur")
    for alpha, name in ((1.0, "robustness_value"), (0.05, "robustness_value_alpha")):
        found = robustness_value(values["t_statistic"], values["dof"], alpha=alpha)
        assert found == pytest.approx(values[name], rel=1e-12)


@pytest.mark.parametrize("name", ["r2_z", "r2_y", "estimate", "se", "low", "high"])
def test_the_benchmarks_of_darfur_are_those_of_pysensemakr(name):
    expected = stored("darfur")["benchmarks"]
    rows = darfur().benchmarks
    assert [row.benchmark for row in rows] == expected["benchmark"]
    assert [row.strength for row in rows] == [1, 2, 3, 1, 2, 3]
    assert [getattr(row, name) for row in rows] == pytest.approx(expected[name], abs=5e-7)


@pytest.mark.slow
def test_the_rows_of_darfur_with_a_level_per_village_give_the_published_values():
    data = pytest.importorskip("sensemakr").load_darfur()
    columns = [*stored("darfur")["columns"][2:], "village"]
    found = sensitivity(
        data[columns],
        data["peacefactor"],
        sensitive_features=data["directlyharmed"],
        benchmarks=["female"],
    )
    assert found.dof == 783
    assert found.robustness_value == pytest.approx(0.13878, abs=5e-6)
    expected = stored("darfur")["benchmarks"]["estimate"][:3]
    assert [row.estimate for row in found.benchmarks] == pytest.approx(expected, abs=1e-8)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "package"),
    [("darfur", "sensemakr"), ("nhefs", "causaldata"), ("framing", "statsmodels")],
)
def test_a_reference_script_still_makes_what_is_stored(name, package):
    pytest.importorskip(package)
    if name == "darfur" and int(pytest.importorskip("pandas").__version__.split(".")[0]) > 2:
        pytest.skip("PySensemakr 0.0.8 does not run on pandas 3")
    spec = importlib.util.spec_from_file_location(f"reference_{name}", REFERENCE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    numbers = zip(flat(module.compute()), flat(stored(name)), strict=True)
    for found, expected in numbers:
        words = isinstance(expected, str)
        assert found == (expected if words else pytest.approx(expected, rel=1e-6, abs=1e-6))


def flat(value):
    """Return the leaves of nested mappings and lists, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, list) else [value]
