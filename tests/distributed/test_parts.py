"""What each process computes about its own rows, and what comes out of the sums."""

import numpy as np
import pandas as pd
import pytest
from contracts import make_people, objective_of, rows_of
from sklearn.linear_model import LogisticRegression
from spread import coarse_people, in_threads

from unsway import (
    DirectEffect,
    EqualizedOdds,
    EqualOpportunity,
    FairXGBClassifier,
    OverlapWarning,
    Parity,
)
from unsway.core import Penalty
from unsway.core.newton import LinearProblem
from unsway.criteria import FairTarget
from unsway.distributed import Collective, Part, fit_here
from unsway.distributed.rows import Facts, Layout, read_facts
from unsway.effects import Fitting, IllPosedSurrogateError, Nuisances, SurrogateDesign
from unsway.effects.conditional import fit_correction
from unsway.effects.encoding import TableEncoder
from unsway.folds import draws
from unsway.grouping import Grouping
from unsway.models.engine import BoosterSettings
from unsway.models.nuisances import EngineFitting
from unsway.models.xgboost import XGBOOST
from unsway.tables import CodedTable, EngineTable

CUTS = (slice(0, 150), slice(150, 150), slice(150, 1_000))  # of three workers, one without rows


def whole(array):
    return array


# --- which rows are held out ---------------------------------------------------------------------


def test_draws_do_not_depend_on_the_order_or_the_company_of_rows():
    X, _, _ = coarse_people(1_000)
    drawn = draws(X, (), seed=3)
    assert np.array_equal(drawn[500:], draws(X[500:], (), seed=3))
    assert np.array_equal(drawn[::-1], draws(X[::-1], (), seed=3))
    assert not np.array_equal(drawn, draws(X, (), seed=4))


@pytest.mark.parametrize("fraction", [0.1, 0.33, 0.5])
def test_draws_are_uniform_on_few_distinct_numbers(fraction):
    X = np.arange(20_000.0)[:, None]
    assert abs((draws(X, (), seed=0) < fraction).mean() - fraction) < 0.01


def test_alike_rows_are_shared_out_within_each_label():
    X, y = np.zeros((900, 2)), np.repeat([0.0, 1.0], [600, 300])
    held = draws(X, [y], seed=0) < 1 / 3
    assert abs(held[y == 0].sum() - 200) <= 2
    assert abs(held[y == 1].sum() - 100) <= 2


def test_zero_and_minus_zero_and_all_kinds_of_missing_are_one_value():
    odd = np.array([0x7FF8000000000123], dtype=np.uint64).view(np.float64)[0]
    X = np.array([[0.0, np.nan], [-0.0, odd]])
    keys = draws(X[:1], (), 0), draws(X[1:], (), 0)
    assert keys[0] == keys[1]


# --- the logistic regression ---------------------------------------------------------------------


def mixed_table(n_rows=1_000):
    rng = np.random.default_rng(0)
    matrix = np.column_stack([rng.normal(3, 2, n_rows), rng.integers(0, 3, n_rows)]).astype(float)
    matrix[::7, 0] = np.nan
    target = (rng.random(n_rows) < 1 / (1 + np.exp(-np.nan_to_num(matrix[:, 0] - 3)))).astype(float)
    layout = EngineTable(("a", "b"), {"b": ("x", "y", "z")})
    return CodedTable(matrix, layout), target, rng.uniform(0.5, 2, n_rows)


def regression(table, target, weights, reduce=whole):
    """Return the logistic regression of all workers' rows, and its probabilities of those here."""
    learner = linear(rows_of(table, target, target), reduce)
    everybody = np.arange(len(target))
    model = learner.fit(target, everybody, weights)
    return model, learner.predict_rows(model, everybody)[:, 0]


def linear(rows, reduce):
    """Return the learner of a logistic regression alone."""
    settings = BoosterSettings({}, "exact", 0, 1)
    return EngineFitting(XGBOOST, settings, reduce=reduce).regression(rows, ())


def test_the_logistic_regression_is_scikit_learns():
    table, target, weights = mixed_table()
    design = TableEncoder(whole).fit(table).transform(table)
    theirs = LogisticRegression(tol=1e-10, max_iter=1_000).fit(design, target, weights)
    expected = theirs.predict_proba(design)[:, 1]
    assert design.shape[1] == 1 + 1 + 3  # number, missing, levels
    np.testing.assert_allclose(regression(table, target, weights)[1], expected, atol=1e-6)


def test_the_logistic_regression_of_three_workers_is_that_of_one():
    table, target, weights = mixed_table()
    alone, _ = regression(table, target, weights)

    def work(rank, reduce):
        rows = CUTS[rank]
        mine = CodedTable(table.matrix[rows], table.layout)
        return regression(mine, target[rows], weights[rows], reduce)[0]

    for model in in_threads(3, work):
        np.testing.assert_allclose(model.coefficients, alone.coefficients, atol=1e-7)


def test_a_regression_on_some_rows_is_that_of_these_rows_alone():
    table, target, weights = mixed_table()
    learner, half = linear(rows_of(table, target, target), whole), np.arange(0, 1_000, 2)
    design = learner.encode(table)[0][half]
    theirs = LogisticRegression(tol=1e-10, max_iter=1_000)
    theirs.fit(design, target[half], weights[half])
    found = learner.predict_rows(learner.fit(target, half, weights), half)
    np.testing.assert_allclose(found[:, 0], theirs.predict_proba(design)[:, 1], atol=1e-6)


def test_one_class_alone_still_has_a_regression():
    table, _, weights = mixed_table(50)
    assert regression(table, np.ones(50), weights)[1].min() > 0.99


def test_workers_in_threads_do_not_wait_for_each_other_in_a_lock():
    people = make_people(90)

    def work(rank, reduce):
        mine = people.rows(np.arange(rank, 90, 3))
        objective = objective_of(Penalty.none(30, reduce), mine.y)
        problem = LinearProblem(objective, mine.X, l2=0.1)
        sizes = problem.columns.scale, objective.total_weight  # both are sums over all workers
        return sizes, problem.minimize().weights

    alone = LinearProblem(objective_of(Penalty.none(90), people.y), people.X, l2=0.1)
    for (scale, total), weights in in_threads(3, work):
        np.testing.assert_allclose(scale, alone.columns.scale, rtol=1e-12)
        assert total == 90
        np.testing.assert_allclose(weights, alone.minimize().weights, atol=1e-6)


# --- criteria whose rows are spread --------------------------------------------------------------


def spread_penalties(fitted, y, z, weights=None):
    """Return the penalty of all rows, and those that three workers find together."""
    one = fitted.penalty(rows_of(None, y, z, weights))

    def work(rank, reduce):
        rows = np.arange(1_000)[CUTS[rank]]
        mine = None if weights is None else weights[rows]
        return fitted.take(rows).penalty(rows_of(None, y[rows], z[rows], mine), reduce=reduce)

    return one, in_threads(3, work)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "criterion",
    [
        Parity(),
        EqualOpportunity(),
        EqualizedOdds(),
        DirectEffect(),
        DirectEffect(3, 2),
        DirectEffect(2, 1, norm="function", base_rate="fair"),
        DirectEffect(form="paper", base_rate="fair"),
    ],
    ids=repr,
)
def test_the_penalty_of_spread_rows_is_that_of_all_rows(criterion, weighted):
    X, y, z = coarse_people(1_000)
    weights = np.random.default_rng(1).uniform(0.5, 2, 1_000) if weighted else None
    one, several = spread_penalties(criterion.fit(rows_of(X, y, z, weights)), y, z, weights)
    p = np.random.default_rng(0).random(1_000)
    gradient = np.concatenate(
        in_threads(3, lambda rank, reduce: several_gradient(several[rank], p[CUTS[rank]], reduce))
    )
    np.testing.assert_allclose(gradient, one.gradient(p), atol=1e-9 * abs(one.gradient(p)).max())


def several_gradient(penalty, p, reduce):
    statistics = reduce(penalty.matrix.T @ p)
    return penalty.matrix @ penalty.distance.slope(statistics)


def test_splines_of_spread_rows_are_close_to_those_of_all_rows():
    X, y, z = coarse_people(1_000)
    fitted = DirectEffect(6, 5, norm="function", basis="spline").fit(rows_of(X, y, z))
    one, several = spread_penalties(fitted, y, z)
    p = np.random.default_rng(0).random(1_000)
    found = in_threads(
        3,
        lambda rank, reduce: several[rank].distance.value(
            reduce(several[rank].matrix.T @ p[CUTS[rank]])
        ),
    )
    assert found[0] == found[1] == found[2]
    assert abs(found[0] / one.value(p) - 1) < 0.01  # knots lie a bin apart


def test_ill_posed_surrogates_are_refused_on_all_workers_alike():
    b, z = np.linspace(0.1, 0.9, 1_000), (np.arange(1_000) >= 500).astype(float)

    def work(rank, reduce):
        rows = CUTS[rank]
        with pytest.raises(IllPosedSurrogateError) as caught:
            SurrogateDesign.of(b[rows], z[rows], reduce=reduce)
        return str(caught.value)

    messages = in_threads(3, work)
    assert len(set(messages)) == 1
    assert "do not overlap" in messages[0]


def test_a_constant_propensity_is_refused_on_all_workers_alike():
    z = (np.arange(1_000) % 2).astype(float)

    def work(rank, reduce):
        with pytest.raises(IllPosedSurrogateError, match="for every row") as caught:
            SurrogateDesign.of(np.full(len(z[CUTS[rank]]), 0.5), z[CUTS[rank]], reduce=reduce)
        return str(caught.value)

    assert len(set(in_threads(3, work))) == 1


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_the_correction_of_fair_targets_is_that_of_all_rows(degree):
    rng = np.random.default_rng(0)
    z, b, y = rng.integers(0, 2, 1_000) * 1.0, rng.uniform(0.1, 0.9, 1_000), rng.random(1_000)
    outcome, weights = rng.random((1_000, 2)), rng.uniform(0.5, 2, 1_000)

    def effect(rows, reduce=None):
        mine = Nuisances(b[rows], outcome[rows])
        known = rows_of(None, y[rows], z[rows], weights[rows])
        return fit_correction(known, mine, degree, reduce=reduce).effect(mine)

    found = in_threads(3, lambda rank, reduce: effect(CUTS[rank], reduce))
    np.testing.assert_allclose(np.concatenate(found), effect(slice(None)), atol=1e-9)


class KnownScores(Fitting):
    """Propensity scores that are known on each worker."""

    def __init__(self, scores, reduce):
        self.scores, self.reduce = scores, reduce

    def propensity(self, rows, stated, *, allow_separation=False):
        return None, self.scores


def test_extreme_propensities_are_counted_over_all_workers():
    scores = np.r_[np.full(150, 0.5), np.full(850, 0.001)]  # the first worker alone sees none

    def work(rank, reduce):
        mine = scores[CUTS[rank]]
        rows = rows_of(None, np.zeros(len(mine)), np.zeros(len(mine)))
        return DirectEffect().fit(rows, fitting=KnownScores(mine, reduce))

    with pytest.warns(OverlapWarning, match="85% of the propensities"):
        in_threads(3, work)


# --- tables in parts -----------------------------------------------------------------------------


def frame_part(n_rows=4, **columns):
    table = pd.DataFrame({"a": np.arange(float(n_rows)), **columns})
    return Part(table, np.arange(n_rows) % 2, np.arange(n_rows) // 2 % 2)


def layout_of(*parts, grouping=None):
    return Layout.of(Facts.merge(map(Facts.of, parts)), grouping)


def test_levels_are_those_of_all_parts():
    parts = frame_part(b=["x", "y", "x", "y"]), frame_part(b=["z", None, "x", "x"])
    layout = layout_of(*parts)
    assert layout.table.levels == {"b": ("x", "y", "z")}
    rows, _ = layout.rows(parts)
    np.testing.assert_array_equal(rows.X.matrix[:, 1], [0, 1, 0, 1, 2, np.nan, 0, 0])


def test_facts_survive_being_written():
    part = frame_part(b=["x", "y", "x", "y"])
    assert read_facts([part], Collective()) == Facts.of(part)


def test_a_part_that_lacks_every_category_fits_in():
    parts = frame_part(b=["x", "y", "x", "y"]), frame_part(b=[None] * 4)
    rows, _ = layout_of(*parts).rows(parts)
    assert np.isnan(rows.X.matrix[4:, 1]).all()


@pytest.mark.parametrize(
    ("other", "complaint"),
    [
        (frame_part(b=[1.0, 2.0, 3.0, 4.0]), "'b' holds numbers in some partitions"),
        (frame_part(c=["x"] * 4), "different columns"),
        (Part(pd.DataFrame({"a": [1.0], "b": ["x"]}), [2], [0]), "multiclass"),
        (Part(pd.DataFrame({"a": [1.0], "b": ["x"]}), ["1"], [0]), "mixes types"),
        (Part(pd.DataFrame({"a": [1.0], "b": ["x"]}), [1], [None]), "1 missing values"),
        (Part(pd.DataFrame({"a": [1.0], "b": ["x"]}), [1, 0], [1]), "y has 2 rows but X has 1"),
        (Part(pd.DataFrame({"a": [1.0], "b": ["x"]}), [1], [1], [-1.0]), "1 negative"),
        (Part(pd.DataFrame({"a": [1.0], "b": ["x"]}), [1], [1], [1.0]), "some partitions only"),
        (Part(pd.DataFrame({"a": [1.0], "b": ["x"]}), [1], None), "sensitive_features is required"),
        (Part(pd.DataFrame({"a": [1.0], "b": ["x"]}), [1], [b"x"]), "numbers, booleans or strings"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(other, complaint):
    with pytest.raises((ValueError, TypeError), match=complaint):
        layout_of(frame_part(b=["x", "y", "x", "y"]), other)


def test_the_sensitive_column_is_refused_by_its_name():
    part = frame_part()
    part = Part(part.X, part.y, pd.Series([0, 0, 1, 1], name="a"))
    with pytest.raises(ValueError, match="X contains the sensitive column 'a'"):
        layout_of(part)


def test_words_need_a_reference():
    part = Part(np.zeros((2, 1)), [0, 1], ["f", "m"])
    with pytest.raises(ValueError, match="reference='m'"):
        layout_of(part)
    assert layout_of(part, grouping=Grouping(reference="m")).groups.levels == ("m", "f")


def test_one_process_is_a_collective_of_its_own():
    alone = Collective()
    assert (alone.rank, alone.size) == (0, 1)
    assert alone.texts("naïve ✓") == ["naïve ✓"]
    assert alone.broadcast(b"x") == b"x"
    assert alone.sum(np.zeros((2, 0))).shape == (2, 0)
    assert alone.largest(np.array([[1.0], [2.0]])).tolist() == [[1.0], [2.0]]
    with pytest.raises(ValueError, match="bad"):
        alone.agree(lambda: int("bad"))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"X": lambda X, z: np.column_stack([X, 3 - 2 * z])}, "'column 6' is the same as"),
        ({"y": lambda y, z: y * 0}, "single class"),
        ({"z": lambda z: z * 0}, "single level"),
        ({"X": lambda X, z: X * np.inf}, "infinity"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_bad_rows_are_refused_before_any_work(change, complaint):
    from spread import quick_model

    X, y, z = coarse_people(200)
    X = change["X"](X, z) if "X" in change else X
    y = change["y"](y, z) if "y" in change else y
    z = change["z"](z) if "z" in change else z
    with pytest.raises(ValueError, match=complaint):
        fit_here(quick_model("parity"), Part(X, y, z))


@pytest.mark.parametrize("short", ["y", "sensitive_features", "sample_weight"])
def test_a_short_column_of_the_eval_set_is_refused_by_its_name(short):
    from spread import quick_model

    X, y, z = coarse_people(200)
    columns = {"y": y, "sensitive_features": z, "sample_weight": np.ones(200)}
    shortened = {**columns, short: columns[short][:-1]}
    with pytest.raises(ValueError, match=f"{short} has 199 rows but X has 200"):
        fit_here(quick_model("parity"), Part(X, **columns), eval_parts=Part(X, **shortened))


# --- covariates that tell z -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "criterion",
    [FairTarget(), FairTarget(cv=1), DirectEffect()],
    ids=["fair target", "one fold", "direct effect"],
)
def test_a_near_copy_of_z_is_refused_by_name(criterion):
    X, y, z = coarse_people(1_000)
    code = z + 0.01 * np.random.default_rng(0).normal(size=len(z))
    table = pd.DataFrame(X, columns=list("abcdef")).assign(code=code)
    with pytest.raises(ValueError, match="'code' predicts it almost alone"):
        fit_here(FairXGBClassifier(criterion, n_jobs=1), Part(table, y, z))
