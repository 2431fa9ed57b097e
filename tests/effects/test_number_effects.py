"""Effects on counts and amounts, per unit of exposure and as ratios."""

import numpy as np
import pandas as pd
import pytest

from unsway import direct_effect_left, effect_curve, estimate_effects, make_world
from unsway.core import Poisson
from unsway.effects import Nuisances
from unsway.effects.influence import EFFECTS
from unsway.effects.ratios import RATIO_MEANINGS
from unsway.effects.study import Study, effects_of
from unsway.outcome import Outcome
from unsway.rows import Rows

LOSS = {"claims": "poisson", "severity": "gamma", "pure_premium": "tweedie", "wages": None}


def effects(people, loss, **options):
    given = {"loss": loss, "exposure": people.exposure, **options}
    return estimate_effects(
        people.X, people.y, sensitive_features=people.z, max_extreme_share=1, **given
    )


@pytest.fixture(scope="module", params=LOSS)
def world(request):
    people = make_world(request.param, 4_000, random_state=1)
    return request.param, people, effects(people, LOSS[request.param])


def test_the_truth_is_within_four_standard_errors(world):
    _, people, found = world
    for name in EFFECTS:
        if name.startswith(("direct_everyone", "direct_overlap")):
            continue  # those weigh people by their exposure, which differs by z
        truth, each = getattr(people.effects, name), getattr(found, name)
        assert abs(each.estimate - truth) < 4 * each.se, (name, truth, each)


def test_a_fair_score_leaves_nothing_and_a_blind_one_passes_the_effect_on(world):
    name, people, found = world
    left = found.direct_effect_left(people.fair_score)
    assert left.low - left.se < 0 < left.high + left.se, (name, left)
    means = found.nuisances.outcome
    b = found.nuisances.propensity
    blind = (1 - b) * means[:, 0] + b * means[:, 1]
    share = found.gap_parts(blind).pass_through
    if share is not None:
        assert share.low < 1 < share.high, (name, share)


def test_ratios_multiply_to_the_total(world):
    _, people, found = world
    ratios = found.as_ratios()
    for direct, indirect in (
        (ratios.direct_reference, ratios.indirect_group),
        (ratios.direct_group, ratios.indirect_reference),
    ):
        assert direct.estimate * indirect.estimate == pytest.approx(ratios.total.estimate)
    weights = np.ones(len(people.y)) if people.exposure is None else people.exposure
    means = [np.average(people.y / weights, weights=weights * (people.z == k)) for k in (0, 1)]
    assert ratios.total.estimate == pytest.approx(means[1] / means[0])
    assert list(ratios.to_frame()["ratio"]) == list(RATIO_MEANINGS)
    assert all(each.low < each.estimate < each.high for each in ratios.estimates().values())


def test_ratios_of_four_rows_by_hand():
    # every row's means are 1 and 2 in both groups of X, and y is its own mean
    y, z = np.tile([1.0, 2.0], 40), np.tile([0, 1], 40)
    noise = np.tile([0.1, 0.1, -0.1, -0.1], 20)
    known = Nuisances(np.full(80, 0.5), np.tile([1.0, 2.0], (80, 1)))
    found = estimate_effects(
        noise[:, None], y + noise, sensitive_features=z, nuisances=known, loss="gamma",
    )  # fmt: skip
    ratios = found.as_ratios()
    assert ratios.direct_reference.estimate == pytest.approx(2)
    assert ratios.direct_group.estimate == pytest.approx(2)
    assert ratios.direct_everyone.estimate == pytest.approx(2)
    assert ratios.explained.estimate == pytest.approx(1)


def test_exposure_is_rates_with_weights():
    people = make_world("claims", 1_000, random_state=2)
    ours = effects(people, "poisson")
    theirs = estimate_effects(
        people.X,
        people.y / people.exposure,
        sensitive_features=people.z,
        sample_weight=people.exposure,
        loss="poisson",
        max_extreme_share=1,
    )
    assert ours.estimates() == theirs.estimates()
    assert ours.settings["per"] == "unit of exposure"
    assert "per unit of exposure" in repr(ours)
    assert "per" not in theirs.settings


def test_effects_have_the_unit_of_y():
    people = make_world("severity", 1_000, random_state=2)
    euros = effects(people, "gamma")
    cents = estimate_effects(
        people.X,
        100 * people.y,
        sensitive_features=people.z,
        loss="gamma",
        max_extreme_share=1,
    )
    for name in EFFECTS:
        ours, theirs = getattr(cents, name).estimate, getattr(euros, name).estimate
        assert ours == pytest.approx(100 * theirs, rel=0.02)
    ratio = euros.as_ratios().direct_group.estimate
    assert cents.as_ratios().direct_group.estimate == pytest.approx(ratio, rel=1e-3)


def test_the_name_of_the_exposure_is_the_unit():
    people = make_world("claims", 600, random_state=2)
    found = effects(people, "poisson", exposure=pd.Series(people.exposure, name="years"))
    assert found.settings["per"] == "years"
    assert found.settings["loss"] == "poisson"


def test_the_direct_effect_left_takes_loss_and_exposure():
    people = make_world("claims", 1_000, random_state=2)
    left = direct_effect_left(
        people.y,
        people.fair_score,
        sensitive_features=people.z,
        X=people.X,
        loss="poisson",
        exposure=people.exposure,
        max_extreme_share=1,
    )
    wanted = effects(people, "poisson").direct_effect_left(people.fair_score)
    assert left == wanted


def test_a_study_of_counts_says_what_does_not_apply():
    people = make_world("claims", 1_000, random_state=2)
    outcome = Outcome.numbers(people.y, 1_000, loss=Poisson(), exposure=people.exposure)
    rows = Rows.check(
        people.X, people.y, sensitive_features=people.z, read_outcome=lambda *_: outcome
    )
    found = Study.of(rows, effects_of(rows, max_extreme_share=1))
    assert found.effects.settings["loss"] == "poisson"
    assert found.effects.settings["per"] == "unit of exposure"
    assert found.sensitivity is None
    assert "does not apply" in found.missing["sensitivity analysis"]
    assert found.mean_field is not None
    assert found.curve is not None


def test_a_bootstrap_fits_models_of_the_loss():
    people = make_world("claims", 400, random_state=2)
    found = effects(people, "poisson", method="weighting", interval="bootstrap", n_bootstrap=8)
    plain = effects(people, "poisson", method="weighting")
    assert found.total.estimate == pytest.approx(plain.total.estimate)
    assert 0.3 < found.total.se / plain.total.se < 2.5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": None, "exposure": np.ones(600)}, "state what y is, such as loss='poisson'"),
        ({"loss": "log_loss"}, "use a classifier"),
        ({"loss": "absolute"}, "unknown loss 'absolute'"),
        ({"loss": "gamma"}, "zero|above 0|positive"),
        ({"exposure": np.zeros(600)}, "zero or negative"),
        ({"exposure": np.ones(5)}, "exposure has 5 rows"),
        ({"loss": "tweedie", "power": 2.5}, "power"),
    ],
)
def test_what_cannot_be_estimated_is_refused(options, words):
    people = make_world("claims", 600, random_state=2)
    with pytest.raises(ValueError, match=words):
        effects(people, **{"loss": "poisson", **options})


def test_ratios_need_means_above_zero():
    people = make_world("wages", 600, random_state=2)
    people_y = people.y - people.y.mean()
    found = estimate_effects(
        people.X, people_y, sensitive_features=people.z, loss="squared_error", max_extreme_share=1
    )
    with pytest.raises(ValueError, match="means above 0"):
        found.as_ratios()


def test_a_curve_of_counts_is_that_of_rates():
    people = make_world("claims", 1_000, random_state=2)
    found = effects(people, "poisson")
    curve = effect_curve(
        people.X,
        people.y / people.exposure,
        sensitive_features=people.z,
        sample_weight=people.exposure,
        nuisances=found.nuisances,
    )
    assert np.isfinite(curve.estimate).all()
