"""A sweep of regressors: its models, its figures in the units of y, and what it refuses."""

import numpy as np
import pytest

from unsway import (
    FairLinearRegressor,
    FairLogisticRegression,
    FairTarget,
    FairTargetRegressor,
    FairXGBRegressor,
    Frontier,
    estimate_effects,
    frontier,
    make_world,
    seek_strength,
)
from unsway.auditing import deviance_explained
from unsway.auditing.numbers import units_of
from unsway.criteria import fit_criterion
from unsway.models.training import in_training_units
from unsway.outcome import outcome_reader
from unsway.rows import Rows

pytest.importorskip("xgboost")
ANY_OVERLAP = {"max_extreme_share": 1}
STRENGTHS = (0.0, 0.5, 1.0)


@pytest.fixture(scope="module")
def people():
    return make_world("claims", 2_000, random_state=4)


@pytest.fixture(scope="module")
def others():
    return make_world("claims", 1_500, random_state=5)


def booster(**options):
    return FairXGBRegressor(loss="poisson", n_jobs=1, **options)


def sweep(people, estimator, **options):
    given = {"strengths": STRENGTHS, "effects": False, "exposure": people.exposure, **options}
    return frontier(estimator, people.X, people.y, sensitive_features=people.z, **given)


def tuple_of(people):
    return people.X, people.y, people.z, None, people.exposure


@pytest.fixture(scope="module")
def found(people, others):
    return sweep(people, booster(), test_set=tuple_of(others), effects=ANY_OVERLAP)


@pytest.mark.parametrize("strength", STRENGTHS)
def test_every_model_is_that_of_a_fit_of_its_own(strength, found, people, others):
    alone = booster(strength=strength)
    alone.fit(people.X, people.y, sensitive_features=people.z, exposure=people.exposure)
    model = found.model(strength)
    np.testing.assert_array_equal(model.predict(others.X), alone.predict(others.X))
    assert model.balance_ == alone.balance_
    assert model.per_exposure_


def test_the_figures_are_in_the_units_of_y_and_weigh_by_exposure(found, others):
    figures, p = found.point(1.0).parts["test"], found.model(1.0).predict(others.X)
    rates, weights = others.y / others.exposure, others.exposure
    explained = deviance_explained(rates, p, loss="poisson", sample_weight=weights)
    assert figures["deviance_explained"] == pytest.approx(explained)
    assert figures["mean_score"] == pytest.approx(np.average(p, weights=weights))
    effects = estimate_effects(
        others.X, others.y, sensitive_features=others.z, loss="poisson", exposure=others.exposure,
        **ANY_OVERLAP,
    )  # fmt: skip
    left = effects.direct_effect_left(p)
    assert figures["direct_effect_left"] == pytest.approx(left.estimate, abs=1e-9)
    assert figures["direct_effect_left_se"] == pytest.approx(left.se, rel=1e-6)


def test_a_choice_goes_by_the_deviance(found):
    assert found.utility == "deviance_explained"
    paired = found.parts["test"]["paired"]["1.0"]
    gain = [found.point(s).value("deviance", "test") for s in (1.0, 0.0)]
    assert paired["deviance_minus_blind"] == pytest.approx(gain[0] - gain[1])
    chosen = found.select(max_accuracy_loss=1.0)
    assert "deviance_explained lost" in chosen.rule
    assert set(found.pareto().strengths) <= set(STRENGTHS)


def test_the_decision_on_a_strength_is_in_the_units_of_y(found):
    facts = found.parts["test"]
    units = units_of(facts["loss"], "claims per year", facts["scale"])
    decision = found.point(1.0).decision("test", ("women", "men"), units=units)
    assert "claims per year" in decision.headline
    assert "% of the mean" in decision.sentences[0]


def test_a_strength_that_is_stored_comes_back(people, others, tmp_path):
    store = tmp_path / "store"
    first = sweep(people, booster(), store=store, strengths=[0, 1])
    again = sweep(people, booster(), store=store, strengths=[0, 0.5, 1])
    assert again.strengths == STRENGTHS
    assert again.point(1.0).parts == first.point(1.0).parts
    loaded = Frontier.load(store)
    np.testing.assert_allclose(
        loaded.model(1.0).predict(others.X), booster().fit(
            people.X, people.y, sensitive_features=people.z, exposure=people.exposure
        ).predict(others.X), rtol=1e-6,
    )  # fmt: skip
    turned = {"sensitive_features": 1 - people.z, "exposure": people.exposure}
    with pytest.raises(ValueError, match="other data or settings"):
        frontier(
            booster(), people.X, people.y, strengths=[0, 1], effects=False, store=store, **turned
        )


@pytest.mark.parametrize("options", [{}, {"cv": 3}, {"n_jobs": 2}])
def test_linear_and_wrapped_models_leave_less_with_more_strength(options, people):
    for estimator in (FairLinearRegressor(loss="poisson"), FairTargetRegressor(loss="poisson")):
        found = sweep(people, estimator, strengths=[0, 1], **options)
        gaps = [point.value("score_gap", "validation") for point in found.points]
        assert not any(point.error for point in found.points)
        assert gaps[1] < gaps[0]


def test_numbers_without_an_exposure_and_with_a_unit_of_their_own():
    people = make_world("wages", 1_500, random_state=2)
    given = people.X, 1000 * people.y
    found = frontier(
        FairLinearRegressor(), *given, sensitive_features=people.z, strengths=[0, 1], effects=False
    )
    small = frontier(
        FairLinearRegressor(), people.X, people.y, sensitive_features=people.z, strengths=[0, 1],
        effects=False,
    )  # fmt: skip
    for name, factor in (("score_gap", 1e3), ("deviance_explained", 1)):
        ours, theirs = (each.point(1.0).value(name, "validation") for each in (found, small))
        assert ours == pytest.approx(factor * theirs, rel=1e-5)


def test_an_exposure_is_refused_beside_a_label(people):
    with pytest.raises(ValueError, match="takes labels"):
        sweep(people, FairLogisticRegression())


def test_a_criterion_fitted_on_all_rows_is_refused_where_models_see_some(people):
    rows = Rows.check(
        people.X, people.y, sensitive_features=people.z,
        read_outcome=outcome_reader("poisson", exposure=people.exposure),
    )  # fmt: skip
    model = FairLinearRegressor(loss="poisson")
    model.criterion = fit_criterion(FairTarget(), in_training_units(rows, model))
    with pytest.raises(ValueError, match="give the criterion itself"):
        sweep(people, model)


def test_a_strength_is_sought_in_the_units_of_y():
    people = make_world("wages", 1_500, random_state=2)
    limit = 0.5 * abs(people.effects.direct_everyone)
    found = seek_strength(
        FairLinearRegressor(), people.X, people.y, sensitive_features=people.z, precision=0.3,
        max_direct_effect=limit, effects=ANY_OVERLAP,
    )  # fmt: skip
    assert limit > 1
    assert found.reached
    assert abs(found.choice.figures["direct_effect_left"]) <= limit
