"""Cases of the formulas: penalties, objectives, curvatures, criteria, schedules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from regression import api, data
from regression.registry import Case, case, digest

#: Six rows by three statistics, with nothing alike in them.
MATRIX = np.array(
    [
        [0.30, -0.10, 0.05],
        [0.20, 0.40, -0.25],
        [-0.50, 0.15, 0.10],
        [0.10, -0.35, 0.60],
        [-0.25, 0.20, -0.15],
        [0.15, -0.30, 0.45],
    ]
)
TARGETS = np.array([0.02, -0.04, 0.4])
MARGIN = np.array([-2.0, 0.75, 0.3, 1.5, -0.4, 40.0])
LABELS = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 1.0])
WEIGHTS = np.array([0.5, 2.0, 1.0, 1.25, 3.0, 0.75])
SHIFT = np.array([0.1, -0.2, 0.05, -0.15, 0.3, -0.25])
FORMS = {
    "match": ["match"] * 3,
    "interval": ["interval"] * 3,
    "paper": ["paper"] * 3,
    "mixed": ["interval", "match", "paper"],
}


def cases() -> Iterator[Case]:
    """Yield the cases."""
    for form in FORMS:
        yield case(f"core/penalty/{form}", "exact", penalty, form, fixture=True)
        yield case(f"core/objective/{form}", "exact", objective, form, fixture=True)
    yield case("core/objective/shift", "exact", shifted, fixture=True)
    yield case("core/schedule", "exact", schedule, fixture=True)
    for name in api.exact_criteria():
        for weighted in (False, True):
            suffix = "weighted" if weighted else "plain"
            yield case(
                f"core/criterion/{name}/{suffix}", "exact", criterion, name, weighted, fixture=True
            )


def penalty(form: str) -> Mapping[str, Any]:
    """Record a penalty at scores inside and outside its zones."""
    held_to = api.penalty(MATRIX, FORMS[form], TARGETS)
    found: dict[str, Any] = {}
    for place, scores in enumerate((1 / (1 + np.exp(-MARGIN)), np.full(6, 0.5), np.zeros(6))):
        found[str(place)] = {
            "value": float(held_to.value(scores)),
            "statistics": held_to.statistics(scores),
            "gradient": held_to.gradient(scores),
            "curvature": held_to.curvature(scores),
        }
    return found


def objective(form: str) -> Mapping[str, Any]:
    """Record an objective, its expansion and both diagonals, with and without weights."""
    held_to = api.penalty(MATRIX, FORMS[form], TARGETS)
    found = {}
    for name, weights in (("plain", None), ("weighted", WEIGHTS)):
        for strength in (0.0, 0.3, 0.9):
            of = api.objective(held_to, LABELS, strength, weights)
            found[f"{name}/{strength}"] = _expanded(of)
    return found


def shifted() -> Mapping[str, Any]:
    """Record the objective of shifted labels, at strengths up to 1."""
    found = {}
    for name, weights in (("plain", None), ("weighted", WEIGHTS)):
        for strength in (0.0, 0.5, 1.0):
            of = api.objective(None, LABELS, strength, weights, SHIFT)
            found[f"{name}/{strength}"] = api.expansion(of, MARGIN)
    return found


def _expanded(of: Any) -> dict[str, Any]:
    return {
        **api.expansion(of, MARGIN),
        "exact": api.curvature(of, MARGIN, "exact", 1.0),
        "bound": api.curvature(of, MARGIN, "bound", 1.0),
        "bound_slow": api.curvature(of, MARGIN, "bound", 0.1),
    }


def criterion(name: str, weighted: bool) -> Mapping[str, Any]:
    """Record the objective of a criterion whose nuisances are read off X."""
    people = data.synthetic(400)
    strength = api.strengths_of(name)[-1]
    of = api.objective_of(api.exact_criteria()[name], people, weighted, strength)
    margin = people.matrix[:, :5].sum(axis=1) / 3
    found = api.expansion(of, margin)
    rows = ("gradient", "utility_curvature", "bend", "density")
    shown = {key: digest(found.pop(key), 5) for key in rows}
    diagonals = {}
    if found["stiffness"].size:
        diagonals = {
            kind: digest(api.curvature(of, margin, kind, 0.3), 5) for kind in ("exact", "bound")
        }
    return {**found, **shown, **diagonals}


class Falling:
    """A model whose losses follow a formula of its steps and strengths."""

    def __init__(self) -> None:
        self.steps: list[float] = []

    def step(self, strength: float) -> None:
        self.steps.append(strength)

    def evaluate(self) -> Any:
        count, total = len(self.steps), sum(self.steps)
        return api.losses(1 / (1 + count) + 0.002 * count**1.5, 0.5 / (1 + total) + 0.001 * total)

    def snapshot(self) -> int:
        return len(self.steps)


def schedule() -> Mapping[str, Any]:
    """Record which steps schedules take, and the state they keep."""
    found: dict[str, Any] = {}
    settings = {
        "short": api.schedule(),
        "long": api.schedule(max_steps=200, patience=20, ramp_steps=50, pretrain_patience=5),
        "coarse": api.schedule(min_improvement=0.01),
    }
    for name, each in settings.items():
        for strength in (0.1, 0.5, 0.9):
            model = Falling()
            run = each.run(model, strength)
            found[f"{name}/{strength}"] = {
                "strengths": model.steps,
                "best": run.best_state,
                "pretraining": run.pretraining_steps,
                "stalled": run.stalled,
                "utility": run.best.losses.utility,
                "penalty": run.best.losses.penalty,
            }
    found["ramp"] = list(settings["long"].strengths_of_ramp(0.8))
    return found
