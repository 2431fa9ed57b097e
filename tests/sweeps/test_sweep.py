"""A sweep: its figures, its rows, its workers, and what it refuses."""

import json
import math

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from contracts import rows_of
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, roc_auc_score

from unsway import (
    DirectEffect,
    DirectEffectCorrector,
    FairLGBMClassifier,
    FairLogisticRegression,
    FairTarget,
    FairTargetClassifier,
    FairXGBClassifier,
    Parity,
    Schedule,
    estimate_effects,
    make_synthetic,
    score_gap,
    selection_rate_difference,
)
from unsway.folds import hold_out
from unsway.grouping import Grouping
from unsway.sweeps import Frontier, frontier
from unsway.sweeps.inputs import FULL_STRENGTHS, PENALTY_STRENGTHS, check_strengths
from unsway.sweeps.measures import Judge, Part

QUICK = Schedule(ramp_steps=5, patience=3, max_steps=40)
ANY_OVERLAP = {"max_extreme_share": 1}


@pytest.fixture(scope="module")
def people():
    return make_synthetic(1_200, random_state=0)


@pytest.fixture(scope="module")
def others():
    return make_synthetic(900, random_state=1)


def sweep(people, estimator=None, strengths=(0.0, 0.9), **options):
    return frontier(
        FairLogisticRegression(Parity()) if estimator is None else estimator,
        options.pop("X", people.X),
        options.pop("y", people.y),
        sensitive_features=options.pop("z", people.z),
        strengths=strengths,
        **{"effects": False, **options},
    )


# --- the figures ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def judged(people, others):
    test = (others.X, others.y, others.z)
    model = FairLogisticRegression(DirectEffect(max_extreme_share=1))
    return sweep(people, model, test_set=test, effects=ANY_OVERLAP, threshold=0.4)


def test_figures_are_those_of_scikit_learn_and_of_ours(judged, others):
    y, z = others.y, others.z
    p = judged.model(0.9).predict_proba(others.X)[:, 1]
    expected = {
        "rows": 900,
        "accuracy": accuracy_score(y, p > 0.4),
        "auc": roc_auc_score(y, p),
        "log_loss": log_loss(y, p),
        "brier": brier_score_loss(y, p),
        "score_gap": score_gap(y, p, sensitive_features=z),
        "selection_rate_difference": selection_rate_difference(
            y, p, sensitive_features=z, threshold=0.4
        ),
    }
    found = judged.point(0.9).parts["test"]
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-12)


def test_the_direct_effect_left_is_that_of_the_effects_room(judged, others):
    p = judged.model(0.9).predict_proba(others.X)[:, 1]
    effects = estimate_effects(others.X, others.y, sensitive_features=others.z, max_extreme_share=1)
    left, found = effects.direct_effect_left(p), judged.point(0.9).parts["test"]
    assert found["direct_effect_left"] == pytest.approx(left.estimate, rel=1e-12)
    assert found["direct_effect_left_se"] == pytest.approx(left.se, rel=1e-12)
    assert found["direct_effect_left_low"] == pytest.approx(left.low, rel=1e-12)
    assert judged.parts["test"]["effects"]["explained"]["estimate"] == effects.explained.estimate
    assert "direct_effect_left" not in judged.point(0.9).parts["train"]


def test_the_validated_effect_left_uses_the_labels_of_all_rows_and_scores_of_its_own(people):
    found = sweep(people, effects=ANY_OVERLAP)
    held = hold_out(people.X, people.y + 2 * people.z, 0.33)
    effects = estimate_effects(people.X, people.y, sensitive_features=people.z, max_extreme_share=1)
    figures = found.point(0.9).parts["validation"]
    p = found.model(0.9).predict_proba(people.X)[:, 1]
    gap = p[held & (people.z == 1)].mean() - p[held & (people.z == 0)].mean()
    assert figures["score_gap"] == pytest.approx(gap)
    left = gap - effects.explained.estimate
    assert figures["direct_effect_left"] == pytest.approx(left, abs=1e-12)
    assert found.parts["validation"]["effects_rows"] == 1_200


def test_scores_of_some_rows_have_the_error_of_those_rows():
    """Without any effect of the labels, the error is that of a difference of two means."""
    rng = np.random.default_rng(0)
    z, scored = np.repeat([0.0, 1.0], 500), rng.random(1_000) < 0.3
    p, places = rng.random(scored.sum()), np.flatnonzero(scored)

    class Gap:
        def direct_effect_left(self, scores):
            groups = [scores[z == group] for group in (0, 1)]
            gap = groups[1].mean() - groups[0].mean()
            return gap, np.sqrt(sum(group.var() / len(group) for group in groups))

    rows = rows_of(None, z, z)
    gap, se = Judge(effects=Gap(), rows=rows, places=places).left(p)
    inside = [p[z[places] == group] for group in (0, 1)]
    assert gap == pytest.approx(inside[1].mean() - inside[0].mean())
    assert se == pytest.approx(np.sqrt(sum(group.var() / len(group) for group in inside)))


def test_penalty_and_surrogate_are_those_of_training(people):
    model = FairLogisticRegression(DirectEffect(max_extreme_share=1))
    held = hold_out(people.X, people.y + 2 * people.z, 0.33)
    found = sweep(people, model).point(0.9).parts["train"]
    alone = FairLogisticRegression(DirectEffect(max_extreme_share=1), 0.9).fit(
        people.X[~held], people.y[~held], sensitive_features=people.z[~held]
    )
    assert found["penalty"] == pytest.approx(alone.penalty_, rel=1e-9)
    assert {name: found[name] for name in alone.statistics_} == pytest.approx(alone.statistics_)


@pytest.mark.parametrize("criterion", [Parity(), FairTarget(max_extreme_share=1)])
def test_scores_of_exactly_zero_and_one_have_finite_figures(people, criterion):
    rows = rows_of(people.X, people.y, people.z)
    part = Part(name="test", rows=rows, objective=criterion.fit(rows).objective(rows))
    assert np.isfinite(list(part.measure(1 - rows.y, 0.5).values())).all()


def test_more_strength_leaves_less_of_the_penalty(people):
    found = sweep(people, strengths=[0, 0.5, 0.9, 0.975])
    penalties = [point.value("penalty", "train") for point in found.points]
    assert penalties == sorted(penalties, reverse=True)


def test_the_table_is_tidy(judged):
    table = judged.to_frame()
    assert list(table["strength"]) == [0.0] * 3 + [0.9] * 3
    assert list(table["part"]) == ["train", "validation", "test"] * 2
    assert {"alpha_1", "beta_0", "penalty", "rounds", "seconds", "error"} <= set(table.columns)
    assert judged.to_frame("polars").shape == judged.to_frame("pyarrow").shape == table.shape


def test_fair_targets_have_their_own_loss_in_the_table(people):
    found = sweep(people, FairLogisticRegression(FairTarget(max_extreme_share=1)), [0.0, 1.0])
    losses = [point.value("fair_log_loss", "train") for point in found.points]
    assert losses[1] < losses[0]
    assert "penalty" not in found.points[0].parts["train"]


def test_weights_of_two_are_rows_twice(people):
    twice = np.repeat(np.arange(1_200), 2)
    test = (people.X[twice], people.y[twice], people.z[twice])
    plain = sweep(people, test_set=test).point(0.9).parts["test"]
    weighted = (people.X, people.y, people.z, np.full(1_200, 2.0))
    found = sweep(people, test_set=weighted).point(0.9).parts["test"]
    ends = ("_se", "_low", "_high")  # twice as many rows tell more
    plain, found = (
        {name: value for name, value in each.items() if not name.endswith(ends)}
        for each in (plain, found)
    )
    assert {**found, "rows": 2_400} == pytest.approx(plain)


# --- the rows ------------------------------------------------------------------------------------


def test_a_booster_chooses_by_the_rows_it_stops_by(people):
    model = FairXGBClassifier(Parity(), params={"max_depth": 2}, schedule=QUICK, n_jobs=1)
    found = sweep(people, model)
    best = found.model(0.9).best_iteration_
    expected = found.model(0.9).evals_result_["validation"]["penalty"][best - 1]
    assert found.point(0.9).value("penalty", "validation") == pytest.approx(expected, rel=1e-4)
    assert found.parts["train"]["rows"] + found.parts["validation"]["rows"] == 1_200


@pytest.mark.parametrize(
    "model",
    [
        FairLogisticRegression(Parity()),
        FairLGBMClassifier(Parity(), params={"max_depth": 2}, schedule=QUICK, n_jobs=1),
    ],
)
def test_rows_to_choose_by_can_be_given(model, people, others):
    found = sweep(people, model, eval_set=(others.X, others.y, others.z))
    assert found.parts["train"]["rows"] == 1_200
    p = found.model(0.9).predict_proba(others.X)[:, 1]
    gap = score_gap(None, p, sensitive_features=others.z)
    assert found.point(0.9).value("score_gap", "validation") == pytest.approx(gap)


@pytest.mark.parametrize(
    "model",
    [
        FairLogisticRegression(Parity()),
        FairXGBClassifier(Parity(), params={"max_depth": 2}, schedule=QUICK, n_jobs=1),
        FairLogisticRegression(DirectEffect(max_extreme_share=1)),
    ],
)
def test_folds_choose_by_scores_of_models_that_have_not_seen_the_row(model, people):
    found = sweep(people, model, cv=3)
    assert found.parts["validation"]["rows"] == found.parts["train"]["rows"] == 1_200
    assert found.point(0.0).value("log_loss", "validation") > found.point(0.0).value(
        "log_loss", "train"
    )
    alone = model.__class__(model.criterion, 0.9, **_settings(model))
    alone.fit(people.X, people.y, sensitive_features=people.z)
    np.testing.assert_allclose(
        found.model(0.9).predict_proba(people.X), alone.predict_proba(people.X), atol=1e-5
    )


def _settings(model):
    given = model.get_params(deep=False)
    return {name: given[name] for name in ("params", "schedule", "n_jobs") if name in given}


def test_words_and_levels_are_taken_as_they_are(people):
    X = pd.DataFrame(people.X).rename(columns=str)
    X["job"] = np.where(X["0"] > 0, "clerk", "smith")
    y, z = np.where(people.y == 1, "yes", "no"), np.where(people.z == 1, "M", "F")
    model = FairLGBMClassifier(
        Parity(), params={"max_depth": 2}, schedule=QUICK, n_jobs=1, groups=Grouping(reference="F")
    )
    found = sweep(people, model, X=X, y=y, z=z)
    assert found.model(0.9).classes_.tolist() == ["no", "yes"]
    assert found.model(0.9).sensitive_levels_ == ("F", "M")
    again = sweep(people, model, X=pl.from_pandas(X), y=pl.Series(y), z=pl.Series(z))
    assert [p.parts for p in again.points] == [p.parts for p in found.points]


def test_a_linear_model_can_have_its_columns_encoded(people):
    X = pd.DataFrame(people.X).rename(columns=str)
    X["job"] = np.where(X["0"] > 0, "clerk", "smith")

    def encode(X):
        return np.column_stack([X.drop(columns="job"), X["job"] == "clerk"]).astype(float)

    found = sweep(people, FairLogisticRegression(Parity()), X=X, encode=encode)
    assert found.model(0.9).coef_.shape == (1, people.X.shape[1] + 1)


@pytest.mark.parametrize(
    "model",
    [
        DirectEffectCorrector(
            LogisticRegression(), criterion=DirectEffect(max_extreme_share=1), max_clipped_share=1
        ),
        FairTargetClassifier(LogisticRegression(), criterion=FairTarget(max_extreme_share=1)),
    ],
)
def test_any_estimator_with_a_strength_will_do(model, people):
    found = sweep(people, model, [0.0, 1.0])
    gaps = [point.value("score_gap", "validation") for point in found.points]
    assert gaps[1] < gaps[0] - 0.05
    assert found.model(1.0).criterion is model.criterion


def test_a_model_in_memory_does_not_carry_the_rows(people):
    criterion = DirectEffect(max_extreme_share=1)
    fitted = criterion.fit(rows_of(people.X, people.y, people.z.astype(float)))
    found = sweep(people, FairLogisticRegression(fitted))
    assert isinstance(found.model(0.9).criterion, DirectEffect)


def test_too_few_rows_for_the_effects_are_a_note(people):
    few = np.r_[np.flatnonzero(people.z == 1)[:12], np.flatnonzero(people.z == 0)[:200]]
    test = (people.X[few], people.y[few], people.z[few])
    found = sweep(people, test_set=test, effects=ANY_OVERLAP)
    assert "no direct effect left on the test rows" in found.notes[0]
    assert "direct_effect_left" in found.points[0].parts["validation"]
    assert "direct_effect_left" not in found.points[0].parts["test"]


# --- workers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_workers_change_no_figure(backend, people, tmp_path):
    model = FairXGBClassifier(Parity(), params={"max_depth": 2}, schedule=QUICK, n_jobs=1)
    strengths, seen = [0.0, 0.4, 0.6, 0.9], []
    alone = sweep(people, model, strengths)
    with joblib.parallel_config(backend=backend):
        found = sweep(
            people, model, strengths, n_jobs=2, store=tmp_path, callback=lambda *a: seen.append(a)
        )
    assert [point.parts for point in found.points] == [point.parts for point in alone.points]
    assert sorted(point.strength for point, _, _ in seen) == strengths
    assert [done for _, done, _ in seen] == [1, 2, 3, 4]


def test_warm_starts_do_not_depend_on_workers(people):
    strengths = [0.0, 0.1, 0.3, 0.4, 0.6, 0.7, 0.9]
    with joblib.parallel_config(backend="threading"):
        one, two = (sweep(people, strengths=strengths, n_jobs=n) for n in (1, 2))
    assert [point.parts for point in one.points] == [point.parts for point in two.points]


# --- the strengths -------------------------------------------------------------------------------


def test_strengths_are_the_papers_unless_others_are_given():
    assert check_strengths(FairXGBClassifier(Parity()), None) == PENALTY_STRENGTHS
    assert PENALTY_STRENGTHS[:2] == (0.0, 0.025)
    assert PENALTY_STRENGTHS[-1] == 0.975
    assert check_strengths(FairXGBClassifier(), None) == FULL_STRENGTHS
    assert FULL_STRENGTHS[-1] == 1.0
    assert check_strengths(DirectEffectCorrector(), None) == FULL_STRENGTHS


def test_strengths_are_sorted_and_counted_once(people):
    assert sweep(people, strengths=[0.9, 0, 0.9]).strengths == (0.0, 0.9)


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"strengths": []}, ValueError, "strengths is empty"),
        ({"strengths": [1.0]}, ValueError, "below 1; got 1.0"),
        ({"strengths": [-0.1]}, ValueError, "at least 0"),
        ({"strengths": [float("nan")]}, ValueError, "at least 0"),
        ({"strengths": ["a lot"]}, TypeError, "each of strengths must be a number; got 'a lot'"),
        ({"estimator": LogisticRegression()}, TypeError, "one with a strength"),
        ({"estimator": FairXGBClassifier}, TypeError, "got the class FairXGBClassifier"),
        ({"estimator": FairXGBClassifier("parity")}, TypeError, "criterion must be one such as"),
        ({"estimator": FairLogisticRegression("fairness")}, TypeError, "got 'fairness'"),
        ({"cv": 1}, ValueError, "cv must be an integer of at least 2; got 1"),
        ({"threshold": 1.5}, ValueError, "threshold must be a finite number above 0 and below 1"),
        ({"validation_fraction": "half"}, TypeError, "validation_fraction must be a number"),
        ({"random_state": -1}, ValueError, "random_state must be an integer"),
        ({"test_set": [1, 2]}, TypeError, "test_set must be a tuple"),
        ({"z": np.zeros(1_200)}, ValueError, "single level"),
        ({"y": np.zeros(1_199)}, ValueError, "y has 1199 rows but X has 1200"),
        ({"store": 7}, TypeError, "store must be the path of a folder"),
    ],
)
def test_bad_input_is_refused_before_any_work(change, error, words, people):
    def fail(*_):
        raise AssertionError("work was done")

    with pytest.raises(error, match=words):
        sweep(people, **change, callback=fail)


def test_cv_and_rows_to_choose_by_exclude_each_other(people, others):
    with pytest.raises(ValueError, match="either cv or eval_set"):
        sweep(people, cv=2, eval_set=(others.X, others.y, others.z))


def test_test_rows_of_other_labels_are_refused(people, others):
    with pytest.raises(ValueError, match="test_set has a label that the training rows have not"):
        sweep(people, test_set=(others.X, np.where(others.y == 1, 3, 0), others.z))
    with pytest.raises(ValueError, match="in test_set: y has 5 rows"):
        sweep(people, test_set=(others.X, others.y[:5], others.z))


# --- the result ----------------------------------------------------------------------------------


def test_a_frontier_in_memory_can_be_saved_and_loaded(judged, tmp_path, others):
    judged.save(tmp_path / "kept")
    loaded = Frontier.load(tmp_path / "kept")
    assert loaded.parts == judged.parts
    assert [point.to_dict() for point in loaded.points] == [p.to_dict() for p in judged.points]
    np.testing.assert_array_equal(
        loaded.model(0.9).predict_proba(others.X), judged.model(0.9).predict_proba(others.X)
    )
    again = loaded.save(tmp_path / "again")
    assert Frontier.load(again).points == loaded.points
    with pytest.raises(FileExistsError, match="not empty"):
        judged.save(tmp_path / "kept")


def test_a_frontier_becomes_json(judged):
    again = json.loads(json.dumps(judged.to_dict(), allow_nan=False))
    assert [point["strength"] for point in again["points"]] == [0.0, 0.9]
    accuracy = judged.point(0.9).value("accuracy", "test")
    assert again["points"][1]["parts"]["test"]["accuracy"] == accuracy
    assert again["parts"]["validation"]["rows"] == 396


def test_a_strength_that_is_not_there_is_named_with_its_neighbour(judged):
    with pytest.raises(
        ValueError, match=r"strength 0.8 is not in the frontier; the nearest is 0.9"
    ):
        judged.model(0.8)


def test_an_empty_folder_is_no_frontier(tmp_path):
    with pytest.raises(FileNotFoundError, match="is no store of a sweep"):
        Frontier.load(tmp_path)


def test_a_plot_shows_both_parts_and_the_choice(judged):
    choice = judged.select(max_accuracy_loss=1)
    ax = judged.plot(choice=choice)
    lines = {line.get_label(): line.get_xydata() for line in ax.get_lines()}
    expected = [
        [point.value(name, "test") for name in ("accuracy", "direct_effect_left")]
        for point in judged.points
    ]
    np.testing.assert_allclose(lines["test"], expected)
    directions = {tuple(np.ptp(line, axis=0) > 0) for bars in ax.collections
                  for line in getattr(bars, "get_segments", list)()}  # fmt: skip
    assert directions == {(True, False), (False, True)}  # intervals of both measures
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert f"chosen, λ = {choice.strength:g}" in labels
    assert judged.plot(ax, x="log_loss", y="score_gap") is ax
    import matplotlib.pyplot as plt

    plt.close(ax.figure)


def test_a_frontier_says_what_it_is(judged):
    assert repr(judged) == "Frontier of 2 strengths from 0 to 0.9"


def test_strengths_are_compared_with_references_on_the_same_rows(people, others):
    model = FairLogisticRegression()
    test = (others.X, others.y, others.z)
    given = {"test_set": test, "effects": {"max_extreme_share": 1}}
    found = sweep(people, model, [0.0, 0.5, 1.0], **given)
    facts = found.parts["test"]
    assert facts["default_strength"] == 1.0
    pairs = facts["paired"]
    assert pairs["0.0"]["log_loss_minus_blind"] == pairs["1.0"]["log_loss_minus_default"] == 0
    points = {each.strength: each for each in found.points}
    loss = [points[s].value("log_loss", "test") for s in (0.0, 1.0)]
    assert pairs["1.0"]["log_loss_minus_blind"] == pytest.approx(loss[1] - loss[0])
    shares = [points[s].value("pass_through", "test") for s in (0.0, 1.0)]
    assert pairs["0.0"]["pass_through_minus_full"] == pytest.approx(shares[0] - shares[1])
    alone = math.hypot(*(points[s].value("pass_through_se", "test") for s in (0.0, 1.0)))
    assert pairs["0.0"]["pass_through_minus_full_se"] < alone


def test_a_store_keeps_the_differences_and_folds_have_them_too(people, tmp_path):
    given = {"strengths": [0.0, 0.9], "cv": 2, "store": tmp_path / "s"}
    effects = {"max_extreme_share": 1}
    found = frontier(
        FairLogisticRegression(Parity()),
        people.X,
        people.y,
        sensitive_features=people.z,
        effects=effects,
        **given,
    )
    pairs = found.parts["validation"]["paired"]
    assert set(pairs) == {"0.0", "0.9"}
    assert Frontier.load(tmp_path / "s").parts["validation"]["paired"] == pairs
