"""The frontier as a result: a table, the points worth taking, a choice, the models."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..frames import make_frame
from . import choice as choosing
from .choice import Choice
from .points import Point, tidy_columns
from .store import MODELS, SCHEMA_VERSION, Store


@dataclass(frozen=True, eq=False)
class Frontier:
    """What every strength costs, and what it leaves of the direct effect.

    Parameters
    ----------
    points : tuple of Point
        The strengths with their figures, in increasing order.
    parts : mapping of str to mapping
        Facts about the training, validation and test rows: counts, the labels' gap, the effects of
        z on the labels.
    notes : tuple of str
        What could not be done, and why.
    fingerprint : mapping
        What the sweep was made of.
    store : path, optional
        The folder that keeps it.
    models : mapping of float to classifier
        The fitted classifiers, where there is no store.
    """

    points: tuple[Point, ...]
    parts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = ()
    fingerprint: Mapping[str, Any] = field(default_factory=dict, repr=False)
    store: Path | None = None
    models: Mapping[float, Any] = field(default_factory=dict, repr=False)

    @property
    def strengths(self) -> tuple[float, ...]:
        """The strengths, in increasing order."""
        return tuple(point.strength for point in self.points)

    @property
    def part_names(self) -> tuple[str, ...]:
        """The parts of the rows there are figures of."""
        found = dict.fromkeys(part for point in self.points for part in point.parts)
        return tuple(found) or ("train", "validation")

    def point(self, strength: float) -> Point:
        """Return one strength."""
        for point in self.points:
            if point.strength == float(strength):
                return point
        near = min(self.strengths, key=lambda other: abs(other - strength))
        raise ValueError(f"strength {strength:g} is not in the frontier; the nearest is {near:g}")

    def model(self, strength: float) -> Any:
        """Return the model at a strength: the fitted classifier, or from a store a `SavedModel`.

        Both have ``predict_proba`` and ``decision_function``.
        """
        point = self.point(strength)
        if point.error:
            raise ValueError(f"there is no model at strength {point.strength:g}: {point.error}")
        if point.strength in self.models:
            return self.models[point.strength]
        if self.store is None:
            raise ValueError("the frontier was made without its models")
        return Store(self.store).model(point.strength)

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a tidy table, a row per strength and part of the rows."""
        return make_frame(tidy_columns(self.points, self.part_names), backend)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures, facts and notes, ready for JSON."""
        return {
            "schema_version": SCHEMA_VERSION,
            "points": [point.to_dict() for point in self.points],
            "parts": dict(self.parts),
            "notes": list(self.notes),
        }

    def pareto(
        self, x: str = "accuracy", y: str = "direct_effect_left", part: str = "validation"
    ) -> Frontier:
        """Return the strengths that no other beats in both measures.

        Of accuracy and AUC more is better; of all others the value nearest to 0.

        Examples
        --------
        >>> points = [
        ...     Point(strength, {"validation": {"accuracy": a, "score_gap": gap}})
        ...     for strength, a, gap in ((0.0, 0.9, 0.3), (0.5, 0.8, -0.1), (0.9, 0.7, -0.2))
        ... ]
        >>> Frontier(tuple(points)).pareto("accuracy", "score_gap").strengths
        (0.0, 0.5)
        """
        return replace(self, points=choosing.pareto(self.points, x, y, part))

    def select(
        self,
        rule: str | None = None,
        *,
        max_direct_effect: float | None = None,
        max_accuracy_loss: float | None = None,
        utility: str = "accuracy",
        fairness: str = "direct_effect_left",
        part: str = "validation",
    ) -> Choice:
        """Choose a strength on validation rows; the figures of the test rows stand beside it.

        Parameters
        ----------
        rule : {"knee"}, optional
            The point of the Pareto front farthest below the line between its ends, both measures
            scaled to [0, 1].
        max_direct_effect : float, optional
            The smallest strength whose direct effect left is this near to 0.
        max_accuracy_loss : float, optional
            The strength with the smallest direct effect left among those that lose at most this
            much accuracy against the smallest strength. Both limits may be given together.
        utility, fairness : str
            Measures to use in place of accuracy and the direct effect left.
        part : str
            The rows to choose by.

        Examples
        --------
        >>> points = [
        ...     Point(strength, {"validation": {"accuracy": a, "direct_effect_left": left}})
        ...     for strength, a, left in ((0.0, 0.90, 0.1), (0.5, 0.89, 0.008), (0.9, 0.8, -0.001))
        ... ]
        >>> found = Frontier(tuple(points))
        >>> found.select(max_direct_effect=0.01).strength
        0.5
        >>> found.select(max_accuracy_loss=0.2).strength
        0.9
        >>> found.select("knee").strength
        0.5
        """
        return choosing.select(
            self.points,
            rule,
            max_direct_effect=max_direct_effect,
            max_accuracy_loss=max_accuracy_loss,
            utility=utility,
            fairness=fairness,
            part=part,
        )

    def plot(
        self,
        ax: Any = None,
        *,
        x: str = "accuracy",
        y: str = "direct_effect_left",
        choice: Choice | None = None,
    ) -> Any:
        """Draw one measure against another, a point per strength; return the Axes."""
        from .plots import plot_frontier

        return plot_frontier(self, ax, x=x, y=y, choice=choice)

    def save(self, path: str | Path) -> Path:
        """Write the frontier with its models to a new folder."""
        target = Store(Path(path))
        if target.path.exists() and any(target.path.iterdir()):
            raise FileExistsError(f"{target.path} is not empty; give another name")
        target.open(self.fingerprint)
        for point in self.points:
            if self.store is None or point.error or point.strength in self.models:
                model = None if point.error else self.model(point.strength)
                target.write(point, model)
            else:
                name = repr(point.strength)
                shutil.copytree(self.store / MODELS / name, target.path / MODELS / name)
        target.write_about({"notes": list(self.notes), "parts": dict(self.parts)})
        return target.path

    @classmethod
    def load(cls, path: str | Path) -> Frontier:
        """Read the frontier in a folder; models are read when they are asked for."""
        store = Store(Path(path))
        fingerprint, about = store.fingerprint(), store.about() or {"notes": [], "parts": {}}
        points = store.points()
        if not points:
            raise ValueError(f"{path} holds no finished strength")
        return cls(
            tuple(points.values()), about["parts"], tuple(about["notes"]), fingerprint, store.path
        )

    def __repr__(self) -> str:
        low, high = self.strengths[0], self.strengths[-1]
        failed = sum(bool(point.error) for point in self.points)
        more = f", {failed} failed" if failed else ""
        return f"Frontier of {len(self.points)} strengths from {low:g} to {high:g}{more}"
