"""The smallest strength that leaves little enough of the direct effect, found by bisection."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

from ..checks import check_number
from ..frames import Tabular
from .inputs import check_inputs, check_strengths
from .measures import usable_points
from .result import Choice, Frontier
from .sweep import Callback, Sweep

LEFT, PART = "direct_effect_left", "validation"


@dataclass(frozen=True, kw_only=True, repr=False)
class Found(Tabular):
    """Where a search ended; its table has every strength that was tried.

    Parameters
    ----------
    choice : Choice
        The strength that was found, with its figures on validation and test rows.
    reached : bool
        Whether its direct effect left is as small as was asked for; if not, it is the strength
        that came nearest.
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
    max_direct_effect : float
        ε.
    precision : float
        Length of the interval of strengths at which the search ends.
    strongest : float, optional
        The largest strength to try; 1 where it is allowed, else .975.
    callback : callable, optional
        Called with each finished `Point`, how many are finished, and how many there will be at
        most.
    store : path, optional
        As for `frontier`; a sweep and a search of the same data and settings can share one.
    **options
        Further options of `frontier`: ``eval_set``, ``test_set``, ``cv``, ``effects`` ….

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
    for name, value in (("max_direct_effect", max_direct_effect), ("precision", precision)):
        check_number(value, name, above=0, below=1)
    if options.get("effects", True) in (False, None):
        raise ValueError("effects=False: a search needs the direct effect left")
    unknown = sorted(set(options) - set(signature(check_inputs).parameters))
    if unknown:
        raise TypeError(f"seek_strength has no option {unknown[0]!r}")
    top = check_strengths(estimator, None if strongest is None else [strongest])[-1]
    inputs = check_inputs(estimator, X, y, sensitive_features, **options)
    return _Search(Sweep(inputs, store), max_direct_effect, precision, callback).run(top)


@dataclass
class _Search:
    """Bisection on the signed effect left."""

    sweep: Sweep
    epsilon: float
    precision: float
    callback: Callback | None
    tried: list[float] = field(default_factory=list)
    most: int = 0

    def run(self, top: float) -> Found:
        self.most = 2 + max(0, math.ceil(math.log2(top / self.precision)))
        start = self._left(0.0)
        if abs(start) <= self.epsilon:
            return self._end(0.0)
        sign = math.copysign(1.0, start)
        low, high = 0.0, top
        within_reach = sign * self._left(top) <= self.epsilon
        while within_reach and high - low > self.precision:
            middle = round((low + high) / 2, 6)
            if sign * self._left(middle) > self.epsilon:
                low = middle
            else:
                high = middle
        return self._end(high)

    def _left(self, strength: float) -> float:
        is_new = strength not in self.sweep.known
        self.sweep.run([strength])
        self.tried.append(strength)
        point = self.sweep.known[strength]
        if is_new and self.callback is not None:
            self.callback(point, len(self.tried), self.most)
        if point.error:
            raise RuntimeError(f"the fit at strength {strength:g} failed: {point.error}")
        left = point.value(LEFT, PART)
        if math.isnan(left):
            raise ValueError(
                "the direct effect left could not be estimated on the validation rows: "
                + "; ".join(self.sweep.result(self.tried).notes)
            )
        return left

    def _end(self, strength: float) -> Found:
        """Return where the search ended; the nearest of all that was tried if it was in vain."""
        frontier = self.sweep.result(self.tried)
        points = usable_points(frontier.points, (LEFT,), PART)
        point = frontier.point(strength)
        if point.cost(LEFT, PART) > self.epsilon:
            point = min(points, key=lambda each: (each.cost(LEFT, PART), each.strength))
        reached = point.cost(LEFT, PART) <= self.epsilon
        words = f"smallest strength found with |{LEFT}| ≤ {self.epsilon:g}"
        if not reached:
            words = f"nearest to |{LEFT}| ≤ {self.epsilon:g} of the strengths tried"
            warnings.warn(
                f"no strength up to {max(self.tried):g} leaves a direct effect within "
                f"±{self.epsilon:g}: the nearest is {point.value(LEFT, PART):+.4f} at strength "
                f"{point.strength:g}",
                UserWarning,
                stacklevel=4,
            )
        choice = Choice(rule=words, part=PART, point=point, blind=points[0])
        return Found(choice=choice, reached=reached, frontier=frontier)
