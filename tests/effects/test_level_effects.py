"""Effects and direct effect left of a sensitive attribute with several levels."""

import json
import pickle

import numpy as np
import pytest
from scipy.special import expit

from unsway import OverlapWarning, direct_effect_left, estimate_effects
from unsway.effects.level_estimation import effects_of_levels
from unsway.effects.level_left import LevelsLeft
from unsway.effects.nuisance import Nuisances
from unsway.rows import Rows


class World:
    """Three levels with shares of about 55, 30 and 15 %, whose truth is known."""

    def __init__(self, n=4_000, seed=0):
        rng = np.random.default_rng([seed, 11])
        self.X = rng.normal(size=(n, 2))
        odds = np.log([0.55, 0.3, 0.15]) + self.X @ [[0, 0.6, -0.4], [0, -0.3, 0.6]]
        self.b = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
        self.codes = (self.b.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(0, 2)
        self.mu = expit(0.8 * self.X[:, [0]] + [[0, -0.8, 0.9]])
        self.fair = self.mu.mean(axis=1)
        self.y = (rng.random(n) < self.mu[np.arange(n), self.codes]).astype(int)
        self.z = np.array(["a", "b", "c"])[self.codes]

    def known(self):
        return Nuisances(self.b, self.mu)

    def effects(self, **given):
        settings = {"nuisances": self.known(), **given}
        return estimate_effects(self.X, self.y, sensitive_features=self.z, **settings)

    def left(self, score):
        """Return the true direct effect left of each level, over infinitely many labels."""
        apart = np.array([(score - self.fair)[self.codes == k].mean() for k in range(3)])
        return apart - apart.mean()


@pytest.fixture(scope="module")
def world():
    return World()


@pytest.fixture(scope="module")
def found(world):
    return world.effects()


def test_each_level_is_compared_with_the_reference(world, found):
    assert found.levels == ("a", "b", "c")
    assert list(found.pairs) == ["b", "c"]
    for code, level in ((1, "b"), (2, "c")):
        both = (world.codes == 0) | (world.codes == code)
        truth = (world.mu[:, code] - world.mu[:, 0])[both].mean()
        direct = found.pairs[level]["direct_everyone"]
        assert direct.low < truth < direct.high
        gap = world.y[world.codes == code].mean() - world.y[world.codes == 0].mean()
        assert found.pairs[level]["total"].estimate == pytest.approx(gap)


def test_the_intervals_of_several_levels_are_wider_than_those_of_one(found):
    for effects in found.pairs.values():
        for each in effects.values():
            assert each.high - each.low > 2 * 1.97 * each.se


def test_fair_means_are_those_of_the_truth(world, found):
    for code in range(3):
        truth = world.fair[world.codes == code].mean()
        each = found.fair_means[code]
        assert each.low < truth < each.high


@pytest.mark.parametrize("wrong", ["outcome", "propensity"])
def test_one_of_both_models_may_be_wrong(wrong):
    world = World(40_000, 3)
    flat = np.full_like(world.mu, world.y.mean())
    shares = np.bincount(world.codes) / len(world.y)
    nuisances = {
        "outcome": Nuisances(world.b, flat),
        "propensity": Nuisances(np.tile(shares, (len(world.y), 1)), world.mu),
    }[wrong]
    fair = world.effects(nuisances=nuisances).fair_means
    for code in range(3):
        assert fair[code].estimate == pytest.approx(
            world.fair[world.codes == code].mean(), abs=0.02
        )


def test_a_fair_score_holds_nothing_and_a_blind_one_something(world, found):
    fair = found.direct_effect_left(world.fair)
    assert fair.spread.low == 0
    assert all(each.low < 0 < each.high for each in fair.left)
    own = found.direct_effect_left(world.mu[np.arange(len(world.y)), world.codes])
    assert own.spread.low > 0.1
    assert (own.highest, own.lowest) == ("c", "b")


def test_what_is_left_is_that_of_the_truth(world, found):
    score = (world.b * world.mu).sum(axis=1)  # a blind model
    left = found.direct_effect_left(score)
    for each, truth in zip(left.left, world.left(score), strict=True):
        assert each.low < truth < each.high
    assert sum(each.estimate for each in left.left) == pytest.approx(0, abs=1e-12)


def test_the_spread_is_the_largest_difference(world, found):
    left = found.direct_effect_left(world.y)
    values = [each.estimate for each in left.left]
    assert left.spread.estimate == pytest.approx(max(values) - min(values))
    assert left.spread.low <= left.spread.estimate <= left.spread.high


def test_of_two_levels_it_is_the_effect_left_of_two():
    """With equal weights the spread is |gap(p) − explained|."""
    world = World(2_000, 5)
    z = (world.codes > 0).astype(int)
    b = 1 - world.b[:, 0]
    mu = np.column_stack([world.mu[:, 0], world.mu[:, 1]])
    nuisances = Nuisances(b, mu)
    given = {"sensitive_features": z, "nuisances": nuisances}
    two = estimate_effects(world.X, world.y, **given, max_extreme_share=1)
    rows = Rows.check(world.X, world.y, sensitive_features=z)
    several = effects_of_levels(rows, nuisances=nuisances)
    expected = two.direct_effect_left(world.fair)
    found = several.direct_effect_left(world.fair).spread
    assert found.estimate == pytest.approx(abs(expected.estimate), abs=1e-10)
    assert found.se == pytest.approx(expected.se, rel=0.1)


def test_the_order_and_names_of_levels_change_nothing(world, found):
    z = np.array(["x", "w", "v"])[world.codes]
    order = [0, 2, 1]  # the reference, then the others as they are sorted
    nuisances = Nuisances(world.b[:, order], world.mu[:, order])
    other = estimate_effects(world.X, world.y, sensitive_features=z, nuisances=nuisances)
    first, second = (each.direct_effect_left(world.y) for each in (found, other))
    assert first.spread.estimate == pytest.approx(second.spread.estimate, abs=1e-12)
    for effect in ("total", "explained"):
        assert found.pairs["b"][effect].estimate == pytest.approx(
            other.pairs["w"][effect].estimate, abs=1e-12
        )


def test_the_level_that_overlaps_least_is_named(found):
    name, worst = found.worst_overlap
    assert worst.share_outside == max(each.share_outside for each in found.overlaps.values())
    assert name in repr(found)


def test_a_frame_has_a_row_for_each_level_and_effect(found):
    frame = found.to_frame()
    assert len(frame) == 2 * 8
    assert set(frame["reference"]) == {"a"}
    left = found.direct_effect_left(np.zeros(4_000)).to_frame()
    assert left["level"].tolist() == ["a", "b", "c"]
    json.dumps(found.to_dict(), allow_nan=False)


def test_nuisances_of_other_levels_are_refused(world):
    with pytest.raises(ValueError, match="nuisances are not those of the 4000 rows"):
        world.effects(nuisances=Nuisances(world.b[:, 1], world.mu[:, :2]))


def test_left_of_hand_made_means():
    influence = np.array([[1.0, -1.0], [0.0, 0.0], [-1.0, 1.0]])
    from unsway.effects.influence import Mean

    means = [Mean(value, row) for value, row in zip((0.3, 0.1, 0.2), influence, strict=True)]
    found = LevelsLeft.of(means, (1 / 3, 1 / 3, 1 / 3), ("a", "b", "c"), 0.95)
    assert [each.estimate for each in found.left] == pytest.approx([0.1, -0.1, 0.0])
    assert (found.highest, found.lowest) == ("a", "b")


# --- the direct effect in scores -----------------------------------------------------------------


def test_a_fair_score_passes_nothing_on_and_a_blind_one_everything(world, found):
    fair, blind = (
        found.gap_parts(score) for score in (world.fair, (world.b * world.mu).sum(axis=1))
    )
    for level in ("b", "c"):
        assert fair.direct[level].low < 0 < fair.direct[level].high
        assert fair.pass_through[level].low < 0 < fair.pass_through[level].high < 1
        assert not blind.direct[level].low < 0 < blind.direct[level].high
        assert 0 < blind.pass_through[level].low < 1 < blind.pass_through[level].high


def test_the_direct_effect_of_each_level_is_that_of_the_truth(world, found):
    score = (world.b * world.mu).sum(axis=1)
    truth = world.left(score)
    direct = found.gap_parts(score).direct
    for code, level in ((1, "b"), (2, "c")):
        assert direct[level].low < truth[code] - truth[0] < direct[level].high


def test_the_coding_of_a_score_does_not_matter(world, found):
    score = (world.b * world.mu).sum(axis=1)
    first, second = found.gap_parts(score), found.gap_parts(score**3)
    for level in ("b", "c"):
        assert first.direct[level].estimate == pytest.approx(second.direct[level].estimate)
        assert first.pass_through[level].estimate == pytest.approx(
            second.pass_through[level].estimate
        )


def test_of_two_levels_the_parts_are_those_of_two():
    world = World(3_000, 5)
    z = (world.codes > 0).astype(int)
    nuisances = Nuisances(1 - world.b[:, 0], world.mu[:, :2])
    given = {"sensitive_features": z}
    two = estimate_effects(world.X, world.y, nuisances=nuisances, **given, max_extreme_share=1)
    several = effects_of_levels(Rows.check(world.X, world.y, **given), nuisances=nuisances)
    score = world.mu[:, 1]
    one, parts = two.gap_parts(score), several.gap_parts(score)
    for name in ("estimate", "low", "high"):
        assert getattr(parts.direct["1"], name) == pytest.approx(
            getattr(one.direct, name), rel=0.02
        )
        assert getattr(parts.pass_through["1"], name) == pytest.approx(
            getattr(one.pass_through, name), rel=0.02
        )


def test_a_level_without_a_direct_effect_has_no_share(world):
    flat = np.tile(world.mu[:, [0]], (1, 3))
    y = (np.random.default_rng(4).random(len(flat)) < flat[:, 0]).astype(int)
    given = {"sensitive_features": world.z, "nuisances": Nuisances(world.b, flat)}
    parts = estimate_effects(world.X, y, **given).gap_parts(flat[:, 0])
    assert parts.pass_through == {"b": None, "c": None}
    assert "no direct effect" in parts.why_not["b"]
    assert parts.largest_share is None
    assert "not known" in repr(parts)
    assert [each["pass_through"] for each in parts.to_dict()["groups"]] == [None, None]


def test_the_level_of_the_largest_share_is_named(found, world):
    parts = found.gap_parts((world.b * world.mu).sum(axis=1))
    shares = {level: abs(each.estimate) for level, each in parts.pass_through.items()}
    assert parts.largest_share == max(shares, key=shares.get)
    assert parts.to_frame()["level"].tolist() == ["b", "c"]


# --- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "setting", [{"method": "weighting"}, {"interval": "bootstrap"}, {"method": "surrogate"}]
)
def test_settings_of_two_levels_are_refused(world, setting):
    with pytest.raises(ValueError, match="needs a sensitive attribute of two levels"):
        world.effects(**setting)


def test_rows_of_one_cluster_count_as_one(world):
    cluster = np.arange(len(world.y)) // 8
    one, several = world.effects(), world.effects(cluster=cluster)
    assert several.settings["n_clusters"] == 500
    assert several.pairs["b"]["total"].estimate == one.pairs["b"]["total"].estimate
    assert several.pairs["b"]["total"].se != one.pairs["b"]["total"].se
    left = several.direct_effect_left(world.fair)
    assert left.left[0].se != one.direct_effect_left(world.fair).left[0].se


def test_counts_have_effects_of_levels():
    rng = np.random.default_rng(2)
    X, z = rng.normal(size=(1_500, 2)), rng.choice(["a", "b", "c"], 1_500, p=[0.5, 0.3, 0.2])
    exposure = rng.uniform(0.5, 1, 1_500)
    y = rng.poisson(exposure * np.exp(0.3 * X[:, 0]) * np.where(z == "b", 2, 1))
    found = estimate_effects(X, y, sensitive_features=z, loss="poisson", exposure=exposure)
    direct = found.pairs["b"]["direct_everyone"]
    assert 0.7 < direct.estimate < 1.4
    assert found.settings["loss"] == "poisson"


def test_a_pickle_has_no_row(world, found):
    read = pickle.loads(pickle.dumps(found))  # noqa: S301
    assert read._rows is None
    assert read._fair == read._effects == ()
    with pytest.raises(ValueError, match="read from a pickle"):
        read.direct_effect_left(world.fair)
    kept = pickle.loads(pickle.dumps(world.effects(keep_rows=True)))  # noqa: S301
    assert kept.direct_effect_left(world.fair).levels == ("a", "b", "c")


def test_a_poor_overlap_is_warned_about_by_level(world):
    sharp = world.b**6 / (world.b**6).sum(axis=1, keepdims=True)
    with pytest.warns(OverlapWarning, match="effects of level '[bc]' against 'a'"):
        world.effects(nuisances=Nuisances(sharp, world.mu))


def test_what_a_score_holds_is_had_in_one_call(world, found):
    left = direct_effect_left(
        world.y, world.fair, sensitive_features=world.z, X=world.X, nuisances=world.known()
    )
    assert left.spread == found.direct_effect_left(world.fair).spread
