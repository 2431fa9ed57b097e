import os
import stat
import subprocess
import sys
import time
from contextlib import nullcontext

import pytest

from unsway import files
from unsway.extras import MissingExtraError, load
from unsway.files import check_writable, read_folder, write_atomically, write_folder_atomically


def test_a_file_is_written_whole_and_its_folder_made(tmp_path):
    path = write_atomically(tmp_path / "new" / "note.txt", "λ")
    assert path.read_text(encoding="utf-8") == "λ"
    assert os.listdir(path.parent) == ["note.txt"]


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = write_atomically(tmp_path / "note.txt", "old")
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


def full_disk(*_):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("call", ["os.fsync", "os.rename", "os.chmod", "unsway.files._exchange"])
@pytest.mark.parametrize("old", [True, False])
def test_a_full_disk_leaves_the_old_folder_or_none(call, old, tmp_path, monkeypatch):
    if old:
        write_folder_atomically(tmp_path / "folder", {"a": b"old"})
    happens = call in ("os.fsync", "os.chmod") or old == (call == "unsway.files._exchange")
    monkeypatch.setattr(call, full_disk)
    with pytest.raises(OSError, match="No space left") if happens else nullcontext():
        write_folder_atomically(tmp_path / "folder", {"a": b"new"})
    assert os.listdir(tmp_path) == (["folder"] if old or not happens else [])
    if old:
        content = b"old" if happens else b"new"
        assert (tmp_path / "folder" / "a").read_bytes() == content


# --- replacing a folder --------------------------------------------------------------------------


@pytest.fixture(params=["one step", "two renames"])
def exchange(request, monkeypatch):
    """Replace folders as this system can, and as one that cannot exchange names."""
    if request.param == "two renames":
        monkeypatch.setattr(files, "_EXCHANGE", {})
    elif sys.platform not in files._EXCHANGE:
        pytest.skip("this system cannot exchange two names")


@pytest.mark.usefixtures("exchange")
def test_a_folder_takes_the_place_of_another(tmp_path):
    path = write_folder_atomically(tmp_path / "folder", {"a": b"old", "b": b""})
    write_folder_atomically(path, {"a": b"new"})
    assert {each.name: each.read_bytes() for each in path.iterdir()} == {"a": b"new"}
    assert os.listdir(tmp_path) == ["folder"]


def test_the_old_folder_comes_back_if_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_EXCHANGE", {})
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


def test_a_folder_that_appeared_meanwhile_is_not_replaced_unasked(tmp_path):
    path = write_folder_atomically(tmp_path / "folder", {"a": b"first"}, replace=False)
    with pytest.raises(FileExistsError, match="another process has written it meanwhile"):
        write_folder_atomically(path, {"a": b"second"}, replace=False)
    assert (path / "a").read_bytes() == b"first"
    (tmp_path / "empty").mkdir()
    write_folder_atomically(tmp_path / "empty", {"a": b""}, replace=False)
    assert sorted(os.listdir(tmp_path)) == ["empty", "folder"]


WRITERS = """
import sys
from unsway import files
from unsway.files import write_folder_atomically
if sys.argv[3] == "two renames":
    files._EXCHANGE = {}
for k in range(40):
    content = f"{sys.argv[2]} {k}".encode()
    write_folder_atomically(sys.argv[1], {"a": content, "b": content})
"""


def content_of(folder):
    """Return the content of both files, which must be one writer's."""
    both = {(folder / name).read_bytes() for name in "ab"}
    if len(both) != 1:
        raise ValueError("the files are of two writers")
    return both.pop()


@pytest.mark.parametrize("way", ["one step", "two renames"])
def test_two_writers_at_once_leave_one_whole_folder_and_readers_find_one(way, tmp_path):
    path = write_folder_atomically(tmp_path / "folder", {"a": b"first", "b": b"first"})
    command = [sys.executable, "-c", WRITERS, str(path)]
    writers = [subprocess.Popen([*command, name, way]) for name in ("x", "y")]
    seen, absent = set(), 0
    while any(process.poll() is None for process in writers):
        absent += not path.exists()
        if way == "one step":
            seen.add(read_folder(path, content_of))
    assert [process.returncode for process in writers] == [0, 0]
    assert content_of(path) in (b"x 39", b"y 39")
    assert os.listdir(tmp_path) == ["folder"]
    if way == "one step" and sys.platform in files._EXCHANGE:
        assert absent == 0
        assert len(seen) > 1


KILLED = """
import os, signal, sys
from unsway import files
files._EXCHANGE = {}
rename = os.rename
def die(source, target):
    rename(source, target)
    if str(target).endswith("replaced"):
        os.kill(os.getpid(), signal.SIGKILL)
os.rename = die
files.write_folder_atomically(sys.argv[1], {"a": b"new"})
"""


@pytest.mark.parametrize("how", ["read", "write"])
def test_a_folder_that_a_killed_process_moved_aside_comes_back(how, tmp_path, monkeypatch):
    path = write_folder_atomically(tmp_path / "folder", {"a": b"old"})
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -9
    assert not path.exists()
    if how == "read":
        assert read_folder(path, lambda folder: (folder / "a").read_bytes()) == b"old"
        write_folder_atomically(path, {"a": b"new"})
    else:
        monkeypatch.setattr(files, "_exchange", full_disk)
        with pytest.raises(OSError, match="No space left"):
            write_folder_atomically(path, {"a": b"new"})
    assert os.listdir(tmp_path) == ["folder"]
    assert (path / "a").read_bytes() == (b"new" if how == "read" else b"old")


# --- what killed processes leave ------------------------------------------------------------------

DIES = """
import os, signal, sys
from unsway import files
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[2] == "folder":
    files.write_folder_atomically(sys.argv[1], {"a": b"new"})
else:
    files.write_atomically(sys.argv[1], "new")
"""


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_the_next_writer_of_a_name_removes_what_a_killed_one_left(kind, tmp_path):
    path = tmp_path / "name.csv"
    done = subprocess.run([sys.executable, "-c", DIES, str(path), kind], check=False)
    assert done.returncode == -9
    (left,) = os.listdir(tmp_path)
    assert left.startswith(".name.csv.")
    write_atomically(tmp_path / "other.csv", "")
    assert left in os.listdir(tmp_path)  # it may be written by somebody else
    check_writable(path)
    assert os.listdir(tmp_path) == ["other.csv"]


def test_what_a_living_process_writes_stays(tmp_path):
    with files.temporary_name(tmp_path / "a", folder=True) as made:
        files.remove_strays(tmp_path)
        write_atomically(tmp_path / "a.csv", "")
        assert made.is_dir()
    assert os.listdir(tmp_path) == ["a.csv"]


def test_without_locks_only_what_is_a_day_old_goes(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    for name, age in (("new", 0), ("old", 2 * 86_400)):
        stray = tmp_path / f".{name}.abcdefgh.unsway"
        stray.mkdir()
        os.utime(stray, (time.time() - age,) * 2)
    files.remove_strays(tmp_path)
    assert os.listdir(tmp_path) == [".new.abcdefgh.unsway"]


def test_files_of_other_programs_stay(tmp_path):
    for name in (".a.csv.swp", ".a.csv.abcdefgh.tmp", "a.csv.abcdefgh.unsway"):
        (tmp_path / name).touch()
    write_atomically(tmp_path / "a.csv", "")
    assert len(os.listdir(tmp_path)) == 4


@pytest.mark.parametrize("name", ["λ" * 100 + ".csv", "a" * 251])
def test_a_long_name_can_be_written(name, tmp_path):
    write_atomically(tmp_path / name, "")
    write_folder_atomically(tmp_path / "new" / name, {})
    assert os.listdir(tmp_path / "new") == [name]


def test_content_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    done, fsync, replace = [], os.fsync, os.replace

    def fsync_and_note(handle):
        kind = "folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file"
        done.append(kind)
        fsync(handle)

    def replace_and_note(*names):
        done.append("name")
        replace(*names)

    monkeypatch.setattr(os, "fsync", fsync_and_note)
    monkeypatch.setattr(os, "replace", replace_and_note)
    write_atomically(tmp_path / "a", "1")
    assert done == ["file", "name", "folder"]
    done.clear()
    write_folder_atomically(tmp_path / "b", {"x": b"", "y": b""})
    assert done == ["file", "file", "folder", "folder"]


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
