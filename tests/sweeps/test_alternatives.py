"""A search for alternatives: shared work, choice, one look at test rows, and its store."""

import json

import numpy as np
import pytest

from unsway import FairLogisticRegression, FairXGBClassifier, make_synthetic
from unsway.auditing import adverse_impact_ratio
from unsway.sweeps import Stopping, search_alternatives
from unsway.sweeps.candidate import CHAMPION
from unsway.sweeps.space import Space
from unsway.sweeps.trial import Bench

pandas = pytest.importorskip("pandas")

OPTIONS = {
    "n_candidates": 6,
    "max_utility_loss": 0.1,
    "effects": False,
    "n_seeds": 0,
    "stopping": Stopping(chance=0.001),
}


@pytest.fixture(scope="module")
def people():
    data = make_synthetic(1_500, random_state=0)
    X = pandas.DataFrame(data.X, columns=[f"x{k}" for k in range(data.X.shape[1])])
    return X, data.y, data.z


def search(people, estimators=None, **options):
    X, y, z = people
    given = FairLogisticRegression() if estimators is None else estimators
    return search_alternatives(given, X, y, sensitive_features=z, **{**OPTIONS, **options})


@pytest.fixture(scope="module")
def found(people):
    return search(people)


def test_the_winner_is_the_best_allowed_candidate_on_validation_rows(found):
    least = found.champion.value("auc") - 0.1
    allowed = [each for each in found.candidates if each.value("auc") >= least]
    best = max(allowed, key=lambda each: each.value("adverse_impact_ratio"))
    assert found.winner == best
    assert found.winner.value("adverse_impact_ratio") > found.champion.value("adverse_impact_ratio")


def test_a_search_on_pass_through_chooses_the_least_of_those_allowed(people):
    found = search(people, axis="pass_through", effects=True)
    least = found.champion.value("auc") - 0.1
    allowed = [each for each in found.candidates if each.value("auc") >= least]
    shares = [abs(each.value("pass_through")) for each in allowed]
    assert np.isfinite(shares).all()
    assert abs(found.winner.value("pass_through")) == min(shares)
    assert min(shares) < abs(found.champion.value("pass_through"))


def test_candidates_are_the_draws_of_the_stated_distribution(found):
    space = Space(**{**found.space, "engines": tuple(found.space["engines"]),
                     "features": tuple(found.space["features"])})  # fmt: skip
    assert [each.settings for each in found.candidates] == [
        space.draw(k).to_dict() for k in range(6)
    ]


def test_a_candidate_equals_an_independent_fit(found):
    bench = found.search.bench
    drawn = found.winner.draw
    model = FairLogisticRegression(strength=drawn.strength, **drawn.params)
    train, validation = bench.train, bench.validation
    model.fit(train.X, train.y.astype(int), sensitive_features=train.z.astype(int))
    scores = model.predict_proba(validation.X)[:, 1]
    levels = np.where(validation.z == 1, "b", "a")
    ratio = adverse_impact_ratio(None, scores, sensitive_features=levels, approval_rate=0.25)
    assert found.winner.value("adverse_impact_ratio") == pytest.approx(ratio)


def test_the_criterion_is_fitted_once_for_an_engine_and_feature_set(people, monkeypatch):
    calls = []
    usual = Bench._prepare
    monkeypatch.setattr(
        Bench, "_prepare", lambda self, *given: calls.append(given[1]) or usual(self, *given)
    )
    search(people, feature_sets={"few": ["x0", "x1"]})
    assert sorted(calls) == ["all", "few"]


def test_a_smaller_feature_set_trains_on_its_columns_alone(people):
    result = search(people, feature_sets={"few": ["x0", "x1"]}, n_candidates=8)
    few = next(each for each in result.candidates if each.settings["features"] == "few")
    assert result.model(few).n_features_in_ == 2


def test_test_rows_take_no_part_in_training_or_choice(found):
    bench = found.search
    parts = [bench.bench.train, bench.bench.validation, bench.test]
    assert sum(map(len, parts)) == 1_500
    seen = [set(map(tuple, part.X.to_numpy().tolist())) for part in parts]
    assert not (seen[0] | seen[1]) & seen[2]
    assert not seen[0] & seen[1]


def test_the_interval_corrected_for_the_choice_is_wider_and_that_of_the_test_rows_is_not(found):
    judged = found.judged
    naive, corrected = (
        each["adverse_impact_ratio"] for each in (judged.validation, judged.corrected)
    )
    assert corrected.low < naive.low < naive.estimate == corrected.estimate
    assert judged.rows == len(found.search.test)
    test = judged.test[found.winner.name]["adverse_impact_ratio"]
    both = judged.simultaneous[found.winner.name]["adverse_impact_ratio"]
    assert both.low <= test.low <= test.estimate


def test_finalists_have_swap_sets_and_flips(found):
    for each in found.finalists:
        swaps = found.judged.swaps[each.name]
        assert swaps.rule == "approval rate 0.25"
        assert swaps.cell("enters").n > 0
    assert len(found.judged.flips.pairs) == 3


def test_seeds_show_whose_decision_flips(people):
    result = search(people, FairXGBClassifier(params={"eta": 0.3}), n_candidates=2, n_seeds=1)
    if result.winner is None:
        pytest.skip("no candidate was better")
    assert set(result.judged.seeds.pairs) == {("winner", "seed + 1")}


def test_a_search_continues_from_its_store(people, tmp_path, monkeypatch):
    first = search(people, store=tmp_path / "store", n_candidates=3)
    monkeypatch.setattr(Bench, "champion", None)  # it must not be fitted again
    numbers = []
    usual = Bench.try_one
    monkeypatch.setattr(
        Bench, "try_one", lambda self, number: numbers.append(number) or usual(self, number)
    )
    again = search(people, store=tmp_path / "store", n_candidates=5)
    assert numbers == [3, 4]
    assert again.candidates[:3] == first.candidates
    assert (tmp_path / "store" / "models" / "-1.0" / "card.json").exists()


def test_stored_and_kept_models_give_the_same_result(people, found, tmp_path):
    stored = search(people, store=tmp_path / "store")
    for one, other in zip(stored.candidates, found.candidates, strict=True):
        assert one.parts["validation"] == pytest.approx(other.parts["validation"])
    winner = found.winner.name
    assert stored.judged.test[winner]["auc"].estimate == pytest.approx(
        found.judged.test[winner]["auc"].estimate
    )


def test_a_store_of_other_data_or_of_another_attribute_is_refused(people, tmp_path):
    X, y, z = people
    search(people, store=tmp_path / "store", n_candidates=1)
    with pytest.raises(ValueError, match="other data or settings"):
        search((X, 1 - y, z), store=tmp_path / "store")
    z = z.copy()
    z[:40] = 1 - z[:40]
    with pytest.raises(ValueError, match="other data"):
        search((X, y, z), store=tmp_path / "store")


def test_workers_find_what_one_process_finds(people, found):
    result = search(people, n_jobs=2)
    assert [each.fingerprint for each in result.candidates] == [
        each.fingerprint for each in found.candidates
    ]


def test_engines_are_drawn_with_their_own_parameters(people):
    engines = {"trees": FairXGBClassifier(params={"eta": 0.3}), "line": FairLogisticRegression()}
    space = {"params": {"trees": {"max_depth": {"choice": [1, 2]}}}}
    result = search(people, engines, space=space, n_candidates=8)
    assert result.champion.settings["engine"] == "trees"
    by = {each.settings["engine"]: each for each in result.candidates}
    assert set(by) == {"trees", "line"}
    assert set(by["trees"].settings["params"]) == {"max_depth"}
    assert set(by["line"].settings["params"]) == {"l2"}


def test_the_search_stops_at_the_target_or_when_the_bound_is_small(people):
    result = search(people, target=0.01, n_candidates=20)
    assert "reached the target" in result.why_stopped
    assert len(result.candidates) < 20
    result = search(people, stopping=Stopping(chance=0.7), n_candidates=20)
    assert "fell to 0.7" in result.why_stopped
    assert len(result.candidates) == Stopping(chance=0.7).enough(20)


def test_without_a_better_candidate_nothing_is_chosen(people):
    result = search(people, space={"strength": 0.0}, n_candidates=2)
    assert result.winner is None
    assert "No candidate" in result.verdict


def test_the_effect_left_and_profit_can_be_axis_and_utility(people):
    y = people[1]
    profit = np.column_stack([np.zeros(len(y)), np.where(y == 1, 1.0, -1.0)])
    result = search(
        people, axis="direct_effect_left", effects={"cv": 2}, utility="profit", profit=profit,
        n_candidates=3,
    )  # fmt: skip
    best = min(
        (each for each in result.candidates
         if each.value("profit") >= result.champion.value("profit") - 0.1),
        key=lambda each: abs(each.value("direct_effect_left")),
    )  # fmt: skip
    assert result.winner == best


def test_categories_are_made_one_hot_for_a_regression(people, tmp_path):
    X, y, z = people
    text = X.assign(band=np.where(X["x0"] > 0, "high", "low"))
    result = search((text, y, z), n_candidates=2, store=tmp_path / "store")
    assert not any(each.error for each in result.candidates)


def test_failed_fits_are_recorded_and_counted(people):
    result = search(people, space={"params": {"logistic": {"l2": {"choice": [-1.0, 0.0]}}}})
    failed = [each for each in result.candidates if each.error]
    assert failed
    assert "l2" in failed[0].error
    assert f"{len(failed)} could not be fitted" in result.verdict


def test_the_record_holds_everything_tried_with_hashes(found):
    record = json.loads(found.to_json())
    assert [each["number"] for each in record["candidates"]] == list(range(6))
    assert all(len(each["fingerprint"]) == 64 for each in record["candidates"])
    assert record["champion"]["number"] == CHAMPION
    assert "sensitive" not in json.dumps(record["fingerprint"]["data"])
    assert len(found.to_frame()) == 7
    assert all(each in (found.champion, *found.candidates) for each in found.front)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"space": {"depth": 3}}, "unknown key 'depth'"),
        ({"space": {"strength": {"uniform": [1, 0]}}}, "the smaller first"),
        ({"space": {"params": {"xgboost": {}}}}, "no estimator 'xgboost'"),
        ({"feature_sets": {"few": ["nine"]}}, "no column 'nine'"),
        ({"utility": "profit"}, "needs profit"),
        ({"axis": "direct_effect_left"}, "needs effects"),
        ({"validation_fraction": 0.6, "test_fraction": 0.5}, "leave no rows"),
        ({"axis": "gini"}, "unknown axis"),
    ],
)
def test_bad_input_is_refused_by_a_sentence(people, options, message):
    with pytest.raises(ValueError, match=message):
        search(people, **options)
