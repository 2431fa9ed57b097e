"""Reading a data file, gzipped or plain, and refusing a damaged or a different one.

The data files that ship with the package lie in this folder; its README has their licences.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.resources
import zlib

__all__ = ["read_shipped", "unpack"]

_GZIP_MAGIC = b"\x1f\x8b"


def read_shipped(name: str, sha256: str) -> str:
    """Return the text of a file that ships with the package.

    Examples
    --------
    >>> from unsway.datasets.german import SHA256
    >>> read_shipped("german.data.gz", SHA256)[:14]
    'A11 6 A34 A43 '
    """
    content = (importlib.resources.files(__name__) / name).read_bytes()
    return unpack(content, name, sha256, otherwise="install unsway again")


def unpack(content: bytes, source: str, sha256: str | None, *, otherwise: str) -> str:
    """Return the text of a file's bytes, gzipped or plain.

    Parameters
    ----------
    content : bytes
        What the file holds.
    source : str
        What to call it in an error.
    sha256 : str or None
        The checksum of the decompressed bytes; None accepts any.
    otherwise : str
        What to do if the checksum is another, the end of the error message.

    Raises
    ------
    ValueError
        If the file is truncated, damaged, not text, or not the file meant.

    Examples
    --------
    >>> unpack(gzip.compress(b"1,2"), "a.csv.gz", None, otherwise="")
    '1,2'
    """
    if content.startswith(_GZIP_MAGIC):
        try:
            content = gzip.decompress(content)
        except EOFError:
            raise ValueError(
                f"{source} is truncated: the gzip data ends too early; get the file again"
            ) from None
        except (OSError, zlib.error):
            raise ValueError(f"{source} is damaged gzip data; get the file again") from None
    found = hashlib.sha256(content).hexdigest()
    if sha256 is not None and found != sha256:
        raise ValueError(
            f"{source} is not the expected file: its sha256 after decompression is {found}, not "
            f"{sha256}; {otherwise}"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{source} is not UTF-8 text; get the file again") from None
