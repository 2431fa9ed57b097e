"""The worlds written a second time, from the names of the columns: P(y=1|X,z) of drawn rows."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from unsway.datasets import SyntheticData

# Intercept and direct effect of each linear world whose direct effect does not vary.
CONSTANT_EFFECTS = {
    "paper": (0.0, 1.25),
    "poor_overlap": (0.0, 1.25),
    "imbalanced": (-3.8, 1.25),
    "no_direct_effect": (0.0, 0.0),
    "opposed_effects": (0.0, -1.0),
    "many_noise_features": (0.0, 1.25),
    "small_group": (0.0, 1.25),
    "missing_by_group": (0.0, 1.25),
}


def probability(world, safe_sum, indirect_sum, first_safe, z):
    """Return P(y=1|X,z) of a linear world, or of the varying effect, from sums over the roles."""
    margin = safe_sum / 4 + indirect_sum / 4
    if world == "varying_effect":
        margin = margin + (first_safe**2 - 1) / 2 + z * (0.5 - safe_sum / 5 + indirect_sum / 4)
        return expit(margin)
    intercept, direct_effect = CONSTANT_EFFECTS[world]
    return expit(intercept + margin + direct_effect * z)


def outcome_probability(data: SyntheticData, z: int | np.ndarray) -> np.ndarray:
    if data.world in OTHERS:
        columns = dict(zip(data.feature_names, data.X.T, strict=True))
        margin, direct = OTHERS[data.world](columns)
        return expit(margin + z * direct)
    X = np.where(np.isnan(data.X), 0, data.X)
    safe, indirect = X[:, data.columns("safe")], X[:, data.columns("indirect")]
    return probability(data.world, safe.sum(1), indirect.sum(1), safe[:, 0], z)


def last_columns(x):
    names = ("safe_6", "safe_7", "safe_8", "safe_9", "indirect_2", "indirect_3")
    return sum(x[name] for name in names) / 4


def steps(x):
    both = np.where(x["safe_1"] > 0, x["safe_2"] < 0, False)
    margin = np.where(x["safe_0"] > 0.5, -0.5, -1.5) + both + 0.6 * np.abs(x["safe_3"])
    margin += np.where(x["safe_4"] > 0, 0.7 * x["indirect_0"], 0)
    direct = np.where(x["indirect_1"] > 0.5, 1.6, 0.4) - np.where(x["safe_5"] > 0.5, 0.6, 0)
    return margin + last_columns(x), direct


def wave(x):
    moved = [*(f"indirect_{k}" for k in range(4)), "proxy_0", "proxy_1"]
    log_odds = sum(x[name] for name in moved) - 3
    causes = [*(f"safe_{k}" for k in range(10)), *moved[:4]]
    return sum(x[name] for name in causes) / 4, 0.75 + 1.25 * np.sin(1.5 * log_odds)


def deep(x):
    def odd(*names):
        """Return +1 where an even number of the columns lies below .5, and -1 elsewhere."""
        below = sum((x[name] < 0.5).astype(int) for name in names)
        return 1 - 2 * (below % 2)

    first = odd("safe_0", "safe_1", "safe_2", "safe_3")
    second = odd("safe_4", "safe_5", "indirect_0", "indirect_1")
    return 0.6 * (first + second) + last_columns(x), np.full(len(first), 1.25)


def adult(x):
    senior = x["occupation=Exec-managerial"] + x["occupation=Prof-specialty"]
    self_employed = x["workclass=Self-emp-inc"] + x["workclass=Self-emp-not-inc"]
    married, single = x["marital-status=Married-civ-spouse"], x["marital-status=Never-married"]
    age, hours, education = x["age"], x["hours-per-week"], x["education-num"]
    graduate = np.where(education < 13, 0, 1)
    margin = -2.6 + 0.3 * (education - 10) + 0.7 * senior
    margin += np.where(age > 30, 0.8 * married, 0) + np.where(hours > 45, 0.5, 0)
    margin += np.where(x["capital-gain"] > 5000, 1.6, 0) + np.where(
        x["capital-loss"] > 1500, 0.6, 0
    )
    margin += np.where(age > 25, np.where(age > 55, 0.6, 0.04 * (age - 40)), 0)
    margin += 0.5 * self_employed * graduate - np.where(hours > 35, 0, 0.5 * single)
    direct = (
        0.7 - 0.7 * graduate + np.where(hours > 40, 0.4, 0) + np.where(age > 40, 0.4, 0) * married
    )
    return margin, direct


#: World → its margin at z=0, and the direct effect on the margin.
OTHERS = {"steps": steps, "wave": wave, "deep": deep, "adult": adult}
