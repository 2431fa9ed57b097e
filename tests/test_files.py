import os
import subprocess
import sys

import pytest

from unsway.extras import MissingExtraError, load
from unsway.files import check_writable, write_atomically, write_folder_atomically


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


def test_a_folder_is_written_whole_and_replaces_the_old_one(tmp_path):
    path = write_folder_atomically(tmp_path / "new" / "folder", {"a": b"1", "b": b"2"})
    write_folder_atomically(path, {"c": b"3"})
    assert (os.listdir(path), (path / "c").read_bytes()) == (["c"], b"3")
    assert os.listdir(path.parent) == ["folder"]


@pytest.mark.parametrize("call", ["fsync", "rename", "chmod"])
@pytest.mark.parametrize("old", [True, False])
def test_a_full_disk_leaves_the_old_folder_or_none(call, old, tmp_path, monkeypatch):
    if old:
        write_folder_atomically(tmp_path / "folder", {"a": b"old"})

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_folder_atomically(tmp_path / "folder", {"a": b"new"})
    assert os.listdir(tmp_path) == (["folder"] if old else [])
    assert not old or (tmp_path / "folder" / "a").read_bytes() == b"old"


def test_the_old_folder_comes_back_if_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    path = write_folder_atomically(tmp_path / "folder", {"a": b"old"})
    rename, calls = os.rename, []

    def second_fails(*names):
        calls.append(names)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        rename(*names)

    monkeypatch.setattr(os, "rename", second_fails)
    with pytest.raises(OSError, match="No space left"):
        write_folder_atomically(path, {"a": b"new"})
    assert (path / "a").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["folder"]


def test_a_process_killed_while_it_writes_leaves_the_old_folder(tmp_path):
    path = write_folder_atomically(tmp_path / "folder", {"a": b"old"})
    code = (
        "import os, signal, sys\n"
        "from unsway.files import write_folder_atomically\n"
        "os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_folder_atomically(sys.argv[1], {'a': b'new'})\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert done.returncode == -9
    assert (path / "a").read_bytes() == b"old"


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
