"""The motor policies are read from where the user has them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from unsway.datasets import load_pg15_motor
from unsway.datasets.motor import _MOTOR

DATA = Path(os.environ.get("UNSWAY_DATA") or Path(__file__).parents[3] / "shared" / "data")


def line(policy=1, gender="Male", days=365, claims=0, amount=0.0):
    return (
        f"{policy},2009,{gender},A,Small,Employed,40,5,0,3,15000,1,L1,L,72.5,{days},{claims},0,"
        f"{amount},0.0"
    )


def motor(tmp_path, *lines, **options):
    path = tmp_path / "pg15training.csv"
    path.write_text("\n".join([_MOTOR.header, *lines]) + "\n")
    return load_pg15_motor(path, check=False, **options)


ROWS = (line(1, claims=2, amount=900.0), line(2, "Female", days=73), line(3, claims=1, amount=50.0))


@pytest.fixture(scope="module")
def published():
    try:
        _MOTOR.find(DATA)
    except FileNotFoundError:
        pytest.skip(f"{_MOTOR.file} is not at hand; set UNSWAY_DATA to the folder of the data")
    return {name: load_pg15_motor(DATA, outcome=name) for name in ("frequency", "pure_premium")}


def per_year(data, z):
    return data.y[data.z == z].sum() / data.exposure[data.z == z].sum()


def test_the_published_file_has_the_known_facts(published):
    claims, amounts = published["frequency"], published["pure_premium"]
    assert (claims.y.size, claims.dropped_rows) == (100_000, 21)
    assert [round(per_year(claims, z), 4) for z in (0, 1)] == [0.1374, 0.1794]
    assert [round(per_year(amounts, z), 1) for z in (0, 1)] == [94.5, 132.0]
    assert repr(claims) == (
        "TabularData('pg15 motor frequency', 100000 rows (21 dropped), 12 features, y: claims per "
        "year, z: Gender Male)"
    )


def test_claims_have_the_years_insured_as_exposure(tmp_path):
    data = motor(tmp_path, *ROWS)
    assert data.y.tolist() == [2, 0, 1]
    assert data.exposure.tolist() == [1.0, 0.2, 1.0]
    assert data.z.tolist() == [1, 0, 1]


def test_amounts_per_claim_have_the_claims_as_exposure(tmp_path):
    data = motor(tmp_path, *ROWS, outcome="severity")
    assert (data.y / data.exposure).tolist() == [450.0, 50.0]


def test_a_row_whose_policy_comes_again_is_left_out_if_it_has_claims_without_an_amount(tmp_path):
    data = motor(tmp_path, line(2, "Female", claims=1), *ROWS, line(4, claims=1))
    assert data.dropped_rows == 1
    assert data.y.tolist() == [2, 0, 1, 1]


def test_neither_the_policy_nor_the_gender_is_a_feature(tmp_path):
    names = motor(tmp_path, *ROWS).feature_names
    assert not {"PolNum", "Gender", "SubGroup2", "Numtppd", "Exppdays"} & set(names)


def test_another_gender_is_refused(tmp_path):
    with pytest.raises(ValueError, match="Gender must hold Male and Female only"):
        motor(tmp_path, line(gender="M"))


def test_an_unknown_outcome_is_refused(tmp_path):
    with pytest.raises(ValueError, match="unknown outcome 'count'; choose from frequency"):
        motor(tmp_path, *ROWS, outcome="count")


def test_without_a_path_the_error_says_where_to_put_the_file(monkeypatch):
    monkeypatch.delenv("UNSWAY_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="pg15 motor does not ship with unsway"):
        load_pg15_motor()


def test_amounts_per_year_are_not_whole(published):
    assert (published["pure_premium"].y % 1 != 0).any()
    assert np.isfinite(published["pure_premium"].y).all()
