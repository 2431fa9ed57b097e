"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path


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
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def write_folder_atomically(path: str | Path, files: Mapping[str, bytes]) -> Path:
    """Write a folder of files under a temporary name in the same parent, then rename it.

    A folder that is there already is moved aside first and comes back if anything fails. Only a
    process killed between the two renames leaves it aside, whole, as ``.name.….old``.

    Parameters
    ----------
    path : str or path
        The folder.
    files : mapping of str to bytes
        The content of each file by its name.

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
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    try:
        for name, data in files.items():
            with open(temporary / name, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())  # a full disk must show before the rename
        os.chmod(temporary, 0o777 & ~_umask())
        _put_in_place(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return path


def _put_in_place(temporary: Path, path: Path) -> None:
    """Rename a folder over another, which comes back if that fails."""
    if not path.exists():
        os.rename(temporary, path)
        return
    aside = temporary.with_name(f"{temporary.name}.old")
    os.rename(path, aside)
    try:
        os.rename(temporary, path)
    except BaseException:
        os.rename(aside, path)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def check_writable(path: str | Path) -> Path:
    """Raise before any work if a file cannot be written there; make its folder if need be."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    Path(temporary).unlink()
    return path
