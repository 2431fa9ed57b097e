"""CSV files are read as their values look, column by column."""

import numpy as np
import pytest

from unsway.cli import csv_files
from unsway.cli.csv_files import read_csv, read_csv_text
from unsway.cli.csv_form import CsvForm
from unsway.cli.table_files import read_table

SEMICOLONS = CsvForm(";", ",")


def written(folder, text):
    path = folder / "t.csv"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1", "-2.5", "1e3"], [1.0, -2.5, 1000.0]),
        (["1", "NA", ""], [1.0, np.nan, np.nan]),
        (["inf", "nan", "0"], [np.inf, np.nan, 0.0]),
        (["true", "False", "null"], [1.0, 0.0, np.nan]),
        (["1_000", "2", "3"], ["1_000", "2", "3"]),
        (["a", "NA", "2"], ["a", None, "2"]),
        (["1,5", "2", "3"], ["1,5", "2", "3"]),
        (["2020-01-31", "soon", "NA"], ["2020-01-31", "soon", None]),
    ],
)
def test_a_column_is_numbers_only_if_every_value_is_one(tmp_path, cells, values):
    lines = "\n".join(f'k,"{cell}"' for cell in cells)
    found = read_csv(written(tmp_path, f"name,value\n{lines}\n"), CsvForm())["value"]
    if found.dtype.kind == "f":
        np.testing.assert_array_equal(found, values)
    else:
        assert found.tolist() == values


def test_a_decimal_comma_is_read_where_it_is_the_sign(tmp_path):
    path = written(tmp_path, "a;b\n1,5;1.5\n2;x\n")
    found = read_csv(path, SEMICOLONS)
    assert found["a"].tolist() == [1.5, 2.0]
    assert found["b"].tolist() == ["1.5", "x"]


def test_dates_are_told_from_text(tmp_path):
    path = written(tmp_path, "day,x\n2020-01-31,1\n2020-02-01 10:00,2\nNA,3\n")
    days = read_csv(path, CsvForm())["day"]
    assert [None if day is None else day.year for day in days] == [2020, 2020, None]


def test_a_word_after_a_block_of_numbers_makes_the_column_text_as_it_was_written(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(csv_files, "_BLOCK", 2)
    found = read_csv(written(tmp_path, "a,b\n01,1\n2,2\nx,3\n1.0,\n"), CsvForm())
    assert found["a"].tolist() == ["01", "2", "x", "1.0"]
    np.testing.assert_array_equal(found["b"], [1, 2, 3, np.nan])


def test_quotes_line_breaks_and_a_byte_order_mark_are_read(tmp_path):
    path = written(tmp_path, '\ufeffa,b\r\n"say ""hi"", x","two\nlines"\r\n\r\nplain,y\r\n')
    found = read_csv(path, CsvForm())
    assert found["a"].tolist() == ['say "hi", x', "plain"]
    assert found["b"].tolist() == ["two\nlines", "y"]


def test_columns_named_as_text_stay_text_and_missing_values_missing(tmp_path):
    found = read_csv(written(tmp_path, "zip,n\n01,1\nNA,2\n"), CsvForm(), ["zip"])
    assert found["zip"].tolist() == ["01", None]


def test_as_text_every_value_is_what_the_file_has(tmp_path):
    found = read_csv_text(written(tmp_path, "a,b,c\n01,NA,x\n2.0,,y\n"), CsvForm(), ["b", "a"])
    assert found.columns == ["b", "a"]
    assert (found["a"].tolist(), found["b"].tolist()) == (["01", "2.0"], ["NA", ""])


def test_an_unclosed_quote_is_refused_without_its_text(tmp_path):
    path = written(tmp_path, 'a,b\n1,"secret\n')
    with pytest.raises(ValueError, match="cannot be read as CSV") as found:
        read_table(path)
    assert "secret" not in str(found.value)
