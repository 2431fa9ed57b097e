"""Writing files so that a reader never sees half of one, and a killed writer leaves nothing behind.

A file or folder is written under a temporary name in the folder where it belongs,
``.name.….unsway``, and takes its place when it is whole and on the disk. Its writer holds a lock on
it (``flock``). A temporary name without a lock belongs to a process that was killed, and the next
process that writes the same name removes it.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

#: How a temporary name ends.
WRITING = ".unsway"
#: What temporary names are made of: at most so many letters of the name, and random ones.
_LONGEST, _STRAY = 40, re.compile(r"\.(.+)\.[a-z0-9_]{8}\.unsway")
#: The name of the old folder inside a temporary one, where folders cannot be exchanged.
_ASIDE = "replaced"
#: Where files cannot be locked, what is older than this, in seconds, was left by a killed process.
_OLD = 86_400.0
#: renameat2(…, RENAME_EXCHANGE) of Linux and renameatx_np(…, RENAME_SWAP) of macOS.
_EXCHANGE = {"linux": ("renameat2", -100, 2), "darwin": ("renameatx_np", -2, 2)}
#: What a system or file system answers that cannot exchange two names.
_CANNOT = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM}


def write_atomically(path: str | Path, content: str | bytes) -> Path:
    """Write a file under a temporary name in the same folder, then rename it.

    Parameters
    ----------
    path : str or path
        The file; its folder is made if need be.
    content : str or bytes
        What to write; text as UTF-8.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(Path(folder) / "note.txt", "done").read_text()
    'done'
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    with _temporary(path) as temporary:
        with open(temporary, "wb") as file:
            _write(file, data)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    return path


def write_folder_atomically(
    path: str | Path, files: Mapping[str, bytes], *, replace: bool = True
) -> Path:
    """Write a folder of files under a temporary name, then put it in place of one that is there.

    Linux and macOS exchange the two folders in one step, so that at every moment the old folder or
    the new one is there, whole. Where the system or the file system cannot do that, the old folder
    is moved aside first; if the process is killed at that moment, the next one that reads or writes
    the folder puts it back (`restore_folder`).

    Parameters
    ----------
    path : str or path
        The folder.
    files : mapping of str to bytes
        The content of each file by its name.
    replace : bool, default=True
        Whether to replace a folder that is not empty; otherwise it is an error.

    Returns
    -------
    Path
        The folder, resolved.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_folder_atomically(Path(folder) / "notes", {"one.txt": b"done"})
    ...     (path / "one.txt").read_text()
    'done'
    """
    path = Path(path).resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    restore_folder(path)
    with _temporary(path, folder=True) as temporary:
        new = temporary / "new"
        new.mkdir()
        for name, data in files.items():
            with open(new / name, "wb") as file:
                _write(file, data)
        os.chmod(new, 0o777 & ~_umask())
        _sync_folder(new)  # a full disk must show before the old folder goes
        put_folder(new, path, replace=replace)
    return path


def put_folder(new: Path, path: Path, *, replace: bool = True) -> None:
    """Put a whole folder in place of another or of none; the other then has the name of the first.

    Parameters
    ----------
    new : path
        The folder to put in place, inside a temporary folder that is its own.
    path : path
        Where it goes.
    replace : bool, default=True
        Whether it may replace a folder that is not empty.
    """
    if not replace:
        with suppress(OSError):
            path.rmdir()  # if it is empty
    for _ in range(100):  # another process may put its own there, or take it away, at any moment
        try:
            if replace and path.exists():
                _exchange(new, path)
            else:
                os.rename(new, path)  # onto a folder that is not empty, this fails
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                raise
            if not new.exists():
                raise
            if not replace:
                raise FileExistsError(
                    errno.EEXIST, "another process has written it meanwhile", str(path)
                ) from None
        else:
            _sync_folder(path.parent)
            return
    raise FileExistsError(f"{path} is being replaced by other processes; try again")


def _exchange(new: Path, path: Path) -> None:
    """Exchange two folders, in one step where the system can."""
    name, here, flag = _EXCHANGE.get(sys.platform, ("", 0, 0))
    rename: Any = getattr(ctypes.CDLL(None, use_errno=True), name, None) if name else None
    if rename is not None:
        if rename(here, os.fsencode(new), here, os.fsencode(path), flag) == 0:
            return
        number = ctypes.get_errno()
        if number not in _CANNOT:
            raise OSError(number, os.strerror(number), str(path))
    aside = new.parent / _ASIDE
    os.rename(path, aside)
    try:
        os.rename(new, path)
    except BaseException:
        if path.exists():  # another process was faster
            shutil.rmtree(aside, ignore_errors=True)
        else:
            os.rename(aside, path)
        raise
    os.rename(aside, new)


def restore_folder(path: Path) -> None:
    """Put back a folder that a killed process had moved aside, if there is none in its place."""
    if path.exists():
        return
    for stray in _strays(path.parent, path.name):
        with suppress(OSError), _held(stray):
            if (stray / _ASIDE).is_dir() and not path.exists():
                os.rename(stray / _ASIDE, path)
                return


def read_folder(path: Path, read: Callable[[Path], Any]) -> Any:
    """Return what a function reads from a folder, again where the folder was replaced meanwhile.

    A reader opens several files one after the other. If another process replaces the folder between
    two of them, they do not belong together; the function must raise then.
    """
    restore_folder(path)
    for _ in range(20):
        before = _identity(path)
        try:
            found = read(path)
        except (OSError, ValueError):
            if _identity(path) == before:
                raise
        else:
            if _identity(path) == before:
                return found
    return read(path)


def _identity(path: Path) -> tuple[int, int] | None:
    with suppress(OSError):
        found = os.stat(path)
        return found.st_ino, found.st_mtime_ns
    return None


def check_writable(path: str | Path) -> Path:
    """Raise before any work if a file cannot be written there; make its folder if need be."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file")
    check_folder_writable(path)
    return path


def check_folder_writable(path: Path) -> None:
    """Raise before any work if a file or folder of this name cannot be written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _temporary(path):
        pass


def parse_json(text: str | bytes) -> Any:
    """Return what a JSON text holds; one that is nested too deeply is damaged like any other.

    Examples
    --------
    >>> parse_json("[" * 100_000)
    Traceback (most recent call last):
        ...
    ValueError: it is nested too deeply
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


# --- temporary names -----------------------------------------------------------------------------


@contextmanager
def _temporary(path: Path, *, folder: bool = False) -> Iterator[Path]:
    """Make an empty file or folder of a temporary name, and remove what is left of it at the end.

    What killed processes left of earlier ones goes first.
    """
    remove_strays(path.parent, path.name)
    with temporary_name(path, folder=folder) as made:
        yield made


@contextmanager
def temporary_name(path: Path, *, folder: bool) -> Iterator[Path]:
    """Make an empty file or folder of a temporary name beside a path, locked until the end."""
    while True:
        made = _make(path, folder=folder)
        try:
            lock = _lock(made)
        except FileNotFoundError:  # taken for a stray before the lock was there
            continue
        break
    try:
        yield made
    finally:
        _remove(made)
        if lock is not None:
            os.close(lock)


def _make(path: Path, *, folder: bool) -> Path:
    start = f".{path.name[:_LONGEST]}."
    if folder:
        return Path(tempfile.mkdtemp(WRITING, start, path.parent))
    handle, name = tempfile.mkstemp(WRITING, start, path.parent)
    os.close(handle)
    return Path(name)


def remove_strays(folder: Path, name: str | None = None) -> None:
    """Remove what killed processes left of the files and folders they were writing.

    Parameters
    ----------
    folder : path
        Where they were written.
    name : str, default=None
        Of this file or folder only; by default of all.
    """
    for stray in _strays(folder, name):
        if (stray / _ASIDE).is_dir():
            restore_folder(folder / (_named(stray) if name is None else name))
        with suppress(OSError), _held(stray):
            if (stray / _ASIDE).is_dir() and not (folder / _named(stray)).exists():
                continue  # the only copy, which could not be put back
            _remove(stray)


def _strays(folder: Path, name: str | None) -> list[Path]:
    """Return the temporary names of a path, those of living processes among them."""
    with suppress(OSError):
        found = [Path(each.path) for each in os.scandir(folder) if _STRAY.match(each.name)]
        short = None if name is None else name[:_LONGEST]
        return [each for each in found if short is None or _named(each) == short]
    return []


def _named(stray: Path) -> str:
    """Return the name, or its start, that a temporary name is of."""
    found = _STRAY.match(stray.name)
    return "" if found is None else found[1]


@contextmanager
def _held(stray: Path) -> Iterator[None]:
    """Hold the lock of a temporary name; raise if a living process does, or may do."""
    lock = _lock(stray, wait=False)
    try:
        if lock is None and time.time() - stray.stat().st_mtime < _OLD:
            raise BlockingIOError(errno.EAGAIN, "it may still be written", str(stray))
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _lock(path: Path, *, wait: bool = True) -> int | None:
    """Return the handle of a locked file or folder, None where the system has no such locks.

    Raises
    ------
    OSError
        If another process has the lock and ``wait`` is false, or the path is gone.
    """
    try:
        import fcntl
    except ImportError:
        return None
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        if os.fstat(handle).st_ino != os.stat(path).st_ino:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    except OSError as error:
        os.close(handle)
        if error.errno in (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EBADF):
            return None
        raise
    return handle


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _write(file: Any, data: bytes) -> None:
    file.write(data)
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Have the names in a folder written to the disk, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
