"""UCI Bank Marketing: does a customer subscribe to a deposit? The sensitive attribute is age.

The table is read from a file the user has.
"""

from __future__ import annotations

import os

import numpy as np

from .files.local import LocalTable
from .table import TabularData, as_numbers, as_words, by_column, occurring_levels, older_than

__all__ = ["load_bank_marketing"]

_BANK = LocalTable(
    name="bank marketing",
    folder="bank_marketing",
    file="bank-full.csv",
    sha256="d1513ec63b385506f7cfce9f2c5caa9fe99e7ba4e8c3fa264b3aaf0f849ed32d",
    delimiter=";",
    header=(
        "age,job,marital,education,default,balance,housing,loan,contact,day,month,duration,"
        "campaign,pdays,previous,poutcome,y"
    ),
    target="y",
    age="age",
)
_NUMERIC = ("balance", "day", "campaign", "pdays", "previous")


def load_bank_marketing(
    path: str | os.PathLike[str] | None = None, *, age_threshold: float = 24, check: bool = True
) -> TabularData:
    """Load UCI Bank Marketing; y = 1 is a subscription, z = 1 is older than the threshold.

    45,211 customers of a Portuguese bank, called from 2008 to 2010; P(y=1) = .1170. Those of 25
    and more subscribe less often than the 809 younger ones, by .1414; those over 50 more often than
    the rest, by .0313.

    Parameters
    ----------
    path : str or path, default=None
        The file bank-full.csv, gzipped or plain, or a folder that holds it, itself or in
        bank_marketing/. If None, the folder the environment variable UNSWAY_DATA names.
    age_threshold : float, default=24
        z = 1 where age is above it: 24 compares people of 25 and more with younger ones. `age` is
        not a feature.
    check : bool, default=True
        Whether to refuse a file with another sha256 than the one these facts were computed on.

    Returns
    -------
    TabularData
        Features, label and sensitive attribute.

    Notes
    -----
    `duration`, the length of the call, is not a feature: it is known only when y is. That leaves 14
    features, five numbers and nine categories, in which "unknown" is a level. `pdays` is −1 where
    there was no earlier campaign. The rows are in the order of the calls, so that the first rows
    differ from the last: draw test rows at random.

    Licensed under CC BY 4.0 by the UCI Machine Learning Repository.

    References
    ----------
    Moro, Rita & Cortez (2014), Bank Marketing, UCI Machine Learning Repository,
    doi:10.24432/C5K306.

    Examples
    --------
    >>> data = load_bank_marketing("bank-full.csv")  # doctest: +SKIP
    >>> print(f"{data.y.mean():.4f}")  # doctest: +SKIP
    0.1170
    """
    texts = by_column(_BANK.fields, _BANK.read(path, check=check))
    labels = texts.pop(_BANK.target)
    if not set(labels) <= {"no", "yes"}:
        raise ValueError(f"{_BANK.name}: {_BANK.target} must hold yes and no only")
    age = as_numbers(_BANK.name, _BANK.age, texts.pop(_BANK.age))
    if np.isnan(age).any():
        raise ValueError(f"{_BANK.name}: {_BANK.age} is missing in {np.isnan(age).sum()} rows")
    del texts["duration"]
    columns = {
        name: as_numbers(_BANK.name, name, values) if name in _NUMERIC else as_words(values)
        for name, values in texts.items()
    }
    return TabularData(
        name=_BANK.name,
        columns=columns,
        levels=occurring_levels(columns),
        y=(as_words(labels) == "yes").astype(np.int64),
        z=older_than(age, age_threshold),
        target="deposit",
        positive_target="yes",
        sensitive="age",
        positive_sensitive=f"> {age_threshold:g}",
    )
