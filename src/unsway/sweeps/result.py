"""The frontier as a result: a table, its Pareto front, a choice, the models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..checks import check_choice, check_number
from ..frames import Tabular
from .charts import frontier_charts
from .choice import ROUNDING, costs, front, knee, lost, nearer_to_fair, rule_of, within
from .measures import Point, tidy_columns, usable_points
from .store import MODELS, SCHEMA_VERSION, Store

RULES = ("default", "knee")


@dataclass(frozen=True, kw_only=True, repr=False)
class Choice(Tabular):
    """A strength that was chosen, and why.

    Its table, ``to_frame``, has the smallest and the chosen strength, a row per part of the rows.

    Parameters
    ----------
    rule : str
        The rule as a sentence.
    part : str
        The rows the rule used.
    point, blind : Point
        The chosen strength with all its figures, and the smallest one, to compare with.
    """

    rule: str
    part: str
    point: Point
    blind: Point

    @property
    def strength(self) -> float:
        """The strength that was chosen."""
        return self.point.strength

    @property
    def figures(self) -> Mapping[str, float]:
        """Measures on the rows the rule used; they are optimistic, since the rule chose by them."""
        return self.point.parts[self.part]

    @property
    def test_figures(self) -> Mapping[str, float] | None:
        """Measures on the test rows, which no rule uses, or None without test rows."""
        return self.point.parts.get("test")

    def _columns(self) -> dict[str, list[Any]]:
        points = (self.blind, self.point) if self.blind != self.point else (self.point,)
        return tidy_columns(points, list(self.point.parts))

    def to_dict(self) -> dict[str, Any]:
        """Return the choice and both points, ready for JSON."""
        points = {"point": self.point.to_dict(), "blind": self.blind.to_dict()}
        return {"strength": self.strength, "rule": self.rule, "part": self.part, **points}

    def __repr__(self) -> str:
        shown = ("accuracy", "deviance_explained", "direct_effect_left", "score_gap")
        lines = [f"strength {self.strength:g}: {self.rule}"]
        for part in dict.fromkeys((self.part, "test")):
            figures = self.point.parts.get(part)
            if figures is not None:
                found = [
                    f"{name} {figures[name]:.{_digits(figures)}}"
                    for name in shown
                    if name in figures
                ]
                if "direct_effect_left_se" in figures:
                    found[1] += f" ± {figures['direct_effect_left_se']:.{_digits(figures)}}"
                lines.append(f"  {part}: {', '.join(found)}")
        return "\n".join(lines)


def _digits(figures: Mapping[str, float]) -> str:
    """Return how figures are written: those of numbers have their own size."""
    return "4g" if "deviance" in figures else "4f"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Frontier(Tabular):
    """The measures of every strength: quality, fairness and the direct effect left.

    Its table, ``to_frame``, has a row per strength and part of the rows.

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
    store : path, default=None
        The folder that keeps it.
    models : mapping of float to estimator, default={}
        The fitted models, where there is no store.
    """

    points: tuple[Point, ...]
    parts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    fingerprint: Mapping[str, Any] = field(default_factory=dict)
    store: Path | None = None
    models: Mapping[float, Any] = field(default_factory=dict)

    @property
    def strengths(self) -> tuple[float, ...]:
        """The strengths, in increasing order."""
        return tuple(point.strength for point in self.points)

    @property
    def part_names(self) -> tuple[str, ...]:
        """The parts of the rows there are figures of."""
        found = dict.fromkeys(part for point in self.points for part in point.parts)
        return tuple(found) or ("train", "validation")

    @property
    def utility(self) -> str:
        """The measure of quality: accuracy, or of numbers the share of deviance explained."""
        of_numbers = any("deviance" in part for point in self.points for part in
                         point.parts.values())  # fmt: skip
        return "deviance_explained" if of_numbers else "accuracy"

    def point(self, strength: float) -> Point:
        """Return the point of one strength, which is one of `strengths`."""
        for point in self.points:
            if point.strength == float(strength):
                return point
        near = min(self.strengths, key=lambda other: abs(other - strength))
        raise ValueError(f"strength {strength:g} is not in the frontier; the nearest is {near:g}")

    def model(self, strength: float) -> Any:
        """Return the model at a strength.

        Parameters
        ----------
        strength : float
            One of `strengths`.

        Returns
        -------
        estimator or SavedModel
            The fitted model, or from a store a `SavedModel`: both have ``predict_proba`` for labels
            and ``predict`` for numbers.
        """
        point = self.point(strength)
        if point.error:
            raise ValueError(f"there is no model at strength {point.strength:g}: {point.error}")
        if point.strength in self.models:
            return self.models[point.strength]
        if self.store is None:
            raise ValueError("the frontier was made without its models")
        return Store(self.store).model(point.strength)

    def _columns(self) -> dict[str, list[Any]]:
        return tidy_columns(self.points, self.part_names)

    def _charts(self) -> str:
        return frontier_charts(self)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures, facts and notes, ready for JSON."""
        return {
            "schema_version": SCHEMA_VERSION,
            "points": [point.to_dict() for point in self.points],
            "parts": dict(self.parts),
            "notes": list(self.notes),
        }

    def pareto(
        self, x: str | None = None, y: str = "direct_effect_left", part: str = "validation"
    ) -> Frontier:
        """Return the strengths that no other beats in both measures.

        Of accuracy, AUC, Gini and deviance explained more is better; of all others the value
        nearest to 0.

        Parameters
        ----------
        x : str, default=None
            The first measure; `utility` by default.
        y : str, default="direct_effect_left"
            The second measure.
        part : {"train", "validation", "test"}, default="validation"
            The rows the measures are of.

        Returns
        -------
        Frontier
            With the strengths on the Pareto front only.

        Examples
        --------
        >>> points = [
        ...     Point(strength=s, parts={"validation": {"accuracy": a, "score_gap": gap}})
        ...     for s, a, gap in ((0.0, 0.9, 0.3), (0.5, 0.8, -0.1), (0.9, 0.7, -0.2))
        ... ]
        >>> Frontier(points=tuple(points)).pareto("accuracy", "score_gap").strengths
        (0.0, 0.5)
        """
        measures = x or self.utility, y
        usable = usable_points(self.points, measures, part)
        best = front(costs(usable, measures, part))
        return replace(self, points=tuple(usable[k] for k in best))

    def select(
        self,
        rule: str | None = None,
        *,
        max_direct_effect: float | None = None,
        max_accuracy_loss: float | None = None,
        utility: str | None = None,
        fairness: str = "direct_effect_left",
        part: str = "validation",
    ) -> Choice:
        """Choose a strength on validation rows; its measures on test rows are reported, too.

        Parameters
        ----------
        rule : {"default", "knee"}, default=None
            "default", also without a limit: the strength that the estimator has by default, unless
            another one is shown to have a pass-through nearer to 0. "knee": the point of the Pareto
            front farthest below the line between its ends, both measures scaled to [0, 1].
        max_direct_effect : float, default=None
            The smallest strength whose direct effect left is this near to 0, in its units.
        max_accuracy_loss : float, default=None
            The strength with the smallest direct effect left among those that lose at most this
            much of `utility` against the smallest strength. Both limits may be given together.
        utility : str, default=None
            The measure of quality; that of the frontier by default.
        fairness : str, default="direct_effect_left"
            The measure of fairness.
        part : {"train", "validation", "test"}, default="validation"
            The rows to choose by.

        Returns
        -------
        Choice
            The strength with its measures, and the rule.

        Examples
        --------
        >>> points = [
        ...     Point(strength=s, parts={"validation": {"accuracy": a, "direct_effect_left": left}})
        ...     for s, a, left in ((0.0, 0.90, 0.1), (0.5, 0.89, 0.008), (0.9, 0.8, -0.001))
        ... ]
        >>> found = Frontier(points=tuple(points))
        >>> found.select(max_direct_effect=0.01).strength
        0.5
        >>> found.select(max_accuracy_loss=0.2).strength
        0.9
        >>> found.select("knee").strength
        0.5
        >>> found.select().strength  # no default is known, nor any pass-through
        0.9
        """
        limits = {"max_direct_effect": max_direct_effect, "max_accuracy_loss": max_accuracy_loss}
        for name, limit in limits.items():
            if limit is not None:
                check_number(limit, name, at_least=0)
        if rule is not None:
            check_choice(rule, "rule", RULES)
        limited = any(limit is not None for limit in limits.values())
        if rule is not None and limited:
            raise ValueError("give either a rule or max_direct_effect, max_accuracy_loss")
        if rule != "knee" and not limited:
            return self._default_choice(part)
        utility = utility or self.utility
        usable = usable_points(self.points, (utility, fairness), part)
        each = costs(usable, (utility, fairness), part)
        if rule is not None:
            position = knee(each)
        else:
            position = within(each, max_direct_effect, max_accuracy_loss)
            rule = rule_of(max_direct_effect, max_accuracy_loss, utility, fairness)
        point = usable[position]
        if max_direct_effect is not None and each[position, 1] > max_direct_effect + ROUNDING:
            loss = lost(max_accuracy_loss, utility, "with")
            raise ValueError(
                f"no strength has |{fairness}| ≤ {max_direct_effect:g} on the {part} rows{loss}: "
                f"the nearest is {point.value(fairness, part):+.4f} at strength {point.strength:g}"
            )
        return Choice(rule=rule, part=part, point=point, blind=usable[0])

    def _default_choice(self, part: str) -> Choice:
        usable = usable_points(self.points, (), part)
        point, reason = nearer_to_fair(usable, self.parts.get(part, {}), part)
        return Choice(rule=reason, part=part, point=point, blind=usable[0])

    def plot(
        self,
        ax: Any = None,
        *,
        x: str | None = None,
        y: str = "direct_effect_left",
        choice: Choice | None = None,
    ) -> Any:
        """Draw one measure against another, a point per strength.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        x : str, default=None
            The measure on the horizontal axis; `utility` by default.
        y : str, default="direct_effect_left"
            The measure on the vertical axis.
        choice : Choice, default=None
            A chosen strength to mark.

        Returns
        -------
        matplotlib Axes
        """
        from .plots import plot_frontier

        return plot_frontier(self, ax, x=x or self.utility, y=y, choice=choice)

    def save(self, path: str | Path) -> Path:
        """Write the frontier with its models to a folder, new or empty, and return its path."""
        target = Store(Path(path))
        if target.path.exists() and any(target.path.iterdir()):
            raise FileExistsError(f"{target.path} is not empty; give another name")
        target.open(self.fingerprint)
        target.check_writable()
        for point in self.points:
            if self.store is None or point.error or point.strength in self.models:
                model = None if point.error else self.model(point.strength)
                target.write(point, model)
            else:
                name = repr(point.strength)
                target.copy(self.store / MODELS / name)
        target.write_about({"notes": list(self.notes), "parts": dict(self.parts)})
        return target.path

    @classmethod
    def load(cls, path: str | Path) -> Frontier:
        """Read the frontier in a folder; models are read when they are asked for.

        Parameters
        ----------
        path : str or path
            A folder that `save` or the ``store`` of a sweep wrote.

        Returns
        -------
        Frontier
        """
        store = Store(Path(path))
        fingerprint, about = store.fingerprint(), store.about() or {"notes": [], "parts": {}}
        points = store.points()
        if not points:
            raise ValueError(f"{path} holds no finished strength")
        return cls(
            points=tuple(points.values()),
            parts=about["parts"],
            notes=tuple(about["notes"]),
            fingerprint=fingerprint,
            store=store.path,
        )

    def __repr__(self) -> str:
        low, high = self.strengths[0], self.strengths[-1]
        failed = sum(bool(point.error) for point in self.points)
        more = f", {failed} failed" if failed else ""
        return f"Frontier of {len(self.points)} strengths from {low:g} to {high:g}{more}"
