"""The smallest strength that leaves little enough of the direct effect, found by bisection."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

from .choice import Choice, usable_points
from .inputs import check_inputs, check_strengths
from .points import Point
from .result import Frontier
from .sweep import Sweep

LEFT = "direct_effect_left"


@dataclass(frozen=True)
class Found:
    """Where a search ended.

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

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return every strength that was tried, a row per part of the rows."""
        return self.frontier.to_frame(backend)


def seek_strength(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    max_direct_effect: float = 0.01,
    precision: float = 0.02,
    strongest: float | None = None,
    callback: Callable[[Point, int, int], None] | None = None,
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
    _check(max_direct_effect, precision)
    top = check_strengths(estimator, None)[-1] if strongest is None else strongest
    check_strengths(estimator, [top])
    if options.get("effects", True) in (False, None):
        raise ValueError("effects=False: a search needs the direct effect left")
    unknown = sorted(set(options) - _OPTIONS)
    if unknown:
        raise TypeError(f"seek_strength has no option {unknown[0]!r}")
    inputs = check_inputs(estimator, X, y, sensitive_features, **options)
    settings = {
        "validation_fraction": options.get("validation_fraction", 0.25),
        "encode": options.get("encode"),
        "random_state": options.get("random_state", 0),
    }
    sweep = Sweep(inputs, inputs.fingerprint(settings), store)
    search = _Search(sweep, max_direct_effect, precision, callback)
    return search.run(float(top))


_OPTIONS = {
    "sample_weight", "eval_set", "test_set", "cv", "validation_fraction", "effects", "threshold",
    "encode", "random_state",
}  # fmt: skip


class _Search:
    """Bisection on the signed effect left."""

    def __init__(
        self,
        sweep: Sweep,
        epsilon: float,
        precision: float,
        callback: Callable[[Point, int, int], None] | None,
    ) -> None:
        self.sweep, self.epsilon, self.precision = sweep, epsilon, precision
        self.callback = callback
        self.tried: list[float] = []
        self.most = 0

    def run(self, top: float) -> Found:
        self.most = 2 + max(0, math.ceil(math.log2(top / self.precision)))
        start = self._left(0.0)
        if abs(start) <= self.epsilon:
            return self._end(0.0)
        sign = math.copysign(1.0, start)
        low, high = 0.0, top
        if sign * self._left(top) > self.epsilon:
            return self._end(None)
        while high - low > self.precision:
            middle = round((low + high) / 2, 6)
            if sign * self._left(middle) > self.epsilon:
                low = middle
            else:
                high = middle
        return self._end(high)

    def _left(self, strength: float) -> float:
        def report(point: Point, *_: int) -> None:
            if self.callback is not None:
                self.callback(point, len(self.tried) + 1, self.most)

        self.sweep.run([strength], callback=report)
        self.tried.append(strength)
        point = self.sweep.known[strength]
        if point.error:
            raise RuntimeError(f"the fit at strength {strength:g} failed: {point.error}")
        left = point.value(LEFT, "validation")
        if math.isnan(left):
            raise ValueError(
                "the direct effect left could not be estimated on the validation rows: "
                + "; ".join(self.sweep.result(self.tried).notes)
            )
        return left

    def _end(self, strength: float | None) -> Found:
        """Return where the search ended; the nearest of all that was tried if it was in vain."""
        frontier = self.sweep.result(self.tried)
        points = usable_points(frontier.points, (LEFT,), "validation")
        nearest = min(points, key=lambda point: (point.cost(LEFT, "validation"), point.strength))
        point = nearest if strength is None else frontier.point(strength)
        if point.cost(LEFT, "validation") > self.epsilon:
            point = nearest
        left = point.value(LEFT, "validation")
        reached = abs(left) <= self.epsilon
        words = f"smallest strength found with |{LEFT}| ≤ {self.epsilon:g}"
        if not reached:
            words = f"nearest to |{LEFT}| ≤ {self.epsilon:g} of the strengths tried"
            warnings.warn(
                f"no strength up to {max(self.tried):g} leaves a direct effect within "
                f"±{self.epsilon:g}: the nearest is {left:+.4f} at strength {point.strength:g}",
                UserWarning,
                stacklevel=4,
            )
        choice = Choice(point.strength, words, "validation", point, points[0])
        return Found(choice, reached, frontier)


def _check(max_direct_effect: Any, precision: Any) -> None:
    for name, value in (("max_direct_effect", max_direct_effect), ("precision", precision)):
        if isinstance(value, bool) or not isinstance(value, Real):
            raise TypeError(f"{name} must be a number; got {value!r}")
        if not 0 < float(value) < 1:
            raise ValueError(f"{name} must lie between 0 and 1; got {value!r}")
