"""Store what PySensemakr says about the Darfur survey, and the cross-products it rests on.

Needs PySensemakr, statsmodels and pandas below 3 (which PySensemakr 0.0.8 does not know yet).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

COVARIATES = ["age", "farmer_dar", "herder_dar", "pastvoted", "hhsize_darfur", "female"]
KEYS = {
    "r2dz_x": "r2_z",
    "r2yz_dx": "r2_y",
    "adjusted_estimate": "estimate",
    "adjusted_se": "se",
    "adjusted_lower_CI": "low",
    "adjusted_upper_CI": "high",
}


def compute() -> dict[str, Any]:
    import sensemakr
    import statsmodels.formula.api as formulas

    data = sensemakr.load_darfur()
    names = ["peacefactor", "directlyharmed", *COVARIATES]
    formula = f"peacefactor ~ directlyharmed + {' + '.join(COVARIATES)} + village"
    model = formulas.ols(formula, data).fit()
    statistics = sensemakr.sensitivity_stats(model=model, treatment="directlyharmed")
    within = data[names] - data.groupby("village")[names].transform("mean")
    groups = {"female": "female", "female and pastvoted": ["female", "pastvoted"]}
    bounds = sensemakr.ovb_bounds(
        model, "directlyharmed", benchmark_covariates=groups, kd=[1, 2, 3]
    )
    table = {key: [float(value) for value in bounds[theirs]] for theirs, key in KEYS.items()}
    return {
        "columns": names,
        "cross_products_within_villages": (within.T @ within).to_numpy().tolist(),
        "dof": int(model.df_resid),
        "estimate": float(statistics["estimate"]),
        "se": float(statistics["se"]),
        "t_statistic": float(statistics["t_statistic"]),
        "partial_r2": float(statistics["r2yd_x"]),
        "robustness_value": float(statistics["rv_q"]),
        "robustness_value_alpha": float(statistics["rv_qa"]),
        "benchmarks": {"benchmark": [g for g in groups for _ in range(3)], **table},
    }


if __name__ == "__main__":
    Path(__file__).with_suffix(".json").write_text(json.dumps(compute(), indent=1) + "\n")
