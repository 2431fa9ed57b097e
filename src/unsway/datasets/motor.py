"""French motor third-party liability, pricing game of 2015: claims and amounts of policies.

The table is read from a file the user has.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np

from .files.local import LocalTable
from .table import (
    FloatArray,
    TabularData,
    as_numbers,
    as_words,
    by_column,
    occurring_levels,
    one_of,
)

__all__ = ["load_pg15_motor"]

_MOTOR = LocalTable(
    name="pg15 motor",
    folder="pg15_motor",
    file="pg15training.csv",
    sha256="7fb8b5a3245686b77a65ba1e1856f7b1653e6bc7679f41b0364f49285fc82fdb",
    delimiter=",",
    header=(
        "PolNum,CalYear,Gender,Type,Category,Occupation,Age,Group1,Bonus,Poldur,Value,Adind,"
        "SubGroup2,Group2,Density,Exppdays,Numtppd,Numtpbi,Indtppd,Indtpbi"
    ),
    target="Numtppd",
    age="Age",
)
_NUMERIC = ("CalYear", "Age", "Group1", "Bonus", "Poldur", "Value", "Adind", "Density")
_CATEGORIES = ("Type", "Category", "Occupation", "Group2")
_OUTCOMES = {
    "frequency": ("claims", "per year"),
    "severity": ("amount", "per claim"),
    "pure_premium": ("amount", "per year"),
}


def load_pg15_motor(
    path: str | os.PathLike[str] | None = None,
    *,
    outcome: str = "frequency",
    check: bool = True,
) -> TabularData:
    """Load the motor policies of the 2015 pricing game; z = 1 is a man.

    100,000 policies of 2009 and 2010. Men have .1794 claims for property damage per year insured,
    women .1374; the amounts per year are 132.0 and 94.5 euros.

    Parameters
    ----------
    path : str or path, default=None
        The file pg15training.csv, gzipped or plain, or a folder that holds it, itself or in
        pg15_motor/. If None, the folder the environment variable UNSWAY_DATA names.
    outcome : {"frequency", "severity", "pure_premium"}, default="frequency"
        What y is: claims for property damage in the time insured, with the years as ``exposure``;
        their amount, with the number of claims as exposure and the policies that have some alone;
        or their amount in the time insured.
    check : bool, default=True
        Whether to refuse a file with another sha256 than the one these facts were computed on.

    Returns
    -------
    TabularData
        Features, y with its ``exposure``, and sensitive attribute.

    Notes
    -----
    21 rows are left out: their policies come again, and they have claims without an amount. The
    number of the policy and ``SubGroup2``, 471 parts of the ten regions ``Group2``, are not
    features. Of the people whose occupation is "Housewife" 63% are men, as in the whole table.

    The terms of the data are not stated: the file does not ship with unsway and is not to be passed
    on.

    References
    ----------
    Dutang & Charpentier, CASdatasets (R package), ``pg15training``; French Institute of Actuaries,
    pricing game 2015.

    Examples
    --------
    >>> data = load_pg15_motor("pg15training.csv.gz")  # doctest: +SKIP
    >>> print(f"{data.y.sum() / data.exposure.sum():.4f}")  # doctest: +SKIP
    0.1641
    """
    one_of(outcome, tuple(_OUTCOMES), "outcome")
    rows = _MOTOR.read(path, check=check)
    texts = by_column(_MOTOR.fields, rows)
    numbers = {
        name: as_numbers(_MOTOR.name, name, texts[name])
        for name in (*_NUMERIC, "Exppdays", "Numtppd", "Indtppd")
    }
    repeated = _repeated(texts["PolNum"], numbers)
    y, exposure, kept = _outcome(outcome, numbers, ~repeated)
    columns = {name: numbers[name][kept] for name in _NUMERIC}
    columns |= {name: as_words(texts[name])[kept] for name in _CATEGORIES}
    genders = as_words(texts["Gender"])
    if not set(genders) <= {"Male", "Female"}:
        raise ValueError(f"{_MOTOR.name}: Gender must hold Male and Female only")
    target, per = _OUTCOMES[outcome]
    return TabularData(
        name=f"{_MOTOR.name} {outcome}",
        columns=columns,
        levels=occurring_levels(columns),
        y=y,
        z=(genders == "Male")[kept].astype(np.int64),
        target=target,
        positive_target=per,
        sensitive="Gender",
        positive_sensitive="Male",
        dropped_rows=int(repeated.sum()),
        exposure=exposure,
    )


def _repeated(policies: tuple[str, ...], numbers: Mapping[str, FloatArray]) -> np.ndarray:
    """Return the rows of a policy that comes again, with claims and without an amount."""
    names, counts = np.unique(np.array(policies), return_counts=True)
    again = np.isin(np.array(policies), names[counts > 1])
    return np.asarray(again & (numbers["Numtppd"] > 0) & (numbers["Indtppd"] == 0))


def _outcome(
    outcome: str, numbers: Mapping[str, FloatArray], kept: np.ndarray
) -> tuple[FloatArray, FloatArray, np.ndarray]:
    """Return y, its exposure, and the rows that have them."""
    years, claims, amounts = numbers["Exppdays"] / 365, numbers["Numtppd"], numbers["Indtppd"]
    if outcome == "severity":
        kept = kept & (claims > 0) & (amounts > 0)
        return amounts[kept], claims[kept], kept
    return (claims if outcome == "frequency" else amounts)[kept], years[kept], kept
