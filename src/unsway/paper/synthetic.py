"""The paper's first experiment: logistic regression on the synthetic data, at many strengths."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .. import (
    DirectEffect,
    FairLogisticRegression,
    Parity,
    make_synthetic,
    score_gap,
    selection_rate_difference,
)
from .._typing import Floats
from ..datasets import SyntheticData
from ..datasets.worlds import Role
from ..rows import Rows
from .claims import Claim
from .descent import Descent, descend

#: λ = 0 … .975 by .025.
STRENGTHS = tuple(round(0.025 * k, 3) for k in range(40))

#: The roles that variables have in the paper.
ROLES: tuple[Role, ...] = ("safe", "indirect", "proxy")

#: The paper's two penalties, the direct effect with a linear outcome and a constant effect.
CRITERIA = {"direct_effect": DirectEffect(1, 0, form="interval"), "parity": Parity()}


@dataclass(frozen=True, kw_only=True)
class Point:
    """One model of the sweep: its figures on fresh rows, its penalty on the training rows.

    ``safe``, ``indirect`` and ``proxy`` are mean coefficients of the variables in that role.
    """

    criterion: str
    strength: float
    accuracy: float
    spd: float
    gap: float
    penalty: float
    safe: float
    indirect: float
    proxy: float


@dataclass(frozen=True, kw_only=True)
class SyntheticExperiment:
    """Every point of the sweep, and the paper's own training procedure compared with the optimum.

    ``oracle`` holds the mean coefficients of the logistic regression closest to the true fair
    score. They are smaller than the .25 by which y was drawn: averaging over z flattens the curve.
    """

    points: tuple[Point, ...]
    descents: tuple[Descent, ...]
    oracle: dict[str, float]
    label_gap: float
    extreme_share: float

    def to_records(self) -> list[dict[str, Any]]:
        """Return one plain dictionary per point."""
        return [asdict(point) for point in self.points]

    def of(self, criterion: str) -> tuple[Point, ...]:
        """Return the points of one criterion, by strength."""
        return tuple(point for point in self.points if point.criterion == criterion)

    def claims(self) -> tuple[Claim, ...]:
        """Return the paper's claims and what this run found."""
        return tuple(_claims(self))


def run_synthetic(
    *,
    strengths: Sequence[float] = STRENGTHS,
    random_state: int = 0,
    n_samples: int = 1_000_000,
    on_point: Callable[[], None] | None = None,
) -> SyntheticExperiment:
    """Fit both criteria at every strength, and follow the paper's procedure at a few of them.

    Parameters
    ----------
    strengths : sequence of float, default=STRENGTHS
        The values of λ.
    random_state : int, default=0
        Seed of the training rows; the next seed draws the test rows.
    n_samples : int, default=1_000_000
        Rows to train on, and a tenth as many to test on. The default leaves the mean coefficients
        a standard error of about .001.
    on_point : callable, default=None
        Called after each fitted model.

    Returns
    -------
    SyntheticExperiment
    """
    train = make_synthetic(n_samples, random_state=2 * random_state)
    test = make_synthetic(max(1, n_samples // 10), random_state=2 * random_state + 1)
    tick = on_point or (lambda: None)
    rows = Rows.check(train.X, train.y, sensitive_features=train.z)
    fitted = {name: criterion.fit(rows) for name, criterion in CRITERIA.items()}
    b = fitted["direct_effect"].row_values
    points, descents = [], []
    for name, criterion in fitted.items():
        path = FairLogisticRegression(criterion).fit_path(
            train.X, train.y, sorted(strengths), sensitive_features=train.z
        )
        for model in path:
            points.append(_point(name, model, test))
            tick()
        for strength in spread(strengths):
            descents.append(descend(name, criterion, strength, train))
            tick()
    return SyntheticExperiment(
        points=tuple(points),
        descents=tuple(descents),
        oracle=_oracle_coefficients(train),
        label_gap=score_gap(None, test.y, sensitive_features=test.z),
        extreme_share=float(np.mean((b < 0.05) | (b > 0.95))),
    )


def spread(strengths: Sequence[float], most: int = 4) -> tuple[float, ...]:
    """Return at most four of the strengths, evenly spread, the largest among them.

    Examples
    --------
    >>> spread(STRENGTHS)
    (0.0, 0.325, 0.65, 0.975)
    """
    ordered = sorted(strengths)
    picks = np.unique(np.linspace(0, len(ordered) - 1, min(most, len(ordered))).round().astype(int))
    return tuple(ordered[pick] for pick in picks)


def _point(name: str, model: FairLogisticRegression, test: SyntheticData) -> Point:
    return Point(
        criterion=name,
        strength=float(model.strength),
        penalty=model.penalty_,
        **measure(model.predict_proba(test.X)[:, 1], model, test),
    )


def measure(scores: Floats, model: FairLogisticRegression, test: SyntheticData) -> dict[str, float]:
    """Return accuracy, SPD and gap of scores at fresh rows, and the model's mean coefficients."""
    return {
        "accuracy": float(np.mean((scores > 0.5) == test.y)),
        "spd": selection_rate_difference(test.y, scores, sensitive_features=test.z),
        "gap": score_gap(test.y, scores, sensitive_features=test.z),
        **mean_coefficients(model.coef_[0], test),
    }


def mean_coefficients(coefficients: Floats, data: SyntheticData) -> dict[str, float]:
    """Return the mean coefficient of the safe, indirect and proxy variables."""
    return {role: float(coefficients[data.columns(role)].mean()) for role in ROLES}


def _oracle_coefficients(data: SyntheticData, most_rows: int = 100_000) -> dict[str, float]:
    """Fit the fair score itself: each row as y=1 and as y=0, weighted by its probability."""
    X, z, fair = data.X[:most_rows], data.z[:most_rows], data.fair_score[:most_rows]
    model = FairLogisticRegression(Parity(), strength=0).fit(
        np.vstack([X, X]),
        np.repeat([1, 0], len(X)),
        sensitive_features=np.concatenate([z, z]),
        sample_weight=np.concatenate([fair, 1 - fair]),
    )
    return mean_coefficients(model.coef_[0], data)


def _claims(run: SyntheticExperiment) -> Iterator[Claim]:
    fair = min(run.of("direct_effect"), key=lambda point: abs(point.strength - 0.9))
    yield Claim(
        f"direct effect, λ={fair.strength:g}: coefficients safe / indirect / proxy",
        "equal / equal / 0",
        f"{fair.safe:.3f} / {fair.indirect:.3f} / {fair.proxy:.3f} "
        f"(best possible {run.oracle['safe']:.3f} / {run.oracle['indirect']:.3f} / "
        f"{abs(run.oracle['proxy']):.3f})",
        abs(fair.safe - 0.25) <= 0.02 and abs(fair.indirect - 0.25) <= 0.02
        and abs(fair.proxy) <= 0.03,
    )  # fmt: skip
    parity = run.of("parity")[-1]
    yield Claim(
        f"parity, λ={parity.strength:g}: SPD",
        "almost 0",
        f"{parity.spd:.3f}",
        abs(parity.spd) <= 0.02,
    )
    pairs = list(zip(run.of("direct_effect"), run.of("parity"), strict=True))
    ahead = [fair.accuracy > parity.accuracy for fair, parity in pairs if fair.strength >= 0.5]
    yield Claim(
        "direct effect is more accurate than parity for λ ≥ .5",
        "yes",
        f"at {sum(ahead)} of {len(ahead)} strengths",
        all(ahead) if ahead else None,
    )
    yield Claim(
        "gap of the labels (SPD of Table 1)",
        ".54, impossible as P(y=1|z=0) = ½",
        f"{run.label_gap:.3f} (truth .375)",
        None,
    )
