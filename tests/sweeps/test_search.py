"""Bisection finds the smallest strength that is fair enough."""

import numpy as np
import pytest

from unsway import (
    DirectEffect,
    FairLogisticRegression,
    FairTarget,
    FairXGBClassifier,
    Parity,
    Schedule,
    make_synthetic,
    make_world,
)
from unsway.sweeps import frontier, seek_strength

ANY_OVERLAP = {"max_extreme_share": 1}
FAIR = FairLogisticRegression(FairTarget(max_extreme_share=1))
EQUAL = FairLogisticRegression(Parity())  # quick: it has nothing to fit


@pytest.fixture(scope="module")
def people():
    return make_synthetic(2_000, random_state=3)


def test_a_search_ends_where_a_fine_grid_would(people, tmp_path):
    common = {"sensitive_features": people.z, "effects": ANY_OVERLAP, "store": tmp_path}
    found = seek_strength(
        EQUAL, people.X, people.y, max_direct_effect=0.03, precision=0.05, **common
    )
    grid = frontier(
        EQUAL, people.X, people.y, strengths=np.round(np.arange(0, 0.96, 0.05), 2), **common
    )
    expected = grid.select(max_direct_effect=0.03).strength
    assert found.reached
    assert 0 < expected < found.strength + 0.05
    assert found.strength - 0.05 <= expected
    assert len(found.frontier.points) <= 7
    assert "smallest strength found" in found.choice.rule


def test_nothing_to_remove_is_found_at_strength_zero():
    people = make_world("no_direct_effect", 2_000, random_state=0)
    found = seek_strength(
        EQUAL,
        people.X,
        people.y,
        sensitive_features=people.z,
        max_direct_effect=0.2,
        effects=ANY_OVERLAP,
    )
    assert (found.strength, found.reached, found.frontier.strengths) == (0.0, True, (0.0,))


def test_a_goal_out_of_reach_is_said(people):
    seen = []
    with pytest.warns(UserWarning, match=r"no strength up to 0.1 leaves a direct effect within"):
        found = seek_strength(
            EQUAL,
            people.X,
            people.y,
            sensitive_features=people.z,
            max_direct_effect=0.001,
            strongest=0.1,
            effects=ANY_OVERLAP,
            callback=lambda *a: seen.append(a),
        )
    assert not found.reached
    assert found.strength == 0.1
    assert [done for _, done, _ in seen] == [1, 2]
    assert np.array_equal(
        found.model.predict_proba(people.X),
        found.frontier.model(0.1).predict_proba(people.X),
    )
    assert len(found.to_frame()) == 4
    assert repr(found).endswith("2 strengths tried")
    assert [each["strength"] for each in found.to_dict()["frontier"]["points"]] == [0.0, 0.1]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (
            {"max_direct_effect": 0},
            ValueError,
            "max_direct_effect must be a finite number above 0 and below 1",
        ),
        ({"precision": "fine"}, TypeError, "precision must be a number"),
        ({"strongest": 2}, ValueError, "below 1; got 2"),
        ({"effects": False}, ValueError, "needs the direct effect left"),
        ({"folds": 3}, TypeError, "no option 'folds'"),
    ],
)
def test_a_search_that_makes_no_sense_is_refused(change, error, words, people):
    with pytest.raises(error, match=words):
        seek_strength(EQUAL, people.X, people.y, sensitive_features=people.z, **change)


def test_a_failing_fit_ends_the_search(people):
    def fail(step):
        raise ZeroDivisionError("by design")

    model = FairXGBClassifier(Parity(), callback=fail, n_jobs=1)
    with pytest.raises(RuntimeError, match=r"the fit at strength 0 failed: ZeroDivisionError"):
        seek_strength(model, people.X, people.y, sensitive_features=people.z, effects=ANY_OVERLAP)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no strength up to")  # the nearest one is then judged
@pytest.mark.parametrize("kind", ["grid", "search"])
@pytest.mark.parametrize("seed", range(10))
def test_the_chosen_model_is_as_fair_as_it_was_chosen_to_be(kind, seed):
    """On the synthetic world the true effect left is known: gap(p) over all people − explained."""
    epsilon = 0.03
    people, everyone = (
        make_synthetic(8_000, random_state=seed),
        make_synthetic(200_000, random_state=99),
    )
    options = {"sensitive_features": people.z, "effects": ANY_OVERLAP}
    if kind == "grid":
        schedule = Schedule(max_steps=300)
        model = FairXGBClassifier(
            DirectEffect(max_extreme_share=1),
            params={"max_depth": 2, "eta": 0.3},
            schedule=schedule,
            n_jobs=1,
        )
        strengths = [0.0, 0.3, 0.6, 0.8, 0.9, 0.95]
        found = frontier(model, people.X, people.y, strengths=strengths, **options)
        choice = found.select(max_accuracy_loss=0.1)
    else:
        found = seek_strength(FAIR, people.X, people.y, max_direct_effect=epsilon, **options)
        choice, found = found.choice, found.frontier
    p = found.model(choice.strength).predict_proba(everyone.X)[:, 1]
    left = p[everyone.z == 1].mean() - p[everyone.z == 0].mean() - everyone.effects.explained
    allowed = max(epsilon, abs(choice.figures["direct_effect_left"]))
    assert abs(left) <= allowed + 3 * choice.figures["direct_effect_left_se"]
