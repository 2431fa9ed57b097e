"""Results to report on, and a browser to look with."""

import pytest
from report.chromium import chromium

from unsway import FairLogisticRegression, Parity, make_synthetic
from unsway.auditing import audit
from unsway.sweeps import Frontier, Point

#: Names that try to run, to break out, to overflow and to turn the text around.
HOSTILE = (
    "<script>alert(1)</script>",
    "\"quoted\" & 'so' </script><img src=x onerror=alert(1)>",
    "x" * 5000,
    "شخص \u202eevil",
    "=HYPERLINK(1)",
    "${alert(1)} {{7*7}} {% raw %}",
)


def scores_of(people, strength=0.5):
    model = FairLogisticRegression(Parity(), strength=strength)
    model.fit(people.X, people.y, sensitive_features=people.z)
    return model.predict_proba(people.X)[:, 1]


@pytest.fixture(scope="session")
def people():
    return make_synthetic(1_500, random_state=0)


@pytest.fixture(scope="session")
def audited(people):
    """An audit with a causal part and a baseline, as plain data."""
    found = audit(
        people.y,
        scores_of(people),
        sensitive_features=people.z,
        X=people.X,
        baseline=scores_of(people, 0.0),
        n_bootstrap=20,
        cv=2,
        random_state=0,
    )
    return found.to_dict()


def effect(value, half=0.01):
    return {"estimate": value, "se": half / 2, "low": value - half, "high": value + half}


EFFECTS = {
    "total": effect(0.25),
    "direct_reference": effect(0.09),
    "direct_group": effect(0.11),
    "indirect_reference": effect(0.14),
    "indirect_group": effect(0.16),
    "explained": effect(0.15),
    "direct_everyone": effect(0.1),
    "direct_overlap": effect(0.1),
}


def measures(strength, shift=0.0):
    """Figures that fall with the strength, past zero."""
    left = 0.1 - 0.2 * strength + shift
    return {
        "rows": 1000,
        "accuracy": 0.85 - 0.03 * strength + shift,
        "auc": 0.9 - 0.02 * strength,
        "log_loss": 0.4 + 0.02 * strength,
        "brier": 0.13 + 0.01 * strength,
        "selection_rate_difference": 0.2 - 0.1 * strength,
        "score_gap": 0.15 + left,
        "direct_effect_left": left,
        "direct_effect_left_se": 0.005,
        "direct_effect_left_low": left - 0.01,
        "direct_effect_left_high": left + 0.01,
    }


def make_frontier(strengths=(0.0, 0.25, 0.5, 0.75, 0.95), **more):
    """Return a frontier with figures made by hand; nothing is trained."""
    parts = ("train", "validation", "test")
    points = [
        Point(
            strength=s,
            parts={part: measures(s, 0.001 * k) for k, part in enumerate(parts)},
            rounds=5,
        )
        for s in strengths
    ]
    about = {part: {"rows": 1000, "share_z1": 0.4, "effects": EFFECTS} for part in parts}
    made_of = {
        "estimator": {"class": "FairXGBClassifier", "params": {"eta": 0.1}},
        "settings": {"threshold": 0.5, "random_state": 0},
        "versions": {"unsway": "0.1.0"},
    }
    return Frontier(points=tuple(points), parts=about, fingerprint=made_of, **more)


@pytest.fixture
def frontier():
    return make_frontier()


@pytest.fixture(scope="module")  # its event loop must not run in the tests of other files
def browser():
    """The installed Chromium; nothing is downloaded."""
    with chromium() as found:
        yield found
