"""What an estimator is to learn of labels: its criterion, and how many classes that takes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..criteria import DirectEffect, FairTarget, GroupCriterion
from ..outcome import Outcome


def criterion_of(model: Any) -> Any:
    """Return the criterion an estimator was given, or its default; None if it takes none."""
    if not hasattr(model, "criterion"):
        return None
    default = getattr(model, "default_criterion", FairTarget)
    return default() if model.criterion is None else model.criterion


def takes_classes(model: Any) -> bool:
    """Return whether an estimator takes labels of more than two classes: penalties do not."""
    return not isinstance(settings_of(model), GroupCriterion | DirectEffect)


def settings_of(model: Any) -> Any:
    """Return the criterion of an estimator, or the settings of one that is fitted."""
    criterion = criterion_of(model)
    return getattr(criterion, "criterion", criterion)


def label_reader(model: Any) -> Callable[[Any, int], Outcome]:
    """Return what reads the labels of a classifier, of two classes or of several."""
    several = bool(model.__sklearn_tags__().classifier_tags.multi_class)
    advice = ""
    if not several and not takes_classes(model) and not hasattr(model, "default_criterion"):
        name = type(settings_of(model)).__name__
        advice = f". {name} is a penalty, which needs two classes; use criterion=FairTarget()"
    elif not several:
        advice = "; FairTargetClassifier and MarginalizedClassifier take several"
    return partial(Outcome.labels, several=several, advice=advice)


def check_classes_here(model: Any) -> None:
    """Raise if labels of several classes cannot be trained where the parameters say."""
    params = getattr(model, "params", None) or {}
    device = str(params.get("device", "cpu"))
    if device.partition(":")[0] in ("cuda", "gpu"):
        raise ValueError(
            f"params['device'] is {device!r}, and labels of several classes are trained on the CPU "
            "alone; leave it out, or compare one class with the others"
        )
