"""Two credit data sets without an open licence, read from files the user has.

Does a borrower pay back? The sensitive attribute is age.
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from .files.local import LocalTable
from .table import TabularData, as_numbers, as_words, by_column, occurring_levels, older_than

__all__ = ["load_give_me_some_credit", "load_pakdd"]

BINARY = ("0", "1")

_PAKDD = LocalTable(
    name="pakdd 2009",
    folder="pakdd2009_credit",
    file="pakdd2009_modeling.tsv",
    sha256="51442e8036a922507b975a3048a1adc315fd66306f182045872427fdb063f7c2",
    delimiter="\t",
    # Every line ends with a tab, which makes a nameless last column.
    header=(
        "ID_SHOP,SEX,MARITAL_STATUS,AGE,FLAG_RESIDENCIAL_PHONE,AREA_CODE_RESIDENCIAL_PHONE,"
        "PAYMENT_DAY,SHOP_RANK,RESIDENCE_TYPE,MONTHS_IN_RESIDENCE,FLAG_MOTHERS_NAME,"
        "FLAG_FATHERS_NAME,FLAG_RESIDENCE_TOWN_eq_WORKING_TOWN,"
        "FLAG_RESIDENCE_STATE_eq_WORKING_STATE,MONTHS_IN_THE_JOB,PROFESSION_CODE,MATE_INCOME,"
        "FLAG_RESIDENCIAL_ADDRESS_eq_POSTAL_ADDRESS,FLAG_OTHER_CARD,QUANT_BANKING_ACCOUNTS,"
        "FLAG_MOBILE_PHONE,FLAG_CONTACT_PHONE,PERSONAL_NET_INCOME,COD_APPLICATION_BOOTH,"
        "QUANT_ADDITIONAL_CARDS_IN_THE_APPLICATION,FLAG_CARD_INSURANCE_OPTION,TARGET_LABEL_BAD=1,"
    ),
    target="TARGET_LABEL_BAD=1",
    age="AGE",
)
_PAKDD_CONSTANT = [
    "FLAG_OTHER_CARD", "QUANT_BANKING_ACCOUNTS", "FLAG_MOBILE_PHONE", "FLAG_CONTACT_PHONE",
    "COD_APPLICATION_BOOTH", "FLAG_CARD_INSURANCE_OPTION",
]  # fmt: skip
_PAKDD_NUMERIC = [
    "AGE", "PAYMENT_DAY", "SHOP_RANK", "MONTHS_IN_RESIDENCE", "MONTHS_IN_THE_JOB", "MATE_INCOME",
    "PERSONAL_NET_INCOME", "QUANT_ADDITIONAL_CARDS_IN_THE_APPLICATION",
]  # fmt: skip

_GIVE_ME_SOME_CREDIT = LocalTable(
    name="give me some credit",
    folder="give_me_some_credit",
    file="cs-training.csv",
    sha256="1bd46da486a5708c58c7b01a034fae2a13b327f6f7b62ea7ba4fe3b5824b24ac",
    delimiter=",",
    # The nameless first column numbers the rows.
    header=(
        ",SeriousDlqin2yrs,RevolvingUtilizationOfUnsecuredLines,age,"
        "NumberOfTime30-59DaysPastDueNotWorse,DebtRatio,MonthlyIncome,"
        "NumberOfOpenCreditLinesAndLoans,NumberOfTimes90DaysLate,NumberRealEstateLoansOrLines,"
        "NumberOfTime60-89DaysPastDueNotWorse,NumberOfDependents"
    ),
    target="SeriousDlqin2yrs",
    age="age",
)


def load_pakdd(
    path: str | os.PathLike[str] | None = None, *, age_threshold: float = 50, check: bool = True
) -> TabularData:
    """Load the PAKDD 2009 credit data; y = 1 is a good payer, z = 1 is older than the threshold.

    39,988 holders of a Brazilian store's credit card; P(y=1) = .8020, and people over 50 are good
    payers more often than the rest by .1196.

    Parameters
    ----------
    path : str or path, default=None
        The file pakdd2009_modeling.tsv, gzipped or plain, or a folder that holds it, itself or in
        pakdd2009_credit/. If None, the folder the environment variable UNSWAY_DATA names.
    age_threshold : float, default=50
        z = 1 where age is above it. `AGE` is not a feature.
    check : bool, default=True
        Whether to refuse a file with another sha256 than the one these facts were computed on.

    Returns
    -------
    TabularData
        Features, label and sensitive attribute.

    Notes
    -----
    12 of the 40,000 rows are dropped: in them an extra field, some with a person's first name,
    shifts the columns after it. Six columns that never vary are not features, which leaves 19. The
    codes of shop, area and profession are categories. `SEX`, a feature, is "(missing)" once.

    No licence is stated: the file does not ship with unsway and is not to be passed on.

    References
    ----------
    PAKDD 2009 Data Mining Competition, modelling set (NeuroTech).

    Examples
    --------
    >>> data = load_pakdd("pakdd2009_modeling.tsv.gz")  # doctest: +SKIP
    >>> print(f"{data.y.mean():.4f}")  # doctest: +SKIP
    0.8020
    """
    rows = _PAKDD.read(path, check=check)
    label = _PAKDD.fields.index(_PAKDD.target)
    kept = [row for row in rows if row[label] in BINARY or row[label + 1] not in BINARY]
    texts = by_column(_PAKDD.fields, kept)
    for name in _PAKDD_CONSTANT:
        del texts[name]
    data = _assemble(_PAKDD, texts, _PAKDD_NUMERIC, age_threshold)
    return replace(data, dropped_rows=len(rows) - len(kept))


def load_give_me_some_credit(
    path: str | os.PathLike[str] | None = None, *, age_threshold: float = 50, check: bool = True
) -> TabularData:
    """Load Kaggle's Give Me Some Credit; y = 1 is no default, z = 1 is older than the threshold.

    150,000 borrowers; P(y=1) = .9332, and people over 50 pay back more often than the rest by
    .0493.

    Parameters
    ----------
    path : str or path, default=None
        The file cs-training.csv, gzipped or plain, or a folder that holds it, itself or in
        give_me_some_credit/. If None, the folder the environment variable UNSWAY_DATA names.
    age_threshold : float, default=50
        z = 1 where age is above it. `age` is not a feature.
    check : bool, default=True
        Whether to refuse a file with another sha256 than the one these facts were computed on.

    Returns
    -------
    TabularData
        Features, label and sensitive attribute.

    Notes
    -----
    The nine features are numbers. `MonthlyIncome` is missing (NaN) in 29,731 rows and
    `NumberOfDependents` in 3924. All rows are kept as they are: one has age 0, 269 have the codes
    96 or 98 for counts of late payments, and two ratios have extreme values.

    No open licence, only the rules of the competition: the file does not ship with unsway and is
    not to be passed on.

    References
    ----------
    Kaggle (2011), Give Me Some Credit, https://www.kaggle.com/c/GiveMeSomeCredit.

    Examples
    --------
    >>> data = load_give_me_some_credit("cs-training.csv")  # doctest: +SKIP
    >>> print(f"{data.y.mean():.4f}")  # doctest: +SKIP
    0.9332
    """
    source = _GIVE_ME_SOME_CREDIT
    texts = by_column(source.fields, source.read(path, check=check))
    return _assemble(source, texts, list(texts), age_threshold)


def _assemble(
    source: LocalTable, texts: dict[str, tuple[str, ...]], numeric: list[str], age_threshold: float
) -> TabularData:
    """Turn the texts of each column into numbers, categories, y and z."""
    del texts[""]
    labels = texts.pop(source.target)
    if not set(labels) <= set(BINARY):
        raise ValueError(f"{source.name}: {source.target} must hold 0 and 1 only")
    columns = {
        name: as_numbers(source.name, name, values)
        if name in numeric
        else as_words(text or "(missing)" for text in values)
        for name, values in texts.items()
    }
    age = columns.pop(source.age)
    if np.isnan(age).any():
        raise ValueError(f"{source.name}: {source.age} is missing in {np.isnan(age).sum()} rows")
    return TabularData(
        name=source.name,
        columns=columns,
        levels=occurring_levels(columns),
        y=(as_words(labels) == "0").astype(np.int64),
        z=older_than(age, age_threshold),
        target="credit",
        positive_target="good",
        sensitive="age",
        positive_sensitive=f"> {age_threshold:g}",
    )
