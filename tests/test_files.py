import os

import pytest

from unsway.extras import MissingExtraError, load
from unsway.files import check_writable, write_atomically


def test_a_file_is_written_whole_and_its_folder_made(tmp_path):
    path = write_atomically(tmp_path / "new" / "note.txt", "λ")
    assert path.read_text(encoding="utf-8") == "λ"
    assert os.listdir(path.parent) == ["note.txt"]


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = write_atomically(tmp_path / "note.txt", "old")

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["note.txt"]


def test_a_place_that_cannot_be_written_is_refused_before_any_work(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(OSError, match="file"):
        check_writable(tmp_path / "file" / "report.html")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        check_writable(tmp_path)


def test_checking_leaves_nothing_behind(tmp_path):
    check_writable(tmp_path / "report.html")
    assert os.listdir(tmp_path) == []


def test_a_missing_package_ends_with_the_line_that_installs_it():
    with pytest.raises(MissingExtraError, match=r"pip install 'unsway\[plot\]'$"):
        load("no_such_package", "plot")
