"""Models without the effects of several sensitive attributes, whose truth is known."""

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from contracts import EXACT
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate

import unsway
from unsway import FairLogisticRegression, FairTarget, Grouping, audit, estimate_effects
from unsway.models.folder import save_model

EFFECTS = {"F": 0.0, "M": 0.9}, {"<30": -0.6, "30-50": 0.0, ">=50": 0.8}
GROUPS = Grouping(reference={"sex": "F", "age": "30-50"}, bands={"age": [30, 50]})
FEW = {"params": {"n_estimators": 40}}


class World:
    """Sex and age have effects that add up; rows of every combination are known."""

    def __init__(self, n=4_000, seed=0):
        rng = np.random.default_rng([seed, 21])
        self.X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["skill", "test", "noise"])
        sex = np.where(rng.random(n) < expit(1.3 * self.X["skill"]), "M", "F")
        age = (42 + 10 * rng.normal(size=n) + 9 * self.X["test"]).clip(18, 75).round().astype(int)
        band = np.array(["<30", "30-50", ">=50"])[np.searchsorted([30, 50], age, side="right")]
        self.z = pd.DataFrame({"sex": sex, "age": age})
        self.cells = np.char.add(np.char.add(sex.astype(str), " × "), band)
        base = 0.7 * self.X["skill"].to_numpy() - 0.5 * self.X["test"].to_numpy()
        own = np.array([EFFECTS[0][s] + EFFECTS[1][b] for s, b in zip(sex, band, strict=True)])
        every = [s + b for s in EFFECTS[0].values() for b in EFFECTS[1].values()]
        self.fair = np.mean([expit(base + each) for each in every], axis=0)
        self.y = (rng.random(n) < expit(base + own)).astype(int)

    def spread(self, score):
        left = pd.Series(score - self.fair).groupby(self.cells).mean()
        return float(left.max() - left.min())


@pytest.fixture(scope="module")
def world():
    return World()


def quick(**settings):
    criterion = FairTarget(smoothing=0.0)
    return FairLogisticRegression(criterion=criterion, groups=Grouping(**settings))


def fit(model, world, z=None):
    return model.fit(world.X, world.y, sensitive_features=world.z if z is None else z)


def scores(model, world):
    return model.predict_proba(world.X)[:, 1]


# --- what is removed -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["FairLogisticRegression", "FairXGBClassifier"])
@pytest.mark.parametrize("intersections", [False, True], ids=["sums", "combinations"])
def test_the_effects_of_both_attributes_are_removed(world, name, intersections):
    if "XGB" in name:
        pytest.importorskip("xgboost")
    groups = Grouping(reference=GROUPS.reference, bands=GROUPS.bands, intersections=intersections)
    model = getattr(unsway, name)(groups=groups)
    blind = getattr(unsway, name)(groups=groups, strength=0)
    left, whole = (world.spread(scores(fit(each, world), world)) for each in (model, blind))
    assert whole > 0.1
    assert left < 0.3 * whole


def test_numbers_lose_the_effects_of_both_attributes(world):
    pytest.importorskip("xgboost")
    y = 5 * world.fair + (world.z["sex"] == "M") - (world.z["age"] < 30)
    model = unsway.FairXGBRegressor(groups=GROUPS)
    predicted = model.fit(world.X, y, sensitive_features=world.z).predict(world.X)
    apart = pd.Series(predicted - 5 * world.fair).groupby(world.cells).mean()
    assert apart.max() - apart.min() < 0.2


def test_a_combination_without_rows_is_no_obstacle(world):
    rows = ~np.isin(world.cells, ["M × <30"])
    model = quick(reference=GROUPS.reference, bands=GROUPS.bands)
    model.fit(world.X[rows], world.y[rows], sensitive_features=world.z[rows])
    assert world.spread(scores(model, world)) < 0.05


def test_intersections_need_rows_of_each_combination(world):
    rows = ~np.isin(world.cells, ["M × <30"])
    groups = {"reference": GROUPS.reference, "bands": GROUPS.bands, "intersections": True}
    with pytest.raises(ValueError, match="no row of sensitive level 'M × <30'"):
        quick(**groups).fit(world.X[rows], world.y[rows], sensitive_features=world.z[rows])


def test_a_rare_level_of_one_attribute_is_refused_with_its_count(world):
    z = world.z.assign(sex=np.where(np.arange(len(world.y)) < 30, "X", world.z["sex"]))
    with pytest.raises(ValueError, match=r"at least 50 rows of each .* there are 'X' 30\. Merge"):
        fit(FairLogisticRegression(groups=GROUPS), world, z)


# --- invariance ----------------------------------------------------------------------------------


def test_other_names_of_the_levels_give_the_same_model(world):
    exact = FairTarget(propensity_model=EXACT, outcome_model=EXACT, smoothing=0.0)
    first = FairLogisticRegression(criterion=exact, groups=GROUPS)
    second = FairLogisticRegression(
        criterion=exact,
        groups=Grouping(reference={"s": "w", "age": "30-50"}, bands={"age": [30, 50]}),
    )
    other = pd.DataFrame({"s": world.z["sex"].map({"F": "w", "M": "a"}), "age": world.z["age"]})
    one, two = scores(fit(first, world), world), scores(fit(second, world, other), world)
    np.testing.assert_allclose(two, one, atol=1e-9)


def test_the_order_of_the_rows_changes_nothing(world):
    model = quick(reference=GROUPS.reference, bands=GROUPS.bands)
    order = np.random.default_rng(0).permutation(len(world.y))
    one = scores(fit(model, world), world)
    model.fit(world.X.iloc[order], world.y[order], sensitive_features=world.z.iloc[order])
    np.testing.assert_allclose(scores(model, world), one, atol=1e-9)


# --- effects and audits --------------------------------------------------------------------------


def linear():
    return {"propensity_model": LogisticRegression()}


def test_effects_are_those_of_each_combination_against_the_references(world):
    found = estimate_effects(
        world.X, world.y, sensitive_features=world.z, groups=GROUPS, **linear()
    )
    assert found.levels[0] == "F × 30-50"
    direct = found.pairs["M × >=50"]["direct_everyone"]
    assert direct.low > 0.1
    assert abs(found.direct_effect_left(world.fair).spread.estimate) < 0.1


def test_combinations_of_few_rows_have_no_line_and_are_counted(world):
    rows = ~((world.cells == "M × <30") & (np.arange(len(world.y)) > 300))
    found = audit(
        world.y[rows],
        world.fair[rows],
        sensitive_features=world.z[rows],
        X=world.X[rows],
        groups=GROUPS,
        **linear(),
    )
    few = int((world.cells[rows] == "M × <30").sum())
    assert 0 < few < 50
    assert "M × <30" not in [line["level"] for line in found.to_dict()["groups"]]
    assert f"{few} rows are in combinations of fewer than 50 rows" in found.verdict


# --- scikit-learn, cards, warnings ---------------------------------------------------------------


def test_metadata_routing_hands_a_frame_on(world):
    import sklearn

    model = quick(reference=GROUPS.reference, bands=GROUPS.bands)
    with sklearn.config_context(enable_metadata_routing=True):
        result = cross_validate(
            model.set_fit_request(sensitive_features=True),
            world.X,
            world.y,
            params={"sensitive_features": world.z},
            cv=2,
            error_score="raise",
        )
    assert result["test_score"].min() > 0.55


def test_the_card_names_the_attributes_and_keeps_no_row(world, tmp_path):
    model = fit(quick(reference=GROUPS.reference, bands=GROUPS.bands), world)
    card = json.loads((save_model(model, tmp_path / "m") / "card.json").read_text("utf-8"))
    assert card["roles"]["sensitive"] == "sex, age"
    assert card["roles"]["sensitive_levels"][0] == "F × 30-50"
    assert len(pickle.dumps(model)) < 100_000


def test_another_sensitive_attribute_in_x_is_warned_about(world):
    X = world.X.assign(Ethnic_Group=np.arange(len(world.y)) % 3)
    model = FairLogisticRegression(strength=0, groups=Grouping(reference="F"))
    with pytest.warns(UserWarning, match="X still has 'Ethnic_Group': .* the effect of sex is"):
        model.fit(X, world.y, sensitive_features=world.z["sex"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(world.X, world.y, sensitive_features=world.z["sex"])
