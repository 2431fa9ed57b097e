"""Outputs of a long command: checked before any work, nothing left where that fails."""

import click
import pytest

from unsway.cli.outputs import check_html, check_installed, places
from unsway.extras import MissingExtraError


def test_new_folders_of_every_output_are_gone_after_an_error(tmp_path):
    outputs = [tmp_path / "a" / "b" / "one.json", tmp_path / "c" / "two.csv"]
    with pytest.raises(RuntimeError, match="stop"), places(outputs, tmp_path / "table.csv"):
        raise RuntimeError("stop")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_was_there_stays(tmp_path):
    (tmp_path / "old").mkdir()
    with pytest.raises(RuntimeError), places([tmp_path / "old" / "one.json"], tmp_path / "t.csv"):
        raise RuntimeError
    assert (tmp_path / "old").is_dir()


def test_the_table_itself_is_no_output(tmp_path):
    table = tmp_path / "table.csv"
    outputs = [tmp_path / "new" / "one.json", table]
    with pytest.raises(ValueError, match="is the table itself"), places(outputs, table):
        pass
    assert not (tmp_path / "new").exists()


def test_a_missing_package_is_named_with_its_extra():
    with pytest.raises(MissingExtraError, match=r"no_such_package .* 'unsway\[report\]'"):
        check_installed(["click", "no_such_package"], "report")


def test_a_page_needs_the_name_of_one(tmp_path):
    check_html(tmp_path / "page.HTM")
    with pytest.raises(click.UsageError, match=r"\.html"):
        check_html(tmp_path / "page.pdf")
