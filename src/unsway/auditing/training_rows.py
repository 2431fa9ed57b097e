"""Whether the rows of an audit are those a model was trained on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

#: An audit is refused if more of its rows than this were in the training, unless it is allowed.
LARGELY = 0.5
#: From this share on, an audit says how many of its rows were in the training.
NOTICED = 0.05


@dataclass(frozen=True, kw_only=True)
class TrainingRows:
    """How many rows of an audit the model was trained on.

    Parameters
    ----------
    share : float
        From 0 to 1; NaN where the model has no fingerprint of its training rows.
    """

    share: float

    @property
    def note(self) -> str | None:
        """What a reader of the audit must know, or None."""
        if math.isnan(self.share):
            return (
                "Whether the model was trained on these rows is not known: it holds no fingerprint "
                "of its training rows, or they have too many twins."
            )
        if self.share < NOTICED:
            return None
        return (
            f"The model was trained on {self.share:.0%} of these rows: it may look more accurate "
            "and more or less fair than it is on others."
        )


def check_training_rows(model: Any, X: Any, *, allowed: bool = False) -> TrainingRows:
    """Return how many of the rows a model was trained on, or refuse an audit of largely those.

    A model that fits its rows closely knows their labels: its scores of those rows hold more of the
    labels, and of the direct effect in them, than its scores of other people.

    Parameters
    ----------
    model : fitted estimator or SavedModel
        Has a method ``share_trained_on(X)``.
    X : table
        The covariates of the rows.
    allowed : bool, default=False
        Whether to return a large share too.

    Returns
    -------
    TrainingRows
    """
    if not hasattr(model, "share_trained_on"):
        raise TypeError(
            "model must be an estimator or a saved model of unsway, which knows its training "
            f"rows; got {type(model).__name__}"
        )
    found = TrainingRows(share=float(model.share_trained_on(X)))
    if found.share > LARGELY and not allowed:
        raise ValueError(
            f"the model was trained on {found.share:.0%} of these rows. On rows it has seen a "
            "flexible model looks more accurate and more or less fair than it is: audit other "
            "rows, or allow it with allow_training_rows=True (--allow-training-rows)"
        )
    return found
