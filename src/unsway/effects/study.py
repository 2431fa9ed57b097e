"""A study: the effects of z on checked rows, with what says how far to trust them.

Every part comes from the same rows and the same models of propensity and outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar, cast

from ..outcome import Outcome
from ..rows import Rows
from .balance import Balance, balance
from .curve import EffectCurve, effect_curve
from .estimation import estimate_effects
from .mean_field import MeanField, mean_field
from .nuisance import CrossFit, Nuisances
from .result import Effects
from .sensitivity import Sensitivity, sensitivity
from .verdict import Verdict, verdict

#: How the curve is drawn from the propensities and models a method leaves.
CURVE_OF = {"doubly_robust": "doubly_robust", "surrogate": "spline", "weighting": "bins"}

Found = TypeVar("Found")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Study:
    """The effects of z on the outcome of some rows, and whether these rows can tell them.

    Parameters
    ----------
    effects : Effects
        The effects, with the overlap of the groups.
    balance : Balance
        How far the groups differ in each column, before and after weighting.
    verdict : Verdict
        What overlap, balance and mean field say together.
    mean_field : MeanField or None
        Whether the direct effect depends on the propensity alone; None also where the method fits
        no models of the outcome.
    curve : EffectCurve or None
        The direct effect along the propensity.
    sensitivity : Sensitivity or None
        How strong something unmeasured would have to be.
    missing : mapping of str to str
        What these rows did not let be computed, and why.

    Examples
    --------
    >>> from unsway import make_synthetic
    >>> people = make_synthetic(1000, random_state=0)
    >>> rows = Rows.check(people.X, people.y, sensitive_features=people.z)
    >>> found = Study.of(rows, effects_of(rows, method="weighting", max_extreme_share=1))
    >>> found.mean_field is None, found.curve.method, dict(found.missing)
    (True, 'bins', {})
    """

    effects: Effects
    balance: Balance
    verdict: Verdict
    mean_field: MeanField | None
    curve: EffectCurve | None
    sensitivity: Sensitivity | None
    missing: Mapping[str, str]

    @classmethod
    def of(cls, rows: Rows, effects: Effects) -> Study:
        """Look at the rows and models of the effects for reasons to doubt them."""
        models, how, roles = effects.nuisances, effects.settings, _roles(rows)
        balanced = balance(rows.X, propensity=models.propensity, **roles)
        missing: dict[str, str] = {}
        field = None
        if how["method"] == "doubly_robust":  # the others fit no models of the outcome
            given = {"y": rows.y, "mu0": models.outcome[:, 0], **roles}
            given |= {"cluster": rows.clusters, "folds": models.folds}
            field = if_told(
                "mean-field check",
                lambda: mean_field(
                    models.effect, models.propensity, confidence=how["confidence"], **given
                ),
                missing,
            )
        return cls(
            effects=effects,
            balance=replace(balanced, levels=rows.groups.names),
            verdict=verdict(effects.overlap, balanced, field),
            mean_field=field,
            curve=if_told("curve", lambda: curve_of(rows, effects), missing),
            sensitivity=if_told(
                "sensitivity analysis",
                lambda: _sensitivity(rows, how["confidence"]),
                missing,
            ),
            missing=missing,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return every number by name."""
        return self.effects.to_dict() | {
            "balance": self.balance.to_dict(),
            "verdict": self.verdict.to_dict(),
            "mean_field": self.mean_field and self.mean_field.to_dict(),
            "sensitivity": self.sensitivity and asdict(self.sensitivity),
            "curve": self.curve and asdict(self.curve),
        }

    def __repr__(self) -> str:
        return f"{self.effects!r}\n{self.verdict!r}"


def if_told(what: str, make: Callable[[], Found], missing: dict[str, str]) -> Found | None:
    """Return what is made; where these rows do not let it be, note why and return None."""
    try:
        return make()
    except ValueError as error:
        missing[what] = str(error)
        return None


def effects_of(rows: Rows, **options: Any) -> Effects:
    """Return `estimate_effects` of checked rows of two levels, their names as text."""
    rows.groups.require_two("a study of effects")
    given = {**_roles(rows), **loss_options(rows), "cluster": rows.clusters}
    found = cast("Effects", estimate_effects(rows.X, rows.y, **given, **options))
    levels, per = rows.groups.names, rows.outcome.per
    return replace(
        found,
        levels=levels,
        overlap=replace(found.overlap, levels=levels),
        settings=found.settings if per is None else {**found.settings, "per": per},
    )


def effects_on(
    outcome: Outcome, rows: Rows, known: Nuisances, *, outcome_model: Any, **options: Any
) -> Effects:
    """Return the effects on another outcome of the rows, whose propensities are known.

    Only the outcome models are fitted, on the folds that the propensities were fitted on.
    """
    seed, cv = options["random_state"], options["cv"]
    other = replace(rows, outcome=outcome).with_order(rows.order)
    models = {"outcome_model": outcome_model, "propensity_model": options["propensity_model"]}
    cross = CrossFit.of(other, cv=cv, clip=options["clip"], seed=seed, **models)
    found = replace(cross, propensity=()).fit_repeatedly(options.get("repeats", 1), seed)
    shares = {**found.shares, "propensity": known.shares.get("propensity", ())}
    nuisances = replace(
        found,
        propensity=known.propensity,
        unclipped=known.unclipped,
        n_clipped=known.n_clipped,
        shares=shares,
    )
    return effects_of(other, nuisances=nuisances, outcome_model=outcome_model, **options)


def curve_of(rows: Rows, effects: Effects) -> EffectCurve:
    """Return the direct effect along the propensity, from the models of the effects."""
    return effect_curve(
        rows.X,
        rows.y,
        method=CURVE_OF[effects.settings["method"]],
        nuisances=effects.nuisances,
        confidence=effects.settings["confidence"],
        cluster=rows.clusters,
        **_roles(rows),
    )


def _sensitivity(rows: Rows, confidence: float) -> Sensitivity:
    """Return the analysis of a linear regression, where that is a model of the outcome."""
    if rows.outcome.loss.link == "log":
        raise ValueError(
            "it is one of a linear regression, and does not apply to "
            f"loss={rows.outcome.loss.name!r}"
        )
    return sensitivity(rows.X, rows.y, alpha=1 - confidence, **_roles(rows))


def loss_options(rows: Rows) -> dict[str, Any]:
    """Return the loss of counts and amounts, whose exposure is part of the weights."""
    loss = rows.outcome.loss
    if loss.link != "log":
        return {}
    return {"loss": loss.name, "power": getattr(loss, "power", 1.5)}


def _roles(rows: Rows) -> dict[str, Any]:
    return {
        "sensitive_features": rows.groups.as_given(),
        "sample_weight": rows.weights,
        "groups": rows.groups.grouping,
    }
