"""Makes the folders beside it when run by version 0.1.0; see README.md."""

import json
from pathlib import Path

import numpy as np

from unsway import DirectEffect, FairLogisticRegression, Parity, frontier
from unsway.models.folder import save_model

HERE = Path(__file__).parent


def rows():
    """400 rows of two covariates; only sums and quotients, the same on every machine."""
    k = np.arange(400)
    z = k // 7 % 2
    X = np.column_stack([(37 * k % 101) / 101 + 0.2 * z, (53 * k % 97) / 97])
    y = ((29 * k % 89) / 89 + 0.5 * X[:, 0] + 0.2 * z > 0.9).astype(int)
    return X, y, z


def estimator():
    return FairLogisticRegression(DirectEffect(1, 0))


if __name__ == "__main__":
    X, y, z = rows()
    frontier(
        estimator(),
        X,
        y,
        sensitive_features=z,
        strengths=[0, 0.9],
        effects={"cv": 2},
        store=HERE / "store",
    )
    model = FairLogisticRegression(Parity(), 0.9).fit(X, y, sensitive_features=z)
    save_model(model, HERE / "model")
    scores = model.predict_proba(X)[:5, 1].tolist()
    (HERE / "scores.json").write_text(json.dumps(scores) + "\n")
