"""Store the columns of NHEFS that "What If" uses, and what statsmodels makes of them.

Chapter 15 fits the propensity on all 1629 people and the outcome on the 1566 weighed in 1982;
chapter 12 fits both on the 1566.

Needs causaldata and statsmodels.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

COLUMNS = [
    "wt82_71",
    "qsmk",
    "sex",
    "race",
    "age",
    "education",
    "smokeintensity",
    "smokeyrs",
    "exercise",
    "active",
    "wt71",
]
PROPENSITY = (
    "qsmk ~ sex + race + age + I(age**2) + C(education) + smokeintensity + I(smokeintensity**2) "
    "+ smokeyrs + I(smokeyrs**2) + C(exercise) + C(active) + wt71 + I(wt71**2)"
)


def table() -> Any:
    from causaldata import nhefs

    data = nhefs.load_pandas().data[COLUMNS]
    whole = [name for name in COLUMNS if name not in ("wt82_71", "wt71")]
    return data.astype(dict.fromkeys(COLUMNS, float)).astype(dict.fromkeys(whole, int))


def compute() -> dict[str, Any]:
    import numpy as np
    import statsmodels.api as models
    import statsmodels.formula.api as formulas

    def propensity(people: Any) -> Any:
        return formulas.logit(PROPENSITY, people).fit(disp=False, tol=1e-12).predict()

    everyone = table()
    scored = everyone.assign(score=propensity(everyone))
    adjusted = formulas.ols("wt82_71 ~ qsmk + score", scored.dropna()).fit()
    data = everyone.dropna()
    score = propensity(data)
    weight = np.where(data["qsmk"] == 1, 1 / score, 1 / (1 - score))
    independent = models.cov_struct.Independence()
    weighted = formulas.gee(
        "wt82_71 ~ qsmk", np.arange(len(data)), data, cov_struct=independent, weights=weight
    ).fit()
    return {
        "rows": [len(everyone), len(data)],
        "weights": {"mean": weight.mean(), "min": weight.min(), "max": weight.max()},
        "coefficients": [adjusted.params[name] for name in ("Intercept", "qsmk", "score")],
        "se": adjusted.bse["qsmk"],
        "weighted": weighted.params["qsmk"],
        "weighted_se": weighted.bse["qsmk"],
    }


if __name__ == "__main__":
    here = Path(__file__)
    text = table().to_csv(index=False, float_format="%.12g", lineterminator="\n")
    here.with_suffix(".csv.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    here.with_suffix(".json").write_text(json.dumps(compute(), indent=1) + "\n")
