"""The two credit files are read from where the user has them, whatever state they are in."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from unsway.datasets import TabularData, load_give_me_some_credit, load_pakdd
from unsway.datasets.credit import _GIVE_ME_SOME_CREDIT, _PAKDD
from unsway.datasets.files.local import LocalTable

DATA = Path(os.environ.get("UNSWAY_DATA") or Path(__file__).parents[3] / "shared" / "data")

# Two small files in the publishers' form: every PAKDD line ends with a tab, Kaggle's with CR LF.
PAKDD_HEADER = _PAKDD.header.replace(",", "\t")
GMSC_HEADER = _GIVE_ME_SOME_CREDIT.header
GMSC = (
    f"{GMSC_HEADER}\r\n"
    "1,1,0.77,45,2,0.8,9120,13,0,6,0,2\r\n"
    "2,0,0.96,51,0,5710,NA,4,0,0,0,NA\r\n"
    "3,0,0.2,50,98,0.1,2600,4,98,0,98,0\r\n"
)


def pakdd_line(*, age: object = 44, sex: str = "F", mobile: str = "N", label: object = 0) -> str:
    fields = f"22 {sex} O {age} N 31 12 0 P 12 Y Y N Y 48 731 0 Y N 0 {mobile} N 300 0 0 N {label} "
    return fields.replace(" ", "\t")


PAKDD = "\n".join([PAKDD_HEADER, pakdd_line(), pakdd_line(age=61, label=1), pakdd_line(age=50)])


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def pakdd(tmp_path: Path, *lines: str, **options: float) -> TabularData:
    text = "\n".join([PAKDD, *lines]) + "\n"
    return load_pakdd(write(tmp_path / "data.tsv", text), check=False, **options)


def gmsc(tmp_path: Path, *lines: str, **options: float) -> TabularData:
    text = GMSC + "".join(f"{line}\r\n" for line in lines)
    return load_give_me_some_credit(write(tmp_path / "data.csv", text), check=False, **options)


def gap(data: TabularData) -> float:
    return data.y[data.z == 1].mean() - data.y[data.z == 0].mean()


def skip_unless_at_hand(table: LocalTable) -> None:
    try:
        table.find(DATA)
    except FileNotFoundError:
        pytest.skip(f"{table.file} is not at hand; set UNSWAY_DATA to the folder of the data")


@pytest.fixture(scope="module")
def published_pakdd() -> TabularData:
    skip_unless_at_hand(_PAKDD)
    return load_pakdd(DATA)


@pytest.fixture(scope="module")
def published_gmsc() -> TabularData:
    skip_unless_at_hand(_GIVE_ME_SOME_CREDIT)
    return load_give_me_some_credit(DATA)


# The published files, where they are at hand


def test_pakdd_has_the_known_facts(published_pakdd):
    data = published_pakdd
    assert (data.y.size, data.dropped_rows) == (39988, 12)
    assert round(data.y.mean(), 3) == 0.802
    assert round(gap(data), 4) == 0.1196
    assert [round(data.y[data.z == z].mean(), 4) for z in (1, 0)] == [0.9063, 0.7868]
    assert round(data.z.mean(), 3) == 0.128


def test_pakdd_says_how_many_rows_it_dropped(published_pakdd):
    assert repr(published_pakdd) == (
        "TabularData('pakdd 2009', 39988 rows (12 dropped), 19 features, y: credit good, "
        "z: age > 50)"
    )


def test_every_pakdd_feature_varies(published_pakdd):
    assert min(len(set(values)) for values in published_pakdd.columns.values()) >= 2


def test_pakdd_misses_one_sex_and_nothing_else(published_pakdd):
    columns, levels = published_pakdd.columns, published_pakdd.levels
    missing = {name: int((columns[name] == "(missing)").sum()) for name in levels}
    assert {name: count for name, count in missing.items() if count} == {"SEX": 1}
    assert all(np.isfinite(columns[name]).all() for name in columns.keys() - levels.keys())


def test_pakdd_makes_the_same_matrix_as_its_frame(published_pakdd):
    X, names = published_pakdd.to_matrix()
    assert X.shape == (39988, len(names))
    shop = published_pakdd.to_frame()["ID_SHOP"]
    np.testing.assert_array_equal(X[:, names.index("ID_SHOP=22")], shop == "22")


def test_give_me_some_credit_has_the_known_facts(published_gmsc):
    data = published_gmsc
    assert data.y.size == 150000
    assert round(1 - data.y.mean(), 4) == 0.0668
    assert round(gap(data), 4) == 0.0493
    assert [round(data.y[data.z == z].mean(), 4) for z in (1, 0)] == [0.9562, 0.9069]
    assert np.bincount(data.z).tolist() == [70134, 79866]


def test_give_me_some_credit_misses_incomes_and_dependents(published_gmsc):
    X, names = published_gmsc.to_matrix()
    missing = dict(zip(names, np.isnan(X).sum(0).tolist(), strict=True))
    assert {name: count for name, count in missing.items() if count} == {
        "MonthlyIncome": 29731,
        "NumberOfDependents": 3924,
    }


def test_give_me_some_credit_keeps_its_odd_codes(published_gmsc):
    late = [values for name, values in published_gmsc.columns.items() if "PastDue" in name]
    late.append(published_gmsc.columns["NumberOfTimes90DaysLate"])
    assert int(np.any(np.isin(late, [96, 98]), axis=0).sum()) == 269


@pytest.mark.parametrize(
    ("table", "first_field", "expected"), [(_PAKDD, 0, 4), (_GIVE_ME_SOME_CREDIT, 1, 609)]
)
def test_rows_repeat_as_often_as_known(table, first_field, expected):
    skip_unless_at_hand(table)
    rows = [tuple(row[first_field:]) for row in table.read(DATA, check=True)]
    assert len(rows) - len(set(rows)) == expected


# What is read from small files


def test_a_good_payer_is_one_and_age_sets_the_groups(tmp_path):
    data = pakdd(tmp_path)
    assert data.y.tolist() == [1, 0, 1]
    assert data.z.tolist() == [0, 1, 0]
    assert pakdd(tmp_path, age_threshold=44).z.tolist() == [0, 1, 1]


def test_neither_age_nor_label_is_a_feature(tmp_path):
    assert not {"AGE", "TARGET_LABEL_BAD=1", ""} & {*pakdd(tmp_path).columns}
    assert not {"age", "SeriousDlqin2yrs", ""} & {*gmsc(tmp_path).columns}


def test_pakdd_has_19_features_and_give_me_some_credit_nine(tmp_path):
    assert len(pakdd(tmp_path).feature_names) == 19
    assert len(gmsc(tmp_path).feature_names) == 9


def test_codes_are_categories_and_amounts_are_numbers(tmp_path):
    data = pakdd(tmp_path)
    assert data.columns["PROFESSION_CODE"].tolist() == ["731"] * 3
    assert data.columns["PERSONAL_NET_INCOME"].tolist() == [300.0] * 3


def test_a_shifted_row_is_dropped_and_counted(tmp_path):
    shifted = pakdd_line(mobile="N\tN", label=1).removesuffix("\t")
    data = pakdd(tmp_path, shifted, pakdd_line(age=70, label=1))
    assert data.dropped_rows == 1
    assert data.y.tolist() == [1, 0, 1, 0]


def test_a_missing_category_is_a_level(tmp_path):
    data = pakdd(tmp_path, pakdd_line(sex=""))
    assert data.columns["SEX"].tolist() == ["F", "F", "F", "(missing)"]


def test_a_quote_in_a_tab_separated_field_swallows_nothing(tmp_path):
    assert pakdd(tmp_path, pakdd_line(sex='"F'), pakdd_line()).y.size == 5


def test_na_and_nothing_are_nan(tmp_path):
    data = gmsc(tmp_path, "4,0,0.2,60,0,0.1,,4,0,0,0,1")
    np.testing.assert_array_equal(data.columns["MonthlyIncome"], [9120, np.nan, 2600, np.nan])
    np.testing.assert_array_equal(data.columns["NumberOfDependents"], [2, np.nan, 0, 1])


def test_line_endings_do_not_matter(tmp_path):
    unix = write(tmp_path / "unix.csv", GMSC.replace("\r\n", "\n"))
    data = load_give_me_some_credit(unix, check=False)
    np.testing.assert_array_equal(data.to_matrix()[0], gmsc(tmp_path).to_matrix()[0])


# Where a file is looked for


@pytest.mark.parametrize("name", ["cs-training.csv", "cs-training.csv.gz"])
@pytest.mark.parametrize("folder", ["", "give_me_some_credit"])
def test_a_folder_is_searched(tmp_path, folder, name):
    write(tmp_path / folder / name, GMSC)
    assert load_give_me_some_credit(tmp_path, check=False).y.size == 3
    assert load_give_me_some_credit(str(tmp_path / folder / name), check=False).y.size == 3


def test_the_environment_names_a_folder(tmp_path, monkeypatch):
    write(tmp_path / "pakdd2009_credit" / "pakdd2009_modeling.tsv.gz", PAKDD)
    monkeypatch.setenv("UNSWAY_DATA", str(tmp_path))
    assert load_pakdd(check=False).y.size == 3


def test_a_path_wins_over_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("UNSWAY_DATA", str(tmp_path / "elsewhere"))
    assert pakdd(tmp_path).y.size == 3


def test_gzip_is_told_by_its_content_not_by_its_name(tmp_path):
    path = tmp_path / "renamed.csv"
    path.write_bytes(gzip.compress(GMSC.encode()))
    assert load_give_me_some_credit(path, check=False).y.size == 3


@pytest.mark.parametrize("load", [load_pakdd, load_give_me_some_credit])
@pytest.mark.parametrize("value", [None, ""])
def test_without_path_and_environment_the_error_says_what_to_do(monkeypatch, load, value):
    monkeypatch.delenv("UNSWAY_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("UNSWAY_DATA", value)
    with pytest.raises(
        FileNotFoundError,
        match=r"does not ship with unsway: pass the path of .* or set UNSWAY_DATA to the folder",
    ):
        load()


def test_a_folder_without_the_file_is_an_error_that_says_where_it_looked(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        load_pakdd(tmp_path)
    message = str(caught.value)
    for folder in (tmp_path / "pakdd2009_credit", tmp_path):
        assert str(folder / "pakdd2009_modeling.tsv.gz or ") in message
    assert "UNSWAY_DATA" in message


def test_a_path_that_does_not_exist_is_named(tmp_path):
    gone = tmp_path / "gone.tsv"
    with pytest.raises(
        FileNotFoundError, match=r"pakdd 2009: there is no .*gone\.tsv; pass the path"
    ):
        load_pakdd(gone)


# Files in a bad state


def test_a_truncated_gzip_file_is_refused(tmp_path):
    path = write(tmp_path / "cs-training.csv.gz", GMSC)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"cs-training\.csv\.gz is truncated"):
        load_give_me_some_credit(path, check=False)


@pytest.mark.parametrize(("load", "text"), [(load_pakdd, PAKDD), (load_give_me_some_credit, GMSC)])
def test_a_file_with_another_checksum_is_refused_unless_told(tmp_path, load, text):
    path = write(tmp_path / "data.gz", text)
    with pytest.raises(ValueError, match=r"is not the expected file: its sha256 .*check=False"):
        load(path)
    assert load(path, check=False).y.size == 3


def test_a_file_with_other_columns_is_refused_by_name(tmp_path):
    path = write(tmp_path / "data.csv", GMSC.replace("DebtRatio", "Debt"))
    with pytest.raises(ValueError, match=r"12 columns of give me .* has 12, and lacks 'DebtRatio'"):
        load_give_me_some_credit(path, check=False)


def test_columns_in_another_order_are_refused(tmp_path):
    swapped = GMSC.replace("DebtRatio,MonthlyIncome", "MonthlyIncome,DebtRatio")
    with pytest.raises(ValueError, match="it has 12, and their order differs"):
        load_give_me_some_credit(write(tmp_path / "data.csv", swapped), check=False)


def test_the_other_data_set_is_refused(tmp_path):
    with pytest.raises(ValueError, match="28 columns of pakdd 2009: it has 1, and lacks 'ID_SHOP'"):
        load_pakdd(write(tmp_path / "data.csv", GMSC), check=False)


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_file_is_refused(tmp_path, text):
    with pytest.raises(ValueError, match="it has 0, and lacks"):
        load_pakdd(write(tmp_path / "data.tsv", text), check=False)


def test_a_file_without_rows_is_refused(tmp_path):
    with pytest.raises(ValueError, match="has no rows below its header"):
        load_pakdd(write(tmp_path / "data.tsv", PAKDD_HEADER), check=False)


def test_a_row_cut_short_is_refused_by_number(tmp_path):
    with pytest.raises(ValueError, match="1 rows with other than 12 fields, the first is row 4"):
        gmsc(tmp_path, "4,0,0.2")


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="is not UTF-8 text"):
        load_pakdd(path, check=False)


def test_a_field_too_long_for_a_table_is_refused(tmp_path):
    with pytest.raises(ValueError, match="is not a table of pakdd 2009: field larger"):
        load_pakdd(write(tmp_path / "data.csv", "x" * 200_000), check=False)


def test_text_among_numbers_is_refused_without_showing_it(tmp_path):
    with pytest.raises(ValueError, match="DebtRatio holds text that is not a number") as caught:
        gmsc(tmp_path, "4,0,0.2,60,0,secret,1,4,0,0,0,1")
    assert "secret" not in str(caught.value)


def test_a_label_that_is_neither_zero_nor_one_is_refused(tmp_path):
    with pytest.raises(ValueError, match="TARGET_LABEL_BAD=1 must hold 0 and 1 only"):
        pakdd(tmp_path, pakdd_line(label=2))


def test_a_missing_age_is_refused(tmp_path):
    with pytest.raises(ValueError, match="age is missing in 1 rows"):
        gmsc(tmp_path, "4,0,0.2,NA,0,0.1,1,4,0,0,0,1")


def test_a_threshold_that_leaves_one_group_is_refused(tmp_path):
    with pytest.raises(ValueError, match="age_threshold=99 puts all rows in one group"):
        gmsc(tmp_path, age_threshold=99)
