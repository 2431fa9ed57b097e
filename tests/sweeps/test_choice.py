"""The rules of choice, on tables made by hand."""

import json

import pytest

from unsway.sweeps import Frontier, Point


def table(*rows, part="validation", test=None):
    """A frontier from rows (strength, accuracy, direct effect left)."""
    points = []
    for k, (strength, accuracy, left) in enumerate(rows):
        parts = {part: {"accuracy": accuracy, "direct_effect_left": left, "log_loss": 1 - accuracy}}
        if test is not None:
            parts["test"] = {"accuracy": test[k], "direct_effect_left": left}
        points.append(Point(strength=strength, parts=parts))
    return Frontier(points=tuple(points))


FALLING = table(
    (0.0, 0.90, 0.100),
    (0.2, 0.89, 0.050),
    (0.4, 0.88, 0.012),
    (0.6, 0.87, 0.008),
    (0.8, 0.85, -0.004),
    (0.9, 0.80, -0.030),
    test=(0.91, 0.90, 0.88, 0.86, 0.84, 0.79),
)


@pytest.mark.parametrize(
    ("limit", "strength"), [(0.2, 0.0), (0.05, 0.2), (0.01, 0.6), (0.005, 0.8)]
)
def test_the_smallest_strength_that_is_fair_enough(limit, strength):
    assert FALLING.select(max_direct_effect=limit).strength == strength


@pytest.mark.parametrize(("loss", "strength"), [(0.0, 0.0), (0.015, 0.2), (0.03, 0.6), (0.5, 0.8)])
def test_the_fairest_strength_that_is_accurate_enough(loss, strength):
    assert FALLING.select(max_accuracy_loss=loss).strength == strength


def test_both_limits_hold_together():
    assert FALLING.select(max_direct_effect=0.05, max_accuracy_loss=0.02).strength == 0.2
    with pytest.raises(ValueError, match=r"≤ 0.01 .* with at most 0.02 of accuracy lost: .*0.0120"):
        FALLING.select(max_direct_effect=0.01, max_accuracy_loss=0.02)


def test_a_limit_no_strength_keeps_names_the_nearest():
    with pytest.raises(ValueError, match=r"the nearest is -0.0040 at strength 0.8"):
        FALLING.select(max_direct_effect=0.001)


def test_the_knee_is_farthest_from_the_line_between_the_ends():
    # Scaled, loss + unfairness is 1 at both ends; by hand .2 + .5 = .7, .4 + .08 = .48,
    # .6 + .04 = .64 in between.
    knee = table(
        (0.0, 0.90, 0.102),
        (0.2, 0.88, 0.052),
        (0.4, 0.86, 0.010),
        (0.6, 0.84, 0.006),
        (0.8, 0.80, 0.002),
    )
    assert knee.select("knee").strength == 0.4


def test_a_front_of_two_points_has_its_knee_at_the_fairer():
    assert table((0.0, 0.9, 0.1), (0.5, 0.8, 0.01)).select("knee").strength == 0.5


def test_a_single_point_is_its_own_knee():
    assert table((0.3, 0.9, 0.1)).select("knee").strength == 0.3


def test_a_dominated_point_is_not_on_the_front():
    found = table((0.0, 0.9, 0.1), (0.2, 0.85, 0.12), (0.5, 0.88, 0.01), (0.9, 0.88, -0.01))
    assert found.pareto().strengths == (0.0, 0.5, 0.9)
    assert found.pareto("log_loss", "direct_effect_left").strengths == (0.0, 0.5, 0.9)


def test_another_measure_may_stand_for_accuracy():
    assert FALLING.select(max_accuracy_loss=0.015, utility="log_loss").strength == 0.2


def test_test_rows_are_shown_and_never_looked_at():
    choice = FALLING.select(max_direct_effect=0.01)
    assert choice.figures["accuracy"] == 0.87
    assert choice.test_figures["accuracy"] == 0.86
    assert choice.blind.strength == 0.0
    other = table(*[(p.strength, *p.parts["validation"].values())[:3] for p in FALLING.points])
    assert other.select(max_direct_effect=0.01).strength == choice.strength
    assert other.select(max_direct_effect=0.01).test_figures is None
    frame = choice.to_frame()
    assert list(frame["strength"]) == [0.0, 0.0, 0.6, 0.6]
    assert list(frame["part"]) == ["validation", "test"] * 2


def test_a_choice_says_why():
    text = str(FALLING.select(max_direct_effect=0.01))
    assert "strength 0.6: smallest strength with |direct_effect_left| ≤ 0.01" in text
    assert "test: accuracy 0.8600" in text


def test_a_choice_becomes_json_and_a_table_of_a_notebook():
    choice = FALLING.select(max_direct_effect=0.01)
    again = json.loads(json.dumps(choice.to_dict(), allow_nan=False))
    assert (again["strength"], again["point"]["strength"], again["blind"]["strength"]) == (
        0.6,
        0.6,
        0,
    )
    assert "<h3>strength 0.6: smallest strength with" in choice._repr_html_()


def test_a_strength_that_failed_is_never_chosen():
    points = (Point(strength=0.0, error="ValueError: no"), *FALLING.points[1:])
    assert Frontier(points=points).select(max_direct_effect=0.2).strength == 0.2
    with pytest.raises(ValueError, match="no strength was fitted without an error"):
        Frontier(points=points[:1]).select("knee")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rule": "knee", "max_direct_effect": 0.1}, "give either a rule or"),
        ({"rule": "elbow"}, "unknown rule 'elbow'; choose from default, knee"),
        ({"max_direct_effect": -0.1}, "max_direct_effect must be a finite number of at least 0"),
        ({"max_accuracy_loss": float("nan")}, "max_accuracy_loss must be a finite number"),
        ({"rule": "knee", "fairness": "gap"}, "there is no 'gap' on the validation rows"),
        ({"rule": "knee", "part": "train"}, "on the train rows; there is none"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        FALLING.select(**given)


# --- the default rule -----------------------------------------------------------------------------


def shares(*pass_through, se=0.05, default=0.9):
    """A frontier whose strengths pass these shares on, with paired differences to the default."""
    strengths = (0.0, 0.5, 0.9)
    points = tuple(
        Point(strength=s, parts={"validation": {"accuracy": 0.8, "pass_through": share}})
        for s, share in zip(strengths, pass_through, strict=True)
    )
    paired = {
        repr(s): {
            "pass_through_minus_default_se": se,
            "log_loss_minus_blind": 0.001 * k,
            "log_loss_minus_blind_se": 0.0004,
        }
        for k, s in enumerate(strengths)
    }
    return Frontier(points=points, parts={"validation": {"default_strength": default,
                                                         "paired": paired}})  # fmt: skip


@pytest.mark.parametrize(
    ("pass_through", "strength"),
    [
        ((1.0, 0.5, 0.1), 0.9),
        ((1.0, 0.05, 0.1), 0.9),  # nearer to 0, but not by more than chance
        ((1.0, 0.02, -0.4), 0.5),  # the default removes too much
        ((0.1, 0.05, -0.6), 0.5),  # of two the nearest
    ],
)
def test_only_a_strength_shown_to_be_nearer_to_fair_takes_the_place_of_the_default(
    pass_through, strength
):
    assert shares(*pass_through).select().strength == strength


def test_strengths_that_cannot_be_told_apart_leave_the_default_and_say_so():
    choice = shares(1.0, 0.05, 0.1).select()
    assert "no other strength has a pass-through nearer to 0 by more than chance" in choice.rule
    assert "log-loss +0.0020 ± 0.0004 to the smallest strength" in choice.rule


def test_the_nearest_strength_stands_for_a_default_that_was_not_fitted():
    choice = shares(1.0, 0.5, 0.1, default=1.0).select("default")
    assert choice.strength == 0.9
    assert "the nearest to the default" in choice.rule


def test_without_a_pass_through_the_default_is_taken():
    choice = FALLING.select()
    assert choice.strength == 0.9
    assert "do not tell what share" in choice.rule
