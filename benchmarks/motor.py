"""Motor frequency and pure premium without the direct effect of sex, on the French data of 2015.

The data does not ship: give its path, or set UNSWAY_DATA. Forty per cent of the policies are held
out; the effects and every figure are theirs. Gaps are men minus women.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tables import append_heading, append_table, write_table

from unsway import (
    Effects,
    Estimate,
    FairXGBRegressor,
    MarginalizedRegressor,
    actual_over_expected,
    audit,
    deviance_explained,
    estimate_effects,
    fair_pure_premium,
    gini,
    write_audit_report,
)
from unsway.datasets import TabularData, load_pg15_motor
from unsway.groups import Grouping

Floats = NDArray[np.float64]

LOSSES = {"frequency": "poisson", "severity": "gamma", "pure_premium": "tweedie"}
NOTE = (
    "Models are trained on 60% of the policies and judged on the others. Blind: XGBoost without "
    "sex, at strength 0. Fair: the same at strength 1. Averaged over z: scikit-learn's boosted "
    "trees of the covariates and sex, averaged over both sexes, the two-model way. All keep the "
    "total of the training policies. A/E is actual over expected. Gap: men minus women; left: the "
    "gap less what the covariates explain, with its standard error. Pass-through: the share of the "
    "direct effect that a model passes on; not told where its interval has no bound."
)
TITLES = {"frequency": "Claims per year", "pure_premium": "Euros per year"}
BLIND, FAIR, AVERAGED = "blind", "fair", "averaged over z"


@dataclass(frozen=True)
class Part:
    """Policies with what is needed of them."""

    X: Any
    y: Floats
    z: NDArray[np.int64]
    exposure: Floats

    @classmethod
    def of(cls, data: TabularData) -> Part:
        """Return the policies of a data set."""
        return cls(data.to_frame(), data.y.astype(float), data.z, data.exposure)

    @property
    def rates(self) -> Floats:
        """The outcome per unit of exposure."""
        return self.y / self.exposure

    def take(self, rows: NDArray[np.bool_]) -> Part:
        """Return some of the policies."""
        X = self.X[rows].reset_index(drop=True)
        return Part(X, self.y[rows], self.z[rows], self.exposure[rows])


def held_out(n_rows: int) -> NDArray[np.bool_]:
    """Return which of the policies are held out; the same for every outcome."""
    return np.random.default_rng([2015, 1]).random(n_rows) < 0.4


def train(loss: str, part: Part) -> dict[str, Any]:
    """Return a blind and a fair model, and the two-model way: price with z, average over z."""
    roles = {"sensitive_features": part.z, "exposure": part.exposure}
    models: dict[str, Any] = {
        BLIND: FairXGBRegressor(loss=loss, strength=0.0, rebalance=True, n_jobs=1),
        FAIR: FairXGBRegressor(loss=loss, n_jobs=1),
        AVERAGED: MarginalizedRegressor(loss=loss),
    }
    return {name: model.fit(part.X, part.y, **roles) for name, model in models.items()}


def effects_of(loss: str, part: Part) -> Effects:
    """Return the effects of sex on the outcome of these policies."""
    return estimate_effects(
        part.X, part.y, sensitive_features=part.z, loss=loss, exposure=part.exposure,
        max_extreme_share=1,
    )  # fmt: skip


def model_rows(
    models: dict[str, Floats], part: Part, loss: str, effects: Effects, decimals: int
) -> Iterator[tuple[str, ...]]:
    """Yield the figures of each model's predictions of the held-out policies."""
    y, e, z = part.rates, part.exposure, part.z
    for name, p in models.items():
        means = [np.average(p, weights=e * (z == level)) for level in (0, 1)]
        left = effects.direct_effect_left(p)
        share = effects.gap_parts(p).pass_through
        by_sex = [actual_over_expected(y, p, sample_weight=e * (z == level)) for level in (0, 1)]
        yield (
            name,
            f"{deviance_explained(y, p, loss=loss, sample_weight=e):.4f}",
            f"{gini(y, p, sample_weight=e):.3f}",
            f"{actual_over_expected(y, p, sample_weight=e):.3f}",
            *(f"{each:.3f}" for each in by_sex),
            f"{means[1] - means[0]:+.{decimals}f}",
            f"{left.estimate:+.{decimals}f} ± {left.se:.{decimals}f}",
            told_share(share),
        )


def told_share(share: Estimate | None) -> str:
    """Return a pass-through with its interval, if the data bound it."""
    if share is None or not np.isfinite([share.low, share.high]).all():
        return "not told"
    return f"{share.estimate:.2f} [{share.low:.2f}, {share.high:.2f}]"


def effect_rows(effects: Effects, decimals: int) -> Iterator[tuple[str, ...]]:
    """Yield the effects in the units of y and as ratios."""
    ratios = effects.as_ratios().estimates()
    for name, each in effects.estimates().items():
        ratio = ratios.get(name)
        yield (
            f"`{name}`",
            f"{each.estimate:+.{decimals}f}",
            f"{each.low:+.{decimals}f} to {each.high:+.{decimals}f}",
            "" if ratio is None else f"{ratio.estimate:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]",
        )


def section(path: Path, outcome: str, data: TabularData, report: Path | None) -> None:
    """Measure an outcome, and append its tables."""
    whole, loss = Part.of(data), LOSSES[outcome]
    held = held_out(len(whole.y))
    part, test = (whole.take(rows) for rows in (~held, held))
    models = {name: model.predict(test.X) for name, model in train(loss, part).items()}
    effects, decimals = effects_of(loss, test), 4 if outcome == "frequency" else 1
    seen = effects.overlap
    append_heading(path, TITLES[outcome])
    note = (
        f"{len(test.y):,} held-out policies; {seen.share_outside:.1%} of the propensities lie "
        f"outside [0.05, 0.95], AUC {seen.auc:.3f}."
    )
    columns = ("effect", "men minus women", "95% interval", "men over women")
    table = list(effect_rows(effects, decimals))
    append_table(path, f"Effects on {TITLES[outcome].lower()}", note, columns, table, level=3)
    columns = ("model", "D²", "Gini", "A/E", "A/E women", "A/E men", "gap", "left", "pass-through")
    table = list(model_rows(models, test, loss, effects, decimals))
    append_table(path, f"Models of {TITLES[outcome].lower()}", "", columns, table, level=3)
    if report is not None and outcome == "frequency":
        write_report(report, test, models)


def write_report(path: Path, test: Part, models: dict[str, Floats]) -> None:
    """Write the audit of the fair frequency beside the blind one as a page."""
    found = audit(
        test.y,
        models[FAIR],
        sensitive_features=pd.Series(np.where(test.z == 1, "men", "women"), name="Gender"),
        groups=Grouping(reference="women"),
        loss="poisson",
        exposure=pd.Series(test.exposure, name="year"),
        X=test.X,
        baseline=models[BLIND],
        n_bootstrap=100,
    )
    write_audit_report(found, path, title="Motor claims per year, fair beside blind")


def product_rows(path: str | None) -> Iterator[tuple[str, ...]]:
    """Yield the product of two fair models beside the average of the products."""
    parts = {}
    for outcome in ("frequency", "severity", "pure_premium"):
        whole = Part.of(load_pg15_motor(path, outcome=outcome))
        parts[outcome] = whole
    held = held_out(len(parts["frequency"].y))
    claims, test = (parts["frequency"].take(rows) for rows in (~held, held))
    severe = parts["severity"].take(~held_of_severity(path, held))
    settings = {"rebalance": False}
    models = [
        MarginalizedRegressor(loss=loss, **settings).fit(
            each.X, each.y, sensitive_features=each.z, exposure=each.exposure
        )
        for loss, each in (("poisson", claims), ("gamma", severe))
    ]
    product = models[0].predict(test.X) * models[1].predict(test.X)
    averaged = fair_pure_premium(*models, test.X)
    e, z = test.exposure, test.z
    for name, p in (("product of two fair models", product), ("average of the products", averaged)):
        by_sex = [np.average(p, weights=e * (z == level)) for level in (0, 1)]
        yield (name, f"{np.average(p, weights=e):.2f}", f"{by_sex[0]:.2f}", f"{by_sex[1]:.2f}")
    ratio = averaged / product
    whole = np.average(averaged, weights=e) / np.average(product, weights=e)
    yield (
        "the second over the first",
        f"{whole:.4f}",
        f"least {ratio.min():.4f}",
        (f"most {ratio.max():.4f}"),
    )


def held_of_severity(path: str | None, held: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which of the policies with claims are held out."""
    counts = load_pg15_motor(path, outcome="frequency").y
    amounts = load_pg15_motor(path, outcome="pure_premium").y
    return held[(counts > 0) & (amounts > 0)]


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", nargs="?", help="The file or its folder; else UNSWAY_DATA.")
    parser.add_argument("--report", type=Path, help="Write an HTML page of the frequency there.")
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).with_suffix(".md"))
    args = parser.parse_args()
    facts = [
        (outcome, *policy_row(load_pg15_motor(args.path, outcome=outcome))) for outcome in LOSSES
    ]
    write_table(
        args.output,
        "Motor frequency and pure premium without the direct effect of sex",
        [NOTE],
        ("outcome", "policies", "women", "men", "men over women"),
        facts,
        ["unsway", "xgboost-cpu", "scikit-learn", "numpy"],
    )
    for outcome in TITLES:
        data = load_pg15_motor(args.path, outcome=outcome)
        section(args.output, outcome, data, args.report)
    title = "Frequency times severity, euros per year"
    table = list(product_rows(args.path))
    append_table(args.output, title, "", ("price", "mean", "women", "men"), table)


def policy_row(data: TabularData) -> tuple[str, ...]:
    """Return the number of policies, and the mean of each sex per unit of exposure."""
    y, e, z = data.y, data.exposure, data.z
    zero, one = (float(y[z == level].sum() / e[z == level].sum()) for level in (0, 1))
    return f"{len(y):,}", f"{zero:.4g}", f"{one:.4g}", f"{one / zero:.3f}"


if __name__ == "__main__":
    main()
