"""Search for the smallest strength that leaves little of the direct effect, by bisection."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

from ..checks import check_number
from ..frames import Tabular
from ..models.training import loss_of
from .inputs import check_inputs, check_strengths
from .measures import Point, usable_points
from .result import Choice, Frontier
from .sweep import Callback, Sweep

LEFT, PART = "direct_effect_left", "validation"


@dataclass(frozen=True, kw_only=True, repr=False)
class Found(Tabular):
    """The result of a search; its table has every strength that was tried.

    Parameters
    ----------
    choice : Choice
        The strength that was found, with its figures on validation and test rows.
    reached : bool
        Whether its direct effect left is within the limit; if not, it is the strength that came
        nearest.
    frontier : Frontier
        Every strength that was tried.
    """

    choice: Choice
    reached: bool
    frontier: Frontier

    @property
    def strength(self) -> float:
        """The strength that was found."""
        return self.choice.strength

    @property
    def model(self) -> Any:
        """The model at that strength."""
        return self.frontier.model(self.strength)

    def _columns(self) -> dict[str, list[Any]]:
        return self.frontier._columns()

    def to_dict(self) -> dict[str, Any]:
        """Return the choice and every strength that was tried, ready for JSON."""
        found = {"choice": self.choice.to_dict(), "frontier": self.frontier.to_dict()}
        return {"reached": self.reached, **found}

    def __repr__(self) -> str:
        return f"{self.choice!r}\n  {len(self.frontier.points)} strengths tried"


def seek_strength(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    max_direct_effect: float = 0.01,
    precision: float = 0.02,
    strongest: float | None = None,
    callback: Callback | None = None,
    store: Any = None,
    **options: Any,
) -> Found:
    """Find the smallest strength whose validated direct effect left is within ±ε, by bisection.

    More strength takes out more of the direct effect. The search tries no strength and the largest
    one, then halves the interval in which the effect left, with the sign it has at strength 0,
    falls to ε: some eight fits in place of forty.

    Parameters
    ----------
    estimator, X, y, sensitive_features
        As for `frontier`.
    max_direct_effect : float, default=0.01
        ε; of numbers in their units.
    precision : float, default=0.02
        Length of the interval of strengths at which the search ends.
    strongest : float, default=None
        The largest strength to try. By default 1 where it is allowed, else .975.
    callback : callable, default=None
        Called with each finished `Point`, how many are finished, and how many there will be at
        most.
    store : path, default=None
        As for `frontier`; a sweep and a search of the same data and settings can share one.
    **options
        Further options of `frontier`: ``eval_set``, ``test_set``, ``cv``, ``effects`` ….

    Returns
    -------
    Found
        The strength, whether its direct effect left is within ±ε, and every strength tried.

    Examples
    --------
    >>> from unsway import FairLogisticRegression, Parity, make_synthetic
    >>> people = make_synthetic(1_500, random_state=0)
    >>> found = seek_strength(
    ...     FairLogisticRegression(Parity()),
    ...     people.X,
    ...     people.y,
    ...     sensitive_features=people.z,
    ...     max_direct_effect=0.03,
    ...     effects={"max_extreme_share": 1},
    ... )
    >>> found.reached, abs(found.choice.figures["direct_effect_left"]) <= 0.03
    (True, True)
    """
    most = {"below": 1} if loss_of(estimator) is None else {}
    check_number(max_direct_effect, "max_direct_effect", above=0, **most)
    check_number(precision, "precision", above=0, below=1)
    if options.get("effects", True) in (False, None):
        raise ValueError("effects=False: a search needs the direct effect left")
    unknown = sorted(set(options) - set(signature(check_inputs).parameters))
    if unknown:
        raise TypeError(f"seek_strength has no option {unknown[0]!r}")
    top = check_strengths(estimator, None if strongest is None else [strongest])[-1]
    sweep = Sweep(check_inputs(estimator, X, y, sensitive_features, **options), store)
    n_most = 2 + max(0, math.ceil(math.log2(top / precision)))
    tried: list[float] = []

    def left(strength: float) -> float:
        is_new = strength not in sweep.known
        notes = sweep.run([strength]).notes
        tried.append(strength)
        point = sweep.known[strength]
        if is_new and callback is not None:
            callback(point, len(tried), n_most)
        return _left(point, notes)

    end = _bisect(left, top, max_direct_effect, precision)
    return _conclude(sweep.result(), end, top, max_direct_effect)


def _bisect(left: Callable[[float], float], top: float, epsilon: float, precision: float) -> float:
    """Return the smallest strength found at which what is left, signed as at 0, is at most ε."""
    start = left(0.0)
    if abs(start) <= epsilon:
        return 0.0
    sign = math.copysign(1.0, start)
    low, high = 0.0, top
    within_reach = sign * left(top) <= epsilon
    while within_reach and high - low > precision:
        middle = round((low + high) / 2, 6)
        if sign * left(middle) > epsilon:
            low = middle
        else:
            high = middle
    return high


def _left(point: Point, notes: Sequence[str]) -> float:
    """Return the direct effect left at a strength, or raise if it is not known."""
    if point.error:
        raise RuntimeError(f"the fit at strength {point.strength:g} failed: {point.error}")
    left = point.value(LEFT, PART)
    if math.isnan(left):
        raise ValueError(
            f"the direct effect left could not be estimated on the {PART} rows: {'; '.join(notes)}"
        )
    return left


def _conclude(frontier: Frontier, strength: float, top: float, epsilon: float) -> Found:
    """Return the result of the search; the nearest strength tried if none is within ±ε."""
    points = usable_points(frontier.points, (LEFT,), PART)
    point = frontier.point(strength)
    if point.cost(LEFT, PART) > epsilon:
        point = min(points, key=lambda each: each.cost(LEFT, PART))
    reached = point.cost(LEFT, PART) <= epsilon
    rule = f"smallest strength found with |{LEFT}| ≤ {epsilon:g}"
    if not reached:
        rule = f"nearest to |{LEFT}| ≤ {epsilon:g} of the strengths tried"
        warnings.warn(
            f"no strength up to {top:g} leaves a direct effect within "
            f"±{epsilon:g}: the nearest is {point.value(LEFT, PART):+.4f} at strength "
            f"{point.strength:g}",
            UserWarning,
            stacklevel=3,
        )
    choice = Choice(rule=rule, part=PART, point=point, blind=points[0])
    return Found(choice=choice, reached=reached, frontier=frontier)
