"""The picture of README.md: the direct effect of sex on incomes in Adult, before and after.

python benchmarks/readme_picture.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt

from unsway import FairXGBClassifier, estimate_effects
from unsway.colours import BLACK, BLUE, GREY, VERMILION
from unsway.datasets import load_adult

PICTURE = Path(__file__).with_suffix(".svg")


def main() -> None:
    """Train a blind and a fair model on the training rows, judge the test rows, and draw."""
    train, test = load_adult("train"), load_adult("test")
    effects = estimate_effects(test.to_frame(), test.y, sensitive_features=test.z)
    labels = effects.gap_parts(test.y).left_as_given
    lines = {"labels": (labels, GREY)}
    for name, strength, colour in (("blind", 0.0, VERMILION), ("unsway", 1.0, BLUE)):
        model = FairXGBClassifier(strength=strength)
        model.fit(train.to_frame(), train.y, sensitive_features=train.z)
        p = model.predict_proba(test.to_frame())[:, 1]
        lines[name] = (effects.direct_effect_left(p), colour)
    mpl.rcParams.update({"svg.hashsalt": "unsway", "svg.fonttype": "none", "font.size": 11})
    figure = plt.figure(figsize=(7, 2.3), layout="constrained")
    axis = figure.subplots()
    texts = {
        "labels": "in the labels",
        "blind": "in XGBoost without sex",
        "unsway": "in XGBoost by unsway",
    }
    for place, (each, colour) in enumerate(lines.values()):
        ends = [[each.estimate - each.low], [each.high - each.estimate]]
        axis.errorbar(each.estimate, place, xerr=ends, fmt="o", color=colour, lw=3, ms=8)
        text = f"{100 * each.estimate:+.1f}".replace("-", "−")
        axis.annotate(text, (each.estimate, place), (0, 9), textcoords="offset points", ha="center")
    axis.axvline(0, color=BLACK, lw=0.8)
    axis.set_yticks(range(len(lines)), [texts[name] for name in lines])
    axis.set_ylim(2.6, -0.7)
    axis.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}")
    axis.set_xlabel("direct effect of sex, percentage points, with 95 % intervals")
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, metadata={"Date": None})
    print({name: str(each) for name, (each, _) in lines.items()})


if __name__ == "__main__":
    main()
