"""Store the natural effects of the framing experiment, by the two regressions of R's `mediation`.

Outcome Φ(η + c·z + g·m), mediator m normal with mean μ + t·z and spread σ. Averaged over the
mediator a person has Φ(ν + (c·z + g·t·z′)/s) with ν = (η + g·μ)/s and s = √(1 + g²σ²), so the
sorted ν are all that is needed of the people. Needs statsmodels, which holds the data.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def compute() -> dict[str, Any]:
    import numpy as np
    import pandas as pd
    import statsmodels
    import statsmodels.api as models
    import statsmodels.formula.api as formulas
    from scipy.stats import norm

    folder = Path(statsmodels.__file__).parent / "stats/tests/results"
    data = pd.read_csv(folder / "framing.csv")
    probit = models.families.Binomial(link=models.families.links.Probit())
    covariates = "treat + age + educ + gender + income"
    outcome = formulas.glm(f"cong_mesg ~ emo + {covariates}", data, family=probit).fit(tol=1e-12)
    mediator = formulas.ols(f"emo ~ {covariates}", data).fit()
    slope, direct, shift = outcome.params["emo"], outcome.params["treat"], mediator.params["treat"]
    spread = np.sqrt(mediator.scale)
    eta = outcome.predict(data.assign(emo=0, treat=0), which="linear")
    scale = np.sqrt(1 + slope**2 * spread**2)
    nu = np.sort((eta + slope * mediator.predict(data.assign(treat=0))) / scale)

    def mean(z: int, z_at: int) -> float:
        return float(norm.cdf(nu + (direct * z + slope * shift * z_at) / scale).mean())

    return {
        "direct": direct,
        "slope": slope,
        "shift": shift,
        "spread": spread,
        "direct_reference": mean(1, 0) - mean(0, 0),
        "direct_group": mean(1, 1) - mean(0, 1),
        "indirect_reference": mean(0, 1) - mean(0, 0),
        "indirect_group": mean(1, 1) - mean(1, 0),
        "total": mean(1, 1) - mean(0, 0),
        "nu": nu.round(6).tolist(),
    }


if __name__ == "__main__":
    Path(__file__).with_suffix(".json").write_text(json.dumps(compute(), indent=1) + "\n")
