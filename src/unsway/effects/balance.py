"""Covariate balance: how alike the two groups are in X, before and after weighting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Floats, Mask
from ..checks import check_choice, check_weights
from ..frames import Tabular, plain
from ..grouping import Grouping
from ..groups import Groups
from ..svg import marks
from ..tables import MISSING, Column, columns, row_count
from .overlap import check_propensity, propensity_weights
from .plots import plot_balance

#: Name of a line, and by weighting its means, differences, variance ratios and distances.
_Line = tuple[str, Floats, Floats, Floats, Floats]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Balance(Tabular):
    """Balance of every column under every weighting: K lines by W weightings.

    As a frame it has one row per line and weighting.

    Parameters
    ----------
    names : tuple of str
        The lines: a numeric column, "column=level" of a category, "column missing".
    weightings : tuple of str
        "raw" first, then those asked for.
    levels : tuple
        What z = 0 and z = 1 stand for.
    means : array of shape (K, W, 2)
        Means of the z=0 and the z=1 group.
    differences, variance_ratios, distances : array of shape (K, W)
        Standardised mean difference "z=1 minus z=0"; variance of z=1 over that of z=0; the
        Kolmogorov–Smirnov distance of the two distributions.
    effective_sizes : array of shape (W, 2)
        (Σw)²/Σw² of the z=0 and the z=1 group.
    """

    names: tuple[str, ...]
    weightings: tuple[str, ...]
    levels: tuple[Any, ...]
    means: Floats
    differences: Floats
    variance_ratios: Floats
    distances: Floats
    effective_sizes: Floats

    def position(self, weighting: str) -> int:
        """Return the place of a weighting, or say which there are."""
        check_choice(weighting, "weighting", self.weightings)
        return self.weightings.index(weighting)

    def worst(self, weighting: str = "raw") -> tuple[str, float]:
        """Return the line with the largest absolute standardised difference, and that difference.

        Lines whose difference is unknown (no value known in one group) do not count; where no
        line is known, the answer is ``("", nan)``.
        """
        differences = self.differences[:, self.position(weighting)]
        if np.isnan(differences).all():
            return "", float("nan")
        place = int(np.nanargmax(np.abs(differences)))
        return self.names[place], float(differences[place])

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        n_lines, n_weightings = self.differences.shape
        return {
            "column": np.repeat(self.names, n_weightings).tolist(),
            "weighting": list(self.weightings) * n_lines,
            "mean_z0": self.means[..., 0].ravel().tolist(),
            "mean_z1": self.means[..., 1].ravel().tolist(),
            **{name: values.ravel().tolist() for name, values in self._measures().items()},
        }

    def _charts(self) -> str:
        sizes = np.abs(self.differences)
        order = np.argsort(-np.nan_to_num(sizes[:, 0]), kind="stable")
        names, rows = [self.names[k] for k in order], sizes[order].tolist()
        title = "Absolute standardised differences, the largest raw one first"
        return marks(names, rows, self.weightings, title=title, limit=0.1)

    def to_dict(self) -> dict[str, Any]:
        """Return everything by weighting and line, ready for JSON; None where unknown."""
        measures = self._measures().items()
        return {
            weighting: {
                "effective_sample_size": list(map(plain, self.effective_sizes[place])),
                "worst": self.worst(weighting)[0],
                "columns": {
                    name: {key: plain(values[line, place]) for key, values in measures}
                    for line, name in enumerate(self.names)
                },
            }
            for place, weighting in enumerate(self.weightings)
        }

    def _measures(self) -> dict[str, Floats]:
        return {
            "standardized_difference": self.differences,
            "variance_ratio": self.variance_ratios,
            "ks_distance": self.distances,
        }

    plot = plot_balance

    def __repr__(self) -> str:
        low, high = (str(level) for level in self.levels)
        lines = [
            f"Balance of {len(self.names)} lines, z=1 ({high}) minus z=0 ({low})",
            f"{'weighting':<11}{'> .1':>6}{'largest':>9}{'rows z=0':>11}{'rows z=1':>11}  column",
        ]
        for place, weighting in enumerate(self.weightings):
            name, difference = self.worst(weighting)
            over = int((np.abs(self.differences[:, place]) > 0.1).sum())
            sizes = "".join(f"{size:>11,.0f}" for size in self.effective_sizes[place])
            lines.append(f"{weighting:<11}{over:>6}{difference:>9.3f}{sizes}  {name}")
        return "\n".join(lines)


def balance(
    X: Any,
    *,
    sensitive_features: Any,
    propensity: Any = None,
    weights: Any = None,
    sample_weight: Any = None,
    groups: Grouping | None = None,
) -> Balance:
    """Compare the two groups column by column, raw and weighted.

    For a column x with weighted group means m₁ and m₀ the standardised difference is::

        (m₁ − m₀) / √((s₀² + s₁²)/2)

    s² are the **raw** variances for every weighting: weighting changes only the numerator, and the
    differences of several columns can be compared. With the propensity b the weights are::

        ATE      z/b + (1−z)/(1−b)        ATT   z + (1−z)·b/(1−b)
        overlap  z(1−b) + (1−z)b          ATC   z(1−b)/b + (1−z)

    A good propensity makes the groups similar under each of them. If it does not, effects that use
    it compare people who are not similar. A rule of thumb: no absolute difference above .1.

    Parameters
    ----------
    X : frame or array
        The covariates. A category has one line per level; a missing category is a level of its
        own. A numeric column with missing values has a second line, "column missing"; its other
        statistics are those of the known values.
    sensitive_features : column
        z, with two levels.
    propensity : array of shape (n,), optional
        b: adds the four weightings above.
    weights : array of shape (n,), or mapping of names to such, optional
        Further weightings; a lone array is named "weights".
    sample_weight : array of shape (n,), optional
        Multiplies every weighting, the raw one too.
    groups : Grouping, optional
        How the sensitive attribute is read, such as its reference level.

    Returns
    -------
    Balance

    Notes
    -----
    A variance is Σw(x−m)²/(Σw − Σw²/Σw), the usual n−1 form where weights are equal. Variance
    ratios are NaN for 0/1 lines, whose mean says it all, and where a group does not vary. A
    difference is infinite where a column is constant within each group yet differs between them.

    References
    ----------
    Austin (2009), Statistics in Medicine 28(25), 3083–3107. Li, Morgan & Zaslavsky (2018), JASA
    113(521), 390–400: overlap weights from a logistic regression balance its columns' means
    exactly.

    Examples
    --------
    Group means 3 and 1, both variances 2, so (3−1)/√2:

    >>> X = np.array([[0.0], [2.0], [2.0], [4.0]])
    >>> result = balance(X, sensitive_features=[0, 0, 1, 1])
    >>> result.worst("raw")
    ('column 0', 1.414...)
    >>> result.distances.tolist(), result.variance_ratios.round(6).tolist()
    ([[0.5]], [[1.0]])
    """
    n_rows = row_count(X)
    sensitive = Groups.check(sensitive_features, n_rows, groups=groups)
    base = check_weights(sample_weight, n_rows)
    weightings = _weightings(sensitive, propensity, weights, base)
    members = np.stack([1 - sensitive.z, sensitive.z])
    shares = _Shares.of(np.stack([weights * members for weights in weightings.values()]))
    lines = [line for column in columns(X) for line in _lines(column, shares)]
    if not lines:
        raise ValueError("X has no columns; there is nothing to compare")
    names, means, differences, ratios, distances = zip(*lines, strict=True)
    return Balance(
        names=names,
        weightings=tuple(weightings),
        levels=sensitive.levels,
        means=np.stack(means),
        differences=np.stack(differences),
        variance_ratios=np.stack(ratios),
        distances=np.stack(distances),
        effective_sizes=shares.effective_sizes,
    )


def _weightings(
    sensitive: Groups, propensity: Any, weights: Any, base: Floats | None
) -> dict[str, Floats]:
    """Return the checked weights of every weighting by name, the raw one first."""
    z = sensitive.z
    found = {"raw": np.ones(len(z))}
    if propensity is not None:
        b = check_propensity(propensity, len(z))
        derived = propensity_weights(b, z)
        infinite = int(np.isinf(derived["ATE"]).sum())
        if infinite:
            raise ValueError(
                f"propensity is exactly 0 or 1 against the group of {infinite} rows, whose weights "
                "would be infinite; keep it within (0, 1), for instance by Propensity(clip=0.01)"
            )
        found |= derived
    if weights is not None:
        named = weights if isinstance(weights, Mapping) else {"weights": weights}
        for name, values in named.items():
            if name in found:
                raise ValueError(f"weights may not be named {name!r}, which is taken")
            if values is None:
                raise ValueError(f"weights {name!r} is None; give one number per row")
            checked = check_weights(values, len(z), role=f"weights {str(name)!r}")
            found[str(name)] = np.asarray(checked)
    for name, values in found.items():
        found[name] = values if base is None else values * base
        sensitive.check_present(found[name], f"the weighting {name!r}")
    for level, rows in zip(sensitive.levels, (z == 0, z == 1), strict=True):
        if np.count_nonzero(found["raw"][rows]) < 2:
            raise ValueError(f"sensitive level {level!s} has a single row; at least two are needed")
    return found


@dataclass(frozen=True, eq=False)
class _Shares:
    """The share of each row in its group's weight, of shape (W, 2, n); 0 in the other group.

    All are NaN for a group without a row of any weight, and so is all that follows from them.
    """

    values: Floats

    @classmethod
    def of(cls, weights: Floats) -> _Shares:
        with np.errstate(invalid="ignore"):
            return cls(weights / weights.sum(axis=2, keepdims=True))

    def only(self, rows: Mask) -> _Shares:
        return self if rows.all() else _Shares.of(self.values[..., rows])

    @cached_property
    def effective_sizes(self) -> Floats:
        """(Σw)²/Σw², of shape (W, 2)."""
        return 1 / (self.values**2).sum(axis=2)

    def means(self, values: Floats) -> Floats:
        """Return the (W, 2) group means."""
        return self.values @ values

    def of_levels(self, codes: NDArray[np.intp], n_levels: int) -> Floats:
        """Return the (L, W, 2) shares of each level in each group."""
        each = [[np.bincount(codes, part, n_levels) for part in pair] for pair in self.values]
        return np.moveaxis(np.array(each), 2, 0)

    def distance(self, values: Floats) -> Floats:
        """Return the (W,) Kolmogorov–Smirnov distances, by one sort."""
        order = np.argsort(values)
        ranked = values[order]
        gaps = np.cumsum((self.values[:, 1] - self.values[:, 0])[:, order], axis=1)
        last = np.r_[ranked[1:] != ranked[:-1], True]  # of the rows that share a value
        return np.abs(gaps[:, last]).max(axis=1)


def _lines(column: Column, groups: _Shares) -> Iterator[_Line]:
    values = column.values
    if column.categorical:
        levels = sorted(set(values.tolist()), key=lambda level: (level == MISSING, level))
        place = {level: code for code, level in enumerate(levels)}
        codes = np.fromiter(map(place.__getitem__, values.tolist()), np.intp, len(values))
        for level, shares in zip(levels, groups.of_levels(codes, len(levels)), strict=True):
            suffix = " missing" if level == MISSING else f"={level}"
            yield _indicator(column.name + suffix, shares, groups)
        return
    if np.isinf(values).any():
        raise ValueError(f"X contains infinity in {column.name!r}; replace it or drop those rows")
    known = ~np.isnan(values)
    if known.any():
        yield _number(column.name, values[known], groups.only(known))
    if not known.all():
        yield _indicator(f"{column.name} missing", groups.means((~known).astype(float)), groups)


def _indicator(name: str, shares: Floats, groups: _Shares) -> _Line:
    variances = _unbiased(shares * (1 - shares), groups)
    gap = shares[:, 1] - shares[:, 0]
    unknown = np.full(len(gap), np.nan)
    return name, shares, _standardize(gap, variances), unknown, np.abs(gap)


def _number(name: str, values: Floats, groups: _Shares) -> _Line:
    if ((values == 0) | (values == 1)).all():
        return _indicator(name, groups.means(values), groups)
    centre, scale = values.mean(), values.std()
    if values.min() == values.max() or scale == 0:
        centre, scale = values[0], 1.0
    scaled = (values - centre) / scale  # so that squares neither overflow nor cancel
    means = groups.means(scaled)
    variances = _unbiased(groups.means(scaled**2) - means**2, groups)
    ratios = np.full(len(means), np.nan)
    np.divide(variances[:, 1], variances[:, 0], out=ratios, where=variances.min(axis=1) > 0)
    differences = _standardize(means[:, 1] - means[:, 0], variances)
    return name, centre + scale * means, differences, ratios, groups.distance(scaled)


def _unbiased(variances: Floats, groups: _Shares) -> Floats:
    """Return the (W, 2) variances in their n−1 form, rounding errors set to zero."""
    sizes = groups.effective_sizes
    sizes = np.where(sizes > 1 + 1e-9, sizes, np.nan)  # a lone row has no variance
    return np.where(np.abs(variances) < 1e-12, 0.0, variances) / (1 - 1 / sizes)


def _standardize(gap: Floats, variances: Floats) -> Floats:
    """Return the (W,) differences over the raw pooled standard deviation."""
    gap = np.where(np.abs(gap) < 1e-12, 0.0, gap)
    spread = np.sqrt(variances[0].mean())
    if spread > 0 or np.isnan(spread):
        return gap / spread
    return np.where(gap == 0, 0.0, np.copysign(np.inf, gap))
