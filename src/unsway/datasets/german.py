"""Statlog German credit: is a borrower a good risk? The sensitive attribute is age, or sex."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from .files import read_shipped
from .table import TabularData, occurring_levels, older_than, one_of, read_columns

__all__ = ["load_german"]

Sensitive = Literal["age", "sex"]

#: Of the decompressed file, as published for UCI's.
SHA256 = "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871"

# The file has no header; these are the names OpenML gave ("credit-g").
_HEADER = (
    "checking_status,duration,credit_history,purpose,credit_amount,savings_status,employment,"
    "installment_commitment,personal_status,other_parties,residence_since,property_magnitude,age,"
    "other_payment_plans,housing,existing_credits,job,num_dependents,own_telephone,foreign_worker,"
    "class"
)
_MALE = ("A91", "A93", "A94")


def load_german(sensitive: Sensitive = "age", *, age_threshold: float = 25) -> TabularData:
    """Load the Statlog German credit data; y = 1 is a good risk, z = 1 is older, or male.

    1000 borrowers, none with a missing value; P(y=1) = .70. People over 25 are good risks more
    often than the rest by .1494.

    Parameters
    ----------
    sensitive : {"age", "sex"}, default="age"
        With "age", z is age > `age_threshold` and `age` is not a feature. With "sex", z is being
        male and `personal_status`, which holds it, is not a feature. The other of the two stays
        one.
    age_threshold : float, default=25
        Used with "age" only.

    Returns
    -------
    TabularData
        Features, label and sensitive attribute.

    Notes
    -----
    Do not rely on the sex column: the coding of `personal_status` in this file is reported to be
    faulty (UCI id 573, South German Credit). The codes of the 13 categories ("A11" and so on) are
    explained on UCI's page; the columns have the names OpenML gave them.

    Licensed under CC BY 4.0 by the UCI Machine Learning Repository; shipped unchanged.

    References
    ----------
    Hofmann (1994), Statlog (German Credit Data), UCI Machine Learning Repository,
    doi:10.24432/C5NC77.

    Examples
    --------
    >>> data = load_german()
    >>> data
    TabularData('german', 1000 rows, 19 features, y: credit good, z: age > 25)
    >>> print(f"{data.y[data.z == 1].mean() - data.y[data.z == 0].mean():.4f}")
    0.1494
    """
    one_of(sensitive, get_args(Sensitive), "sensitive")
    lines = read_shipped("german.data.gz", SHA256).splitlines()
    columns = read_columns(_HEADER, map(str.split, lines))
    label = columns.pop("class")
    if sensitive == "age":
        z = older_than(columns.pop("age"), age_threshold)
    else:
        z = np.isin(columns.pop("personal_status").astype(str), _MALE).astype(np.int64)
    return TabularData(
        name="german",
        columns=columns,
        levels=occurring_levels(columns),
        y=(label == 1).astype(np.int64),
        z=z,
        target="credit",
        positive_target="good",
        sensitive=sensitive,
        positive_sensitive=f"> {age_threshold:g}" if sensitive == "age" else "male",
    )
