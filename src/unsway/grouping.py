"""How sensitive attributes are read: which levels there are, and what they are compared with."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._typing import Floats
from .checks import check_choice, check_integer, show_levels, show_value
from .levels import Recoding, band_names, keep_levels, merge_levels

#: Ways in which a column of numbers may be read.
SENSITIVE_AS = ("levels",)

#: What may be done with rows whose value is missing.
MISSING = ("refuse", "drop", "use")

#: Weights of the levels by name.
WEIGHTS = ("uniform", "prevalence")

#: Numbers with more distinct values than this are levels only if the user says so.
MOST_NUMBERS = 10

#: A weight in the fair score over so many times the level's share of the rows is warned about, or
#: refused.
LARGE_WEIGHT, TOO_LARGE_WEIGHT = 20, 100

_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """How a sensitive attribute is read, and what its levels are compared with.

    Estimators, effects, audits and sweeps take it as ``groups``.

    Parameters
    ----------
    reference : optional
        The level that the others are compared with. By default 0 or False where the levels are 0
        and 1 or booleans, and the largest of three or more levels or of ``bands``; of two levels
        with other names it must be stated.
    only : sequence, optional
        Levels to keep; rows of all other levels are left out.
    bands : sequence of increasing numbers, optional
        Cuts a column of numbers: ``[25, 40]`` gives the levels ``"<25"``, ``"25-40"`` (40 not
        included) and ``">=40"``.
    merge_below : int, optional
        Levels with fewer rows are merged into one level ``"other"``.
    weights : {"uniform", "prevalence"} or mapping, default="uniform"
        w, the weight of each level in the fair score Σ_l w_l·E[y|X, z=l]: all alike; the level's
        share of the rows; or a number for each level, which sum to 1.
    sensitive_as : "levels", optional
        Takes each distinct value of a column of numbers as a level. Needed where it has more than
        ten and no ``bands``.
    intersections : bool, default=False
        Of several attributes, whether the effect of each combination of their levels is removed,
        shrunk towards the sum of the attributes' effects; by default only these sums are.
    missing : {"refuse", "drop", "use"}, default="refuse"
        What to do with rows whose value is missing: raise an error; leave them out; or train on
        them too. ``"use"`` is for fair targets: rows with a value teach the models of propensity
        and outcome, and a row without one gets the target y + f(X) − E[y|X]. It assumes that who
        has a value depends on X alone, not on y or on z at given X.

    Notes
    -----
    Where the sensitive features are a frame of several columns, each setting but ``intersections``
    and ``missing`` may be a mapping from the names of columns, as in ``bands={"age": [25, 40]}``.
    The weight of a combination of levels is the product of the weights of its levels.

    Examples
    --------
    >>> Grouping(reference="White", only=["White", "Black"])
    Grouping(reference='White', only=('White', 'Black'))
    """

    reference: Any = None
    only: Sequence[Any] | None = None
    bands: Sequence[float] | None = None
    merge_below: int | None = None
    weights: str | Mapping[Any, float] = "uniform"
    sensitive_as: str | None = None
    missing: str = "refuse"
    intersections: bool = False

    def __post_init__(self) -> None:
        by_column = self._by_column()
        for name in by_column:
            each = {
                column: getattr(Grouping(**{name: value}), name)
                for column, value in getattr(self, name).items()
            }
            object.__setattr__(self, name, each)
        for name in ("only", "bands"):
            given = getattr(self, name)
            if given is None or name in by_column:
                continue
            if isinstance(given, str) or not np.ndim(given) == 1 or not len(given):
                raise TypeError(f"{name} must be a list such as {_EXAMPLES[name]}; got {given!r}")
            object.__setattr__(self, name, tuple(np.asarray(given, dtype=object).tolist()))
        if self.bands is not None and "bands" not in by_column:
            _check_bands(self.bands)
        if self.merge_below is not None and "merge_below" not in by_column:
            check_integer(self.merge_below, "merge_below", at_least=1)
        if self.sensitive_as is not None and "sensitive_as" not in by_column:
            check_choice(self.sensitive_as, "sensitive_as", SENSITIVE_AS)
        check_choice(self.missing, "missing", MISSING)
        if not isinstance(self.weights, Mapping):
            check_choice(self.weights, "weights", WEIGHTS)
        if not isinstance(self.intersections, bool):
            raise TypeError(f"intersections must be True or False; got {self.intersections!r}")

    def _by_column(self) -> tuple[str, ...]:
        """Return the settings that are mappings from the names of columns."""
        found = [name for name in _OF_COLUMNS if isinstance(getattr(self, name), Mapping)]
        if isinstance(self.weights, Mapping) and any(
            isinstance(each, str | Mapping) for each in self.weights.values()
        ):
            found.append("weights")
        return tuple(found)

    def of_column(self, name: str | None, names: Sequence[str | None]) -> Grouping:
        """Return how one of these columns is read."""
        by_column, own = self._by_column(), {}
        if len(names) == 1 and self.intersections:
            raise ValueError(
                "intersections=True is for several attributes, and sensitive_features is one column"
            )
        if len(names) > 1 and self.missing == "use":
            raise ValueError(
                "missing='use' is for one sensitive attribute; leave rows without a value out with "
                "missing='drop'"
            )
        for setting in (*_OF_COLUMNS, "weights"):
            given = getattr(self, setting)
            if setting in by_column:
                unknown = [each for each in given if each not in names]
                if unknown:
                    shown = ", ".join(map(repr, filter(None, names))) or "no name"
                    raise ValueError(
                        f"{setting} is given for {unknown[0]!r}, and the columns of "
                        f"sensitive_features are {shown}"
                    )
                given = given.get(name, type(self).__dataclass_fields__[setting].default)
            elif len(names) > 1 and _is_of_one_column(setting, given):
                raise ValueError(
                    f"sensitive_features has {len(names)} columns; say which of them "
                    f"{setting}={given!r} is for, as in {setting}={{{names[0]!r}: …}}"
                )
            own[setting] = given
        return Grouping(**own, missing=self.missing)

    def __repr__(self) -> str:
        stated = [
            f"{name}={getattr(self, name)!r}"
            for name, field in type(self).__dataclass_fields__.items()
            if getattr(self, name) != field.default
        ]
        return f"Grouping({', '.join(stated)})"

    def recode(self, values: NDArray[Any], counts: NDArray[Any], role: str) -> Recoding:
        """Return which level each distinct value of a column belongs to.

        Parameters
        ----------
        values : array
            The distinct values, sorted.
        counts : array of int
            The rows of each.
        role : str
            What messages call the column.
        """
        codes, levels = self._levels(values, counts, role)
        if self.only is not None:
            codes, levels = keep_levels(codes, levels, self.only, role)
        inside = codes >= 0
        sizes = np.bincount(codes[inside], counts[inside], len(levels)).astype(np.float64)
        if self.merge_below is not None:
            codes, levels, sizes = merge_levels(codes, levels, sizes, self.merge_below)
        if len(levels) < 2:
            raise ValueError(
                f"{role} has a single level, {show_value(levels[0])}; at least two are needed"
            )
        reference = self._reference(levels, sizes, role)
        order = [reference, *(each for each in range(len(levels)) if each != reference)]
        place = np.full(len(levels) + 1, -1)  # the last for rows left out
        place[order] = np.arange(len(levels))
        known = tuple(levels[each] for each in order)
        return Recoding(values, place[codes].astype(np.intp), known, self.bands)

    def _levels(
        self, values: NDArray[Any], counts: NDArray[Any], role: str
    ) -> tuple[NDArray[np.intp], list[Any]]:
        """Return the position of each value's level, and the levels as they are sorted."""
        if self.bands is None:
            numbers = values.dtype.kind in "iuf" and self.sensitive_as is None
            if numbers and len(values) > MOST_NUMBERS:
                raise ValueError(
                    f"{role} has {len(values)} distinct numbers. Say groups=Grouping(bands=[…]) to "
                    "cut them, or sensitive_as='levels' if each is a level of its own"
                )
            plain = values.dtype.kind in "biufU"
            return np.arange(len(values)), values.tolist() if plain else list(values)
        if values.dtype.kind not in "iuf":
            raise TypeError(f"bands cut a column of numbers, and {role} holds none")
        names = band_names(self.bands)
        bands = np.searchsorted(np.asarray(self.bands, dtype=np.float64), values, side="right")
        seen, codes = np.unique(bands, return_inverse=True)
        return codes.astype(np.intp), [names[each] for each in seen]

    def _reference(self, levels: list[Any], sizes: Floats, role: str) -> int:
        """Return the position of the reference level."""
        stated = self.reference
        shown = show_levels(levels)
        if stated is not None:
            if stated not in levels:
                raise ValueError(
                    f"reference={stated!r} is not a level of {role}, which has {shown}"
                )
            return levels.index(stated)
        if len(levels) > 2 or self.bands is not None:
            return int(np.argmax(sizes))
        if levels == [0, 1]:  # also False and True
            return 0
        first, second = map(show_value, levels)
        column = role.partition("[")[2].rstrip("]")  # of several
        if column:
            first, second = (f"{{{column}: {level}}}" for level in (first, second))
        raise ValueError(
            f"{role} has the levels {shown}; state the one that the other is compared "
            f"with: groups=Grouping(reference={first}) or Grouping(reference={second})"
        )

    def weights_of(self, levels: Sequence[Any]) -> str | tuple[float, ...]:
        """Return the weights of these levels where they are stated, else their name."""
        if not isinstance(self.weights, Mapping):
            return self.weights
        if set(self.weights) != set(levels):
            shown = show_levels(levels)
            raise ValueError(f"weights must have a number for each level of z: {shown}")
        weights = [self.weights[level] for level in levels]
        if not all(isinstance(each, Real) for each in weights):
            raise TypeError("weights must have a number for each level of z")
        if not (min(weights) >= 0 and abs(sum(weights) - 1) <= _ROUNDING):
            raise ValueError("weights must not be negative and must sum to 1")
        return tuple(map(float, weights))


#: Settings that may be a mapping from the names of columns, as ``weights`` may.
_OF_COLUMNS = ("reference", "only", "bands", "merge_below", "sensitive_as")

_EXAMPLES = {"only": "['Black', 'White']", "bands": "[25, 40, 60]"}


def _is_of_one_column(setting: str, given: Any) -> bool:
    """Return whether the value of a setting can be meant for one column only."""
    return given is not None and (
        setting in ("reference", "only", "bands") or isinstance(given, Mapping)
    )


def check_grouping(groups: Any) -> Grouping:
    """Return how a sensitive attribute is read, by default if nothing is stated."""
    if not isinstance(groups, Grouping | None):
        raise TypeError(
            f"groups must be a Grouping, for instance groups=Grouping(reference={groups!r}); got "
            f"{groups!r}"
        )
    return Grouping() if groups is None else groups


def check_large_weights(
    weights: Sequence[float], shares: Sequence[float], names: Sequence[str]
) -> None:
    """Warn of, or refuse, levels whose weight is far above their share of the rows.

    What is estimated for few rows then decides the fair score of all.
    """
    ratios = np.asarray(weights) / np.maximum(shares, np.finfo(float).tiny)
    worst = int(np.argmax(ratios))
    if ratios[worst] <= LARGE_WEIGHT:
        return
    found = (
        f"level {names[worst]!r} has a weight of {weights[worst]:.3g} in the fair score and "
        f"{shares[worst]:.2%} of the rows, {ratios[worst]:.0f} times as much"
    )
    advice = "merge it with another level, or take groups=Grouping(weights='prevalence')"
    if ratios[worst] > TOO_LARGE_WEIGHT:
        raise ValueError(f"{found} (more than {TOO_LARGE_WEIGHT}); {advice}")
    warnings.warn(
        f"{found} (more than {LARGE_WEIGHT}): what is estimated for few rows decides the fair "
        f"score of all; {advice}",
        stacklevel=3,
    )


def _check_bands(bands: Sequence[Any]) -> None:
    if any(isinstance(each, bool) or not isinstance(each, Real) for each in bands):
        raise TypeError(f"bands must be numbers; got {bands!r}")
    cuts = np.asarray(bands, dtype=np.float64)
    if not np.isfinite(cuts).all() or (np.diff(cuts) <= 0).any():
        raise ValueError(f"bands must be finite numbers that increase; got {bands!r}")
