"""Bank Marketing is read from where the user has it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from unsway.datasets import TabularData, load_bank_marketing
from unsway.datasets.bank import _BANK

DATA = Path(os.environ.get("UNSWAY_DATA") or Path(__file__).parents[3] / "shared" / "data")
HEADER = ";".join(f'"{name}"' for name in _BANK.fields)


def line(*, age: object = 30, job: str = "services", balance: object = 100, y: str = "no") -> str:
    return (
        f'{age};"{job}";"single";"primary";"no";{balance};"yes";"no";"unknown";5;"may";261;1;-1;0;'
        f'"unknown";"{y}"'
    )


def bank(tmp_path: Path, *lines: str, **options: float) -> TabularData:
    path = tmp_path / "bank-full.csv"
    path.write_text("\n".join([HEADER, line(), line(age=24, y="yes"), line(age=25), *lines]) + "\n")
    return load_bank_marketing(path, check=False, **options)


@pytest.fixture(scope="module")
def published() -> TabularData:
    try:
        _BANK.find(DATA)
    except FileNotFoundError:
        pytest.skip(f"{_BANK.file} is not at hand; set UNSWAY_DATA to the folder of the data")
    return load_bank_marketing(DATA)


def gap(data: TabularData) -> float:
    return data.y[data.z == 1].mean() - data.y[data.z == 0].mean()


def test_the_published_file_has_the_known_facts(published):
    assert published.y.size == 45_211
    assert round(published.y.mean(), 4) == 0.1170
    assert round(gap(published), 4) == -0.1414
    assert np.bincount(published.z).tolist() == [809, 44_402]
    assert repr(published) == (
        "TabularData('bank marketing', 45211 rows, 14 features, y: deposit yes, z: age > 24)"
    )


def test_people_over_fifty_subscribe_more_often(published):
    older = load_bank_marketing(DATA, age_threshold=50)
    assert round(gap(older), 4) == 0.0313
    assert older.columns.keys() == published.columns.keys()


def test_the_published_file_has_no_missing_number(published):
    X, names = published.to_matrix()
    assert np.isfinite(X).all()
    assert X.shape == (45_211, len(names)) == (45_211, 49)


def test_twenty_five_and_more_is_one_and_a_subscription_is_one(tmp_path):
    data = bank(tmp_path)
    assert data.z.tolist() == [1, 0, 1]
    assert data.y.tolist() == [0, 1, 0]
    assert bank(tmp_path, age_threshold=25).z.tolist() == [1, 0, 0]


def test_neither_age_nor_label_nor_the_length_of_the_call_is_a_feature(tmp_path):
    data = bank(tmp_path)
    assert len(data.feature_names) == 14
    assert not {"age", "y", "duration"} & {*data.feature_names}


def test_amounts_are_numbers_and_unknown_is_a_level(tmp_path):
    data = bank(tmp_path, line(balance=-7))
    assert data.columns["balance"].tolist() == [100, 100, 100, -7]
    assert data.columns["contact"].tolist() == ["unknown"] * 4
    assert data.levels["contact"] == ("unknown",)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"y": "maybe"}, "y must hold yes and no only"),
        ({"age": ""}, "age is missing in 1 rows"),
        ({"balance": "much"}, "balance holds text that is not a number"),
    ],
)
def test_a_wrong_value_is_refused(tmp_path, wrong, message):
    with pytest.raises(ValueError, match=f"bank marketing: {message}"):
        bank(tmp_path, line(**wrong))


def test_another_file_is_refused_unless_told(tmp_path):
    bank(tmp_path)
    with pytest.raises(ValueError, match="is not the expected file"):
        load_bank_marketing(tmp_path)
    assert load_bank_marketing(tmp_path, check=False).y.size == 3


def test_without_a_path_the_error_says_what_to_do(monkeypatch):
    monkeypatch.delenv("UNSWAY_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"set UNSWAY_DATA to the folder .*bank_marketing/"):
        load_bank_marketing()
