"""What a search for alternatives found: every candidate, the finalists, and why it stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..auditing.numbers import number, signed
from ..effects import Estimate
from ..frames import Numbered, Tabular, plain
from .candidate import Candidate
from .finalists import Judged, choose, standing

#: Version of what `Alternatives.to_dict` holds.
SCHEMA_VERSION = 1
#: The measures of the table, in its order.
_MEASURES = (
    "auc",
    "ks",
    "profit",
    "adverse_impact_ratio",
    "standardised_mean_difference",
    "direct_effect_left",
    "pass_through",
    "approved",
)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Alternatives(Numbered, Tabular):
    """A search that has stopped; its table has a row per candidate, the champion first.

    Parameters
    ----------
    champion : Candidate
        The plain model that the candidates are alternatives to.
    candidates : tuple of Candidate
        All that were tried, in the order of their draws, failed ones too.
    finalists : tuple of Candidate
        The best allowed ones by the axis on validation rows; empty if none is better than the
        champion.
    judged : Judged
        What the test rows say about champion and finalists.
    why_stopped, statement : str
        Why the search stopped, and what may be said of one more candidate.
    bound : float
        The bound of the statement.
    settings, space, fingerprint : mapping
        What was stated beforehand; the distribution of the candidates; hashes of the data.
    notes : tuple of str
        What could not be measured, and why.
    search : Search
        Holds the models, or knows the store that does.
    """

    champion: Candidate
    candidates: tuple[Candidate, ...]
    finalists: tuple[Candidate, ...]
    judged: Judged
    why_stopped: str
    statement: str
    bound: float
    settings: Mapping[str, Any]
    space: Mapping[str, Any]
    fingerprint: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    search: Any = field(default=None, repr=False)

    @property
    def winner(self) -> Candidate | None:
        """The best allowed candidate on validation rows, or None."""
        return self.finalists[0] if self.finalists else None

    @property
    def allowed(self) -> tuple[Candidate, ...]:
        """The candidates that lose little enough and are better than the champion, best first."""
        found = choose(self.candidates, champion=self.champion, settings=self.settings)
        return tuple(found)

    @property
    def front(self) -> tuple[Candidate, ...]:
        """The candidates that no other beats in both utility and axis, by utility."""
        axis, utility = self.settings["axis"], self.settings["utility"]
        fine = [each for each in (self.champion, *self.candidates) if not each.error]
        points = np.array([(each.value(utility), standing(each, axis)) for each in fine])
        kept = [
            each
            for each, own in zip(fine, points, strict=True)
            if not np.any((points >= own).all(axis=1) & (points > own).any(axis=1))
        ]
        return tuple(sorted(kept, key=lambda each: each.value(utility)))

    @property
    def verdict(self) -> str:
        """What was found, at which cost, and why the search stopped."""
        axis, utility = (self.settings[name] for name in ("axis", "utility"))
        words, loss = axis.replace("_", " "), self.settings["max_utility_loss"]
        useful = utility.upper() if utility in ("auc", "ks") else utility
        failed = sum(bool(each.error) for each in self.candidates)
        tail = f" {failed} could not be fitted." if failed else ""
        if self.winner is None:
            found = (
                f"No candidate that loses at most {loss:g} of {useful} has a better {words} than "
                f"the champion, which has {_shown(self.judged.test['champion'].get(axis))} on the "
                "test rows."
            )
        else:
            test, before = (self.judged.test[each.name] for each in (self.winner, self.champion))
            cost = self.judged.against_champion[self.winner.name].get(utility)
            found = (
                f"On {self.judged.rows:,} test rows the {words} of {self.winner.name} is "
                f"{_shown(test.get(axis))}, that of the champion {_shown(before.get(axis))}. Its "
                f"{useful} differs by {_shown(cost, sign=True)}."
            )
        return f"{found} The search stopped because {self.why_stopped}. {self.statement}{tail}"

    def model(self, candidate: Candidate | None = None) -> Any:
        """Return the model of a candidate, by default of the winner."""
        chosen = self.winner if candidate is None else candidate
        if chosen is None:
            raise ValueError("no candidate was chosen, so there is no model")
        if self.search is None:
            raise ValueError("the result was made without its models")
        return self.search.model(chosen)

    def _columns(self) -> dict[str, list[Any]]:
        every = (self.champion, *self.candidates)
        names = sorted({name for each in every for name in each.settings.get("params", {})})
        known = [
            m for m in _MEASURES if any(m in each.parts.get("validation", {}) for each in every)
        ]
        final = {each.number for each in self.finalists}
        table: dict[str, list[Any]] = {
            "candidate": [each.number for each in every],
            **{
                key: [each.settings[key] for each in every]
                for key in ("engine", "features", "strength")
            },
            **{name: [plain(each.value(name)) for each in every] for name in known},
            "finalist": [each.number in final for each in every],
            "trees": [each.trees for each in every],
            "seconds": [each.seconds for each in every],
            "seed": [each.settings["seed"] for each in every],
            **{
                f"param {name}": [_cell(each.settings["params"].get(name)) for each in every]
                for name in names
            },
            "fingerprint": [each.fingerprint for each in every],
            "error": [each.error for each in every],
        }
        return table

    def to_dict(self) -> dict[str, Any]:
        """Return the record of the search, ready for JSON: everything tried, with hashes."""
        found = {
            "schema_version": SCHEMA_VERSION,
            "verdict": self.verdict,
            "champion": self.champion.to_dict(),
            "candidates": [each.to_dict() for each in self.candidates],
            "finalists": [each.number for each in self.finalists],
            "test": self.judged.to_dict(),
            "why_stopped": self.why_stopped,
            "statement": self.statement,
            "bound": self.bound,
            "settings": self.settings,
            "space": self.space,
            "fingerprint": self.fingerprint,
            "notes": self.notes,
        }
        return dict(plain(found))

    def plot(self, ax: Any = None) -> Any:
        """Draw utility against the axis, a point per candidate; return the Axes."""
        from .plots import plot_alternatives

        return plot_alternatives(self, ax)

    def __repr__(self) -> str:
        return f"Alternatives of {len(self.candidates)} candidates\n{self.verdict}"


def _cell(value: Any) -> Any:
    return None if value is None else (value if isinstance(value, float | int) else str(value))


def _shown(each: Estimate | None, *, sign: bool = False) -> str:
    if each is None:
        return "no known value"
    write = signed if sign else number
    return f"{write(each.estimate)} [{write(each.low)}, {write(each.high)}]"
